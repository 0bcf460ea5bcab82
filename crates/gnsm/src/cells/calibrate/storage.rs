//! The arrays of the tails.

use std::ops::Range;

use super::tail::TOP;
use super::{FigureTail, Tail, Tails};
use crate::cells::combine::{FIGURES, Figures, KINDS, Kinds};
use crate::cells::storage::{end, fixed, pieces};
use crate::columns::Layout;
use crate::density::BulkTail;
use crate::files::{Loaded, Tensors};

impl Tails {
    pub(in crate::cells) fn write(&self, tensors: &mut Tensors) {
        let of_cells = || self.of_cells.iter().flat_map(Kinds::each);
        tensors.put("tails", of_cells().map(|tail| tail.at.len() as u32).collect());
        tensors.put("tail_at", of_cells().flat_map(|tail| tail.at.iter().copied()).collect::<Vec<f64>>());
        tensors.put("tail_nats", of_cells().flat_map(|tail| tail.nats.iter().copied()).collect::<Vec<f64>>());
        tensors.put("tail_tops", of_cells().flat_map(|tail| tail.top).collect::<Vec<f64>>());
        let of_figures = || self.of_figures.each().into_iter();
        tensors.put("row_tails", of_figures().map(|tail| tail.at.len() as u32).collect());
        tensors.put("row_tail_at", of_figures().flat_map(|tail| tail.at.iter().copied()).collect::<Vec<f64>>());
        tensors.put("row_tail_nats", of_figures().flat_map(|tail| tail.nats.iter().copied()).collect::<Vec<f64>>());
        let tops = of_figures().flat_map(|tail| [tail.top.from, tail.top.step]);
        tensors.put("row_tail_tops", tops.collect::<Vec<f64>>());
    }

    pub(in crate::cells) fn read(layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        Ok(Self { of_cells: read_of_cells(layout, tensors)?, of_figures: read_of_figures(tensors)? })
    }
}

fn read_of_cells(layout: &Layout, tensors: &mut Tensors) -> Loaded<Vec<Kinds<Tail>>> {
    let n_tails = layout.n_cells() * KINDS;
    let lengths: Vec<u32> = tensors.take("tails", n_tails)?;
    let knots = pieces(lengths.iter().map(|length| *length as usize));
    let at: Vec<f64> = tensors.take("tail_at", end(&knots))?;
    let nats: Vec<f64> = tensors.take("tail_nats", end(&knots))?;
    let tops: Vec<f64> = tensors.take("tail_tops", TOP * n_tails)?;
    let tail = |(index, knots): (usize, Range<usize>)| {
        let tail = Tail::new(at[knots.clone()].to_vec(), nats[knots].to_vec(), fixed(&tops[TOP * index..]));
        if tail.is_usable() { Ok(tail) } else { Err("the curve of a tail is not usable".into()) }
    };
    let mut tails = knots.into_iter().enumerate().map(tail).collect::<Loaded<Vec<Tail>>>()?.into_iter();
    let kinds = |_| Kinds::from_array(std::array::from_fn(|_| tails.next().unwrap_or_default()));
    Ok((0..layout.n_cells()).map(kinds).collect())
}

fn read_of_figures(tensors: &mut Tensors) -> Loaded<Figures<FigureTail>> {
    let lengths: Vec<u32> = tensors.take("row_tails", FIGURES)?;
    let knots = pieces(lengths.iter().map(|length| *length as usize));
    let at: Vec<f64> = tensors.take("row_tail_at", end(&knots))?;
    let nats: Vec<f64> = tensors.take("row_tail_nats", end(&knots))?;
    let tops: Vec<f64> = tensors.take("row_tail_tops", 2 * FIGURES)?;
    let tail = |which: usize| {
        let (knots, [from, step]) = (knots[which].clone(), fixed(&tops[2 * which..]));
        FigureTail { at: at[knots.clone()].to_vec(), nats: nats[knots].to_vec(), top: BulkTail { from, step } }
    };
    let tails = Figures::from_array(std::array::from_fn(tail));
    match tails.each().iter().find(|tail| !tail.is_usable()) {
        None => Ok(tails),
        Some(_) => Err("the curve of the rows is not usable".into()),
    }
}
