//! What counted runs say: scores, their intervals, and how sure a difference is (spec `evaluate.md`, section 5). Pure; of
//! chance there is a seed. As JSON they are a public interface: fields are added, never changed or removed.

use std::f64::consts::FRAC_PI_2;

use fastrand::Rng;
use serde::Serialize;

/// Below this a difference is taken to be no chance.
const SIGNIFICANT: f64 = 0.05;

/// Fewer cases decide nothing: chance flips the signs of five to the same side in 2 of 32 ways.
pub const MIN_TO_DECIDE: usize = 6;

/// Half of what an interval leaves out is above it.
const UPPER: f64 = 0.975;

/// The standard normal distribution's quantile of [`UPPER`].
const Z: f64 = 1.959_963_984_540_054;

/// Fewer cases have no interval: their spread says too little.
const MIN_CASES: usize = 5;

/// So many signs are flipped in all ways, more of them at random.
const MAX_EXACT: usize = 16;

/// How often signs or labels are drawn at random.
pub const N_DRAWS: usize = 10_000;

/// What is seen 4 times of 5, in standard errors: 1.96 for the bound, and 0.84 for the 80 %.
const SEEN: f64 = 2.8;

/// Sums that differ by less are equal: they are added in another order.
const ROUNDING: f64 = 1e-9;

/// The valid runs of one case: how many there are, and how many of them passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    #[serde(rename = "passed")]
    n_passed: usize,
    #[serde(rename = "valid")]
    n_valid: usize,
}

/// Where the value lies in 95 of 100 such measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "[f64; 2]")]
pub struct Interval {
    /// Its lower bound.
    pub low: f64,
    /// Its upper bound.
    pub high: f64,
}

impl From<Interval> for [f64; 2] {
    fn from(Interval { low, high }: Interval) -> [f64; 2] {
        [low, high]
    }
}

/// A mean of cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// From 0 to 1.
    pub mean: f64,
    /// Over cases; of a single case over its runs; none: too few cases for one.
    pub interval: Option<Interval>,
}

/// What B has more than A, case by case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// In how many cases both have valid runs.
    #[serde(rename = "cases")]
    pub n_cases: usize,
    /// The mean, from -1 to 1.
    pub mean: f64,
    /// None: too few cases for one.
    pub interval: Option<Interval>,
    /// How often chance alone makes a difference as large.
    pub p: f64,
    /// The difference that as many cases would show 4 times of 5; none: one case has no spread.
    pub detectable: Option<f64>,
}

/// What a difference comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Judgement {
    /// B is better, and it is no chance.
    #[strum(serialize = "better")]
    Better,
    /// B is worse, and it is no chance.
    #[strum(serialize = "worse")]
    Worse,
    /// B is not worse by more than the margin.
    #[strum(serialize = "as good")]
    AsGood,
    /// Too little is known.
    #[strum(serialize = "undecided")]
    Undecided,
}

/// By how much something of B is larger than that of A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio of the geometric means.
    pub ratio: f64,
    /// None: too few cases for one.
    pub interval: Option<Interval>,
}

impl Tally {
    /// So many of so many runs passed; none: that cannot be.
    pub fn new(n_passed: usize, n_valid: usize) -> Option<Tally> {
        (n_passed <= n_valid).then_some(Tally { n_passed, n_valid })
    }

    /// How many runs passed.
    pub fn n_passed(self) -> usize {
        self.n_passed
    }

    /// How many runs were valid.
    pub fn n_valid(self) -> usize {
        self.n_valid
    }

    /// Whether some runs passed and others did not.
    pub fn is_flaky(self) -> bool {
        0 < self.n_passed && self.n_passed < self.n_valid
    }

    /// Which part of the runs passed; none: no run is valid.
    pub fn rate(self) -> Option<f64> {
        (self.n_valid > 0).then(|| count(self.n_passed) / count(self.n_valid))
    }

    /// How likely at least one of `k` runs passes; none: fewer than `k` are valid.
    pub fn any_of(self, k: usize) -> Option<f64> {
        Some(1.0 - drawn(self.n_valid - self.n_passed, self.n_valid, k)?)
    }

    /// How likely all of `k` runs pass; none: fewer than `k` are valid.
    pub fn all_of(self, k: usize) -> Option<f64> {
        drawn(self.n_passed, self.n_valid, k)
    }
}

