//! Which parts of two programs are the same: what a session keeps that goes on with another text of its program.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::wording::one_line;
use crate::plan::PlanId;
use crate::program::{AgentId, Playbook, PlaybookId, Program, StepId, TriggerId};

/// So many pairs of lines are compared at most; beyond, a line is the next one of its text.
const MAX_PAIRS: usize = 4_000_000;

/// The parts of an old program and what they are in a new one.
///
/// Agents, playbooks and plans are the same by name; if one agent alone is left on both sides, and a playbook of it,
/// it has been renamed. A line is the same if it has the same text, as deeply nested, and stands in the same order
/// among those that are; a trigger by its text in its playbook. How a text is broken and indented makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    agents: Vec<Option<AgentId>>,
    playbooks: Vec<Option<PlaybookMatch>>,
    plans: Vec<Option<PlanMatch>>,
    n_new_plans: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PlaybookMatch {
    id: PlaybookId,
    /// By the old line.
    lines: Vec<Option<StepId>>,
    /// By the old trigger's index.
    triggers: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlanMatch {
    id: PlanId,
    /// Its text is the same, and with it its nodes.
    is_same: bool,
}

impl Matching {
    /// Compares two programs.
    pub fn new(old: &Program, new: &Program) -> Matching {
        let agents = same_agents(old, new);
        let playbook = |playbook: &Playbook| {
            let agent = agents.get(playbook.agent.0 as usize).copied().flatten()?;
            let found = new.playbooks.iter().find(|other| other.agent == agent && other.name == playbook.name)?;
            Some(PlaybookMatch {
                id: found.id,
                lines: same_lines(playbook, found),
                triggers: same_triggers(playbook, found),
            })
        };
        let playbooks = old.playbooks.iter().map(playbook).collect();
        let plan = |plan: &Arc<crate::plan::Plan>| {
            let id = new.find_plan(&plan.name)?;
            let found = new.plan(id)?;
            let is_same = plan.nodes.len() == found.nodes.len()
                && plan.language() == found.language()
                && old.sources.text(plan.span) == new.sources.text(found.span);
            Some(PlanMatch { id, is_same })
        };
        let plans = old.plans.iter().map(plan).collect();
        Matching { agents, playbooks, plans, n_new_plans: u32::try_from(new.plans.len()).unwrap_or(u32::MAX) }
    }

    /// What an agent of the old program is in the new one.
    pub fn agent(&self, old: AgentId) -> Option<AgentId> {
        self.agents.get(old.0 as usize).copied().flatten()
    }

    /// What a playbook is.
    pub fn playbook(&self, old: PlaybookId) -> Option<PlaybookId> {
        self.find(old).map(|found| found.id)
    }

    /// What a line of a playbook is.
    pub fn line(&self, playbook: PlaybookId, old: StepId) -> Option<StepId> {
        self.find(playbook)?.lines.get(old.0 as usize).copied().flatten()
    }

    /// What a trigger is.
    pub fn trigger(&self, old: TriggerId) -> Option<TriggerId> {
        let found = self.find(old.playbook)?;
        let index = found.triggers.get(old.index as usize).copied().flatten()?;
        Some(TriggerId { playbook: found.id, index })
    }

    /// What a plan is. Those that a model wrote while a session ran have numbers after the program's, and keep their
    /// order.
    pub fn plan(&self, old: PlanId) -> Option<PlanId> {
        match (old.0 as usize).checked_sub(self.plans.len()) {
            Some(written) => u32::try_from(written).ok()?.checked_add(self.n_new_plans).map(PlanId),
            None => self.plans[old.0 as usize].map(|found| found.id),
        }
    }

    /// Whether a plan has the same text, and so the same nodes.
    pub fn is_same_plan(&self, old: PlanId) -> bool {
        match self.plans.get(old.0 as usize) {
            Some(found) => found.is_some_and(|found| found.is_same),
            None => true,
        }
    }

    fn find(&self, old: PlaybookId) -> Option<&PlaybookMatch> {
        self.playbooks.get(old.0 as usize)?.as_ref()
    }
}

fn same_agents(old: &Program, new: &Program) -> Vec<Option<AgentId>> {
    let named = |name: &Arc<str>| new.agents.iter().find(|other| other.name == *name).map(|other| other.id);
    let mut agents: Vec<Option<AgentId>> = old.agents.iter().map(|agent| named(&agent.name)).collect();
    let left_old: Vec<usize> = (0..agents.len()).filter(|&index| agents[index].is_none()).collect();
    let left_new: Vec<AgentId> =
        new.agents.iter().map(|agent| agent.id).filter(|id| !agents.contains(&Some(*id))).collect();
    if let ([index], [renamed]) = (left_old.as_slice(), left_new.as_slice()) {
        let names = |program: &Program, agent: AgentId| -> Vec<Arc<str>> {
            let own = program.playbooks.iter().filter(|playbook| playbook.agent == agent);
            own.map(|playbook| playbook.name.clone()).collect()
        };
        let (before, now) = (names(old, old.agents[*index].id), names(new, *renamed));
        if before.iter().any(|name| now.contains(name)) {
            agents[*index] = Some(*renamed);
        }
    }
    agents
}

fn same_triggers(old: &Playbook, new: &Playbook) -> Vec<Option<u32>> {
    let mut is_taken = vec![false; new.triggers.len()];
    let same = |trigger: &crate::program::Trigger| {
        let text = one_line(&trigger.text);
        let index =
            new.triggers.iter().enumerate().position(|(i, other)| !is_taken[i] && one_line(&other.text) == text)?;
        is_taken[index] = true;
        u32::try_from(index).ok()
    };
    old.triggers.iter().map(same).collect()
}

/// Per old line the new one that it is: a longest common subsequence of texts and depths.
pub(crate) fn same_lines(old: &Playbook, new: &Playbook) -> Vec<Option<StepId>> {
    let mut known = HashMap::new();
    let (old_keys, new_keys) = (keys(old, &mut known), keys(new, &mut known));
    let mut same = vec![None; old_keys.len()];
    let n_front = old_keys.iter().zip(&new_keys).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old_keys[n_front..], &new_keys[n_front..]);
    let n_back = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (n_old, n_new) = (old_rest.len() - n_back, new_rest.len() - n_back);
    let mut pair = |at: usize, with: usize| same[at] = new.steps.get(with).map(|step| step.id);
    (0..n_front).for_each(|index| pair(index, index));
    (0..n_back).for_each(|index| pair(n_front + n_old + index, n_front + n_new + index));
    for (at, with) in common(&old_rest[..n_old], &new_rest[..n_new]) {
        pair(n_front + at, n_front + with);
    }
    same
}

