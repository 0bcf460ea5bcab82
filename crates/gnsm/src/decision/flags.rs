//! Which rows are flagged, decided as they come. A false discovery rate knows only when all p-values are there.

use super::threshold::{FdrCounter, Rule, Scored};
use crate::error::Result;

/// Counts rows by their p-values, until it is known which are flagged.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/claims.rs")); }
/// # let (_folder, path) = example::claims();
/// # let table = gnsm::read_table(&path)?;
/// # let model = gnsm::Model::fit(&table)?;
/// let mut decision = gnsm::Decision::new(gnsm::Rule::Fdr(0.1))?;
/// let scores = model.score(&table)?;
/// decision.add(&scores); // once for each batch
/// let flags = decision.finish();
/// assert_eq!(flags.flagged(), scores.iter().filter(|row| flags.flags(row)).count() as u64);
/// # Ok::<(), gnsm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decision {
    rule: Rule,
    counter: Option<FdrCounter>,
    rows: u64,
    flagged: u64,
    lowest: Option<(f64, u64)>,
}

/// Which rows of a file are flagged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flags {
    rule: Rule,
    cutoff: Option<f64>,
    rows: u64,
    flagged: u64,
    lowest: Option<(f64, u64)>,
}

impl Decision {
    /// No rows so far. Fails if the rule has a limit that is none.
    pub fn new(rule: Rule) -> Result<Self> {
        rule.validate()?;
        let counter = if let Rule::Fdr(level) = rule { Some(FdrCounter::new(level)?) } else { None };
        Ok(Self { rule, counter, rows: 0, flagged: 0, lowest: None })
    }

    /// Whether it is known only in the end which rows are flagged.
    pub fn waits(&self) -> bool {
        self.counter.is_some()
    }

    /// Takes in the next rows. A row without a p-value is never flagged.
    pub fn add(&mut self, scores: &[Scored]) {
        for row in scores {
            self.rows += 1;
            if row.p_value.is_nan() {
                continue;
            }
            self.lowest = match self.lowest {
                Some((lowest, n)) if row.p_value == lowest => Some((lowest, n + 1)),
                Some((lowest, n)) if row.p_value > lowest => Some((lowest, n)),
                _ => Some((row.p_value, 1)),
            };
            match &mut self.counter {
                Some(counter) => counter.add(row.p_value),
                None => self.flagged += u64::from(self.rule.flags(row, None)),
            }
        }
    }

    /// Which rows are flagged, of those that came.
    pub fn finish(&self) -> Flags {
        let (cutoff, flagged) =
            self.counter.as_ref().map_or((None, self.flagged), |counter| (counter.cutoff(), counter.flagged()));
        Flags { rule: self.rule, cutoff, rows: self.rows, flagged, lowest: self.lowest }
    }
}

impl Flags {
    /// Whether a row is flagged.
    pub fn flags(&self, row: &Scored) -> bool {
        self.rule.flags(row, self.cutoff)
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The p-value up to which a false discovery rate flags; none if it flags nothing, or if the rule is another.
    pub fn cutoff(&self) -> Option<f64> {
        self.cutoff
    }

    /// How many rows came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many of them are flagged.
    pub fn flagged(&self) -> u64 {
        self.flagged
    }

    /// The lowest p-value, and how many rows have it.
    pub fn lowest(&self) -> Option<(f64, u64)> {
        self.lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(p_values: &[f64]) -> Vec<Scored> {
        p_values.iter().map(|p_value| Scored { score: -p_value.ln(), p_value: *p_value }).collect()
    }

    #[test]
    fn batches_change_nothing() -> Result<()> {
        let all = rows(&[0.001, 0.2, 0.004, 0.001, 0.9, f64::NAN, 0.012]);
        for rule in [Rule::Fdr(0.02), Rule::Contamination(0.004), Rule::Threshold(2.0)] {
            let (mut one, mut many) = (Decision::new(rule)?, Decision::new(rule)?);
            one.add(&all);
            all.chunks(2).for_each(|batch| many.add(batch));
            assert_eq!(one.finish(), many.finish());
            let flags = one.finish();
            assert_eq!(flags.flagged(), all.iter().filter(|row| flags.flags(row)).count() as u64, "{rule:?}");
            assert_eq!((flags.rows(), flags.lowest()), (7, Some((0.001, 2))));
        }
        Ok(())
    }

    #[test]
    fn a_false_discovery_rate_flags_by_rank() -> Result<()> {
        // Of five rows the second lowest p-value may be 0.1 · 2/5, the third 0.1 · 3/5.
        let mut decision = Decision::new(Rule::Fdr(0.1))?;
        assert!(decision.waits() && !Decision::new(Rule::Threshold(1.0))?.waits());
        decision.add(&rows(&[0.07, 0.01, 0.5, 0.04, 0.6]));
        assert_eq!((decision.finish().cutoff(), decision.finish().flagged()), (Some(0.04), 2));
        assert!(Decision::new(Rule::Fdr(1.0)).is_err());
        Ok(())
    }
}
