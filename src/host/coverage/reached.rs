//! One run, counted.

use std::collections::HashMap;

use playhouse_lang::analysis::chart::{Count, Part, Taken};
use playhouse_lang::analysis::diff::matching::Matching;
use playhouse_lang::plan::PlanId;
use playhouse_lang::program::flow_graph::Edge;
use playhouse_lang::program::{Playbook, PlaybookId, Program, Step, StepId, TriggerId, TriggerKind};
use playhouse_vm::protocol::{CallKind, FrameOrigin, Ruling};

use crate::events::{PublicBody, PublicEvent};
use crate::travel::Run;

use super::edges::ways;
use super::frames::Frames;
use super::way::{Took, Way};

/// What was reached of a program, and how often, by its ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reached {
    /// By playbook.
    pub(super) playbooks: Vec<ReachedPlaybook>,
    /// By plan and node.
    pub(super) plans: Vec<ReachedPlan>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReachedPlan {
    pub(super) n_entered: u64,
    pub(super) nodes: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReachedPlaybook {
    pub(super) n_entered: u64,
    pub(super) lines: Vec<ReachedLine>,
    /// By trigger.
    pub(super) triggers: Vec<Ways>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReachedLine {
    pub(super) n: u64,
    pub(super) ways: Ways,
    /// By successor.
    edges: Vec<(Edge, u64)>,
}

/// What can come of something, and how often it did.
pub(super) type Ways = Vec<(Way, u64)>;

/// Counts what a run has reached of the program it began with; after a change of the program nothing counts.
#[expect(clippy::wildcard_enum_match_arm, reason = "counted is what is named here")]
pub fn reached(run: &Run) -> Reached {
    let program = &*run.program;
    let names = Names::new(program);
    let mut reached = Reached::nothing(program);
    let mut frames = Frames::default();
    let mut calls: HashMap<u64, (PlaybookId, StepId)> = HashMap::new();
    for event in &run.events {
        let playbook = names.playbook(event);
        let line = playbook.and_then(|playbook| playbook.find_step(event.line.as_deref()?));
        frames.follow(event, playbook, line, &mut |playbook, step, took| reached.went(playbook.id, step, took));
        match &event.body {
            PublicBody::ProgramChanged { .. } => break,
            PublicBody::FramePushed { origin } => reached.entered(event, playbook, &names, *origin),
            PublicBody::LineReached {} => match (playbook, line) {
                (Some(playbook), Some(line)) => reached.playbooks[playbook.id.0 as usize].lines[line.0 as usize].n += 1,
                _ => reached.node(event, &names),
            },
            PublicBody::CallQueued { call, callable, kind: CallKind::Tool | CallKind::Plan, .. } => {
                if let (Some(playbook), Some(line)) = (playbook, line)
                    && playbook.step(line).call().is_some_and(|site| site.callee == *callable)
                {
                    calls.insert(*call, (playbook.id, line));
                }
            }
            PublicBody::CallFinished { call, error, .. } => {
                if let Some((playbook, line)) = calls.remove(call) {
                    reached.took(playbook, line, if error.is_none() { Way::Returned } else { Way::Failed });
                }
            }
            PublicBody::TriggerMatched { trigger, .. } => reached.judged(names.trigger(event, trigger), true),
            PublicBody::TriggerEvaluated { trigger, ruling: Ruling::NoMatch | Ruling::SameValues, .. } => {
                reached.judged(names.trigger(event, trigger), false);
            }
            _ => {}
        }
    }
    reached
}

/// What can come of a call of a tool or plan at a line; what comes of a playbook is seen in its own lines.
pub(super) fn call_ways(step: &Step) -> &'static [Way] {
    if step.call().is_some_and(|call| call.playbook.is_none()) { &[Way::Returned, Way::Failed] } else { &[] }
}

/// What can come of a trigger. Only conditions and words are judged.
fn trigger_ways(kind: &TriggerKind) -> &'static [Way] {
    if kind.waits_for_updates() { &[Way::Fired, Way::NotFired] } else { &[Way::Fired] }
}

