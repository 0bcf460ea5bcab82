//! Clean tables into which mistakes are planted: does the first reason name the cell, and the expectation the value?
//!
//! One row in a hundred gets one mistake. The kinds take turns, and the cell is drawn at random among those that the
//! kind can spoil. The table is then read like any other, and the default method learns from it as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use gnsm::{Error, Model, ReadOptions, Result, Table, TableReader, read_table};

use crate::planted::{Draw, Plain};

/// Rows that are taken from a table, at the most; they are drawn by seed.
const MOST_ROWS: usize = 10_000;
/// Of so many rows one is spoilt.
const ONE_IN: usize = 100;
/// How often a cell is drawn for a mistake before the row is left as it is.
const TRIES: usize = 50;
/// The column that a benchmark's table has beside the data.
const LABEL: &str = "label";

/// The kinds of mistakes.
pub const KINDS: [(&str, &str); 5] = [
    ("other", "the value of another row"),
    ("exchanged", "two cells of the row in each other's place"),
    ("typo", "a letter of a word replaced"),
    ("digit", "a number ten times as large or small"),
    ("missing", "an empty cell"),
];

/// A planted mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its kind, a place in [`KINDS`].
    pub kind: usize,
    /// The row.
    pub row: usize,
    /// The columns that are wrong: one, or two that were exchanged.
    pub columns: Vec<usize>,
    /// What stood in the first of them.
    pub right: String,
}

/// What was found of the mistakes of one kind in one table, over all seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// Mistakes that were planted.
    pub planted: usize,
    /// Those whose column the first reason names.
    pub first: usize,
    /// Those whose right value was expected.
    pub expected: usize,
}

/// For each table and kind what was found.
pub type Figures = BTreeMap<(String, usize), Named>;

/// Plants mistakes into each table with each seed, and measures. `report` sees what came of each table and seed.
pub fn run(files: &[PathBuf], seeds: u64, report: &mut dyn FnMut(&str, u64, Named)) -> Result<Figures> {
    let mut figures = Figures::new();
    for path in files {
        let table = read_table(path)?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        for seed in 0..seeds {
            let (spoilt, mistakes) = spoil(sample(&table, &name, seed), &name, seed);
            let mut all = Named::default();
            for (kind, named) in measure(&spoilt, &mistakes)? {
                figures.entry((name.clone(), kind)).or_default().add(named);
                all.add(named);
            }
            report(&name, seed, all);
        }
    }
    Ok(figures)
}

impl Named {
    fn add(&mut self, other: Self) {
        self.planted += other.planted;
        self.first += other.first;
        self.expected += other.expected;
    }
}

/// Rows of a table as text, without its label.
fn sample(table: &Table, name: &str, seed: u64) -> Plain {
    let columns: Vec<_> = table.columns.iter().filter(|column| column.name != LABEL).collect();
    let header: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut plain = Plain::new(&header, ',');
    let mut rows = Draw::new(name, seed, "rows").shuffled((0..table.n_rows()).collect::<Vec<_>>());
    rows.truncate(MOST_ROWS);
    let text = |row: usize| columns.iter().map(move |column| column.values.text(row).unwrap_or_default().into_owned());
    plain.rows = rows.into_iter().map(|row| text(row).collect()).collect();
    plain
}

/// Plants the mistakes.
fn spoil(mut table: Plain, name: &str, seed: u64) -> (Plain, Vec<Mistake>) {
    let mut draw = Draw::new(name, seed, "mistakes");
    let n_rows = table.rows.len();
    let mut rows = draw.shuffled((0..n_rows).collect::<Vec<_>>());
    rows.truncate((n_rows / ONE_IN).max(KINDS.len()));
    let clean = table.rows.clone();
    let mut mistakes = Vec::new();
    for (turn, row) in rows.into_iter().enumerate() {
        let kind = turn % KINDS.len();
        let Some((cells, columns)) = (0..TRIES).find_map(|_| mistaken(&clean, row, kind, &mut draw)) else { continue };
        let right = clean[row][columns[0]].clone();
        table.rows[row] = cells;
        mistakes.push(Mistake { kind, row, columns, right });
    }
    (table, mistakes)
}

/// A row with a mistake in a cell drawn at random, and its columns; `None` if that cell cannot have it.
fn mistaken(clean: &[Vec<String>], row: usize, kind: usize, draw: &mut Draw) -> Option<(Vec<String>, Vec<usize>)> {
    let mut cells = clean[row].clone();
    let column = draw.below(cells.len());
    let was = cells[column].clone();
    let mut columns = vec![column];
    match KINDS[kind].0 {
        "other" => cells[column].clone_from(&clean[draw.below(clean.len())][column]),
        "exchanged" => {
            let other = draw.below(cells.len());
            cells.swap(column, other);
            columns.push(other);
        }
        "typo" => {
            let mut letters: Vec<char> = was.chars().collect();
            let at = draw.below(letters.len());
            let place = letters.get_mut(at).filter(|letter| letter.is_alphabetic())?;
            *place = char::from(b'a' + draw.below(26) as u8);
            let text: String = letters.into_iter().collect();
            let is_new = clean.iter().all(|cells| cells[column] != text);
            cells[column] = is_new.then_some(text)?;
        }
        "digit" => {
            let number: f64 = was.parse().ok().filter(|number| *number != 0.0)?;
            cells[column] = (if draw.chance(0.5) { number * 10.0 } else { number / 10.0 }).to_string();
        }
        _ => cells[column].clear(),
    }
    (cells[column] != was).then_some((cells, columns))
}

