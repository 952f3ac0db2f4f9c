//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

pub(super) mod checked;
pub(super) mod compare;
mod conversation;
mod judged;
mod options;
pub(super) mod record;
mod replay;
mod user;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::conversation::run_conversation;
use self::judged::run_judged;
use self::options::Options;
pub(crate) use self::replay::ReadTest;
use self::replay::TABLE;
use self::user::run_user;
use crate::host::cassette::take::Mode;
use crate::host::clock::{Clock, SystemClock};
use crate::host::eval::user::ENDING as USER;
use crate::lang::files::trigger_table::TriggerTable;
use crate::lang::program::Program;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::company::CompanyArguments;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::coverage::{Gathered, reached_by_table, summary};
use crate::serve::cli::machinery::judge_tests::ENDING as JUDGE;
use crate::serve::cli::machinery::output::{Format, write_whole};
use crate::serve::cli::machinery::rules_file::RULES;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::cli::machinery::trigger_tests::{TableOptions, TableOutcome, judge_table, run_table};
use crate::serve::report::{FileReport, Report, TestVerdict};

/// How the names of conversations end.
pub(super) const CONVERSATION: &str = ".test.md";

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md, *.user.md and *.triggers.md below this folder
  playhouse test shop.test.md
  playhouse test shop.test.md --bless    writes what happened in the place of what was expected
  playhouse test shop --repeat 20    says whether it is always the same
  playhouse test shop --record       asks a live model for what is not recorded yet (`- model: recorded`)
  playhouse test shop --coverage     and how much of the program is reached
  playhouse test --junit tests.xml   also for a server that reads JUnit's reports
  playhouse test --html tests.html   also a page with what was said, and what was reached of the programs
  playhouse test shop --user-model openai:gpt-4.1-mini --judge openai:gpt-4.1   also users whom a model plays";

/// Runs scripted conversations (`*.test.md`) and compares what is said, called and set with what they expect; has users
/// played (`*.user.md`); judges labelled cases of what fires (`*.triggers.md`), and the judge itself (`*.judge.md`)
#[derive(Args, Default)]
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
    /// Ask a live model and live tools in tests with `- model: recorded`, and keep what they answer: what is missing, or all
    #[arg(
        long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "missing",
        conflicts_with = "repeat"
    )]
    record: Option<Record>,
    /// With `--record`, the model: openai:NAME, auto or script:FILE [default: as `run` chooses it]
    #[arg(long, value_name = "ID", requires = "record")]
    model: Option<String>,
    /// What judges triggers in words: off, rules, model:ID or script:FILE [default: what the test says, else rules]
    #[arg(long, value_name = "ID")]
    classifier: Option<String>,
    /// A trigger that is due and that the classifier does not judge is not missed (`*.triggers.md`); a statement that the
    /// judge does not decide isn't, either (`*.judge.md`)
    #[arg(long)]
    lenient: bool,
    /// Say what each scripted reply answered; of a test that fails it is said anyway
    #[arg(long, short)]
    verbose: bool,
    /// Say at the end how much of the programs the tests reach; `playhouse coverage` says what they do not
    #[arg(long, conflicts_with = "format")]
    coverage: bool,
    /// For whom: text for people, or an object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write a report in JUnit's XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a page, too, that loads nothing: totals, what was said and called, and the programs with what was reached
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Annotate the first problems for GitHub Actions, and add a table to the job's summary
    #[arg(long, conflicts_with = "format")]
    github: bool,
    #[command(flatten)]
    company: CompanyArguments,
}

/// What `--record` asks for.
#[derive(Clone, Copy, ValueEnum)]
enum Record {
    /// What is not recorded.
    Missing,
    /// Everything, also what is recorded.
    All,
}

/// Runs all tests, one after the other.
pub(crate) fn test(console: &Console, arguments: &TestArguments) -> Result<Exit, Failure> {
    let files = find_tests(&arguments.paths)?;
    let runtime = runtime()?;
    let mut report = Report::default();
    let gathered = (arguments.coverage || arguments.html.is_some()).then(RefCell::<Gathered>::default);
    for path in &files {
        let file = runtime.block_on(run_file(console, arguments, path, gathered.as_ref()))?;
        if arguments.format == Format::Text {
            let word = match file.verdict() {
                TestVerdict::Passed if file.is_blessed => "blessed",
                TestVerdict::Passed => "ok",
                TestVerdict::Skipped => "skipped",
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
    let reached = gathered.map(|gathered| gathered.into_inner().coverage).unwrap_or_default();
    if arguments.coverage {
        put(&summary(&reached.totals()))?;
    }
    if let Some(path) = &arguments.html {
        write_whole(path, &report.html(&reached))?;
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

/// All test files that `paths` mean.
pub(crate) fn find_tests(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        find(path, &[CONVERSATION, USER, TABLE, JUDGE], &mut files)?;
    }
    if files.is_empty() {
        return Err(Failure::wrong(
            "no test found; tests are files `NAME.test.md`, `NAME.user.md` and `NAME.triggers.md`, see docs/testing.md",
        ));
    }
    Ok(files)
}

/// Runs one test; what it reaches of its program is gathered, if that is wanted.
pub(crate) async fn run_file(
    console: &Console,
    arguments: &TestArguments,
    path: &Path,
    gathered: Option<&RefCell<Gathered>>,
) -> Result<FileReport, Failure> {
    let name = path.display().to_string();
    let classifier = ChosenClassifier { id: arguments.classifier.as_deref(), environment: &console.environment };
    let began = SystemClock.now();
    let timed = |report: FileReport| {
        let ms = u64::try_from(SystemClock.now().0 - began.0).unwrap_or(0);
        FileReport { ms, ..report }
    };
    let mode = arguments.record.map(|record| match record {
        Record::Missing => Mode::Missing,
        Record::All => Mode::All,
    });
    // Reports for machines get the same texts.
    let is_reported = arguments.junit.is_some() || arguments.html.is_some() || arguments.github;
    let color = console.color && !is_reported;
    let options = Options {
        repeat: arguments.repeat,
        bless: arguments.bless,
        record: mode.map(|mode| (mode, arguments.model.as_deref())),
        verbose: arguments.verbose,
        lenient: arguments.lenient,
        gathered,
        company: &arguments.company,
        color,
    };
    if name.ends_with(USER) {
        return Ok(timed(run_user(path, options, &classifier).await));
    }
    if name.ends_with(JUDGE) {
        return Ok(timed(run_judged(path, options, &classifier).await));
    }
    if !name.ends_with(TABLE) {
        return run_conversation(path, options, &classifier).await.map(timed);
    }
    let options = TableOptions { lenient: arguments.lenient, repeat: arguments.repeat, color };
    let judge = async |program: &Program, table: &TriggerTable| {
        let judged = judge_table(path, program, table, &classifier).await?;
        if let Some(gathered) = gathered {
            gathered.borrow_mut().add(program, &reached_by_table(program, table, &judged));
        }
        Ok(judged)
    };
    let TableOutcome { passed, text } = run_table(path, options, judge).await;
    Ok(timed(FileReport::scored(name, "triggers", passed, text)))
}

/// All files that `path` means: itself, or those anywhere below whose names end so, sorted. Hidden folders are left out.
pub(super) fn find(path: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Failure> {
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
            find(&found, endings, files)?;
        } else if !is_folder && endings.iter().any(|ending| name.ends_with(ending)) {
            files.push(found);
        }
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}