/// How likely `k` runs drawn of `n` are all among `c` of them: C(c, k) / C(n, k); none if there are not so many.
fn drawn(c: usize, n: usize, k: usize) -> Option<f64> {
    (k <= n).then(|| (0..k).map(|i| count(c.saturating_sub(i)) / count(n - i)).product())
}

fn count(n: usize) -> f64 {
    n as f64
}

/// pass@k: how likely at least one of `k` runs passes, the mean of the cases that have so many valid runs; none if none
/// has.
pub fn pass_at(cases: &[Tally], k: usize) -> Option<f64> {
    mean_of(cases.iter().filter_map(|case| case.any_of(k)))
}

/// pass^k: how likely all of `k` runs pass, the mean of the cases that have so many valid runs; none if none has.
pub fn pass_all(cases: &[Tally], k: usize) -> Option<f64> {
    mean_of(cases.iter().filter_map(|case| case.all_of(k)))
}

/// pass^1 with its interval; none: no run is valid.
pub fn score(cases: &[Tally]) -> Option<Score> {
    let cases: Vec<Tally> = cases.iter().copied().filter(|case| case.n_valid > 0).collect();
    let rates: Vec<f64> = cases.iter().filter_map(|case| case.rate()).collect();
    let mean = mean(&rates)?;
    let interval = match cases[..] {
        [case] => Some(wilson(case)),
        _ => interval(&rates).map(|interval| interval.within(0.0, 1.0)),
    };
    Some(Score { mean, interval })
}

/// What B has more than A, of the same cases in the same order; none: in no case both have a valid run. `seed` draws
/// signs where there are too many for all ways.
pub fn difference(a: &[Tally], b: &[Tally], seed: u64) -> Option<Difference> {
    let pairs = a.iter().zip(b).filter(|(a, b)| a.n_valid > 0 && b.n_valid > 0);
    let (a, b): (Vec<Tally>, Vec<Tally>) = pairs.unzip();
    let differences: Vec<f64> = a.iter().zip(&b).filter_map(|(a, b)| Some(b.rate()? - a.rate()?)).collect();
    let is_single = a.iter().chain(&b).all(|case| case.n_valid == 1);
    let p = if is_single {
        let n_of = |wanted: f64| differences.iter().filter(|&&d| (d - wanted).abs() < ROUNDING).count();
        mcnemar(n_of(1.0), n_of(-1.0))
    } else {
        flipped_signs(&differences, seed)
    };
    Some(Difference {
        n_cases: differences.len(),
        mean: mean(&differences)?,
        interval: interval(&differences).map(|interval| interval.within(-1.0, 1.0)),
        p,
        detectable: standard_error(&differences).map(|error| SEEN * error),
    })
}

impl Difference {
    /// Whether B is sure not to be worse by more than `margin`, as far as intervals make sure.
    pub fn is_within(&self, margin: f64) -> bool {
        self.interval.is_some_and(|interval| interval.low > -margin)
    }

    /// What it comes to. No p proves that two are equal: `as good` is said by the interval.
    pub fn judgement(&self, margin: f64) -> Judgement {
        if self.p < SIGNIFICANT {
            if self.mean > 0.0 { Judgement::Better } else { Judgement::Worse }
        } else if self.is_within(margin) {
            Judgement::AsGood
        } else {
            Judgement::Undecided
        }
    }
}

/// The ratio of B's geometric mean to A's: per case the values of its runs. Values that are not above 0 are left out, and
/// cases that only one has. None: no case is left.
pub fn ratio(a: &[Vec<f64>], b: &[Vec<f64>]) -> Option<Ratio> {
    let log = |values: &Vec<f64>| mean_of(values.iter().filter(|value| **value > 0.0).map(|value| value.ln()));
    let logs: Vec<f64> = a.iter().zip(b).filter_map(|(a, b)| Some(log(b)? - log(a)?)).collect();
    let interval = interval(&logs).map(|Interval { low, high }| Interval { low: low.exp(), high: high.exp() });
    Some(Ratio { ratio: mean(&logs)?.exp(), interval })
}

/// Whether a p tells of more than chance.
pub fn is_significant(p: f64) -> bool {
    p < SIGNIFICANT
}

