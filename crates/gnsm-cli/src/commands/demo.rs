//! `gnsm demo`: makes a small example table and runs `detect` on it.
//!
//! The table holds expense claims. What is claimed depends on the department. How it is paid, and how much, depends on
//! what is claimed. A few claims are odd, in three ways: two common categories that do not go together, a category that
//! occurs nowhere else, and a common amount that is not common for what was bought.
//!
//! Nothing is left behind unless `--out` says where.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::detect::detect;
use super::{Outcome, create_file};
use crate::arguments::{Arguments, Command, DemoArguments};
use crate::console::Console;
use crate::display::STRONG;

/// What the table is called where nobody says.
const NAME: &str = "gnsm-demo.csv";
/// Claims in the table.
const ROWS: usize = 1500;

/// The odd claims, by row.
const PLANTED: [(usize, &str); 6] = [
    // Finance never advertises, and support buys no machines.
    (211, "Finance,Advertising,Bank transfer,Germany,Tue,1840.00"),
    (1034, "Support,Hardware,Company card,Poland,Thu,1410.00"),
    // These two occur once.
    (478, "Sales,Travel,Cash,France,Wed,412.50"),
    (1290, "Engineering,Software,Company card,Cayman Islands,Mon,129.00"),
    // Amounts that are nothing special for advertising or hardware.
    (737, "Marketing,Meals,Personal card,Spain,Fri,1985.00"),
    (902, "Support,Office,Company card,Germany,Wed,1310.00"),
];

/// Runs the command.
pub fn run(arguments: &DemoArguments, console: Console) -> Result<Outcome> {
    let folder = tempfile::tempdir().context("a folder for the table")?;
    let path = arguments.out.clone().unwrap_or_else(|| folder.path().join(NAME));
    write_unless_there(&path, &claims())?;
    let (written, out) = match &arguments.out {
        Some(out) => (format!("wrote {}", out.display()), out.display().to_string()),
        None => ("made a table".into(), NAME.into()),
    };
    console.note(format_args!("{written}: {ROWS} expense claims, {} of them odd", PLANTED.len()));

    let mut more = vec!["--top", "8"];
    if arguments.json {
        more.push("--json");
    }
    let command = [OsStr::new("gnsm"), OsStr::new("detect"), path.as_os_str()];
    let command = command.into_iter().chain(more.iter().map(OsStr::new));
    let Command::Detect(parsed) = <Arguments as clap::Parser>::try_parse_from(command)?.command else {
        bail!("the demonstration cannot start");
    };
    console.note(format_args!("{STRONG}$ gnsm detect {out} {}{STRONG:#}", more.join(" ")));
    let (outcome, shown) = detect(&parsed, console)?;

    let found = PLANTED.iter().filter(|(row, _)| shown.contains(row)).count();
    let rows: Vec<String> = PLANTED.iter().map(|(row, _)| row.to_string()).collect();
    let keep = if arguments.out.is_none() { format!("gnsm demo --out {out}\n  ") } else { String::new() };
    console.note(format_args!(
        "\nThe odd claims were put at rows {}: {found} of {} are among the rows above.\n\n\
         Now try\n  \
         {keep}gnsm fit {out} -o claims.gnsm\n  \
         gnsm score claims.gnsm {out} --explain 2 -o scores.csv\n  \
         gnsm explain claims.gnsm {out} --row {}\n  \
         gnsm inspect claims.gnsm\n\
         or gnsm detect on a file of your own.",
        rows.join(", "),
        PLANTED.len(),
        PLANTED[0].0,
    ));
    Ok(outcome)
}

/// Writes the table; a file that is there and holds something else is left alone.
fn write_unless_there(path: &Path, text: &str) -> Result<()> {
    match std::fs::read(path) {
        Ok(found) if found == text.as_bytes() => Ok(()),
        Ok(_) => bail!("{} holds something else; remove it, or say --out with another path", path.display()),
        Err(_) => {
            let mut file = create_file(path)?;
            file.write_all(text.as_bytes()).with_context(|| path.display().to_string())?;
            Ok(file.finish()?)
        }
    }
}

