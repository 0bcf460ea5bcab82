//! A row under judgement: the evidence in each of its cells, the score, and how odd each cell is.
//!
//! A cell has up to five kinds of evidence. *Given the rest*: −ln of its value's probability given the other cells, as
//! a density for a number. *Near* and *local*: how it differs from the nearest rows (`neighbours.rs`). *Alone*: −ln of
//! a category's probability by itself. *Beyond usual*: by how much *given the rest* is more than what was to be expected in
//! such rows, their entropy: a large amount is less likely by itself than a small fee, but a fee of 85 where all fees are
//! 9.90 is beyond what is usual there. Each becomes T, its nats in its own column (`tail.rs`).
//!
//! A value that is nearly as likely as the likeliest is not odd, however predictable the column mostly is: where another
//! column is missing that usually tells it, say. So T given the rest and T beyond usual
//! are at most ln 20 + 4·odd (see below).
//!
//! A row has five figures. The *sum* of all T finds rows in which many cells are a little odd. It is a soft one, 10·ln(1 +
//! Σ(e^(T/10) − 1)): nearly the plain sum where all T are small, and T itself where there is one alone. So one large T
//! counts for more than many small ones. The *distance* to the nearest rows, the plain sum of what *near* says, counts each
//! column by how much it varies. Categories have no distances to speak of, so for them there is the *whole*: −ln of the
//! probability of the row (`classes.rs`). Few rows tell little about combinations, so there is how odd the *values* are,
//! wherever they stand (`walk.rs`). None of these can find one wrong cell among two hundred usual ones, so there is the
//! *largest*: of all cells that are odd (see below) the one with the most evidence, odd + T(beyond usual) + (T(near) +
//! T(local)) / 4. Each figure becomes nats among held-out rows. Where a share c of the columns are categories, n rows were
//! learned from, and v = c²/2·5000/(5000 + n), the score is (1 − v)·((1 − c)·(sum + distance)/2 + c·whole) + v·values, and
//! four times what the largest has above ln 50: one row in fifty.
//!
//! So it is known how fast scores become rare. The share of usual rows that have x nats in a figure falls with e^−x. In the
//! worst case the same rows lead in all figures. Then a score grows by 1 + 4 while their share falls by e
//! ([`TAIL_STEP`]).
//!
//! How odd a cell is, which is what the score is divided by among the cells, comes from the same probabilities on their
//! own scale:
//!
//! - a category: p*·ln(p*/p), where p* is the probability of the likeliest. 0 if the cell is as expected, and little
//!   where nothing is;
//! - a missing value, where a value has the probability q > m: q·max(−ln m, −ln(1 − q));
//! - a missing value, where none is as likely as that it is missing, with m: (1 − m)·v·min(−ln(1 − v), ln(v/u)), where v is
//!   the likeliest value's probability if there is one at all, and u the same without the rest of the row. So it is odd
//!   where the rest of the row tells what should stand there, and not where it tells that nothing does. In both, m is the
//!   mean of what the rest of the row tells and of the share that is missing in the column: a source that never tells the
//!   time of a flight should tell it all the same;
//! - a number: 0 within its range, the middle nine tenths; beyond it −ln of the probability of a number as far out.
//!
//! Mistakes come together: who copies a wrong departure copies the wrong arrival with it, and each explains the other. So
//! reasons ask once more, without the column that speaks loudest for what was seen (`pool.rs`). A category is to blame by
//! how odd it is, or by a quarter of how odd it is without that column, if that is more; what is expected comes from the
//! same. The score does not ask this.

use super::Cells;
use super::classes::ClassScratch;
use super::column::{LeftOut, MISSING, NOTHING};
use super::neighbours::Search;
use super::pool::Scratch;
use super::sample::Membership;
use super::tail::{FIGURES, Tail, Tails};
use crate::math::{ln, simd, sum_by};

