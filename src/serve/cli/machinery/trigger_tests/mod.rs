//! How well a classifier does on trigger tables (`*.triggers.md`, and tables of prompts, `*.jsonl`; `docs/testing.md`,
//! "Trigger tables").
//!
//! A [`TriggerTable`] is read and its names are found in a program; somebody judges each of its cases,
//! [`TriggerScores::count`] compares, and [`TriggerScores::report`] says it: all pure. [`run_table`] does one after the
//! other for a file.
//!
//! [`TriggerTable`]: crate::lang::files::trigger_table::TriggerTable

mod judge;
mod prompts;
mod report;
mod run;
mod score;

pub use crate::serve::cli::machinery::trigger_tests::judge::judge;
pub(crate) use crate::serve::cli::machinery::trigger_tests::prompts::{is_of_prompts, parse};
pub use crate::serve::cli::machinery::trigger_tests::run::run_table;
pub(crate) use crate::serve::cli::machinery::trigger_tests::run::{ReadTable, judge_table};
pub use crate::serve::cli::machinery::trigger_tests::score::{
    CaseScore, CaseVerdict, Judged, TriggerScore, TriggerScores,
};
