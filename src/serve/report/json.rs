//! A report as JSON. A public interface: fields are added, never changed or removed.

use serde_json::{Value as Json, json};

use crate::serve::report::{CaseReport, FileReport, Problem, Report, TestVerdict};

impl Report {
    /// One object, with an array of the files.
    pub fn json(&self) -> Json {
        json!({
            "passed": self.n_of(TestVerdict::Passed),
            "failed": self.n_of(TestVerdict::Failed),
            "skipped": self.n_of(TestVerdict::Skipped),
            "undecided": self.n_of(TestVerdict::Undecided),
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
        })
    }
}

fn file(file: &FileReport) -> Json {
    json!({
        "path": file.path,
        "title": file.title,
        "verdict": word(file.verdict()),
        "blessed": file.is_blessed,
        "ms": file.ms,
        "cases": file.cases.iter().map(case).collect::<Vec<_>>(),
        "details": file.details,
    })
}

fn case(case: &CaseReport) -> Json {
    let problem = |Problem { file, line, text }: &Problem| json!({"file": file, "line": line, "text": text});
    json!({
        "name": case.name,
        "verdict": word(case.verdict),
        "problems": case.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn word(verdict: TestVerdict) -> &'static str {
    verdict.into()
}
