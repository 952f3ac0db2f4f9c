//! How far a download is: a bar on a terminal, else a line at the beginning and one at the end.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::host::models::megabytes;
use crate::host::models::pull::{Phase, Progress, Report};
use crate::serve::cli::console::Console;

/// Without colours, so there is nothing that `NO_COLOR` could take away.
const STYLE: &str = "{msg} [{bar:30}] {decimal_bytes}/{decimal_total_bytes} {eta}";

/// What is shown of a download.
#[derive(Default)]
struct Shown {
    phase: Option<Phase>,
    bar: Option<ProgressBar>,
}

/// Shows the progress of `what` on standard error.
pub(crate) fn show(console: &Console, what: String) -> Report {
    let is_terminal = io::stderr().is_terminal();
    let shown = Mutex::new(Shown::default());
    let console = console.clone();
    Arc::new(move |progress: Progress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = shown.phase != Some(progress.phase);
        shown.phase = Some(progress.phase);
        if is_new {
            if let Some(bar) = shown.bar.take() {
                bar.finish_and_clear();
            }
            if let Some(line) = line(&what, progress, is_terminal) {
                console.remark(&line);
            }
        }
        if is_terminal && matches!(progress.phase, Phase::Downloading | Phase::Checking) {
            let bar = shown.bar.get_or_insert_with(|| bar(&what, progress));
            bar.set_position(progress.bytes);
        }
    })
}

/// What is said when a phase begins.
fn line(what: &str, progress: Progress, is_terminal: bool) -> Option<String> {
    match progress.phase {
        Phase::Waiting => {
            Some(format!("another process is fetching {what}; waiting for it (Ctrl-C leaves it alone and ends this)"))
        }
        Phase::Downloading if !is_terminal => Some(format!("fetching {what} ({})", megabytes(progress.of))),
        Phase::Installed => Some(format!("{what} are there ({})", megabytes(progress.of))),
        Phase::Downloading | Phase::Checking => None,
    }
}

fn bar(what: &str, progress: Progress) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(progress.of), ProgressDrawTarget::stderr());
    // The template is a constant: that it is one is seen by a test.
    bar.set_style(ProgressStyle::with_template(STYLE).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(match progress.phase {
        Phase::Checking => format!("checking {what}"),
        Phase::Waiting | Phase::Downloading | Phase::Installed => format!("fetching {what}"),
    });
    bar
}
