//! The walker: how the pointer moves over lines, and what the interpreter performs on the way.
//!
//! One function performs a line whose meaning is exact ([`Machine::perform`]); one decides which way a pointer
//! may go ([`Machine::way`]). Both serve the interpreter's own running ahead and the `at`s of a model
//! (spec `turn-protocol.md`, "The pointer").

use std::collections::VecDeque;
use std::sync::Arc;

use playhouse_lang::flow_graph::{Edge, EdgeKind, Node};
use playhouse_lang::program::{Arm, CallSite, Playbook, Returned, StepId, StepKind};
use playhouse_lang::value::Value;

use crate::Machine;
use crate::calls::{Given, Resolved, bind, describe_call, shorten};
use crate::eval::{EvalFault, eval, eval_condition};
use crate::frame::{CallState, Called, Callee, Performed, Phase, PlaybookFrame, QueuedCall, ReturnValue, Then};
use crate::protocol::{Approval, CallId, EffectClass, Fact};
use crate::scope::Stamp;
use crate::stack::null;

/// What performing a line came to.
pub(crate) enum Walk {
    /// It is done; `here.performed` says where to go.
    Done,
    /// It is not explicit, or not now: the model's.
    Left,
    /// It needs the result of a call that is on its way.
    NeedsCalls,
    /// The frame's turn at lines is over.
    Yield(Then),
    /// The playbook that the line calls has taken the frame's place.
    TookOver,
}

/// What a line did.
pub(crate) enum Act {
    /// The next line follows.
    Next(Option<(Arc<str>, Value)>),
    /// A branch or loop has been decided.
    Go(EdgeKind),
    /// The playbook is over, or waits.
    Yield(Then),
    /// The playbook that the line calls has taken the frame's place.
    TookOver,
}

/// What calling came to.
enum CallMade {
    /// The call is queued.
    Queued(CallId),
    /// A limit ended the session.
    Failed,
    /// The callee has taken the frame's place.
    TookOver,
}

/// Where an `at` may lead.
pub(crate) enum Way {
    /// Through this line next.
    Through(StepId),
    /// Back to an earlier line.
    Back,
    /// This line has not been done.
    NotDone(StepId),
    /// No path of the graph leads there.
    Unreachable,
}

impl Machine {
    /// One move of the top frame on its own: perform an explicit line, leave a line that is done, or ask the
    /// model.
    pub(crate) fn step_ready(&mut self) {
        let Some(step) = self.top().pointer else {
            return self.drain_or_ask();
        };
        if let Some(performed) = &self.top().here.performed {
            let next = performed.next;
            return self.arrive(next);
        }
        if self.top().here.ask_model {
            return self.drain_or_ask();
        }
        match self.perform(step) {
            Walk::Done | Walk::TookOver => {}
            Walk::NeedsCalls => self.core_mut().phase = Phase::Draining(Then::GoOn),
            Walk::Yield(then) => self.core_mut().phase = Phase::Draining(then),
            Walk::Left => match self.way_out(step) {
                Some(next) => {
                    self.claim_work(step);
                    self.arrive(next);
                }
                None => self.drain_or_ask(),
            },
        }
    }

    fn drain_or_ask(&mut self) {
        if self.core().queue.is_empty() {
            self.start_turn();
        } else {
            self.core_mut().phase = Phase::Draining(Then::GoOn);
        }
    }

    /// Where a line of the top frame is left to that has done its work and has one successor.
    pub(crate) fn way_out(&self, step: StepId) -> Option<Node> {
        self.way_out_of(self.top(), step)
    }

    fn way_out_of(&self, frame: &PlaybookFrame, step: StepId) -> Option<Node> {
        let playbook = self.program.playbook(frame.playbook);
        let kind = &playbook.step(step).kind;
        let is_work = match kind {
            StepKind::Ask { targets } => !targets.is_empty(),
            StepKind::Call(_) | StepKind::Assign { .. } => true,
            StepKind::Branch { .. }
            | StepKind::Loop(_)
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Say { .. }
            | StepKind::Free => false,
        };
        let [only] = playbook.flow.successors(step) else { return None };
        (is_work && frame.has_done_work(step, kind)).then_some(only.to)
    }

