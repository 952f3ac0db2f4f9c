//! The grammar is one table: every example in it is read and shown in `docs/checks.md`.

use std::fs;
use std::path::Path;

use playhouse::lang::evaluation::checks::Check;
use playhouse::lang::evaluation::checks::grammar::{ATOMS, CHECKS};
use playhouse::span::FileId;

use crate::made_up::made_up;

#[test]
fn every_example_is_read() {
    for rule in ATOMS.iter().chain(&CHECKS) {
        let read = Check::parse(rule.example, FileId(0), 0);
        assert!(read.is_ok(), "{}: {read:?}", rule.example);
    }
}

#[test]
fn the_page_has_the_same_table() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checks.md")).unwrap();
    for rule in ATOMS.iter().chain(&CHECKS) {
        let example = rule.example.replace('|', "\\|");
        let row = format!("| {} | `{example}` | {} |", rule.form.replace('|', "\\|"), rule.means);
        assert!(page.contains(&row), "docs/checks.md lacks this row:\n{row}");
    }
}

/// Any text is read, or refused at a place inside of it.
#[test]
fn reading_is_total() {
    made_up!(3_000, 200).for_each(|bytes: &[u8]| check_one(&String::from_utf8_lossy(bytes)));
    for rule in ATOMS.iter().chain(&CHECKS) {
        for (end, _) in rule.example.char_indices() {
            check_one(&rule.example[..end]);
            check_one(&rule.example[end..]);
        }
    }
}

pub(crate) fn check_one(text: &str) {
    match Check::parse(text, FileId(0), 0) {
        Ok(check) => assert_eq!(&*check.text, text.trim()),
        Err(finding) => {
            assert!(finding.span.end as usize <= text.len() && !finding.notes.is_empty(), "{text:?}: {finding:?}")
        }
    }
}
