//! Sums the gradient over the tiles of rows, in fixed pieces, one thread for each piece.
//!
//! The pieces do not depend on the number of threads, and no two threads write to one place. So the sums do not depend
//! on it either.

/// Rows of a weight matrix whose gradient is one piece of work.
pub(super) const SLICE: usize = 128;
/// Vector elements that are one piece of work.
pub(super) const RUN: usize = 4096;

/// A piece of the gradient vector, and where its sum comes from; it reaches to the start of the next one.
#[derive(Clone)]
pub(super) struct Piece<S> {
    pub start: usize,
    pub source: S,
}

/// Runs all pieces in parallel by halving the list and the gradient with it; nothing is allocated.
pub(super) fn run_pieces<S: Sync>(
    pieces: &[Piece<S>],
    gradient: &mut [f32],
    work: &(impl Fn(&Piece<S>, &mut [f32]) + Sync),
) {
    match pieces {
        [] => {}
        [piece] => work(piece, gradient),
        _ => {
            let (left, right) = pieces.split_at(pieces.len() / 2);
            let (left_gradient, right_gradient) = gradient.split_at_mut(right[0].start - left[0].start);
            rayon::join(|| run_pieces(left, left_gradient, work), || run_pieces(right, right_gradient, work));
        }
    }
}
