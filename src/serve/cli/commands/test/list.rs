//! `playhouse test --list`: which tests there are, read and not run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::checked::check_case;
use super::conversation::whole;
use super::find::{TestKind, tests_below};
use super::judged::CASE as JUDGE;
use super::table::CASE as TABLE;
use crate::diagnostic::Diagnostic;
use crate::host::eval::user::DATABASE;
use crate::lang::files::judge_file::JudgeFile;
use crate::lang::files::test_file::TestFile;
use crate::lang::files::user_file::UserFile;
use crate::serve::cli::machinery::beside::read;
use crate::serve::cli::machinery::console::{Exit, Failure, put};
use crate::serve::cli::machinery::output::Format;
use crate::serve::cli::machinery::trigger_tests::parse;
use crate::serve::report::{Case, Listed, Problem};
use crate::span::{FileId, Sources};

/// Lists the tests below `paths`; with a file that cannot be read it fails.
pub(super) fn list(paths: &[PathBuf], format: Format) -> Result<Exit, Failure> {
    let files: Vec<Listed> = tests_below(paths)?.iter().map(|path| one(path)).collect();
    match format {
        Format::Json => put(&format!("{}\n", Listed::json(&files)))?,
        Format::Text => put(&files.iter().map(text).collect::<String>())?,
    }
    let is_read = files.iter().all(|file| file.problems.is_empty());
    Ok(if is_read { Exit::Finished } else { Exit::Failed })
}

/// A line for each case, with its place.
fn text(file: &Listed) -> String {
    let mut text = String::new();
    for Case { name, line } in &file.cases {
        let place = line.map_or_else(|| file.path.clone(), |line| format!("{}:{line}", file.path));
        let _ = writeln!(text, "{place}: {name}");
    }
    for problem in &file.problems {
        let _ = writeln!(text, "{}: cannot be read: {}", problem.place(), problem.text);
    }
    text
}

fn one(path: &Path) -> Listed {
    let name = path.display().to_string();
    let mut sources = Sources::default();
    let read = read(path).map_err(|why| vec![Problem::told(&name, &why)]).and_then(|text| {
        let file = sources.add(name.as_str(), text.as_str());
        let found = |found: Vec<Diagnostic>| found.iter().map(|found| Problem::found(found, &sources)).collect();
        cases(path, file, &text).map_err(found)
    });
    match read {
        Ok((title, cases)) => Listed { path: name, title, cases, problems: Vec::new() },
        Err(problems) => Listed { path: name, problems, ..Listed::default() },
    }
}

/// The title and the cases of a text.
fn cases(path: &Path, file: FileId, text: &str) -> Result<(String, Vec<Case>), Vec<Diagnostic>> {
    match TestKind::of(path) {
        TestKind::Conversation => {
            let test = TestFile::parse(file, text)?;
            let checks = test.checks().map(|written| check_case(&written.label, &written.check.text, written.line));
            let cases = [Case::from(whole(&test.title))].into_iter().chain(checks).collect();
            Ok((test.title, cases))
        }
        TestKind::User => {
            let user = UserFile::parse(file, text)?;
            let checks =
                user.checks.iter().map(|written| check_case(&written.label, &written.check.text, written.line));
            let database = user.database.iter().map(|check| check_case(DATABASE, &check.text, check.line));
            Ok((user.title.clone(), checks.chain(database).collect()))
        }
        TestKind::Table => {
            let table = parse(path, file, text)?;
            let rows = table.cases.iter().map(|case| Case::at(case.line, case.name()));
            Ok((table.title.clone(), [Case::from(TABLE)].into_iter().chain(rows).collect()))
        }
        TestKind::Judge => {
            let judge = JudgeFile::parse(file, text)?;
            let labels = judge.labels().map(|label| Case::at(label.line, label.name()));
            Ok((judge.title.clone(), [Case::from(JUDGE)].into_iter().chain(labels).collect()))
        }
    }
}
