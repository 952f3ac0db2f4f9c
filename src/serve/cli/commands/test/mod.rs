//! `playhouse test [PATH…]`: scripted conversations, without a model and without a network.

mod compare;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use self::compare::compare;
use crate::diagnostic::render;
use crate::host::coverage::reached;
use crate::lang::program::Program;
use crate::serve::cli::commands::run::runtime;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::coverage::{Gathered, reached_by_table, summary};
use crate::serve::cli::machinery::test_file::TestFile;
use crate::serve::cli::machinery::test_session::{ChosenClassifier, Played, play};
use crate::serve::cli::machinery::trigger_tests::{TableOptions, TriggerTable, judge_table, run_table};
use crate::serve::show::skipped;
use crate::span::Sources;

/// How the names of trigger tables end.
const TABLE: &str = ".triggers.md";

const EXAMPLES: &str = "\
Examples:
  playhouse test                     all *.test.md and *.triggers.md below this folder
  playhouse test shop.test.md
  playhouse test shop.test.md --bless    writes what happened in the place of what was expected
  playhouse test shop --repeat 20    says whether it is always the same
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
    /// What judges triggers in words: off, rules, model:ID or script:FILE [default: what the test says, else rules]
    #[arg(long, value_name = "ID")]
    classifier: Option<String>,
    /// A trigger that the classifier does not judge counts as one that did not fire (`*.triggers.md`)
    #[arg(long)]
    strict: bool,
    /// Say at the end how much of the programs the tests reach; `playhouse coverage` says what they do not
    #[arg(long)]
    coverage: bool,
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
            Verdict::Blessed => ("blessed", String::new()),
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
        find(path, &mut files)?;
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
    /// It was rewritten.
    Blessed,
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
        let options = TableOptions { strict: arguments.strict, repeat: arguments.repeat, color: console.color };
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
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) => return Ok(Verdict::Failed(format!("{name}: cannot read: {cause}; check the path"))),
    };
    let mut sources = Sources::default();
    let file = sources.add(name.as_str(), text.as_str());
    let test = match TestFile::parse(file, &text) {
        Ok(test) => test,
        Err(findings) => return Ok(Verdict::Failed(render(&findings, &sources, console.color))),
    };
    let played = match play(path, &test, &classifier).await {
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
    if !played.problems.is_empty() {
        // What happened is not what the test is about, so it is not to be kept either.
        let differences = compare(&name, &test, &played.stretches);
        return Ok(Verdict::Failed(format!("{}\n{differences}", played.problems.join("\n"))));
    }
    if arguments.bless {
        let mut blessed = test.clone();
        blessed.bless(&played.stretches);
        let blessed = blessed.render();
        if blessed != text {
            std::fs::write(path, blessed)
                .map_err(|cause| Failure::failed(format!("{name}: cannot write: {cause}; make it writable")))?;
            return Ok(Verdict::Blessed);
        }
        return Ok(Verdict::Passed(String::new()));
    }
    let differences = compare(&name, &test, &played.stretches);
    let left_out = match skipped(&played.skipped) {
        lines if lines.is_empty() => lines,
        lines => format!("lines left out:\n{lines}"),
    };
    Ok(if differences.is_empty() { Verdict::Passed(left_out) } else { Verdict::Failed(differences + &left_out) })
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

/// All test files that `path` means, sorted. Hidden folders are left out.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
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
