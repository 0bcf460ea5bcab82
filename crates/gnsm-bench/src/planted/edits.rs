//! Ways to spoil a cell that many tables share.

use super::plant::Site;

/// Rows that two values would share by chance, at the least, before it is odd that they share none.
const FEWEST_TOGETHER: usize = 3;

/// A common category with a letter missing, doubled or moved, in one of these columns.
pub fn misspell(site: &mut Site<'_>, columns: &[&str]) -> Option<()> {
    let column = site.draw.pick(columns);
    let mut letters: Vec<char> = site.get(column)?.chars().collect();
    if letters.len() < 5 {
        return None;
    }
    let at = 1 + site.draw.below(letters.len() - 2);
    match site.draw.below(3) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        _ => letters.swap(at, at + 1),
    }
    let text: String = letters.into_iter().collect();
    (!site.occurs(column, &text) && !text.contains("  ")).then_some(())?;
    site.set(column, text)
}

/// A category in capitals or in small letters, in one of these columns.
pub fn wrong_case(site: &mut Site<'_>, columns: &[&str]) -> Option<()> {
    let column = site.draw.pick(columns);
    let text = site.get(column)?;
    let text = if site.draw.chance(0.5) { text.to_uppercase() } else { text.to_lowercase() };
    (!site.occurs(column, &text)).then_some(())?;
    site.set(column, text)
}

/// A category with a blank behind it, in one of these columns.
pub fn trailing_blank(site: &mut Site<'_>, columns: &[&str]) -> Option<()> {
    let column = site.draw.pick(columns);
    let text = format!("{} ", site.get(column)?);
    site.set(column, text)
}

/// One of these texts, in one of these columns.
pub fn write(site: &mut Site<'_>, columns: &[&str], texts: &[&str]) -> Option<()> {
    let column = site.draw.pick(columns);
    let text = site.draw.pick(texts);
    site.set(column, text)
}

/// An empty cell in one of these columns.
pub fn empty(site: &mut Site<'_>, columns: &[&str]) -> Option<()> {
    let column = site.draw.pick(columns);
    site.set(column, "")
}

/// The identifier of another row, far away.
pub fn duplicate(site: &mut Site<'_>, column: &str) -> Option<()> {
    let other = site.draw.below(site.table.rows.len());
    (other.abs_diff(site.row) > 1).then_some(())?;
    let text = site.get_in(other, column)?;
    site.also_odd(other);
    site.set(column, text)
}

/// Two cells in each other's place.
pub fn swap(site: &mut Site<'_>, first: &str, second: &str) -> Option<()> {
    let (a, b) = (site.get(first)?, site.get(second)?);
    site.set(first, b)?;
    site.set(second, a)
}

/// A value that the column has in other rows and never beside this row's value of `with`, though both are so common
/// that chance alone would bring them together a few times. Both columns may be named.
pub fn mismatch(site: &mut Site<'_>, column: &str, with: &str) -> Option<()> {
    let other = site.draw.below(site.table.rows.len());
    let (text, beside) = (site.get_in(other, column)?, site.get(with)?);
    let (first, second) = (site.table.place(column)?, site.table.place(with)?);
    let rows = &site.table.rows;
    let [mut texts, mut besides] = [0, 0];
    for row in rows {
        let [same_text, same_beside] = [row[first] == text, row[second] == beside];
        if same_text && same_beside {
            return None;
        }
        texts += usize::from(same_text);
        besides += usize::from(same_beside);
    }
    (texts * besides >= FEWEST_TOGETHER * rows.len()).then_some(())?;
    site.set(column, text)?;
    site.beside(with)
}

/// The number with one digit of its whole part written twice.
pub fn extra_digit(site: &mut Site<'_>, value: f64) -> f64 {
    let mut digits = format!("{:.0}", value.trunc().abs());
    let at = site.draw.below(digits.len());
    // A second zero before the others would change nothing.
    let digit = digits.chars().nth(at).filter(|digit| *digit != '0').unwrap_or('1');
    digits.insert(at, digit);
    digits.parse::<f64>().unwrap_or(value) + value.abs().fract()
}

/// The number a hundred times larger or smaller.
pub fn decimal_shift(site: &mut Site<'_>, value: f64) -> f64 {
    if site.draw.chance(0.5) { value * 100.0 } else { value / 100.0 }
}
