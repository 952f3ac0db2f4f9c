//! `playhouse compare A B`: two models, programs, revisions or measurements with the same cases.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::host::eval::compare::{ComparedCase, Comparison};
use crate::host::eval::measured::{Measured, Verdict};
use crate::host::eval::part::Part;
use crate::host::stats::{Difference, Judgement, MIN_TO_DECIDE, Ratio, pass_all, score};
use crate::serve::cli::commands::evaluation::measure::{Bench, MeasureArguments};
use crate::serve::cli::commands::evaluation::side::{Side, Wanted};
use crate::serve::cli::commands::evaluation::words::{self, chance, heading, maybe, number, spread};
use crate::serve::cli::machinery::console::{Console, Exit, Failure, clean, count, put};
use crate::serve::cli::machinery::output::{Format, table};
use crate::serve::cli::machinery::runtime::Runtime;

/// The margin where none is given.
const MARGIN: f64 = 0.05;

/// So many cases are told one by one.
const MAX_CASES: usize = 20;

const EXAMPLES: &str = "\
Examples:
  playhouse compare openai:gpt-4.1 openai:gpt-4.1-mini --cases shop
  playhouse compare rev:HEAD~1 shop/desk.md --cases shop --model openai:gpt-4.1-mini
  playhouse compare old.eval.json new.eval.json --margin 0.05

Exit codes: 0 B is not worse; 1 B is worse, or may be worse than --margin allows; 2 the command or a file is wrong;
4 too little was measured: the budget was spent, or more than a tenth of the runs were invalid.";

/// Compares A and B on the same cases: is B better, worse or as good, and how certain is that?
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArguments {
    /// A model (openai:NAME), a program's file, a git revision (rev:REVISION), or NAME.eval.json from `eval --out`
    a: String,
    /// The other side, in the same forms
    b: String,
    /// Cases, or folders with cases anywhere below; stored measurements bring their own
    #[arg(long, value_name = "PATH", num_args = 1..)]
    cases: Vec<PathBuf>,
    /// How many times to run each case on each side
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// How much worse B may be, from 0 to 1; with this option, it must be certain that B is not worse than that
    /// [default: 0.05, for the wording only]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    #[command(flatten)]
    measure: MeasureArguments,
    /// The output format: text for people, or a JSON object for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1, as in 0.05".to_owned())
}

/// Compares.
pub(crate) fn compare(console: &Console, arguments: &CompareArguments) -> Result<Exit, Failure> {
    let wanted = [Wanted::read(&arguments.a)?, Wanted::read(&arguments.b)?];
    let (measured, spent) = match wanted {
        [Wanted::Measured(a), Wanted::Measured(b)] if arguments.cases.is_empty() => ([*a, *b], None),
        [Wanted::Measured(_), Wanted::Measured(_)] => {
            return Err(Failure::wrong("--cases: both sides are already measured, with their own cases; remove it"));
        }
        wanted => measure(console, arguments, wanted)?,
    };
    let [a, b] = &measured;
    let seed = arguments.measure.seed;
    let comparison = Comparison::new(a, b, seed).map_err(Failure::wrong)?;
    let told = Told { arguments, a, b, comparison: &comparison, spent };
    put(&match arguments.format {
        Format::Text => told.report(),
        Format::Json => format!("{}\n", told.to_json()),
    })?;
    let is_worse = told.judgement() == Some(Judgement::Worse);
    Ok(if a.is_too_little() || b.is_too_little() {
        Exit::TooLittle
    } else if is_worse || told.passes() == Some(false) {
        Exit::Failed
    } else {
        Exit::Finished
    })
}

/// Measures what is not measured already.
fn measure(
    console: &Console,
    arguments: &CompareArguments,
    wanted: [Wanted; 2],
) -> Result<([Measured; 2], Option<f64>), Failure> {
    if arguments.cases.is_empty() {
        return Err(Failure::wrong("name the cases to measure with, as in --cases FOLDER"));
    }
    let bench = Bench::new(console, &arguments.cases, &arguments.measure)?;
    let (fresh, spent) = Runtime::for_one()?.block_on(async {
        let mut sides = Vec::new();
        for wanted in &wanted {
            if let Wanted::Play(text) = wanted {
                let model = arguments.measure.model.as_deref();
                sides.push(Side::open(text, &bench.cases, &bench.workshop, model, bench.is_budgeted()).await?);
            }
        }
        bench.measure(&sides, arguments.k).await
    })?;
    let mut fresh = fresh.into_iter();
    let both = wanted.map(|wanted| match wanted {
        Wanted::Measured(measured) => Some(*measured),
        Wanted::Play(_) => fresh.next(),
    });
    match both {
        [Some(a), Some(b)] => Ok(([a, b], spent)),
        [None, _] | [_, None] => Err(Failure::failed("internal error: a side was not measured; please report this")),
    }
}