/// Names with weights.
type Weighted = &'static [(&'static str, f64)];

/// Departments with weights, and what they claim.
const DEPARTMENTS: [(&str, f64, Weighted); 5] = [
    ("Sales", 0.35, &[("Travel", 5.0), ("Meals", 4.0), ("Training", 1.0)]),
    ("Engineering", 0.25, &[("Software", 4.0), ("Hardware", 4.0), ("Training", 2.0), ("Meals", 1.0)]),
    ("Marketing", 0.15, &[("Advertising", 6.0), ("Travel", 2.0), ("Meals", 2.0)]),
    ("Finance", 0.1, &[("Software", 3.0), ("Training", 3.0), ("Office", 3.0)]),
    ("Support", 0.15, &[("Office", 4.0), ("Training", 3.0), ("Meals", 2.0)]),
];

/// How something is paid, with weights, and what it costs: the middle, and the spread of its logarithm.
type Purchase = (&'static str, Weighted, f64, f64);

const PURCHASES: [Purchase; 7] = [
    ("Travel", &[("Company card", 6.0), ("Personal card", 4.0)], 380.0, 0.5),
    ("Meals", &[("Personal card", 8.0), ("Company card", 2.0)], 42.0, 0.45),
    ("Software", &[("Company card", 9.0), ("Bank transfer", 1.0)], 110.0, 0.5),
    ("Hardware", &[("Company card", 7.0), ("Bank transfer", 3.0)], 1250.0, 0.4),
    ("Training", &[("Bank transfer", 6.0), ("Company card", 4.0)], 620.0, 0.35),
    ("Office", &[("Company card", 7.0), ("Personal card", 3.0)], 35.0, 0.5),
    ("Advertising", &[("Bank transfer", 8.0), ("Company card", 2.0)], 2100.0, 0.4),
];

const COUNTRIES: [(&str, f64); 5] =
    [("Germany", 0.4), ("France", 0.2), ("Spain", 0.15), ("Poland", 0.15), ("United States", 0.1)];
const WEEKDAYS: [(&str, f64); 5] = [("Mon", 0.25), ("Tue", 0.2), ("Wed", 0.2), ("Thu", 0.2), ("Fri", 0.15)];

/// The table as CSV, the same every time.
fn claims() -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let mut text = String::from("claim,department,category,payment,country,weekday,amount\n");
    for row in 0..ROWS {
        let weights: Vec<(usize, f64)> = DEPARTMENTS.iter().map(|(_, weight, _)| *weight).enumerate().collect();
        let (department, _, categories) = DEPARTMENTS[pick(&mut rng, &weights)];
        let category = pick(&mut rng, categories);
        let (_, payments, middle, spread) =
            PURCHASES.into_iter().find(|(name, ..)| *name == category).unwrap_or(PURCHASES[0]);
        let payment = pick(&mut rng, payments);
        let (country, weekday) = (pick(&mut rng, &COUNTRIES), pick(&mut rng, &WEEKDAYS));
        // Twelve uniform numbers make a good enough bell.
        let bell = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let amount = middle * (spread * bell).exp();
        let usual = format!("{department},{category},{payment},{country},{weekday},{amount:.2}");
        let claim = PLANTED.iter().find(|(planted, _)| *planted == row).map_or(usual.as_str(), |(_, claim)| claim);
        let _ = writeln!(text, "C-{:05},{claim}", 10_000 + row);
    }
    text
}

fn pick<T: Copy>(rng: &mut ChaCha8Rng, weighted: &[(T, f64)]) -> T {
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mut at = rng.random::<f64>() * total;
    for (value, weight) in weighted {
        at -= weight;
        if at < 0.0 {
            return *value;
        }
    }
    weighted[weighted.len() - 1].0
}
