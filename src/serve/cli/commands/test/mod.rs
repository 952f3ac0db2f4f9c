//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

pub(super) mod compare;
mod judged;
mod record;
mod user;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::compare::{Compared, compare};
use self::judged::run_judged;
use self::record::record_test;
use self::user::run_user;
use crate::diagnostic::render;
use crate::host::cassette::take::Mode;
use crate::host::coverage::reached;
use crate::host::eval::user::ENDING as USER;
use crate::lang::program::Program;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::company::CompanyArguments;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::coverage::{Gathered, reached_by_table, summary};
use crate::serve::cli::machinery::judge_tests::ENDING as JUDGE;
use crate::serve::cli::machinery::test_file::{TestFile, TestModel};
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play};
use crate::serve::cli::machinery::trigger_tests::{TableOptions, TriggerTable, judge_table, run_table};
use crate::serve::show::skipped;
use crate::serve::show::unjudged::unjudged;
use crate::span::Sources;

/// How the names of conversations end.
pub(super) const CONVERSATION: &str = ".test.md";

/// How the names of trigger tables end.
const TABLE: &str = ".triggers.md";

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md, *.user.md and *.triggers.md below this folder
  playhouse test shop.test.md
  playhouse test shop.test.md --bless    writes what happened in the place of what was expected
  playhouse test shop --repeat 20    says whether it is always the same
  playhouse test shop --record       asks a live model for what is not recorded yet (`- model: recorded`)
  playhouse test shop --coverage     and how much of the program is reached
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
    #[arg(long)]
    coverage: bool,
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
    let (mut n_passed, mut n_failed, mut n_skipped) = (0, 0, 0);
    let gathered = arguments.coverage.then(RefCell::<Gathered>::default);
    for path in &files {
        let verdict = runtime.block_on(run_file(console, arguments, path, gathered.as_ref()))?;
        let (word, text) = match verdict {
            Verdict::Passed(report) => ("ok", report),
            Verdict::Blessed(report) => ("blessed", report),
            Verdict::Skipped(why) => ("skipped", why),
            Verdict::Failed(text) => ("FAILED", text),
        };
        match word {
            "FAILED" => n_failed += 1,
            "skipped" => n_skipped += 1,
            _ => n_passed += 1,
        }
        put(&format!("{word} {}\n{}", path.display(), indented(&text)))?;
    }
    let skipped = if n_skipped > 0 { format!(", {n_skipped} skipped") } else { String::new() };
    put(&format!("{n_passed} passed, {n_failed} failed{skipped}\n"))?;
    if let Some(gathered) = gathered {
        put(&summary(&gathered.into_inner().coverage.totals()))?;
    }
    Ok(if n_failed > 0 { Exit::Failed } else { Exit::Finished })
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

/// What came of one test.
pub(crate) enum Verdict {
    /// What there is to know all the same: the scores of a table, lines that a conversation has left out.
    Passed(String),
    /// It was rewritten; what there is to know all the same.
    Blessed(String),
    /// It was not run, and why.
    Skipped(String),
    /// Why, for people.
    Failed(String),
}

