//! Which texts mean "no value here".

use std::sync::Arc;

use crate::table::{MISSING, Table, TextCells, Values};

/// Cells of undeclared text (CSV) and JSON strings that mean "no value here", in any column, unless the user says which do.
pub const MISSING_TEXTS: [&str; 12] = ["", "?", "-", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None"];

/// Whether a text means "no value" where nothing else was said.
pub fn is_missing(text: &str) -> bool {
    let text = text.trim();
    // This is asked of every cell: most are longer than any of these.
    text.len() <= LONGEST_MISSING_TEXT && MISSING_TEXTS.contains(&text)
}

const LONGEST_MISSING_TEXT: usize = 4;

/// How Python writes a missing value, and people a category.
pub(crate) const NONE: &str = "None";

/// [`MISSING_TEXTS`] as a list that can be changed.
pub(crate) fn default_missing() -> Vec<String> {
    MISSING_TEXTS.map(str::to_owned).to_vec()
}

/// Whether a list says the same as [`MISSING_TEXTS`]. The empty text always means "no value", listed or not.
pub(crate) fn is_default_missing(texts: &[String]) -> bool {
    let listed = |text: &&str| text.is_empty() || texts.iter().any(|other| other == *text);
    MISSING_TEXTS.iter().all(listed) && texts.iter().all(|text| MISSING_TEXTS.contains(&text.as_str()))
}

impl TextCells {
    /// Whether a cell holds no value.
    pub fn is_missing(&self, row: usize) -> bool {
        match &self.missing {
            None => is_missing(self.get(row)),
            Some(missing) => missing.has(self.get(row)),
        }
    }

    /// Whether a cell is `None`, and nobody said whether that is missing: the column as a whole tells.
    pub(crate) fn may_be_category(&self, row: usize) -> bool {
        self.missing.is_none() && self.get(row).trim() == NONE
    }
}

/// The texts that mean "no value" by a list of the user's. One that is a number means it in every spelling.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MissingTexts {
    texts: Vec<String>,
    numbers: Vec<f64>,
}

// All its numbers are finite.
impl Eq for MissingTexts {}

impl MissingTexts {
    /// These texts.
    pub fn new(texts: Vec<String>) -> Self {
        let numbers = texts.iter().filter_map(|text| number(text)).collect();
        Self { texts, numbers }
    }

    /// Whether a text means "no value".
    pub fn has(&self, text: &str) -> bool {
        let text = text.trim();
        text.is_empty()
            || self.texts.iter().any(|other| other == text)
            || (!self.numbers.is_empty() && number(text).is_some_and(|number| self.numbers.contains(&number)))
    }
}

/// The number that a text is, with a point or a comma before its decimals: `-200`, `-200.0`, `-200,00`. A comma before three
/// digits may as well stand between thousands, and is not read.
fn number(text: &str) -> Option<f64> {
    let is_start = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b',');
    if text.len() > LONGEST_NUMBER || !text.as_bytes().first().is_some_and(is_start) {
        return None;
    }
    let number: f64 = match text.split_once(',') {
        Some((_, decimals)) if decimals.len() == 3 => None,
        Some((whole, decimals)) => format!("{whole}.{decimals}").parse().ok(),
        None => text.parse().ok(),
    }?;
    number.is_finite().then_some(number)
}

/// Longer texts are no numbers that mean "no value".
const LONGEST_NUMBER: usize = 24;

impl Table {
    /// Takes these texts for "no value", and no others; numbers too, where a text is one.
    pub(crate) fn mark_missing(&mut self, missing: &Arc<MissingTexts>) {
        for column in &mut self.columns {
            match &mut column.values {
                Values::Text(cells) => cells.missing = Some(missing.clone()),
                Values::Category { codes, names } => {
                    let kept = |name: &String| !missing.has(name);
                    if !names.iter().all(kept) {
                        let places: Vec<u32> = names
                            .iter()
                            .scan(0, |next, name| {
                                let place = if kept(name) { *next } else { MISSING };
                                *next += u32::from(kept(name));
                                Some(place)
                            })
                            .collect();
                        codes
                            .iter_mut()
                            .for_each(|code| *code = places.get(*code as usize).copied().unwrap_or(MISSING));
                        names.retain(kept);
                    }
                }
                Values::Number { values, .. } => {
                    values
                        .iter_mut()
                        .filter(|value| missing.numbers.contains(value))
                        .for_each(|value| *value = f64::NAN);
                }
                Values::Time { .. } | Values::Unsupported { .. } => {}
            }
        }
    }