/// Kinds of evidence.
pub(super) const KINDS: usize = 5;
const GIVEN_THE_REST: usize = 0;
const NEAR: usize = 1;
const LOCAL: usize = 2;
const ALONE: usize = 3;
const BEYOND_USUAL: usize = 4;

/// The smallest probability.
const LEAST: f64 = 1e-30;
/// The least doubt about a value that is missing.
const LEAST_DOUBT: f64 = 1e-9;

/// Nats by which evidence has to grow to count e times as much in the sum.
const SOFT: f64 = 10.0;

/// The nats of one in twenty: ln 20.
pub(super) const ONE_IN_TWENTY: f64 = 2.995_732_273_553_991;
/// The nats of one in fifty: ln 50.
const ONE_IN_FIFTY: f64 = 3.912_023_005_428_146;
/// The nats beyond these that a cell may have for each nat that it is odd.
const ODD_ALLOWS: f64 = 4.0;
/// How much what is above counts beside the other two.
const LARGEST_COUNTS: f64 = 4.0;
/// By how much a score grows, at the most, while the share of usual rows that have as much falls by e.
pub(super) const TAIL_STEP: f64 = 1.0 + LARGEST_COUNTS;
/// The score that one usual row in forty has, where a score is nats still: ln 40.
pub(super) const TAIL_FROM: f64 = 3.688_879_454_113_936;
/// How much the two kinds of neighbours count in the largest cell.
const NEIGHBOURS_COUNT: f64 = 0.25;
/// How much a cell is to blame that is odd only without the column that speaks loudest for it.
const WITHOUT_COUNTS: f64 = 0.25;

/// What a row is judged by, before tails.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// [cells, kinds]; NaN where there is none.
    pub kinds: Vec<f32>,
    /// [cells]: how odd each is.
    pub odd: Vec<f64>,
    /// −ln of the probability of the whole row, where it counts.
    pub whole: f64,
    /// How odd its values are, wherever they stand.
    pub values: f64,
}

/// Which of a row's figures is that of its largest cell.
pub(super) const LARGEST: usize = 1;

/// What a row comes to.
pub(super) struct Figures {
    /// Its sum, its largest cell, its distance, the whole row, and its values.
    pub all: [f64; FIGURES],
    /// The cell that is the largest.
    pub largest: usize,
}

/// The figures of a row: sum, largest, distance, whole and values.
pub(super) fn figures(evidence: &Evidence, tails: &[Tail], calibrated: bool) -> Figures {
    let Evidence { kinds, odd, whole, values } = evidence;
    let (mut sum, mut largest, mut distance) = (0.0, (0.0f64, 0), 0.0);
    let cells = kinds.chunks_exact(KINDS).zip(tails.chunks_exact(KINDS)).zip(odd);
    for (cell, ((evidence, tails), odd)) in cells.enumerate() {
        let mut nats = [0.0; KINDS];
        for ((nats, evidence), tail) in nats.iter_mut().zip(evidence).zip(tails) {
            *nats = tail.nats(f64::from(*evidence), calibrated);
        }
        for kind in [GIVEN_THE_REST, BEYOND_USUAL] {
            nats[kind] = nats[kind].min(ONE_IN_TWENTY + ODD_ALLOWS * odd);
        }
        // Where nothing stands, no value can be beyond what is usual.
        let given = nats[if evidence[BEYOND_USUAL].is_nan() { GIVEN_THE_REST } else { BEYOND_USUAL }];
        sum += nats[..BEYOND_USUAL].iter().map(|nats| (nats / SOFT).exp_m1()).sum::<f64>();
        distance += if evidence[NEAR].is_nan() { 0.0 } else { f64::from(evidence[NEAR]) };
        if *odd > 0.0 {
            let own = odd + given + NEIGHBOURS_COUNT * (nats[NEAR] + nats[LOCAL]);
            largest = if own > largest.0 { (own, cell) } else { largest };
        }
    }
    Figures { all: [SOFT * sum.ln_1p(), largest.0, distance, *whole, *values], largest: largest.1 }
}

