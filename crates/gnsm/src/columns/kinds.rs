//! The rule by which a column's kind is decided. `learned` and `dated` say what is then learned about it.
//!
//! A flag or a schema file decides first. Otherwise the first line that fits does, from all rows that may be learned from:
//!
//! | the column holds | it becomes |
//! |---|---|
//! | a name that pandas gives to its index (`Unnamed: 0`, `__index_level_0__`) | ignored |
//! | nothing but missing values, or one single number | categorical, so that any change is noticed |
//! | a date or time by its type, or text or digits of which at least 90 % are dates or times | date |
//! | whole numbers that can only be seconds or milliseconds since 1970 | date |
//! | whole numbers, nearly all different, that leave hardly a gap, or whose name says id, number, key … | identifier |
//! | whole numbers, nearly all different, that repeat far less than chance would have it | identifier |
//! | whole numbers with at most 20 distinct values, none of them far outside nor with marks between thousands | categorical: codes, flags, small counts |
//! | bare digits, at least 4 of them, that repeat, lie far apart and are not rounded to hundreds | categorical: codes |
//! | whole numbers that repeat and whose name says id, number, key …; those of one length whose name says zip, phone … | categorical: codes |
//! | text of digits of one length, some with a 0 in front, or with a + | an identifier or categorical, as other text |
//! | numbers, or text of which at least 90 % are numbers as people write them | numeric |
//! | declared categories whose text is a plain number | categorical |
//! | long text (on average 4 words or 40 characters), mostly different | text: its length only |
//! | text, nearly all different | identifier |
//! | other text | categorical |
//!
//! A table that does not fit into memory is learned from some of its rows and a survey of all (`survey.rs`). Then a
//! column is decided from its distinct values with their counts. If it has too many of these, it is decided from the
//! cells of the chosen rows, and from what the survey knows of the others.
//!
//! Nearly all means 95 %. A column of categories keeps the 500 most common ones. The others share places: those seen
//! once, those seen two or three times, and so on by doubling. So a rarer value never counts as a more common one.

use super::counted::{CellsToLearn, Counted, FEWEST_KEYS, NEARLY_ALL, count};
use super::date::{DateFormat, EPOCH};
use super::dated::{date, moment, of_type};
use super::learned::{categorical, identifier, numbers_of, numeric, text};
use super::number::{NumberFormat, parse_number};
use super::scale::at_rank;
use super::schema::{ColumnSchema, Kind, KindChoice, plural};
use super::written::Written;
use crate::error::{Error, Result};
use crate::table::{Column, Table, Values};

/// Whole numbers with at most this many distinct values are taken for categories.
const FEW_INTEGERS: usize = 20;
/// Equal pairs that chance must give for few to be no chance.
const ENOUGH_PAIRS: f64 = 20.0;
/// The share of the cells that must be numbers, or dates, for the column to be one of numbers or of dates.
const MOSTLY: f64 = 0.9;
/// Fewer numbers than this do not show where their middle ends.
const FEWEST_WITH_MIDDLE: usize = 20;
/// Words, or characters, from which on text is prose.
const PROSE: (f64, f64) = (4.0, 40.0);

/// Decides what a column is, and learns it; also tells how its numbers are written. `elsewhere` says whether the other
/// columns have decimal commas, if that is known.
pub(super) fn learn_column(
    table: &Table,
    cells: CellsToLearn<'_>,
    choice: Option<KindChoice>,
    elsewhere: Option<bool>,
) -> Result<(ColumnSchema, Written)> {
    let column = cells.column;
    let schema = |kind: Kind, reason: String| ColumnSchema { name: column.name.clone(), kind, reason };
    if choice == Some(KindChoice::Ignore) {
        return Ok((schema(Kind::Ignored, "as asked".into()), Written::default()));
    }
    if matches!(column.values, Values::Unsupported { .. }) {
        return Err(unsupported(table, column));
    }
    let counted = count(cells, choice);
    // A number by its type is written by nobody.
    let typed = matches!(column.values, Values::Number { .. });
    let written = if typed { Written::default() } else { Written::of(counted.cells()) };
    let numbers = if typed { (NumberFormat::default(), counted.present) } else { written.format(elsewhere) };
    let (kind, reason) = match choice {
        Some(choice) => (chosen(table, cells, &counted, numbers, choice)?, "as asked".to_owned()),
        None => found(cells, &counted, numbers),
    };
    Ok((schema(kind, reason), written))
}

