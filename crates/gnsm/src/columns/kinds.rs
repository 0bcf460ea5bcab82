//! The rule by which a column's kind is decided, and what is learned about a column of each kind.
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
//! | whole numbers with at most 20 distinct values, none of them far outside | categorical: codes, flags, small counts |
//! | whole numbers of at least 4 digits that repeat and lie far apart, or whose name says id, zip, phone … | categorical: codes |
//! | text of digits of one length, some with a 0 in front, or with a + | an identifier or categorical, as other text |
//! | numbers, or text of which at least 90 % are numbers as people write them | numeric |
//! | declared categories whose text is a plain number | categorical |
//! | long text (on average 4 words or 40 characters), mostly different | text: its length only |
//! | text, nearly all different | identifier |
//! | other text | categorical |
//!
//! A table that does not fit into memory is learned from some of its rows and a survey of all (`survey.rs`): then the cells
//! are each distinct value with its count, or, where there are too many, those of the chosen rows and what is known beyond.
//!
//! Nearly all means 95 %. A column of categories keeps the 500 most common ones; the others share places, one for those seen once,
//! one for those seen twice, and so on by doubling: a rarer value is never told as a more common one.

use std::collections::HashMap;

use super::date::{DAY, DateFormat, EPOCH, Moment};
use super::number::{NumberFormat, parse_number};
use super::scale::{Scale, at_rank};
use super::schema::{ColumnSchema, DatePart, Difference, Kind, KindChoice, PartOfDate, number_text, plural};
use super::spelling::{loose_shape, shape};
use super::survey::Beyond;
use crate::error::{Error, Result, stop_point};
use crate::table::{Column, MISSING, Table, TimeKind, Values};

/// Whole numbers with at most this many distinct values are taken for categories.
const FEW_INTEGERS: usize = 20;
/// Categories of a column that get a place of their own.
const MOST_CATEGORIES: usize = 500;
/// The share of cells that must be numbers, or dates, for a column to be one of them; the issue of stray cells asked for it.
const MOSTLY: f64 = 0.9;
/// The share of cells that must be different in a column of keys.
const NEARLY_ALL: f64 = 0.95;
/// Fewer cells than this do not show that a column is one of keys.
const FEWEST_KEYS: usize = 20;
/// Fewer numbers than this do not show where their middle ends.
const FEWEST_WITH_MIDDLE: usize = 20;
/// Words, or characters, from which on text is prose.
const PROSE: (f64, f64) = (4.0, 40.0);
/// Shapes of a column that are kept; where there are more, shapes tell nothing.
const MOST_SHAPES: usize = 50;
/// Columns of dates between which all differences are taken; beyond, only neighbours are compared.
const MOST_DATES: usize = 6;
/// A year, in seconds.
const YEAR: f64 = 366.0 * DAY;

/// The cells that a column is learned from.
#[derive(Clone, Copy)]
pub(super) struct CellsToLearn<'a> {
    pub column: &'a Column,
    pub rows: &'a [usize],
    /// How many cells each row stands for; one, if nothing is said. Then the rows are in no order.
    pub weights: Option<&'a [usize]>,
    /// What is known of other rows of the table, where these are not all.
    pub beyond: Option<Beyond>,
}

impl<'a> CellsToLearn<'a> {
    /// All that there are.
    pub fn all(column: &'a Column, rows: &'a [usize]) -> Self {
        Self { column, rows, weights: None, beyond: None }
    }

    /// Each row with the number of cells that it stands for.
    fn weighted(&self) -> impl Iterator<Item = (usize, usize)> {
        let weights = self.weights;
        self.rows.iter().enumerate().map(move |(at, row)| (*row, weights.map_or(1, |weights| weights[at])))
    }

    fn n_cells(&self) -> usize {
        self.weights.map_or(self.rows.len(), |weights| weights.iter().sum())
    }

    /// Whether the order of the rows is that of the table.
    fn in_order(&self) -> bool {
        self.weights.is_none() && self.beyond.is_none()
    }
}

