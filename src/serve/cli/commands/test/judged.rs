//! One file of labelled transcripts (`*.judge.md`): how far the judge can be trusted.

use std::path::Path;

use super::options::Options;
use crate::serve::cli::machinery::judge_tests::run_judge_file;
use crate::serve::cli::machinery::scores::ScoreOptions;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::report::FileReport;

/// What is said where no judge was named.
const NO_JUDGE: &str = "this measures a judge; name the judge's model with --judge\n";

/// What a case is called in reports.
pub(super) const CASE: &str = "judge";

/// Judges it.
pub(super) async fn run_judged(path: &Path, options: Options<'_>, chosen: &ChosenClassifier<'_>) -> FileReport {
    let name = path.display().to_string();
    if options.company.judge.is_none() {
        return FileReport::skipped(name, CASE, NO_JUDGE);
    }
    let Options { lenient, repeat, color, company, .. } = options;
    let options = ScoreOptions { lenient, repeat, color };
    let judge = async || {
        let company = company.open(&chosen.launch(), path, false).await?;
        company.judge.ok_or_else(|| NO_JUDGE.trim_end().to_owned())
    };
    FileReport::scored(name, CASE, run_judge_file(path, options, judge).await)
}
