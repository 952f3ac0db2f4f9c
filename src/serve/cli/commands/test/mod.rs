//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

mod compare;
mod conversation;
mod rules;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use self::conversation::{Options, run_conversation};
use crate::host::clock::{Clock, SystemClock};
use crate::lang::program::Program;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::output::{Format, write_whole};
use crate::serve::cli::machinery::rules_file::RULES;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::cli::machinery::trigger_tests::{TableOptions, TableOutcome, TriggerTable, judge_table, run_table};
use crate::serve::report::{CaseReport, FileReport, Problem, Report, TestVerdict};

/// How the names of trigger tables end.
const TABLE: &str = ".triggers.md";

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md and *.triggers.md below this folder
  playhouse test shop.test.md
  playhouse test shop.test.md --bless    writes what happened in the place of what was expected
  playhouse test shop --repeat 20    says whether it is always the same
  playhouse test --junit tests.xml   also for a server that reads JUnit's reports";

/// Runs scripted conversations (`*.test.md`) and compares what is said, called and set with what they expect; judges
/// labelled cases of what fires (`*.triggers.md`)
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TestArguments {
    /// Test files, or folders with test files anywhere below
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Write what happened in the place of what was expected; read the difference before you keep it
    #[arg(long)]
    bless: bool,
    /// Run each test so often, and fail if the outcomes differ
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// What judges triggers in words: off, rules, model:ID or script:FILE [default: what the test says, else rules]
    #[arg(long, value_name = "ID")]
    classifier: Option<String>,
    /// A trigger that the classifier does not judge counts as one that did not fire (`*.triggers.md`)
    #[arg(long)]
    strict: bool,
    /// For whom: text for people, or an object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write a report in JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Annotate the first problems for GitHub Actions, and add a table to the job's summary
    #[arg(long, conflicts_with = "format")]
    github: bool,
}

/// Runs all tests, one after the other.
pub(crate) fn test(console: &Console, arguments: &TestArguments) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for path in &arguments.paths {
        find(path, &mut files)?;
    }
    if files.is_empty() {
        return Err(Failure::wrong(
            "no test found; tests are files `NAME.test.md` and `NAME.triggers.md`, see docs/testing.md",
        ));
    }
    let runtime = runtime()?;
    let mut report = Report::default();
    for path in &files {
        let file = runtime.block_on(run_file(console, arguments, path))?;
        if arguments.format == Format::Text {
            let word = match file.verdict() {
                TestVerdict::Passed if file.is_blessed => "blessed",
                TestVerdict::Passed => "ok",
                TestVerdict::Undecided => "UNDECIDED",
                TestVerdict::Failed => "FAILED",
            };
            put(&format!("{word} {}\n{}", file.path, indented(&file.text())))?;
        }
        report.files.push(file);
    }
    match arguments.format {
        Format::Text => put(&format!("{}\n", report.totals()))?,
        Format::Json => put(&format!("{}\n", report.json()))?,
    }
    write_reports(console, arguments, &report)?;
    let has = |verdict| report.n_of(verdict) > 0;
    Ok(match (has(TestVerdict::Failed), has(TestVerdict::Undecided)) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::TooLittle,
        (false, false) => Exit::Finished,
    })
}

/// For machines, beside what people read.
fn write_reports(console: &Console, arguments: &TestArguments, report: &Report) -> Result<(), Failure> {
    if let Some(path) = &arguments.junit {
        write_whole(path, &report.junit())?;
    }
    if arguments.github {
        put(&report.github_annotations())?;
        if let Some(path) = &console.environment.github_step_summary {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
            let written = opened.and_then(|mut file| file.write_all(report.github_summary().as_bytes()));
            written
                .map_err(|cause| Failure::failed(format!("{}: cannot write the summary: {cause}", path.display())))?;
        }
    }
    Ok(())
}

async fn run_file(console: &Console, arguments: &TestArguments, path: &Path) -> Result<FileReport, Failure> {
    let name = path.display().to_string();
    let classifier = ChosenClassifier { id: arguments.classifier.as_deref(), environment: &console.environment };
    if !name.ends_with(TABLE) {
        let options = Options { repeat: arguments.repeat, bless: arguments.bless, color: console.color };
        return run_conversation(path, options, &classifier).await;
    }
    let began = SystemClock.now();
    let options = TableOptions { strict: arguments.strict, repeat: arguments.repeat, color: console.color };
    let judge = async |program: &Program, table: &TriggerTable| judge_table(path, program, table, &classifier).await;
    let TableOutcome { passed, text } = run_table(path, options, judge).await;
    let (case, details) = match passed {
        true => (CaseReport::passed("triggers"), text),
        false => {
            let problem = Problem { file: name.clone(), line: None, text: text.clone() };
            (CaseReport::failed("triggers", text, vec![problem]), String::new())
        }
    };
    let ms = u64::try_from(SystemClock.now().0 - began.0).unwrap_or(0);
    let title = String::new();
    Ok(FileReport { path: name, title, cases: vec![case], details, is_blessed: false, ms, run: None })
}

/// All test files that `path` means, sorted. Hidden folders are left out.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let wrong = |cause: io::Error| Failure::wrong(format!("{}: cannot read: {cause}; check the path", path.display()));
    if !path.metadata().map_err(wrong)?.is_dir() {
        if path.to_string_lossy().ends_with(RULES) {
            return Err(Failure::wrong(format!(
                "{}: rules are no test; they are checked with each test of their program, and with stored sessions by \
                 `playhouse sessions check --rules`",
                path.display()
            )));
        }
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = std::fs::read_dir(path).map_err(wrong)?.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Of the entry itself: links to folders are not followed, they may lead in circles.
        let is_folder = entry.file_type().map_err(wrong)?.is_dir();
        let found = if path == Path::new(".") { PathBuf::from(&*name) } else { path.join(&*name) };
        if is_folder && !name.starts_with('.') {
            find(&found, files)?;
        } else if !is_folder && (name.ends_with(".test.md") || name.ends_with(TABLE)) {
            files.push(found);
        }
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}
