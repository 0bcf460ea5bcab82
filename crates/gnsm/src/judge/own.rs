//! The rows that a model was fitted on, each judged as if it had not been learned from.
//!
//! A row that was learned from looks usual: a forest has cut around it, and its nearest neighbour is itself. Methods that
//! can leave out one row of what they counted do that ([`Method::leaves_out`]). For the others the rows are dealt into two
//! halves, and each half is judged by a detector that was fitted on the other. Equal rows are judged by one detector, so that
//! they have one score: if both halves have some, by that of the second half.

use std::borrow::Cow;

use super::Batch;
use super::batch::{PValues, Rows};
use crate::columns::{Aside, Encoded, Encoder, marked, marked_for};
use crate::decision::Calibration;
use crate::detectors::{Detector, score_distinct};
use crate::error::{Error, Result};
use crate::method::{Fitted, Method};
use crate::model::{FitOptions, FittedRows, Model, ModelBuilder, RowsToLearn};
use crate::table::Table;
use crate::train::{Ending, FEWEST_ROWS, Run, Watcher, deal, halve};

/// Two detectors that together can judge every row of a table as new.
pub(super) struct Halves {
    /// Which detector judges each row of the table.
    judge_of_row: Vec<usize>,
    /// Two detectors, and the rows that each has learned from.
    judges: [(Fitted, Encoded); 2],
}

impl Halves {
    /// Deals the rows that may be learned from, and fits a detector on each half; `None` if there are too few.
    fn fit(
        encoder: &Encoder,
        method: &Method,
        rows: &FittedRows,
        options: &FitOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Self>> {
        if rows.learnable.len() < 2 * FEWEST_ROWS {
            return Ok(None);
        }
        let encoded = &rows.encoded;
        let halves = halve(rows.learnable.clone(), options.seed);
        let (firsts, of_row) = encoded.distinct();
        let mut judge_of = vec![1; firsts.len()];
        for row in &halves[0] {
            judge_of[of_row[*row] as usize] = 0;
        }
        let judge_of_row = of_row.iter().map(|which| judge_of[*which as usize]).collect();
        let mut fit_on = |rows: Vec<usize>| {
            let [mut training, validation, calibration] = deal(rows, options.seed);
            training.extend(calibration);
            let [training, validation] = [training, validation].map(|rows| encoded.select(&rows));
            let max_seconds = options.max_seconds.map(|seconds| seconds / 2.0);
            let run = Run { seed: options.seed, max_seconds, resume: None, save: None, watcher: &mut *watcher };
            let fitted = method.fit(encoder.layout(), &training, &validation, run)?;
            Ok::<_, Error>((fitted, training.concat(&validation)))
        };
        let [first, second] = halves;
        let judges = [fit_on(second)?, fit_on(first)?];
        Ok(Some(Self { judge_of_row, judges }))
    }

    /// What each row's judge says of it, for some rows of the table, in their order.
    pub fn judge<T: Clone>(
        &self,
        encoder: &Encoder,
        table_rows: &Encoded,
        rows: &[usize],
        say: impl Fn(&dyn Detector, &Encoded, &[usize]) -> Vec<T>,
    ) -> Vec<T> {
        let mut said = vec![None; rows.len()];
        for (judge, (fitted, learned)) in self.judges.iter().enumerate() {
            let places: Vec<usize> = (0..rows.len()).filter(|place| self.judge_of_row[rows[*place]] == judge).collect();
            let of_judge: Vec<usize> = places.iter().map(|place| rows[*place]).collect();
            let encoded = table_rows.select(&of_judge).unseen_by(encoder.layout(), learned);
            for (place, one) in places.into_iter().zip(say(fitted.detector(), &encoded, &of_judge)) {
                said[place] = Some(one);
            }
        }
        said.into_iter().flatten().collect()
    }
}

/// A model, and the rows that it was fitted on.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
/// # let (_folder, path) = example::claims(); // category and amount; the last row is a taxi for 950
/// let table = gnsm::read_table(&path)?;
/// let fit = gnsm::Model::builder().fit_and_judge(&table)?;
/// let own = fit.own();
/// assert!(own.scores().iter().all(|row| row.score <= own.scores()[200].score));
/// println!("{}", own.explain(&[200], 1)[0].reasons[0]); // why row 200 is the oddest
/// # Ok::<(), gnsm::Error>(())
/// ```
pub struct Fit<'t> {
    /// The model.
    pub model: Model,
    table: Cow<'t, Table>,
    encoded: Encoded,
    scores: Vec<f64>,
    halves: Option<Halves>,
    /// Of the scores by halves.
    calibration: Option<Calibration>,
    nothing: Aside,
}

