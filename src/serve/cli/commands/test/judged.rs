//! One file of labelled transcripts (`*.judge.md`): how far the judge can be trusted.

use std::path::Path;

use super::{TestArguments, Verdict};
use crate::serve::cli::machinery::judge_tests::{JudgeOptions, run_judge_file};
use crate::serve::cli::machinery::test_session::ChosenClassifier;

/// What is said where no judge was named.
const NO_JUDGE: &str = "this measures a judge; name a model with --judge\n";

/// Judges it.
pub(super) async fn run_judged(
    arguments: &TestArguments,
    (path, text): (&Path, &str),
    color: bool,
    chosen: &ChosenClassifier<'_>,
) -> Verdict {
    if arguments.company.judge.is_none() {
        return Verdict::Skipped(NO_JUDGE.to_owned());
    }
    let options = JudgeOptions { lenient: arguments.lenient, repeat: arguments.repeat, color };
    let judge = async || {
        let company = arguments.company.open(&chosen.launch(), path, false).await?;
        company.judge.ok_or_else(|| NO_JUDGE.trim_end().to_owned())
    };
    let outcome = run_judge_file(path, text, options, judge).await;
    if outcome.passed { Verdict::Passed(outcome.text) } else { Verdict::Failed(outcome.text) }
}
