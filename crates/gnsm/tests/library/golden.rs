//! The bits of what is said of rows: scores, p-values, flags, reasons and listed cells, as hashes in `golden.txt`.
//!
//! Fourteen small tables, each judged by every method: its own rows, newer rows of the same kind, and newer rows that have
//! moved. A change that is not meant to change what is said must leave every line as it is. `make golden` writes the file
//! anew; the commit then says which lines changed, and why.

use std::fmt::Write as _;
use std::path::Path;

use gnsm::{
    Batch, Decision, Explanation, Judge, Method, Model, OddCell, ReadOptions, Reason, Result, Rule, Scored, Table,
    TableReader,
};

use crate::contract::quick;

/// Rows of a table that are explained.
const EXPLAINED: usize = 12;

/// Pseudo-random whole numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// A number about normal, with mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.below(10_000) as f64 / 10_000.0).sum::<f64>() - 6.0
    }
}

/// A table: its name, its header, and its rows; `later` says by how much time has gone on.
type Maker = (&'static str, &'static str, usize, fn(&mut Draw, usize, bool) -> String);

const MAKERS: [Maker; 14] = [
    ("mixed", "department,floor,salary,remote", 300, |draw, row, later| {
        let floor = draw.below(4);
        let department = ["Sales", "Legal", "Marketing", "IT"][floor as usize];
        let department = if row % 97 == 5 { "Legal" } else { department };
        let salary = 30_000.0 + 9_000.0 * floor as f64 + 2_500.0 * draw.normal() + if later { 9_000.0 } else { 0.0 };
        format!("{department},{floor},{salary:.0},{}", draw.pick(&["yes", "no", "no"]))
    }),
    ("numbers", "a,b,c,d", 250, |draw, row, later| {
        let (a, b) = (draw.normal(), draw.normal());
        let c = a + b + 0.1 * draw.normal() + if row % 120 == 7 { 9.0 } else { 0.0 };
        format!("{a:.4},{b:.4},{c:.4},{:.4}", (0.5 * draw.normal()).exp() + if later { 3.0 } else { 0.0 })
    }),
    ("categories", "x,y,z,w", 250, |draw, row, later| {
        let x = draw.pick(&["a", "b", "c", "c", "c"]);
        let y = if row % 83 == 3 {
            "q"
        } else if x == "a" {
            "p"
        } else {
            "r"
        };
        let z = if later { "new" } else { draw.pick(&["1", "2", "3"]) };
        format!("{x},{y},{z},{}", draw.pick(&["u", "v"]))
    }),
    ("dates", "ordered,shipped,carrier,size", 260, |draw, row, later| {
        let day = row as u64 / 2 + if later { 200 } else { 0 };
        let stamp = |day: u64, hour: u64| {
            format!("20{}-{:02}-{:02} {hour:02}:15", 21 + day / 336, 1 + day / 28 % 12, 1 + day % 28)
        };
        let wait = if row % 91 == 4 { 60 } else { 1 + draw.below(4) };
        let hour = if row % 101 == 9 { 3 } else { 8 + draw.below(9) };
        format!("{},{},{},{}", stamp(day, hour), stamp(day + wait, 12), draw.pick(&["DHL", "UPS"]), draw.below(40))
    }),
    ("keys", "id,email,amount,kind", 240, |draw, row, later| {
        let id = if row % 111 == 6 { row - 1 } else { row } + if later { 1_000 } else { 0 };
        format!("INV-{id:05},user{}@mail.org,{},{}", row * 7 % 239, 10 + draw.below(90), draw.pick(&["in", "out"]))
    }),
    ("missing", "sensor,value,note,checked", 260, |draw, row, later| {
        let sensor = draw.pick(&["s1", "s2", "s3"]);
        let value =
            if sensor == "s3" && row % 71 != 2 { String::new() } else { format!("{:.2}", 20.0 + draw.normal()) };
        let note = if draw.below(3) == 0 { "" } else { draw.pick(&["ok", "dry", "n/a"]) };
        format!("{sensor},{value},{note},{}", if later { "" } else { draw.pick(&["yes", "no"]) })
    }),
    ("wide", "", 120, |draw, row, later| {
        let base = draw.normal();
        let cell = |(at, noise): (usize, f64)| {
            let value = if at % 3 == 0 { base + 0.3 * noise } else { noise };
            format!("{:.3}", value + if row % 57 == 8 && at == 11 { 12.0 } else { 0.0 })
        };
        let noise: Vec<f64> = (0..30).map(|_| draw.normal() + if later { 0.5 } else { 0.0 }).collect();
        noise.into_iter().enumerate().map(cell).collect::<Vec<_>>().join(",")
    }),
    ("tiny", "colour,weight", 24, |draw, row, later| {
        let colour = if row == 11 { "blue" } else { draw.pick(&["red", "green"]) };
        format!("{colour},{}", draw.below(9) + if later { 4 } else { 0 })
    }),
    ("dirty", "name,zip,city,paid,rate", 260, |draw, row, later| {
        let at = draw.below(4) as usize;
        let city = if row % 87 == 3 { "Berlim" } else { ["Berlin", "Bonn", "Kiel", "Ulm"][at] };
        let zip = ["10115", "53111", "24103", "89073"][if row % 93 == 4 { (at + 1) % 4 } else { at }];
        let paid = if row % 77 == 5 {
            "unknown".into()
        } else {
            format!("\"{}.{:03},{:02} €\"", 1 + draw.below(3), draw.below(1000), draw.below(100))
        };
        format!(
            "{} {},{zip},{city},{paid},{} %",
            draw.pick(&["Ann", "Bo", "Cy"]),
            row % 50,
            draw.below(if later { 80 } else { 20 })
        )
    }),
    ("repeats", "plan,region,calls", 300, |draw, row, later| {
        let plan = if later { "max" } else { draw.pick(&["basic", "plus", "basic"]) };
        format!("{plan},{},{}", draw.pick(&["n", "s"]), if row % 149 == 7 { 9 } else { draw.below(2) })
    }),
    ("relations", "quantity,price,total,net", 240, |draw, row, later| {
        let (quantity, cents) = (1 + draw.below(20), 100 + draw.below(2_000) + if later { 900 } else { 0 });
        let total = quantity * cents + if row % 73 == 9 { 1_000 } else { 0 };
        let money = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
        format!("{quantity},{},{},{}", money(cents), money(total), money(total * 4 / 5))
    }),
    ("codes", "part,batch,status", 260, |draw, row, later| {
        let part = if row % 88 == 1 { "XX-7".into() } else { format!("A{}-{:03}", draw.below(3), draw.below(400)) };
        format!("{part},v{}.{},{}", if later { 3 } else { 2 }, draw.below(5), draw.pick(&["open", "done", "done"]))
    }),
    ("skewed", "type,amount,flag", 280, |draw, row, later| {
        let rare = row % 61 == 3;
        let amount = (2.0 * draw.normal() + if later { 4.0 } else { 0.0 }).exp();
        format!("{},{amount:.2},{}", if rare { "refund" } else { draw.pick(&["sale", "sale", "fee"]) }, u8::from(rare))
    }),
    ("times", "start,minutes,user", 240, |draw, row, later| {
        let hour = if row % 79 == 2 { 2 } else { 7 + draw.below(10) };
        let minutes = if later { 200 } else { 5 } + draw.below(50);
        format!("{hour:02}:{:02},{minutes},{}", draw.below(60), draw.pick(&["ana", "ben", "cem", "dia"]))
    }),
];