    /// The first line that a frame has not done with: behind its pointer's line, if the frame is going to leave
    /// that by itself. Whether it has left it already is a matter of when its calls are worked off.
    ///
    /// A line that a return follows is not done with: should that not come about, the model is asked there.
    pub(crate) fn goes_on_from(&self, frame: &PlaybookFrame) -> Node {
        let playbook = self.program.playbook(frame.playbook);
        let Some(step) = frame.pointer else { return playbook.flow.entry };
        let here = &frame.here;
        let is_interpreters = playbook.step(step).explicit && self.settings.explicit_lines && !here.left_to_model;
        let behind = match &here.performed {
            Some(performed) => Some(performed.next),
            None if here.ask_model || is_interpreters => None,
            None => self.way_out_of(frame, step),
        };
        let returns = matches!(frame.core.phase, Phase::Draining(Then::Return { .. }));
        behind.filter(|next| *next != Node::End && !returns).unwrap_or(Node::Step(step))
    }

    /// Whether a line's work is done. `strictly`: since the frame began or the pointer last moved back; else a
    /// variable that was known before counts for a line that asks for it.
    pub(crate) fn has_done_work(&self, step: StepId, strictly: bool) -> bool {
        let frame = self.top();
        let kind = &self.program.playbook(frame.playbook).step(step).kind;
        if let StepKind::Ask { targets } = kind
            && !strictly
            && !frame.moved_back
        {
            return targets.iter().all(|target| self.reader().variable(&target.name).is_some());
        }
        frame.has_done_work(step, kind)
    }

    /// The line that is left takes what was set of its names, so that a later line for the same name counts it not.
    pub(crate) fn claim_names(&mut self) {
        let program = self.program.clone();
        let stamp = self.stamp;
        let frame = self.top_mut();
        let Some(step) = frame.pointer else { return };
        let step = program.playbook(frame.playbook).step(step);
        for name in &step.writes {
            frame.claim(name, stamp);
        }
        // What is called on a free line is what that line wants.
        if step.is_free() {
            frame.unclaimed_calls.clear();
        }
    }

    /// A call line takes the queued call that is its work, so that no other line counts it too.
    fn claim_work(&mut self, step: StepId) {
        let program = self.program.clone();
        let frame = self.top_mut();
        if let StepKind::Call(site) = &program.playbook(frame.playbook).step(step).kind
            && !frame.done_calls.contains(&step)
            && let Some(index) = frame.unclaimed_calls.iter().position(|called| called.is_of(site))
        {
            frame.unclaimed_calls.remove(index);
            frame.done_calls.push(step);
        }
    }

    /// Performs the pointer's line if it is explicit and everything it needs is there. Once for each arrival.
    pub(crate) fn perform(&mut self, step: StepId) -> Walk {
        let program = self.program.clone();
        let playbook = program.playbook(self.top().playbook);
        let line = playbook.step(step);
        if !line.explicit || !self.settings.explicit_lines || self.top().here.left_to_model {
            return Walk::Left;
        }
        if self.blocking_call(step).is_some() {
            return Walk::NeedsCalls;
        }
        self.touch(line.reads.iter());
        match self.act(playbook, step, &line.kind) {
            Ok(act) => {
                self.counters.explicit_lines += 1;
                let edges = playbook.flow.successors(step);
                let (next, assigned) = match act {
                    Act::Next(assigned) => (follow(edges, EdgeKind::Next), assigned),
                    Act::Go(kind) => (follow(edges, kind), None),
                    Act::Yield(then) => return Walk::Yield(then),
                    Act::TookOver => return Walk::TookOver,
                };
                if self.outcome.is_none() {
                    self.top_mut().here.performed = Some(Performed { next, assigned });
                    self.begin_inlined(step);
                }
                Walk::Done
            }
            Err(fault) => {
                self.top_mut().here.left_to_model = true;
                // Only worth telling where the author wrote something exact; an else-arm has nothing to read.
                self.tell_done(step, &format!("is left to you: {fault}"));
                Walk::Left
            }
        }
    }

