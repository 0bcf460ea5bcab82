//! Makes numbers and dates what others of their row give.
//!
//! A detector draws each cell by itself, so a drawn `total` is near `nights × rate`, but not equal to it. Here some
//! numbers of a row are kept as they were drawn, and the others are computed from them, one relation after the other.
//! What is known stays. Which numbers are kept is decided by how many relations then hold: nights and rate give a
//! total, but a total and a rate seldom give a whole number of nights.

use super::manner::Manner;
use super::places::Places;
use super::ties::{Tie, members, relations};
use crate::columns::{Encoder, Relation, RelationKind, number_of_text};
use crate::math::{stream, uniform_share};

/// The name of the random streams.
const SETTLING: u64 = 26;

/// Makes rows keep their relations.
pub(crate) struct Settler<'a> {
    places: Places<'a>,
    relations: Vec<&'a Relation>,
    ties: &'a [Tie],
    /// All columns of relations; first those that others are computed from.
    order: Vec<usize>,
}

/// A cell that others of its row give.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub column: usize,
    pub text: String,
    /// How likely it is right.
    pub probability: f64,
}

/// A row whose numbers are settled one after the other.
#[derive(Clone)]
struct State {
    /// The numbers that are settled, by column.
    numbers: Vec<Option<f64>>,
    /// How sure each is.
    sure: Vec<f64>,
    /// Relations that have nothing more to tell.
    done: Vec<bool>,
}

