//! What of a column is looked at.
//!
//! | kind | features |
//! |---|---|
//! | categorical | its value; where a new one says little by itself, also its shape and what it begins with |
//! | numeric | the number, and whether there is one; its currency or other mark; whether it is what others of the row give |
//! | date | whether there is one and it is not far outside; its hour, weekday, day and month; a time of day that repeats; how long it is after the other dates |
//! | identifier | whether there is one; whether it occurs twice; its shape; the letters it begins with |
//! | text | its length |

use std::ops::Range;

use super::codes::Codes;
use super::layout::UNSEEN;
use super::parsed::Cell;
use super::scale::Scale;
use super::schema::{ColumnSchema, DatePart, Kind, Schema};

/// One thing that is looked at in a row: a group of the layout, and maybe a number.
#[derive(Debug, Clone)]
pub struct Feature {
    /// The column that it is of, by its index in the schema.
    pub column: usize,
    /// What of the column it is.
    pub aspect: Aspect,
    /// Its group.
    pub group: usize,
    /// Its number, if it has one.
    pub number: Option<usize>,
    /// The scale of the number.
    pub scale: Option<Scale>,
    /// How many codes the group has.
    pub(super) size: u32,
    /// The code of a missing cell.
    pub(super) missing: u32,
    /// The code of a cell that holds something else than a value, or of a key that repeats.
    pub(super) other: u32,
    /// The code for a cell about which the feature has nothing to say.
    pub(super) usual: u32,
    /// What the codes stand for, if that is a number: an hour, a weekday, or 0, 1 and 2 for before, equal and after.
    pub(super) values: Vec<u32>,
    /// Dates outside of this range are far outside. Where a time between dates is measured, it is the range of the date
    /// that it is measured from.
    pub(super) range: Range<f64>,
    /// Whether the number of digits is left out of the shape of a key, and whether letters from a to f are digits in it.
    pub(super) loose: bool,
    pub(super) hex: bool,
}

/// What of a column is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    /// The value, as a category.
    Value,
    /// The number.
    Number,
    /// The shape of the text.
    Shape,
    /// The number of characters.
    Length,
    /// Whether there is a date that is not far outside of the usual ones; and the date itself, if it is scored.
    Position,
    /// A part of the date.
    Part(DatePart),
    /// How long the date is after that of this column.
    After(usize),
    /// Whether there is a key; and whether it repeats, if no key of training does.
    Key,
    /// Whether the key occurs more than once in the table, if some of training do.
    Repeat,
    /// What the code begins with.
    Lead,
    /// The currency or another mark beside the digits of the number.
    Mark,
    /// Whether the number is what others give, by the relation with this index in the schema.
    Fits(usize),
}

impl Feature {
    /// What a code stands for, where that is a number.
    pub fn value(&self, code: u32) -> Option<u32> {
        self.values.get(code as usize).copied()
    }

    /// What all codes stand for, where these are numbers.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The family of this feature. Features of one family are no evidence about each other: they come from one column.
    /// All dates of a row are one family, since the calendar ties their weekdays and hours to the time between them.
    /// `None` is a feature that is no evidence about any other. One is the day of the month: in a log, rows of one day
    /// are alike, but those of the same day a month later are not. The other is whether a key repeats, which is not
    /// known of a new row.
    pub(super) fn family(&self, schema: &Schema) -> Option<u32> {
        let is_date = |kind: &Kind| matches!(kind, Kind::Date { format, .. } if !format.is_time_of_day());
        let family = match self.aspect {
            Aspect::Part(DatePart::Day) | Aspect::Repeat => None,
            _ if !is_date(&schema.columns[self.column].kind) => Some(self.column),
            _ => schema.columns.iter().position(|column| is_date(&column.kind)),
        };
        family.map(|column| column as u32)
    }

    /// The code that says whether there is a number or a date.
    pub(super) fn presence<T>(&self, cell: &Cell<T>) -> u32 {
        match cell {
            Cell::Value(_) => 0,
            Cell::Missing => self.missing,
            Cell::Stray => self.other,
        }
    }
}

/// How true and false are spelled: by a type here, by pandas, by spreadsheets.
const BOOLEANS: [[&str; 3]; 2] = [["true", "True", "TRUE"], ["false", "False", "FALSE"]];

/// If all categories are true or false, each is found by its other spellings too. So a model of a frame can be used for
/// the frame's CSV file, and the other way round.
fn add_spellings_of_booleans(codes: &mut Codes) {
    if !codes.keys().all(|name| BOOLEANS.iter().any(|spellings| spellings.contains(&name.as_str()))) {
        return;
    }
    for spellings in BOOLEANS {
        let known: Vec<u32> = spellings.iter().filter_map(|spelling| codes.get(*spelling).copied()).collect();
        // A column that has several spellings keeps them apart.
        if let [code] = known[..] {
            codes.extend(spellings.map(|spelling| (spelling.to_owned(), code)));
        }
    }
}