impl ModelBuilder<'_> {
    /// Learns a model from a table whose own rows will be judged. Methods that cannot leave out single rows are then fitted
    /// twice more, each time on half of the rows, and each half is judged by the fit on the other.
    pub fn fit_and_judge(self, table: &Table) -> Result<Fit<'_>> {
        let missing = self.missing_texts().map(<[String]>::to_vec);
        let table = marked(table, missing.as_deref());
        self.with(|method, options, watcher| {
            let (model, rows) = Model::fit_with(&table, None, method, options, watcher)?;
            let is_whole = model.training().is_none_or(|(_, ending)| ending != Ending::Interrupted);
            let halves = if method.leaves_out() || !is_whole {
                None
            } else {
                Halves::fit(&model.encoder, method, &rows, options, watcher)?
            };
            let FittedRows { encoded, left_out, .. } = rows;
            let scores = match (left_out, &halves) {
                (Some(scores), _) => scores,
                (None, None) => model.fitted.score_distinct(&encoded),
                (None, Some(halves)) => {
                    let every: Vec<usize> = (0..encoded.n_rows()).collect();
                    halves.judge(&model.encoder, &encoded, &every, |detector, rows, _| score_distinct(detector, rows))
                }
            };
            let counted = scores.iter().map(|score| (*score, 1));
            let calibration = halves.is_some().then(|| Calibration::new(counted)).transpose()?;
            let nothing = Aside::nothing(&model.encoder);
            Ok((model, encoded, scores, halves, calibration, nothing))
        })
        .map(|(model, encoded, scores, halves, calibration, nothing)| {
            let as_read = match marked_for(&table, model.schema()) {
                Cow::Owned(marked) => Some(marked),
                Cow::Borrowed(_) => None,
            };
            let table = as_read.map_or(table, Cow::Owned);
            Fit { model, table, encoded, scores, halves, calibration, nothing }
        })
    }

    /// [`Self::fit_and_judge`] of what [`ModelBuilder::read`] gave, if that is the whole table.
    pub fn fit_and_judge_rows(self, rows: &RowsToLearn) -> Result<Fit<'_>> {
        if !rows.is_whole() {
            return Err(Error::fit(
                "not all rows of the table are held, so its own rows cannot be judged without themselves",
                "give more memory, or judge the rows as new ones",
            ));
        }
        self.fit_and_judge(rows.table())
    }
}

