//! Work without the interpreter's lock, which Ctrl-C can end.
//!
//! Each piece of work has its own pool of threads, which are gone when it is done. So a process may be forked between two
//! pieces, as `multiprocessing` does, and an interrupted one leaves nothing behind. Meanwhile the calling thread waits,
//! looks for signals, and tells the caller's function how far things are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use gnsm::internals::error::{Stopped, stop_when};
use gnsm::{FitReport, Progress, Schema, Watcher};
use pyo3::prelude::*;

use crate::GnsmError;

/// How often signals are looked for, and progress is told, at the most.
const EVERY: Duration = Duration::from_millis(50);

/// How far a piece of work is.
pub struct Step {
    what: &'static str,
    done: u64,
    total: u64,
    loss: Option<f64>,
}

/// Tells the waiting thread how far the work is.
pub struct Teller {
    sender: Sender<Step>,
    told: Instant,
    stop: Arc<AtomicBool>,
    /// How many rows the fit leaves out because of their label, and whether there is one.
    pub labelled: Option<u64>,
}

impl Teller {
    /// So many of all are done; a total of 0 is one that is not known.
    pub fn tell(&mut self, what: &'static str, done: u64, total: u64, loss: Option<f64>) {
        if self.told.elapsed() >= EVERY || (done == total && total > 0) {
            self.told = Instant::now();
            // If nobody listens any more, the work is about to end.
            let _ = self.sender.send(Step { what, done, total, loss });
        }
    }

    /// Whether the work is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Watcher for Teller {
    fn begin(&mut self, _: &Schema, report: &FitReport) {
        self.labelled = report.label.as_ref().map(|_| report.labelled_anomalies);
    }

    fn progress(&mut self, progress: &Progress) {
        self.tell("training", progress.step, progress.steps, Some(progress.loss));
    }

    fn measured(&mut self, done: usize, total: usize) {
        self.tell("measuring", done as u64, total as u64, None);
    }

    fn stop(&mut self) -> bool {
        self.is_stopped()
    }
}

/// Does `job` on threads of its own; an error is its text. `tell` is called with how far it is: a word, done, total, loss.
pub fn work<T: Send>(
    py: Python<'_>,
    tell: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&mut Teller) -> Result<T, String> + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let tell = tell.map(|tell| tell.clone().unbind());
    let (sender, receiver) = channel();
    let mut problem: Option<PyErr> = None;
    let result = py.detach(|| {
        let receiver = receiver;
        std::thread::scope(|scope| {
            let of_pool = stop.clone();
            let mut teller = Teller { sender, told: Instant::now(), stop: stop.clone(), labelled: None };
            let worker = scope.spawn(move || {
                let start = |thread: rayon::ThreadBuilder| {
                    stop_when(of_pool.clone());
                    thread.run();
                };
                let pool = rayon::ThreadPoolBuilder::new();
                let done = catch_unwind(AssertUnwindSafe(|| {
                    pool.build_scoped(start, |pool| pool.install(|| job(&mut teller)))
                        .unwrap_or_else(|error| Err(format!("cannot start the threads: {error}")))
                }));
                drop(teller);
                done
            });
            let mut looked = Instant::now();
            loop {
                let step = match receiver.recv_timeout(EVERY) {
                    Ok(step) => Some(step),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if problem.is_some() || (step.is_none() || tell.is_none()) && looked.elapsed() < EVERY {
                    continue;
                }
                looked = Instant::now();
                let asked = Python::attach(|py| {
                    py.check_signals()?;
                    if let (Some(step), Some(tell)) = (step, &tell) {
                        tell.call1(py, (step.what, step.done, step.total, step.loss))?;
                    }
                    Ok(())
                });
                if let Err(error) = asked {
                    stop.store(true, Ordering::Relaxed);
                    problem = Some(error);
                }
            }
            worker.join()
        })
    });
    if let Some(problem) = problem {
        return Err(problem);
    }
    py.check_signals()?;
    match result {
        Ok(Ok(Ok(value))) => Ok(value),
        Ok(Ok(Err(text))) => Err(GnsmError::new_err(text)),
        Ok(Err(panic)) | Err(panic) if panic.is::<Stopped>() => Err(GnsmError::new_err("stopped")),
        Ok(Err(_)) | Err(_) => Err(GnsmError::new_err(gnsm_cli::panics::last().to_string())),
    }
}
