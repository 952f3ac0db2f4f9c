//! Reading and writing variables as one frame sees them, and forgetting what is stale
//! (spec `execution.md`, "Variables").

use std::collections::BTreeSet;
use std::sync::Arc;

use playhouse_lang::program::{AgentId, PlaybookId, TriggerKind, Type};
use playhouse_lang::value::{Origin, Tracked, Value};

use crate::Machine;
use crate::eval::Lookup;
use crate::fault::FaultKind;
use crate::frame::Frame;
use crate::protocol::{Fact, FrameId, USER_MESSAGE};
use crate::scope::{Change, Scope, Stamp, Variable};

/// The variables that a frame of an agent can read on top of the stack.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    machine: &'a Machine,
    agent: AgentId,
}

impl<'a> Reader<'a> {
    fn scopes(self) -> impl Iterator<Item = &'a Scope> {
        let others = self.machine.others.get(self.agent.0 as usize);
        // What a plan has set is its own: nobody above sees it.
        let frames = self.machine.frames.iter().rev().filter_map(Frame::playbook);
        let own = frames.filter(move |frame| frame.core.agent == self.agent);
        own.map(|frame| &frame.core.scope).chain(others)
    }

    pub(crate) fn variable(self, name: &str) -> Option<&'a Variable> {
        self.scopes().find_map(|scope| scope.get(name))
    }

    /// All visible variables, nearest first; of two of a name the nearer.
    pub(crate) fn all(self) -> Vec<(&'a Arc<str>, &'a Variable)> {
        let mut seen = BTreeSet::new();
        self.scopes().flat_map(Scope::iter).filter(|&(name, _)| seen.insert(name)).collect()
    }
}

impl Lookup for Reader<'_> {
    fn lookup(&self, name: &str) -> Option<&Tracked> {
        self.variable(name).map(|variable| &variable.value)
    }
}

