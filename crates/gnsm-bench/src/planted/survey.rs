//! A small survey: three hundred answers on a scale of five, which follow how content a person is.

use super::draw::Draw;
use super::edits::{empty, misspell, trailing_blank, write, wrong_case};
use super::plain::Plain;
use super::plant::{Plan, plan};

const ROWS: usize = 300;
const REGIONS: [(&str, f64); 4] = [("North", 0.35), ("South", 0.3), ("East", 0.2), ("West", 0.15)];
const EDUCATION: [(&str, f64); 4] = [("Secondary", 0.35), ("Vocational", 0.3), ("Bachelor", 0.22), ("Master", 0.13)];

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "respondent",
        "age",
        "region",
        "education",
        "employment",
        "service",
        "price",
        "quality",
        "recommend",
        "minutes",
    ];
    let mut table = Plain::new(&header, ',');
    for row in 0..ROWS {
        let age = (45.0 + 17.0 * draw.normal()).clamp(18.0, 88.0) as i64;
        let employment = match age {
            ..=24 => draw.weighted(&[("Student", 0.7), ("Employed", 0.3)]),
            25..=64 => draw.weighted(&[("Employed", 0.8), ("Self-employed", 0.12), ("Seeking work", 0.08)]),
            _ => "Retired",
        };
        let content = draw.normal();
        let mut answer = |middle: f64| (middle + content + 0.5 * draw.normal()).round().clamp(1.0, 5.0);
        let [service, price, quality] = [answer(3.4), answer(2.8), answer(3.6)];
        let recommend = ((service + price + quality) / 15.0 * 10.0 + 0.7 * draw.normal()).round().clamp(0.0, 10.0);
        let mut answers = [service, price, quality].map(|answer| answer.to_string());
        if draw.chance(0.04) {
            // Some have no opinion on prices.
            answers[1].clear();
        }
        let [service, price, quality] = answers;
        table.rows.push(vec![
            (row + 1).to_string(),
            age.to_string(),
            draw.weighted(&REGIONS).into(),
            draw.weighted(&EDUCATION).into(),
            employment.into(),
            service,
            price,
            quality,
            recommend.to_string(),
            format!("{:.1}", draw.around(7.0, 0.3)),
        ]);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("out-of-range-age", |site| write(site, &["age"], &["130", "-3", "450"])),
        plan("out-of-scale", |site| write(site, &["service", "quality", "price"], &["55", "9", "-1"])),
        plan("misspelt-category", |site| misspell(site, &["region", "education", "employment"])),
        plan("unseen-category", |site| write(site, &["region", "employment"], &["Atlantis", "Astronaut"])),
        plan("wrong-case", |site| wrong_case(site, &["region", "education"])),
        plan("trailing-blank", |site| trailing_blank(site, &["region", "education"])),
        plan("stray-word", |site| write(site, &["minutes", "age", "recommend"], &["unknown", "long", "fast"])),
        plan("missing-cell", |site| empty(site, &["age", "region", "employment", "minutes"])),
        plan("absurd-number", |site| write(site, &["minutes"], &["999999", "1e300"])),
        plan("impossible-pair", |site| {
            // Who is content with everything recommends it.
            (site.number("service")? >= 4.0 && site.number("quality")? >= 5.0).then_some(())?;
            site.set("recommend", "2")?;
            site.beside("quality")?;
            site.beside("service")
        }),
        plan("impossible-pair", |site| {
            site.number("age").filter(|age| *age < 30.0)?;
            site.set("employment", "Retired")?;
            site.beside("age")
        }),
    ]
}
