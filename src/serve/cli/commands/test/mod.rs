//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

pub(super) mod compare;
pub(super) mod record;
mod replay;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::compare::{Compared, compare};
use self::record::record_test;
pub(crate) use self::replay::ReadTest;
use self::replay::{TABLE, read_test};
use crate::host::cassette::take::Mode;
use crate::host::coverage::reached;
use crate::lang::program::Program;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::coverage::{Gathered, reached_by_table, summary};
use crate::serve::cli::machinery::test_file::TestModel;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play};
use crate::serve::cli::machinery::trigger_tests::{TableOptions, TriggerTable, judge_table, run_table};
use crate::serve::show::skipped;
use crate::serve::show::unjudged::unjudged;

/// How the names of conversations end.
pub(super) const CONVERSATION: &str = ".test.md";

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md and *.triggers.md below this folder
  playhouse test shop.test.md
  playhouse test shop.test.md --bless    writes what happened in the place of what was expected
  playhouse test shop --repeat 20    says whether it is always the same
  playhouse test shop --record       asks a live model for what is not recorded yet (`- model: recorded`)
  playhouse test shop --coverage     and how much of the program is reached";

/// Runs scripted conversations (`*.test.md`) and compares what is said, called and set with what they expect; judges
/// labelled cases of what fires (`*.triggers.md`)
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
    /// A trigger that is due and that the classifier does not judge is not missed (`*.triggers.md`)
    #[arg(long)]
    lenient: bool,
    /// Say what each scripted reply answered; of a test that fails it is said anyway
    #[arg(long, short)]
    verbose: bool,
    /// Say at the end how much of the programs the tests reach; `playhouse coverage` says what they do not
    #[arg(long)]
    coverage: bool,
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
    let (mut n_passed, mut n_failed) = (0, 0);
    let gathered = arguments.coverage.then(RefCell::<Gathered>::default);
    for path in &files {
        let verdict = runtime.block_on(run_file(console, arguments, path, gathered.as_ref()))?;
        let (word, text) = match verdict {
            Verdict::Passed(report) => ("ok", report),
            Verdict::Blessed(report) => ("blessed", report),
            Verdict::Failed(text) => ("FAILED", text),
        };
        if word == "FAILED" {
            n_failed += 1;
        } else {
            n_passed += 1;
        }
        put(&format!("{word} {}\n{}", path.display(), indented(&text)))?;
    }
    put(&format!("{n_passed} passed, {n_failed} failed\n"))?;
    if let Some(gathered) = gathered {
        put(&summary(&gathered.into_inner().coverage.totals()))?;
    }
    Ok(if n_failed > 0 { Exit::Failed } else { Exit::Finished })
}

/// All test files that `paths` mean.
pub(crate) fn find_tests(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        find(path, &[CONVERSATION, TABLE], &mut files)?;
    }
    if files.is_empty() {
        return Err(Failure::wrong(
            "no test found; tests are files `NAME.test.md` and `NAME.triggers.md`, see docs/testing.md",
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
    let (mut text, mut test) = match read_test(path, console.color) {
        Ok(read) => read,
        Err(why) => return Ok(Verdict::Failed(why)),
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
