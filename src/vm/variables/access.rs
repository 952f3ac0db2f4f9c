//! Reading and writing variables as one frame sees them, and forgetting what is stale
//! (spec `execution.md`, "Variables").

use std::sync::Arc;

use playhouse_lang::analysis::layout::Region;
use playhouse_lang::expr::Expr;
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{AgentId, PlaybookId, TriggerKind, Type, one_of};
use playhouse_lang::value::Value;

use crate::calls::call::Callee;
use crate::machine::frame::Frame;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::{Fact, FrameId, Location, Origin, Tracked, USER_MESSAGE};
use crate::variables::bounds::{admit, describe_excess};
use crate::variables::eval::{eval, eval_condition};
use crate::variables::fault::EvalFault;
use crate::variables::scope::{Change, Scope, Stamp};
use crate::variables::visible::Home;

impl Interpreter {
    /// Sets a variable at the top frame's line; see [`Interpreter::set_variable_at`].
    pub(crate) fn set_variable(&mut self, name: &Arc<str>, value: Tracked) -> bool {
        self.set_variable_at(self.stack.top().location(), name, value)
    }

    /// Sets a variable as the top frame: an own name in the frame, any other where reading finds it, else in
    /// the frame. The value's type has been checked. A result is the work of the line that called, not of a later line
    /// that asks for the same variable. Answers whether it was set: a limit may have ended the session.
    pub(crate) fn set_variable_at(&mut self, line: Location, name: &Arc<str>, value: Tracked) -> bool {
        let Some(here) = self.stack.top_home() else { return false };
        let frame = self.stack.top();
        let (agent, playbook) = (frame.core.agent, frame.executed());
        let is_own = self.stack.program.playbook(playbook).own.contains(name);
        let found = if is_own { None } else { self.stack.reader().find(name).map(|(home, _)| home) };
        let home = found.unwrap_or(here);
        let change = self.change(true, false);
        let Some((value, old)) = self.put(agent, home, name, value, change) else { return false };
        let layouts = self.stack.layouts.clone();
        let frame = self.stack.top_mut();
        if let Location::Line { playbook: of, step: Some(step) } = line
            && of == playbook
        {
            let step = frame.inside.as_ref().map_or(step, |inside| inside.region.laid_out(step));
            let is_here = frame.pointer == Some(step);
            frame.work.note_set(layouts.body(frame.playbook), step, name, is_here);
        }
        self.report_set(agent, name, &value, old.as_ref(), home == here);
        true
    }

    /// Sets one of the top frame's parameters or loop variables.
    pub(crate) fn bind_variable(&mut self, name: &Arc<str>, value: Tracked, is_update: bool) {
        let Some(here) = self.stack.top_home() else { return };
        let agent = self.stack.core().agent;
        let change = self.change(true, true);
        let Some((value, old)) = self.put(agent, here, name, value, change) else { return };
        if is_update {
            self.report_set(agent, name, &value, old.as_ref(), true);
        }
    }

    /// Sets one of an agent's globals, as the world does.
    pub(crate) fn set_global(&mut self, agent: AgentId, name: &str, value: Tracked) {
        if let Some((value, old)) = self.set_global_silently(agent, name, value) {
            self.report_set(agent, &name.into(), &value, old.as_ref(), false);
        }
    }

    /// A variable of an agent has been set: watchers are told, triggers judged. What the top frame cannot see, for
    /// another agent's playbook is running, is no update for its agent's triggers.
    fn report_set(&mut self, agent: AgentId, name: &Arc<str>, value: &Tracked, old: Option<&Tracked>, local: bool) {
        let (new, shown) = (value.clone(), old.map(Tracked::shown));
        self.report(Fact::VariableSet { name: name.clone(), value: new, old: shown, local });
        if self.stack.frames.last().is_some_and(|top| top.core().agent == agent) {
            self.tell_watcher(|watcher, context| watcher.updated(context, name, old, value));
        }
    }

