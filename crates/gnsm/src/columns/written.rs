//! Which mark stands before the decimals of a column, a point or a comma.
//!
//! Most columns tell it themselves: `12.5` and `1,234.5` have a decimal point, `12,5` and `1.234,5` a decimal comma. If
//! a mark always stands before three digits, as in `1.508`, it may also mark thousands. Then the first of these decides
//! that applies:
//!
//! 1. A cell below one, such as `0.508`, or a number above 999 without a mark shows that the mark is one of decimals.
//! 2. The other columns tell, if they all agree: where amounts are written `84,32`, `1.508` has thousands.
//! 3. If numbers below 1000 have no mark, it marks thousands: it would be strange if these had no decimals, and all
//!    others had three.
//! 4. A point marks decimals, and a comma thousands.
//!
//! All of this is counted by cells, so that it is the same for a table and for a survey of it.

use super::number::{NumberFormat, common_unit};

/// Places of the two marks in what is counted.
const POINT: usize = 0;
const COMMA: usize = 1;
/// One cell in this many may contradict a reading, since tables have errors.
const ONE_IN: usize = 20;
/// How many cells with a mark and without one are needed before they tell anything, and which share of all: one in
/// `ONE_OF`.
const FEWEST: usize = 3;
const ONE_OF: usize = 50;

/// How the cells of a column are written, as counts of cells. Where there are two counts, they are for the point and
/// for the comma.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    unit: Option<String>,
    /// Numbers, if this mark stands before decimals.
    numbers: [usize; 2],
    /// Those of them that have a mark and are no numbers by the other reading.
    sure: [usize; 2],
    /// Those of these that are below one.
    fractions: [usize; 2],
    /// Numbers in both ways, with this mark before three digits.
    open: [usize; 2],
    /// Numbers below 1000 without a mark.
    small: usize,
    /// Other numbers without a mark.
    large: usize,
}

impl Written {
    /// Looks at the cells of a column, each with its count.
    pub fn of<'a>(cells: impl Iterator<Item = (&'a str, usize)> + Clone) -> Self {
        let unit = common_unit(cells.clone());
        let formats = [false, true].map(|decimal_comma| NumberFormat { decimal_comma, unit: unit.clone() });
        let mut written = Self { unit, ..Self::default() };
        for (text, n) in cells {
            let [point, comma] = &formats;
            written.add(text, n, [point.parse(text), comma.parse(text)]);
        }
        written
    }

    fn add(&mut self, text: &str, n: usize, readings: [Option<f64>; 2]) {
        for (numbers, reading) in self.numbers.iter_mut().zip(readings) {
            *numbers += if reading.is_some() { n } else { 0 };
        }
        let (mark, number) = match readings {
            [Some(point), Some(comma)] if point == comma => {
                *(if point.abs() < 1000.0 { &mut self.small } else { &mut self.large }) += n;
                return;
            }
            // The mark is the one by which the number is smaller.
            [Some(point), Some(comma)] => {
                self.open[usize::from(point.abs() > comma.abs())] += n;
                return;
            }
            [Some(point), None] => (POINT, point),
            [None, Some(comma)] => (COMMA, comma),
            [None, None] => return,
        };
        if text.contains(['.', ',']) {
            self.sure[mark] += n;
            self.fractions[mark] += if number.abs() < 1.0 { n } else { 0 };
        }
    }

    /// The format of the column, and how many of its cells are numbers. The argument says whether the other columns
    /// have decimal commas, if that is known.
    pub fn format(&self, elsewhere: Option<bool>) -> (NumberFormat, usize) {
        let decimal_comma = self.has_decimal_comma(elsewhere);
        (NumberFormat { decimal_comma, unit: self.unit.clone() }, self.numbers[usize::from(decimal_comma)])
    }

    /// Whether the format depends on the other columns.
    pub fn depends(&self, elsewhere: Option<bool>) -> bool {
        self.has_decimal_comma(elsewhere) != self.has_decimal_comma(None)
    }

    fn has_decimal_comma(&self, elsewhere: Option<bool>) -> bool {
        let by_count = self.numbers[COMMA] > self.numbers[POINT];
        let mark = usize::from(self.open[COMMA] > self.open[POINT]);
        let (open, other) = (self.open[mark], 1 - mark);
        let against = self.sure[mark] + self.sure[other] + self.open[other] + self.large;
        let is_told = self.fractions[mark] > 0 || self.sure[other] > self.sure[mark];
        if open == 0 || is_told || ONE_IN * against > open {
            return by_count;
        }
        let rarer = open.min(self.small);
        let has_both = rarer >= FEWEST && ONE_OF * rarer >= open + self.small && ONE_IN * against <= rarer;
        elsewhere.unwrap_or(if has_both { mark == POINT } else { by_count })
    }

    /// Whether the column has decimal commas, if its own cells leave no doubt.
    pub fn clearly(&self) -> Option<bool> {
        let is_clear = |mark: usize| {
            let sure = self.sure[mark];
            sure > 0 && 10 * sure >= self.numbers[mark] && sure >= ONE_IN * self.sure[1 - mark]
        };
        [POINT, COMMA].into_iter().find(|mark| is_clear(*mark)).map(|mark| mark == COMMA)
    }
}

