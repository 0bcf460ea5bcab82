//! The rule by which a column's kind is decided. `learned` and `dated` say what is then learned about it.
//!
//! A flag or a schema file decides first. Otherwise the first line that fits does, from all rows that may be learned from:
//!
//! | the column holds | it becomes |
//! |---|---|
//! | a name that pandas gives to its index (`Unnamed: 0`, `__index_level_0__`) | ignored |
//! | nothing but missing values, or one single number | categorical, so that any change is noticed |
//! | digits that are hours and minutes: 517, 2359 | date |
//! | a date or time by its type, or text or digits of which at least 90 % are dates or times | date |
//! | whole numbers that can only be seconds or milliseconds since 1970, or by their name are (with decimals, too) | date |
//! | whole numbers, all different, without a gap, from 1500 to 2100 | numeric: years |
//! | whole numbers, nearly all different, that leave hardly a gap, or whose name says id, number, key … | identifier |
//! | whole numbers, nearly all different, that repeat far less than chance would have it, or of 9 and more digits of one length | identifier |
//! | whole numbers that are the modes of files: 644, 755 | categorical: codes |
//! | whole numbers with at most 20 distinct values, which mostly repeat, none far outside nor with marks between thousands | categorical: codes, flags, small counts |
//! | bare digits, at least 4 of them, that repeat, lie far apart and are not rounded to hundreds | categorical: codes |
//! | whole numbers that repeat and whose name says id, number, key …; those of one length whose name says zip, phone … | categorical: codes |
//! | text of digits of one length, some with a 0 in front, or with a + | an identifier or categorical, as other text |
//! | numbers, or text of which at least 90 % are numbers as people write them | numeric |
//! | lists of codes: `12, 345, 8` | categorical; text if mostly different |
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

mod forms;
mod names;
mod numbers;

use self::forms::{
    are_codes_by_form, are_days_in_digits, are_hours_and_minutes, are_lists, epoch_format, is_ordered,
    one_stands_for_none,
};
use self::names::{TIME_WORDS, is_pandas_index, says};
use self::numbers::number_found;
use super::counted::{CellsToLearn, Counted, FEWEST_KEYS, count};
use super::date::DateFormat;
use super::dated::{date, moment, of_type};
use super::learned::{categorical, identifier, numeric, text};
use super::number::{NumberFormat, parse_number};
use super::schema::{ColumnSchema, Kind, KindChoice, plural};
use super::written::Written;
use crate::error::{Advice, Error, Result};
use crate::table::{Column, Table, Values};

/// The share of cells that must be numbers, or dates, for a column to be one of them; the issue of stray cells asked for it.
const MOSTLY: f64 = 0.9;
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
        Advice::from("leave it out with ").setting("ignore", Some(&column.name)),
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
        KindChoice::Categorical if 2 * n_numbers < counted.present => categorical(&counted.with_none_as_category()),
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
                _ if are_hours_and_minutes(counted, true) => Some(DateFormat::HoursMinutes),
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
    // Most are right; or half are, and all others are one text that stands for none.
    let mostly = |n: usize, is_right: &dyn Fn(&str) -> bool| {
        n as f64 >= MOSTLY * counted.present as f64 || one_stands_for_none(counted, n, is_right)
    };
    if are_hours_and_minutes(counted, says(&column.name, &TIME_WORDS))
        && let Some(kind) = date(cells, counted, DateFormat::HoursMinutes)
    {
        let n = counted.cells().filter(|(text, _)| DateFormat::HoursMinutes.parse(text).is_some());
        let n = n.map(|(_, count)| count).sum();
        return (kind, format!("times of day, hours and minutes in one number{}", strays(counted, n)));
    }
    let typed_number = matches!(column.values, Values::Number { .. });
    let typed_text = matches!(column.values, Values::Category { .. });
    let is_integer = matches!(column.values, Values::Number { integer: true, .. });
    if (!typed_number || (is_integer && are_days_in_digits(counted)))
        && let Some((format, n, ambiguous)) = DateFormat::find(counted.cells())
        && mostly(n, &|text| format.parse(text).is_some())
        && let (format, in_order) = by_the_order_of_rows(cells, format, ambiguous)
        && let Some(kind) = date(cells, counted, format)
    {
        let order = match (format, ambiguous) {
            (DateFormat::MonthFirst, true) if in_order => ", month first: then the rows are in the order of time",
            (DateFormat::DayFirst, true) if in_order => ", day first: then the rows are in the order of time",
            (DateFormat::MonthFirst, true) => {
                "; month or day could come first, month is taken (the kind `day-first` changes it)"
            }
            (DateFormat::DayFirst, true) => {
                "; day or month could come first, day is taken (the kind `month-first` changes it)"
            }
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
    let is_list = !typed_number && are_lists(counted);
    let is_number = |text: &str| format.parse(text).is_some();
    if mostly(n_numbers, &is_number) && !plain_text && !is_list && !are_codes_by_form(counted) {
        return number_found(cells, counted, format, n_numbers);
    }
    if is_list && 2 * distinct > counted.all_present() && counted.present >= FEWEST_KEYS {
        return (text(counted), format!("lists of codes, {values}: only their length is looked at"));
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
    // Nothing is said of whether the format declared a type, so that a table is the same as a frame and as a file.
    let what = if is_list { "lists of codes" } else { "text" };
    let counted = counted.with_none_as_category();
    (categorical(&counted), format!("{what} with {}", counted.values()))
}

/// The words about cells that do not fit, where `n_right` cells do.
fn strays(counted: &Counted, n_right: usize) -> String {
    let share = (counted.present - n_right) as f64 / counted.present.max(1) as f64;
    match (share * counted.all_present() as f64).round() as usize {
        0 => String::new(),
        n => format!("; {} of another kind", counted.about(plural(n, "cell"))),
    }
}

/// Where a date can be read with the day or the month first: the reading by which the rows are in the order of time, and
/// whether there is one.
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

#[cfg(test)]
mod tests;