    /// As [`Interpreter::set_global`], and nobody is told. Answers the value as it is kept, and the one before.
    pub(crate) fn set_global_silently(
        &mut self,
        agent: AgentId,
        name: &str,
        value: Tracked,
    ) -> Option<(Tracked, Option<Tracked>)> {
        let change = self.change(false, false);
        self.put(agent, Home::Globals(agent), &name.into(), value, change)
    }

    /// The one way into a scope: the value is within bounds, and secret if `agent` declares the name so, whoever gives
    /// it. Answers the value as it is kept, and the one before. A value that is too large ends the session; so a
    /// limit is never passed in silence.
    pub(crate) fn put(
        &mut self,
        agent: AgentId,
        home: Home,
        name: &Arc<str>,
        value: Tracked,
        change: Change,
    ) -> Option<(Tracked, Option<Tracked>)> {
        match admit(value, self.stack.is_declared_secret(agent, name), self.stack.settings.bounds()) {
            Ok(admitted) => {
                if let Some(frame) = self.stack.frames.last_mut() {
                    frame.core_mut().outdated.retain(|(outdated, _)| outdated != name);
                }
                Some(self.stack.scope_mut(home).set(name, admitted, change))
            }
            Err(excess) => {
                self.fail(FaultKind::Limit, format!("${name} would be {}", describe_excess(excess)));
                None
            }
        }
    }

    /// Arguments for what the frame at a depth is going to call: each within bounds, and secret where the callee's agent
    /// declares the parameter's name so, before anybody is shown it. A plan's variables are those of its caller's agent.
    /// `None`: one was too large, and a limit ended the session.
    pub(crate) fn admit_arguments(
        &mut self,
        depth: usize,
        callee: Callee,
        name: &str,
        arguments: Vec<(Arc<str>, Tracked)>,
    ) -> Option<Vec<(Arc<str>, Tracked)>> {
        let agent = match callee {
            Callee::Playbook(id) => Some(self.stack.program.playbook(id).agent),
            Callee::Plan(_) => Some(self.stack.frames[depth].core().agent),
            Callee::Tool(_) | Callee::Model | Callee::Gone(_) => None,
        };
        let mut admitted = Vec::with_capacity(arguments.len());
        for (parameter, value) in arguments {
            let is_secret = agent.is_some_and(|agent| self.stack.is_declared_secret(agent, &parameter));
            match admit(value, is_secret, self.stack.settings.bounds()) {
                Ok(value) => admitted.push((parameter, value.into_tracked())),
                Err(excess) => {
                    let message = format!("the argument `{parameter}` of {name} would be {}", describe_excess(excess));
                    self.fail(FaultKind::Limit, message);
                    return None;
                }
            }
        }
        Some(admitted)
    }

    /// A change that is made now, by the top frame's line or by the world.
    pub(crate) fn change(&mut self, by_line: bool, binds: bool) -> Change {
        let at = self.stack.frames.last().filter(|_| by_line).map(Frame::location);
        let turn = self.turn().filter(|_| by_line);
        Change { stamp: self.stack.next_stamp(), at, turn, binds }
    }

    /// A debugger's edit. One that is too large is not made, and does not end the session.
    pub(crate) fn handle_edited(&mut self, frame: Option<FrameId>, name: &Arc<str>, value: Value) {
        if let Err(excess) = value.check_bounds(self.stack.settings.bounds()) {
            return self.ignore(format!("${name} was not edited: it would be {}", describe_excess(excess)));
        }
        let value = Tracked::new(value, Origin::CODE);
        let (agent, home) = match frame.map(|id| self.stack.home_of(id)) {
            Some(Some(home @ (Home::Frame(depth) | Home::Inside(depth)))) => {
                (self.stack.frames[depth].core().agent, home)
            }
            Some(Some(Home::Globals(agent))) => (agent, Home::Globals(agent)),
            // The frame has gone meanwhile: a stale id is ignored.
            Some(None) => return,
            None => {
                let agent = self.stack.frames.last().map_or(AgentId(0), |frame| frame.core().agent);
                (agent, Home::Globals(agent))
            }
        };
        if self.stack.globals.is_empty() {
            return;
        }
        let change = self.change(false, false);
        if let Some((value, old)) = self.put(agent, home, name, value, change) {
            self.report_set(agent, name, &value, old.as_ref(), !matches!(home, Home::Globals(_)));
        }
    }

