//! What came of tests, as plain data: what was run, its verdicts, what is wrong and where, the runs. Text for people,
//! JSON, HTML, JUnit and GitHub are made of it, and nothing else (spec `evaluate.md`, section 10). What can be serialized
//! is so in JSON, a public interface: fields are added, never changed or removed. What the tests reach is told in
//! [`coverage`].

pub mod coverage;
mod github;
mod html;
mod json;
mod junit;
pub mod scored;

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::host::judge::transcript::Transcript;
use crate::span::Sources;

/// The results of all test files that were run.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which they were run.
    pub files: Vec<FileReport>,
}

/// The result of one test file.
#[derive(Debug, Default)]
pub struct FileReport {
    /// Its path, as it was found.
    pub path: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// What it says: the conversation or table as a whole, then each check. Its verdict is the worst of theirs.
    pub cases: Vec<CaseReport>,
    /// The labelled cases that it counts; whether enough of them are right says the case of the whole.
    pub rows: Vec<CaseReport>,
    /// Further details for people: the scores of a table, lines that were left out.
    pub details: String,
    /// It was rewritten.
    pub is_blessed: bool,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// What was said and called in it; empty: there was no session.
    pub transcript: Transcript,
}

/// One thing that a test file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// What people call it.
    pub name: String,
    /// Its line in the test file, from 1; none: the file as a whole, or a rule that stands elsewhere.
    pub line: Option<usize>,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseReport {
    /// What it says.
    #[serde(flatten)]
    pub case: Case,
    /// Whether it is so.
    pub verdict: TestVerdict,
    /// What is wrong, for people; empty if it passed.
    #[serde(skip)]
    pub text: String,
    /// The same, a problem at a time.
    pub problems: Vec<Problem>,
}

/// The verdict on a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TestVerdict {
    /// It is as it should be.
    Passed,
    /// It was not run.
    Skipped,
    /// That cannot be told; never taken for passed.
    Undecided,
    /// It is not.
    Failed,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file that says what should be.
    pub file: String,
    /// The line, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, without the place.
    pub text: String,
    /// The two texts that differ, if that is what is wrong.
    #[serde(flatten)]
    pub difference: Option<Difference>,
}

/// Two texts that should be the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What the test file says, as it would be written there.
    pub expected: String,
    /// What came.
    pub actual: String,
}

/// What a test file holds.
#[derive(Debug, Default, Serialize)]
pub struct Listed {
    /// Its path, as it was found.
    pub path: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// What it says, in the order in which it is told of when the file is run.
    pub cases: Vec<Case>,
    /// Why it cannot be read; empty if it can.
    pub problems: Vec<Problem>,
}

impl Report {
    /// How many files have this verdict.
    pub fn n_of(&self, verdict: TestVerdict) -> usize {
        self.files.iter().filter(|file| file.verdict() == verdict).count()
    }

    /// `3 passed, 1 failed`, and how many are undecided or were skipped if some are.
    pub fn totals(&self) -> String {
        let told = |verdict| format!("{} {verdict}", self.n_of(verdict));
        let always = [TestVerdict::Passed, TestVerdict::Failed].map(told);
        let others = [TestVerdict::Undecided, TestVerdict::Skipped].into_iter().filter(|it| self.n_of(*it) > 0);
        always.into_iter().chain(others.map(told)).collect::<Vec<_>>().join(", ")
    }
}

impl FileReport {
    /// A report without results yet.
    pub fn new(path: impl Into<String>) -> FileReport {
        FileReport { path: path.into(), ..FileReport::default() }
    }

    /// One that was not run, and why.
    pub fn skipped(path: String, case: impl Into<Case>, why: &str) -> FileReport {
        let case = CaseReport { verdict: TestVerdict::Skipped, text: why.to_owned(), ..CaseReport::passed(case) };
        FileReport { cases: vec![case], ..FileReport::new(path) }
    }

    /// The worst verdict of its cases.
    pub fn verdict(&self) -> TestVerdict {
        self.cases.iter().map(|case| case.verdict).max().unwrap_or(TestVerdict::Passed)
    }

    /// What is wrong and what there is to know, for people.
    pub fn text(&self) -> String {
        self.cases.iter().map(|case| case.text.as_str()).chain([self.details.as_str()]).collect()
    }

    /// All that is wrong, in order; of rows, if there are too many.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let rows = if self.verdict() == TestVerdict::Failed { self.rows.as_slice() } else { &[] };
        self.cases.iter().chain(rows).flat_map(|case| &case.problems)
    }
}

impl<T: Into<String>> From<T> for Case {
    fn from(name: T) -> Case {
        Case { name: name.into(), line: None }
    }
}

impl Case {
    /// A case that stands at a line of the test file, counted from 1.
    pub fn at(line: usize, name: impl Into<String>) -> Case {
        Case { name: name.into(), line: Some(line) }
    }
}

impl CaseReport {
    /// It is as it should be.
    pub fn passed(case: impl Into<Case>) -> CaseReport {
        CaseReport { case: case.into(), verdict: TestVerdict::Passed, text: String::new(), problems: Vec::new() }
    }

    /// It failed: `text` is for people, and all that is wrong.
    pub fn failed(case: impl Into<Case>, text: String, problems: Vec<Problem>) -> CaseReport {
        CaseReport { case: case.into(), verdict: TestVerdict::Failed, text, problems }
    }
}

impl Problem {
    /// Something about a file as a whole, or about a line of it if the text begins with that (`late.test.md:12: …`).
    pub fn told(file: &str, text: &str) -> Problem {
        let rest = text.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text).trim();
        let placed = rest.split_once(':').and_then(|(line, rest)| Some((line.parse().ok()?, rest.trim())));
        let (line, text) = placed.map_or((None, rest), |(line, rest)| (Some(line), rest));
        Problem { file: file.to_owned(), line, text: text.to_owned(), difference: None }
    }

    /// A finding in a file of `sources`, with its notes that stand nowhere else.
    pub fn found(finding: &Diagnostic, sources: &Sources) -> Problem {
        let file = sources.get(finding.span.file);
        let line = file.map(|file| file.lines.line_column(finding.span.start as usize).0);
        let notes = finding.notes.iter().filter(|note| note.span.is_none()).map(|note| format!("; {}", note.message));
        let text = format!("{}{}", finding.message, notes.collect::<String>());
        let file = file.map_or_else(String::new, |file| file.name.to_string());
        Problem { file, line, text, difference: None }
    }

    /// `late.test.md:12`, or the file.
    pub fn place(&self) -> String {
        self.line.map_or_else(|| self.file.clone(), |line| format!("{}:{line}", self.file))
    }
}