    /// The queued call that must be over before an explicit line is performed. Lines are done in the order
    /// written: only tools that change nothing may still run beside the next line, and that only if it neither
    /// needs their results nor changes anything itself.
    pub(crate) fn blocking_call(&self, step: StepId) -> Option<CallId> {
        let frame = self.top();
        let line = self.program.playbook(frame.playbook).step(step);
        // A result on its way hides any older value of its name.
        if let Some(call) = line.reads.iter().find_map(|name| frame.pending(name)) {
            return Some(call.id);
        }
        // What a person may refuse is not passed over.
        let asks_nobody = |name: &str| self.tool(name).is_some_and(|tool| tool.approval == Approval::Never);
        let calls_quietly = |name: &str| {
            matches!(self.find_callee(name), Ok(Resolved { callee: Callee::Tool(EffectClass::ReadOnly), .. }))
                && asks_nobody(name)
        };
        let changes_something = match &line.kind {
            StepKind::Call(site) | StepKind::Return(Returned::Call(site)) => !calls_quietly(&site.callee),
            StepKind::Branch { action: Some(_), .. } => true,
            StepKind::Branch { action: None, .. }
            | StepKind::Loop(_)
            | StepKind::Return(_)
            | StepKind::End
            | StepKind::Assign { .. }
            | StepKind::Ask { .. }
            | StepKind::Say { .. }
            | StepKind::Free => false,
        };
        // A return waits for its queue anyway.
        if matches!(line.kind, StepKind::Return(Returned::Nothing)) {
            return None;
        }
        let is_quiet = |call: &QueuedCall| {
            call.callee == Callee::Tool(EffectClass::ReadOnly)
                && asks_nobody(&call.name)
                && !matches!(call.state, CallState::Asking { .. })
        };
        frame.core.queue.iter().find(|call| changes_something || !is_quiet(call)).map(|call| call.id)
    }

    fn act(&mut self, playbook: &Playbook, step: StepId, kind: &StepKind) -> Result<Act, EvalFault> {
        match kind {
            StepKind::Assign { target, value: Some(value) } => {
                let value = eval(value, &self.reader())?;
                let ty = self.type_of(playbook.id, &target.name).unwrap_or(target.ty);
                if !ty.accepts(&value.value) {
                    return Err(other(format!("${} must be {ty}, not {}", target.name, value.value.kind())));
                }
                let text = format!("${} = {}", target.name, shorten(&value, self.settings.shown_value_bytes));
                let assigned = (target.name.clone(), value.value.clone());
                self.set_variable(&target.name, value);
                self.tell_done(step, &text);
                Ok(Act::Next(Some(assigned)))
            }
            StepKind::Branch { arm, condition, action } => {
                let holds = match condition {
                    Some(condition) => eval_condition(condition, &self.reader())?,
                    None if *arm == Arm::Else => true,
                    None => return Err(other("its condition is in words".to_owned())),
                };
                if condition.is_some() {
                    self.tell_done(step, if holds { "is true" } else { "is false" });
                }
                if !holds {
                    return Ok(Act::Go(EdgeKind::Else));
                }
                match action {
                    Some(action) => match self.act(playbook, step, action)? {
                        Act::Next(_) => Ok(Act::Go(EdgeKind::Then)),
                        other @ (Act::Go(_) | Act::Yield(_) | Act::TookOver) => Ok(other),
                    },
                    None => Ok(Act::Go(EdgeKind::Then)),
                }
            }
            StepKind::Loop(header) => self.act_loop(step, header),
            StepKind::Return(returned) => {
                let value = match returned {
                    Returned::Nothing => ReturnValue::Value(null()),
                    Returned::Value(value) => ReturnValue::Value(eval(value, &self.reader())?),
                    Returned::Call(site) => match self.act_call(step, site)? {
                        CallMade::Queued(call) => ReturnValue::OfCall(call),
                        CallMade::Failed => return Ok(Act::Next(None)),
                        CallMade::TookOver => return Ok(Act::TookOver),
                    },
                    Returned::Words => return Err(other("what it returns is in words".to_owned())),
                };
                if let (Some(ty), ReturnValue::Value(value)) = (playbook.returns, &value)
                    && !ty.accepts(&value.value)
                {
                    return Err(other(format!("it must return {ty}, not {}", value.value.kind())));
                }
                Ok(Act::Yield(Then::Return { value, failed: false }))
            }
            StepKind::End => Ok(Act::Yield(Then::End { reason: None })),
            StepKind::Call(site) => match self.act_call(step, site)? {
                CallMade::Queued(_) | CallMade::Failed => Ok(Act::Next(None)),
                CallMade::TookOver => Ok(Act::TookOver),
            },
            StepKind::Say { literal: Some(text) } => {
                let said = self.say_whole(text)?;
                self.tell_done(step, &format!("said {}", Value::from(said).to_json()));
                Ok(Act::Next(None))
            }
            StepKind::Assign { value: None, .. }
            | StepKind::Say { literal: None }
            | StepKind::Ask { .. }
            | StepKind::Free => Err(other("it is in words".to_owned())),
        }
    }