/// A row, and room for all that is computed of it.
pub(super) struct View<'a> {
    cells: &'a Cells,
    /// [cells].
    slots: Vec<u16>,
    /// [cells].
    numbers: Vec<f32>,
    membership: Membership,
    evidence: Evidence,
    /// [groups]: the categories that those of the row count as.
    known: Vec<u32>,
    /// [cells].
    differences: Vec<f64>,
    search: Search,
    classes: ClassScratch,
    /// Whether reasons are asked for.
    reasons: bool,
    /// [cells]: how much each is to blame, if reasons are asked for.
    blame: Vec<f64>,
    /// The probabilities of the cell that was asked about last, and whether it is missing.
    scratch: Scratch,
    presence: Scratch,
    /// Room for others.
    kept: Vec<f32>,
}

/// What is known of one cell, beside the probabilities of its slots.
#[derive(Debug, Clone, Copy)]
struct Given {
    /// The probability of a missing value.
    missing: f64,
    /// The slot of what was seen, with the row left out.
    slot: u16,
}

impl<'a> View<'a> {
    pub fn new(cells: &'a Cells) -> Self {
        let n_cells = cells.layout.n_cells();
        Self {
            cells,
            slots: vec![NOTHING; n_cells],
            numbers: vec![f32::NAN; n_cells],
            membership: Membership::default(),
            evidence: Evidence {
                kinds: vec![f32::NAN; n_cells * KINDS],
                odd: vec![0.0; n_cells],
                ..Evidence::default()
            },
            known: Vec::new(),
            differences: vec![0.0; n_cells],
            search: Search::default(),
            classes: ClassScratch::default(),
            reasons: false,
            blame: vec![0.0; n_cells],
            scratch: Scratch::default(),
            presence: Scratch::default(),
            kept: Vec::new(),
        }
    }

    /// One that also says how much each cell is to blame.
    pub fn for_reasons(cells: &'a Cells) -> Self {
        Self { reasons: true, ..Self::new(cells) }
    }

    /// Takes a row in.
    pub fn show(&mut self, codes: &[u32], numbers: &[f32], membership: Membership) {
        let (of_numbers, of_groups) = self.cells.columns.split_at(numbers.len());
        self.membership = membership;
        for (cell, (column, x)) in of_numbers.iter().zip(numbers).enumerate() {
            self.slots[cell] = column.slot_of_number(*x);
            self.numbers[cell] = super::bins::tame(*x);
        }
        for ((slot, column), code) in self.slots[numbers.len()..].iter_mut().zip(of_groups).zip(codes) {
            *slot = column.slot_of_code(*code);
        }
    }

    /// Takes a row in and gathers its evidence, and how odd each cell is.
    pub fn look(&mut self, codes: &[u32], numbers: &[f32], membership: Membership) {
        self.show(codes, numbers, membership);
        let Cells { references, columns, .. } = self.cells;
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        known.extend(columns[numbers.len()..].iter().zip(codes).map(|(column, code)| column.known(*code)));
        let nearest = references.nearest(columns, &known, numbers, membership.references, &mut self.search);
        let scale = references.differences(columns, &known, numbers, &nearest, &mut self.differences);
        self.known = known;
        self.evidence.kinds.fill(f32::NAN);
        self.evidence.odd.fill(0.0);
        self.blame.fill(0.0);
        for (cell, column) in columns.iter().enumerate() {
            if self.slots[cell] == NOTHING {
                continue;
            }
            let given = self.ask(cell);
            let mut evidence = [f64::NAN; KINDS];
            evidence[GIVEN_THE_REST] = self.surprise(cell, given, &self.scratch.mixed, given.missing);
            evidence[NEAR] = self.differences[cell];
            evidence[LOCAL] = self.differences[cell] / scale;
            if self.slots[cell] != MISSING {
                evidence[BEYOND_USUAL] = evidence[GIVEN_THE_REST] - self.usual_surprise(cell);
            }
            if column.bins.is_none() {
                let own = membership.counted.then_some(self.slots[cell] == MISSING);
                let missing = column.missing.map_or(0.0, |_| column.missing_share(own));
                evidence[ALONE] = self.surprise(cell, given, &self.scratch.prior, missing);
            }
            self.evidence.kinds[cell * KINDS..][..KINDS].copy_from_slice(&evidence.map(|value| value as f32));
            self.evidence.odd[cell] = self.how_odd(cell, given);
            if self.reasons {
                self.blame[cell] = self.doubt(cell, given, self.evidence.odd[cell]);
            }
        }
        self.evidence.whole = if self.cells.categories > 0.0 { self.whole() } else { 0.0 };
        let own = |cell: usize| self.own(cell).map(|(_, left_out)| left_out);
        self.evidence.values = self.cells.walk.oddness(&self.slots, own);
    }

