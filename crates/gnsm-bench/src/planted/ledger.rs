//! What both purchase ledgers have in common: departments buy from suppliers.
//!
//! A department buys some categories and not others; a category has its suppliers and its prices; a supplier has a
//! country, whose currency it takes, and its terms of payment. Amounts have long tails. A few suppliers come once,
//! some of them from countries that are rare.

use super::draw::Draw;
use super::written::{day, working_day};

/// Departments.
pub const DEPARTMENTS: usize = 8;
/// Categories of purchases.
pub const CATEGORIES: usize = 10;
/// Regular suppliers of a category.
const SUPPLIERS: usize = 9;
/// Days until an invoice is due, with weights; the last is rare.
pub const TERMS: [(i64, f64); 5] = [(30, 0.5), (14, 0.2), (45, 0.15), (60, 0.14), (90, 0.01)];
/// Suppliers that come once, as a share of all entries.
const ONCE: f64 = 0.03;

/// A ledger's words.
pub struct Words {
    /// Departments.
    pub departments: [&'static str; DEPARTMENTS],
    /// Categories.
    pub categories: [&'static str; CATEGORIES],
    /// What suppliers of each category are called behind their first word.
    pub trades: [&'static str; CATEGORIES],
    /// First words of suppliers' names.
    pub firms: &'static [&'static str],
    /// Countries, with currency and weight.
    pub countries: &'static [(&'static str, &'static str, f64)],
    /// Countries of suppliers that come once.
    pub far_countries: [(&'static str, &'static str); 2],
    /// Ways to pay, with weights; the last is rare.
    pub payments: [(&'static str, f64); 4],
}

/// One entry.
pub struct Entry {
    /// The order, where there was one.
    pub order: Option<usize>,
    /// The day it was posted; entries are sorted by it.
    pub posted: i64,
    /// The minute of that day.
    pub minute: i64,
    /// The day it is due.
    pub due: i64,
    /// The days between, as agreed.
    pub terms: i64,
    /// The supplier.
    pub supplier: String,
    /// Its country.
    pub country: &'static str,
    /// Its currency.
    pub currency: &'static str,
    /// The department, by place.
    pub department: usize,
    /// Which of its cost centers, 0 or 1.
    pub center: usize,
    /// The category, by place.
    pub category: usize,
    /// Pieces.
    pub quantity: i64,
    /// The amount in the ledger's own currency.
    pub amount: f64,
    /// How it is paid.
    pub payment: &'static str,
    /// Who approved it: one of the department's three, or 3 for the head of finance.
    pub approver: usize,
}

/// What each department buys: categories by place, with weights.
const BUYS: [&[(usize, f64)]; DEPARTMENTS] = [
    &[(0, 6.0), (9, 3.0), (6, 1.0), (1, 1.0)],
    &[(4, 6.0), (0, 2.0), (5, 1.0), (1, 1.0)],
    &[(2, 4.0), (3, 4.0), (6, 1.0), (1, 1.0)],
    &[(7, 7.0), (8, 3.0), (1, 1.0)],
    &[(5, 3.0), (3, 3.0), (1, 2.0)],
    &[(6, 5.0), (5, 2.0), (9, 2.0), (1, 1.0)],
    &[(3, 3.0), (2, 2.0), (1, 3.0), (6, 1.0)],
    &[(8, 6.0), (1, 2.0), (9, 1.0)],
];
const DEPARTMENT_WEIGHTS: [f64; DEPARTMENTS] = [0.22, 0.12, 0.16, 0.2, 0.06, 0.06, 0.1, 0.08];
/// What a piece of each category costs, the spread of its logarithm, and the most pieces of a purchase.
const PRICES: [(f64, f64, i64); CATEGORIES] = [
    (420.0, 0.4, 2),
    (38.0, 0.35, 8),
    (1150.0, 0.3, 3),
    (240.0, 0.35, 10),
    (2600.0, 0.4, 1),
    (5200.0, 0.35, 1),
    (780.0, 0.3, 3),
    (950.0, 0.35, 40),
    (640.0, 0.4, 2),
    (150.0, 0.35, 2),
];
/// Categories whose purchases are small; a large amount is odd for them.
pub const SMALL: [usize; 2] = [1, 9];
/// The amount from which the head of finance signs.
const LARGE: f64 = 15_000.0;

struct Supplier {
    name: String,
    country: (&'static str, &'static str),
    terms: i64,
    payment: &'static str,
}

/// Entries of the year 2024, in their order.
pub fn entries(words: &Words, n: usize, draw: &mut Draw) -> Vec<Entry> {
    let suppliers: Vec<Vec<Supplier>> = (0..CATEGORIES).map(|category| suppliers(words, category, draw)).collect();
    let mut moments: Vec<(i64, i64)> = (0..n)
        .map(|_| {
            let minute = (690.0 + 110.0 * draw.normal()).clamp(420.0, 1095.0) as i64;
            (working_day(day(2024, 1, 2) + draw.between(0, 355)), minute)
        })
        .collect();
    moments.sort_unstable();
    let mut order = 20_417;
    moments.into_iter().map(|moment| entry(words, &suppliers, moment, &mut order, draw)).collect()
}

fn entry(
    words: &Words,
    suppliers: &[Vec<Supplier>],
    (posted, minute): (i64, i64),
    order: &mut usize,
    draw: &mut Draw,
) -> Entry {
    let weights: Vec<(usize, f64)> = DEPARTMENT_WEIGHTS.into_iter().enumerate().collect();
    let department = draw.weighted(&weights);
    let category = draw.weighted(BUYS[department]);
    let once;
    let supplier = if draw.chance(ONCE) {
        once = supplier_once(words, category, draw);
        &once
    } else {
        &suppliers[category][draw.often_first(SUPPLIERS)]
    };
    let (price, spread, most) = PRICES[category];
    let quantity = draw.between(1, most);
    let tail = if draw.chance(0.01) { draw.around(1.6, 0.3) } else { 1.0 };
    let amount = (quantity as f64 * draw.around(price, spread) * tail * 100.0).round() / 100.0;
    // Most orders have one entry, some several.
    *order += usize::from(draw.chance(0.8));
    let payment = if draw.chance(0.9) { supplier.payment } else { draw.weighted(&words.payments) };
    let approver = draw.weighted(&[(0, 0.6), (1, 0.3), (2, 0.1)]);
    Entry {
        order: draw.chance(0.93).then_some(*order),
        posted,
        minute,
        due: working_day(posted + supplier.terms),
        terms: supplier.terms,
        supplier: supplier.name.clone(),
        country: supplier.country.0,
        currency: supplier.country.1,
        department,
        center: draw.weighted(&[(0, 0.75), (1, 0.25)]),
        category,
        quantity,
        amount,
        payment,
        approver: if amount > LARGE && draw.chance(0.9) { 3 } else { approver },
    }
}

fn suppliers(words: &Words, category: usize, draw: &mut Draw) -> Vec<Supplier> {
    let firms = draw.shuffled(words.firms.to_vec());
    let names = firms.into_iter().take(SUPPLIERS).map(|firm| format!("{firm} {}", words.trades[category]));
    names
        .map(|name| {
            let countries: Vec<((&str, &str), f64)> =
                words.countries.iter().map(|(country, currency, weight)| ((*country, *currency), *weight)).collect();
            let terms = draw.weighted(&TERMS[..4]);
            Supplier { name, country: draw.weighted(&countries), terms, payment: draw.weighted(&words.payments[..3]) }
        })
        .collect()
}

/// A supplier that occurs nowhere else, if its name did not come twice by chance.
fn supplier_once(words: &Words, category: usize, draw: &mut Draw) -> Supplier {
    let name = format!("{} {} {}", draw.pick(words.firms), draw.pick(&SURNAMES), words.trades[category]);
    let (country, currency, _) = words.countries[0];
    let country = if draw.chance(0.3) { draw.pick(&words.far_countries) } else { (country, currency) };
    Supplier { name, country, terms: draw.weighted(&TERMS), payment: draw.weighted(&words.payments) }
}

/// Surnames, for those who approve and for suppliers that come once.
pub const SURNAMES: [&str; 26] = [
    "Abrams", "Becker", "Castell", "Duarte", "Ekström", "Fischer", "Gupta", "Hanson", "Ivanova", "Jansen", "Keller",
    "Larsen", "Moretti", "Novak", "Okafor", "Pereira", "Quinn", "Rossi", "Schmidt", "Tanaka", "Ueda", "Vogel", "Weber",
    "Xu", "Young", "Zimmer",
];

/// Who approved an entry.
pub fn approver(entry: &Entry) -> String {
    let place = if entry.approver == 3 { DEPARTMENTS * 3 } else { entry.department * 3 + entry.approver };
    format!("{}. {}", char::from(b'A' + (place * 7 % 26) as u8), SURNAMES[place])
}
