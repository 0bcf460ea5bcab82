//! A purchase ledger in American formats: `$4,219.50`, `3/9/2024`.

use super::draw::Draw;
use super::edits::{
    decimal_shift, duplicate, empty, extra_digit, mismatch, misspell, swap, trailing_blank, write, wrong_case,
};
use super::ledger::{SMALL, Words, approver, entries};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day, dollars, read_grouped, weekday};

const ROWS: usize = 5000;
const DATES: DateStyle = DateStyle::American;

const WORDS: Words = Words {
    departments: [
        "Sales",
        "Marketing",
        "Engineering",
        "Operations",
        "Finance",
        "Human Resources",
        "Support",
        "Facilities",
    ],
    categories: [
        "Travel",
        "Office supplies",
        "Hardware",
        "Software",
        "Advertising",
        "Consulting",
        "Training",
        "Raw materials",
        "Maintenance",
        "Catering",
    ],
    trades: [
        "Travel",
        "Stationers",
        "Computers",
        "Software",
        "Media",
        "Advisors",
        "Academy",
        "Metals",
        "Services",
        "Kitchen",
    ],
    firms: &[
        "Summit",
        "Lakeside",
        "Pioneer",
        "Redwood",
        "Harbor",
        "Liberty",
        "Prairie",
        "Granite",
        "Blue Ridge",
        "Cascade",
        "Evergreen",
        "Frontier",
        "Golden Gate",
        "Heritage",
        "Ironwood",
        "Keystone",
        "Magnolia",
        "Northstar",
        "Old Mill",
        "Patriot",
        "Quail Creek",
        "Riverside",
        "Sierra",
        "Tidewater",
    ],
    countries: &[
        ("United States", "USD", 0.66),
        ("Canada", "CAD", 0.13),
        ("Mexico", "MXN", 0.08),
        ("United Kingdom", "GBP", 0.07),
        ("Germany", "EUR", 0.06),
    ],
    far_countries: [("Chile", "CLP"), ("Iceland", "ISK")],
    payments: [("ACH", 0.55), ("Company card", 0.3), ("Wire", 0.14), ("Check", 0.01)],
};

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "invoice_number",
        "po_number",
        "posted_on",
        "due_on",
        "supplier",
        "country",
        "currency",
        "department",
        "cost_center",
        "category",
        "quantity",
        "amount",
        "terms",
        "payment",
        "approved_by",
    ];
    let mut table = Plain::new(&header, ',');
    let mut invoice = 100_230;
    for entry in entries(&WORDS, ROWS, draw) {
        invoice += draw.between(1, 4);
        table.rows.push(vec![
            format!("INV-{invoice}"),
            entry.order.map_or_else(String::new, |order| format!("PO-{order}")),
            DATES.write(entry.posted),
            DATES.write(entry.due),
            entry.supplier.clone(),
            entry.country.into(),
            entry.currency.into(),
            WORDS.departments[entry.department].into(),
            format!("CC-{}", 4100 + 100 * entry.department + 10 * entry.center),
            WORDS.categories[entry.category].into(),
            entry.quantity.to_string(),
            dollars(entry.amount),
            format!("Net {}", entry.terms),
            entry.payment.into(),
            approver(&entry),
        ]);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("misspelt-category", |site| misspell(site, &["department", "category", "country", "supplier"])),
        plan("unseen-category", |site| write(site, &["payment"], &["Gift card", "Barter", "Crypto"])),
        plan("wrong-case", |site| wrong_case(site, &["department", "category", "country"])),
        plan("trailing-blank", |site| trailing_blank(site, &["department", "category", "country"])),
        plan("stray-word", |site| write(site, &["amount", "quantity"], &["unknown", "tbd", "see note"])),
        plan("missing-cell", |site| empty(site, &["supplier", "amount", "department", "due_on"])),
        plan("extra-digit", |site| amount(site, extra_digit)),
        plan("sign-flipped", |site| amount(site, |_, value| -value)),
        plan("odd-for-category", |site| {
            let category = site.get("category")?;
            SMALL.iter().any(|small| WORDS.categories[*small] == category).then_some(())?;
            amount(site, |site, _| site.draw.around(17_000.0, 0.1))?;
            site.beside("category")
        }),
        plan("odd-by-itself", |site| amount(site, |site, _| site.draw.around(1_500_000.0, 0.1))),
        plan("absurd-number", |site| write(site, &["amount"], &["$999,999,999.00", "$9,999,999,999.99"])),
        plan("decimal-shift", |site| amount(site, decimal_shift)),
        plan("currency-mismatch", |site| mismatch(site, "currency", "country")),
        plan("swapped-columns", |site| swap(site, "department", "category")),
        plan("department-mismatch", |site| mismatch(site, "cost_center", "department")),
        plan("impossible-pair", |site| mismatch(site, "category", "department")),
        plan("date-before", |site| {
            let posted = DATES.read(site.get("posted_on")?)?;
            let text = DATES.write(posted - site.draw.between(15, 90));
            site.set("due_on", text)?;
            site.beside("posted_on")
        }),
        plan("date-far-past", |site| year(site, 1823)),
        plan("date-far-future", |site| year(site, 2034)),
        plan("weekend-posting", |site| {
            let posted = DATES.read(site.get("posted_on")?)?;
            let text = DATES.write(posted + 5 - weekday(posted) + site.draw.between(0, 1));
            site.set("posted_on", text)
        }),
        plan("wrong-date-order", |site| {
            let column = site.draw.pick(&["posted_on", "due_on"]);
            let text = DATES.in_wrong_order(DATES.read(site.get(column)?)?)?;
            site.set(column, text)
        }),
        plan("duplicate-identifier", |site| duplicate(site, "invoice_number")),
        plan("wrong-shape-identifier", |site| {
            let digits = site.get("invoice_number")?.strip_prefix("INV-")?;
            let text = site.draw.pick(&["#", "inv/", "INV-A-"]);
            site.set("invoice_number", format!("{text}{digits}"))
        }),
        plan("wrong-shape-code", |site| {
            let text = site.get("cost_center")?.replace("CC-", site.draw.pick(&["C-", "CC", "CC-0"]));
            site.set("cost_center", text)
        }),
        plan("free-text-in-code", |site| {
            write(
                site,
                &["cost_center", "currency"],
                &["see mail from Bob", "ask accounting again", "same as last month"],
            )
        }),
        plan("rare-row", |site| {
            let (country, currency) = site.draw.pick(&WORDS.far_countries);
            site.set("country", country)?;
            site.set("currency", currency)?;
            site.set("payment", WORDS.payments[3].0)?;
            site.set("terms", "Net 90")?;
            let due = DATES.read(site.get("posted_on")?)? + 90;
            site.set("due_on", DATES.write(due))
        }),
    ]
}

fn amount(site: &mut Site<'_>, change: impl Fn(&mut Site<'_>, f64) -> f64) -> Option<()> {
    let value = read_grouped(site.get("amount")?, '.')?;
    let changed = change(site, value);
    site.set("amount", dollars(changed))
}

fn year(site: &mut Site<'_>, year: i64) -> Option<()> {
    let column = site.draw.pick(&["posted_on", "due_on"]);
    let date = day(year, site.draw.between(1, 12), site.draw.between(1, 28));
    site.set(column, DATES.write(date))
}
