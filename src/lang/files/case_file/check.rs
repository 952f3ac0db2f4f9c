//! A line that is a check.

use crate::evaluation::checks::{Check, Written};
use crate::files::case_file::lines::{Line, Reader};

impl Reader {
    /// The check of a line `- …`; none: it is no such line, or no check, which is a finding.
    pub fn read_check(&mut self, line: Line<'_>, label: &str) -> Option<Written> {
        let item = line.raw.strip_prefix("- ")?;
        let offset = line.offset + (line.raw.len() - item.len());
        match Check::parse(item, self.file, offset) {
            Ok(check) => Some(Written { label: label.into(), line: line.number, check }),
            Err(finding) => {
                self.findings.push(*finding);
                None
            }
        }
    }
}
