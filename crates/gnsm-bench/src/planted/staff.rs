//! A table of employees: titles belong to departments, grades and salaries to titles, cities to countries.

use super::draw::Draw;
use super::edits::{duplicate, empty, extra_digit, mismatch, misspell, swap, trailing_blank, write, wrong_case};
use super::ledger::SURNAMES;
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day, working_day};

const ROWS: usize = 1200;
const DATES: DateStyle = DateStyle::Iso;

/// Departments with weights, and their titles with grade, yearly salary and weight.
type Title = (&'static str, i64, f64, f64);
const DEPARTMENTS: [(&str, f64, &[Title]); 6] = [
    (
        "Engineering",
        0.32,
        &[("Developer", 4, 61_000.0, 6.0), ("Architect", 6, 88_000.0, 2.0), ("Tester", 3, 48_000.0, 3.0)],
    ),
    ("Sales", 0.24, &[("Account manager", 4, 54_000.0, 5.0), ("Sales assistant", 2, 36_000.0, 4.0)]),
    ("Production", 0.2, &[("Operator", 2, 33_000.0, 8.0), ("Shift leader", 4, 47_000.0, 2.0)]),
    ("Finance", 0.1, &[("Accountant", 4, 52_000.0, 5.0), ("Controller", 5, 69_000.0, 2.0)]),
    ("Personnel", 0.07, &[("Recruiter", 3, 45_000.0, 3.0), ("Trainer", 3, 44_000.0, 2.0)]),
    ("Management", 0.07, &[("Director", 8, 145_000.0, 2.0), ("Team lead", 6, 82_000.0, 5.0)]),
];
const CITIES: [(&str, &str, f64); 8] = [
    ("Hamburg", "Germany", 0.26),
    ("Munich", "Germany", 0.2),
    ("Lyon", "France", 0.14),
    ("Paris", "France", 0.11),
    ("Madrid", "Spain", 0.12),
    ("Valencia", "Spain", 0.07),
    ("Gdansk", "Poland", 0.09),
    ("Reykjavik", "Iceland", 0.01),
];
const FIRST_NAMES: [&str; 14] = [
    "Amira", "Bruno", "Clara", "Daniel", "Ewa", "Farid", "Giulia", "Henrik", "Ines", "Jakub", "Katja", "Leon", "Marta",
    "Nils",
];

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "employee_id",
        "name",
        "age",
        "hired_on",
        "left_on",
        "department",
        "title",
        "grade",
        "salary",
        "city",
        "country",
        "weekly_hours",
    ];
    let mut table = Plain::new(&header, ',');
    for row in 0..ROWS {
        let departments: Vec<(usize, f64)> = DEPARTMENTS.iter().map(|(_, weight, _)| *weight).enumerate().collect();
        let (department, _, titles) = DEPARTMENTS[draw.weighted(&departments)];
        let weights: Vec<(Title, f64)> = titles.iter().map(|title| (*title, title.3)).collect();
        let (title, grade, salary, _) = draw.weighted(&weights);
        let age = (41.0 + 11.0 * draw.normal() + 0.8 * (grade - 4) as f64).clamp(19.0, 66.0) as i64;
        // Nobody was hired before 18.
        let years = (draw.unit().powi(2) * 25.0).min((age - 18) as f64);
        let hired = working_day(day(2024, 6, 1) - (years * 365.25) as i64);
        let left = draw.chance(0.1).then(|| hired + ((day(2024, 6, 28) - hired) as f64 * draw.unit()) as i64);
        let hours = draw.weighted(&[(40, 0.7), (35, 0.12), (30, 0.08), (20, 0.1)]);
        let salary = salary * (1.0 + 0.012 * years) * draw.around(1.0, 0.05) * f64::from(hours) / 40.0;
        let cities: Vec<((&str, &str), f64)> =
            CITIES.iter().map(|(city, country, weight)| ((*city, *country), *weight)).collect();
        let (city, country) = draw.weighted(&cities);
        table.rows.push(vec![
            format!("E{:05}", 1042 + row * 3),
            format!("{} {}", draw.pick(&FIRST_NAMES), draw.pick(&SURNAMES)),
            age.to_string(),
            DATES.write(hired),
            left.map_or_else(String::new, |left| DATES.write(left)),
            department.into(),
            title.into(),
            format!("G{grade}"),
            format!("{:.0}", (salary / 50.0).round() * 50.0),
            city.into(),
            country.into(),
            hours.to_string(),
        ]);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("out-of-range-age", |site| write(site, &["age"], &["130", "-3", "0", "199"])),
        plan("misspelt-category", |site| misspell(site, &["department", "title", "city", "country"])),
        plan("unseen-category", |site| write(site, &["country", "department"], &["Bhutan", "Alchemy"])),
        plan("wrong-case", |site| wrong_case(site, &["department", "title", "grade"])),
        plan("trailing-blank", |site| trailing_blank(site, &["city", "title"])),
        plan("stray-word", |site| write(site, &["salary", "age", "weekly_hours"], &["unknown", "n.a. yet", "ask HR"])),
        plan("missing-cell", |site| empty(site, &["department", "salary", "hired_on", "country"])),
        plan("extra-digit", |site| {
            let value = site.number("salary")?;
            let value = extra_digit(site, value);
            site.set("salary", format!("{value:.0}"))
        }),
        plan("wrong-unit", |site| {
            // By the month in a column of years.
            let value = site.number("salary")? / 12.0;
            site.set("salary", format!("{value:.0}"))
        }),
        plan("odd-for-category", |site| {
            matches!(site.get("title")?, "Operator" | "Sales assistant").then_some(())?;
            let salary = site.draw.between(140, 150) * 1000;
            site.set("salary", salary.to_string())?;
            site.beside("title")
        }),
        plan("absurd-number", |site| write(site, &["salary", "weekly_hours"], &["999999999", "1e300"])),
        plan("city-mismatch", |site| mismatch(site, "city", "country")),
        plan("department-mismatch", |site| mismatch(site, "title", "department")),
        plan("swapped-columns", |site| swap(site, "city", "country")),
        plan("impossible-pair", |site| {
            let age = site.number("age").filter(|age| *age < 26.0)?;
            let hired = day(2024, 6, 1) - ((age - 4.0) * 365.25) as i64;
            site.set("hired_on", DATES.write(hired))?;
            site.beside("age")
        }),
        plan("date-before", |site| {
            site.get("left_on")?;
            let text = DATES.write(DATES.read(site.get("hired_on")?)? - site.draw.between(300, 2000));
            site.set("left_on", text)?;
            site.beside("hired_on")
        }),
        plan("date-far-past", |site| hired_in(site, 1823)),
        plan("date-far-future", |site| hired_in(site, 2034)),
        plan("wrong-date-order", |site| {
            let text = DATES.in_wrong_order(DATES.read(site.get("hired_on")?)?)?;
            site.set("hired_on", text)
        }),
        plan("duplicate-identifier", |site| duplicate(site, "employee_id")),
        plan("wrong-shape-identifier", |site| {
            let text = site.get("employee_id")?.replace('E', site.draw.pick(&["", "EXT-", "e_"]));
            site.set("employee_id", text)
        }),
        plan("wrong-shape-code", |site| {
            let text = site.get("grade")?.replace('G', site.draw.pick(&["", "G-", "Grade "]));
            site.set("grade", text)
        }),
        plan("free-text-in-code", |site| write(site, &["grade"], &["to be agreed with her lead", "same as before"])),
    ]
}

fn hired_in(site: &mut Site<'_>, year: i64) -> Option<()> {
    let date = day(year, site.draw.between(1, 12), site.draw.between(1, 28));
    site.set("hired_on", DATES.write(date))
}
