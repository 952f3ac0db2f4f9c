//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

pub(super) mod checked;
pub(super) mod compare;
mod conversation;
mod find;
mod judged;
mod list;
mod options;
pub(super) mod record;
mod replay;
mod table;
mod user;

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::conversation::run_conversation;
use self::find::TestKind;
pub(super) use self::find::find;
pub(crate) use self::find::find_tests;
use self::judged::run_judged;
use self::list::list;
use self::options::Options;
pub(crate) use self::replay::ReadTest;
use self::table::run_triggers;
use self::user::run_user;
use crate::host::cassette::take::Mode;
use crate::host::clock::{Clock, SystemClock};
use crate::serve::cli::machinery::company::CompanyArguments;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::coverage::{Gathered, summary};
use crate::serve::cli::machinery::output::{Format, write_whole};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::test_session::ChosenClassifier;
use crate::serve::report::{FileReport, Report, TestVerdict};

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md, *.user.md and *.triggers.md below this folder, and prompts of skills
  playhouse test shop.test.md
  playhouse test shop --list         lists the tests
  playhouse test shop --bless        replaces what was expected by what happened
  playhouse test shop --repeat 20    checks that the outcome is always the same
  playhouse test shop --record       records what is missing, with a live model (`- model: recorded`)
  playhouse test shop --coverage     also reports how much of the program is reached
  playhouse test --junit tests.xml   also writes a JUnit report, for a CI server
  playhouse test --html tests.html   also writes a page: what was said, and what was reached
  playhouse test shop --user-model openai:gpt-4.1-mini --judge openai:gpt-4.1   with users that a model plays";

/// Runs tests: compares what programs say, call and set with what the tests expect
///
/// The tests are scripted conversations (`*.test.md`), conversations with simulated users (`*.user.md`), labelled
/// cases of what fires which trigger (`*.triggers.md`; for skills, `*.jsonl` with prompts) and labelled transcripts
/// for the judge (`*.judge.md`)
#[derive(Args, Default)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TestArguments {
    /// Test files, or folders with test files anywhere below
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// List the tests and their cases, each with its place, and run none
    #[arg(long, conflicts_with_all = ["bless", "record", "repeat", "coverage", "junit", "html", "github"])]
    list: bool,
    /// Replace what was expected by what happened; read the difference before you keep it
    #[arg(long)]
    bless: bool,
    /// Run each test K times, and fail if the outcomes differ
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// In tests with `- model: recorded`, ask a live model and live tools, and record what they answer: what is
    /// missing, or all
    #[arg(
        long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "missing",
        conflicts_with = "repeat"
    )]
    record: Option<Record>,
    /// With `--record`, the model: openai:NAME, auto or script:FILE [default: as `run` chooses it]
    #[arg(long, value_name = "ID", requires = "record")]
    model: Option<String>,
    /// The classifier, which judges triggers in words: off, rules, model:ID or script:FILE [default: what the test
    /// says, or rules]
    #[arg(long, value_name = "ID")]
    classifier: Option<String>,
    /// Allow the classifier not to judge a trigger that is due (`*.triggers.md`), and the judge not to decide a
    /// statement (`*.judge.md`)
    #[arg(long)]
    lenient: bool,
    /// Show what each scripted reply answered; tests that fail always show it
    #[arg(long, short)]
    verbose: bool,
    /// Report at the end how much of the programs the tests reach; `playhouse coverage` shows what they do not
    #[arg(long, conflicts_with = "format")]
    coverage: bool,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Also write a report in JUnit's XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write a self-contained HTML page: totals, what was said and called, and the programs with what was
    /// reached
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
    /// What is not recorded yet.
    Missing,
    /// Everything, including what is already recorded.
    All,
}

/// Runs all tests, one after the other.
pub(crate) fn test(console: &Console, arguments: &TestArguments) -> Result<Exit, Failure> {
    if arguments.list {
        return list(&arguments.paths, arguments.format);
    }
    let files = find_tests(&arguments.paths)?;
    let runtime = Runtime::for_one()?;
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

/// Runs one test; what it reaches of its program is gathered, if that is wanted.
pub(crate) async fn run_file(
    console: &Console,
    arguments: &TestArguments,
    path: &Path,
    gathered: Option<&RefCell<Gathered>>,
) -> Result<FileReport, Failure> {
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
    Ok(timed(match TestKind::of(path) {
        TestKind::Conversation => run_conversation(path, options, &classifier).await?,
        TestKind::User => run_user(path, options, &classifier).await,
        TestKind::Table => run_triggers(path, options, &classifier).await,
        TestKind::Judge => run_judged(path, options, &classifier).await,
    }))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}
