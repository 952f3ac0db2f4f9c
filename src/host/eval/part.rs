//! Where they part: the first place where the runs of A and of B go other ways (spec `evaluate.md`, section 5).
//!
//! A run is its list of steps: lines, calls, triggers, outcome. The wording counts for nothing. Pure; of chance there is a
//! seed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fastrand::Rng;
use playhouse_lang::analysis::diff::matching::Matching;
use playhouse_lang::program::Program;
use playhouse_vm::protocol::CallKind;

use crate::events::PublicBody;
use crate::stats::{N_DRAWS, is_significant, p_of_draws};
use crate::travel::Run;

/// The way of a run.
pub type Steps = Vec<Arc<str>>;

/// Where the runs of two sides part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The last step that the runs have in common; none: they part at once.
    pub after: Option<Arc<str>>,
    /// Of the steps that come next, the one in which the sides differ most.
    pub next: Arc<str>,
    /// How often it comes next in A, and in how many runs of A that come here.
    pub a: (usize, usize),
    /// The same of B.
    pub b: (usize, usize),
    /// How often chance alone makes a difference as large.
    pub p: f64,
}

impl Part {
    /// Whether it may be chance.
    pub fn may_be_chance(&self) -> bool {
        !is_significant(self.p)
    }
}

/// The steps of a run: `Pay:03` a line, `Refund()` a call of a tool, `Pay:T1 fires` a trigger; last of all the outcome.
#[expect(clippy::wildcard_enum_match_arm, reason = "the way is made of what is named here")]
pub fn steps(run: &Run) -> Steps {
    let mut outcome: Arc<str> = "waits for the user".into();
    let mut steps = Steps::new();
    for event in &run.events {
        match &event.body {
            PublicBody::LineReached {} => {
                steps.extend(event.part().zip(event.line.as_ref()).map(|(part, line)| line_step(part, line)));
            }
            PublicBody::CallQueued { callable, kind: CallKind::Tool, .. } => steps.push(format!("{callable}()").into()),
            PublicBody::TriggerMatched { trigger, .. } => steps.push(trigger_step(trigger)),
            PublicBody::Finished { .. } => outcome = "finished".into(),
            PublicBody::Failed { fault, .. } => outcome = format!("failed: {fault}").into(),
            _ => {}
        }
    }
    steps.push(outcome);
    steps
}

fn line_step(playbook: &str, line: &str) -> Arc<str> {
    format!("{playbook}:{line}").into()
}

fn trigger_step(trigger: &str) -> Arc<str> {
    format!("{trigger} fires").into()
}

/// The text of the line that a step is; none: it is none of the program's.
pub fn line_text<'p>(program: &'p Program, step: &str) -> Option<&'p str> {
    let (name, line) = step.split_once(':')?;
    let playbooks = program.playbooks.iter().filter(|playbook| *playbook.name == *name);
    playbooks.flat_map(|playbook| &playbook.steps).find(|step| *step.label == *line).map(|step| &*step.text)
}

/// What the steps of one program are in another one.
#[derive(Clone, Debug, Default)]
pub struct SameSteps {
    /// By A's step, of lines and triggers; none: B has no such line.
    in_b: HashMap<Arc<str>, Option<Arc<str>>>,
    /// Lines and triggers that B alone has.
    only_b: BTreeSet<Arc<str>>,
}

impl SameSteps {
    /// Compares two programs.
    pub fn new(a: &Program, b: &Program) -> SameSteps {
        let matching = Matching::new(a, b);
        let mut in_b = HashMap::new();
        for playbook in &a.playbooks {
            for step in &playbook.steps {
                let same = matching.playbook(playbook.id).zip(matching.line(playbook.id, step.id));
                let same = same.map(|(id, line)| line_step(&b.playbook(id).name, &b.playbook(id).step(line).label));
                in_b.insert(line_step(&playbook.name, &step.label), same);
            }
            for trigger in &playbook.triggers {
                let same = matching.trigger(trigger.id).map(|same| trigger_step(&b.trigger_name(same)));
                in_b.insert(trigger_step(&a.trigger_name(trigger.id)), same);
            }
        }
        let known: BTreeSet<&Arc<str>> = in_b.values().flatten().collect();
        let lines = b.playbooks.iter().flat_map(|playbook| {
            let triggers = playbook.triggers.iter().map(|trigger| trigger_step(&b.trigger_name(trigger.id)));
            playbook.steps.iter().map(|step| line_step(&playbook.name, &step.label)).chain(triggers)
        });
        let only_b = lines.filter(|step| !known.contains(step)).collect();
        SameSteps { in_b, only_b }
    }

    /// A's steps by the names that they have in B. Those that B cannot take say nothing, and are left out.
    pub fn of_a(&self, steps: &[Arc<str>]) -> Steps {
        steps.iter().filter_map(|step| self.in_b.get(step).map_or(Some(step), Option::as_ref)).cloned().collect()
    }

    /// B's steps without those that A cannot take.
    pub fn of_b(&self, steps: &[Arc<str>]) -> Steps {
        steps.iter().filter(|step| !self.only_b.contains(*step)).cloned().collect()
    }
}

