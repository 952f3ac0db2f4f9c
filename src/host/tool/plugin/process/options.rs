//! What there is to know of a process, and its bounds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::value::Value;

use crate::clock::Clock;
use crate::secrets::Secrets;

/// How long the pipes of a process that has ended may stay open: its children hold them.
pub(super) const END_OF_PIPES: Duration = Duration::from_millis(200);

/// What there is to know of a process that is a plugin.
#[derive(Clone)]
pub struct ProcessOptions {
    /// What it is called in messages.
    pub name: Arc<str>,
    /// The command and its arguments. A command with a `/` is a path in `folder`.
    pub command: Vec<String>,
    /// The folder it runs in; absolute.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Its configuration, told to it first.
    pub config: Value,
    /// The `commands` of its `config.yaml`, told to it first.
    pub commands: Value,
    /// The folder of the program's files, told to it first.
    pub working_directory: PathBuf,
    /// How many calls it works on at a time; 1 for most.
    pub concurrency: usize,
    /// What nobody may see of what it says.
    pub secrets: Arc<Secrets>,
    /// For the times of messages.
    pub clock: Arc<dyn Clock>,
    /// How much it may write and how long things may take.
    pub limits: ProcessLimits,
}

impl ProcessOptions {
    /// Who asks people, where it asks them something.
    pub(super) fn asker(&self) -> String {
        format!("plugin `{}`", self.name)
    }
}

/// Bounds of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The longest line, in bytes.
    pub line_bytes: usize,
    /// So many lines that nobody has asked for, without an answer among them, are a flood.
    pub unasked_lines: usize,
    /// So many bytes without an answer are a flood.
    pub unanswered_bytes: usize,
    /// So often it may be started within `start_window`.
    pub starts: usize,
    /// The time in which its starts are counted.
    pub start_window: Duration,
    /// How long it may take to leave when it is told to.
    pub exit_grace: Duration,
    /// How long it may take to end after SIGTERM, before SIGKILL.
    pub terminate_grace: Duration,
    /// How long it may be busy with a call that nobody waits for any more, before it is stopped.
    pub cancel_grace: Duration,
}

impl Default for ProcessLimits {
    fn default() -> ProcessLimits {
        ProcessLimits {
            line_bytes: 5 << 20,
            unasked_lines: 10_000,
            unanswered_bytes: 64 << 20,
            starts: 5,
            start_window: Duration::from_secs(30),
            exit_grace: Duration::from_secs(2),
            terminate_grace: Duration::from_secs(2),
            cancel_grace: Duration::from_secs(2),
        }
    }
}
