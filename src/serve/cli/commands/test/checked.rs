//! What a run came to that a test's checks, and the rules beside its program, are held against.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::host::checks::{Checks, Verdict, Verified, verify};
use crate::host::judge::Judge;
use crate::lang::files::test_file::TestFile;
use crate::serve::cli::machinery::rules_file::{Rules, read_schema, rules_of};
use crate::serve::cli::machinery::test_session::Played;
use crate::serve::report::{Case, CaseReport, Problem, TestVerdict};
use crate::span::Sources;

/// What came of checks and rules.
#[derive(Default)]
pub(crate) struct Checked {
    /// What is wrong with them as they are written, and what they are called.
    pub(crate) findings: Vec<(&'static str, Vec<Diagnostic>)>,
    /// What came of each.
    pub(crate) verified: Vec<Verified>,
    /// What the judge has cost; none: nobody was asked, or the price is not known.
    pub(crate) cost_of_judge: Option<f64>,
}

/// Holds a run of the test at `path` against them; the texts of rules go into `sources`. Without a judge what is asked of
/// one is undecided.
pub(crate) async fn checked(
    path: &Path,
    test: &TestFile,
    played: &Played,
    sources: &mut Sources,
    judge: Option<&Judge>,
) -> Checked {
    let mut checked = Checked::default();
    let Rules { mut written, findings } = rules_of(&path.with_file_name(&test.program), sources);
    if !findings.is_empty() {
        checked.findings.push(("rules", findings));
    }
    written.splice(0..0, test.checks().cloned());
    if written.is_empty() {
        return checked;
    }
    let Some(run) = &played.run else {
        checked.verified =
            written.iter().map(|written| Verified::undecided(written, "the program was refused")).collect();
        return checked;
    };
    match Checks::new(written, &run.program, &played.tools, &mut read_schema(path, sources)) {
        Err(findings) => checked.findings.push(("checks", findings)),
        Ok(checks) => {
            checked.verified = verify(&checks.with_prices(played.prices.clone()), run);
            if let Some(judge) = judge {
                let usage = judge.settle(run, &mut checked.verified).await;
                checked.cost_of_judge = played.prices.cost(&judge.llm().id(), &usage);
            }
        }
    }
    checked
}

/// Whether anything is asked of a judge, by the test at `path` or by the rules beside its program.
pub(crate) fn asks_judge(path: &Path, test: &TestFile) -> bool {
    let rules = rules_of(&path.with_file_name(&test.program), &mut Sources::default());
    test.checks().chain(&rules.written).any(|written| written.question().is_some())
}

impl Checked {
    /// Whether all are as they should be.
    pub(crate) fn holds(&self) -> bool {
        self.findings.is_empty() && self.verified.iter().all(|verified| verified.verdict == Verdict::Holds)
    }

    /// A case for each; `sources` has the texts of their files, of which `test` is the test's.
    pub(crate) fn cases(&self, sources: &Sources, test: &str) -> impl Iterator<Item = CaseReport> {
        self.verified.iter().map(move |verified| case_of(verified, sources, test))
    }
}

/// A check of the test file itself, by what people call it, its text and its line.
pub(super) fn check_case(label: &str, text: &str, line: usize) -> Case {
    Case::at(line, format!("{label}: {text}"))
}

/// What came of one check of the test `test`, or of a rule. The conversation is over: what is missing does not come any
/// more.
pub(crate) fn case_of(verified: &Verified, sources: &Sources, test: &str) -> CaseReport {
    let Verified { label, text, file, line, verdict, .. } = verified;
    let file = sources.get(*file).map_or_else(String::new, |file| file.name.to_string());
    let case = check_case(label, text, *line);
    let case = if file == test { case } else { Case::from(case.name) };
    let Some(why) = verdict.told_at_end() else { return CaseReport::passed(case) };
    let is_undecided = matches!(verdict, Verdict::Undecided { .. });
    let verdict = if is_undecided { TestVerdict::Undecided } else { TestVerdict::Failed };
    let problem = Problem { file, line: Some(*line), text: format!("{text}: {why}"), difference: None };
    let shown = format!("{}: {text}\n  {why}\n", problem.place());
    CaseReport { case, verdict, text: shown, problems: vec![problem] }
}
