//! Mutants are played: on as many threads as there are processors, each by the tests that come to it, until one fails.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use super::gather::{Judge, Suspect};
use crate::host::config::Environment;
use crate::host::mutants::Mutant;
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::test_session::Instead;

/// A mutant may take so many times as long as the program without it,
const SLOWER: u64 = 5;

/// and so much more.
const PATIENCE_MS: u64 = 1_000;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// This test has noticed.
    Caught(PathBuf),
    /// None of the tests that come to it has, so many.
    Missed(usize),
    /// No test comes to it.
    NotReached,
    /// It is a line in words.
    NeedsModel,
    /// It is a line in words, and without it as many runs of so many cases pass, as far as chance lets one see.
    AsGood(usize),
    /// It is a line in words, and so many cases are too few to say, or too few of their runs were made.
    Undecided(usize),
    /// This test has not come to its end.
    TimedOut(PathBuf),
}

/// What becomes of each, in the same order.
pub(super) fn fates(environment: &Environment, suspects: &[&Suspect], judges: &[Judge]) -> Result<Vec<Fate>, Failure> {
    let next = AtomicUsize::new(0);
    let outside = Mutex::new(());
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(suspect) = suspects.get(index) else { return Ok::<_, Failure>(found) };
            found.push((index, fate(environment, suspect, judges, &outside)?));
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let done =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.collect::<Result<Vec<_>, _>>()
    })?
    .concat();
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, fate)| fate).collect())
}

fn fate(environment: &Environment, suspect: &Suspect, judges: &[Judge], outside: &Mutex<()>) -> Result<Fate, Failure> {
    if suspect.shown().needs_model() {
        return Ok(Fate::NeedsModel);
    }
    let witnesses = suspect.witnesses(judges);
    if witnesses.is_empty() {
        return Ok(Fate::NotReached);
    }
    for (mutant, judge) in &witnesses {
        // Two that write the same file would be each other's mistake.
        let _alone = judge.acts_outside.then(|| outside.lock().unwrap_or_else(PoisonError::into_inner));
        let path = judge.test.path().to_owned();
        match play(environment, mutant, judge)? {
            None => return Ok(Fate::TimedOut(path)),
            Some(false) => return Ok(Fate::Caught(path)),
            Some(true) => {}
        }
    }
    Ok(Fate::Missed(witnesses.len()))
}

/// Plays a test with a mutant: whether it passes; none: it takes too long. The clock of a test may stand still or be far
/// ahead, so it is another thread that looks at the time.
fn play(environment: &Environment, mutant: &Mutant, judge: &Judge) -> Result<Option<bool>, Failure> {
    let Some((program, configuration)) = mutant.make(&judge.program, &judge.configuration) else {
        // A line in words: whoever plays it sees no difference.
        return Ok(Some(true));
    };
    let instead = Instead { text: judge.text.clone(), program, declared: configuration.declared };
    let limit = Duration::from_millis(judge.ms.saturating_mul(SLOWER).saturating_add(PATIENCE_MS));
    // With a runtime of its own, which takes along what is still running in it.
    let runtime = Runtime::for_one()?;
    let (done, is_done) = channel::<()>();
    let (late, is_late) = oneshot::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // Nobody waits any more: it has come to its end at this moment.
                let _ = late.send(());
            }
        });
        let playing = std::pin::pin!(judge.test.play(environment, Some(&instead)));
        let answer = runtime.block_on(async {
            match select(playing, std::pin::pin!(async { is_late.await.is_ok() })).await {
                Either::Left((answer, _)) => Some(answer),
                Either::Right((true, _)) => None,
                // The watch has gone without a word: the test is over, or about to be.
                Either::Right((false, playing)) => Some(playing.await),
            }
        });
        drop(done);
        runtime.shutdown_background();
        // A test that cannot be played notices, too: a request, perhaps, that nobody has recorded.
        Ok(answer.map(|answer| answer.is_ok_and(|answer| answer.passes)))
    })
}