/// The features of a schema, in order, and for each the codes of its texts.
pub(super) fn features(schema: &Schema) -> (Vec<Feature>, Vec<Codes>) {
    let mut made = Made { features: Vec::new(), codes: Vec::new(), n_numbers: 0 };
    for (column, ColumnSchema { kind, .. }) in schema.columns.iter().enumerate() {
        match kind {
            Kind::Ignored => {}
            Kind::Categorical { categories, rare, missing, shapes, leads } => {
                let own = categories.len() as u32;
                let mut codes: Codes = categories.iter().cloned().zip(0..).collect();
                for (at, names) in rare.iter().enumerate() {
                    codes.extend(names.iter().map(|name| (name.clone(), own + at as u32)));
                }
                add_spellings_of_booleans(&mut codes);
                let size = own + rare.len() as u32;
                made.add(column, Aspect::Value, size, codes).may_miss(*missing);
                if !shapes.is_empty() {
                    made.shapes(column, shapes).may_miss(*missing);
                }
                made.texts(column, Aspect::Lead, leads);
            }
            Kind::Numeric { scale, missing, stray, marks, .. } => {
                let feature = made.add_number(column, Aspect::Number, *scale);
                feature.may_miss(*missing);
                feature.may_stray(*stray);
                made.texts(column, Aspect::Mark, marks);
            }
            Kind::Date { parts, range, scale, by_age, times, missing, stray, .. } => {
                let feature = match scale.filter(|_| !by_age) {
                    Some(scale) => made.add_number(column, Aspect::Position, scale),
                    None => made.add(column, Aspect::Position, 1, Codes::default()),
                };
                // The end of a range is outside of it.
                feature.range = range[0]..range[1].next_up();
                if times.is_empty() {
                    feature.may_miss(*missing);
                } else {
                    // The feature of the time itself tells that the time is missing, and what was expected there.
                    feature.missing = feature.usual;
                }
                feature.may_stray(*stray);
                for part in parts {
                    let size = part.values.len() as u32;
                    let feature = made.add(column, Aspect::Part(part.part), size, Codes::default());
                    (feature.values, feature.usual) = (part.values.clone(), part.usual);
                    feature.range = range[0]..range[1].next_up();
                }
                if !times.is_empty() {
                    let codes: Codes = times.iter().cloned().zip(0..).collect();
                    made.add(column, Aspect::Value, times.len() as u32, codes).may_miss(*missing);
                }
            }
            Kind::Identifier { shapes, loose, hex, missing, repeats, usual, leads, .. } => {
                made.add(column, Aspect::Key, 1, Codes::default()).may_miss(*missing);
                if *repeats {
                    let feature = made.add(column, Aspect::Repeat, 1, Codes::default());
                    feature.missing = feature.usual;
                    feature.may_stray(true);
                }
                if !shapes.is_empty() {
                    // That a key is missing is told already.
                    let feature = made.shapes(column, shapes);
                    (feature.loose, feature.hex) = (*loose, *hex);
                    (feature.usual, feature.missing) = (*usual, *usual);
                }
                made.texts(column, Aspect::Lead, leads);
            }
            Kind::Text { length, missing } => made.add_number(column, Aspect::Length, *length).may_miss(*missing),
        }
    }
    for difference in &schema.differences {
        let from = made.features.iter().find(|feature| feature.column == difference.from);
        let range = from.map(|feature| feature.range.clone());
        let after = Aspect::After(difference.from);
        let feature = match difference.scale {
            Some(scale) => made.add_number(difference.of, after, scale),
            None => made.add(difference.of, after, 1, Codes::default()),
        };
        feature.values = (0..3).filter(|sign| difference.seen[*sign as usize]).collect();
        feature.size = feature.values.len() as u32;
        feature.range = range.unwrap_or(feature.range.clone());
        feature.usual = feature.values.iter().position(|sign| *sign == difference.usual).unwrap_or(0) as u32;
    }
    for (at, relation) in schema.relations.iter().enumerate() {
        made.add(relation.of, Aspect::Fits(at), 1, Codes::default()).may_stray(relation.broken);
    }
    (made.features, made.codes)
}

struct Made {
    features: Vec<Feature>,
    codes: Vec<Codes>,
    n_numbers: usize,
}

impl Made {
    fn add(&mut self, column: usize, aspect: Aspect, size: u32, codes: Codes) -> &mut Feature {
        let group = self.features.len();
        self.codes.push(codes);
        self.features.push(Feature {
            column,
            aspect,
            group,
            number: None,
            scale: None,
            size,
            missing: UNSEEN,
            other: UNSEEN,
            usual: 0,
            values: Vec::new(),
            range: f64::NEG_INFINITY..f64::INFINITY,
            loose: false,
            hex: false,
        });
        &mut self.features[group]
    }

    fn add_number(&mut self, column: usize, aspect: Aspect, scale: Scale) -> &mut Feature {
        let number = self.n_numbers;
        self.n_numbers += 1;
        let feature = self.add(column, aspect, 1, Codes::default());
        (feature.number, feature.scale) = (Some(number), Some(scale));
        feature
    }

    fn shapes(&mut self, column: usize, shapes: &[String]) -> &mut Feature {
        let codes: Codes = shapes.iter().cloned().zip(0..).collect();
        self.add(column, Aspect::Shape, shapes.len() as u32, codes)
    }

    /// A feature of texts. The first, which is the most common, stands for a cell that has none.
    fn texts(&mut self, column: usize, aspect: Aspect, texts: &[String]) {
        if !texts.is_empty() {
            let codes: Codes = texts.iter().cloned().zip(0..).collect();
            self.add(column, aspect, texts.len() as u32, codes).missing = 0;
        }
    }
}

impl Feature {
    /// Whether a code says that something is wrong by its nature: a cell of another kind than its column, a key that
    /// repeats, or a number that is not what others give.
    pub fn is_stray(&self, code: u32) -> bool {
        self.other != UNSEEN && code == self.other
    }

    /// Gives "missing" a place, where training rows missed the value.
    fn may_miss(&mut self, missing: bool) {
        if missing {
            self.missing = self.size;
            self.size += 1;
        }
    }

    /// Gives something else a place, where training rows had it.
    fn may_stray(&mut self, stray: bool) {
        if stray {
            self.other = self.size;
            self.size += 1;
        }
    }
}