/// The shallowest place where the next step differs and it is no chance; else the place where it differs most. None: A and
/// B go the same ways equally often.
pub fn part(a: &[Steps], b: &[Steps], seed: u64) -> Option<Part> {
    let mut random = Rng::with_seed(seed);
    let runs = a.iter().map(|steps| (Side::A, steps)).chain(b.iter().map(|steps| (Side::B, steps)));
    let mut level = vec![runs.collect::<Vec<_>>()];
    let mut most: Option<(f64, Part)> = None;
    for depth in 0.. {
        let nodes: Vec<Node<'_>> = level.iter().filter_map(|runs| Node::new(runs, depth)).collect();
        if nodes.is_empty() {
            break;
        }
        let found = nodes.iter().filter_map(|node| Some((node.distance(), node.part(&mut random)?)));
        let found: Vec<(f64, Part)> = found.collect();
        let sure = found.iter().filter(|(_, part)| !part.may_be_chance());
        if let Some((_, part)) = sure.min_by(|(_, one), (_, other)| one.p.total_cmp(&other.p)) {
            return Some(part.clone());
        }
        for (distance, part) in found {
            if most.as_ref().is_none_or(|(largest, _)| distance > *largest) {
                most = Some((distance, part));
            }
        }
        level = nodes.into_iter().flat_map(|node| node.branches.into_values()).collect();
    }
    most.map(|(_, part)| part)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// A run that comes to a node, and whose it is.
type Comer<'s> = (Side, &'s Steps);

/// A node of the prefix tree: runs that have taken the same steps so far.
struct Node<'s> {
    after: Option<&'s Arc<str>>,
    /// By the next step.
    branches: BTreeMap<&'s Arc<str>, Vec<Comer<'s>>>,
    n_a: usize,
    n_b: usize,
}

impl<'s> Node<'s> {
    /// The node of runs whose first `depth` steps are the same; none: nothing can be compared there.
    fn new(runs: &[Comer<'s>], depth: usize) -> Option<Node<'s>> {
        let mut branches: BTreeMap<&Arc<str>, Vec<Comer<'s>>> = BTreeMap::new();
        let (mut n_a, mut n_b) = (0, 0);
        for &(side, steps) in runs {
            // The last step is the outcome, and after it comes nothing.
            branches.entry(steps.get(depth)?).or_default().push((side, steps));
            *(if side == Side::A { &mut n_a } else { &mut n_b }) += 1;
        }
        let after = runs.first().and_then(|(_, steps)| depth.checked_sub(1).and_then(|last| steps.get(last)));
        (n_a > 0 && n_b > 0).then_some(Node { after, branches, n_a, n_b })
    }

    /// Per next step how often it comes in A and in B.
    fn counts(&self) -> Vec<(usize, usize)> {
        let n_of_a = |comers: &Vec<Comer<'_>>| comers.iter().filter(|(side, _)| *side == Side::A).count();
        self.branches.values().map(|comers| (n_of_a(comers), comers.len() - n_of_a(comers))).collect()
    }

    /// The total variation of the next step: from 0 (equally often) to 1 (never the same).
    fn distance(&self) -> f64 {
        self.gaps(&self.counts()) as f64 / (2 * self.n_a * self.n_b) as f64
    }

    /// By how much the share of A and the share of B differ that take a step, in parts of `n_a * n_b`: so that equal gaps
    /// are equal.
    fn gap(&self, (of_a, of_b): (usize, usize)) -> usize {
        (of_a * self.n_b).abs_diff(of_b * self.n_a)
    }

    /// That of all steps together.
    fn gaps(&self, counts: &[(usize, usize)]) -> usize {
        counts.iter().map(|count| self.gap(*count)).sum()
    }

    /// What the sides differ in here, if they do.
    fn part(&self, random: &mut Rng) -> Option<Part> {
        let counts = self.counts();
        // Of two that differ as much, the one that A takes more often.
        let steps = self.branches.keys().zip(&counts);
        let (next, (of_a, of_b)) = steps.max_by_key(|(_, count)| (self.gap(**count), count.0))?;
        (self.gap((*of_a, *of_b)) > 0).then(|| Part {
            after: self.after.cloned(),
            next: (*next).clone(),
            a: (*of_a, self.n_a),
            b: (*of_b, self.n_b),
            p: self.chance(&counts, random),
        })
    }

    /// How often labels that are dealt out by chance differ as much.
    fn chance(&self, counts: &[(usize, usize)], random: &mut Rng) -> f64 {
        let measured = self.gaps(counts);
        let mut labels: Vec<usize> =
            counts.iter().enumerate().flat_map(|(index, (of_a, of_b))| vec![index; of_a + of_b]).collect();
        let draw = |_: &usize| {
            random.shuffle(&mut labels);
            let mut drawn: Vec<(usize, usize)> = counts.iter().map(|(of_a, of_b)| (0, of_a + of_b)).collect();
            // The first ones are A's.
            for &index in &labels[..self.n_a] {
                drawn[index].0 += 1;
                drawn[index].1 -= 1;
            }
            self.gaps(&drawn) >= measured
        };
        let n_as_large = (0..N_DRAWS).filter(draw).count();
        p_of_draws(n_as_large, N_DRAWS)
    }
}