/// Whether a table has decimal commas, if all columns that leave no doubt agree.
pub(super) fn common<'a>(columns: impl Iterator<Item = &'a Written>) -> Option<bool> {
    let mut told = columns.filter_map(Written::clearly);
    let first = told.next()?;
    told.all(|next| next == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[&str]) -> Written {
        Written::of(cells.iter().map(|cell| (*cell, 1)))
    }

    /// Whether a comma marks decimals where nothing is known of other columns, where these have points, and where
    /// commas.
    fn commas(cells: &[&str]) -> [bool; 3] {
        [None, Some(false), Some(true)].map(|elsewhere| written(cells).format(elsewhere).0.decimal_comma)
    }

    #[test]
    fn three_digits_beside_small_whole_numbers_are_thousands() {
        assert_eq!(commas(&["1.508", "914", "13.816", "77", "2.000", "5"]), [true, false, true]);
        assert_eq!(
            written(&["1.508", "914", "13.816", "77", "2.000", "5"]).format(None).0.parse("1.508"),
            Some(1508.0)
        );
        assert_eq!(commas(&["1,508", "914", "13,816", "77", "2,000", "5"]), [false, false, true]);
        // One error does not matter.
        let mut cells = ["1.508", "914"].repeat(40);
        cells.push("138.16");
        assert_eq!(commas(&cells), [true, false, true]);
    }

    #[test]
    fn measurements_with_three_decimals_stay_what_they_are() {
        let always = ["1.508", "2.914", "3.816", "7.770"];
        assert_eq!(commas(&always), [false, false, true]);
        assert_eq!(commas(&["1.508", "0.914", "3.816", "7.770"]), [false; 3], "a cell below one");
        assert_eq!(commas(&["1.508", "2.914", "3816", "7.770"]), [false; 3], "thousands without a mark");
        assert_eq!(commas(&["1.508", "2.9", "3", "7.77"]), [false; 3], "zeros are left out");
        assert_eq!(commas(&["1.508", "914", "13", "77", "2", "5"]), [false, false, true], "one is too few");
        assert_eq!(commas(&["1,695", "1,671", "1,734"]), [false, false, true], "prices of fuel");
    }

    #[test]
    fn a_column_that_tells_does_not_ask_the_others() {
        assert_eq!(commas(&["1.234.567", "1.508", "13.816"]), [true; 3]);
        assert_eq!(commas(&["1.508,20", "914", "77,1"]), [true; 3]);
        assert_eq!(commas(&["1,508.20", "914", "77.1"]), [false; 3]);
    }

    #[test]
    fn a_table_has_a_mark_if_its_columns_agree() {
        let [amounts, places, open, words] =
            [&["84,32", "7,10", "12"], &["52.52", "13.4", "8"], &["1.508", "914", "3.000"], &["a", "b", "1,5 x 7"]]
                .map(|c| written(c));
        assert_eq!(common([&amounts, &open, &words].into_iter()), Some(true));
        assert_eq!(common([&places, &open].into_iter()), Some(false));
        assert_eq!(common([&amounts, &places].into_iter()), None);
        assert_eq!(common([&open, &words].into_iter()), None);
        assert!(open.depends(Some(true)) && !amounts.depends(Some(false)) && !open.depends(None));
    }
}