/// Fits on the spoilt table, and counts by kind.
fn measure(spoilt: &Plain, mistakes: &[Mistake]) -> Result<BTreeMap<usize, Named>> {
    let source = Box::new(Cursor::new(spoilt.to_csv()));
    let mut reader = TableReader::from_reader("spoilt.csv", source, &ReadOptions::default())?;
    let Some(table) = reader.next_batch(usize::MAX)? else { return Ok(BTreeMap::new()) };
    let fit = Model::builder().fit_and_judge(&table)?;
    let rows: Vec<usize> = mistakes.iter().map(|mistake| mistake.row).collect();
    let explanations = fit.own().explain(&rows, usize::MAX);
    let mut found: BTreeMap<usize, Named> = BTreeMap::new();
    for (mistake, explanation) in mistakes.iter().zip(explanations) {
        let names: Vec<&str> = mistake.columns.iter().map(|column| spoilt.header[*column].as_str()).collect();
        let first = explanation.reasons.first().is_some_and(|reason| names.contains(&reason.column.as_str()));
        let of_cell = explanation.reasons.iter().find(|reason| reason.column == names[0]);
        let expected = of_cell.is_some_and(|reason| reason.expected.as_deref() == Some(&mistake.right));
        let one = Named { planted: 1, first: usize::from(first), expected: usize::from(expected) };
        found.entry(mistake.kind).or_default().add(one);
    }
    Ok(found)
}

/// The share of mistakes of a kind whose column is the first reason, in per cent; the mean over kinds for `None`.
pub fn first_reason(figures: &Figures, table: &str, kind: Option<usize>) -> Option<f64> {
    let of = |kind: usize| {
        let named = figures.get(&(table.to_owned(), kind)).filter(|named| named.planted > 0)?;
        Some(100.0 * named.first as f64 / named.planted as f64)
    };
    if kind.is_some() {
        return kind.and_then(of);
    }
    let shares: Vec<f64> = (0..KINDS.len()).filter_map(of).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The figures as a table: a line for each table.
pub fn summarise(figures: &Figures) -> String {
    let mut text = String::from("| first reason names the planted cell |");
    for (name, _) in KINDS {
        let _ = write!(text, " {name} |");
    }
    text += " mean over kinds | expected is right |\n|---|";
    text += &"---|".repeat(KINDS.len() + 2);
    text.push('\n');
    let tables: std::collections::BTreeSet<&str> = figures.keys().map(|(table, _)| table.as_str()).collect();
    let share = |share: Option<f64>| share.map_or_else(|| "–".into(), |share| format!("{share:.1} %"));
    for table in tables {
        let _ = write!(text, "| {table} |");
        for kind in 0..KINDS.len() {
            let _ = write!(text, " {} |", share(first_reason(figures, table, Some(kind))));
        }
        let mut all = Named::default();
        figures.iter().filter(|((own, _), _)| own == table).for_each(|(_, named)| all.add(*named));
        let expected = (all.planted > 0).then(|| 100.0 * all.expected as f64 / all.planted as f64);
        let _ = writeln!(text, " {} | {} |", share(first_reason(figures, table, None)), share(expected));
    }
    text
}

/// Writes the figures into a folder, as `mistakes.md`.
pub fn write_summary(figures: &Figures, out: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(out).map_err(|error| Error::io(out, error))?;
    let path = out.join("mistakes.md");
    std::fs::write(&path, summarise(figures)).map_err(|error| Error::io(&path, error)).map(|()| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn towns() -> Plain {
        let mut table = Plain::new(&["city", "state", "people"], ',');
        let row = |i: usize| {
            let at = i % 4;
            let people = [3700, 1800, 560, 570][at] + i % 13;
            [["Berlin", "Hamburg", "Dresden", "Bremen"][at], ["BE", "HH", "SN", "HB"][at], &people.to_string()]
                .map(str::to_owned)
                .to_vec()
        };
        table.rows = (0..600).map(row).collect();
        table
    }

    #[test]
    fn each_mistake_is_one_cell_or_two_exchanged_ones() {
        let clean = towns();
        let (spoilt, mistakes) = spoil(clean.clone(), "towns", 3);
        assert_eq!(mistakes.len(), 6);
        let n_changed = clean.rows.iter().zip(&spoilt.rows).filter(|(clean, spoilt)| clean != spoilt).count();
        assert_eq!(n_changed, mistakes.len());
        for mistake in &mistakes {
            let (before, after) = (&clean.rows[mistake.row], &spoilt.rows[mistake.row]);
            let differs = |column: &usize| before[*column] != after[*column];
            let changed: Vec<usize> = (0..3).filter(differs).collect();
            let mut told = mistake.columns.clone();
            told.sort_unstable();
            assert_eq!(changed, told, "{}", KINDS[mistake.kind].0);
            assert_eq!(mistake.right, before[mistake.columns[0]]);
        }
        assert_eq!(spoil(clean, "towns", 3).1, mistakes, "the same seed plants the same");
    }

    #[test]
    fn mistakes_in_an_orderly_table_are_named() -> Result<()> {
        let (spoilt, mistakes) = spoil(towns(), "towns", 0);
        let mut all = Named::default();
        measure(&spoilt, &mistakes)?.values().for_each(|named| all.add(*named));
        assert!(all.planted == 6 && all.first >= 5, "{all:?}");
        Ok(())
    }
}