fn table((name, header, rows, row): &Maker, seed: u64, later: bool) -> Result<Table> {
    let mut draw = Draw(seed);
    let header = match *header {
        "" => (0..30).map(|at| format!("m{at}")).collect::<Vec<_>>().join(","),
        header => header.to_owned(),
    };
    let rows: String = (0..*rows).map(|at| row(&mut draw, at, later) + "\n").collect();
    let source = Box::new(std::io::Cursor::new(format!("{header}\n{rows}")));
    let mut reader = TableReader::from_reader(&format!("{name}.csv"), source, &ReadOptions::default())?;
    Ok(reader.next_batch(usize::MAX)?.expect("rows"))
}

/// What is said, as bits.
#[derive(Default)]
struct Said(blake3::Hasher);

impl Said {
    fn scores(&mut self, scores: &[Scored], rule: Rule) -> Result<()> {
        let mut decision = Decision::new(rule)?;
        decision.add(scores);
        let flags = decision.finish();
        for row in scores {
            self.0.update(&row.score.to_bits().to_le_bytes());
            self.0.update(&row.p_value.to_bits().to_le_bytes());
            self.0.update(&[u8::from(flags.flags(row))]);
        }
        Ok(())
    }

    fn reason(&mut self, reason: &Reason) {
        let Reason { column, other, saw, note, similar, expected, probability, seen_probability, part, share, .. } =
            reason;
        let said = (column, other, saw, note, similar, expected, probability, seen_probability, part, share);
        self.0.update(format!("{said:?}").as_bytes());
    }