impl Reached {
    /// Nothing of it.
    pub fn nothing(program: &Program) -> Reached {
        let none = |ways: &[Way]| -> Ways { ways.iter().map(|way| (*way, 0)).collect() };
        let line = |playbook: &Playbook, step: &Step| ReachedLine {
            n: 0,
            ways: none(&[&ways(step), call_ways(step)].concat()),
            edges: playbook.flow.successors(step.id).iter().map(|edge| (*edge, 0)).collect(),
        };
        let playbook = |playbook: &Playbook| ReachedPlaybook {
            n_entered: 0,
            lines: playbook.steps.iter().map(|step| line(playbook, step)).collect(),
            triggers: playbook.triggers.iter().map(|trigger| none(trigger_ways(&trigger.kind))).collect(),
        };
        let plans = program.plans.iter().map(|plan| ReachedPlan { n_entered: 0, nodes: vec![0; plan.nodes.len()] });
        Reached { playbooks: program.playbooks.iter().map(playbook).collect(), plans: plans.collect() }
    }

    /// Whether a line was reached.
    pub fn has_line(&self, playbook: PlaybookId, line: StepId) -> bool {
        let found = self.playbooks.get(playbook.0 as usize).and_then(|playbook| playbook.lines.get(line.0 as usize));
        found.is_some_and(|line| line.n > 0)
    }

    /// Whether a trigger has fired, or was judged at all.
    pub fn has_trigger(&self, id: TriggerId, has_fired: bool) -> bool {
        let found = self.playbooks.get(id.playbook.0 as usize).and_then(|found| found.triggers.get(id.index as usize));
        found.is_some_and(|ways| ways.iter().any(|(way, n)| *n > 0 && (*way == Way::Fired || !has_fired)))
    }

    /// A trigger was judged, and has fired or not.
    pub fn judged(&mut self, trigger: Option<TriggerId>, has_fired: bool) {
        let Some(id) = trigger else { return };
        let wanted = if has_fired { Way::Fired } else { Way::NotFired };
        count(&mut self.playbooks[id.playbook.0 as usize].triggers[id.index as usize], wanted);
    }

    /// The same of another text of the program, as far as its parts are still there; each counts once, however often it
    /// was reached: so many sessions have.
    pub fn once_in(&self, old: &Program, new: &Program) -> Reached {
        let matching = Matching::new(old, new);
        let mut mapped = Reached::nothing(new);
        for (id, playbook) in (0..).map(PlaybookId).zip(&self.playbooks) {
            let Some(found) = matching.playbook(id) else { continue };
            let to = &mut mapped.playbooks[found.0 as usize];
            to.n_entered = playbook.n_entered.min(1);
            for (step, line) in (0..).map(StepId).zip(&playbook.lines) {
                let Some(same) = matching.line(id, step) else { continue };
                let same = &mut to.lines[same.0 as usize];
                same.n = line.n.min(1);
                once(&mut same.ways, &line.ways);
            }
            for (index, ways) in (0..).zip(&playbook.triggers) {
                if let Some(same) = matching.trigger(TriggerId { playbook: id, index }) {
                    once(&mut to.triggers[same.index as usize], ways);
                }
            }
        }
        for (id, plan) in (0..).map(PlanId).zip(&self.plans) {
            let Some(found) = matching.plan(id).filter(|_| matching.is_same_plan(id)) else { continue };
            let to = &mut mapped.plans[found.0 as usize];
            to.n_entered = plan.n_entered.min(1);
            to.nodes = plan.nodes.iter().map(|n| (*n).min(1)).collect();
        }
        mapped
    }

    /// How often playbooks and plans were entered, triggers fired, lines reached, and ways gone.
    pub fn taken(&self) -> Taken {
        let count = |n| Count { n, tokens: 0 };
        let mut taken = Taken::default();
        for (id, plan) in (0..).map(PlanId).zip(&self.plans) {
            taken.parts.insert(Part::Plan(id), count(plan.n_entered));
        }
        for (id, playbook) in (0..).map(PlaybookId).zip(&self.playbooks) {
            taken.parts.insert(Part::Playbook(id), count(playbook.n_entered));
            for (index, ways) in (0..).zip(&playbook.triggers) {
                let n = ways.iter().filter(|(way, _)| *way == Way::Fired).map(|(_, n)| n).sum();
                taken.parts.insert(Part::Trigger(TriggerId { playbook: id, index }), count(n));
            }
            for (step, line) in (0..).map(StepId).zip(&playbook.lines) {
                taken.lines.insert((id, step), count(line.n));
                taken.ways.extend(line.edges.iter().map(|(edge, n)| ((id, step, *edge), *n)));
            }
        }
        taken
    }

