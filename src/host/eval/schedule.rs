//! The order of runs, how many are made at once, what is made again, and when it is enough (spec `evaluate.md`, section 5).

use std::cell::Cell;
use std::num::NonZeroUsize;

use fastrand::Rng;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::eval::measured::{Trial, Verdict, is_too_many};

/// How often a run is made again that came to nothing.
const MAX_AGAIN: usize = 2;

/// If the first runs are all invalid, so many of them, nobody is there: the key or the address is wrong.
const MAX_IN_VAIN: usize = 4;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many sides there are: what is compared, or one.
    pub n_sides: usize,
    /// How many cases each has.
    pub n_cases: usize,
    /// How often each case is run.
    pub k: usize,
    /// What the order is drawn with.
    pub seed: u64,
    /// How many runs are made at once.
    pub jobs: NonZeroUsize,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Of which side.
    pub side: usize,
    /// Of which case.
    pub case: usize,
    /// Which of the case's runs, from 0.
    pub round: usize,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// As it is counted.
    pub trial: Trial,
    /// What it cost besides, for those who play users and judge; none: nobody does, or it is not known.
    pub cost_of_others: Option<f64>,
    /// Whether it came to nothing for a reason that may be gone the next time: the model could not be reached.
    pub is_transient: bool,
}

/// How far it has come; and the bounds of it.
#[derive(Debug, Default)]
pub struct Progress {
    n_planned: Cell<usize>,
    n_done: Cell<usize>,
    n_failed: Cell<usize>,
    n_invalid: Cell<usize>,
    spent: Cell<Option<f64>>,
    is_stopped: Cell<bool>,
    budget: Option<f64>,
}

/// The runs of all sides, by side and case, in the order of their rounds.
pub type Trials = Vec<Vec<Vec<Trial>>>;

impl Attempt {
    /// One that could not even begin.
    pub fn in_vain(why: String) -> Attempt {
        let trial = Trial {
            verdict: Verdict::Invalid,
            why: Some(why),
            cost: None,
            model_ms: None,
            broken_rule: None,
            steps: Vec::new(),
        };
        Attempt { trial, cost_of_others: None, is_transient: true }
    }
}

impl Plan {
    /// The runs in their order: a round of a case, drawn by chance, on each side (ABAB), so that a server that gets slower or
    /// worse meanwhile does so for all sides.
    pub fn jobs(&self) -> Vec<Job> {
        let rounds = (0..self.n_cases).flat_map(|case| (0..self.k).map(move |round| (case, round)));
        let mut rounds: Vec<(usize, usize)> = rounds.collect();
        Rng::with_seed(self.seed).shuffle(&mut rounds);
        let sides = |(case, round)| (0..self.n_sides).map(move |side| Job { side, case, round });
        rounds.into_iter().flat_map(sides).collect()
    }

    /// Makes the runs, each by `play`; those that are missing at the end were not made for want of money, because somebody
    /// said stop, or because too many are invalid for a conclusion.
    ///
    /// # Errors
    /// The first error of `play`: no run can be made.
    pub async fn perform<E>(
        &self,
        progress: &Progress,
        play: impl AsyncFn(Job) -> Result<Attempt, E>,
    ) -> Result<Trials, E> {
        let jobs = self.jobs();
        progress.n_planned.set(progress.n_planned.get() + jobs.len());
        let mut made: Vec<(Job, Trial)> = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < self.jobs.get() && !progress.is_enough() {
                let Some(job) = jobs.next() else { break };
                running.push(attempt(job, progress, &play));
            }
            let Some(done) = running.next().await else { break };
            let (job, trial) = done?;
            progress.count(trial.verdict);
            made.push((job, trial));
        }
        made.sort_by_key(|(job, _)| job.round);
        let mut trials = vec![vec![Vec::new(); self.n_cases]; self.n_sides];
        for (job, trial) in made {
            trials[job.side][job.case].push(trial);
        }
        Ok(trials)
    }
}

/// Makes one run, again where that may help.
async fn attempt<E>(
    job: Job,
    progress: &Progress,
    play: &impl AsyncFn(Job) -> Result<Attempt, E>,
) -> Result<(Job, Trial), E> {
    let mut n_again = 0;
    loop {
        let Attempt { trial, cost_of_others, is_transient } = play(job).await?;
        progress.pay(trial.cost);
        progress.pay(cost_of_others);
        if !is_transient || n_again == MAX_AGAIN || progress.is_enough() {
            return Ok((job, trial));
        }
        n_again += 1;
    }
}

impl Progress {
    /// Nothing has been made yet, and no more than `budget` is to be spent.
    pub fn new(budget: Option<f64>) -> Progress {
        Progress { budget, ..Progress::default() }
    }

    /// No further run is begun.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    /// How many runs were made, and of how many.
    pub fn n_done(&self) -> (usize, usize) {
        (self.n_done.get(), self.n_planned.get())
    }

    /// How many of them have not passed.
    pub fn n_failed(&self) -> usize {
        self.n_failed.get()
    }

    /// How many of them are invalid.
    pub fn n_invalid(&self) -> usize {
        self.n_invalid.get()
    }

    /// What was spent; none: no price is known.
    pub fn spent(&self) -> Option<f64> {
        self.spent.get()
    }

    /// Something was spent.
    pub fn pay(&self, cost: Option<f64>) {
        if let Some(cost) = cost {
            self.spent.set(Some(self.spent.get().unwrap_or(0.0) + cost));
        }
    }

    fn count(&self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Passed => None,
            Verdict::Failed | Verdict::Undecided => Some(&self.n_failed),
            Verdict::Invalid => Some(&self.n_invalid),
        };
        for counter in counter.into_iter().chain([&self.n_done]) {
            counter.set(counter.get() + 1);
        }
    }

    fn is_enough(&self) -> bool {
        let is_spent = self.budget.zip(self.spent.get()).is_some_and(|(budget, spent)| spent >= budget);
        let n_invalid = self.n_invalid.get();
        let is_in_vain = n_invalid >= MAX_IN_VAIN && n_invalid == self.n_done.get();
        // More runs would not make it a conclusion, and cost.
        self.is_stopped.get() || is_spent || is_in_vain || is_too_many(n_invalid, self.n_planned.get())
    }
}
