//! A wide export: two hundred columns, most of which move together in groups.
//!
//! Fifteen groups of eight monthly numbers follow six hidden factors. Ten groups of five categories are cuts of the
//! same factors, a little blurred. Twenty columns are mostly empty, and nine say the same in nearly every row.

use super::draw::Draw;
use super::edits::{empty, misspell, trailing_blank, write};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};

const ROWS: usize = 2000;
const FACTORS: usize = 6;
const MONTHS: usize = 8;
const GROUPS: [&str; 15] = [
    "visits", "clicks", "orders", "returns", "stock", "price", "cost", "margin", "calls", "mails", "leads", "refunds",
    "hours", "energy", "waste",
];
const CATEGORY_GROUPS: [&str; 10] =
    ["segment", "tier", "channel", "cluster", "risk", "trend", "season", "loyalty", "shape", "rating"];
const LEVELS: [&str; 4] = ["low", "medium", "high", "highest"];
const SPARSE: usize = 20;
const CONSTANT: [&str; 7] =
    ["source_system", "tenant", "export_version", "is_test", "locale", "time_zone", "legal_entity"];
/// What these say, nearly always.
const CONSTANT_VALUES: [&str; 7] = ["core", "emea", "v4", "no", "en", "CET", "Holding"];
const REGIONS: [(&str, [&str; 3]); 4] = [
    ("north", ["Oslo", "Malmö", "Turku"]),
    ("south", ["Rome", "Sevilla", "Porto"]),
    ("east", ["Krakow", "Brno", "Riga"]),
    ("west", ["Lille", "Cork", "Leeds"]),
];

/// Whether a group's numbers are skewed, its middle and its spread.
fn scale(group: usize) -> (bool, f64, f64) {
    let middle = [1200.0, 340.0, 52.0, 75.0, 900.0, 24.0, 15.0, 8.0][group % 8];
    (group % 2 == 1, middle, if group % 2 == 1 { 0.35 } else { 0.18 * middle })
}

fn number(group: usize, z: f64) -> String {
    let (skewed, middle, spread) = scale(group);
    let value = if skewed { middle * (spread * z).exp() } else { middle + spread * z };
    format!("{value:.2}")
}

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let mut header = vec!["account".to_owned()];
    header.extend(GROUPS.iter().flat_map(|group| (1..=MONTHS).map(move |month| format!("{group}_{month:02}"))));
    header.extend(CATEGORY_GROUPS.iter().flat_map(|group| (1..=5).map(move |part| format!("{group}_{part}"))));
    header.extend((1..=SPARSE).map(|place| format!("extra_{place:02}")));
    header.extend(CONSTANT.iter().map(ToString::to_string));
    header.extend(["region".to_owned(), "warehouse".to_owned()]);
    let mut table = Plain { header, rows: Vec::new(), separator: ',' };
    for row in 0..ROWS {
        let mut cells = vec![format!("A{:06}", 104_000 + row * 7)];
        let factors: [f64; FACTORS] = std::array::from_fn(|_| draw.normal());
        for group in 0..GROUPS.len() {
            let own = 0.75 * factors[group % FACTORS] + 0.66 * draw.normal();
            cells.extend((0..MONTHS).map(|_| number(group, own + 0.22 * draw.normal())));
        }
        for group in 0..CATEGORY_GROUPS.len() {
            for _ in 0..5 {
                let blurred = factors[group % FACTORS] + 0.35 * draw.normal();
                let level =
                    if blurred < -0.6 { 0 } else { 1 + usize::from(blurred > 0.5) + usize::from(blurred > 1.6) };
                cells.push(LEVELS[level].into());
            }
        }
        cells.extend((0..SPARSE).map(|_| {
            let value = draw.around(40.0, 0.3);
            if draw.chance(0.07) { format!("{value:.1}") } else { String::new() }
        }));
        cells.extend(CONSTANT_VALUES.iter().map(ToString::to_string));
        let (region, warehouses) = draw.pick(&REGIONS);
        cells.extend([region.into(), draw.pick(&warehouses).into()]);
        table.rows.push(cells);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("wide-cell", one_cell),
        plan("wide-cell", one_cell),
        plan("wide-number-pair", one_of_a_group),
        plan("wide-number-pair", one_of_a_group),
        plan("wide-category-pair", |site| super::edits::mismatch(site, "warehouse", "region")),
        plan("unseen-category", |site| {
            let place = site.draw.below(CONSTANT.len());
            let text = ["legacy", "apac", "v3", "yes", "tlh", "PST", "Shell Ltd"][place];
            site.set(CONSTANT[place], text)
        }),
        plan("misspelt-category", |site| misspell(site, &["segment_1", "tier_2", "risk_4", "warehouse", "rating_5"])),
        plan("trailing-blank", |site| trailing_blank(site, &["channel_3", "cluster_1", "region"])),
        plan("stray-word", |site| {
            let (_, column) = column(site);
            write(site, &[column.as_str()], &["#REF!", "unknown", "pending"])
        }),
        plan("missing-cell", |site| {
            let (_, column) = column(site);
            empty(site, &[column.as_str()])
        }),
        plan("absurd-number", |site| {
            let (_, column) = column(site);
            write(site, &[column.as_str()], &["999999999", "1e300"])
        }),
    ]
}

/// One of the numbers, and its group.
fn column(site: &mut Site<'_>) -> (usize, String) {
    let group = site.draw.below(GROUPS.len());
    (group, format!("{}_{:02}", GROUPS[group], site.draw.between(1, MONTHS as i64)))
}

fn one_cell(site: &mut Site<'_>) -> Option<()> {
    let (group, column) = column(site);
    // Of a skewed number, only the upper end is far away.
    let z = if scale(group).0 { 12.0 } else { 8.0 * site.draw.pick(&[-1.0, 1.0]) };
    site.set(&column, number(group, z))
}

/// A cell that is common by itself while its group is at the other end.
fn one_of_a_group(site: &mut Site<'_>) -> Option<()> {
    let (group, column) = column(site);
    let (skewed, middle, spread) = scale(group);
    let z = (site.number(&column)? - middle) / spread;
    (!skewed && z.abs() > 1.3 && z.abs() < 2.0).then_some(())?;
    site.set(&column, number(group, -z))
}
