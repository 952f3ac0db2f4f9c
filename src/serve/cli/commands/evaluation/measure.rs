//! The part that `eval` and `compare` share: which cases, how often, and the runs themselves.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::host::config::Environment;
use crate::host::eval::measured::{Measured, MeasuredCase, Verdict};
use crate::host::eval::schedule::{Attempt, Job, Plan, Progress, Trials};
use crate::host::launch::{Choices, Launch, Workshop};
use crate::serve::cli::commands::evaluation::case::{Case, ENDINGS};
use crate::serve::cli::commands::evaluation::side::Side;
use crate::serve::cli::commands::evaluation::watch::watched;
use crate::serve::cli::commands::test::find;
use crate::serve::cli::machinery::company::{Company, CompanyArguments};
use crate::serve::cli::machinery::console::{Console, Failure};
use crate::serve::cli::machinery::world::workshop;

/// Options of both.
#[derive(Args)]
pub(super) struct MeasureArguments {
    /// The model, as for `run` [default: the configured one]
    #[arg(long, value_name = "ID")]
    pub(super) model: Option<String>,
    #[command(flatten)]
    company: CompanyArguments,
    /// Start no further run once this much is spent, by `[prices]`
    #[arg(long, value_name = "COST", value_parser = cost)]
    budget: Option<f64>,
    /// How many runs to make at the same time
    #[arg(long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// The seed for the order of the runs and for the statistics
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
}

/// Money from above 0 on.
fn cost(text: &str) -> Result<f64, String> {
    let cost = text.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
    cost.ok_or_else(|| "write a number above 0, in the currency of [prices]".to_owned())
}

/// What is measured with.
pub(super) struct Bench<'a> {
    console: &'a Console,
    arguments: &'a MeasureArguments,
    /// What the process has.
    pub(super) workshop: Workshop,
    /// The cases.
    pub(super) cases: Vec<Case>,
    /// Begin no further run once so much is spent.
    pub(super) budget: Option<f64>,
}