fn unsupported(table: &Table, column: &Column) -> Error {
    let type_name = if let Values::Unsupported { type_name, .. } = &column.values { type_name.as_str() } else { "" };
    Error::data(
        table.place(0, &column.name),
        format!("a column of type {type_name} cannot be scored"),
        format!("leave it out with --ignore {}", column.name),
    )
}

/// A kind that the user asked for.
fn chosen(
    table: &Table,
    cells: CellsToLearn<'_>,
    counted: &Counted,
    (format, n_numbers): (NumberFormat, usize),
    choice: KindChoice,
) -> Result<Kind> {
    let column = cells.column;
    let refuse = |what: &str| {
        let first = counted.counts.first().map_or("", |(text, _)| text.as_str());
        Error::data(
            table.place(0, &column.name),
            format!("no cell is {what}, `{first}` for one is not"),
            format!("leave the kind of `{}` open, or choose another", column.name),
        )
    };
    Ok(match choice {
        KindChoice::Categorical => categorical(counted),
        KindChoice::Identifier => identifier(counted),
        KindChoice::Text => text(counted),
        KindChoice::Ignore => Kind::Ignored,
        KindChoice::Numeric => {
            if n_numbers == 0 && counted.present > 0 {
                return Err(refuse("a number"));
            }
            numeric(counted, format)
        }
        KindChoice::Date | KindChoice::DayFirst | KindChoice::MonthFirst => {
            let format = match (choice, &column.values) {
                (_, Values::Time { kind, .. }) => Some(of_type(*kind)),
                (KindChoice::DayFirst, _) => Some(DateFormat::DayFirst),
                (KindChoice::MonthFirst, _) => Some(DateFormat::MonthFirst),
                (_, Values::Number { .. }) => Some(epoch_format(counted)),
                _ => DateFormat::find(counted.cells()).map(|(format, _, _)| format),
            };
            let format = format.ok_or_else(|| refuse("a date"))?;
            date(cells, counted, format).ok_or_else(|| refuse("a date"))?
        }
    })
}

/// The kind that fits, and why.
fn found(cells: CellsToLearn<'_>, counted: &Counted, (format, n_numbers): (NumberFormat, usize)) -> (Kind, String) {
    let column = cells.column;
    let distinct = counted.distinct();
    let values = counted.values();
    if is_pandas_index(&column.name) {
        return (Kind::Ignored, "an index that pandas wrote".into());
    }
    if distinct == 0 {
        return (categorical(counted), "every value is missing".into());
    }
    if let Values::Time { kind, .. } = column.values {
        let format = of_type(kind);
        if let Some(kind) = date(cells, counted, format) {
            return (kind, "a date or time by its type".into());
        }
    }
    let mostly = |n: usize| n as f64 >= MOSTLY * counted.present as f64;
    let typed_number = matches!(column.values, Values::Number { .. });
    let typed_text = matches!(column.values, Values::Category { .. });
    let is_integer = matches!(column.values, Values::Number { integer: true, .. });
    if (!typed_number || (is_integer && are_days_in_digits(counted)))
        && let Some((format, n, ambiguous)) = DateFormat::find(counted.cells())
        && mostly(n)
        && let (format, in_order) = by_the_order_of_rows(cells, format, ambiguous)
        && let Some(kind) = date(cells, counted, format)
    {
        let order = match (format, ambiguous) {
            (DateFormat::MonthFirst, true) if in_order => ", month first: then the rows are in the order of time",
            (DateFormat::DayFirst, true) if in_order => ", day first: then the rows are in the order of time",
            (DateFormat::MonthFirst, true) => {
                "; month or day could come first, month is taken (--day-first changes it)"
            }
            (DateFormat::DayFirst, true) => "; day or month could come first, day is taken (--month-first changes it)",
            (DateFormat::MonthFirst, false) => ", month first",
            (DateFormat::DayFirst, false) => ", day first",
            _ => "",
        };
        let what = if format == DateFormat::TimeOfDay { "times of day" } else { "dates" };
        return (kind, format!("{what}{order}{}", strays(counted, n)));
    }
    let plain = |text: &str| parse_number(text).is_some();
    // If the type says text, plain numbers in it are texts.
    let plain_text = typed_text && counted.cells().all(|(text, _)| plain(text));
    if mostly(n_numbers) && !plain_text && !are_codes_by_form(counted) {
        return number_found(cells, counted, format, n_numbers);
    }
    let (words, characters) = PROSE;
    let is_prose = counted.mean(|text| text.split_whitespace().count() as f64) >= words
        || counted.mean(|text| text.chars().count() as f64) >= characters;
    if is_prose && 2 * distinct > counted.all_present() && counted.present >= FEWEST_KEYS {
        return (text(counted), format!("free text with {values}: only its length is looked at"));
    }
    if counted.nearly_all_differ() {
        return (identifier(counted), format!("an identifier: {values} in {} rows", counted.all_present()));
    }
    // The reason does not mention a type that the format declared: so it is the same for a frame and for its file.
    (categorical(counted), format!("text with {values}"))
}