impl Fit<'_> {
    /// The rows of the fit, each judged as if it had not been learned from, where the method can do that. p-values go on beyond
    /// the bulk of the rows.
    pub fn own(&self) -> Batch<'_> {
        let (encoder, fitted) = (&self.model.encoder, &self.model.fitted);
        let calibration = self.calibration.as_ref().unwrap_or(&self.model.calibration);
        let p_values = PValues::BeyondTheBulk(calibration.tail(fitted.detector().known_tail()));
        let table = Cow::Borrowed(&*self.table);
        Batch::new(encoder, fitted.detector(), &self.nothing, table, Rows::own(&self.encoded), p_values)
            .left_out()
            .judged_by(self.halves.as_ref())
            .with_scores(Some(&self.scores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ReadOptions, TableReader};

    fn table(rows: usize) -> Result<Table> {
        let row = |row: usize| format!("{},{},{}.5\n", ["a", "b"][row % 2], ["p", "q", "r"][row % 3], row * row % 9973);
        let text = format!("x,y,z\n{}", (0..rows).map(row).collect::<String>());
        let source = Box::new(std::io::Cursor::new(text));
        let mut reader = TableReader::from_reader("t.csv", source, &ReadOptions::default())?;
        Ok(reader.next_batch(usize::MAX)?.expect("rows"))
    }

    #[test]
    fn the_rows_of_a_fit_are_known_in_any_order() -> Result<()> {
        let table = table(200)?;
        let model = Model::builder().fit(&table)?;
        let fingerprint = |rows: &[usize]| -> Result<String> {
            let rows = model.encoder.encode_whole(&table.select(rows))?;
            Ok(rows.fingerprint_in_any_order().to_hex().to_string())
        };
        let backwards: Vec<usize> = (0..200).rev().collect();
        assert_eq!(fingerprint(&backwards)?, model.report.fingerprint);
        assert_ne!(fingerprint(&backwards[1..])?, model.report.fingerprint);
        let twice: Vec<usize> = (0..199).chain([0]).collect();
        assert_ne!(fingerprint(&twice)?, model.report.fingerprint);
        Ok(())
    }

    #[test]
    fn each_row_is_judged_by_the_half_that_has_not_learned_from_it() -> Result<()> {
        let table = table(200)?;
        let fit = Model::builder().method("knn").fit_and_judge(&table)?;
        let (model, own) = (&fit.model, fit.own());
        let halves = fit.halves.as_ref().expect("dealt");
        let rows = model.encoder.encode_whole(&table)?;
        let scores = own.scores();
        for (row, scored) in scores.iter().enumerate() {
            let (judge, learned) = &halves.judges[halves.judge_of_row[row]];
            let alone = rows.select(&[row]).unseen_by(model.encoder.layout(), learned);
            assert_eq!(judge.score_distinct(&alone), [scored.score], "row {row}");
            let is_known = (0..learned.n_rows()).any(|at| learned.numbers(at) == rows.numbers(row));
            assert!(!is_known, "row {row} is judged by who has learned from it");
        }
        let n = |of: &Encoded| of.n_rows();
        assert_eq!(n(&halves.judges[0].1) + n(&halves.judges[1].1), 200, "together they have learned from all rows");
        let explained = own.explain(&[7, 3], 9);
        for (explanation, row) in explained.iter().zip([7, 3]) {
            let parts: f64 = explanation.reasons.iter().map(|reason| reason.part).sum();
            assert!((parts + explanation.base + explanation.rest - scores[row].score).abs() < 1e-6, "row {row}");
        }
        Ok(())
    }

    #[test]
    fn rows_with_a_key_that_repeats_score_alike_in_their_table_and_in_a_batch() -> Result<()> {
        // Probes come from one address, and all others from their own. What only the whole table tells must not decide.
        let row = |row: usize| match row % 25 {
            0 => format!("10.0.0.2,probe,web2,{}.5\n", row * 7 % 5),
            _ => format!(
                "{}.{}.7.9,{},web1,{}.5\n",
                row % 250,
                row / 2,
                ["safari", "chrome"][row % 2],
                90 + row * 7 % 11
            ),
        };
        let text = format!("ip,agent,host,ms\n{}", (0..1000).map(row).collect::<String>());
        let source = Box::new(std::io::Cursor::new(text));
        let mut reader = TableReader::from_reader("t.csv", source, &ReadOptions::default())?;
        let table = reader.next_batch(usize::MAX)?.expect("rows");
        let fit = Model::builder().fit_and_judge(&table)?;
        let (model, own) = (&fit.model, fit.own());
        assert_eq!(model.schema().columns[0].kind.name(), "identifier");
        let probes: Vec<usize> = (0..1000).step_by(25).collect();
        let batch = model.score(&table.select(&probes))?;
        for (row, scored) in probes.into_iter().zip(batch) {
            assert!(
                scored.score < own.scores()[row].score + 1.0,
                "row {row}: {} and {}",
                scored.score,
                own.scores()[row].score
            );
        }
        Ok(())
    }

    #[test]
    fn equal_rows_have_one_score() -> Result<()> {
        let table = table(100)?.select(&(0..200).map(|row| row % 100).collect::<Vec<_>>());
        let fit = Model::builder().method("isolation-forest").fit_and_judge(&table)?;
        let own = fit.own();
        let scores = own.scores();
        assert_eq!(scores[..100], scores[100..]);
        Ok(())
    }

    #[test]
    fn methods_that_leave_out_rows_need_no_halves() -> Result<()> {
        let table = table(80)?;
        assert!(Model::builder().fit_and_judge(&table)?.halves.is_none());
        assert!(Model::builder().method("knn").fit_and_judge(&table)?.halves.is_some());
        Ok(())
    }
}
