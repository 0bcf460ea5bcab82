//! A year of hourly readings: two thermometers, humidity, pressure and a solar panel, with the day and the year in
//! them.

use std::f64::consts::TAU;

use super::draw::Draw;
use super::edits::{duplicate, empty, extra_digit, write};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day};

const ROWS: usize = 8760;
/// Hours that a flat line lasts.
const FLAT: usize = 10;
const DATES: DateStyle = DateStyle::Iso;

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let mut table = Plain::new(&["time", "roof_c", "yard_c", "humidity", "pressure", "solar_w"], ',');
    let [mut weather, mut pressure, mut clouds] = [0.0, 0.0, 0.0];
    for hour in 0..ROWS {
        // Weather changes slowly: each hour is much like the one before.
        weather = 0.985 * weather + 0.45 * draw.normal();
        pressure = 0.99 * pressure + 0.9 * draw.normal();
        clouds = 0.95 * clouds + 0.3 * draw.normal();
        let of_year = (hour as f64 / ROWS as f64 * TAU - 0.3).cos();
        let of_day = ((hour % 24) as f64 / 24.0 * TAU - 0.9).cos();
        let outside = 10.0 - 9.0 * of_year - 4.0 * of_day + weather;
        let roof = outside + 0.25 * draw.normal();
        let yard = outside - 0.4 + 0.25 * draw.normal();
        let humidity = (66.0 + 9.0 * of_day - 1.2 * weather + 3.0 * clouds + 2.0 * draw.normal()).clamp(12.0, 100.0);
        let height = -((hour % 24) as f64 / 24.0 * TAU).cos() - 0.25 * of_year - 0.1;
        let solar = 620.0 * height.max(0.0) / (1.0 + (1.2 * clouds).exp()) * draw.around(1.0, 0.04);
        let solar = if draw.chance(0.01) { String::new() } else { format!("{solar:.0}") };
        table.rows.push(vec![
            format!("{} {:02}:00", DATES.write(day(2023, 1, 1) + hour as i64 / 24), hour % 24),
            format!("{roof:.1}"),
            format!("{yard:.1}"),
            format!("{humidity:.0}"),
            format!("{:.1}", 1013.0 + pressure),
            solar,
        ]);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("sensor-spike", spike),
        plan("sensor-spike", spike),
        plan("sensors-disagree", disagree),
        plan("sensors-disagree", disagree),
        plan("flat-sensor", |site| {
            // From the warmest hour on, so that the truth leaves the line.
            (site.row % 24 == 15 && site.row + FLAT < site.table.rows.len()).then_some(())?;
            let held = site.get("roof_c")?;
            let rows = site.row + 1..site.row + 1 + FLAT;
            for row in rows {
                if site.get_in(row, "roof_c")? != held {
                    site.set_in(row, "roof_c", held)?;
                }
            }
            site.beside("yard_c")
        }),
        plan("impossible-pair", |site| {
            (site.row % 24 <= 3).then_some(())?;
            let text = site.draw.between(380, 520).to_string();
            site.set("solar_w", text)?;
            site.beside("time")
        }),
        plan("sign-flipped", |site| {
            let value = site.number("roof_c").filter(|value| *value > 15.0)?;
            site.set("roof_c", format!("{:.1}", -value))?;
            site.beside("yard_c")
        }),
        plan("wrong-unit", |site| {
            let value = site.number("yard_c").filter(|value| *value > 0.0)?;
            site.set("yard_c", format!("{:.1}", value * 1.8 + 32.0))?;
            site.beside("roof_c")
        }),
        plan("rate-above-100", |site| {
            let text = site.draw.between(130, 180).to_string();
            site.set("humidity", text)
        }),
        plan("stray-word", |site| write(site, &["pressure", "humidity", "roof_c"], &["ERR", "offline", "overrange"])),
        plan("extra-digit", |site| {
            let value = site.number("pressure")?;
            let value = extra_digit(site, value);
            site.set("pressure", format!("{value:.1}"))
        }),
        plan("absurd-number", |site| write(site, &["pressure", "roof_c", "solar_w"], &["999999999", "1e300"])),
        plan("missing-cell", |site| empty(site, &["pressure", "yard_c", "humidity"])),
        plan("duplicate-identifier", |site| duplicate(site, "time")),
        plan("date-far-future", |site| {
            let text = site.get("time")?.replace("2023", "2034");
            site.set("time", text)
        }),
    ]
}

fn spike(site: &mut Site<'_>) -> Option<()> {
    let (column, size) = site.draw.pick(&[("pressure", -70.0), ("roof_c", 38.0), ("yard_c", 38.0), ("pressure", 70.0)]);
    let value = site.number(column)? + size;
    site.set(column, format!("{value:.1}"))
}

/// One thermometer shows a common temperature, only not the one it has.
fn disagree(site: &mut Site<'_>) -> Option<()> {
    let value = site.number("roof_c").filter(|value| (4.0..16.0).contains(value))?;
    let (column, other) = site.draw.pick(&[("yard_c", "roof_c"), ("roof_c", "yard_c")]);
    let shifted = value + site.draw.pick(&[-1.0, 1.0]) * site.draw.around(8.0, 0.1);
    site.set(column, format!("{shifted:.1}"))?;
    site.beside(other)
}
