//! Runs a detector on planted tables: every table and seed, a line for each oddity as soon as the table is judged.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gnsm::{Error, Model, Result, Table, read_table};

use super::report::summarise;
use super::{Made, Oddity, make, table_names};
use crate::raw;

const HEADER: &str = "table,seed,kind,row,column,rank,in_top_k,first_reason,named";
/// The share of the rows that the older part of a table has.
const OLDER: f64 = 0.8;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The tables; all if empty.
    pub tables: Vec<String>,
    /// Seeds 0 to this, exclusive.
    pub seeds: u64,
    /// The folder for `raw.csv`, `summary.md` and the tables themselves, in `tables`.
    pub out: PathBuf,
}

/// What a detector says about a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// For each row of the table how odd it is; higher is odder.
    pub scores: Vec<f64>,
    /// For each of the rows that were asked for the column that its first reason names, or columns if it is about
    /// several.
    pub reasons: Vec<Vec<String>>,
}

/// Judges a table, and gives first reasons for the rows that are asked for. Which rows those are tells what was
/// planted, so they may only be explained.
pub type Detector<'a> = dyn Fn(&Table, &[usize]) -> Result<Judged> + 'a;

/// What came of a table.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The table and what is odd in it.
    pub made: &'a Made,
    /// A line for each oddity.
    pub lines: &'a [Line],
    /// Why the detector gave up, if it did; its lines then have no rank.
    pub failure: Option<Error>,
}

/// One line of `raw.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The table.
    pub table: String,
    /// Its seed.
    pub seed: u64,
    /// The kind of oddity.
    pub kind: String,
    /// Its first row.
    pub row: usize,
    /// The columns that a reason may name, the changed one first, with `+` between.
    pub columns: String,
    /// The place of its oddest row in the ranking, from 1, where rows of one oddity count once; `None` if the
    /// detector failed.
    pub rank: Option<usize>,
    /// Whether that is among the first k, k being the number of oddities in the table.
    pub in_top_k: bool,
    /// The columns of that row's first reason, with `+` between.
    pub first_reason: String,
    /// Whether one of them is one of those that may be named.
    pub named: bool,
}

/// Runs what is not done yet, and writes the summary. `report` sees each table that was judged.
pub fn run(options: &Options, detector: &Detector<'_>, report: &mut dyn FnMut(&Outcome<'_>)) -> Result<()> {
    let names = table_names();
    if let Some(unknown) = options.tables.iter().find(|wanted| !names.contains(&wanted.as_str())) {
        return Err(Error::schema(format!("there is no table {unknown}"), format!("there are {}", names.join(", "))));
    }
    let tables = options.out.join("tables");
    std::fs::create_dir_all(&tables).map_err(|error| Error::io(&tables, error))?;
    let raw = options.out.join("raw.csv");
    let mut lines = if raw.exists() { read_lines(&raw)? } else { Vec::new() };
    let mut file = raw::open(&raw, HEADER)?;
    let key = |line: &Line| (line.table.clone(), line.seed, line.kind.clone(), line.row);
    let mut done: BTreeSet<(String, u64, String, usize)> = lines.iter().map(key).collect();
    for name in names.iter().filter(|name| options.tables.is_empty() || options.tables.iter().any(|own| own == *name)) {
        for seed in 0..options.seeds {
            let Some(made) = make(name, seed) else { continue };
            let of = |oddity: &Oddity| ((*name).to_owned(), seed, oddity.kind.to_owned(), oddity.rows[0]);
            if made.truth.iter().all(|oddity| done.contains(&of(oddity))) {
                continue;
            }
            let path = write(&made, &tables)?;
            let judged = read_table(&path).and_then(|table| {
                let asked: Vec<usize> = made.truth.iter().flat_map(|oddity| oddity.rows.iter().copied()).collect();
                let judged = detector(&table, &asked)?;
                let sizes = [judged.scores.len(), judged.reasons.len()];
                let is_whole = sizes == [table.n_rows(), asked.len()];
                let advice = "give a score for each row, and a first reason for each row that is asked for";
                is_whole
                    .then_some(judged)
                    .ok_or_else(|| Error::fit(format!("found {sizes:?} scores and reasons"), advice))
            });
            let (judged, failure) = match judged {
                Ok(judged) => (Some(judged), None),
                Err(error) => (None, Some(error)),
            };
            let judged = measure(&made, judged.as_ref());
            report(&Outcome { made: &made, lines: &judged, failure });
            for line in judged {
                // A run that was stopped may have left some.
                if done.insert(key(&line)) {
                    raw::append(&mut file, &raw, &to_csv(&line))?;
                    lines.push(line);
                }
            }
        }
    }
    let summary = options.out.join("summary.md");
    std::fs::write(&summary, summarise(&lines)).map_err(|error| Error::io(&summary, error))
}

