//! Mutants: a program with one small mistake in it, to see whether a test notices (spec `evaluate.md`, section 7).
//!
//! None of them changes how anything is numbered, or which playbooks are shown inside lines: what somebody has written
//! down for a line is still for that line.

mod bounds;
mod change;
mod list;
mod mutant;

pub use crate::analysis::mutate::list::mutants;
pub use crate::analysis::mutate::mutant::{Mutant, Site};