/// A number per line: equal for lines that can be the same.
fn keys(playbook: &Playbook, known: &mut HashMap<(usize, String), usize>) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(playbook.steps.len());
    for step in &playbook.steps {
        // A line stands after the one that it is nested under.
        depths.push(step.parent.and_then(|parent| depths.get(parent.0 as usize)).map_or(0, |depth| depth + 1));
    }
    let lines = playbook.steps.iter().zip(depths);
    lines
        .map(|(step, depth)| {
            let n_known = known.len();
            *known.entry((depth, one_line(&step.text))).or_insert(n_known)
        })
        .collect()
}

/// Pairs of equal elements, both ascending: as many as there can be, if there are not too many to compare.
fn common(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
        new.iter().enumerate().for_each(|(with, key)| places.entry(*key).or_default().push(with));
        let mut from = 0;
        for (at, key) in old.iter().enumerate() {
            let Some(places) = places.get(key) else { continue };
            if let Some(&with) = places.get(places.partition_point(|with| *with < from)) {
                pairs.push((at, with));
                from = with + 1;
            }
        }
        return pairs;
    }
    let width = new.len() + 1;
    // How many pairs there are after the place.
    let mut n_behind = vec![0_u32; (old.len() + 1) * width];
    for at in (0..old.len()).rev() {
        for with in (0..new.len()).rev() {
            n_behind[at * width + with] = if old[at] == new[with] {
                n_behind[(at + 1) * width + with + 1] + 1
            } else {
                n_behind[(at + 1) * width + with].max(n_behind[at * width + with + 1])
            };
        }
    }
    let (mut at, mut with) = (0, 0);
    while at < old.len() && with < new.len() {
        if old[at] == new[with] {
            pairs.push((at, with));
            (at, with) = (at + 1, with + 1);
        } else if n_behind[(at + 1) * width + with] >= n_behind[at * width + with + 1] {
            at += 1;
        } else {
            with += 1;
        }
    }
    pairs
}
