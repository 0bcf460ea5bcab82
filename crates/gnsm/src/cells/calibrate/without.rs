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

/// What is lacking now, and the tails without it. Copies of a model share what they have learned.
#[derive(Debug, Clone, Default)]
pub(in crate::cells) struct Without {
    now: Option<Arc<Tails>>,
    learned: Arc<Mutex<Vec<Learned>>>,
}

#[derive(Debug)]
struct Learned {
    /// [cells].
    lacking: Vec<bool>,
    tails: Arc<Tails>,
}

impl Without {
    /// The tails for what is lacking now, if something is.
    pub fn tails(&self) -> Option<&Tails> {
        self.now.as_deref()
    }

    /// The same for other cells, numbers first; `learn` finds the tails without them.
    pub fn choose(self, lacking: &[bool], learn: impl FnOnce() -> Tails) -> Self {
        if !lacking.contains(&true) {
            return Self { now: None, ..self };
        }
        let known = self.lock().iter().find(|learned| learned.lacking == lacking).map(|learned| learned.tails.clone());
        // Not locked meanwhile: this takes all threads, and one of them may ask the same.
        let now = known.unwrap_or_else(|| {
            let tails = Arc::new(learn());
            let mut learned = self.lock();
            if learned.len() == MOST {
                learned.remove(0);
            }
            learned.push(Learned { lacking: lacking.to_vec(), tails: tails.clone() });
            tails
        });
        Self { now: Some(now), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