    /// The evidence that was gathered.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// How much each cell is to blame.
    pub fn blame(&self) -> &[f64] {
        &self.blame
    }

    /// The score of the row that was looked at.
    pub fn score(&self) -> f64 {
        let Tails { of_cells, of_rows } = self.cells.tails();
        let figures = figures(&self.evidence, of_cells, self.membership.calibrated);
        let [sum, largest, distance, whole, values] =
            std::array::from_fn(|which| of_rows[which].nats(figures.all[which]));
        let Cells { categories, by_values, .. } = self.cells;
        let combined = (1.0 - categories) * f64::midpoint(sum, distance) + categories * whole;
        let of_all = (1.0 - by_values) * combined + by_values * values;
        of_all + LARGEST_COUNTS * (largest - ONE_IN_FIFTY).max(0.0)
    }

    /// The probabilities of a group's categories, each that of one category where several share a place, and of what
    /// was seen.
    pub fn categories(&mut self, cell: usize, probabilities: &mut [f32]) -> f32 {
        let given = self.ask(cell);
        if self.slots[cell] != NOTHING {
            self.doubt(cell, given, self.how_odd(cell, given));
        }
        let column = &self.cells.columns[cell];
        // Of what is missing, what should stand there is asked.
        let missing = if given.slot == MISSING { 0.0 } else { given.missing };
        for (slot, probability) in probabilities.iter_mut().enumerate() {
            *probability = ((1.0 - missing) * f64::from(self.scratch.mixed[slot] / column.members[slot])) as f32;
        }
        if let Some(code) = column.missing {
            probabilities[code as usize] = missing as f32;
        }
        if self.slots[cell] == NOTHING {
            0.0
        } else {
            self.seen(cell, given, &self.scratch.mixed, given.missing) as f32
        }
    }

    /// A number's range, and the probability of one that is at least as far out.
    pub fn range(&mut self, cell: usize) -> ([f32; 2], f32) {
        let given = self.ask(cell);
        let column = &self.cells.columns[cell];
        let Some(bins) = column.bins.as_ref().filter(|bins| bins.len() > 0) else { return ([0.0; 2], 0.0) };
        let range = bins.range(&self.scratch.mixed);
        if given.slot == NOTHING {
            return (range, 0.0);
        }
        let x = self.numbers[cell];
        let beyond = bins.beyond(x, self.membership.counted);
        (range, (bins.two_sided(&self.scratch.mixed, &column.counts, x) * (-beyond).exp()) as f32)
    }

    /// Computes the probabilities of a cell's slots.
    fn ask(&mut self, cell: usize) -> Given {
        let (column, target) = (&self.cells.columns[cell], &self.cells.targets[cell]);
        let slot = self.slots[cell];
        let counted = self.membership.counted && slot != NOTHING;
        let own = self.own(cell);
        target.fill(column, &self.slots, own, &mut self.scratch);
        if let Some(bins) = column.bins.as_ref().filter(|bins| (slot as usize) < bins.len()) {
            self.scratch.blend(slot as usize, bins.beside(self.numbers[cell]));
        }
        let own_absence = counted.then_some(slot == MISSING);
        let absence = self.cells.absences[cell].as_ref();
        let missing = absence.map_or(0.0, |absence| absence.probability(&self.slots, own_absence, &mut self.presence));
        Given { missing, slot: own.map_or(slot, |(_, left_out)| left_out.slot as u16) }
    }

