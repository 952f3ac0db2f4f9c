//! Two measurements side by side: how sure the difference is, what it costs, where the runs of a case part (spec
//! `evaluate.md`, section 5). Pure.

use std::collections::HashMap;
use std::sync::Arc;

use playhouse_lang::program::Program;

use crate::eval::measured::{Measured, MeasuredCase, Trial};
use crate::eval::part::{Part, SameSteps, Steps, line_text, part};
use crate::stats::{Difference, Ratio, Tally, difference, ratio};

/// A comparison of A and B.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// None: in no case both have a valid run.
    pub difference: Option<Difference>,
    /// What runs cost; none: it is not known of both.
    pub cost: Option<Ratio>,
    /// How long the model took; none: it is not known of both.
    pub time: Option<Ratio>,
    /// Case by case, in A's order.
    pub cases: Vec<ComparedCase>,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedCase {
    /// Its file.
    pub case: String,
    /// A's valid runs.
    pub a: Tally,
    /// B's valid runs.
    pub b: Tally,
    /// Where its runs diverge; none: as many pass, or all take the same path.
    pub part: Option<Part>,
    /// The text of the line that [`Part::after`] is, if it is one.
    pub line: Option<String>,
}

/// A and B are not of the same cases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherCases {
    /// One has a case that the other one has not.
    #[error("A and B have different cases: {case} is only in {side}; measure both with the same cases")]
    Only {
        /// The case.
        case: String,
        /// `A` or `B`.
        side: &'static str,
    },
    /// A case was changed between them.
    #[error("{case} changed between A and B, so they cannot be compared; measure both again")]
    Changed {
        /// The case.
        case: String,
    },
}

impl Comparison {
    /// Compares what was measured of the same cases; `seed` is for what is drawn by chance.
    ///
    /// # Errors
    /// The cases are not the same.
    pub fn new(a: &Measured, b: &Measured, seed: u64) -> Result<Comparison, OtherCases> {
        let pairs = pairs(a, b)?;
        let sides = |side: fn(&Pair<'_>) -> Tally| -> Vec<Tally> { pairs.iter().map(side).collect() };
        let values = |value: &dyn Fn(&Trial) -> Option<f64>| {
            let of = |case: &MeasuredCase| case.valid().filter_map(value).collect::<Vec<f64>>();
            let (of_a, of_b): (Vec<_>, Vec<_>) = pairs.iter().map(|(a, b)| (of(a), of(b))).unzip();
            ratio(&of_a, &of_b)
        };
        let ms = |trial: &Trial| trial.model_ms.map(|ms| ms as f64);
        let mut programs = Programs { a, b, known: HashMap::new() };
        Ok(Comparison {
            difference: difference(&sides(|(a, _)| a.tally()), &sides(|(_, b)| b.tally()), seed),
            cost: values(&|trial| trial.cost),
            time: values(&ms),
            cases: pairs.iter().map(|pair| programs.compare(pair, seed)).collect(),
        })
    }
}

/// A case as A and as B has it.
type Pair<'m> = (&'m MeasuredCase, &'m MeasuredCase);

/// The cases in A's order.
fn pairs<'m>(a: &'m Measured, b: &'m Measured) -> Result<Vec<Pair<'m>>, OtherCases> {
    let find =
        |measured: &'m Measured, case: &MeasuredCase| measured.cases.iter().find(|other| other.case == case.case);
    let only = |case: &MeasuredCase, side| OtherCases::Only { case: case.case.clone(), side };
    if let Some(case) = b.cases.iter().find(|case| find(a, case).is_none()) {
        return Err(only(case, "B"));
    }
    let pair = |case: &'m MeasuredCase| {
        let other = find(b, case).ok_or_else(|| only(case, "A"))?;
        if case.hash == other.hash { Ok((case, other)) } else { Err(OtherCases::Changed { case: case.case.clone() }) }
    };
    a.cases.iter().map(pair).collect()
}

/// The programs of A and B, by their places in the lists: B's, and what A's steps are in it. Loaded where they are needed.
struct Programs<'m> {
    a: &'m Measured,
    b: &'m Measured,
    known: HashMap<(usize, usize), (Program, SameSteps)>,
}

impl Programs<'_> {
    fn compare(&mut self, (a, b): &Pair<'_>, seed: u64) -> ComparedCase {
        let tallies = (a.tally(), b.tally());
        let (part, line) = if tallies.0.rate() == tallies.1.rate() { (None, None) } else { self.part(a, b, seed) };
        ComparedCase { case: a.case.clone(), a: tallies.0, b: tallies.1, part, line }
    }

    fn part(&mut self, a: &MeasuredCase, b: &MeasuredCase, seed: u64) -> (Option<Part>, Option<String>) {
        let (texts_a, texts_b) = (&self.a.programs[a.program], &self.b.programs[b.program]);
        let (program, same) = self.known.entry((a.program, b.program)).or_insert_with(|| {
            let program = texts_b.load(&[]).program;
            let same = match texts_a == texts_b {
                true => SameSteps::default(),
                false => SameSteps::new(&texts_a.load(&[]).program, &program),
            };
            (program, same)
        });
        let ways = |case: &MeasuredCase, of: &dyn Fn(&[Arc<str>]) -> Steps| -> Vec<Steps> {
            case.valid().map(|trial| of(&trial.steps)).collect()
        };
        let part = part(&ways(a, &|steps| same.of_a(steps)), &ways(b, &|steps| same.of_b(steps)), seed);
        let line = part.as_ref().and_then(|part| line_text(program, part.after.as_ref()?)).map(str::to_owned);
        (part, line)
    }
}