    fn explanations(&mut self, explanations: &[Explanation]) {
        for Explanation { score, base, rest, reasons } in explanations {
            self.0.update(format!("{score:?} {base:?} {rest:?}").as_bytes());
            reasons.iter().for_each(|reason| self.reason(reason));
        }
    }

    fn cells(&mut self, cells: &[OddCell]) {
        for cell in cells {
            self.0.update(format!("{} {:?} {:?} {:?}", cell.row, cell.wrong, cell.p_value, cell.repair).as_bytes());
            self.reason(&cell.reason);
        }
    }

    fn hash(&self) -> String {
        self.0.finalize().to_hex()[..16].to_owned()
    }
}

/// The rows with the highest scores.
fn oddest(scores: &[Scored]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..scores.len()).collect();
    rows.sort_by(|a, b| scores[*b].score.total_cmp(&scores[*a].score));
    rows.truncate(EXPLAINED);
    rows
}

fn own(own: &Batch<'_>) -> Result<String> {
    let mut said = Said::default();
    said.scores(own.scores(), Rule::Fdr(0.1))?;
    said.explanations(&own.explain(&oddest(own.scores()), usize::MAX));
    if let Ok(cells) = own.odd_cells(0.2) {
        said.cells(&cells);
    }
    Ok(said.hash())
}

fn new(judge: &Judge<'_>, table: &Table) -> Result<String> {
    let mut said = Said::default();
    let batch = judge.read(table)?;
    said.scores(batch.scores(), Rule::Contamination(0.02))?;
    said.scores(batch.scores(), Rule::Fdr(0.2))?;
    said.explanations(&batch.explain(&oddest(batch.scores()), 3));
    if let Ok(cells) = judge.read_whole(table)?.odd_cells(0.2) {
        said.cells(&cells);
    }
    Ok(said.hash())
}

fn without_what_is_new(model: &Model, table: &Table) -> Result<String> {
    let mut counter = model.drift();
    counter.add(table)?;
    new(&model.judge_without(&counter.report()), table)
}

/// A line for each table and method: own rows, newer rows, rows that have moved, and these without what has moved.
fn all() -> Result<String> {
    let mut lines = String::new();
    for (at, maker) in MAKERS.iter().enumerate() {
        let seed = 100 * at as u64;
        let (own_rows, newer, moved) =
            (table(maker, seed, false)?, table(maker, seed + 1, false)?, table(maker, seed + 2, true)?);
        for name in Method::NAMES {
            let fit = Model::builder().settings(quick(name)?).seed(3).fit_and_judge(&own_rows)?;
            let judge = fit.model.judge();
            let hashes = [
                own(&fit.own())?,
                new(&judge, &newer)?,
                new(&judge, &moved)?,
                without_what_is_new(&fit.model, &moved)?,
            ];
            let _ = writeln!(lines, "{} {name} {}", maker.0, hashes.join(" "));
        }
    }
    Ok(lines)
}

#[test]
fn what_is_said_has_the_same_bits() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/golden.txt");
    let found = all()?;
    if std::env::var_os("GNSM_UPDATE").is_some() {
        std::fs::write(&path, &found).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the file can be read; `make golden` writes it");
    let changed: Vec<&str> = kept.lines().zip(found.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    let advice = "what is said of rows has changed; if that is meant, `make golden` writes the file anew";
    assert!(changed.is_empty(), "{advice}:\n{}", changed.join("\n"));
    assert_eq!(kept.lines().count(), found.lines().count(), "{advice}");
    Ok(())
}