    fn act_call(&mut self, step: StepId, site: &CallSite) -> Result<CallMade, EvalFault> {
        let resolved = self.find_callee(&site.callee).map_err(other)?;
        let arguments = site.arguments.as_deref().ok_or_else(|| other("its arguments are in words".to_owned()))?;
        let mut named = Vec::new();
        let mut positional = Vec::new();
        for argument in arguments {
            let value = eval(&argument.value, &self.reader())?;
            match &argument.name {
                Some(name) => named.push((name.clone(), value)),
                None => positional.push(value),
            }
        }
        // Positional arguments stand first; they take the first parameters.
        for (parameter, value) in resolved.signature.parameters.iter().zip(positional.drain(..)) {
            named.push((parameter.name.clone(), value));
        }
        let bound = bind(&resolved, Given::Named(named)).map_err(other)?;
        let result_name = site.result.as_ref().map(|target| target.name.clone());
        let called = Called { callee: resolved.callee, name: site.callee.clone() };
        let is_inlined = self.inlining(self.top().playbook, step).is_some();
        if !is_inlined && let Some(tail_call) = self.tail_call(&called, result_name.as_ref()) {
            self.make_tail_call(tail_call, &resolved, bound);
            return Ok(CallMade::TookOver);
        }
        let text = format!("called {}", describe_call(&resolved.signature.name, &bound));
        let call = self.queue_call(&resolved, bound, result_name);
        self.tell_done(step, &text);
        self.claim_work(step);
        Ok(call.map_or(CallMade::Failed, CallMade::Queued))
    }

    pub(crate) fn tell_done(&mut self, step: StepId, what: &str) {
        if self.frames.is_empty() {
            return;
        }
        let label = self.label(step);
        let done = &mut self.asker_mut().news.done;
        // A long loop of explicit lines would fill the model's context: the last lines are what it goes on from.
        const MAX_DONE: usize = 30;
        if done.len() >= MAX_DONE {
            done.remove(0);
        }
        done.push(format!("{label} {what}"));
    }