    /// Removes the globals that no line can want any more (spec `execution.md`, "Stale others are removed").
    /// Called after a pop, when nothing else has changed what is reachable.
    ///
    /// `keeps_unnamed`: a frame has given its place to the playbook it called last. That could have seen all its
    /// variables, so those that no line names stay too, as many as are kept of such.
    pub(crate) fn remove_stale(&mut self, keeps_unnamed: bool) {
        if self.stack.globals.iter().all(Scope::is_empty) || self.stack.frames.is_empty() {
            return;
        }
        let (program, analysis) = (self.stack.program.clone(), self.stack.analysis.clone());
        for agent in &program.agents {
            let globals = &self.stack.globals[agent.id.0 as usize];
            if globals.is_empty() {
                continue;
            }
            let mut reaches = Vec::new();
            // In a recursion most frames stand at the same line.
            let mut places: Vec<(PlaybookId, Node)> = Vec::new();
            let mut note = |playbook, node| {
                if !places.contains(&(playbook, node)) {
                    places.push((playbook, node));
                }
            };
            let own = self.stack.frames.iter().filter_map(Frame::playbook).filter(|frame| frame.core.agent == agent.id);
            for frame in own {
                let goes_on = self.stack.goes_on_from(frame);
                match (&frame.inside, goes_on) {
                    (Some(inside), Node::Step(step)) if inside.region.holds(step) => {
                        let here = Node::Step(inside.region.source(step));
                        note(inside.region.playbook, here);
                        let Region { line, next, .. } = inside.region;
                        let next = if next == Node::End { Node::Step(line) } else { next };
                        note(frame.playbook, next);
                    }
                    (_, goes_on) => note(frame.playbook, goes_on),
                }
                // What is queued comes before the pointer's line, wherever that is.
                reaches.extend(frame.queued_playbooks().map(|id| analysis.names_of(id)));
            }
            reaches.extend(places.into_iter().map(|(playbook, node)| analysis.names_from(playbook, node)));
            // Below a plan any playbook may come that one calls.
            if self.stack.frames.iter().any(|frame| frame.playbook().is_none()) {
                reaches.extend(program.called_by_plans.iter().map(|id| analysis.names_of(*id)));
            }
            // A beginning has been; any other trigger can still call its playbook.
            let can_fire = |id: &&PlaybookId| {
                program.playbook(**id).triggers.iter().any(|trigger| trigger.kind != TriggerKind::Beginning)
            };
            for &id in agent.playbooks.iter().filter(can_fire) {
                reaches.push(analysis.names_of(id));
            }
            let is_free = keeps_unnamed || reaches.iter().any(|reach| reach.has_free_line());
            let mut unnamed: Vec<(Stamp, Arc<str>)> = globals
                .iter()
                .filter(|(name, _)| {
                    &***name != USER_MESSAGE
                        && !agent.variables.iter().any(|declared| declared.name == **name)
                        && !reaches.iter().any(|reach| reach.contains(name))
                })
                .map(|(name, variable)| (variable.used, name.clone()))
                .collect();
            let (keep, reason) =
                if is_free { (self.stack.settings.max_unnamed, "unused for long") } else { (0, "no line names it") };
            if unnamed.len() <= keep {
                continue;
            }
            unnamed.sort();
            let n_stale = unnamed.len() - keep;
            for (_, name) in unnamed.into_iter().take(n_stale) {
                self.stack.globals[agent.id.0 as usize].remove(&name);
                self.report(Fact::VariableRemoved { name, reason });
            }
        }
    }
}

