//! The training loop allocates nothing once it is running, on any of its threads; validations included.

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use gnsm::internals::columns::{Encoded, Layout};
use gnsm::internals::train::Run;
use gnsm::settings::GnsmConfig;
use gnsm::{Method, Progress, Result, Watcher};

/// Allocations of all threads that train, so far.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread trains; the test harness has threads of its own.
    static TRAINS: Cell<bool> = const { Cell::new(false) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The system's allocator, counted.
struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        ALLOCATIONS.fetch_add(u64::from(TRAINS.get()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, memory: Memory) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, memory) }
    }
}

/// Notes how many allocations there were after each step, in room made beforehand.
struct Notes(Vec<u64>);

impl Watcher for Notes {
    fn progress(&mut self, _: &Progress) {
        self.0.push(ALLOCATIONS.load(Ordering::Relaxed));
    }
}

const STEPS: u64 = 40;
const VALIDATE_EVERY: u64 = 10;

/// Gumbel noise and its bins, or the paper's noise on the numbers themselves.
fn configs() -> [GnsmConfig; 2] {
    [GnsmConfig::fast(), GnsmConfig::fast().with_paper_head()].map(|mut config| {
        (config.network.width, config.network.depth, config.network.embedding) = (24, 2, 8);
        (config.training.batch, config.training.steps, config.training.epochs) = (300, STEPS, 0);
        (config.training.validate_every, config.training.patience) = (VALIDATE_EVERY, 0);
        config
    })
}

#[test]
fn the_loop_allocates_nothing_after_its_first_validation() -> Result<()> {
    let codes = (0..500).flat_map(|row| [row % 3, row * row % 70]).collect();
    let rows = Encoded::new(500, codes, (0..500).map(|row| (row % 11) as f32 / 5.0 - 1.0).collect());
    let layout = Layout::new(1, vec![3, 70]);
    for config in configs() {
        for threads in [1, 3] {
            let mut notes = Notes(Vec::with_capacity(STEPS as usize));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(|_| TRAINS.set(true));
            let pool = pool.build().expect("a thread pool");
            pool.install(|| {
                let run = Run { seed: 1, max_seconds: None, resume: None, save: None, watcher: &mut notes };
                Method::Gnsm(config).fit(&layout, &rows, &rows, run)
            })?;
            assert_eq!(notes.0.len(), STEPS as usize);
            assert!(notes.0[0] > 0, "the network was allocated");
            // The first validation makes the copy in which the best weights are kept.
            let settled = &notes.0[VALIDATE_EVERY as usize - 1..];
            assert_eq!(settled.last(), settled.first(), "{threads} threads: allocations after each step {settled:?}");
        }
    }
    Ok(())
}
