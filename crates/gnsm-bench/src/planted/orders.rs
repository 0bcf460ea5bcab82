//! Orders of a web shop: units behind numbers (`12.0 oz`, `15 %`, `0.45 kg`), postcodes of several countries, free
//! text.

use super::draw::Draw;
use super::edits::{duplicate, empty, extra_digit, misspell, trailing_blank, write, wrong_case};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day, read_grouped};

const ROWS: usize = 2500;
const DATES: DateStyle = DateStyle::Iso;

/// Products with their sizes in ounces, the price of an ounce, and a weight.
type Product = (&'static str, &'static [f64], f64, f64);
const PRODUCTS: [Product; 8] = [
    ("Ground coffee", &[12.0, 16.0, 32.0], 1.05, 0.25),
    ("Espresso beans", &[12.0, 35.2], 1.3, 0.2),
    ("Green tea", &[3.5, 7.0], 2.6, 0.15),
    ("Black tea", &[3.5, 7.0, 14.0], 2.1, 0.12),
    ("Cocoa powder", &[8.8, 17.6], 0.95, 0.1),
    ("Oat milk", &[33.8], 0.14, 0.08),
    ("Maple syrup", &[8.5, 16.9], 1.2, 0.08),
    ("Saffron", &[0.1], 95.0, 0.02),
];
const COUNTRIES: [(&str, f64); 4] = [("US", 0.72), ("CA", 0.16), ("GB", 0.1), ("DE", 0.02)];
const COMMENTS: [&str; 10] = [
    "Please leave it at the back door",
    "A gift, no invoice please",
    "Ring twice",
    "Thank you!",
    "Last time a bag was open, please check",
    "The door code is 4471",
    "Call me before you deliver, I am at work until five",
    "same as always",
    "Neighbour takes it",
    "Is the new harvest in yet? If so, send that instead",
];

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "order_no",
        "ordered_at",
        "shipped_on",
        "product",
        "size",
        "price",
        "quantity",
        "discount",
        "weight",
        "channel",
        "country",
        "postcode",
        "comment",
    ];
    let mut table = Plain::new(&header, ',');
    let mut moments: Vec<i64> = (0..ROWS).map(|_| draw.between(0, 240 * 1440 - 1)).collect();
    moments.sort_unstable();
    let weights: Vec<(Product, f64)> = PRODUCTS.iter().map(|product| (*product, product.3)).collect();
    for (row, minute) in moments.into_iter().enumerate() {
        let ordered = day(2024, 1, 8) + minute / 1440;
        let shipped = ordered + draw.weighted(&[(0, 0.2), (1, 0.5), (2, 0.2), (3, 0.08), (6, 0.02)]);
        // Shops sleep less than their customers: most orders come between 7 and 23 h.
        let minute = if minute % 1440 < 420 && draw.chance(0.9) { minute % 1440 + 700 } else { minute % 1440 };
        let (product, sizes, ounce, _) = draw.weighted(&weights);
        let size = draw.pick(sizes);
        let quantity = draw.weighted(&[(1, 0.6), (2, 0.25), (3, 0.1), (6, 0.04), (12, 0.01)]);
        let price = (size * ounce * draw.around(1.0, 0.04)).floor() + 0.99;
        let weight = f64::from(quantity) * size * 0.02835 * draw.around(1.08, 0.015) + 0.08;
        let country = draw.weighted(&COUNTRIES);
        table.rows.push(vec![
            format!("W-{:06}", 310_022 + row),
            format!("{}T{:02}:{:02}:00", DATES.write(ordered), minute / 60, minute % 60),
            DATES.write(shipped),
            product.into(),
            format!("{size:.1} oz"),
            format!("${price:.2}"),
            quantity.to_string(),
            format!("{} %", draw.weighted(&[(0, 0.6), (5, 0.15), (10, 0.15), (15, 0.08), (25, 0.02)])),
            format!("{weight:.2} kg"),
            draw.weighted(&[("web", 0.6), ("app", 0.35), ("phone", 0.05)]).into(),
            country.into(),
            postcode(country, draw),
            if draw.chance(0.25) { draw.pick(&COMMENTS).into() } else { String::new() },
        ]);
    }
    table
}