    /// Which way the pointer may go towards `target`.
    pub(crate) fn way(&self, target: StepId) -> Way {
        let frame = self.top();
        let Some(from) = frame.pointer else { return Way::Back };
        let playbook = self.program.playbook(frame.playbook);
        if target <= from {
            return match self.next_round(playbook, from, target) {
                Some(header) => match self.path(playbook, from, header) {
                    Ok(next) => Way::Through(next),
                    Err(blocked) => Way::NotDone(blocked),
                },
                None => Way::Back,
            };
        }
        // What the interpreter decided at this line is no longer open.
        if let Some(performed) = &frame.here.performed {
            return match performed.next {
                Node::Step(next) if next == target => Way::Through(next),
                Node::Step(next) if self.reaches(playbook, next, target, Some(from)) => Way::Through(next),
                Node::Step(_) | Node::End => Way::Unreachable,
            };
        }
        if !playbook.strict || self.has_done_work(from, false) {
            return match self.path(playbook, from, target) {
                Ok(next) => Way::Through(next),
                Err(blocked) if blocked == target => Way::Unreachable,
                Err(blocked) => Way::NotDone(blocked),
            };
        }
        Way::NotDone(from)
    }

    /// The header of the interpreter's loop whose next round an `at` to an earlier line means: the header
    /// itself, or the body's first line when the rest of the body may be passed.
    fn next_round(&self, playbook: &Playbook, from: StepId, target: StepId) -> Option<StepId> {
        let state =
            self.top().loops.iter().rev().find(|state| {
                state.header == target || playbook.step(state.header).children.first() == Some(&target)
            })?;
        if state.header == from || !is_inside(playbook, from, state.header) {
            return None;
        }
        // Going back to the first line from a place where the round is not finished is a retry of the same item.
        let is_header = state.header == target;
        let can_finish = self.has_done_work(from, false) && self.path(playbook, from, state.header).is_ok();
        (is_header || (can_finish && from != target)).then_some(state.header)
    }

    /// The first line of the shortest path from `from` to `target` over lines that may be passed; else the
    /// first line that blocks the way, or `target` itself if no path leads there at all.
    fn path(&self, playbook: &Playbook, from: StepId, target: StepId) -> Result<StepId, StepId> {
        let mut first_hop = vec![None; playbook.steps.len()];
        let mut blocked = None;
        let mut queue = VecDeque::from([from]);
        while let Some(step) = queue.pop_front() {
            // Whoever decides goes into the nested lines of a true condition by naming one of them.
            let line = playbook.step(step);
            let decides = matches!(line.kind, StepKind::Branch { arm: Arm::If | Arm::ElseIf, .. } | StepKind::Loop(_))
                && !(line.explicit && self.settings.explicit_lines)
                && !is_inside(playbook, target, step);
            for edge in playbook.flow.successors(step) {
                let Node::Step(next) = edge.to else { continue };
                if decides && line.children.first() == Some(&next) && next != target {
                    continue;
                }
                if next == from || first_hop[next.0 as usize].is_some() {
                    continue;
                }
                let hop = first_hop[step.0 as usize].unwrap_or(next);
                first_hop[next.0 as usize] = Some(hop);
                if next == target {
                    return Ok(hop);
                }
                if self.may_pass(playbook, next) {
                    queue.push_back(next);
                } else if blocked.is_none() && self.reaches(playbook, next, target, None) {
                    blocked = Some(next);
                }
            }
        }
        Err(blocked.unwrap_or(target))
    }

    /// Whether the graph leads from `from` to `target` at all, without passing `avoid`.
    fn reaches(&self, playbook: &Playbook, from: StepId, target: StepId, avoid: Option<StepId>) -> bool {
        let mut seen = vec![false; playbook.steps.len()];
        let mut stack = vec![from];
        while let Some(step) = stack.pop() {
            if step == target {
                return true;
            }
            if Some(step) == avoid || std::mem::replace(&mut seen[step.0 as usize], true) {
                continue;
            }
            stack.extend(playbook.flow.successors(step).iter().filter_map(|edge| match edge.to {
                Node::Step(next) => Some(next),
                Node::End => None,
            }));
        }
        false
    }

    pub(crate) fn may_pass(&self, playbook: &Playbook, step: StepId) -> bool {
        !playbook.strict
            || (playbook.step(step).explicit && self.settings.explicit_lines)
            || self.has_done_work(step, false)
    }