/// The kind of a column of numbers, and why.
fn number_found(cells: CellsToLearn<'_>, counted: &Counted, format: NumberFormat, n_numbers: usize) -> (Kind, String) {
    let column = cells.column;
    let distinct = counted.distinct();
    let values = counted.values();
    let is_whole = |text: &str| {
        let whole = format.parse(text).is_some_and(|number| number.fract() == 0.0 && number.abs() < 1e15);
        whole && (!text.contains('.') || format.decimal_comma)
    };
    let declared_real = matches!(column.values, Values::Number { integer: false, .. });
    let n_whole: usize = counted.cells().filter(|(text, _)| is_whole(text)).map(|(_, n)| n).sum();
    let integers = !declared_real && n_whole as f64 >= MOSTLY * counted.present as f64;
    let strays = strays(counted, n_numbers);
    if distinct == 1 {
        return (categorical(counted), "one single number".into());
    }
    // What has a currency, a unit or marks between its thousands is an amount.
    let is_bare = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = counted.mean(|text| f64::from(u8::from(is_bare(text)))) >= MOSTLY;
    if integers {
        let mut numbers: Vec<f64> = counted.cells().filter_map(|(text, _)| format.parse(text)).collect();
        numbers.sort_by(f64::total_cmp);
        let moves = cells.in_order() && moves_with_rows(column, cells.rows);
        if is_epoch(&numbers) && counted.nearly_all_differ() && (moves || says(&column.name, &TIME_WORDS)) {
            let epoch = epoch_format(counted);
            if let Some(kind) = date(cells, counted, epoch) {
                return (kind, "whole numbers that count seconds or milliseconds since 1970".into());
            }
        }
        if counted.nearly_all_differ() && distinct > FEW_INTEGERS {
            let ends = counted.ends(&format).or_else(|| Some((*numbers.first()?, *numbers.last()?)));
            if leaves_hardly_a_gap(ends, (numbers.len() as f64 * counted.of_one()) as usize) {
                let n = counted.about(distinct.to_string());
                return (identifier(counted), format!("a row number: {n} whole numbers with hardly a gap"));
            }
            if names_a_key(&column.name) || says(&column.name, &CODE_WORDS) {
                return (
                    identifier(counted),
                    format!("an identifier by its name: {values} in {} rows", counted.all_present()),
                );
            }
            if bare && repeat_less_than_chance(&numbers, counted) {
                let n = counted.all_present();
                return (
                    identifier(counted),
                    format!("an identifier: {values} in {n} rows, where chance would repeat more"),
                );
            }
        }
        // What has marks between its thousands is an amount.
        let mark = if format.decimal_comma { '.' } else { ',' };
        let has_thousands = counted.cells().any(|(text, _)| text.contains(mark) && is_whole(text));
        if distinct <= FEW_INTEGERS && !has_thousands && !some_lie_far_outside(counted, &format) {
            return (categorical(counted), format!("whole numbers with {values}"));
        }
        let present = counted.all_present();
        let repeats = 5 * distinct <= present;
        // What is rounded to hundreds is an amount.
        let rounded = 2 * numbers.iter().filter(|number| *number % 100.0 == 0.0).count() > numbers.len();
        let of_one_length = || same_length(counted) >= MOSTLY;
        if (names_a_key(&column.name) && 2 * distinct <= present)
            || (says(&column.name, &CODE_WORDS) && (2 * distinct <= present || of_one_length()))
        {
            return (categorical(counted), format!("codes by their name, with {values}{strays}"));
        }
        if repeats && bare && !rounded && lie_far_apart(&numbers, counted.of_one()) {
            return (categorical(counted), format!("codes of one length that repeat, with {values}{strays}"));
        }
    }
    let written = match (&format.unit, format.decimal_comma) {
        (Some(unit), _) => format!(" in {unit}"),
        (None, true) if integers => " with points between thousands".to_owned(),
        (None, true) => " with a decimal comma".to_owned(),
        (None, false) => String::new(),
    };
    (numeric(counted, format), format!("numbers{written} with {values}{strays}"))
}