fn postcode(country: &str, draw: &mut Draw) -> String {
    let mut letter = || char::from(b'A' + draw.below(24) as u8);
    let letters = [letter(), letter(), letter()];
    let mut digit = || draw.below(10);
    let digits = [digit(), digit(), digit()];
    let [a, b, c] = letters;
    let [x, y, z] = digits;
    match country {
        "CA" => format!("{a}{x}{b} {y}{c}{z}"),
        "GB" => format!("{a}{b}{} {y}{c}{a}", 1 + x),
        _ => format!("{:05}", 1001 + draw.below(98_000)),
    }
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("wrong-unit", |site| {
            let ounces = read_grouped(site.get("size")?, '.')?;
            site.set("size", format!("{:.0} g", ounces * 28.35))
        }),
        plan("wrong-unit", |site| {
            let kilograms = read_grouped(site.get("weight")?, '.')?;
            site.set("weight", format!("{:.2} lb", kilograms * 2.2046))
        }),
        plan("rate-above-100", |site| write(site, &["discount"], &["150 %", "500 %", "250 %"])),
        plan("misspelt-category", |site| misspell(site, &["product"])),
        plan("unseen-category", |site| write(site, &["channel", "country"], &["fax", "XX"])),
        plan("wrong-case", |site| wrong_case(site, &["product", "country", "channel"])),
        plan("trailing-blank", |site| trailing_blank(site, &["product", "country"])),
        plan("stray-word", |site| write(site, &["price", "weight", "quantity"], &["unknown", "free", "sold out"])),
        plan("missing-cell", |site| empty(site, &["product", "price", "quantity", "shipped_on"])),
        plan("extra-digit", |site| {
            let value = read_grouped(site.get("price")?, '.')?;
            let value = extra_digit(site, value);
            site.set("price", format!("${value:.2}"))
        }),
        plan("sign-flipped", |site| {
            let text = format!("-{}", site.get("quantity")?);
            site.set("quantity", text)
        }),
        plan("decimal-shift", |site| {
            let column = site.draw.pick(&["weight", "price"]);
            let value = read_grouped(site.get(column)?, '.')? * 100.0;
            site.set(column, if column == "price" { format!("${value:.2}") } else { format!("{value:.2} kg") })
        }),
        plan("odd-for-category", |site| {
            // What a large bag of coffee costs, for a carton of milk.
            (site.get("product")? == "Oat milk").then_some(())?;
            let price = site.draw.between(38, 46);
            site.set("price", format!("${price}.99"))?;
            site.beside("product")
        }),
        plan("impossible-pair", |site| {
            // 16.9 oz for 16.0 oz would be nobody's surprise.
            let (product, size) = (site.get("product")?, read_grouped(site.get("size")?, '.')?);
            let sizes: Vec<f64> =
                PRODUCTS.iter().filter(|other| other.0 != product).flat_map(|other| other.1).copied().collect();
            let other = site.draw.pick(&sizes);
            (other > 2.5 * size || other < 0.4 * size).then_some(())?;
            let own = PRODUCTS.iter().find(|own| own.0 == product)?;
            (!own.1.contains(&other)).then_some(())?;
            site.set("size", format!("{other:.1} oz"))?;
            site.beside("product")
        }),
        plan("city-mismatch", foreign_postcode),
        plan("letters-in-zip", |site| {
            (site.get("country")? == "US").then_some(())?;
            write(site, &["postcode"], &["ABCDE", "9O2IO", "none"])
        }),
        plan("date-before", |site| {
            let ordered = DATES.read(site.get("ordered_at")?.split_once('T')?.0)?;
            let text = DATES.write(ordered - site.draw.between(9, 60));
            site.set("shipped_on", text)?;
            site.beside("ordered_at")
        }),
        plan("date-far-future", |site| {
            let text = site.get("shipped_on")?.replace("2024", "2034");
            site.set("shipped_on", text)
        }),
        plan("wrong-date-order", |site| {
            let text = DATES.in_wrong_order(DATES.read(site.get("shipped_on")?)?)?;
            site.set("shipped_on", text)
        }),
        plan("duplicate-identifier", |site| duplicate(site, "order_no")),
        plan("free-text-in-code", |site| {
            write(site, &["country", "postcode"], &["same as last time", "see my account"])
        }),
    ]
}

/// A Canadian postcode in an American address.
fn foreign_postcode(site: &mut Site<'_>) -> Option<()> {
    (site.get("country")? == "US").then_some(())?;
    let other = site.draw.below(site.table.rows.len());
    (site.get_in(other, "country")? == "CA").then_some(())?;
    let text = site.get_in(other, "postcode")?;
    site.set("postcode", text)?;
    site.beside("country")
}
