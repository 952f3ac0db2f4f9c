//! A report for GitHub Actions: annotations at lines, and a summary of the job (GitHub's documentation, "Workflow
//! commands").

use std::fmt::Write as _;

use crate::serve::report::{Report, TestVerdict};

/// So many annotations of a step are shown.
const MAX_ANNOTATIONS: usize = 10;

impl Report {
    /// The first problems, an annotation a line.
    pub fn github_annotations(&self) -> String {
        let problems = self.files.iter().flat_map(|file| file.problems()).take(MAX_ANNOTATIONS);
        let mut text = String::new();
        for problem in problems {
            let line = problem.line.map_or_else(String::new, |line| format!(",line={line}"));
            let _ = writeln!(text, "::error file={}{line}::{}", property(&problem.file), data(&problem.text));
        }
        text
    }

    /// A table of the files, and what is wrong, as Markdown.
    pub fn github_summary(&self) -> String {
        let mut text =
            format!("### playhouse test: {}\n\n| test | verdict | ms |\n| --- | --- | --- |\n", self.totals());
        for file in &self.files {
            let _ = writeln!(text, "| {} | {} | {} |", cell(&file.path), file.verdict(), file.ms);
        }
        for file in self.files.iter().filter(|file| file.verdict() != TestVerdict::Passed) {
            let shown = file.text();
            let longest = shown.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count());
            let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
            let _ = writeln!(text, "\n**{}**\n\n{fence}text\n{}\n{fence}", cell(&file.path), shown.trim_end());
        }
        text
    }
}

/// The text of an annotation.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of an annotation.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