    /// Whether [`Self::mark_missing`] would change nothing.
    pub(crate) fn is_marked(&self, missing: &MissingTexts) -> bool {
        self.columns.iter().all(|column| match &column.values {
            Values::Text(cells) => cells.missing.as_deref() == Some(missing),
            Values::Category { names, .. } => !names.iter().any(|name| missing.has(name)),
            Values::Number { values, .. } => !values.iter().any(|value| missing.numbers.contains(value)),
            Values::Time { .. } | Values::Unsupported { .. } => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ReadOptions;
    use crate::table::tests::{read, texts};

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_user_says_which_texts_are_missing() {
        let options = ReadOptions { missing: Some(list(&["unknown", "-999"])), ..ReadOptions::default() };
        let table = read(b"a,b\nNA,1\nunknown ,-999\n,3\n", &options).unwrap();
        let missing = |name: &str| {
            let values = &table.column(name).unwrap().values;
            (0..3).map(|row| values.text(row).is_none()).collect::<Vec<_>>()
        };
        assert_eq!((missing("a"), missing("b")), (vec![false, true, true], vec![false, true, false]));
        let json = b"{\"a\": \"NA\", \"b\": 1}\n{\"a\": \"unknown\", \"b\": -999}\n{\"a\": \"\", \"b\": \"-\"}\n";
        let table = read(json, &options).unwrap();
        assert_eq!(texts(&table, "a"), ["NA", "<missing>", "<missing>"]);
        assert_eq!(
            (0..3).map(|row| table.columns[1].values.text(row).is_none()).collect::<Vec<_>>(),
            [false, true, false]
        );
        let is_marked = |texts: &[&str]| table.is_marked(&MissingTexts::new(list(texts)));
        assert!(is_marked(&["unknown", "-999"]) && !is_marked(&["NA"]));
    }

    #[test]
    fn a_number_means_no_value_in_every_spelling() {
        let missing = MissingTexts::new(list(&["-200"]));
        for text in ["-200", " -200 ", "-200.0", "-200,0", "-200,00", "-2e2", ""] {
            assert!(missing.has(text), "{text}");
        }
        for text in ["-200,5", "-200,000", "-2000", "200", "-200 m", "x"] {
            assert!(!missing.has(text), "{text}");
        }
        assert!(MissingTexts::new(list(&["-200,0"])).has("-200"));
        assert!(!MissingTexts::new(list(&["nan"])).has("inf"));
    }

    #[test]
    fn codes_of_other_names_move_up() {
        let names = ["a", "x", "b", "y"].map(str::to_owned).to_vec();
        let values = Values::Category { codes: vec![0, 1, 2, 3, MISSING, 2], names };
        let mut table = read(b"{\"c\": 1}\n", &ReadOptions::default()).unwrap();
        table.columns[0].values = values;
        table.mark_missing(&Arc::new(MissingTexts::new(list(&["x", "y"]))));
        let expected = Values::Category { codes: vec![0, MISSING, 1, MISSING, MISSING, 1], names: list(&["a", "b"]) };
        assert_eq!(table.columns[0].values, expected);
    }

    #[test]
    fn the_default_is_known_in_any_order() {
        let mut texts = default_missing();
        assert!(is_default_missing(&texts));
        texts.reverse();
        texts.pop();
        assert!(is_default_missing(&texts), "the empty text need not be said");
        texts.push("x".into());
        assert!(!is_default_missing(&texts) && !is_default_missing(&list(&["NA"])));
    }
}