/// What the cells of a column are, counted.
struct Counted {
    /// Each distinct value as text with its count, in the order of the texts.
    counts: Vec<(String, usize)>,
    present: usize,
    missing: usize,
    /// What is known of other rows, where not all are counted.
    beyond: Option<Beyond>,
}

impl Counted {
    fn cells(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        self.counts.iter().map(|(text, count)| {
            stop_point();
            (text.as_str(), *count)
        })
    }

    /// How many distinct values the whole column has.
    fn distinct(&self) -> usize {
        self.beyond.map_or(self.counts.len(), |beyond| beyond.distinct.max(self.counts.len()))
    }

    /// The same, in words.
    fn values(&self) -> String {
        self.about(plural(self.distinct(), "distinct value"))
    }

    /// What is only known about, where not all is counted.
    fn about(&self, what: String) -> String {
        if self.beyond.is_some() { format!("about {what}") } else { what }
    }

    /// How many cells the whole column has.
    fn all_present(&self) -> usize {
        self.beyond.map_or(self.present, |beyond| beyond.present)
    }

    fn has_missing(&self) -> bool {
        self.missing > 0 || self.beyond.is_some_and(|beyond| beyond.missing > 0)
    }

    /// How many values the whole column has once.
    fn singles(&self) -> usize {
        let counted = || self.counts.iter().filter(|(_, count)| *count == 1).count();
        self.beyond.map_or_else(counted, |beyond| beyond.singles)
    }

    fn repeats(&self) -> bool {
        self.beyond.is_some_and(|beyond| beyond.repeats) || self.counts.iter().any(|(_, count)| *count > 1)
    }

    /// The smallest and the largest number of the whole column, where not all are counted and that is known.
    fn ends(&self, format: &NumberFormat) -> Option<(f64, f64)> {
        self.beyond.filter(|_| *format == NumberFormat::default()).and_then(|beyond| beyond.range)
    }

    /// How many distinct values of the whole column one that is counted stands for.
    fn of_one(&self) -> f64 {
        self.distinct() as f64 / self.counts.len().max(1) as f64
    }

    /// The mean of a measure of the distinct values, over the cells.
    fn mean(&self, of: impl Fn(&str) -> f64) -> f64 {
        self.cells().map(|(text, count)| of(text) * count as f64).sum::<f64>() / self.present.max(1) as f64
    }

    fn nearly_all_differ(&self) -> bool {
        let present = self.all_present();
        present >= FEWEST_KEYS && self.distinct() as f64 >= NEARLY_ALL * present as f64
    }
}

