//! Regions: a short playbook that an explicit line calls is laid out inside that line, and runs there, in the turn and
//! the chat session of its caller (spec `execution.md`, "Fewer model calls"; [`playhouse_lang::analysis::layout`]).
//!
//! The pointer walks through a region as through any lines. What is here is what happens at its ends: a frame of its
//! own begins with the call, and ends with a value.

use std::sync::Arc;

use playhouse_lang::analysis::layout::Region;
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Playbook, StepId};

use crate::machine::frame::Inside;
use crate::machine::frame_core::Phase;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{Fact, FrameOrigin, Tracked};

impl Interpreter {
    /// The explicit call at the top frame's line has been queued: if its playbook is shown inside, it begins.
    pub(crate) fn enter_region(&mut self, line: StepId) {
        let Some(region) = self.stack.region_at(line).filter(|_| self.outcome.is_none()) else { return };
        let waiting = self.stack.core().queue.last().filter(|call| call.is_waiting()).map(|call| call.id);
        let name = self.stack.program.playbook(region.playbook).name.clone();
        if waiting.is_none() || !self.has_room(&name) {
            return;
        }
        let Some(mut call) = waiting.and_then(|call| self.stack.core_mut().queue.take(call)) else { return };
        let started = call.begin(1, self.stack.now);
        self.report(started);
        self.counters.inlined_calls += 1;
        let origin = FrameOrigin::Call { call: call.id, from: call.place.location };
        let (id, arguments) = (self.ids.next_frame(), call.arguments.clone());
        let frame = self.stack.top_mut();
        let outer_work = std::mem::take(&mut frame.work);
        let n_turns_before = frame.core.spent.turns;
        let scope = Default::default();
        frame.pointer = None;
        let inside = Inside { id, region, origin, call, scope, outer_work, n_turns_before, is_told: false };
        frame.inside = Some(Box::new(inside));
        self.frame_pushed(origin);
        for (name, value) in &arguments {
            self.bind_variable(name, value.clone(), false);
        }
        if self.outcome.is_none() {
            self.arrive(region.entry());
        }
    }

    /// Takes the playbook off that the pointer is in: the pointer is on the line again that called it.
    pub(crate) fn close_region(&mut self, value: Option<&Tracked>) -> Option<Inside> {
        self.report(Fact::FramePopped { value: value.cloned() });
        let phase = if self.reply.is_some() { Phase::Turn } else { Phase::Ready };
        let frame = self.stack.top_mut();
        let mut inside = frame.close_inside()?;
        frame.core.phase = phase;
        let agent = frame.core.agent;
        self.stack.globals[agent.0 as usize].join(std::mem::take(&mut inside.scope));
        Some(inside)
    }

    /// Takes it off without a result, and with it its call.
    pub(crate) fn drop_region(&mut self) {
        self.close_region(None);
        self.remove_stale(false);
    }

    /// The playbook that the pointer is in returns `value`; what it fits into has been checked. Its caller takes it at
    /// once.
    pub(crate) fn return_from_region(&mut self, value: Tracked) {
        let Some(inside) = self.close_region(Some(&value)) else { return };
        let mut call = inside.call;
        let id = call.id;
        let finished = call.finish(self.stack.now, Ok(value.clone()));
        self.report(finished);
        self.stack.core_mut().queue.push(call);
        self.last_value = value;
        self.remove_stale(false);
        self.tell_watcher(|watcher, context| watcher.recheck_truths(context));
        self.take_call(id);
    }
}

impl Stack {
    /// What the top frame's line calls and is shown inside it.
    pub(crate) fn region_at(&self, line: StepId) -> Option<Region> {
        self.layouts.layout(self.top().playbook)?.region_at(line).copied()
    }

    /// The region of the top frame's playbook that a line is in.
    pub(crate) fn region_of(&self, step: StepId) -> Option<Region> {
        self.layouts.layout(self.top().playbook)?.region_of(step).copied()
    }

    /// The playbook that a line of the top frame is one of.
    pub(crate) fn playbook_of(&self, step: StepId) -> &Playbook {
        let region = self.region_of(step);
        self.program.playbook(region.map_or(self.top().playbook, |region| region.playbook))
    }

    /// What is wrong with a value that the playbook which is executed is to return, after its name; none: nothing.
    pub(crate) fn wrong_return(&self, value: &Tracked) -> Option<String> {
        let returns = self.program.playbook(self.top().executed()).returns?;
        let kind = value.value().kind();
        (!returns.accepts(value.value())).then(|| format!("must return {returns}, not {kind}"))
    }

    /// Whether the way to a node leads out of the region that the pointer is in.
    pub(crate) fn leaves_region(&self, node: Node) -> bool {
        let inside = self.top().inside.as_ref();
        inside.is_some_and(|inside| !matches!(node, Node::Step(step) if inside.region.holds(step)))
    }

    /// The line id of a line of the top frame.
    pub(crate) fn label(&self, step: StepId) -> Arc<str> {
        self.body(self.top()).step(step).label.clone()
    }
}
