//! From evidence to tails: how much of it is usual.
//!
//! Each kind of evidence in each column has a curve ([`Tail`]), and so has each figure of a row ([`FigureTail`]). Both
//! are learned from held-out rows, each judged without itself, by [`Tails::learn`] (`refit.rs`), which needs the
//! evidence of these rows and nothing else. What is set aside in all rows leaves the other cells with less to explain
//! them, so how much is usual is then learned anew ([`Without`]).

mod figure_tail;
mod refit;
mod storage;
mod tail;
mod without;

pub(super) use figure_tail::FigureTail;
pub(super) use tail::Tail;
pub(super) use without::Without;

use super::combine::{self, Evidence, Figures, Kinds, Totals};
use super::recipe::Recipe;

/// How much evidence is usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Tails {
    /// [cells].
    pub of_cells: Vec<Kinds<Tail>>,
    pub of_figures: Figures<FigureTail>,
}

impl Tails {
    /// The figures of a row; its cells are left out of the curves if they are part of them (`calibrated`).
    pub fn figures(&self, recipe: &Recipe, evidence: &Evidence, calibrated: bool) -> Totals {
        combine::figures(recipe, evidence, |cell, kinds| {
            let tails = &self.of_cells[cell];
            let nats = |tail: &Tail, evidence: f32| tail.nats(recipe, f64::from(evidence), calibrated);
            Kinds {
                given_the_rest: nats(&tails.given_the_rest, kinds.given_the_rest),
                near: nats(&tails.near, kinds.near),
                local: nats(&tails.local, kinds.local),
                alone: nats(&tails.alone, kinds.alone),
                beyond_usual: nats(&tails.beyond_usual, kinds.beyond_usual),
            }
        })
    }

    /// The nats of a row's figures.
    pub fn nats(&self, figures: &Figures<f64>) -> Figures<f64> {
        self.of_figures.zip(figures, |tail, figure| tail.nats(*figure))
    }
}