/// Counts the cells of a column. Times of day, and dates that are to be taken for something else, are counted by the texts that
/// rows are later looked up by.
fn count(cells: CellsToLearn<'_>, choice: Option<KindChoice>) -> Counted {
    let column = cells.column;
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut missing = 0;
    match &column.values {
        Values::Text(texts) => {
            for (row, n) in cells.weighted() {
                stop_point();
                let text = texts.get(row);
                if texts.is_missing(row) {
                    missing += n;
                } else if let Some(count) = counts.get_mut(text) {
                    *count += n;
                } else {
                    counts.insert(text.to_owned(), n);
                }
            }
        }
        Values::Category { codes, names } => {
            let mut by_code = vec![0usize; names.len()];
            for (row, n) in cells.weighted() {
                match codes[row] {
                    MISSING => missing += n,
                    code => by_code[code as usize] += n,
                }
            }
            for (name, count) in names.iter().zip(by_code).filter(|(_, count)| *count > 0) {
                *counts.entry(name.clone()).or_default() += count;
            }
        }
        Values::Number { values, .. } | Values::Time { seconds: values, .. } => {
            let mut by_bits: HashMap<u64, usize> = HashMap::new();
            for (row, n) in cells.weighted() {
                stop_point();
                if values[row].is_nan() {
                    missing += n;
                } else {
                    *by_bits.entry((values[row] + 0.0).to_bits()).or_default() += n;
                }
            }
            let as_text = |kind: TimeKind| match choice {
                Some(choice) => choice != KindChoice::Numeric,
                None => kind == TimeKind::TimeOfDay,
            };
            let text = |value: f64| match &column.values {
                Values::Time { kind, .. } if as_text(*kind) => kind.text(value),
                _ => number_text(value),
            };
            for (bits, count) in by_bits {
                stop_point();
                *counts.entry(text(f64::from_bits(bits))).or_default() += count;
            }
        }
        Values::Unsupported { .. } => {}
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    // Sorted so that nothing depends on a hash map's order.
    counts.sort_unstable();
    Counted { counts, present: cells.n_cells() - missing, missing, beyond: cells.beyond }
}

/// Decides what a column is, and learns it.
pub(super) fn learn_column(table: &Table, cells: CellsToLearn<'_>, choice: Option<KindChoice>) -> Result<ColumnSchema> {
    let column = cells.column;
    let (kind, reason) = match choice {
        Some(KindChoice::Ignore) => (Kind::Ignored, "as asked".to_owned()),
        _ if matches!(column.values, Values::Unsupported { .. }) => return Err(unsupported(table, column)),
        Some(choice) => {
            let counted = count(cells, Some(choice));
            (chosen(table, cells, &counted, choice)?, "as asked".to_owned())
        }
        None => found(cells, &count(cells, None)),
    };
    Ok(ColumnSchema { name: column.name.clone(), kind, reason })
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
fn chosen(table: &Table, cells: CellsToLearn<'_>, counted: &Counted, choice: KindChoice) -> Result<Kind> {
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
            let (format, n) = NumberFormat::find(counted.cells());
            if n == 0 && counted.present > 0 {
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
fn found(cells: CellsToLearn<'_>, counted: &Counted) -> (Kind, String) {
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
    let (format, n_numbers) =
        if typed_number { (NumberFormat::default(), counted.present) } else { NumberFormat::find(counted.cells()) };
    let plain = |text: &str| parse_number(text).is_some();
    // The type says text, and the text says no more than a plain number: the type is right.
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
    let declared = if typed_text { "categories" } else { "text" };
    (categorical(counted), format!("{declared} with {values}"))
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
            if says(&column.name, &KEY_WORDS) {
                return (
                    identifier(counted),
                    format!("an identifier by its name: {values} in {} rows", counted.all_present()),
                );
            }
        }
        if distinct <= FEW_INTEGERS && !some_lie_far_outside(counted, &format) {
            return (categorical(counted), format!("whole numbers with {values}"));
        }
        let present = counted.all_present();
        let repeats = 5 * distinct <= present;
        if (says(&column.name, &KEY_WORDS) || says(&column.name, &CODE_WORDS)) && 2 * distinct <= present {
            return (categorical(counted), format!("codes by their name, with {values}{strays}"));
        }
        if repeats && lie_far_apart(&numbers, counted.of_one()) {
            return (categorical(counted), format!("codes of one length that repeat, with {values}{strays}"));
        }
    }
    let written = match (&format.unit, format.decimal_comma) {
        (Some(unit), _) => format!(" in {unit}"),
        (None, true) => " with a decimal comma".to_owned(),
        (None, false) => String::new(),
    };
    (numeric(counted, format), format!("numbers{written} with {values}{strays}"))
}

/// What is said of the cells that do not fit, where `n_right` do.
fn strays(counted: &Counted, n_right: usize) -> String {
    let share = (counted.present - n_right) as f64 / counted.present.max(1) as f64;
    match (share * counted.all_present() as f64).round() as usize {
        0 => String::new(),
        n => format!("; {} of another kind", counted.about(plural(n, "cell"))),
    }
}

/// Words in the name of a key, of a code, and of a time.
const KEY_WORDS: [&str; 14] =
    ["id", "key", "uuid", "guid", "number", "no", "nr", "num", "index", "idx", "serial", "ref", "reference", "rownum"];
const CODE_WORDS: [&str; 9] = ["zip", "zipcode", "postal", "postcode", "plz", "phone", "code", "fips", "account"];
const TIME_WORDS: [&str; 9] = ["time", "timestamp", "ts", "date", "epoch", "at", "datetime", "created", "updated"];

/// Whether one of these words stands in a name: `claim_id`, `ClaimID` and `claim no.` have `id` and `no`.
fn says(name: &str, words: &[&str]) -> bool {
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
    parts.iter().any(|part| words.contains(&part.as_str()))
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

/// Whether all but a few of `n` numbers between two ends follow each other.
fn leaves_hardly_a_gap(ends: Option<(f64, f64)>, n: usize) -> bool {
    ends.is_some_and(|(first, last)| last - first < 1.5 * n as f64)
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

/// Whether some numbers are farther from the middle 99 % than these are apart: a grade of 42 among 1 to 10. Then the order
/// of the numbers says more than how rare each is.
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

fn categorical(counted: &Counted) -> Kind {
    let mut by_count: Vec<&(String, usize)> = counted.counts.iter().collect();
    by_count.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let names = |part: &[&(String, usize)]| {
        let mut names: Vec<String> = part.iter().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    };
    let (common, others) = by_count.split_at(by_count.len().min(MOST_CATEGORIES));
    // Those of like counts, up to a factor of two, share a place.
    let rare = others.chunk_by(|(_, a), (_, b)| a.ilog2() == b.ilog2()).map(names).collect();
    // Where more than one cell in a hundred is the only one of its value, a new value says little, and its shape says more.
    // So it is with codes of which none is expected much, such as `1h 15m`.
    let commonest = by_count.first().map_or(0, |(_, count)| *count);
    let has_digit = |text: &str| f64::from(u8::from(text.contains(|letter: char| letter.is_ascii_digit())));
    let are_codes = || 10 * commonest < counted.present && counted.mean(has_digit) >= MOSTLY;
    let says_little = 100 * counted.singles() > counted.all_present() || are_codes();
    let shapes = if says_little { shapes_of(counted, shape) } else { Vec::new() };
    Kind::Categorical { categories: names(common), rare, missing: counted.has_missing(), shapes }
}

/// The shapes of a column's values, sorted; none where there are so many that they tell nothing.
fn shapes_of(counted: &Counted, shape: fn(&str) -> String) -> Vec<String> {
    let mut shapes: Vec<String> = counted.cells().map(|(text, _)| shape(text)).collect();
    shapes.sort_unstable();
    shapes.dedup();
    if shapes.len() <= MOST_SHAPES && 5 * shapes.len() <= counted.counts.len() { shapes } else { Vec::new() }
}

fn identifier(counted: &Counted) -> Kind {
    let exact = shapes_of(counted, shape);
    let loose = exact.len() != 1;
    let shapes = if loose { shapes_of(counted, loose_shape) } else { exact };
    Kind::Identifier { shapes, loose, missing: counted.has_missing(), repeats: counted.repeats() }
}

fn text(counted: &Counted) -> Kind {
    let lengths = counted.cells().map(|(text, count)| (text.chars().count() as f64, count));
    Kind::Text { length: Scale::learn(&sorted(lengths)), missing: counted.has_missing() }
}

fn numeric(counted: &Counted, format: NumberFormat) -> Kind {
    let mut numbers = numbers_of(counted, &format);
    let n: usize = numbers.iter().map(|(_, count)| count).sum();
    // Whether a logarithm is possible depends on the smallest number of all.
    if let (Some((least, largest)), Some((first, _)), Some((last, _))) =
        (counted.ends(&format), numbers.first().copied(), numbers.last().copied())
    {
        let outside = [least, largest].into_iter().filter(|end| *end < first || *end > last).map(|end| (end, 1));
        numbers = sorted(numbers.into_iter().chain(outside));
    }
    Kind::Numeric { scale: Scale::learn(&numbers), missing: counted.has_missing(), stray: n < counted.present, format }
}

/// The numbers of a column with their counts, ascending.
fn numbers_of(counted: &Counted, format: &NumberFormat) -> Vec<(f64, usize)> {
    sorted(counted.cells().filter_map(|(text, count)| Some((format.parse(text)?, count))))
}

fn sorted(values: impl Iterator<Item = (f64, usize)>) -> Vec<(f64, usize)> {
    let mut values: Vec<(f64, usize)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values
}

/// The format that a type stands for: all types are seconds.
fn of_type(kind: TimeKind) -> DateFormat {
    if kind == TimeKind::TimeOfDay { DateFormat::TimeOfDay } else { DateFormat::EpochSeconds }
}

/// The moment of a cell; `None` if it is missing or no date.
pub(super) fn moment(values: &Values, row: usize, format: DateFormat) -> Option<Moment> {
    match values {
        Values::Time { seconds, kind } => {
            let local = Some(seconds[row]).filter(|seconds| seconds.is_finite())?;
            Some(Moment { local, ahead: 0.0, has_time: *kind != TimeKind::Date })
        }
        Values::Number { values, .. } => format.of_number(values[row]),
        values => format.parse(&values.text(row)?),
    }
}

/// Learns a column of dates; `None` if there is none.
fn date(cells: CellsToLearn<'_>, counted: &Counted, format: DateFormat) -> Option<Kind> {
    let values = &cells.column.values;
    let moments: Vec<(Moment, usize)> =
        cells.weighted().filter_map(|(row, n)| Some((moment(values, row, format)?, n))).collect();
    if moments.is_empty() {
        return None;
    }
    let positions = sorted(moments.iter().map(|(moment, n)| (moment.local, *n)));
    let n_moments: usize = moments.iter().map(|(_, n)| n).sum();
    let cut = n_moments / 200;
    let (low, high) = (at_rank(&positions, cut), at_rank(&positions, n_moments - 1 - cut));
    let span = high - low;
    let is_time = format == DateFormat::TimeOfDay;
    // A part is looked at where the column is long enough for all its values to have come up several times.
    let has_time = is_time || moments.iter().any(|(moment, _)| moment.has_time && moment.local.rem_euclid(DAY) != 0.0);
    let parts = [
        (DatePart::Hour, has_time && (is_time || span > 3.0 * DAY)),
        (DatePart::Weekday, !is_time && span > 28.0 * DAY),
        (DatePart::Day, !is_time && span > 93.0 * DAY),
        (DatePart::Month, !is_time && span > 2.0 * YEAR),
    ];
    let parts = parts.into_iter().filter(|(_, used)| *used).filter_map(|(part, _)| part_of_date(part, &moments));
    let ages = !is_time && span > 15.0 * YEAR;
    let margin = match (is_time, ages) {
        (true, _) => DAY,
        (_, true) => 0.25 * span,
        _ => span.max(2.0 * YEAR),
    };
    let times = if is_time { repeated_times(counted, format) } else { Vec::new() };
    let scored = ages || (is_time && times.is_empty());
    Some(Kind::Date {
        format,
        parts: parts.collect(),
        range: [low - margin, high + margin],
        scale: scored.then(|| Scale::learn(&positions)),
        times,
        missing: counted.has_missing(),
        stray: n_moments < counted.present,
    })
}

/// The values of a part, if it varies.
fn part_of_date(part: DatePart, moments: &[(Moment, usize)]) -> Option<PartOfDate> {
    let mut counts = [0usize; 32];
    for (moment, n) in moments {
        counts[part.of(moment) as usize & 31] += n;
    }
    let values: Vec<u32> = (0..32).filter(|value| counts[*value as usize] > 0).collect();
    let usual = (0..values.len()).max_by_key(|at| (counts[values[*at] as usize], std::cmp::Reverse(*at)))?;
    (values.len() > 1).then_some(PartOfDate { part, values, usual: usual as u32 })
}

impl DatePart {
    /// The part of a moment.
    pub(crate) fn of(self, moment: &Moment) -> u32 {
        match self {
            Self::Hour => moment.hour(),
            Self::Weekday => moment.weekday(),
            Self::Day => moment.civil().2,
            Self::Month => moment.civil().1,
        }
    }
}

/// Times of day, as written, where most cells hold one that repeats: a timetable.
fn repeated_times(counted: &Counted, format: DateFormat) -> Vec<String> {
    let repeated = |(_, count): &(&str, usize)| *count > 4;
    let n: usize = counted.cells().filter(repeated).map(|(_, count)| count).sum();
    if 2 * n < counted.present {
        return Vec::new();
    }
    let mut by_count: Vec<(&str, usize)> = counted.cells().filter(|(text, _)| format.parse(text).is_some()).collect();
    by_count.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let mut times: Vec<String> = by_count.iter().take(MOST_CATEGORIES).map(|(text, _)| (*text).to_owned()).collect();
    times.sort_unstable();
    times
}

/// Learns how long dates are after each other.
pub(super) fn learn_differences(table: &Table, rows: &[usize], columns: &[ColumnSchema]) -> Vec<Difference> {
    let format_of = |at: &usize| match columns[*at].kind {
        Kind::Date { format, .. } => Some(format),
        _ => None,
    };
    let is_time = |at: &usize| format_of(at) == Some(DateFormat::TimeOfDay);
    let all: Vec<usize> = (0..columns.len()).filter(|at| format_of(at).is_some()).collect();
    let (times, dates): (Vec<usize>, Vec<usize>) = all.into_iter().partition(is_time);
    let mut differences = Vec::new();
    for group in [dates, times] {
        let n = group.len();
        let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| n <= MOST_DATES || a + 1 == *b) {
            differences.extend(learn_difference(table, rows, columns, group[b], group[a]));
        }
    }
    differences
}

fn learn_difference(
    table: &Table,
    rows: &[usize],
    columns: &[ColumnSchema],
    of: usize,
    from: usize,
) -> Option<Difference> {
    let cells = |at: usize| match columns[at].kind {
        Kind::Date { format, .. } => table.column(&columns[at].name).map(|column| (&column.values, format)),
        _ => None,
    };
    let (of_cells, from_cells) = (cells(of)?, cells(from)?);
    let mut present = [0usize; 2];
    let mut lengths = Vec::new();
    for row in rows {
        let dates = [of_cells, from_cells].map(|(values, format)| moment(values, *row, format));
        present.iter_mut().zip(dates).for_each(|(n, date)| *n += usize::from(date.is_some()));
        if let [Some(of), Some(from)] = dates {
            lengths.push(of.utc() - from.utc());
        }
    }
    // Most rows that have the rarer of the two dates have both.
    let rarer = present[0].min(present[1]);
    if 2 * lengths.len() < rarer || lengths.len() < FEWEST_KEYS.min(rows.len() / 2).max(1) {
        return None;
    }
    let mut counts = [0usize; 3];
    for length in &lengths {
        counts[sign(*length)] += 1;
    }
    let usual = (0..3).max_by_key(|sign| counts[*sign]).unwrap_or(2);
    // The later one is named.
    if usual == 0 && counts[2] * 10 < lengths.len() {
        return learn_difference(table, rows, columns, from, of);
    }
    let scale = Scale::learn(&sorted(lengths.into_iter().map(|length| (length, 1))));
    Some(Difference { of, from, scale, seen: counts.map(|count| count > 0), usual: usual as u32 })
}

/// 0 for before, 1 for the same, 2 for after.
pub(super) fn sign(length: f64) -> usize {
    if length < 0.0 {
        0
    } else if length > 0.0 {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests;
