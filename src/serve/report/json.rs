//! A report as JSON. A public interface: fields are added, never changed or removed.

use serde_json::{Value as Json, json};

use crate::serve::report::{CaseReport, Difference, FileReport, Listed, Problem, Report, TestVerdict};
use crate::serve::show::merge;

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
        "cases": file.cases.iter().chain(&file.rows).map(case).collect::<Vec<_>>(),
        "details": file.details,
    })
}

fn case(report: &CaseReport) -> Json {
    let CaseReport { case, verdict, problems, .. } = report;
    json!({
        "name": case.name,
        "line": case.line,
        "verdict": word(*verdict),
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn problem(Problem { file, line, text, difference }: &Problem) -> Json {
    let mut problem = json!({"file": file, "line": line, "text": text});
    if let Some(Difference { expected, actual }) = difference {
        merge(&mut problem, json!({"expected": expected, "actual": actual}));
    }
    problem
}

impl Listed {
    /// Several of them, as one object with an array of the files.
    pub fn json(files: &[Listed]) -> Json {
        let file = |Listed { path, title, cases, problems }: &Listed| {
            let cases: Vec<_> = cases.iter().map(|case| json!({"name": case.name, "line": case.line})).collect();
            let problems: Vec<_> = problems.iter().map(problem).collect();
            json!({"path": path, "title": title, "cases": cases, "problems": problems})
        };
        json!({"files": files.iter().map(file).collect::<Vec<_>>()})
    }
}

fn word(verdict: TestVerdict) -> &'static str {
    verdict.into()
}
