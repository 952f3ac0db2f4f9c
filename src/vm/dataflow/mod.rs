//! Dataflow plans while they run: what is evaluated when, and the values of their expressions (spec `plans.md`,
//! section 3).

pub mod date;
pub mod evaluate;
pub(crate) mod execution;
mod graph;
