//! Which variables a frame can read, nearest first: the one lookup of names (spec `execution.md`, "Variables").

use std::collections::BTreeSet;
use std::sync::Arc;

use playhouse_lang::program::AgentId;
use playhouse_lang::value::Bounds;

use crate::machine::frame::Frame;
use crate::machine::stack::Stack;
use crate::protocol::{FrameId, Tracked};
use crate::variables::eval::Lookup;
use crate::variables::scope::{Scope, Variable};
use playhouse_lang::expr::LAST_CALL_FAILED;

/// Where a variable is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the frame at this depth.
    Frame(usize),
    /// In what runs inside the frame at this depth.
    Inside(usize),
    /// Among the globals of this agent.
    Globals(AgentId),
}

/// Whose variables can be read.
#[derive(Clone, Copy)]
enum Reads {
    /// Those of an agent's playbooks among the first frames, then the agent's globals. What a plan has set is its own:
    /// nobody above sees it. `with_inside`: also of what runs inside the last of these frames.
    Agent { agent: AgentId, n_frames: usize, with_inside: bool },
    /// Those of the plan at this depth, and no others (spec `plans.md`).
    Plan(usize),
    /// Everybody's globals: nothing is executed, and what is left is looked at.
    AllGlobals,
}

/// The variables that can be read from one place of a session.
#[derive(Clone, Copy)]
pub(crate) struct Visible<'a> {
    stack: &'a Stack,
    reads: Reads,
}

impl<'a> Visible<'a> {
    /// Goes through the scopes, nearest first, until `look` has found something.
    fn search<T>(self, mut look: impl FnMut(Home, &'a Scope) -> Option<T>) -> Option<T> {
        let Stack { frames, globals, .. } = self.stack;
        match self.reads {
            Reads::Agent { agent, n_frames, with_inside } => {
                for (depth, frame) in frames[..n_frames].iter().enumerate().rev() {
                    let Some(frame) = frame.playbook().filter(|frame| frame.core.agent == agent) else { continue };
                    if let Some(inside) = frame.inside.as_ref().filter(|_| with_inside || depth + 1 != n_frames)
                        && let Some(found) = look(Home::Inside(depth), &inside.scope)
                    {
                        return Some(found);
                    }
                    if let Some(found) = look(Home::Frame(depth), &frame.core.scope) {
                        return Some(found);
                    }
                }
                look(Home::Globals(agent), globals.get(agent.0 as usize)?)
            }
            Reads::Plan(depth) => look(Home::Frame(depth), &frames[depth].core().scope),
            Reads::AllGlobals => {
                (0..).map(AgentId).zip(globals).find_map(|(agent, scope)| look(Home::Globals(agent), scope))
            }
        }
    }

    /// The variable that is read by this name, and where it is kept.
    pub(crate) fn find(self, name: &str) -> Option<(Home, &'a Variable)> {
        self.search(|home, scope| Some((home, scope.get(name)?)))
    }

    pub(crate) fn variable(self, name: &str) -> Option<&'a Variable> {
        self.find(name).map(|(_, variable)| variable)
    }

    /// All visible variables, nearest first; of two of a name the nearer.
    pub(crate) fn all(self) -> Vec<(&'a Arc<str>, &'a Variable)> {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        self.search(|_, scope| {
            all.extend(scope.iter().filter(|&(name, _)| seen.insert(name)));
            None::<()>
        });
        all
    }
}

impl Lookup for Visible<'_> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        if name == LAST_CALL_FAILED {
            return self.stack.frames.last().map(|frame| &frame.core().last_call_failed);
        }
        self.variable(name).map(|variable| &variable.value)
    }

    fn bounds(&self) -> Bounds {
        self.stack.settings.bounds()
    }
}

impl Stack {
    /// What the lines of the top frame's agent can read.
    pub(crate) fn reader(&self) -> Visible<'_> {
        self.visible_to(self.core().agent, self.frames.len())
    }

    /// What a playbook of an agent could read if it stood on top of the lowest `n_frames`.
    pub(crate) fn visible_to(&self, agent: AgentId, n_frames: usize) -> Visible<'_> {
        Visible { stack: self, reads: Reads::Agent { agent, n_frames, with_inside: true } }
    }

    /// What can be read at a place; without one, what is left.
    pub(crate) fn visible_at(&self, at: Option<Home>) -> Visible<'_> {
        let reads = match at {
            Some(home @ (Home::Frame(depth) | Home::Inside(depth))) => match &self.frames[depth] {
                Frame::Playbook(frame) => Reads::Agent {
                    agent: frame.core.agent,
                    n_frames: depth + 1,
                    with_inside: home == Home::Inside(depth),
                },
                Frame::Plan(_) => Reads::Plan(depth),
            },
            Some(Home::Globals(_)) | None => Reads::AllGlobals,
        };
        Visible { stack: self, reads }
    }

    /// What a frame can read; without one, or if it has gone, what the top frame can.
    pub(crate) fn seen_from(&self, frame: Option<FrameId>) -> Visible<'_> {
        self.visible_at(frame.and_then(|id| self.home_of(id)).or_else(|| self.top_home()))
    }

    /// Where the variables of a frame are kept, if it is still there.
    pub(crate) fn home_of(&self, id: FrameId) -> Option<Home> {
        let is_inside = |frame: &Frame| frame.inside().is_some_and(|inside| inside.id == id);
        let outside = self.frames.iter().position(|frame| frame.core().id == id).map(Home::Frame);
        outside.or_else(|| self.frames.iter().position(is_inside).map(Home::Inside))
    }

    /// Where the variables of what is executed are kept.
    pub(crate) fn top_home(&self) -> Option<Home> {
        let depth = self.frames.len().checked_sub(1)?;
        Some(if self.frames[depth].inside().is_some() { Home::Inside(depth) } else { Home::Frame(depth) })
    }
}
