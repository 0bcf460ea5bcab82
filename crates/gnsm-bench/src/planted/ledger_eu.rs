//! A purchase ledger in European formats: `1.234,56`, `€ 5`, `09.03.2024 14:12`, with semicolons between cells.

use super::draw::Draw;
use super::edits::{
    decimal_shift, duplicate, empty, extra_digit, mismatch, misspell, swap, trailing_blank, write, wrong_case,
};
use super::ledger::{SMALL, Words, entries};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, clock, day, grouped, read_grouped, weekday};

const ROWS: usize = 4000;
const DATES: DateStyle = DateStyle::European;

const WORDS: Words = Words {
    departments: [
        "Vertrieb",
        "Marketing",
        "Entwicklung",
        "Produktion",
        "Finanzen",
        "Personal",
        "Kundendienst",
        "Gebäude",
    ],
    categories: [
        "Reisen",
        "Bürobedarf",
        "Hardware",
        "Software",
        "Werbung",
        "Beratung",
        "Schulung",
        "Rohstoffe",
        "Wartung",
        "Bewirtung",
    ],
    trades: [
        "Reisen GmbH",
        "Papier KG",
        "Computer AG",
        "Software GmbH",
        "Medien GmbH",
        "Partner",
        "Akademie",
        "Metall AG",
        "Technik GmbH",
        "Küche",
    ],
    firms: &[
        "Rhein", "Alster", "Nord", "Süd", "Berg", "Stein", "Linden", "Adler", "Falken", "Hansa", "Isar", "Kronen",
        "Löwen", "Mosel", "Neckar", "Oder", "Prima", "Quell", "Rosen", "Saale", "Tauern", "Union", "Vita", "Weser",
    ],
    countries: &[
        ("Deutschland", "EUR", 0.55),
        ("Österreich", "EUR", 0.12),
        ("Frankreich", "EUR", 0.09),
        ("Schweiz", "CHF", 0.12),
        ("Polen", "PLN", 0.07),
        ("Tschechien", "CZK", 0.05),
    ],
    far_countries: [("Norwegen", "NOK"), ("Türkei", "TRY")],
    payments: [("Überweisung", 0.6), ("Lastschrift", 0.25), ("Firmenkarte", 0.14), ("Scheck", 0.01)],
};

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "belegnummer",
        "bestellung",
        "gebucht_am",
        "faellig_am",
        "lieferant",
        "land",
        "waehrung",
        "abteilung",
        "kostenstelle",
        "kategorie",
        "menge",
        "betrag",
        "fracht",
        "zahlart",
        "skonto",
    ];
    let mut table = Plain::new(&header, ';');
    for (place, entry) in entries(&WORDS, ROWS, draw).into_iter().enumerate() {
        // Small parcels have a flat price, larger ones pay by the piece.
        let freight =
            if draw.chance(0.6) { 5.0 } else { (4.0 + entry.quantity as f64 * draw.around(1.5, 0.2)).round() };
        let freight = if draw.chance(0.3) { format!("{freight},50") } else { format!("{freight}") };
        let discount = if entry.terms <= 14 { 3 } else { draw.weighted(&[(2, 0.8), (0, 0.2)]) };
        table.rows.push(vec![
            format!("RE-2024-{:05}", place + 1),
            entry.order.map_or_else(String::new, |order| format!("4500{order:06}")),
            format!("{} {}", DATES.write(entry.posted), clock(entry.minute)),
            DATES.write(entry.due),
            entry.supplier,
            entry.country.into(),
            entry.currency.into(),
            WORDS.departments[entry.department].into(),
            (4100 + 100 * entry.department + 10 * entry.center).to_string(),
            WORDS.categories[entry.category].into(),
            entry.quantity.to_string(),
            grouped(entry.amount, '.', ','),
            format!("€ {freight}"),
            entry.payment.into(),
            format!("{discount} %"),
        ]);
    }
    table
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("misspelt-category", |site| misspell(site, &["abteilung", "kategorie", "land", "zahlart"])),
        plan("unseen-category", |site| write(site, &["land"], &["Panama", "Zypern", "Malta"])),
        plan("wrong-case", |site| wrong_case(site, &["abteilung", "kategorie", "waehrung"])),
        plan("trailing-blank", |site| trailing_blank(site, &["abteilung", "land", "waehrung"])),
        plan("stray-word", |site| write(site, &["betrag", "fracht", "menge"], &["unbekannt", "folgt", "siehe Beleg"])),
        plan("missing-cell", |site| empty(site, &["lieferant", "betrag", "gebucht_am", "kategorie"])),
        plan("extra-digit", |site| amount(site, extra_digit)),
        plan("sign-flipped", |site| amount(site, |_, value| -value)),
        plan("odd-for-category", |site| {
            let category = site.get("kategorie")?;
            SMALL.iter().any(|small| WORDS.categories[*small] == category).then_some(())?;
            amount(site, |site, _| site.draw.around(17_000.0, 0.1))?;
            site.beside("kategorie")
        }),
        plan("absurd-number", |site| write(site, &["betrag", "menge"], &["999999999", "99999999999"])),
        plan("decimal-shift", |site| amount(site, decimal_shift)),
        plan("wrong-unit", |site| {
            let text = site.get("fracht")?.replace('€', site.draw.pick(&["$", "£"]));
            site.set("fracht", text)
        }),
        plan("foreign-number-format", |site| {
            let value = read_grouped(site.get("betrag")?, ',').filter(|value| *value >= 1000.0)?;
            site.set("betrag", grouped(value, ',', '.'))
        }),
        plan("rate-above-100", |site| write(site, &["skonto"], &["200 %", "150 %", "300 %"])),
        plan("currency-mismatch", |site| mismatch(site, "waehrung", "land")),
        plan("swapped-columns", |site| swap(site, "waehrung", "land")),
        plan("department-mismatch", |site| mismatch(site, "kostenstelle", "abteilung")),
        plan("impossible-pair", |site| mismatch(site, "kategorie", "abteilung")),
        plan("date-before", |site| {
            let posted = DATES.read(site.get("gebucht_am")?)?;
            let text = DATES.write(posted - site.draw.between(15, 90));
            site.set("faellig_am", text)?;
            site.beside("gebucht_am")
        }),
        plan("date-far-past", |site| due_in(site, 1823)),
        plan("date-far-future", |site| due_in(site, 2034)),
        plan("weekend-posting", |site| {
            let (posted, time) = posted(site)?;
            let date = DATES.write(posted + 5 - weekday(posted) + site.draw.between(0, 1));
            site.set("gebucht_am", format!("{date} {time}"))
        }),
        plan("night-posting", |site| {
            let (posted, _) = posted(site)?;
            let time = clock(site.draw.between(120, 240));
            site.set("gebucht_am", format!("{} {time}", DATES.write(posted)))
        }),
        plan("wrong-date-order", |site| {
            let text = DATES.in_wrong_order(DATES.read(site.get("faellig_am")?)?)?;
            site.set("faellig_am", text)
        }),
        plan("duplicate-identifier", |site| duplicate(site, "belegnummer")),
        plan("wrong-shape-identifier", |site| {
            let text = site.get("belegnummer")?.replace("RE-2024-", site.draw.pick(&["", "R2024/", "RE-24-X"]));
            site.set("belegnummer", text)
        }),
        plan("wrong-shape-code", |site| {
            let text = site.get("kostenstelle")?.replacen('4', site.draw.pick(&["A", "4O", "4-"]), 1);
            site.set("kostenstelle", text)
        }),
        plan("free-text-in-code", |site| {
            write(site, &["kostenstelle", "waehrung"], &["siehe Mail von Frau Vogel", "wie im letzten Monat"])
        }),
    ]
}

fn posted<'a>(site: &Site<'a>) -> Option<(i64, &'a str)> {
    let text = site.get("gebucht_am")?;
    Some((DATES.read(text)?, text.split_once(' ')?.1))
}

fn amount(site: &mut Site<'_>, change: impl Fn(&mut Site<'_>, f64) -> f64) -> Option<()> {
    let value = read_grouped(site.get("betrag")?, ',')?;
    let changed = change(site, value);
    site.set("betrag", grouped(changed, '.', ','))
}

fn due_in(site: &mut Site<'_>, year: i64) -> Option<()> {
    let date = day(year, site.draw.between(1, 12), site.draw.between(1, 28));
    site.set("faellig_am", DATES.write(date))
}
