//! A line on the terminal that says how far it has come, and Ctrl-C: what was measured is not lost.

use std::pin::pin;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::host::eval::schedule::Progress;
use crate::serve::cli::commands::evaluation::words::besides;
use crate::serve::cli::machinery::console::{Console, Exit, Failure};

/// From then on it is shown, and so often anew.
const EVERY: Duration = Duration::from_secs(1);

/// Waits for `work`, and shows `progress` meanwhile. The first Ctrl-C lets no further run begin, a second one leaves.
pub(super) async fn watched<T>(
    console: &Console,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let cannot = |cause| Failure::failed(format!("cannot listen for signals: {cause}; try again"));
    let mut interrupts = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut ticks = interval_at(tokio::time::Instant::now() + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = pin!(work);
    let mut n_shown = 0;
    let mut is_stopped = false;
    loop {
        tokio::select! {
            done = &mut work => {
                wipe(console, &mut n_shown);
                return Ok(done);
            }
            _ = ticks.tick(), if console.is_watched => {
                wipe(console, &mut n_shown);
                let line = line(progress);
                console.tell(&line);
                n_shown = line.chars().count();
            }
            _ = interrupts.recv() => {
                wipe(console, &mut n_shown);
                if is_stopped {
                    return Err(Failure::Quiet(Exit::TooLittle));
                }
                is_stopped = true;
                progress.stop();
                console.remark("no further runs start, and the current ones finish; press Ctrl-C again to leave at \
                                once");
            }
        }
    }
}

/// `37 of 240 runs, 3 not passed, 1 invalid, 0.41 spent`.
fn line(progress: &Progress) -> String {
    let (n_done, n_planned) = progress.n_done();
    let counts = [(progress.n_failed(), "not passed"), (progress.n_invalid(), "invalid")];
    format!("{n_done} of {n_planned} runs{}", besides(counts, progress.spent()))
}

fn wipe(console: &Console, n_shown: &mut usize) {
    if *n_shown > 0 {
        console.tell(&format!("\r{}\r", " ".repeat(*n_shown)));
        *n_shown = 0;
    }
}
