//! `## Expect` of a test: bullets that are checks.

use crate::evaluation::checks::Written;
use crate::files::case_file::lines::{Line, Reader};

impl Reader {
    /// A section of checks, one a line.
    pub(super) fn read_checks(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<Written>> {
        let n_findings = self.findings.len();
        let mut checks = Vec::new();
        for &line in lines.iter().filter(|line| !line.text().is_empty()) {
            if line.raw.starts_with("- ") {
                checks.extend(self.read_check(line, "Expect"));
            } else {
                self.unexpected(line, "`## Expect`", "begin every check with `- `, on one line");
            }
        }
        if checks.is_empty() && self.findings.len() == n_findings {
            self.empty(heading, "write a check a line, as in `- never Refund`");
        }
        (self.findings.len() == n_findings).then_some(checks)
    }
}