/// The p of a statistic that `n_as_large` of `n_drawn` random draws reach: the measured one is one of them, so that it is
/// never 0.
pub fn p_of_draws(n_as_large: usize, n_drawn: usize) -> f64 {
    (1.0 + count(n_as_large)) / (1.0 + count(n_drawn))
}

/// Whether a drawn sum is as large as the measured one.
fn is_as_large(drawn: f64, measured: f64) -> bool {
    drawn >= measured - ROUNDING
}

/// How often a sum as far from 0 comes of these values if each has its sign by chance.
fn flipped_signs(values: &[f64], seed: u64) -> f64 {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.abs() > ROUNDING).collect();
    let sum = values.iter().sum::<f64>().abs();
    let signed = |negative: &mut dyn FnMut(usize) -> bool| {
        let signed = values.iter().enumerate().map(|(index, value)| if negative(index) { -value } else { *value });
        signed.sum::<f64>().abs()
    };
    if values.len() <= MAX_EXACT {
        let n_ways = 1_usize << values.len();
        let n_as_large = (0..n_ways).filter(|way| is_as_large(signed(&mut |index| way >> index & 1 == 1), sum)).count();
        return count(n_as_large) / count(n_ways);
    }
    let mut random = Rng::with_seed(seed);
    let n_as_large = (0..N_DRAWS).filter(|_| is_as_large(signed(&mut |_| random.bool()), sum)).count();
    p_of_draws(n_as_large, N_DRAWS)
}

/// McNemar's exact test, two-sided: of `n_up + n_down` cases that changed, each way is as likely as the other.
fn mcnemar(n_up: usize, n_down: usize) -> f64 {
    let n = n_up + n_down;
    // In logarithms: a half to the power of 1,100 is nothing any more.
    let mut log = -count(n) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for i in 0..=n_up.min(n_down) {
        tail += log.exp();
        log += (count(n - i) / count(i + 1)).ln();
    }
    (2.0 * tail).min(1.0)
}

/// Wilson's score interval (E. B. Wilson 1927, <https://doi.org/10.1080/01621459.1927.10502953>) of a case that has runs.
fn wilson(case: Tally) -> Interval {
    let (n, rate) = (count(case.n_valid), count(case.n_passed) / count(case.n_valid));
    let scale = 1.0 + Z * Z / n;
    let center = (rate + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    Interval { low: center - half, high: center + half }.within(0.0, 1.0)
}

/// Student's interval of a mean; none for too few values.
fn interval(values: &[f64]) -> Option<Interval> {
    if values.len() < MIN_CASES {
        return None;
    }
    let (mean, error) = (mean(values)?, standard_error(values)?);
    let half = t_quantile(UPPER, values.len() - 1) * error;
    Some(Interval { low: mean - half, high: mean + half })
}

impl Interval {
    fn within(self, least: f64, most: f64) -> Interval {
        Interval { low: self.low.clamp(least, most), high: self.high.clamp(least, most) }
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(&values.collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// The standard error of a mean, s/√N; none for fewer than two values.
fn standard_error(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / count(values.len() - 1) / count(values.len())).sqrt())
}

/// The value below which a share `p` of Student's t distribution lies, p from 0.5 up to below 1.
///
/// The distribution function is the finite series of Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3
/// and 26.7.4, in the angle θ = atan(t/√ν); it is inverted by bisection.
pub fn t_quantile(p: f64, n_degrees: usize) -> f64 {
    let wanted = 2.0 * p - 1.0;
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // Each halving is a binary digit, of which there are 53.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if t_between(middle, n_degrees) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    count(n_degrees).sqrt() * f64::midpoint(low, high).tan()
}

/// How much of Student's t distribution lies between -t and t, where θ = atan(t/√ν).
fn t_between(theta: f64, n_degrees: usize) -> f64 {
    let (sin, cos) = theta.sin_cos();
    let is_odd = n_degrees % 2 == 1;
    // Terms have the powers 1, 3, 5, … of the cosine if ν is odd, else 0, 2, 4, …; the last one is ν - 2.
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = 0.0;
    let mut power = usize::from(is_odd);
    while power + 2 <= n_degrees {
        sum += term;
        power += 2;
        term *= cos * cos * count(power - 1) / count(power);
    }
    if is_odd { (theta + sin * sum) / FRAC_PI_2 } else { sin * sum }
}
