//! Which variables a frame can read, nearest first: the one lookup of names (spec `execution.md`, "Variables").

use std::collections::BTreeSet;
use std::sync::Arc;

use playhouse_lang::program::AgentId;
use playhouse_lang::value::Bounds;

use crate::machine::frame::Frame;
use crate::protocol::Tracked;
use crate::variables::eval::Lookup;
use crate::variables::scope::{Scope, Variable};

/// Where a variable is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the frame at this depth.
    Frame(usize),
    /// In what runs inside the frame at this depth.
    Inside(usize),
    /// Among the others of this agent.
    Others(AgentId),
}

/// Whose variables can be read.
#[derive(Clone, Copy)]
enum Reads {
    /// Those of an agent's playbooks, then the agent's others. What a plan has set is its own: nobody above sees it.
    /// `with_inside`: also of what runs inside the last frame.
    Agent { agent: AgentId, with_inside: bool },
    /// Those of the plan that is the last frame, and no others (spec `plans.md`).
    Plan,
    /// Everybody's others: nothing is executed, and what is left is looked at.
    AllOthers,
}

/// The variables that can be read from one place of a session.
#[derive(Clone, Copy)]
pub(crate) struct Visible<'a> {
    /// Up to the one that reads.
    frames: &'a [Frame],
    others: &'a [Scope],
    bounds: Bounds,
    reads: Reads,
}

impl<'a> Visible<'a> {
    /// What a playbook of an agent can read that stands on top of `frames`.
    pub(crate) fn to_agent(frames: &'a [Frame], others: &'a [Scope], bounds: Bounds, agent: AgentId) -> Visible<'a> {
        Visible { frames, others, bounds, reads: Reads::Agent { agent, with_inside: true } }
    }

    /// What can be read at a place; without one, what is left.
    pub(crate) fn at(frames: &'a [Frame], others: &'a [Scope], bounds: Bounds, at: Option<Home>) -> Visible<'a> {
        let (frames, reads) = match at {
            Some(home @ (Home::Frame(depth) | Home::Inside(depth))) => {
                let reads = match &frames[depth] {
                    Frame::Playbook(frame) => {
                        Reads::Agent { agent: frame.core.agent, with_inside: home == Home::Inside(depth) }
                    }
                    Frame::Plan(_) => Reads::Plan,
                };
                (&frames[..=depth], reads)
            }
            Some(Home::Others(_)) | None => (&frames[..0], Reads::AllOthers),
        };
        Visible { frames, others, bounds, reads }
    }

    /// The scopes, nearest first.
    fn scopes(self) -> impl Iterator<Item = (Home, &'a Scope)> {
        let top = self.frames.len().checked_sub(1);
        let first = match self.reads {
            Reads::Plan => top.unwrap_or(0),
            Reads::Agent { .. } | Reads::AllOthers => 0,
        };
        let is_read = move |frame: &Frame| match self.reads {
            Reads::Agent { agent, .. } => frame.playbook().is_some() && frame.core().agent == agent,
            Reads::Plan | Reads::AllOthers => true,
        };
        let sees_inside = move |depth| match self.reads {
            Reads::Agent { with_inside, .. } => with_inside || Some(depth) != top,
            Reads::Plan | Reads::AllOthers => false,
        };
        let frames = (first..self.frames.len()).rev().map(move |depth| (depth, &self.frames[depth]));
        let others = (0..).map(AgentId).zip(self.others).filter(move |(id, _)| match self.reads {
            Reads::Agent { agent, .. } => *id == agent,
            Reads::Plan => false,
            Reads::AllOthers => true,
        });
        frames
            .filter(move |(_, frame)| is_read(frame))
            .flat_map(move |(depth, frame)| {
                let inside = frame.inside().filter(|_| sees_inside(depth));
                let inside = inside.map(|inside| (Home::Inside(depth), &inside.scope));
                inside.into_iter().chain([(Home::Frame(depth), &frame.core().scope)])
            })
            .chain(others.map(|(agent, scope)| (Home::Others(agent), scope)))
    }

    /// The variable that is read by this name, and where it is kept.
    pub(crate) fn find(self, name: &str) -> Option<(Home, &'a Variable)> {
        self.scopes().find_map(|(home, scope)| Some((home, scope.get(name)?)))
    }

    pub(crate) fn variable(self, name: &str) -> Option<&'a Variable> {
        self.find(name).map(|(_, variable)| variable)
    }

    /// All visible variables, nearest first; of two of a name the nearer.
    pub(crate) fn all(self) -> Vec<(&'a Arc<str>, &'a Variable)> {
        let mut seen = BTreeSet::new();
        self.scopes().flat_map(|(_, scope)| scope.iter()).filter(|&(name, _)| seen.insert(name)).collect()
    }
}

impl Lookup for Visible<'_> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.variable(name).map(|variable| &variable.value)
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}