impl Stack {
    fn scope_mut(&mut self, home: Home) -> &mut Scope {
        match home {
            Home::Frame(depth) => &mut self.frames[depth].core_mut().scope,
            Home::Inside(depth) => match self.frames[depth].playbook_mut().and_then(|frame| frame.inside.as_mut()) {
                Some(inside) => &mut inside.scope,
                None => unreachable!("a home is used only where it was found"),
            },
            Home::Globals(agent) => &mut self.globals[agent.0 as usize],
        }
    }

    /// The names were read: they are not the longest unused any more.
    pub(crate) fn touch<'n>(&mut self, names: impl Iterator<Item = &'n Arc<str>>) {
        let Some(agent) = self.frames.last().map(|frame| frame.core().agent) else { return };
        let stamp = self.next_stamp();
        for name in names {
            if let Some(variable) = self.globals[agent.0 as usize].get_mut(name) {
                variable.used = stamp;
            }
        }
    }

    /// The type a name was declared with, as the lines of `playbook` see it.
    fn type_of(&self, playbook: PlaybookId, name: &str) -> Option<Type> {
        let playbook = self.program.playbook(playbook);
        playbook.type_of(self.program.agent(playbook.agent), name)
    }

    /// What a value of `name` must be, as the lines of `playbook` see it, where `value` is not: its type, or one of the
    /// values that a question allows.
    pub(crate) fn wanted(&self, playbook: PlaybookId, name: &str, value: &Value) -> Option<String> {
        if let Some(ty) = self.type_of(playbook, name).filter(|ty| !ty.accepts(value)) {
            return Some(match ty.kind.form() {
                Some(form) => format!("{ty} ({form})"),
                None => ty.to_string(),
            });
        }
        let choices = self.program.playbook(playbook).choices.get(name);
        choices.filter(|choices| !choices.contains(value)).map(|choices| one_of(choices))
    }

    /// A value for a name of the playbook that is executed, secret if the name is declared so: before anybody is told of it.
    ///
    /// # Errors
    /// The name is declared otherwise.
    pub(crate) fn as_declared(&self, name: &str, value: Tracked) -> Result<Tracked, EvalFault> {
        let value = value.secret_if(self.is_declared_secret(self.core().agent, name));
        match self.wanted(self.top().executed(), name, value.value()) {
            Some(wanted) => Err(EvalFault::words(format!("${name} must be {wanted}, not {}", value.value().kind()))),
            None => Ok(value),
        }
    }

    pub(crate) fn is_declared_secret(&self, agent: AgentId, name: &str) -> bool {
        self.program.agent(agent).declares_secret(name)
    }
}

impl Machine {
    /// The value of an expression as a frame would read it (spec `execution.md`, "Variables"); without a frame, or
    /// with one that has gone, as the top frame would.
    ///
    /// # Errors
    /// A variable that is not set, a member that is not there, operands that do not fit.
    pub fn evaluate(&self, frame: Option<FrameId>, expr: &Expr) -> Result<Tracked, EvalFault> {
        eval(expr, &self.interpreter.stack.seen_from(frame))
    }

    /// Whether a condition holds as a frame sees it; only booleans are conditions.
    ///
    /// # Errors
    /// As [`Machine::evaluate`], and a value that is no boolean.
    pub fn holds(&self, frame: Option<FrameId>, condition: &Expr) -> Result<bool, EvalFault> {
        eval_condition(condition, &self.interpreter.stack.seen_from(frame))
    }

    /// The frame that defines the variable which `frame` reads by this name, if a frame does. What a plan reads is its
    /// own, also before it is set.
    pub fn defining_frame(&self, frame: FrameId, name: &str) -> Option<FrameId> {
        let home = self.interpreter.stack.home_of(frame)?;
        if let Home::Frame(depth) = home
            && self.interpreter.stack.frames[depth].playbook().is_none()
        {
            return Some(frame);
        }
        match self.interpreter.stack.visible_at(Some(home)).find(name)?.0 {
            Home::Frame(depth) => Some(self.interpreter.stack.frames[depth].core().id),
            Home::Inside(depth) => self.interpreter.stack.frames[depth].inside().map(|inside| inside.id),
            Home::Globals(_) => None,
        }
    }
}