impl<'a> Settler<'a> {
    pub fn new(encoder: &'a Encoder, manner: &'a Manner) -> Self {
        let relations: Vec<&Relation> = relations(encoder, manner).collect();
        let ties = &manner.ties;
        let aims: Vec<usize> = relations.iter().zip(ties).filter_map(|(relation, tie)| aim(relation, tie)).collect();
        let mut all: Vec<usize> = relations.iter().flat_map(|relation| members(relation)).collect();
        all.sort_unstable();
        all.dedup();
        let (late, early): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|column| aims.contains(column));
        Self { places: Places::new(encoder, manner), relations, ties, order: [early, late].concat() }
    }

    /// Whether there is anything to settle.
    pub fn has_ties(&self) -> bool {
        self.ties.iter().any(|tie| tie.ways.iter().any(Option::is_some))
    }

    /// The columns that take part in a relation.
    pub fn columns(&self) -> &[usize] {
        &self.order
    }

    /// The open cells of a row that the known ones give. `number` gives the number in a column of the row, `None` if it
    /// holds none.
    pub fn told(&self, number: impl Fn(usize) -> Option<f64>, is_open: impl Fn(usize) -> bool) -> Vec<Told> {
        let mut state = self.start(number, &is_open);
        let mut told = Vec::new();
        while let Some(cell) = self.next(&mut state, &is_open) {
            told.push(cell);
        }
        told
    }

    /// Makes the open cells of a row keep the relations, with each other and with the known cells. A relation is broken
    /// in as large a share of the rows as in training. `known` gives the number of a known cell.
    pub fn settle(
        &self,
        texts: &mut [Option<String>],
        known: impl Fn(usize) -> Option<f64>,
        is_open: impl Fn(usize) -> bool,
        (seed, id): (u64, u64),
    ) {
        let columns = &self.places.encoder.schema().columns;
        let drawn: Vec<Option<f64>> = (0..columns.len())
            .map(|at| {
                texts[at].as_deref().filter(|_| is_open(at)).and_then(|text| number_of_text(&columns[at].kind, text))
            })
            .collect();
        let start = self.start(known, &is_open);
        // A missing number is told by nothing and tells nothing.
        let is_kept = |at: usize, relation: &Relation| {
            members(relation).all(|column| start.numbers[column].or(drawn[column]).is_some())
                && members(relation).any(&is_open)
                && uniform_share(&mut stream(seed, SETTLING, id, at as u64)) < self.ties[at].kept
        };
        let kept: Vec<bool> = self.relations.iter().enumerate().map(|(at, relation)| is_kept(at, relation)).collect();
        let n_kept = kept.iter().filter(|kept| **kept).count();
        let firsts = std::iter::once(None).chain((0..kept.len()).filter(|at| kept[*at]).map(Some));
        let mut best: Option<(usize, f64, Vec<Told>)> = None;
        for first in firsts.filter(|_| n_kept > 0) {
            let (state, told) = self.tried(first, &start, &kept, &drawn, &is_open);
            let holds = |relation: &Relation| {
                let numbers: Option<Vec<f64>> = members(relation).map(|column| state.numbers[column]).collect();
                numbers.is_some_and(|numbers| relation.holds(numbers[0], &numbers[1..]))
            };
            let held = self.relations.iter().zip(&kept).filter(|(relation, kept)| **kept && holds(relation)).count();
            let sure: f64 = told.iter().map(|told| told.probability).sum();
            if best.as_ref().is_none_or(|(most, surest, _)| (held, sure) > (*most, *surest)) {
                best = Some((held, sure, told));
            }
            if held == n_kept {
                break;
            }
        }
        for told in best.into_iter().flat_map(|(_, _, told)| told) {
            texts[told.column] = Some(told.text);
        }
    }

    /// Keeps the drawn numbers of a row one after the other, first those of the relation `first`, and computes all that
    /// they give.
    fn tried(
        &self,
        first: Option<usize>,
        start: &State,
        kept: &[bool],
        drawn: &[Option<f64>],
        is_open: &impl Fn(usize) -> bool,
    ) -> (State, Vec<Told>) {
        let mut state = start.clone();
        state.done.iter_mut().zip(kept).for_each(|(done, kept)| *done = !kept);
        let mut told = Vec::new();
        let before = first.iter().flat_map(|at| self.relations[*at].terms.iter().copied());
        for column in before.chain(self.order.iter().copied()).map(Some).chain([None]) {
            while let Some(cell) = self.next(&mut state, is_open) {
                told.push(cell);
            }
            if let Some(column) = column.filter(|column| state.numbers[*column].is_none()) {
                state.numbers[column] = drawn[column];
            }
        }
        (state, told)
    }

    fn start(&self, known: impl Fn(usize) -> Option<f64>, is_open: &impl Fn(usize) -> bool) -> State {
        let n_columns = self.places.encoder.schema().columns.len();
        let mut state = State {
            numbers: vec![None; n_columns],
            sure: vec![1.0; n_columns],
            done: vec![false; self.relations.len()],
        };
        for column in self.order.iter().filter(|column| !is_open(**column)) {
            state.numbers[*column] = known(*column).filter(|number| number.is_finite());
        }
        state
    }

    /// Computes the cell that follows most surely from those that are settled.
    fn next(&self, state: &mut State, is_open: &impl Fn(usize) -> bool) -> Option<Told> {
        loop {
            let mut best: Option<(f64, usize, usize, usize)> = None;
            for (at, relation) in self.relations.iter().enumerate().filter(|(at, _)| !state.done[*at]) {
                let mut unsettled =
                    members(relation).enumerate().filter(|(_, column)| state.numbers[*column].is_none());
                let (Some((place, column)), None) = (unsettled.next(), unsettled.next()) else { continue };
                let Some(way) = self.ties[at].ways[place].filter(|_| is_open(column)) else { continue };
                let others = members(relation).filter(|other| *other != column);
                let sure = way.right * others.map(|other| state.sure[other]).product::<f64>();
                if best.is_none_or(|(most, ..)| sure > most) {
                    best = Some((sure, at, place, column));
                }
            }
            let (probability, at, place, column) = best?;
            state.done[at] = true;
            let relation = self.relations[at];
            let numbers: Vec<f64> = members(relation).map(|column| state.numbers[column].unwrap_or(f64::NAN)).collect();
            let rounding = self.ties[at].ways[place].map(|way| way.rounding)?;
            let solved = relation.solved(place, &numbers);
            if let Some((text, number)) = solved.and_then(|number| self.places.write(column, number, rounding)) {
                (state.numbers[column], state.sure[column]) = (Some(number), probability);
                return Some(Told { column, text, probability });
            }
        }
    }
}

/// The number of a relation that is best computed from the others: its result. Of two dates and the time between them
/// it is the later date, if the time gives it to the last digit: a stay of three nights ends three days later.
fn aim(relation: &Relation, tie: &Tie) -> Option<usize> {
    let is_told = |at: usize| tie.ways.get(at).is_some_and(Option::is_some);
    if relation.by == RelationKind::Elapsed && is_told(2) {
        return relation.terms.get(1).copied();
    }
    is_told(0).then_some(relation.of)
}