    /// Moves back to `target`: what was done before does not count any more, loops that do not hold it end.
    pub(crate) fn move_back(&mut self, target: StepId) {
        let program = self.program.clone();
        let playbook = program.playbook(self.top().playbook);
        let since = self.stamp;
        let frame = self.top_mut();
        frame.loops.retain(|state| is_inside(playbook, target, state.header));
        frame.start_afresh(since);
        self.arrive(Node::Step(target));
    }

    /// The pointer leaves its line for `next` on the way to an `at`.
    pub(crate) fn pass_to(&mut self, next: StepId) {
        if let Some(from) = self.top().pointer {
            if self.top().here.performed.is_none() && !self.has_done_work(from, false) {
                // Only a playbook that is not strict lets a line be passed undone.
                let cause = format!("line {} was passed and is not done", self.label(from));
                self.report(Fact::Ignored { cause: cause.into() });
            }
            self.claim_work(from);
        }
        self.arrive(Node::Step(next));
    }
}

impl PlaybookFrame {
    /// Whether the work of a line of this kind is done since the frame began or the pointer last moved back.
    fn has_done_work(&self, step: StepId, kind: &StepKind) -> bool {
        match kind {
            StepKind::Ask { targets } => targets.iter().all(|target| self.has_set_unclaimed(&target.name)),
            StepKind::Assign { target, .. } => self.has_set_unclaimed(&target.name),
            StepKind::Call(site) => {
                self.done_calls.contains(&step) || self.unclaimed_calls.iter().any(|called| called.is_of(site))
            }
            StepKind::Return(_) => false,
            StepKind::Branch { .. } | StepKind::Loop(_) | StepKind::End | StepKind::Say { .. } | StepKind::Free => true,
        }
    }

    /// What was set of a name up to now is the work of a line that was left.
    pub(crate) fn claim(&mut self, name: &Arc<str>, stamp: Stamp) {
        self.claimed_names.retain(|(claimed, _)| claimed != name);
        self.claimed_names.push((name.clone(), stamp));
    }

    /// The frame has set a name.
    pub(crate) fn note_set(&mut self, name: &Arc<str>, stamp: Stamp) {
        match self.set_names.iter_mut().find(|(set, _)| set == name) {
            Some((_, last)) => *last = stamp,
            None => self.set_names.push((name.clone(), stamp)),
        }
    }

    /// Whether the frame itself has set a name, and that is not the work of an earlier line.
    fn has_set_unclaimed(&self, name: &str) -> bool {
        let claimed = self.claimed_names.iter().find(|(claimed, _)| **claimed == *name);
        let since = claimed.map_or(self.fresh_since, |(_, since)| self.fresh_since.max(*since));
        self.set_names.iter().any(|(set, last)| **set == *name && *last > since)
    }

    /// What was set and called before does not count as the work of a line any more.
    pub(crate) fn start_afresh(&mut self, since: Stamp) {
        self.fresh_since = since;
        self.moved_back = true;
        self.claimed_names.clear();
        self.unclaimed_calls.clear();
        self.done_calls.clear();
    }
}

/// Whether `step` is nested under `header`, at any depth.
pub(crate) fn is_inside(playbook: &Playbook, step: StepId, header: StepId) -> bool {
    let mut at = playbook.step(step).parent;
    while let Some(parent) = at {
        if parent == header {
            return true;
        }
        at = playbook.step(parent).parent;
    }
    false
}

pub(crate) fn follow(edges: &[Edge], kind: EdgeKind) -> Node {
    let wanted = edges.iter().find(|edge| edge.kind == kind);
    let next = wanted.or_else(|| edges.iter().find(|edge| edge.kind == EdgeKind::Next));
    next.or(edges.first()).map_or(Node::End, |edge| edge.to)
}

pub(crate) fn other(message: String) -> EvalFault {
    EvalFault::Other(message)
}
