//! What came of labelled cases that are counted together: of trigger tables, of labelled transcripts.

use std::fmt::Write as _;

use crate::serve::report::{Case, CaseReport, FileReport, Problem, TestVerdict};

/// The results of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The file's title; empty where it cannot be read.
    pub title: String,
    /// The report, or why there is none; for people.
    pub text: String,
    /// What is wrong with the whole; none: enough of them are right, each time.
    pub problem: Option<Problem>,
    /// The result of each.
    pub rows: Vec<CaseReport>,
}

impl Scored {
    /// The file cannot be judged, and why.
    pub fn none(file: &str, why: String) -> Scored {
        Scored { problem: Some(Problem::told(file, &why)), title: String::new(), text: why, rows: Vec::new() }
    }

    /// All of the file with this title were judged: `scores` are lines of their own, `under` says what is under the threshold, if something is.
    pub fn counted(
        (file, title): (&str, &str),
        scores: &str,
        rows: Vec<CaseReport>,
        what: &str,
        under: Option<String>,
    ) -> Scored {
        let n_of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let (right, wrong) = (n_of(TestVerdict::Passed), n_of(TestVerdict::Failed));
        let wrongs = rows.iter().filter(|row| row.verdict == TestVerdict::Failed).map(|row| row.text.as_str());
        let mut text: String = [scores].into_iter().chain(wrongs).collect();
        if let Some(under) = &under {
            let _ = writeln!(text, "{under}");
        }
        let open = rows.len() - right - wrong;
        let _ = writeln!(text, "{} {what}: {right} right, {wrong} wrong, {open} open", rows.len());
        let problem = under.map(|text| Problem { file: file.to_owned(), line: None, text, difference: None });
        Scored { title: title.to_owned(), text, problem, rows }
    }

    /// Another round came out differently in the case at a line, counted from 1.
    #[must_use]
    pub fn differs(mut self, file: &str, line: usize, round: u32, case: &str) -> Scored {
        let text = format!("run {round} differs from run 1: {case}");
        let _ = writeln!(self.text, "{file}:{line}: {text}");
        self.problem = Some(Problem { file: file.to_owned(), line: Some(line), text, difference: None });
        self
    }
}

impl FileReport {
    /// What came of a file of one case that has scores, which are told whether they reach what they should or not.
    pub fn scored(path: String, case: &str, scored: Scored) -> FileReport {
        let mut report = FileReport { title: scored.title, rows: scored.rows, ..FileReport::new(path) };
        if let Some(problem) = scored.problem {
            report.cases.push(CaseReport::failed(case, scored.text, vec![problem]));
        } else {
            report.cases.push(CaseReport::passed(case));
            report.details = scored.text;
        }
        report
    }
}

impl CaseReport {
    /// One of the labelled cases of a file; `told` says in lines why it is not right.
    pub fn of_row(file: &str, case: Case, verdict: TestVerdict, told: String) -> CaseReport {
        if verdict == TestVerdict::Passed {
            return CaseReport::passed(case);
        }
        let problem = Problem { file: file.to_owned(), line: case.line, text: told, difference: None };
        let lines = problem.text.lines().map(|line| format!("  {line}\n"));
        let text = format!("{}: {}\n{}", problem.place(), case.name, lines.collect::<String>());
        CaseReport { case, verdict, text, problems: vec![problem] }
    }
}
