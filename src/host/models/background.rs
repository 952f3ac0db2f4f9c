//! Fetching beside something else: a conversation starts at once, and the weights come when they come.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::host::models::errors::PullError;
use crate::host::models::pull::{Pull, Report, pull};

/// What came of it.
pub type Outcome = Result<PathBuf, Arc<PullError>>;

/// Weights on their way. Dropping it stops them: child processes are killed, nothing is left after.
#[derive(Debug)]
pub struct Background {
    outcome: watch::Receiver<Option<Outcome>>,
    task: JoinHandle<()>,
    stop: CancellationToken,
    commands: [String; 2],
    _stop_on_drop: DropGuard,
}

impl Background {
    /// Begins to fetch, as a task of the current runtime.
    pub fn start(order: Pull, report: Report) -> Background {
        let (sender, outcome) = watch::channel(None);
        let stop = CancellationToken::new();
        let commands = order.model.commands_by_hand();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let result = pull(&order, report, &stopped).await.map_err(Arc::new);
            sender.send_replace(Some(result));
        });
        Background { outcome, task, _stop_on_drop: stop.clone().drop_guard(), stop, commands }
    }

    /// What came of it, as soon as that is known: for whoever loads the file, on any thread.
    pub fn outcome(&self) -> watch::Receiver<Option<Outcome>> {
        self.outcome.clone()
    }

    /// Ends it with the program, and cleans up. Gives the line that people are told, if there is something to tell:
    /// that it was cut off, or why it failed and how it is done by hand.
    pub async fn end(self) -> Option<String> {
        self.stop.cancel();
        // A task that panicked has no outcome, which is told like a cut.
        let _ = self.task.await;
        let outcome = self.outcome.borrow().clone();
        line(&outcome, &self.commands)
    }
}

fn line(outcome: &Option<Outcome>, [download, install]: &[String; 2]) -> Option<String> {
    let cut = "the weights were still on their way and were dropped; `playhouse model pull` fetches them";
    match outcome {
        Some(Ok(_)) => None,
        None => Some(cut.to_owned()),
        Some(Err(error)) if matches!(**error, PullError::Stopped) => Some(cut.to_owned()),
        Some(Err(error)) => {
            // In one line, however many ways there were.
            let error = error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ");
            Some(format!("the embedded model goes on with templates: {error}; by hand: `{download}`, then `{install}`"))
        }
    }
}
