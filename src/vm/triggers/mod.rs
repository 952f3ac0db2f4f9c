//! Triggers: which updates concern them, who judges, and what a match does.

mod calls;
mod execute;
mod questions;
mod request;
mod signals;
mod timers;
pub mod trial;
mod truths;
mod verdicts;
pub(crate) mod watch;
pub(crate) mod watcher;
