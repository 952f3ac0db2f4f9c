//! Dataflow plans while they run: the values of their expressions.

pub mod date;
pub mod evaluate;
