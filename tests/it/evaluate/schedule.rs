//! The order of runs, what is made again, and when it is enough.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::time::Duration;

use playhouse::host::eval::measured::{Trial, Verdict};
use playhouse::host::eval::schedule::{Attempt, Job, Plan, Progress, Trials};

fn plan(n_sides: usize, n_cases: usize, k: usize, jobs: usize) -> Plan {
    Plan { n_sides, n_cases, k, seed: 3, jobs: NonZeroUsize::new(jobs).unwrap() }
}

fn attempt(verdict: Verdict, cost: f64) -> Attempt {
    let trial = Trial { verdict, why: None, cost: Some(cost), model_ms: None, broken_rule: None, steps: Vec::new() };
    Attempt { trial, cost_of_others: None, is_transient: verdict == Verdict::Invalid }
}

fn n_made(trials: &Trials) -> usize {
    trials.iter().flatten().map(Vec::len).sum()
}

#[test]
fn sides_take_turns_in_a_drawn_order() {
    let jobs = plan(2, 3, 4, 1).jobs();
    assert_eq!(jobs.len(), 24);
    for pair in jobs.chunks(2) {
        assert_eq!((pair[0].side, pair[1].side), (0, 1));
        assert_eq!((pair[0].case, pair[0].round), (pair[1].case, pair[1].round));
    }
    let cases: Vec<usize> = jobs.iter().map(|job| job.case).collect();
    assert!(!cases.is_sorted(), "{cases:?}");
    assert_eq!(jobs, plan(2, 3, 4, 1).jobs());
    assert_ne!(jobs, Plan { seed: 4, ..plan(2, 3, 4, 1) }.jobs());
}

#[tokio::test(start_paused = true)]
async fn so_many_runs_are_made_at_once() {
    let (n_running, n_most) = (Cell::new(0), Cell::new(0));
    let play = async |job: Job| {
        n_running.set(n_running.get() + 1);
        n_most.set(n_most.get().max(n_running.get()));
        // Later rounds are faster, so that runs end in another order than they began.
        tokio::time::sleep(Duration::from_millis(100 - job.round as u64)).await;
        n_running.set(n_running.get() - 1);
        Ok::<_, ()>(attempt(Verdict::Passed, job.round as f64))
    };
    let trials = plan(1, 2, 10, 4).perform(&Progress::default(), play).await.unwrap();
    assert_eq!(n_most.get(), 4);
    let rounds: Vec<Option<f64>> = trials[0][1].iter().map(|trial| trial.cost).collect();
    assert_eq!(rounds, (0..10).map(|round| Some(f64::from(round))).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_came_to_nothing_is_made_again_twice() {
    let seen = RefCell::new(Vec::new());
    // The second round comes to nothing twice, the third one always.
    let play = async |job: Job| {
        seen.borrow_mut().push(job.round);
        let n_before = seen.borrow().iter().filter(|round| **round == job.round).count() - 1;
        let fails = (job.round == 1 && n_before < 2) || job.round == 2;
        Ok::<_, ()>(attempt(if fails { Verdict::Invalid } else { Verdict::Passed }, 1.0))
    };
    let progress = Progress::default();
    let trials = plan(1, 1, 20, 1).perform(&progress, play).await.unwrap();
    let n_of = |wanted: usize| seen.borrow().iter().filter(|round| **round == wanted).count();
    assert_eq!((n_of(0), n_of(1), n_of(2)), (1, 3, 3));
    assert_eq!(trials[0][0].iter().filter(|trial| trial.verdict == Verdict::Invalid).count(), 1);
    // What was made again was paid for, too.
    assert_eq!((progress.n_done(), progress.n_invalid(), progress.spent()), ((20, 20), 1, Some(24.0)));
}

#[tokio::test]
async fn no_run_begins_after_the_budget_is_spent() {
    let progress = Progress::new(Some(5.0));
    let play = async |_: Job| Ok::<_, ()>(attempt(Verdict::Passed, 1.0));
    assert_eq!(n_made(&plan(2, 5, 4, 1).perform(&progress, play).await.unwrap()), 5);
    assert_eq!(progress.spent(), Some(5.0));
}

#[tokio::test]
async fn too_many_invalid_runs_end_it() {
    // Every fifth run is invalid: after 5 of 40 no conclusion is left.
    let n = Cell::new(0);
    let play = async |_: Job| {
        n.set(n.get() + 1);
        let verdict = if n.get() % 5 == 0 { Verdict::Invalid } else { Verdict::Passed };
        Ok::<_, ()>(Attempt { is_transient: false, ..attempt(verdict, 0.0) })
    };
    let progress = Progress::default();
    assert_eq!(n_made(&plan(1, 4, 10, 1).perform(&progress, play).await.unwrap()), 25);
    assert_eq!(progress.n_invalid(), 5);
    // Where nobody is there it ends at once.
    let nobody = async |_: Job| Ok::<_, ()>(attempt(Verdict::Invalid, 0.0));
    assert_eq!(n_made(&plan(1, 100, 10, 1).perform(&Progress::default(), nobody).await.unwrap()), 4);
}

#[tokio::test]
async fn whoever_says_stop_keeps_what_was_made() {
    let progress = Progress::default();
    let play = async |job: Job| {
        if job.round == 2 {
            progress.stop();
        }
        Ok::<_, ()>(attempt(Verdict::Failed, 1.0))
    };
    let trials = plan(1, 1, 100, 1).perform(&progress, play).await.unwrap();
    assert_eq!(n_made(&trials), progress.n_done().0);
    assert!((1..100).contains(&n_made(&trials)));
    assert_eq!(plan(1, 1, 1, 1).perform(&progress, async |_| Err::<Attempt, _>("never played")).await.unwrap(), [[[]]]);
    let error = plan(1, 1, 1, 1).perform(&Progress::default(), async |_| Err::<Attempt, _>("no program")).await;
    assert_eq!(error, Err("no program"));
}
