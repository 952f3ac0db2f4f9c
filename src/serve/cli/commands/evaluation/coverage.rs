//! `playhouse coverage [PATH…]`: what the tests reach of their programs, and what sessions reach besides.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::host::coverage::{Coverage, reached};
use crate::host::journal::record::Record;
use crate::host::stored::look_at_all;
use crate::host::travel::Run;
use crate::serve::cli::commands::sessions::kept::waited;
use crate::serve::cli::commands::test::{TestArguments, find_tests, run_file};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, count, put};
use crate::serve::cli::machinery::coverage::{Gathered, has_name_of, percent_text, text};
use crate::serve::cli::machinery::runtime::Runtime;
use crate::serve::cli::machinery::world::sessions_place;
use crate::serve::report::TestVerdict;
use crate::serve::report::coverage::{Reported, html, json, lcov};

const EXAMPLES: &str = "\
Examples:
  playhouse coverage shop
  playhouse coverage shop --sessions shop.sqlite      what users reach and no test does
  playhouse coverage shop --fail-under 90
  playhouse coverage shop --format lcov > shop.info   for editors, and for genhtml
  playhouse coverage shop --format html > shop.html";

/// Runs the tests and reports what they reach in their programs: lines, branches, loops, triggers, calls
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CoverageArguments {
    /// Test files, or folders with test files anywhere below
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Also report what stored sessions reached and no test does: a `.sqlite` or `.db` file, a `.jsonl` file, or a
    /// folder of these
    #[arg(long, value_name = "PLACE")]
    sessions: Option<PathBuf>,
    /// The output format: text for people, an LCOV trace file, a self-contained HTML page, or a JSON object for
    /// programs
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    format: CoverageFormat,
    /// Fail if the tests reach less than this percentage of the lines
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_under: Option<f64>,
}

/// For whom coverage is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CoverageFormat {
    Text,
    Lcov,
    Html,
    Json,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse().ok();
    number.filter(|number| (0.0..=100.0).contains(number)).ok_or_else(|| "write a number from 0 to 100".to_owned())
}

/// Performs the command.
pub(crate) fn coverage(console: &Console, arguments: &CoverageArguments) -> Result<Exit, Failure> {
    let files = find_tests(&arguments.paths)?;
    let runtime = Runtime::for_one()?;
    let gathered = RefCell::<Gathered>::default();
    let mut n_failed = 0;
    for path in &files {
        let report = runtime.block_on(run_file(console, &TestArguments::default(), path, Some(&gathered)))?;
        if report.verdict() == TestVerdict::Failed {
            console.warning(&format!("{0} fails; `playhouse test {0}` shows why", path.display()));
            n_failed += 1;
        }
    }
    let gathered = gathered.into_inner();
    let sessions = arguments.sessions.is_some().then(|| of_sessions(console, arguments, &gathered)).transpose()?;
    let reported = Reported { tests: &gathered.coverage, sessions: sessions.as_ref() };
    put(&match arguments.format {
        CoverageFormat::Text => text(reported),
        CoverageFormat::Lcov => lcov(reported),
        CoverageFormat::Html => html(reported),
        CoverageFormat::Json => format!("{}\n", json(reported)),
    })?;
    let lines = gathered.coverage.totals().lines;
    if let Some(wanted) = arguments.fail_under.filter(|wanted| lines.percent() < *wanted) {
        let message = format!("{} of the lines are reached, but --fail-under requires {wanted} %", percent_text(lines));
        return Err(Failure::failed(message));
    }
    Ok(if n_failed > 0 { Exit::Failed } else { Exit::Finished })
}

/// How many of the sessions that are kept have reached what of the programs as they are now.
fn of_sessions(console: &Console, arguments: &CoverageArguments, gathered: &Gathered) -> Result<Coverage, Failure> {
    let place = sessions_place(console, arguments.sessions.as_deref())?;
    let programs = gathered.programs().to_vec();
    let look = move |records: Vec<Record>| {
        let run = Run::stored(records)?;
        let reached = reached(&run);
        let own = programs.iter().filter(|program| has_name_of(&run.program, program));
        Ok(own.map(|program| (program.clone(), reached.once_in(&run.program, program))).collect::<Vec<_>>())
    };
    let mut coverage = Coverage::default();
    let mut n_sessions = 0;
    for (session, looked) in waited(look_at_all(&place, look))?? {
        match looked {
            Ok(found) => {
                n_sessions += usize::from(!found.is_empty());
                found.iter().for_each(|(program, reached)| coverage.add(program, reached));
            }
            Err(error) => console.warning(&format!("session {session} is skipped: {error}")),
        }
    }
    console.remark(&format!("{} of these programs in {}", count(n_sessions, "session"), place.path().display()));
    Ok(coverage)
}