impl MeasureArguments {
    /// An option that says who plays or pays.
    pub(super) fn given(&self) -> Option<&'static str> {
        let CompanyArguments { user_model, judge } = &self.company;
        let given = [
            ("--model", self.model.is_some()),
            ("--user-model", user_model.is_some()),
            ("--judge", judge.is_some()),
            ("--budget", self.budget.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

impl<'a> Bench<'a> {
    /// Reads the cases that `paths` mean. Those of which nothing counts are told of and left out.
    pub(super) fn new(
        console: &'a Console,
        paths: &[PathBuf],
        arguments: &'a MeasureArguments,
    ) -> Result<Bench<'a>, Failure> {
        let mut files = Vec::new();
        for path in paths {
            find(path, &ENDINGS, &mut files)?;
        }
        let mut cases: Vec<Case> = Vec::new();
        for file in &files {
            let case = Case::read(file, console.color).map_err(Failure::wrong)?;
            if !case.can_fail() {
                console.warning(&format!(
                    "{} is skipped: it passes whatever the model does; add `## Calls`, `## Variables` or `## Outcome`",
                    case.name()
                ));
            } else if cases.iter().all(|other| other.name() != case.name()) {
                cases.push(case);
            }
        }
        if cases.is_empty() {
            return Err(Failure::wrong(
                "no case found; cases are files `NAME.user.md`, and `NAME.test.md` that expect calls, variables or an \
                 outcome (see docs/evaluating.md)",
            ));
        }
        let CompanyArguments { user_model, judge } = &arguments.company;
        let needs_user_model = cases.iter().find(|case| case.needs_user_model());
        if let (Some(case), None) = (needs_user_model, user_model) {
            return Err(Failure::wrong(format!(
                "{}: a model must play this user; name one with --user-model",
                case.name()
            )));
        }
        let asks_judge = cases.iter().any(Case::asks_judge);
        let asked = [("--user-model", user_model, needs_user_model.is_some()), ("--judge", judge, asks_judge)];
        if let Some((option, ..)) = asked.into_iter().find(|(_, given, is_asked)| given.is_some() && !is_asked) {
            return Err(Failure::wrong(format!("{option}: none of these cases needs it; remove it")));
        }
        if asks_judge && judge.is_none() {
            console.warning("checks that ask a judge stay undecided; name one with --judge");
        }
        // Of the environment what says which model it is, and where.
        let Environment { api_key, base_url, model, local_ports, .. } = console.environment.clone();
        let environment = Environment { api_key, base_url, model, local_ports, ..Environment::default() };
        let workshop = Workshop { environment, secrets: console.secrets.clone(), ..workshop(console) };
        Ok(Bench { console, arguments, workshop, cases, budget: arguments.budget })
    }

    /// The same for each program by itself.
    pub(super) fn by_program(self) -> Vec<Bench<'a>> {
        let Bench { console, arguments, workshop, cases, budget } = self;
        let mut benches: Vec<Bench<'a>> = Vec::new();
        for case in cases {
            match benches.iter_mut().find(|bench| bench.cases[0].program() == case.program()) {
                Some(bench) => bench.cases.push(case),
                None => {
                    benches.push(Bench { console, arguments, workshop: workshop.clone(), cases: vec![case], budget });
                }
            }
        }
        benches
    }

    /// Whether there is a bound to what is spent.
    pub(super) fn is_budgeted(&self) -> bool {
        self.budget.is_some()
    }

    /// Measures the sides, each case `k` times on each; and tells what was spent.
    pub(super) async fn measure(&self, sides: &[Side], k: u32) -> Result<(Vec<Measured>, Option<f64>), Failure> {
        let plan = Plan {
            n_sides: sides.len(),
            n_cases: self.cases.len(),
            k: k as usize,
            seed: self.arguments.seed,
            jobs: self.arguments.jobs,
        };
        let progress = Progress::new(self.budget);
        let launch = Launch::new(self.workshop.clone(), Choices::default());
        let beside = self.cases[0].program();
        let work = async {
            let company = self.arguments.company.open(&launch, &beside, self.is_budgeted()).await?;
            let idle = self.idle(sides, plan, &progress, &company).await?;
            Ok::<_, String>((idle, self.play(sides, plan, &progress, (&company, false)).await?))
        };
        let (idle, trials) = watched(self.console, &progress, work).await?.map_err(Failure::wrong)?;
        let measured = sides.iter().zip(idle).zip(trials).map(|((side, idle), trials)| {
            let cases = self.cases.iter().zip(idle).zip(trials).enumerate();
            let cases = cases.map(|(index, ((case, idle), trials))| MeasuredCase {
                case: case.name(),
                hash: case.hash.clone(),
                program: side.program(index),
                trials,
                idle,
            });
            let cases: Vec<MeasuredCase> = cases.collect();
            let n_made: usize = cases.iter().map(|case| case.trials.len()).sum();
            Measured {
                model: side.models.clone(),
                k,
                seed: plan.seed,
                programs: side.texts.clone(),
                n_missing: plan.k * cases.len() - n_made,
                cases,
            }
        });
        Ok((measured.collect(), progress.spent()))
    }

    /// How each case comes out on each side when nothing is done.
    async fn idle(
        &self,
        sides: &[Side],
        plan: Plan,
        progress: &Progress,
        company: &Company,
    ) -> Result<Vec<Vec<Verdict>>, String> {
        let mut found: Vec<Vec<Verdict>> = Vec::new();
        for side in sides {
            let same = sides.iter().zip(&found).find(|(other, _)| side.has_programs_of(other));
            let verdicts = match same {
                Some((_, verdicts)) => verdicts.clone(),
                None => {
                    let plan = Plan { n_sides: 1, k: 1, ..plan };
                    let idle = Progress::default();
                    let trials = self.play(std::slice::from_ref(side), plan, &idle, (company, true)).await?;
                    // Judges are paid for that, too.
                    progress.pay(idle.spent());
                    let first = trials.into_iter().flatten().map(|trials| trials.first().map(|trial| trial.verdict));
                    first.map(|verdict| verdict.unwrap_or(Verdict::Invalid)).collect()
                }
            };
            found.push(verdicts);
        }
        Ok(found)
    }

    async fn play(
        &self,
        sides: &[Side],
        plan: Plan,
        progress: &Progress,
        (company, is_idle): (&Company, bool),
    ) -> Result<Trials, String> {
        let play = async |job: Job| {
            let cast = sides[job.side].cast(job.case, &self.workshop, company, is_idle);
            let case = &self.cases[job.case];
            match case.play(&cast).await {
                // What is measured already is not to be lost for a server of tools that is away for a moment.
                Err(why) if progress.n_done().0 > 0 && !is_idle => Ok(Attempt::in_vain(why)),
                attempt => attempt.map_err(|why| format!("{}: {why}", case.name())),
            }
        };
        plan.perform(progress, play).await
    }
}
