//! Triggers: which updates concern them, who judges, and what a match does.

mod calls;
mod questions;
mod timers;
pub mod trial;
pub(crate) mod truths;
pub(crate) mod verdicts;
pub(crate) mod watch;
mod watcher;
