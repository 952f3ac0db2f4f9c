//! `playhouse eval CASE…`: each case is run so often, and counted.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::host::eval::measured::{ENDING, Measured, MeasuredCase, Trial, Verdict};
use crate::host::stats::{pass_all, pass_at, score};
use crate::serve::cli::commands::evaluation::measure::{Bench, MeasureArguments};
use crate::serve::cli::commands::evaluation::side::{Side, Text};
use crate::serve::cli::commands::evaluation::words::{self, heading, maybe};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, put};
use crate::serve::cli::machinery::output::{Format, table, write_whole};
use crate::serve::cli::machinery::runtime::Runtime;

const EXAMPLES: &str = "\
Examples:
  playhouse eval shop --model openai:gpt-4.1-mini
  playhouse eval shop/late.test.md -k 20 --model openai:gpt-4.1-mini --budget 0.50
  playhouse eval shop --model openai:gpt-4.1-mini --out mini.eval.json
  playhouse compare mini.eval.json openai:gpt-4.1 --cases shop";

/// Runs each case several times with a live model and counts how often it passes
///
/// The program gets the user lines of `*.test.md`. Calls, variables and outcomes are compared; the wording is not
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArguments {
    /// Cases, or folders with cases anywhere below
    #[arg(value_name = "CASE", required = true)]
    paths: Vec<PathBuf>,
    /// How many times to run each case
    #[arg(short, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    #[command(flatten)]
    measure: MeasureArguments,
    /// Write the measurements to this file, for `compare`; its name ends in .eval.json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Measures.
pub(crate) fn eval(console: &Console, arguments: &EvalArguments) -> Result<Exit, Failure> {
    let out = arguments.out.as_deref();
    if let Some(out) = out.filter(|out| !out.to_string_lossy().ends_with(ENDING)) {
        return Err(Failure::wrong(format!("--out {}: the name must end in {ENDING}", out.display())));
    }
    let bench = Bench::new(console, &arguments.paths, &arguments.measure)?;
    let (measured, spent) = Runtime::for_one()?.block_on(async {
        let model = arguments.measure.model.as_deref();
        let side = Side::open(&Text::Own(None), &bench.cases, &bench.workshop, model, bench.is_budgeted()).await?;
        bench.measure(&[side], arguments.k).await
    })?;
    let measured = &measured[0];
    if let Some(out) = out {
        write_whole(out, &measured.to_json())?;
    }
    put(&match arguments.format {
        Format::Text => report(measured, spent),
        Format::Json => format!("{}\n", to_json(measured, spent)),
    })?;
    Ok(if measured.is_too_little() { Exit::TooLittle } else { Exit::Finished })
}

fn report(measured: &Measured, spent: Option<f64>) -> String {
    let (tallies, k) = (measured.tallies(), measured.k);
    let heading = heading(tallies.len(), &k.to_string(), measured.n_missing, measured.n_invalid(), spent);
    let mut text = format!("model {}\n{heading}\n", measured.model);
    let mut rows = vec![["pass^1".to_owned(), words::score(score(&tallies))]];
    if k > 1 {
        rows.push([format!("pass^{k}"), maybe(pass_all(&tallies, k as usize))]);
        rows.push([format!("pass@{k}"), maybe(pass_at(&tallies, k as usize))]);
    }
    text.push_str(&table(rows));
    let _ = writeln!(text, "{} of {} pass when nothing is done", measured.n_idle(), tallies.len());
    for (case, tally) in measured.cases.iter().zip(&tallies) {
        if tally.n_passed() == case.trials.len() {
            continue;
        }
        let flaky = if tally.is_flaky() { " (flaky)" } else { "" };
        let _ = writeln!(text, "\n{} {}/{}{flaky}", case.case, tally.n_passed(), tally.n_valid());
        text.push_str(&reasons(case));
    }
    text
}

/// Why runs of a case did not pass: each reason once, with how often it was it.
fn reasons(case: &MeasuredCase) -> String {
    let mut reasons: Vec<(&Trial, usize)> = Vec::new();
    for trial in case.trials.iter().filter(|trial| trial.verdict != Verdict::Passed) {
        match reasons.iter_mut().find(|(known, _)| known.why == trial.why && known.verdict == trial.verdict) {
            Some((_, n)) => *n += 1,
            None => reasons.push((trial, 1)),
        }
    }
    let mut text = String::new();
    for (trial, n) in reasons {
        let _ = writeln!(text, "  {n} {}:", trial.verdict);
        let why = clean(trial.why.as_deref().unwrap_or_default());
        why.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text
}

fn to_json(measured: &Measured, spent: Option<f64>) -> Value {
    let (tallies, k) = (measured.tallies(), measured.k);
    let cases = measured.cases.iter().zip(&tallies).map(|(case, tally)| {
        json!({
            "case": case.case,
            "passed": tally.n_passed(),
            "valid": tally.n_valid(),
            "flaky": tally.is_flaky(),
            "idle": case.idle,
            "runs": case.trials,
        })
    });
    json!({
        "model": measured.model,
        "k": k,
        "seed": measured.seed,
        "not_run": measured.n_missing,
        "invalid": measured.n_invalid(),
        "spent": spent,
        "pass^1": score(&tallies),
        "pass^k": pass_all(&tallies, k as usize),
        "pass@k": pass_at(&tallies, k as usize),
        "idle": measured.n_idle(),
        "cases": cases.collect::<Vec<_>>(),
    })
}
