//! Where the runs of two sides part: ways that are planted, and chance.

use std::sync::Arc;

use fastrand::Rng;
use playhouse::host::eval::part::{Part, Steps, part};

fn way(text: &str) -> Steps {
    text.split_whitespace().map(Arc::from).collect()
}

/// Runs that go one way so often, then another.
fn ways(counted: &[(usize, &str)]) -> Vec<Steps> {
    counted.iter().flat_map(|(n, text)| vec![way(text); *n]).collect()
}

#[test]
fn the_first_place_that_is_no_chance_is_told() {
    let a = ways(&[(10, "R:01 R:04 R:04.01 Refund() finished")]);
    let b = ways(&[(3, "R:01 R:04 R:04.01 Refund() finished"), (7, "R:01 R:04 R:05 finished")]);
    let found = part(&a, &b, 0).unwrap();
    let Part { after, next, a, b, p } = found.clone();
    assert_eq!((after.as_deref(), &*next, a, b), (Some("R:04"), "R:04.01", (10, 10), (3, 10)));
    // Fisher's exact test of 10 of 10 and 3 of 10 says 0.0031.
    assert!((0.001..0.006).contains(&p), "{p}");
    assert!(!found.may_be_chance());
}

#[test]
fn of_what_may_be_chance_the_largest_is_told() {
    let a = ways(&[(3, "R:01 R:02 finished"), (1, "R:01 R:03 finished")]);
    let b = ways(&[(2, "R:01 R:02 finished"), (2, "R:01 R:03 failed:limit")]);
    let found = part(&a, &b, 0).unwrap();
    assert!(found.may_be_chance());
    // After R:03 the outcomes differ always, but of one and two runs.
    assert_eq!((found.after.as_deref(), &*found.next, found.a, found.b), (Some("R:03"), "finished", (1, 1), (0, 2)));
}

#[test]
fn sides_that_go_the_same_ways_part_nowhere() {
    let a = ways(&[(2, "R:01 R:02 finished"), (2, "R:01 R:03 finished")]);
    let b = ways(&[(1, "R:01 R:03 finished"), (1, "R:01 R:02 finished")]);
    assert_eq!(part(&a, &b, 0), None);
    assert_eq!(part(&[], &b, 0), None);
    // They can part at once.
    let found = part(&ways(&[(8, "A:01 finished")]), &ways(&[(8, "B:01 finished")]), 0).unwrap();
    assert_eq!((found.after, &*found.next), (None, "A:01"));
}

/// A run of a program with branches: each is taken by chance, one of them with `rate`.
fn walk(random: &mut Rng, rate: f64) -> Steps {
    let mut steps = way("P:01");
    let branch = |steps: &mut Steps, random: &mut Rng, line: usize, rate: f64| {
        steps.push(format!("P:{line:02}").into());
        if random.f64() < rate {
            steps.push(format!("P:{line:02}.01").into());
        }
    };
    branch(&mut steps, random, 2, 0.5);
    branch(&mut steps, random, 3, rate);
    branch(&mut steps, random, 4, 0.9);
    steps.push("finished".into());
    steps
}

#[test]
fn a_planted_difference_is_found_and_chance_is_not() {
    let mut random = Rng::with_seed(5);
    let mut told = |rate: f64, seed: u64| {
        let a: Vec<Steps> = (0..10).map(|_| walk(&mut random, 0.3)).collect();
        let b: Vec<Steps> = (0..10).map(|_| walk(&mut random, rate)).collect();
        part(&a, &b, seed).filter(|part| !part.may_be_chance())
    };
    let n_alarms = (0..40).filter_map(|seed| told(0.3, seed)).count();
    assert!(n_alarms <= 4, "{n_alarms} of 40 are no chance, and nothing was planted");
    let found: Vec<Part> = (0..40).filter_map(|seed| told(1.0, seed)).collect();
    let is_planted = |part: &&Part| part.after.as_deref() == Some("P:03");
    let n_planted = found.iter().filter(is_planted).count();
    assert!(found.len() >= 25 && n_planted * 10 >= found.len() * 9, "{n_planted} of {}", found.len());
}
