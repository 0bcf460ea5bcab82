//! The rows that a model was fitted on, each judged as if it had not been learned from.
//!
//! A row that was learned from looks usual: a forest has cut around it, and its nearest neighbour is itself. Methods that
//! can leave out one row of what they counted do that ([`Method::leaves_out`]). For the others the rows are dealt into two
//! halves, and each half is judged by a detector that was fitted on the other. Equal rows are judged by one detector, so that
//! they have one score: if both halves have some, by that of the second half.

use super::{FitOptions, Model};
use crate::columns::{Encoded, Encoder};
use crate::decision::odd_cells::Sought;
use crate::decision::{Calibration, Explanation, OddCell, Scored, TailOfScores, reason};
use crate::error::{Error, Result};
use crate::method::{Fitted, Method};
use crate::table::Table;
use crate::train::{FEWEST_ROWS, Run, Watcher, deal, halve};

/// Two detectors that together can judge every row of a table as new.
#[derive(Debug, Clone)]
pub(crate) struct Halves {
    /// Which detector judges each row of the table.
    judge_of_row: Vec<usize>,
    /// Two detectors, and the rows that each has learned from.
    judges: [(Fitted, Encoded); 2],
}

impl Halves {
    /// Deals the rows that may be learned from, and fits a detector on each half; `None` if there are too few.
    pub fn fit(
        encoder: &Encoder,
        method: &Method,
        encoded: &Encoded,
        learnable: Vec<usize>,
        options: &FitOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Self>> {
        if learnable.len() < 2 * FEWEST_ROWS {
            return Ok(None);
        }
        let halves = halve(learnable, options.seed);
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
    fn judge<T: Clone>(
        &self,
        encoder: &Encoder,
        table_rows: &Encoded,
        rows: &[usize],
        say: impl Fn(&Fitted, &Encoded, &[usize]) -> Vec<T>,
    ) -> Vec<T> {
        let mut said = vec![None; rows.len()];
        for (judge, (fitted, learned)) in self.judges.iter().enumerate() {
            let places: Vec<usize> = (0..rows.len()).filter(|place| self.judge_of_row[rows[*place]] == judge).collect();
            let of_judge: Vec<usize> = places.iter().map(|place| rows[*place]).collect();
            let encoded = table_rows.select(&of_judge).unseen_by(encoder.layout(), learned);
            for (place, one) in places.into_iter().zip(say(fitted, &encoded, &of_judge)) {
                said[place] = Some(one);
            }
        }
        said.into_iter().flatten().collect()
    }
}

impl Model {
    /// Scores the table that the model was fitted on. Each row is judged as if it had not been learned from, where the method
    /// can do that ([`Method::leaves_out`]) or [`ModelBuilder::judge_own`](super::ModelBuilder::judge_own) was asked for.
    /// p-values go on beyond the bulk of the rows ([`Self::tail`]).
    pub fn score_own(&self, table: &Table) -> Result<Vec<Scored>> {
        let table = &*self.marked(table);
        let rows = self.encoder.encode_whole(table)?;
        let Some(halves) = self.halves_of(&rows) else {
            let left_out = left_out_scores(&self.fitted, &rows);
            return Ok(scored(left_out.unwrap_or_else(|| self.fitted.score_distinct(&rows)), self.tail()));
        };
        let every: Vec<usize> = (0..rows.n_rows()).collect();
        let scores = halves.judge(&self.encoder, &rows, &every, |fitted, rows, _| fitted.score_distinct(rows));
        let calibration = Calibration::new(scores.iter().map(|score| (*score, 1)))?;
        Ok(scored(scores, calibration.tail(self.fitted.detector().known_tail())))
    }

    /// [`Self::explain`] for rows of the table that the model was fitted on.
    pub fn explain_own(&self, table: &Table, rows: &[usize], most: usize) -> Result<Vec<Explanation>> {
        let table = &*self.marked(table);
        let encoder = &self.encoder;
        let encoded = encoder.encode_whole(table)?;
        let explained = |fitted: &Fitted, encoded: &Encoded, rows: &[usize], left_out: bool| {
            reason::score_and_explain(encoder, fitted.detector(), table, encoded, rows, most, left_out)
        };
        let own = match self.halves_of(&encoded) {
            Some(halves) => {
                halves.judge(encoder, &encoded, rows, |fitted, encoded, rows| explained(fitted, encoded, rows, false))
            }
            None => explained(&self.fitted, &encoded.select(rows), rows, true),
        };
        Ok(own.into_iter().map(|(_, explanation)| explanation).collect())
    }

    /// The cells of a whole table that are likely wrong, the surest first. At most a share `rate` of them are expected to
    /// be right. Rows that the model learned from are judged as if it had not, where the table is the one it was fitted
    /// on.
    pub fn odd_cells(&self, table: &Table, rate: f64) -> Result<Vec<OddCell>> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(Error::config("rate", format!("{rate} is not a share between 0 and 1")));
        }
        let table = &*self.marked(table);
        let rows = self.encoder.encode_whole(table)?;
        let left_out = rows.fingerprint_in_any_order().to_hex().as_str() == self.report.fingerprint;
        let (encoder, detector) = (&self.encoder, self.fitted.detector());
        Sought { encoder, detector, table, rows: &rows, left_out }.find(rate).ok_or_else(|| {
            Error::fit(
                format!("method `{}` does not tell which cells are wrong", self.method().name()),
                "fit a model with the default method, `cells`",
            )
        })
    }