    fn went(&mut self, playbook: PlaybookId, line: StepId, took: Took) {
        match took {
            Took::Way(way) => self.took(playbook, line, way),
            Took::Edge(edge) => {
                let edges = &mut self.playbooks[playbook.0 as usize].lines[line.0 as usize].edges;
                edges.iter_mut().filter(|(known, _)| *known == edge).for_each(|(_, n)| *n += 1);
            }
        }
    }

    fn took(&mut self, playbook: PlaybookId, line: StepId, way: Way) {
        count(&mut self.playbooks[playbook.0 as usize].lines[line.0 as usize].ways, way);
    }

    fn entered(&mut self, event: &PublicEvent, playbook: Option<&Playbook>, names: &Names<'_>, origin: FrameOrigin) {
        let Some(playbook) = playbook else {
            if let Some(plan) = names.plan(event) {
                self.plans[plan.0 as usize].n_entered += 1;
            }
            return;
        };
        self.playbooks[playbook.id.0 as usize].n_entered += 1;
        // Nobody judges the beginning and the end; they are begun with.
        if matches!(origin, FrameOrigin::Begin) {
            let waits = |kind: &TriggerKind| matches!(kind, TriggerKind::Beginning | TriggerKind::Ending);
            let begun = playbook.triggers.iter().find(|trigger| waits(&trigger.kind));
            self.judged(begun.map(|trigger| trigger.id), true);
        }
    }

    fn node(&mut self, event: &PublicEvent, names: &Names<'_>) {
        let Some(plan) = names.plan(event) else { return };
        let nodes = &names.program.plans[plan.0 as usize].nodes;
        let node = event.line.as_ref().and_then(|label| nodes.iter().position(|node| node.label == *label));
        if let Some(node) = node {
            self.plans[plan.0 as usize].nodes[node] += 1;
        }
    }
}

fn count(ways: &mut Ways, wanted: Way) {
    ways.iter_mut().filter(|(way, _)| *way == wanted).for_each(|(_, n)| *n += 1);
}

fn once(to: &mut Ways, from: &Ways) {
    for (way, n) in to {
        *n = from.iter().find(|(other, _)| other == way).map_or(0, |(_, n)| (*n).min(1));
    }
}

/// What the names in events mean.
pub(crate) struct Names<'p> {
    program: &'p Program,
    /// By agent and playbook.
    playbooks: HashMap<(&'p str, &'p str), &'p Playbook>,
    triggers: HashMap<String, Vec<TriggerId>>,
}

impl<'p> Names<'p> {
    pub(crate) fn new(program: &'p Program) -> Names<'p> {
        let named = |playbook: &'p Playbook| ((&*program.agent(playbook.agent).name, &*playbook.name), playbook);
        let mut triggers: HashMap<String, Vec<TriggerId>> = HashMap::new();
        for trigger in program.playbooks.iter().flat_map(|playbook| &playbook.triggers) {
            triggers.entry(program.trigger_name(trigger.id)).or_default().push(trigger.id);
        }
        Names { program, playbooks: program.playbooks.iter().map(named).collect(), triggers }
    }

    pub(crate) fn playbook(&self, event: &PublicEvent) -> Option<&'p Playbook> {
        self.playbooks.get(&(event.agent.as_deref()?, event.playbook.as_deref()?)).copied()
    }

    /// A plan that a model wrote is none of the program's.
    pub(crate) fn plan(&self, event: &PublicEvent) -> Option<PlanId> {
        self.program.find_plan(event.plan.as_deref()?)
    }

    /// The trigger of this name: of several agents' that of the agent where it was judged.
    fn trigger(&self, event: &PublicEvent, name: &str) -> Option<TriggerId> {
        let found = self.triggers.get(name)?;
        let agent = event.agent.as_deref();
        let is_own = |id: &&TriggerId| {
            let playbook = self.program.playbook(id.playbook);
            agent == Some(&*self.program.agent(playbook.agent).name)
        };
        found.iter().find(is_own).or(found.first()).copied()
    }
}
