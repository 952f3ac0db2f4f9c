//! Which files are tests, and of which kind.

use std::path::{Path, PathBuf};

use crate::host::eval::user::ENDING as USER;
use crate::host::walk::files_below;
use crate::lang::files::trigger_table::PROMPTS;
use crate::lang::kind::{TEST, TRIGGERS};
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::judge_tests::ENDING as JUDGE;
use crate::serve::cli::machinery::rules_file::RULES;
use crate::serve::cli::machinery::trigger_tests::is_of_prompts;

/// The kinds of test files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    /// A scripted conversation, whatever the file is called.
    Conversation,
    /// A user who is played.
    User,
    /// Trigger tables, and tables of prompts.
    Table,
    /// Labelled transcripts.
    Judge,
}

impl TestKind {
    /// Of a file, by its name.
    pub(super) fn of(path: &Path) -> TestKind {
        let name = path.to_string_lossy();
        let kinds =
            [(USER, TestKind::User), (TRIGGERS, TestKind::Table), (PROMPTS, TestKind::Table), (JUDGE, TestKind::Judge)];
        kinds.into_iter().find(|(ending, _)| name.ends_with(ending)).map_or(TestKind::Conversation, |(_, kind)| kind)
    }
}

/// All test files that `paths` mean.
pub(crate) fn find_tests(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let files = tests_below(paths)?;
    if files.is_empty() {
        return Err(Failure::wrong(
            "no test found; tests are files `NAME.test.md`, `NAME.user.md` and `NAME.triggers.md`, see docs/testing.md",
        ));
    }
    Ok(files)
}

/// The same; there may be none.
pub(super) fn tests_below(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let n_before = files.len();
        find(path, &[TEST, USER, TRIGGERS, PROMPTS, JUDGE], &mut files)?;
        // Who names a file knows what it is.
        let found = files.split_off(n_before).into_iter();
        files.extend(
            found.filter(|file| file == path || !file.to_string_lossy().ends_with(PROMPTS) || is_of_prompts(file)),
        );
    }
    Ok(files)
}

/// All files that `path` means: itself, or those of a project anywhere below whose names end so ([`files_below`]).
pub(crate) fn find(path: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let wrong = |cause: &dyn std::fmt::Display| {
        Failure::wrong(format!("{}: cannot read: {cause}; check the path", path.display()))
    };
    if !path.metadata().map_err(|cause| wrong(&cause))?.is_dir() {
        if path.to_string_lossy().ends_with(RULES) {
            return Err(Failure::wrong(format!(
                "{}: rules are not a test; each test of their program checks them, and `playhouse sessions check \
                 --rules` checks them against stored sessions",
                path.display()
            )));
        }
        files.push(path.to_owned());
        return Ok(());
    }
    for found in files_below(path) {
        let found = found.map_err(|cause| wrong(&cause))?;
        if endings.iter().any(|ending| found.to_string_lossy().ends_with(ending)) {
            let found = if path == Path::new(".") { found.strip_prefix(path).unwrap_or(&found) } else { &found };
            files.push(found.to_owned());
        }
    }
    Ok(())
}
