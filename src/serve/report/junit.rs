//! A report as JUnit's XML, as Jenkins, GitLab and others read it: a suite for each file, a case for all that it says.
//! What is undecided is an error.

use std::fmt::Write as _;

use crate::serve::report::{CaseReport, FileReport, Report, TestVerdict};
use crate::value::markup::xml_text;

impl Report {
    /// The whole document.
    pub fn junit(&self) -> String {
        let cases = || self.files.iter().flat_map(|file| &file.cases);
        let ms = self.files.iter().map(|file| file.ms).sum();
        let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        let _ = writeln!(xml, "<testsuites name=\"playhouse\"{}>", counts(cases(), ms));
        for file in &self.files {
            suite(&mut xml, file);
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

fn suite(xml: &mut String, file: &FileReport) {
    let _ = writeln!(xml, "  <testsuite name=\"{}\"{}>", escaped(&file.path), counts(file.cases.iter(), file.ms));
    for (index, case) in file.cases.iter().enumerate() {
        // Checks take no time of their own.
        let time = seconds(if index == 0 { file.ms } else { 0 });
        let (class, name) = (escaped(&file.path), escaped(&case.case.name));
        let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time}\"");
        match case.verdict {
            TestVerdict::Passed => xml.push_str("/>\n"),
            TestVerdict::Skipped => {
                let why = escaped(case.text.trim_end());
                let _ = writeln!(xml, ">\n      <skipped message=\"{why}\"/>\n    </testcase>");
            }
            TestVerdict::Failed => fault(xml, "failure", "failed", case),
            TestVerdict::Undecided => fault(xml, "error", "undecided", case),
        }
    }
    if !file.details.is_empty() {
        let _ = writeln!(xml, "    <system-out>{}</system-out>", escaped(&file.details));
    }
    xml.push_str("  </testsuite>\n");
}

fn fault(xml: &mut String, element: &str, kind: &str, case: &CaseReport) {
    let message = case.problems.first().map_or("", |problem| problem.text.lines().next().unwrap_or(""));
    let (message, text) = (escaped(message), escaped(case.text.trim_end()));
    let _ =
        writeln!(xml, ">\n      <{element} message=\"{message}\" type=\"{kind}\">{text}</{element}>\n    </testcase>");
}

/// How many cases there are, and how they came out.
fn counts<'c>(cases: impl Iterator<Item = &'c CaseReport>, ms: u64) -> String {
    let (mut n, mut n_failed, mut n_undecided, mut n_skipped) = (0, 0, 0, 0);
    for case in cases {
        n += 1;
        match case.verdict {
            TestVerdict::Passed => {}
            TestVerdict::Failed => n_failed += 1,
            TestVerdict::Undecided => n_undecided += 1,
            TestVerdict::Skipped => n_skipped += 1,
        }
    }
    let time = seconds(ms);
    format!(" tests=\"{n}\" failures=\"{n_failed}\" errors=\"{n_undecided}\" skipped=\"{n_skipped}\" time=\"{time}\"")
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Text inside of elements and attributes. Line breaks stay as they are.
fn escaped(text: &str) -> String {
    // In attributes a reader makes spaces of them otherwise.
    xml_text(text).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}