    /// The halves, if there are any and the rows are those that were dealt.
    fn halves_of(&self, rows: &Encoded) -> Option<&Halves> {
        self.halves.as_ref().filter(|halves| halves.judge_of_row.len() == rows.n_rows())
    }
}

/// The scores with their p-values.
fn scored(scores: Vec<f64>, tail: TailOfScores<'_>) -> Vec<Scored> {
    scores.into_iter().map(|score| Scored { score, p_value: tail.p_value(score) }).collect()
}

/// Scores of rows that the detector learned from, each as if it had not; `None` if it cannot do that.
pub(super) fn left_out_scores(fitted: &Fitted, rows: &Encoded) -> Option<Vec<f64>> {
    let detector = Some(fitted.detector()).filter(|detector| detector.leaves_out())?;
    let (firsts, of_row) = rows.distinct();
    let scores = detector.split_left_out(&rows.select(&firsts))?.sums();
    Some(of_row.into_iter().map(|which| scores[which as usize]).collect())
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
        let model = Model::builder().method("knn").judge_own(true).fit(&table)?;
        let halves = model.halves.as_ref().expect("dealt");
        let rows = model.encoder.encode_whole(&table)?;
        let scores = model.score_own(&table)?;
        for (row, scored) in scores.iter().enumerate() {
            let (judge, learned) = &halves.judges[halves.judge_of_row[row]];
            let alone = rows.select(&[row]).unseen_by(model.encoder.layout(), learned);
            assert_eq!(judge.score_distinct(&alone), [scored.score], "row {row}");
            let is_known = (0..learned.n_rows()).any(|at| learned.numbers(at) == rows.numbers(row));
            assert!(!is_known, "row {row} is judged by who has learned from it");
        }
        let n = |of: &Encoded| of.n_rows();
        assert_eq!(n(&halves.judges[0].1) + n(&halves.judges[1].1), 200, "together they have learned from all rows");
        let explained = model.explain_own(&table, &[7, 3], 9)?;
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
        let model = Model::fit(&table)?;
        assert_eq!(model.schema().columns[0].kind.name(), "identifier");
        let probes: Vec<usize> = (0..1000).step_by(25).collect();
        let (own, batch) = (model.score_own(&table)?, model.score(&table.select(&probes))?);
        for (row, scored) in probes.into_iter().zip(batch) {
            assert!(scored.score < own[row].score + 1.0, "row {row}: {} and {}", scored.score, own[row].score);
        }
        Ok(())
    }

    #[test]
    fn equal_rows_have_one_score() -> Result<()> {
        let table = table(100)?.select(&(0..200).map(|row| row % 100).collect::<Vec<_>>());
        let scores = Model::builder().method("isolation-forest").judge_own(true).fit(&table)?.score_own(&table)?;
        assert_eq!(scores[..100], scores[100..]);
        Ok(())
    }

    #[test]
    fn methods_that_leave_out_rows_need_no_halves() -> Result<()> {
        let table = table(80)?;
        assert!(Model::builder().judge_own(true).fit(&table)?.halves.is_none());
        assert!(Model::builder().method("knn").fit(&table)?.halves.is_none());
        Ok(())
    }
}
