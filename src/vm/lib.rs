//! Program and events to effects: the machine. Pure and deterministic.
//!
//! Four kinds of things, four names: [`Machine::begin`] makes one; [`Machine::handle`] tells it what happened
//! in the world; [`Machine::advance`] lets it move by at most one directive; [`Machine::view`] looks at it.
//! Whoever drives it calls `advance` until it answers `Blocked` or `Finished`, and only then handles the next
//! event (spec `execution.md`, "The machine is pure").

pub mod protocol;

mod calls;
pub mod dataflow;
mod machine;
pub mod migrate;
pub mod plan;
pub mod prompt;
pub mod reply;
pub mod triggers;
mod turn;
pub mod variables;
mod walk;

pub use crate::machine::state::{Begin, Machine};
