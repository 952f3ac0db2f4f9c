//! Cases that are measured: where runs part, the order of runs, and `eval` and `compare` through the real binary.

pub(crate) mod measured;
mod part;
mod schedule;
