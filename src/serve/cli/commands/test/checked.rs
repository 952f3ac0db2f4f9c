//! What a run came to that a test's checks, and the rules beside its program, are held against.

use std::path::Path;

use super::rules::{Rules, rules_of};
use crate::diagnostic::Diagnostic;
use crate::host::checks::{Checks, Verdict, Verified, Written, verify};
use crate::serve::cli::machinery::test_file::TestFile;
use crate::serve::cli::machinery::test_session::Played;
use crate::serve::report::{CaseReport, Problem, TestVerdict};
use crate::span::Sources;

/// What came of checks and rules.
#[derive(Default)]
pub(crate) struct Checked {
    /// What is wrong with them as they are written, and what they are called.
    pub(crate) findings: Vec<(&'static str, Vec<Diagnostic>)>,
    /// What came of each.
    pub(super) verdicts: Vec<(Written, Verdict)>,
}

/// Holds a run of the test at `path` against them; the texts of rules go into `sources`.
pub(crate) fn checked(path: &Path, test: &TestFile, played: &Played, sources: &mut Sources) -> Checked {
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
        let undecided = Verdict::Undecided { why: "the program was refused".into() };
        checked.verdicts = written.into_iter().map(|written| (written, undecided.clone())).collect();
        return checked;
    };
    let mut read = |file, schema: &str| {
        let beside = sources.get(file).map_or(path, |file| Path::new(&*file.name)).with_file_name(schema);
        std::fs::read_to_string(beside).map_err(|cause| format!("cannot read: {cause}"))
    };
    match Checks::new(written, &run.program, &played.tools, &mut read) {
        Err(findings) => checked.findings.push(("checks", findings)),
        Ok(checks) => {
            let verdicts = verify(&checks, run).into_iter().map(|Verified { verdict, .. }| verdict);
            checked.verdicts = checks.written().cloned().zip(verdicts).collect();
        }
    }
    checked
}

impl Checked {
    /// Whether all are as they should be.
    pub(crate) fn holds(&self) -> bool {
        self.findings.is_empty() && self.verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Holds)
    }

    /// A case for each; `name` is the test's file.
    pub(crate) fn cases(&self, name: &str, sources: &Sources) -> impl Iterator<Item = CaseReport> {
        self.verdicts.iter().map(move |(written, verdict)| case(name, written, verdict, sources))
    }
}

/// What came of one check. The conversation is over: what is missing does not come any more.
fn case(name: &str, Written { label, line, check }: &Written, verdict: &Verdict, sources: &Sources) -> CaseReport {
    let title = format!("{label}: {}", check.text);
    let (verdict, why) = match verdict {
        Verdict::Holds => return CaseReport::passed(title),
        Verdict::Broken(breach) => {
            let place = breach.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
            (TestVerdict::Failed, format!("broken: {place}{}", breach.sentence))
        }
        Verdict::Open { why } => (TestVerdict::Failed, format!("open at the end: {why}")),
        Verdict::Undecided { why } => (TestVerdict::Undecided, format!("undecided: {why}")),
    };
    let file = sources.get(check.span.file).map_or(name, |file| &file.name).to_owned();
    let problem = Problem { file, line: Some(*line), text: format!("{}: {why}", check.text) };
    let text = format!("{}: {}\n  {why}\n", problem.place(), check.text);
    CaseReport { name: title, verdict, text, problems: vec![problem] }
}
