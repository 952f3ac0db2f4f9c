//! Mutants of lines in words: a model plays the cases of their program with the line and without it.

use std::sync::Arc;

use super::gather::{Judge, Suspect};
use super::judge::Fate;
use super::skip::Skips;
use crate::host::eval::compare::{ComparedCase, Comparison};
use crate::host::eval::measured::{Measured, MeasuredCase};
use crate::host::stats::{Judgement, MIN_TO_DECIDE};
use crate::serve::cli::commands::evaluation::measure::Bench;
use crate::serve::cli::commands::evaluation::side::{Side, Text};
use crate::serve::cli::machinery::console::Failure;
use crate::serve::cli::machinery::runtime::Runtime;

/// What stands in the place of a line that is gone. The lines keep their numbers, by which rules name them.
const GONE: &str = "Go on.";

/// Judges the mutants of a program that need a model, with its cases, each played `k` times; `fates` gets what became of
/// them. What was spent; none: prices are not known.
pub(super) fn judge_live(
    bench: &Bench<'_>,
    (model, seed, k): (Option<&str>, u64, u32),
    (suspects, judges, skips): (&[&Suspect], &[Judge], &Skips),
    fates: &mut [Fate],
) -> Result<Option<f64>, Failure> {
    let program = bench.cases[0].program();
    let mut texts = vec![Text::Own(None)];
    let mut judged = Vec::new();
    // What there is a reason for is not paid for.
    let is_wanted =
        |(index, suspect): &(usize, &&Suspect)| fates[*index] == Fate::NeedsModel && skips.of(suspect).is_none();
    for (index, suspect) in suspects.iter().enumerate().filter(is_wanted) {
        let own = suspect.of_programs.iter().map(|(mutant, tests)| (mutant, &judges[tests[0]]));
        let changed = own.filter(|(_, judge)| judge.test.program() == program);
        for changed in changed.filter_map(|(mutant, judge)| mutant.reworded(&judge.text, GONE)).take(1) {
            texts.push(Text::Changed(Arc::new(changed)));
            judged.push(index);
        }
    }
    if judged.is_empty() {
        return Ok(Some(0.0));
    }
    let (measured, spent) = Runtime::for_one()?.block_on(async {
        let mut sides = Vec::new();
        for text in &texts {
            sides.push(Side::open(text, &bench.cases, &bench.workshop, model, bench.is_budgeted()).await?);
        }
        bench.measure(&sides, k).await
    })?;
    let Some((whole, mutants)) = measured.split_first() else { return Ok(spent) };
    for (index, mutant) in judged.into_iter().zip(mutants) {
        fates[index] = fate(whole, mutant, seed)?;
    }
    Ok(spent)
}

/// Caught: fewer runs pass, and not by chance (spec `evaluate.md`, section 5), or a rule is broken that is not without
/// the mistake.
fn fate(whole: &Measured, mutant: &Measured, seed: u64) -> Result<Fate, Failure> {
    let comparison = Comparison::new(whole, mutant, seed).map_err(Failure::wrong)?;
    let rules = |measured: &Measured| -> Vec<Arc<str>> {
        let trials = measured.cases.iter().flat_map(|case| &case.trials);
        trials.filter_map(|trial| trial.broken_rule.clone()).collect()
    };
    let known = rules(whole);
    let breaks = |case: &&MeasuredCase| {
        let mut broken = case.trials.iter().filter_map(|trial| trial.broken_rule.as_ref());
        broken.any(|rule| !known.contains(rule))
    };
    if let Some(case) = mutant.cases.iter().find(breaks) {
        return Ok(Fate::Caught(case.case.as_str().into()));
    }
    let n_cases = comparison.difference.map_or(0, |difference| difference.n_cases);
    if comparison.difference.is_some_and(|difference| difference.judgement(0.0) == Judgement::Worse) {
        let fall = |case: &ComparedCase| case.a.rate().unwrap_or(0.0) - case.b.rate().unwrap_or(0.0);
        let worst = comparison.cases.iter().max_by(|one, other| fall(one).total_cmp(&fall(other)));
        return Ok(Fate::Caught(worst.map(|case| case.case.as_str().into()).unwrap_or_default()));
    }
    let is_too_little = whole.is_too_little() || mutant.is_too_little() || n_cases < MIN_TO_DECIDE;
    Ok(if is_too_little { Fate::Undecided(n_cases) } else { Fate::AsGood(n_cases) })
}
