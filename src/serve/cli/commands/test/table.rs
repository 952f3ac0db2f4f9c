//! One file of trigger tables (`*.triggers.md`) or prompts (`*.jsonl`): what fires in its cases.

use std::path::Path;

use super::options::Options;
use crate::lang::files::trigger_table::TriggerTable;
use crate::lang::program::Program;
use crate::serve::cli::machinery::coverage::reached_by_table;
use crate::serve::cli::machinery::scores::ScoreOptions;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::cli::machinery::trigger_tests::{judge_table, run_table};
use crate::serve::report::FileReport;

/// What the table as a whole is called in reports.
pub(super) const CASE: &str = "triggers";

/// Judges it.
pub(super) async fn run_triggers(path: &Path, options: Options<'_>, chosen: &ChosenClassifier<'_>) -> FileReport {
    let Options { lenient, repeat, color, gathered, .. } = options;
    let judge = async |program: &Program, table: &TriggerTable| {
        let judged = judge_table(path, program, table, chosen).await?;
        if let Some(gathered) = gathered {
            gathered.borrow_mut().add(program, &reached_by_table(program, table, &judged));
        }
        Ok(judged)
    };
    let scored = run_table(path, ScoreOptions { lenient, repeat, color }, judge).await;
    FileReport::scored(path.display().to_string(), CASE, scored)
}