/// Runs one test; what it reaches of its program is gathered, if that is wanted.
pub(crate) async fn run_file(
    console: &Console,
    arguments: &TestArguments,
    path: &Path,
    gathered: Option<&RefCell<Gathered>>,
) -> Result<Verdict, Failure> {
    let name = path.display().to_string();
    let classifier = ChosenClassifier { id: arguments.classifier.as_deref(), environment: &console.environment };
    if name.ends_with(TABLE) {
        let options = TableOptions { lenient: arguments.lenient, repeat: arguments.repeat, color: console.color };
        let judge = async |program: &Program, table: &TriggerTable| {
            let judged = judge_table(path, program, table, &classifier).await?;
            if let Some(gathered) = gathered {
                gathered.borrow_mut().add(program, &reached_by_table(program, table, &judged));
            }
            Ok(judged)
        };
        let outcome = run_table(path, options, judge).await;
        return Ok(if outcome.passed { Verdict::Passed(outcome.text) } else { Verdict::Failed(outcome.text) });
    }
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) => return Ok(Verdict::Failed(format!("{name}: cannot read: {cause}; check the path"))),
    };
    if name.ends_with(USER) {
        let verdict = run_user(arguments, (path, &text), console.color, &classifier, gathered).await;
        return Ok(verdict.unwrap_or_else(Verdict::Failed));
    }
    if name.ends_with(JUDGE) {
        return Ok(run_judged(arguments, (path, &text), console.color, &classifier).await);
    }
    let mut sources = Sources::default();
    let file = sources.add(name.as_str(), text.as_str());
    let mut test = match TestFile::parse(file, &text) {
        Ok(test) => test,
        Err(findings) => return Ok(Verdict::Failed(render(&findings, &sources, console.color))),
    };
    let mut recorded = String::new();
    let played = match arguments.record.filter(|_| test.model == Some(TestModel::Recorded)) {
        None => play(path, &test, &classifier).await,
        Some(record) => {
            let mode = match record {
                Record::Missing => Mode::Missing,
                Record::All => Mode::All,
            };
            let made = record_test(path, (&text, &test), &classifier, mode, arguments.model.as_deref()).await;
            made.map(|made| {
                (text, test, recorded) = (made.text, made.test, made.report);
                made.played
            })
        }
    };
    let played = match played {
        Ok(played) => played,
        Err(why) => return Ok(Verdict::Failed(why)),
    };
    if let (Some(gathered), Some(run)) = (gathered, &played.run) {
        gathered.borrow_mut().add(&run.program, &reached(run));
    }
    for round in 2..=arguments.repeat {
        let again = play(path, &test, &classifier).await;
        if let Some(difference) = difference(&played, &again) {
            return Ok(Verdict::Failed(format!("{name}: run {round} differs from run 1: {difference}")));
        }
    }
    let differences = compare(&name, &test, &played.stretches, Compared::All);
    if !played.problems.is_empty() {
        // What happened is not what the test is about, so it is not to be kept either.
        let problems = played.problems.join("\n");
        return Ok(Verdict::Failed(format!("{problems}\n{differences}{}", remarks(&played, true))));
    }
    if arguments.bless {
        let mut blessed = test.clone();
        blessed.bless(&played.stretches);
        let blessed = blessed.render();
        if blessed != text {
            std::fs::write(path, blessed)
                .map_err(|cause| Failure::failed(format!("{name}: cannot write: {cause}; make it writable")))?;
            return Ok(Verdict::Blessed(recorded));
        }
        return Ok(Verdict::Passed(recorded));
    }
    let remarks = recorded + &remarks(&played, arguments.verbose || !differences.is_empty());
    Ok(if differences.is_empty() { Verdict::Passed(remarks) } else { Verdict::Failed(differences + &remarks) })
}

/// What there is to know besides what a test expects; what answered what, too, if that `tells_answers`.
fn remarks(played: &Played, tells_answers: bool) -> String {
    let answers = played.answers.iter().filter(|_| tells_answers).map(|answer| format!("  {answer}\n")).collect();
    let unjudged = played.run.as_ref().map_or_else(String::new, |run| unjudged(&run.program, &run.events));
    let listed = [
        ("replies:\n", answers),
        ("triggers that nobody judged:\n", unjudged),
        ("lines left out:\n", skipped(&played.summary.skipped)),
    ];
    listed.into_iter().filter(|(_, lines)| !lines.is_empty()).map(|(head, lines)| format!("{head}{lines}")).collect()
}

/// In what two runs of one test differ.
fn difference(first: &Played, again: &Result<Played, String>) -> Option<String> {
    match again {
        Err(why) => Some(why.clone()),
        Ok(again) if again.problems != first.problems => Some(again.problems.join("\n")),
        Ok(again) => {
            let stretches = first.stretches.iter().zip(&again.stretches);
            let index = stretches.clone().position(|(first, again)| first != again);
            let index = index.or((first.stretches.len() != again.stretches.len()).then(|| stretches.count()))?;
            Some(format!(
                "stretch {} was\n{:#?}\nand is now\n{:#?}",
                index + 1,
                first.stretches.get(index),
                again.stretches.get(index)
            ))
        }
    }
}

/// All files that `path` means: itself, or those anywhere below whose names end so, sorted. Hidden folders are left out.
pub(super) fn find(path: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let wrong = |cause: io::Error| Failure::wrong(format!("{}: cannot read: {cause}; check the path", path.display()));
    if !path.metadata().map_err(wrong)?.is_dir() {
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