/// The words about cells that do not fit, where `n_right` cells do.
fn strays(counted: &Counted, n_right: usize) -> String {
    let share = (counted.present - n_right) as f64 / counted.present.max(1) as f64;
    match (share * counted.all_present() as f64).round() as usize {
        0 => String::new(),
        n => format!("; {} of another kind", counted.about(plural(n, "cell"))),
    }
}

/// Words in the name of a key. Those that may also name a count must be the last word: `order_no`, and not `no_of_orders`.
const KEY_WORDS: [&str; 15] = [
    "id",
    "key",
    "uuid",
    "guid",
    "index",
    "idx",
    "serial",
    "ref",
    "reference",
    "rownum",
    "matricola",
    "kennung",
    "matricule",
    "folio",
    "nif",
];
const LAST_KEY_WORDS: [&str; 9] = ["number", "no", "nr", "num", "nummer", "numero", "número", "numéro", "nro"];
/// Words in the name of a code.
const CODE_WORDS: [&str; 31] = [
    "zip",
    "zipcode",
    "postal",
    "postcode",
    "plz",
    "postleitzahl",
    "phone",
    "telephone",
    "mobile",
    "msisdn",
    "fax",
    "tel",
    "telefon",
    "telefono",
    "teléfono",
    "téléphone",
    "handy",
    "code",
    "codice",
    "codigo",
    "código",
    "fips",
    "account",
    "konto",
    "kontonummer",
    "cuenta",
    "compte",
    "imei",
    "ean",
    "isbn",
    "iban",
];
/// Words in the name of a time.
const TIME_WORDS: [&str; 9] = ["time", "timestamp", "ts", "date", "epoch", "at", "datetime", "created", "updated"];

/// Whether a name is one of keys.
fn names_a_key(name: &str) -> bool {
    let is_last = |word: &String| LAST_KEY_WORDS.contains(&word.as_str()) || word.ends_with("nummer");
    says(name, &KEY_WORDS) || words_of(name).iter().rfind(|word| !word.is_empty()).is_some_and(is_last)
}

/// Whether one of these words stands in a name: `claim_id`, `ClaimID` and `claim no.` have `id` and `no`.
fn says(name: &str, words: &[&str]) -> bool {
    words_of(name).iter().any(|part| words.contains(&part.as_str()))
}

/// The words of a name, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            parts.last_mut().into_iter().for_each(|part| part.extend(c.to_lowercase()));
        }
        before = c;
    }
    parts
}

fn is_pandas_index(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    let unnamed = name.strip_prefix("Unnamed: ");
    level.or(unnamed).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether whole numbers are digits of days: of eight digits, or of twelve or fourteen with the time.
fn are_days_in_digits(counted: &Counted) -> bool {
    let fits = |text: &str| matches!(text.len(), 8 | 12 | 14) && DateFormat::YearFirst.parse(text).is_some();
    counted.mean(|text| f64::from(u8::from(fits(text)))) >= MOSTLY
}

/// For dates that can be read with the day or the month first: the reading by which the rows are in the order of time,
/// and whether only one of them is.
fn by_the_order_of_rows(cells: CellsToLearn<'_>, format: DateFormat, ambiguous: bool) -> (DateFormat, bool) {
    if !ambiguous || !cells.in_order() {
        return (format, false);
    }
    let other = if format == DateFormat::DayFirst { DateFormat::MonthFirst } else { DateFormat::DayFirst };
    let is_ordered = |format: DateFormat| {
        let moment = |row: &usize| moment(&cells.column.values, *row, format).map(|moment| moment.local);
        is_ordered(&cells.rows.iter().filter_map(moment).collect::<Vec<f64>>())
    };
    match (is_ordered(format), is_ordered(other)) {
        (true, false) => (format, true),
        (false, true) => (other, true),
        _ => (format, false),
    }
}

/// Whether digits are codes and no numbers: they have one length and some begin with 0, or they begin with +.
fn are_codes_by_form(counted: &Counted) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let share = |of: &dyn Fn(&str) -> bool| counted.mean(|text| f64::from(u8::from(of(text))));
    let has_zero = |text: &str| text.len() > 1 && text.starts_with('0') && digits(text);
    if share(&|text| text.strip_prefix('+').is_some_and(|rest| rest.len() > 6 && digits(rest))) >= MOSTLY {
        return true;
    }
    let Some(length) = counted.cells().find(|(text, _)| has_zero(text)).map(|(text, _)| text.len()) else {
        return false;
    };
    100.0 * share(&has_zero) >= 1.0 && share(&|text| text.len() == length && digits(text)) >= MOSTLY
}