impl Machine {
    /// What the top frame can read.
    pub(crate) fn reader(&self) -> Reader<'_> {
        self.reader_of(self.core().agent)
    }

    /// What a frame of an agent could read if it stood on top.
    pub(crate) fn reader_of(&self, agent: AgentId) -> Reader<'_> {
        Reader { machine: self, agent }
    }

    /// The type a name was declared with, as the lines of `playbook` see it.
    pub(crate) fn type_of(&self, playbook: PlaybookId, name: &str) -> Option<Type> {
        let playbook = self.program.playbook(playbook);
        if let Some(parameter) = playbook.parameters.iter().find(|parameter| &*parameter.name == name) {
            return Some(parameter.ty);
        }
        let declared = &self.program.agent(playbook.agent).variables;
        if let Some(declared) = declared.iter().find(|declared| &*declared.name == name) {
            return Some(declared.ty);
        }
        playbook.types.get(name).copied()
    }

    /// Sets a variable as the top frame: an own name in the frame, any other where reading finds it, else in
    /// the frame. The value's type has been checked. Answers false if a limit ended the session.
    pub(crate) fn set_variable(&mut self, name: &Arc<str>, value: Tracked) -> bool {
        let n_bytes = size_of(&value.value);
        if n_bytes > self.settings.value_bytes {
            self.fail(
                FaultKind::Limit,
                format!(
                    "${name} would be {n_bytes} bytes of JSON, more than the limit `value_bytes` of {}; keep large \
                     texts in files, or raise the limit",
                    self.settings.value_bytes
                ),
            );
            return false;
        }
        let depth = self.frames.len() - 1;
        let frame = self.top();
        let (agent, playbook) = (frame.core.agent, frame.playbook);
        let value = self.keep_secret(agent, name, value);
        let is_own = self.program.playbook(playbook).own.contains(name);
        let found = if is_own {
            None
        } else {
            (0..=depth).rev().find(|&at| {
                let frame = self.frames[at].playbook();
                frame.is_some_and(|frame| frame.core.agent == agent && frame.core.scope.contains(name))
            })
        };
        let in_others = !is_own && found.is_none() && self.others[agent.0 as usize].contains(name);
        let local = !in_others && found.is_none_or(|at| at == depth);
        let change = self.change(Some(depth), false);
        let scope = if in_others {
            &mut self.others[agent.0 as usize]
        } else {
            &mut self.frames[found.unwrap_or(depth)].core_mut().scope
        };
        let (value, old) = scope.set(name, value, change);
        self.top_mut().note_set(name, change.stamp);
        self.report_set(agent, name, &value, old.as_ref(), local);
        true
    }

    /// Sets one of the top frame's parameters or loop variables.
    pub(crate) fn bind_variable(&mut self, name: &Arc<str>, value: Tracked, is_update: bool) {
        let change = self.change(Some(self.frames.len() - 1), true);
        let (value, old) = self.core_mut().scope.set(name, value, change);
        if is_update {
            self.report_set(self.core().agent, name, &value, old.as_ref(), true);
        }
    }

    /// Sets one of an agent's others, as the world does.
    pub(crate) fn set_other(&mut self, agent: AgentId, name: &str, value: Tracked) {
        let (value, old) = self.set_other_silently(agent, name, value);
        self.report_set(agent, &name.into(), &value, old.as_ref(), false);
    }

    /// A variable of an agent has been set: watchers are told, triggers judged. What the top frame cannot see, for
    /// another agent's playbook is running, is no update for its agent's triggers.
    fn report_set(&mut self, agent: AgentId, name: &Arc<str>, value: &Tracked, old: Option<&Tracked>, local: bool) {
        let (new, shown) = (value.clone(), old.map(Tracked::shown));
        self.report(Fact::VariableSet { name: name.clone(), value: new, old: shown, local });
        if self.frames.last().is_some_and(|top| top.core().agent == agent) {
            self.updated(name, old, value);
        }
    }

    pub(crate) fn set_other_silently(
        &mut self,
        agent: AgentId,
        name: &str,
        value: Tracked,
    ) -> (Tracked, Option<Tracked>) {
        let value = self.keep_secret(agent, name, value);
        let change = self.change(None, false);
        self.others[agent.0 as usize].set(&name.into(), value, change)
    }

    /// A value for a variable that is declared secret is secret, whoever gives it, also the first.
    fn keep_secret(&self, agent: AgentId, name: &str, value: Tracked) -> Tracked {
        Tracked { secret: value.secret || self.is_declared_secret(agent, name), ..value }
    }

    pub(crate) fn is_declared_secret(&self, agent: AgentId, name: &str) -> bool {
        self.program.agent(agent).variables.iter().any(|declared| declared.secret && &*declared.name == name)
    }

    /// A change that is made now, by the line of the frame at `depth` or by the world.
    fn change(&mut self, depth: Option<usize>, binds: bool) -> Change {
        let at = depth.map(|depth| self.frames[depth].location());
        let turn = self.turn.as_ref().filter(|_| depth.is_some()).map(|turn| turn.id);
        Change { stamp: self.next_stamp(), at, turn, binds }
    }

    /// A debugger's edit.
    pub(crate) fn handle_edited(&mut self, frame: Option<FrameId>, name: &Arc<str>, value: Value) {
        let value = Tracked::new(value, Origin::CODE);
        let depth = frame.and_then(|id| self.frames.iter().position(|frame| frame.core().id == id));
        match (depth, frame) {
            (Some(depth), _) => {
                let change = self.change(None, false);
                let frame = self.frames[depth].core_mut();
                let (agent, (value, old)) = (frame.agent, frame.scope.set(name, value, change));
                self.report_set(agent, name, &value, old.as_ref(), true);
            }
            // The frame has gone meanwhile: a stale id is ignored.
            (None, Some(_)) => {}
            (None, None) => {
                let agent = self.frames.last().map_or(AgentId(0), |frame| frame.core().agent);
                if !self.others.is_empty() {
                    self.set_other(agent, name, value);
                }
            }
        }
    }

    /// The names were read: they are not the longest unused any more.
    pub(crate) fn touch<'n>(&mut self, names: impl Iterator<Item = &'n Arc<str>>) {
        let Some(agent) = self.frames.last().map(|frame| frame.core().agent) else { return };
        let stamp = self.next_stamp();
        for name in names {
            if let Some(variable) = self.others[agent.0 as usize].get_mut(name) {
                variable.used = stamp;
            }
        }
    }

    /// Removes the others that no line can want any more (spec `execution.md`, "Stale others are removed").
    /// Called after a pop, when nothing else has changed what is reachable.
    pub(crate) fn remove_stale(&mut self) {
        self.remove_others(false);
    }

    /// A frame has given its place to the playbook it called last: that could have seen all its variables, so
    /// those that no line names stay too, as many as are kept of such.
    pub(crate) fn remove_stale_of_elided(&mut self) {
        self.remove_others(true);
    }

    fn remove_others(&mut self, keeps_unnamed: bool) {
        if self.others.iter().all(Scope::is_empty) || self.frames.is_empty() {
            return;
        }
        let program = self.program.clone();
        for agent in &program.agents {
            let others = &self.others[agent.id.0 as usize];
            if others.is_empty() {
                continue;
            }
            let mut reaches = Vec::new();
            let own = self.frames.iter().filter_map(Frame::playbook).filter(|frame| frame.core.agent == agent.id);
            for frame in own {
                reaches.push(program.names_from(frame.playbook, self.goes_on_from(frame)));
                // What is queued comes before the pointer's line, wherever that is.
                reaches.extend(frame.queued_playbooks().map(|id| program.names_of(id)));
            }
            // Below a plan any playbook may come that one calls.
            if self.frames.iter().any(|frame| frame.playbook().is_none()) {
                reaches.extend(program.called_by_plans.iter().map(|id| program.names_of(*id)));
            }
            // A beginning has been; any other trigger can still call its playbook.
            let can_fire = |id: &&PlaybookId| {
                program.playbook(**id).triggers.iter().any(|trigger| trigger.kind != TriggerKind::Beginning)
            };
            for &id in agent.playbooks.iter().filter(can_fire) {
                reaches.push(program.names_of(id));
            }
            let is_free = keeps_unnamed || reaches.iter().any(|reach| reach.free);
            let mut unnamed: Vec<(Stamp, Arc<str>)> = others
                .iter()
                .filter(|(name, _)| {
                    &***name != USER_MESSAGE
                        && !agent.variables.iter().any(|declared| declared.name == **name)
                        && !reaches.iter().any(|reach| reach.names.contains(*name))
                })
                .map(|(name, variable)| (variable.used, name.clone()))
                .collect();
            let (keep, reason) =
                if is_free { (self.settings.max_unnamed, "unused for long") } else { (0, "no line names it") };
            if unnamed.len() <= keep {
                continue;
            }
            unnamed.sort();
            let n_stale = unnamed.len() - keep;
            for (_, name) in unnamed.into_iter().take(n_stale) {
                self.others[agent.id.0 as usize].remove(&name);
                self.report(Fact::VariableRemoved { name, reason });
            }
        }
    }
}

/// A lower bound of a value's size as JSON in bytes, without building the JSON: enough for a limit.
pub(crate) fn size_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 4,
        Value::Str(text) => text.len() + 2,
        Value::List(items) => items.iter().map(|item| size_of(item) + 1).sum::<usize>() + 2,
        Value::Map(members) => members.iter().map(|(key, member)| key.len() + 4 + size_of(member)).sum::<usize>() + 2,
    }
}
