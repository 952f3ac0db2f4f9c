//! `playhouse mutants [PATH…]`: whether the tests notice a small mistake in the program.

mod gather;
mod in_diff;
mod judge;
mod report;
mod skip;

use std::path::PathBuf;

use clap::Args;

use self::gather::{Suspect, judges, suspects};
use self::in_diff::ChangedLines;
use self::judge::fates;
use self::report::{Judged, list, text, to_json};
use self::skip::{Skips, check_fate};
use crate::serve::cli::commands::test::find_tests;
use crate::serve::cli::machinery::console::{Console, Exit, Failure, put};
use crate::serve::cli::machinery::output::{Format, json_array};

const EXAMPLES: &str = "\
Examples:
  playhouse mutants shop
  playhouse mutants shop --list                            what there is, without playing any
  git diff main | playhouse mutants shop --in-diff /dev/stdin";

/// Makes small mistakes in programs, one at a time, and plays the tests that come to it: what no test notices no test
/// checks
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MutantsArguments {
    /// Test files, or folders with test files anywhere below
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Only name the mutants
    #[arg(long)]
    list: bool,
    /// Only mutants of lines that this unified diff changes
    #[arg(long, value_name = "FILE")]
    in_diff: Option<PathBuf>,
    /// Judge lines in words, too, with a model
    #[arg(long, requires = "model")]
    live: bool,
    /// The model of --live
    #[arg(long, value_name = "ID", requires = "live")]
    model: Option<String>,
    /// How often --live plays each user
    #[arg(short, value_name = "K", requires = "live", value_parser = clap::value_parser!(u32).range(1..))]
    k: Option<u32>,
    /// For whom: text for people, or an array for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Performs the command.
pub(crate) fn mutants(console: &Console, arguments: &MutantsArguments) -> Result<Exit, Failure> {
    if arguments.live {
        return Err(Failure::wrong(
            "--live: lines in words cannot be judged with a model yet; without --live the rest is judged, and they are \
             named as `needs a model`",
        ));
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
        put(&match arguments.format {
            Format::Text => list(&wanted),
            Format::Json => {
                json_array(&wanted.iter().map(|suspect| to_json(suspect, None).to_string()).collect::<Vec<_>>())
            }
        })?;
        return Ok(Exit::Finished);
    }
    let fates = fates(&console.environment, &wanted, &judges)?;
    let with_reason = |(suspect, fate)| Judged { suspect, fate, skipped: skips.of(suspect) };
    let judged: Vec<Judged<'_>> = wanted.into_iter().zip(fates).map(with_reason).collect();
    put(&match arguments.format {
        Format::Text => text(&judged),
        Format::Json => {
            let told = judged.iter().map(|judged| to_json(judged.suspect, Some(judged)).to_string());
            json_array(&told.collect::<Vec<_>>())
        }
    })?;
    for Judged { fate, skipped, .. } in &judged {
        skipped.map_or(Ok(()), |skipped| check_fate(skipped, fate))?;
    }
    Ok(if judged.iter().any(Judged::is_missed) { Exit::Failed } else { Exit::Finished })
}

fn read_diff(path: &PathBuf) -> Result<ChangedLines, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|cause| Failure::wrong(format!("{name}: cannot read: {cause}; check the path of --in-diff")))?;
    ChangedLines::read(&text).map_err(|why| Failure::wrong(format!("{name}: {why}")))
}