/// A comparison, and what is told beside it.
struct Told<'a> {
    arguments: &'a CompareArguments,
    a: &'a Measured,
    b: &'a Measured,
    comparison: &'a Comparison,
    spent: Option<f64>,
}

impl Told<'_> {
    fn margin(&self) -> f64 {
        self.arguments.margin.unwrap_or(MARGIN)
    }

    fn judgement(&self) -> Option<Judgement> {
        Some(self.comparison.difference?.judgement(self.margin()))
    }

    /// Whether the margin that was given is passed; none: none was given.
    fn passes(&self) -> Option<bool> {
        let margin = self.arguments.margin?;
        Some(self.comparison.difference.is_some_and(|difference| difference.is_within(margin)))
    }

    /// The runs that both have.
    fn k(&self) -> u32 {
        self.a.k.min(self.b.k)
    }

    fn report(&self) -> String {
        let Told { a, b, comparison, .. } = *self;
        let times = if a.k == b.k { a.k.to_string() } else { format!("{} and {}", a.k, b.k) };
        let n_invalid = a.n_invalid() + b.n_invalid();
        let heading = heading(a.cases.len(), &times, a.n_missing + b.n_missing, n_invalid, self.spent);
        let mut text = String::new();
        for (letter, name, side) in [("A", &self.arguments.a, a), ("B", &self.arguments.b, b)] {
            let model = if **name == *side.model { String::new() } else { format!(", model {}", side.model) };
            let _ = writeln!(text, "{letter}  {name}{model}");
        }
        let _ = writeln!(text, "{heading}");
        let sides = |name: String, value: &dyn Fn(&Measured) -> String, then: String| [name, value(a), value(b), then];
        let mut rows = vec![["", "A", "B", ""].map(str::to_owned)];
        let verdict = comparison.difference.map_or(String::new(), |difference| self.verdict(&difference));
        rows.push(sides("pass^1".to_owned(), &|side| words::score(score(&side.tallies())), verdict));
        if self.k() > 1 {
            let all = |side: &Measured| maybe(pass_all(&side.tallies(), self.k() as usize));
            rows.push(sides(format!("pass^{}", self.k()), &all, String::new()));
        }
        let idle = |side: &Measured| format!("{} of {}", side.n_idle(), side.cases.len());
        rows.push(sides("nothing done".to_owned(), &idle, String::new()));
        for (name, ratio) in [("cost", comparison.cost), ("time", comparison.time)] {
            rows.extend(ratio.map(|ratio| [name.to_owned(), String::new(), String::new(), ratio_text(&ratio)]));
        }
        text.push_str(&table(rows));
        if let (Some(margin), Some(passes)) = (self.arguments.margin, self.passes()) {
            let _ = writeln!(text, "margin {}: {}", number(margin), if passes { "passed" } else { "not passed" });
        }
        text.push_str(&differing(&comparison.cases));
        text.push_str(&invalid([a, b]));
        text
    }

    /// `−0.07 (−0.13..−0.01), p = 0.021: worse`.
    fn verdict(&self, difference: &Difference) -> String {
        let judgement = difference.judgement(self.margin());
        let spread = spread(difference.mean, difference.interval);
        let next = match difference.detectable {
            _ if judgement != Judgement::Undecided => String::new(),
            Some(seen) if difference.n_cases >= MIN_TO_DECIDE => {
                format!("; a difference of {} would be seen 4 times of 5", number(seen))
            }
            Some(_) | None => format!("; fewer than {MIN_TO_DECIDE} cases are too few to decide"),
        };
        format!("{spread}, {}: {judgement}{next}", chance(difference.p))
    }

    fn to_json(&self) -> Value {
        let Told { a, b, comparison, .. } = *self;
        let side = |name: &str, side: &Measured| {
            json!({
                "name": name,
                "model": side.model,
                "k": side.k,
                "not_run": side.n_missing,
                "invalid": side.n_invalid(),
                "pass^1": score(&side.tallies()),
                "pass^k": pass_all(&side.tallies(), self.k() as usize),
                "idle": side.n_idle(),
            })
        };
        json!({
            "k": self.k(),
            "seed": self.arguments.measure.seed,
            "spent": self.spent,
            "a": side(&self.arguments.a, a),
            "b": side(&self.arguments.b, b),
            "difference": comparison.difference,
            "judgement": self.judgement().map(|judgement| judgement.to_string()),
            "margin": self.margin(),
            "passes": self.passes(),
            "cost": comparison.cost,
            "time": comparison.time,
            "cases": comparison.cases.iter().map(case_json).collect::<Vec<_>>(),
        })
    }
}

