//! Statistics of counted runs: what scipy says, and what simulations of many measurements show.
//!
//! The cases in `tests/cases/stats/scipy.txt` are made by `tests/third_party/evaluate/cases.py`.

use fastrand::Rng;
use playhouse::host::stats::{
    Interval, Judgement, N_DRAWS, Tally, difference, pass_all, pass_at, ratio, score, t_quantile,
};

fn tallies(text: &str) -> Vec<Tally> {
    let tally = |word: &str| {
        let (passed, valid) = word.split_once('/').unwrap();
        Tally::new(passed.parse().unwrap(), valid.parse().unwrap()).unwrap()
    };
    text.split_whitespace().map(tally).collect()
}

fn bounds(interval: Option<Interval>) -> [Option<f64>; 2] {
    [interval.map(|interval| interval.low), interval.map(|interval| interval.high)]
}

/// What we say of one line of the file.
fn answer(what: &str, rest: &str) -> Vec<Option<f64>> {
    match what {
        "t" => {
            let (p, n_degrees) = rest.split_once(' ').unwrap();
            vec![Some(t_quantile(p.parse().unwrap(), n_degrees.parse().unwrap()))]
        }
        "score" => {
            let score = score(&tallies(rest)).unwrap();
            [vec![Some(score.mean)], bounds(score.interval).to_vec()].concat()
        }
        "pass" => {
            let (k, cases) = rest.split_once(' ').unwrap();
            let (k, cases) = (k.parse().unwrap(), tallies(cases));
            vec![pass_at(&cases, k), pass_all(&cases, k)]
        }
        "difference" => {
            let (a, b) = rest.split_once('>').unwrap();
            let difference = difference(&tallies(a), &tallies(b), 0).unwrap();
            let [low, high] = bounds(difference.interval);
            vec![Some(difference.mean), low, high, Some(difference.p), difference.detectable]
        }
        "ratio" => {
            let side = |text: &str| -> Vec<Vec<f64>> {
                let values = |word: &str| word.split(',').map(|value| value.parse().unwrap()).collect();
                text.split_whitespace().map(values).collect()
            };
            let (a, b) = rest.split_once('>').unwrap();
            let ratio = ratio(&side(a), &side(b)).unwrap();
            [vec![Some(ratio.ratio)], bounds(ratio.interval).to_vec()].concat()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn scipy_says_the_same() {
    let lines = include_str!("../cases/stats/scipy.txt").lines().filter(|line| !line.starts_with('#'));
    let mut n_compared = 0;
    for line in lines {
        let (asked, expected) = line.split_once(" = ").unwrap();
        let (what, rest) = asked.split_once(' ').unwrap();
        let actual = answer(what, rest);
        let expected: Vec<Option<f64>> = expected.split_whitespace().map(|word| word.parse().ok()).collect();
        let is_near = |(actual, expected): (&Option<f64>, &Option<f64>)| match (actual, expected) {
            (Some(actual), Some(expected)) => (actual - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            (actual, expected) => actual == expected,
        };
        assert_eq!(actual.len(), expected.len(), "{line}");
        assert!(actual.iter().zip(&expected).all(is_near), "{line}\nhere: {actual:?}");
        n_compared += 1;
    }
    assert!(n_compared > 100, "{n_compared}");
}

#[test]
fn what_cannot_be_is_none() {
    assert_eq!(Tally::new(3, 2), None);
    assert_eq!(score(&tallies("0/0 0/0")), None);
    assert_eq!(difference(&tallies("0/0 1/1"), &tallies("1/1 0/0"), 0), None);
    assert_eq!(ratio(&[vec![0.0], vec![1.0]], &[vec![1.0], Vec::new()]), None);
    assert_eq!((pass_at(&[], 1), pass_all(&[], 1)), (None, None));
    assert!(tallies("1/2")[0].is_flaky());
    assert!(!tallies("0/2")[0].is_flaky() && !tallies("2/2")[0].is_flaky() && !tallies("0/0")[0].is_flaky());
}

/// With 20 differences of one size the flipped signs are McNemar's test, so the drawn p is near what that counts exactly.
#[test]
fn drawn_signs_are_near_all_signs() {
    let twos = |n_up: usize, n: usize| {
        let of = |passed: bool| if passed { "2/2 " } else { "1/2 " };
        let side = |up: bool| tallies(&(0..n).map(|i| of((i < n_up) == up)).collect::<String>());
        (side(false), side(true))
    };
    let single = |cases: &[Tally]| -> Vec<Tally> {
        cases.iter().map(|case| Tally::new(case.n_passed() - 1, 1).unwrap()).collect()
    };
    for n_up in [10, 13, 15, 17] {
        let (a, b) = twos(n_up, 20);
        let exact = difference(&single(&a), &single(&b), 0).unwrap().p;
        let drawn = difference(&a, &b, 7).unwrap().p;
        let error = (exact * (1.0 - exact) / N_DRAWS as f64).sqrt();
        assert!((drawn - exact).abs() < 4.0 * error + 1e-3, "{n_up}: {drawn}, exactly {exact}");
        assert_eq!(drawn, difference(&a, &b, 7).unwrap().p);
    }
}

#[test]
fn no_p_proves_that_two_are_equal() {
    let judge = |a: &str, b: &str, margin: f64| difference(&tallies(a), &tallies(b), 0).unwrap().judgement(margin);
    let many = |tally: &str, n: usize| vec![tally; n].join(" ");
    assert_eq!(judge(&many("10/10", 8), &many("3/10", 8), 0.05), Judgement::Worse);
    assert_eq!(judge(&many("3/10", 8), &many("10/10", 8), 0.05), Judgement::Better);
    let mixed = "9/10 10/10 9/10 10/10 8/10 10/10 9/10 10/10";
    let other = "10/10 9/10 10/10 9/10 9/10 9/10 10/10 9/10";
    assert_eq!(judge(mixed, other, 0.2), Judgement::AsGood);
    assert_eq!(judge(mixed, other, 0.05), Judgement::Undecided);
    // Too few cases for an interval decide nothing, whatever they show.
    assert_eq!(judge("10/10", "0/10", 1.0), Judgement::Undecided);
    assert!(!difference(&tallies("10/10"), &tallies("10/10"), 0).unwrap().is_within(0.5));
}

/// Measurements of `n_cases` cases, each run `k` times on both sides: A passes as often as its case is easy, B by `loss`
/// less.
struct Simulation {
    n_cases: usize,
    k: usize,
    loss: f64,
}

impl Simulation {
    fn measure(&self, random: &mut Rng) -> (Vec<Tally>, Vec<Tally>) {
        let mut run = |rate: f64| {
            let n_passed = (0..self.k).filter(|_| random.f64() < rate).count();
            Tally::new(n_passed, self.k).unwrap()
        };
        let mut rates = Rng::with_seed(random_seed(self.n_cases, self.k));
        // Half of the cases are easy, the others are spread.
        let rate = |rates: &mut Rng| if rates.bool() { 0.9 + rates.f64() / 10.0 } else { 0.3 + 0.7 * rates.f64() };
        let rates: Vec<f64> = (0..self.n_cases).map(|_| rate(&mut rates)).collect();
        rates.iter().map(|rate| (run(*rate), run(rate - self.loss))).unzip()
    }

    /// The share of measurements of which `tells` is true.
    fn share(&self, n: u64, tells: impl Fn(&[Tally], &[Tally], u64) -> bool) -> f64 {
        let mut random = Rng::with_seed(11);
        let tells = |seed: &u64| {
            let (a, b) = self.measure(&mut random);
            tells(&a, &b, *seed)
        };
        (0..n).filter(tells).count() as f64 / n as f64
    }
}

fn random_seed(n_cases: usize, k: usize) -> u64 {
    (n_cases * 1_000 + k) as u64
}

/// How often a measurement tells of a difference.
fn alarms(n_cases: usize, k: usize, loss: f64, n: u64) -> f64 {
    Simulation { n_cases, k, loss }.share(n, |a, b, seed| difference(a, b, seed).unwrap().p < 0.05)
}

#[test]
fn there_are_few_false_alarms_and_intervals_cover() {
    for (n_cases, k) in [(8, 1), (8, 5), (10, 10), (12, 1), (12, 3)] {
        let equal = Simulation { n_cases, k, loss: 0.0 };
        for bound in [0.05, 0.1, 0.2, 0.5] {
            let share = equal.share(600, |a, b, seed| difference(a, b, seed).unwrap().p <= bound);
            // 600 measurements: three standard errors.
            let error = 3.0 * (bound * (1.0 - bound) / 600.0_f64).sqrt();
            assert!(share <= bound + error, "{n_cases} x {k}: p <= {bound} in {share}");
        }
        let covers = |a: &[Tally], b: &[Tally], _| {
            difference(a, b, 0).unwrap().interval.is_some_and(|Interval { low, high }| low <= 0.0 && high >= 0.0)
        };
        let share = equal.share(600, covers);
        assert!(share > 0.92, "{n_cases} x {k}: covered in {share}");
    }
}

#[test]
fn a_loss_is_found() {
    assert!(alarms(12, 10, 0.3, 200) > 0.9);
    assert!(alarms(12, 1, 0.1, 200) < 0.2);
}

/// The table of docs/evaluating.md: `seeded` runs it.
pub(crate) fn what_can_be_seen() {
    let rows: Vec<&str> = include_str!("../../docs/evaluating.md")
        .lines()
        .skip_while(|line| !line.contains("| no loss |"))
        .skip(2)
        .collect();
    let mut n_rows = 0;
    for row in rows.into_iter().take_while(|line| line.starts_with('|')) {
        let cells: Vec<f64> =
            row.split('|').filter_map(|cell| cell.trim().trim_end_matches(" %").parse().ok()).collect();
        let [n_cases, k] = [cells[0] as usize, cells[1] as usize];
        let seen = [0.0, 0.05, 0.15].map(|loss| (alarms(n_cases, k, loss, 1_000) * 100.0).round());
        assert_eq!(cells[2..], seen, "{row}");
        n_rows += 1;
    }
    assert_eq!(n_rows, 9);
}
