//! `playhouse mutants [PATH…]`: whether the tests notice a small mistake in the program.

mod gather;
mod in_diff;
mod judge;
mod live;
mod report;
mod skip;

use std::path::PathBuf;

use clap::Args;

use self::gather::{Suspect, judges, suspects};
use self::in_diff::ChangedLines;
use self::judge::{Fate, fates};
use self::live::judge_live;
use self::report::{Judged, list, text, to_json};
use self::skip::{Skips, check_fate};
use crate::serve::cli::commands::evaluation::measure::{Bench, MeasureArguments};
use crate::serve::cli::commands::test::find_tests;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, finish, put};
use crate::serve::cli::machinery::output::{Format, json_array};

const EXAMPLES: &str = "\
Examples:
  playhouse mutants shop
  playhouse mutants shop --list                            which mutants there are, without running any
  git diff main | playhouse mutants shop --in-diff /dev/stdin
  playhouse mutants shop --live --model openai:gpt-4.1-mini --user-model openai:gpt-4.1-mini --budget 2

Exit codes: 0 every mutant is caught, or has a reason; 1 one is missed; 2 the command or a file is wrong;
4 too little was measured to say.";

/// Makes small mistakes in programs, one at a time, and runs the tests, to find the mistakes that no test notices
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MutantsArguments {
    /// Test files, or folders with test files anywhere below
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Only list the mutants
    #[arg(long)]
    list: bool,
    /// Only mutants of lines that this unified diff changes
    #[arg(long, value_name = "FILE")]
    in_diff: Option<PathBuf>,
    /// Also judge lines in words: a model runs the cases of their program with and without each of these lines
    #[arg(long)]
    live: bool,
    /// How many times --live runs each case
    #[arg(short, value_name = "N", default_value_t = 5, requires = "live", value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    #[command(flatten)]
    measure: MeasureArguments,
    /// The output format: text for people, or a JSON array for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Performs the command.
pub(crate) fn mutants(console: &Console, arguments: &MutantsArguments) -> Result<Exit, Failure> {
    if let Some(option) = arguments.measure.given().filter(|_| !arguments.live) {
        return Err(Failure::wrong(format!("{option}: only --live asks a model; add --live, or remove this option")));
    }
    let changed = arguments.in_diff.as_ref().map(read_diff).transpose()?;
    let files = find_tests(&arguments.paths)?;
    let judges = judges(&console.environment, console.color, &files)?;
    let all = suspects(&judges);
    let skips = Skips::new(&judges);
    skips.check(&all, &files)?;
    let is_wanted = |suspect: &&Suspect| {
        let mutant = suspect.shown();
        changed.as_ref().is_none_or(|changed| changed.has(&mutant.file, &mutant.lines))
    };
    let wanted: Vec<&Suspect> = all.iter().filter(is_wanted).collect();
    if arguments.list {
        return finish(&match arguments.format {
            Format::Text => list(&wanted),
            Format::Json => json_array(wanted.iter().map(|suspect| to_json(suspect, None))),
        });
    }
    let mut fates = fates(&console.environment, &wanted, &judges)?;
    if arguments.live {
        let mut left = None;
        for mut bench in Bench::new(console, &arguments.paths, &arguments.measure)?.by_program() {
            bench.budget = left.unwrap_or(bench.budget);
            let measure = (arguments.measure.model.as_deref(), arguments.measure.seed, arguments.k);
            let spent = judge_live(&bench, measure, (&wanted, &judges, &skips), &mut fates)?;
            left = Some(bench.budget.map(|budget| (budget - spent.unwrap_or(0.0)).max(0.0)));
        }
    }
    let with_reason = |(suspect, fate)| Judged { suspect, fate, skipped: skips.of(suspect) };
    let judged: Vec<Judged<'_>> = wanted.into_iter().zip(fates).map(with_reason).collect();
    put(&match arguments.format {
        Format::Text => text(&judged),
        Format::Json => json_array(judged.iter().map(|judged| to_json(judged.suspect, Some(judged)))),
    })?;
    for Judged { fate, skipped, .. } in &judged {
        skipped.map_or(Ok(()), |skipped| check_fate(skipped, fate))?;
    }
    let is_undecided = |judged: &Judged<'_>| matches!(judged.fate, Fate::Undecided(_));
    Ok(match judged.iter().any(Judged::is_missed) {
        true => Exit::Failed,
        false if judged.iter().any(is_undecided) => Exit::TooLittle,
        false => Exit::Finished,
    })
}

fn read_diff(path: &PathBuf) -> Result<ChangedLines, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|cause| Failure::wrong(format!("{name}: cannot read: {cause}; check the path of --in-diff")))?;
    ChangedLines::read(&text).map_err(|why| Failure::wrong(format!("{name}: {why}")))
}
