//! How much evidence is usual in rows that lack some cells.
//!
//! A build number tells the month, and the month tells that builds begin with `v2.9`. In the next month both are new in
//! all rows, and the month is set aside. Now nothing tells how the builds begin, so each is more surprising than any
//! was that the tails were learned from. So the tails are learned anew: from the rows among which neighbours are looked
//! for, without what is set aside, each judged without itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Tails;

/// Tails that are remembered, at the most.
const MOST: usize = 8;

/// The tails of rows that lack some cells. Copies of a model share what they have learned.
#[derive(Debug, Clone, Default)]
pub(in crate::cells) struct Without(Arc<Mutex<Vec<Learned>>>);

#[derive(Debug)]
struct Learned {
    /// [cells].
    lacking: Vec<bool>,
    tails: Arc<Tails>,
}

impl Without {
    /// The tails of rows that lack these cells, numbers first; `learn` finds them if they are not known.
    pub fn tails(&self, lacking: &[bool], learn: impl FnOnce() -> Tails) -> Arc<Tails> {
        let known = self.lock().iter().find(|learned| learned.lacking == lacking).map(|learned| learned.tails.clone());
        // Not locked meanwhile: this takes all threads, and one of them may ask the same.
        known.unwrap_or_else(|| {
            let tails = Arc::new(learn());
            let mut learned = self.lock();
            if learned.len() == MOST {
                learned.remove(0);
            }
            learned.push(Learned { lacking: lacking.to_vec(), tails: tails.clone() });
            tails
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Learned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