    /// −ln of the probability of the whole row, as a density in its numbers.
    fn whole(&mut self) -> f64 {
        let Cells { classes, columns, .. } = self.cells;
        let mut classes_of = std::mem::take(&mut self.classes);
        let own = |cell: usize| self.own(cell).map(|(_, left_out)| left_out);
        let mut whole = classes.surprise(&self.slots, self.membership.references.is_some(), own, &mut classes_of);
        self.classes = classes_of;
        for (cell, column) in columns.iter().enumerate() {
            let slot = self.own(cell).map_or(self.slots[cell] as usize, |(_, left_out)| left_out.slot);
            match &column.bins {
                Some(bins) if slot < bins.len() => {
                    whole += bins.ln_width(slot) + bins.beyond(self.numbers[cell], self.membership.counted);
                }
                _ => whole += column.members.get(slot).map_or(0.0, |members| f64::from(*members).ln()),
            }
        }
        whole
    }

    /// How much a cell is to blame that is so odd; leaves the probabilities that say so.
    fn doubt(&mut self, cell: usize, given: Given, odd: f64) -> f64 {
        let Cells { layout, columns, targets, .. } = self.cells;
        let (column, slot) = (&columns[cell], given.slot as usize);
        if column.bins.is_some() || slot >= column.n_slots() {
            return odd;
        }
        let own = self.own(cell);
        self.kept.clone_from(&self.scratch.mixed);
        if targets[cell].silence_loudest(layout, column, &self.slots, slot, own, &mut self.scratch) {
            let without = WITHOUT_COUNTS * self.how_odd(cell, given);
            if without > odd {
                return without;
            }
            self.scratch.mixed.clone_from(&self.kept);
        }
        odd
    }

    /// The slot of a cell that is counted, and the probabilities without it.
    fn own(&self, cell: usize) -> Option<(usize, LeftOut)> {
        let (column, slot) = (&self.cells.columns[cell], self.slots[cell] as usize);
        (self.membership.counted && slot < column.n_slots()).then(|| (slot, column.leave_out(slot)))
    }

    /// The probability of what was seen.
    fn seen(&self, cell: usize, given: Given, probabilities: &[f32], missing: f64) -> f64 {
        if given.slot == MISSING {
            return missing;
        }
        let slot = given.slot as usize;
        let members = self.cells.columns[cell].members.get(slot).copied().unwrap_or(1.0);
        (1.0 - missing) * f64::from(probabilities[slot]) / f64::from(members)
    }

    /// −ln of the probability of what was seen, or of its density.
    fn surprise(&self, cell: usize, given: Given, probabilities: &[f32], missing: f64) -> f64 {
        let surprise = -self.seen(cell, given, probabilities, missing).max(LEAST).ln();
        match &self.cells.columns[cell].bins {
            None => surprise,
            Some(bins) => {
                let beyond = bins.beyond(self.numbers[cell], self.membership.counted);
                surprise + bins.ln_width(given.slot as usize) + beyond
            }
        }
    }

    /// The surprise that is to be expected where a cell has a value: the entropy of its probabilities, or of their density.
    fn usual_surprise(&self, cell: usize) -> f64 {
        let (mixed, sizes) = (&self.scratch.mixed, &self.cells.columns[cell].ln_sizes);
        let entropy = simd(
            #[inline(always)]
            || -sum_by(mixed, |p| p * ln(p.max(f32::MIN_POSITIVE))),
        );
        let size: f32 = mixed.iter().zip(sizes).map(|(p, size)| p * size).sum();
        f64::from(entropy + size)
    }