/// The largest share of cells that have one length.
fn same_length(counted: &Counted) -> f64 {
    let mut lengths = std::collections::BTreeMap::<usize, usize>::new();
    for (text, n) in counted.cells() {
        *lengths.entry(text.len()).or_default() += n;
    }
    lengths.into_values().max().unwrap_or(0) as f64 / counted.present.max(1) as f64
}

/// Whether `n` distinct numbers between two ends leave few gaps: most follow each other.
fn leaves_hardly_a_gap(ends: Option<(f64, f64)>, n: usize) -> bool {
    ends.is_some_and(|(first, last)| last - first < 1.5 * n as f64)
}

/// Whether whole numbers repeat at most a tenth as often as random numbers from the same range would. Of n numbers
/// drawn from m, n(n − 1)/2m pairs are equal on average.
fn repeat_less_than_chance(sorted: &[f64], counted: &Counted) -> bool {
    let cut = sorted.len() / 100;
    let (Some(first), Some(last)) = (sorted.get(cut), sorted.get(sorted.len().saturating_sub(1 + cut))) else {
        return false;
    };
    let n = counted.present as f64;
    let pairs: f64 = counted.cells().map(|(_, n)| n as f64 * (n as f64 - 1.0) / 2.0).sum();
    let by_chance = n * (n - 1.0) / 2.0 / (last - first + 1.0);
    counted.of_one() <= 1.0 && by_chance >= ENOUGH_PAIRS && 10.0 * pairs <= by_chance
}

/// Whether whole numbers have one length of at least four digits and cover less than a hundredth of their range. Each stands
/// for `of_one` numbers.
fn lie_far_apart(sorted: &[f64], of_one: f64) -> bool {
    // A wrong digit or two must not decide.
    let kept = &sorted[sorted.len() / 50..sorted.len() - sorted.len() / 50];
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return false };
    let digits = |number: f64| number.abs().max(1.0).log10().floor();
    *first > 0.0
        && digits(*first) == digits(*last)
        && digits(*first) >= 3.0
        && last - first > 100.0 * of_one * kept.len() as f64
}

/// Whether some numbers lie farther outside of the middle 99 % than these are wide, such as a grade of 42 where all others
/// are 1 to 10. Then a number's size tells more than its rarity.
fn some_lie_far_outside(counted: &Counted, format: &NumberFormat) -> bool {
    let numbers = numbers_of(counted, format);
    let n: usize = numbers.iter().map(|(_, count)| count).sum();
    if n < FEWEST_WITH_MIDDLE {
        return false;
    }
    let cut = (n / 200).max(1);
    let (low, high) = (at_rank(&numbers, cut), at_rank(&numbers, n - 1 - cut));
    let span = high - low;
    span > 0.0 && numbers.iter().any(|(number, _)| *number < low - span || *number > high + span)
}

fn is_epoch(sorted: &[f64]) -> bool {
    let inside = |unit: f64| sorted.iter().filter(|number| EPOCH.contains(&(*number / unit))).count();
    inside(1.0).max(inside(1000.0)) as f64 >= MOSTLY * sorted.len() as f64
}

fn epoch_format(counted: &Counted) -> DateFormat {
    let is_large = |text: &str| f64::from(u8::from(parse_number(text).is_some_and(|number| number.abs() > 1e11)));
    if counted.mean(is_large) > 0.5 { DateFormat::EpochMilliseconds } else { DateFormat::EpochSeconds }
}

/// Whether numbers grow, or fall, from row to row nearly all the time.
fn moves_with_rows(column: &Column, rows: &[usize]) -> bool {
    let number = |row: &usize| column.values.text(*row).and_then(|text| parse_number(&text));
    is_ordered(&rows.iter().filter_map(number).collect::<Vec<f64>>())
}

fn is_ordered(numbers: &[f64]) -> bool {
    let up = numbers.windows(2).filter(|pair| pair[0] <= pair[1]).count() as f64;
    let steps = numbers.len().saturating_sub(1) as f64;
    up >= NEARLY_ALL * steps || up <= (1.0 - NEARLY_ALL) * steps
}

#[cfg(test)]
mod tests;
