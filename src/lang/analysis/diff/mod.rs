//! What differs between two programs.

pub mod changes;
pub mod matching;
pub mod renamed;
pub mod same;