/// The detector of today: fits on all rows with defaults, scores and explains the same rows.
pub fn fit_and_score(table: &Table, asked: &[usize]) -> Result<Judged> {
    let fit = Model::builder().fit_and_judge(table)?;
    let own = fit.own();
    Ok(Judged {
        scores: own.scores().iter().map(|scored| scored.score).collect(),
        reasons: own
            .explain(asked, 1)
            .into_iter()
            .map(|explanation| explanation.reasons.into_iter().take(1).map(|reason| reason.column).collect())
            .collect(),
    })
}

/// Writes a table's files into a folder: `NAME-SEED.csv`, which is returned, `NAME-SEED.clean.csv`,
/// `NAME-SEED.truth.csv` and, where time moves with the rows, `NAME-SEED.older.csv` and `NAME-SEED.newer.csv`, the
/// parts of the clean table.
pub fn write(made: &Made, folder: &Path) -> Result<PathBuf> {
    let put = |ending: &str, text: String| {
        let path = folder.join(format!("{}-{}{ending}", made.name, made.seed));
        std::fs::write(&path, text).map_err(|error| Error::io(&path, error)).map(|()| path)
    };
    let mut truth = String::from("kind,rows,columns\n");
    for Oddity { kind, rows, columns } in &made.truth {
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let _ = writeln!(truth, "{kind},{},{}", rows.join("+"), columns.join("+"));
    }
    put(".truth.csv", truth)?;
    put(".clean.csv", made.clean.to_csv())?;
    if made.ordered {
        let [older, newer] = made.clean.cut(OLDER);
        put(".older.csv", older.to_csv())?;
        put(".newer.csv", newer.to_csv())?;
    }
    put(".csv", made.odd.to_csv())
}

/// A line for each oddity.
fn measure(made: &Made, judged: Option<&Judged>) -> Vec<Line> {
    let n_rows = made.odd.rows.len();
    let odd_rows =
        || made.truth.iter().enumerate().flat_map(|(which, oddity)| oddity.rows.iter().map(move |row| (*row, which)));
    let mut rank_of = vec![None; made.truth.len()];
    if let Some(judged) = judged {
        let mut which_of: Vec<Option<usize>> = vec![None; n_rows];
        odd_rows().for_each(|(row, which)| which_of[row] = Some(which));
        let mut order: Vec<usize> = (0..n_rows).collect();
        // Stable: among equal scores, rows keep their order.
        order.sort_by(|&a, &b| judged.scores[b].total_cmp(&judged.scores[a]));
        let mut rank = 0;
        for row in order {
            match which_of[row] {
                Some(which) if rank_of[which].is_some() => {}
                Some(which) => {
                    rank += 1;
                    rank_of[which] = Some((rank, row));
                }
                None => rank += 1,
            }
        }
    }
    let reason_of = |row: usize| {
        let place = odd_rows().position(|(odd, _)| odd == row)?;
        judged?.reasons.get(place).cloned()
    };
    let lines = made.truth.iter().zip(rank_of).map(|(oddity, found)| {
        let reason = found.and_then(|(_, row)| reason_of(row)).unwrap_or_default();
        let rank = found.map(|(rank, _)| rank);
        Line {
            table: made.name.to_owned(),
            seed: made.seed,
            kind: oddity.kind.to_owned(),
            row: oddity.rows[0],
            columns: oddity.columns.join("+"),
            rank,
            in_top_k: rank.is_some_and(|rank| rank <= made.truth.len()),
            named: reason.iter().any(|column| oddity.columns.contains(column)),
            first_reason: reason.join("+"),
        }
    });
    lines.collect()
}

fn to_csv(line: &Line) -> String {
    let rank = line.rank.map_or_else(String::new, |rank| rank.to_string());
    let [top, named] = [line.in_top_k, line.named].map(u8::from);
    // A column of no table here has a comma; a detector may say what it likes.
    let reason = line.first_reason.replace([',', '\n'], " ");
    let Line { table, seed, kind, row, columns, .. } = line;
    format!("{table},{seed},{kind},{row},{columns},{rank},{top},{reason},{named}")
}

/// Reads `raw.csv`.
pub fn read_lines(path: &Path) -> Result<Vec<Line>> {
    raw::read(path, HEADER, from_csv)
}

pub(super) fn from_csv(text: &str) -> Option<Line> {
    let cells: Vec<&str> = text.split(',').collect();
    let &[table, seed, kind, row, columns, rank, top, reason, named] = cells.as_slice() else { return None };
    let flag = |text: &str| text.parse().ok().filter(|flag: &u8| *flag < 2).map(|flag| flag == 1);
    Some(Line {
        table: table.to_owned(),
        seed: seed.parse().ok()?,
        kind: kind.to_owned(),
        row: row.parse().ok()?,
        columns: columns.to_owned(),
        rank: if rank.is_empty() { None } else { Some(rank.parse().ok()?) },
        in_top_k: flag(top)?,
        first_reason: reason.to_owned(),
        named: flag(named)?,
    })
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