    /// How odd the cell is; 0 where it is as expected.
    fn how_odd(&self, cell: usize, given: Given) -> f64 {
        let column = &self.cells.columns[cell];
        if let Some(bins) = &column.bins {
            let (x, [low, high]) = (self.numbers[cell], bins.range(&self.scratch.mixed));
            if low <= x && x <= high {
                return 0.0;
            }
            let beyond = bins.beyond(x, self.membership.counted);
            return beyond - bins.two_sided(&self.scratch.mixed, &column.counts, x).ln();
        }
        let values = self.scratch.mixed.iter().zip(&column.members).map(|(p, members)| p / members);
        let (slot, present) =
            values.enumerate().fold((0, 0.0), |best, (slot, p)| if p > best.1 { (slot, p) } else { best });
        let present = f64::from(present);
        let missing = if given.slot == MISSING {
            f64::midpoint(given.missing, column.missing_share(self.membership.counted.then_some(true)))
        } else {
            given.missing
        };
        let value = (1.0 - missing) * present;
        if given.slot == MISSING {
            let sure = |p: f64| -(1.0 - p).max(LEAST_DOUBT).ln();
            return if value > missing {
                value * (-missing.max(LEAST).ln()).max(sure(value))
            } else {
                let alone =
                    self.scratch.prior.get(slot).zip(column.members.get(slot)).map_or(1.0, |(p, members)| p / members);
                value * sure(present).min((present / f64::from(alone).max(LEAST)).ln()).max(0.0)
            };
        }
        let likeliest = value.max(missing);
        let seen = self.seen(cell, given, &self.scratch.mixed, missing).max(LEAST);
        if seen < likeliest { likeliest * (likeliest / seen).ln() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figure of some T, all of one kind: tails whose nats are the evidence itself.
    fn sum(evidence: &[f32]) -> f64 {
        let tail = Tail::new(vec![0.0, 20.0], vec![0.0, 20.0], [1.0, 1.0, 0.0, 1.0, 20.0, 20.0]);
        let kinds = evidence.iter().flat_map(|own| [f32::NAN, f32::NAN, f32::NAN, *own, f32::NAN]).collect();
        let row = Evidence { kinds, odd: vec![0.0; evidence.len()], ..Evidence::default() };
        figures(&row, &vec![tail; KINDS * evidence.len()], false).all[0]
    }

    #[test]
    fn the_largest_cell_counts_by_what_is_beyond_the_usual() {
        let tail = Tail::new(vec![0.0, 20.0], vec![0.0, 20.0], [1.0, 1.0, 0.0, 1.0, 20.0, 20.0]);
        // Two cells, each 4 nats odd; the first is less likely, and the second more so than others like it.
        let kinds = vec![9.0, 1.0, 1.0, f32::NAN, 2.0, 5.0, 1.0, 1.0, f32::NAN, 6.0];
        let row = Evidence { kinds, odd: vec![4.0; 2], ..Evidence::default() };
        let Figures { all, largest } = figures(&row, &vec![tail; 2 * KINDS], false);
        assert_eq!((largest, all[LARGEST]), (1, 4.0 + 6.0 + 0.25 * 2.0));
        // The sum has the first kind: 9, 1, 1 and 5, 1, 1.
        let sum: f64 = [9.0, 1.0, 1.0, 5.0, 1.0, 1.0].map(|nats: f64| (nats / 10.0).exp_m1()).iter().sum();
        assert!((all[0] - 10.0 * sum.ln_1p()).abs() < 1e-9);
    }

    #[test]
    fn one_large_cell_counts_for_more_than_many_small_ones() {
        assert!((sum(&[7.0, 0.0]) - 7.0).abs() < 1e-9);
        // Python: 10*math.log(1 + math.expm1(.1) + math.expm1(.2))
        assert!((sum(&[1.0, 2.0]) - 2.825_994_348_8).abs() < 1e-9, "{}", sum(&[1.0, 2.0]));
        assert!(sum(&[9.0, 0.0, 0.0]) > sum(&[3.0, 3.0, 3.0]));
    }
}