/// `×0.80 (0.71..0.90)`.
fn ratio_text(ratio: &Ratio) -> String {
    format!("×{}", spread(ratio.ratio, ratio.interval))
}

/// `late.test.md 10/10 → 3/10; they part at Refund:04 "If the parcel is lost": 04.01 in 10 of 10, in 3 of 10`.
fn case_text(case: &ComparedCase) -> String {
    let ComparedCase { case, a, b, part, line } = case;
    let mut text = format!("{case} {}/{} → {}/{}", a.n_passed(), a.n_valid(), b.n_passed(), b.n_valid());
    if let Some(part) = part {
        let line = line.as_ref().map(|line| format!(" \"{}\"", clean(line)));
        let place = part.after.as_ref().map(|after| format!("at {after}{}", line.unwrap_or_default()));
        let _ = write!(
            text,
            "; they part {}: {} in {} of {}, in {} of {}",
            place.unwrap_or_else(|| "at once".to_owned()),
            next_text(part),
            part.a.0,
            part.a.1,
            part.b.0,
            part.b.1
        );
        text.push_str(if part.may_be_chance() { " (may be chance)" } else { "" });
    }
    text + "\n"
}

/// The cases that do not pass as often in B as in A, the greatest loss first.
fn differing(cases: &[ComparedCase]) -> String {
    let gain = |case: &ComparedCase| Some(case.b.rate()? - case.a.rate()?);
    let mut cases: Vec<&ComparedCase> = cases.iter().filter(|case| case.a.rate() != case.b.rate()).collect();
    cases.sort_by(|one, other| gain(one).partial_cmp(&gain(other)).unwrap_or(Ordering::Equal));
    let mut text: String = cases.iter().take(MAX_CASES).map(|case| case_text(case)).collect();
    if let Some(n_more @ 1..) = cases.len().checked_sub(MAX_CASES) {
        let _ = writeln!(text, "and {}; --format json shows all", count(n_more, "other case"));
    }
    text
}

/// Why runs are invalid, each reason once.
fn invalid(sides: [&Measured; 2]) -> String {
    let trials = sides.into_iter().flat_map(|side| &side.cases).flat_map(|case| &case.trials);
    let invalid = trials.filter(|trial| trial.verdict == Verdict::Invalid);
    let reasons: BTreeSet<&str> = invalid.filter_map(|trial| trial.why.as_deref()?.lines().next()).collect();
    reasons.into_iter().map(|reason| format!("invalid: {}\n", clean(reason))).collect()
}

/// The step; of a line in the same playbook its number alone.
fn next_text(part: &Part) -> &str {
    let here = part.after.as_ref().and_then(|after| after.split_once(':')).map(|(playbook, _)| playbook);
    let next = here.and_then(|here| part.next.strip_prefix(here)?.strip_prefix(':'));
    next.unwrap_or(&part.next)
}

fn case_json(case: &ComparedCase) -> Value {
    let part = case.part.as_ref().map(|part| {
        json!({
            "after": part.after,
            "line": case.line,
            "next": part.next,
            "a": [part.a.0, part.a.1],
            "b": [part.b.0, part.b.1],
            "p": part.p,
        })
    });
    json!({ "case": case.case, "a": case.a, "b": case.b, "part": part })
}
