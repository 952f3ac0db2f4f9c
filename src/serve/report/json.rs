//! A report as JSON. A public interface: fields are added, never changed or removed.

use serde_json::{Value as Json, json};

use crate::serve::report::{CaseReport, FileReport, Listed, Report, TestVerdict};

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
        "verdict": file.verdict(),
        "blessed": file.is_blessed,
        "ms": file.ms,
        "cases": file.cases.iter().chain(&file.rows).collect::<Vec<&CaseReport>>(),
        "details": file.details,
    })
}

impl Listed {
    /// Several of them, as one object with an array of the files.
    pub fn json(files: &[Listed]) -> Json {
        json!({ "files": files })
    }
}
