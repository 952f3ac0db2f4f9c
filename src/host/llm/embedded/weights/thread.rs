//! The one thread on which the model computes.
//!
//! Candle spreads each product of a matrix over all cores, and its threads wait for each other in busy loops: on a
//! machine that has other things to do a token then takes tens of times as long, and the cores are hot meanwhile.
//! How many threads take part can be set by the environment only, before the process starts. But on a thread of
//! candle's own pool everything is computed in place. So one of them is taken for good, and all that touches the
//! model happens there, one thing after the other: fast enough for short answers, as fast on a busy machine as on an
//! idle one, and the other cores stay free.
//!
//! As long as that thread is taken (from the first use on), candle's pool is locked: nothing else in the process may
//! compute with candle. This crate has no other use for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};

use candle_core::utils::barrier_pool;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` on the model's thread and waits for it. None: it panicked, or the thread could not be started.
pub(super) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let (answer, answered) = mpsc::sync_channel(1);
    let job = move || {
        // Nobody waits any more: fine.
        let _ = answer.send(work());
    };
    JOBS.get_or_init(start).send(Box::new(job)).ok()?;
    answered.recv().ok()
}

/// Starts the thread. Where that fails, the jobs find nobody who takes them.
fn start() -> Sender<Job> {
    let (sender, jobs) = mpsc::channel();
    let jobs = Mutex::new(jobs);
    let occupy = move || {
        let pool = barrier_pool();
        let (worker, caller) = (0, pool.n_workers());
        let over = Barrier::new(2);
        pool.execute(|thread| {
            if thread == worker {
                work_off(&jobs.lock().unwrap_or_else(PoisonError::into_inner));
            }
            // The thread that called `execute` would wait in a busy loop. (They are one where there is one core.)
            if worker != caller && (thread == worker || thread == caller) {
                over.wait();
            }
        });
    };
    // If no thread can be had, `jobs` is dropped, and with it whoever would answer.
    let _ = std::thread::Builder::new().name("weights".to_owned()).spawn(occupy);
    sender
}

fn work_off(jobs: &Receiver<Job>) {
    // What candle gives to rayon (attention) stays here, too.
    let _alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    for job in jobs {
        // Candle and its kernels check less than they should of what is in a file. What has been checked here
        // should not make them panic; if it does, one slot is not filled, and the thread stays.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}
