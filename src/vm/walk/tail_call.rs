//! Tail calls: a call that is the last thing a playbook does takes the place of its frame
//! (spec `execution.md`, "Fewer model calls").

use std::sync::Arc;

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{CALL, EVENT, PlaybookId, Returned, StepKind};

use crate::calls::arguments::Resolved;
use crate::calls::call::{Called, Callee};
use crate::machine::frame::{ElidedResult, Frame, PlaybookFrame};
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{CallKind, Fact, Tracked, TurnId};

/// A line whose call can take the place of the frame that makes it.
#[derive(Clone, Debug)]
pub(crate) struct TailCallSite {
    callee: PlaybookId,
    /// The line is no `Return`: the frame would have returned null, whatever the callee gives.
    discards_value: bool,
    /// The variable that the line sets with the result, for the `Return` after it.
    result: Option<Arc<str>>,
}

impl TailCallSite {
    /// The call at it, and the reply that holds it, if one does.
    pub(crate) fn call(
        self,
        resolved: &Resolved,
        arguments: Vec<(Arc<str>, Tracked)>,
        written_in: Option<TurnId>,
    ) -> Box<TailCall> {
        Box::new(TailCall { site: self, name: resolved.signature.name.clone(), arguments, written_in })
    }
}

/// A call that takes the place of the frame that makes it.
#[derive(Clone, Debug)]
pub(crate) struct TailCall {
    site: TailCallSite,
    name: Arc<str>,
    arguments: Vec<(Arc<str>, Tracked)>,
    written_in: Option<TurnId>,
}

impl Interpreter {
    /// Makes a tail call: the frame goes, the callee's takes its place.
    pub(crate) fn make_tail_call(&mut self, tail_call: TailCall) {
        let TailCall { site: TailCallSite { callee, discards_value, result }, name, arguments, written_in } = tail_call;
        self.counters.playbook_calls += 1;
        self.counters.tail_calls += 1;
        let call = self.ids.next_call();
        let kind = CallKind::Playbook;
        self.report(Fact::CallQueued { call, name, kind, arguments: arguments.clone(), written_in });
        self.report(Fact::FrameElided { playbook: self.stack.top().playbook });
        let mut left = self.pop_for_tail_call();
        if discards_value {
            left.discards_value = true;
            left.elided_results.iter_mut().for_each(|result| result.is_null = true);
        }
        if let Some(name) = result {
            let agent = left.core.agent;
            // Of two of a name the outer is set last, and stays.
            if !left.elided_results.iter().any(|result| result.agent == agent && result.name == name) {
                left.elided_results.push(ElidedResult { agent, name, is_null: false });
            }
        }
        self.push_frame(callee, arguments, left.core.origin);
        if self.outcome.is_none() {
            self.take_over(left);
            self.remove_stale(true);
        }
    }

    /// Takes the top frame off; the trigger that called it stays active, for another frame takes its place.
    pub(crate) fn pop_for_tail_call(&mut self) -> PlaybookFrame {
        let frame = self.stack.top_mut();
        let (trigger, later) = (frame.core.trigger.take(), frame.core.watch.split_later());
        let Frame::Playbook(mut left) = self.leave_frame() else {
            unreachable!("only called with a playbook on top of the stack")
        };
        (left.core.trigger, left.core.watch) = (trigger, later);
        left
    }

    /// The top frame stands where `left` stood: what concerns the frames below is now its business.
    pub(crate) fn take_over(&mut self, left: PlaybookFrame) {
        let frame = self.stack.top_mut();
        frame.n_elided = left.n_elided.saturating_add(1);
        frame.discards_value = left.discards_value;
        frame.elided_results = left.elided_results;
        frame.core.trigger = left.core.trigger;
        frame.core.watch = left.core.watch;
    }

    /// A frame has returned `value`: what the frames before it in its place would have set with it is set.
    /// Answers what the caller gets.
    pub(crate) fn assign_elided_results(&mut self, left: PlaybookFrame, value: Tracked) -> Tracked {
        for result in left.elided_results.into_iter().rev() {
            let value = if result.is_null { Tracked::NULL } else { value.clone() };
            self.set_global(result.agent, &result.name, value);
        }
        if left.discards_value { Tracked::NULL } else { value }
    }
}

impl Stack {
    /// The tail call that a call of `called` at the top frame's line is, its result for the variable `result`;
    /// none if something is left for the frame to do, or if it would not be missed without a trace.
    pub(crate) fn tail_call(&self, called: &Called, result: Option<&Arc<str>>) -> Option<TailCallSite> {
        let frame = self.top();
        let Callee::Playbook(callee) = called.callee else { return None };
        if !self.settings.tail_calls || frame.inside.is_some() || !frame.core.queue.is_empty() {
            return None;
        }
        // What triggers want of the frame comes first.
        if !frame.core.watch.is_settled() {
            return None;
        }
        let (playbook, step) = (self.program.playbook(frame.playbook), frame.pointer?);
        let site = self.analysis.tail_call(playbook.id, step).ok().filter(|site| called.is_of(site))?;
        let returns = matches!(playbook.step(step).kind, StepKind::Return(Returned::Call(_)));
        let (discards_value, result) = (!returns && site.result.is_none(), result.cloned());
        let sets_as_written = site.result.as_ref().map(|target| &target.name) == result.as_ref();
        let can_return = !discards_value || playbook.returns.is_none();
        let is_site = sets_as_written && can_return && !self.shadows_after_pop(callee);
        is_site.then_some(TailCallSite { callee, discards_value, result })
    }

    /// Whether the callee, or what runs above it, would find another variable than the frame's if that had joined
    /// the globals: a frame below has one of the same name, or the globals have a later one, or will have one when
    /// a playbook is left that owns the name. (What does not join them, [`playhouse_lang::analysis::Analysis::tail_call`] has looked at.)
    fn shadows_after_pop(&self, callee: PlaybookId) -> bool {
        let frame = self.top();
        let agent = frame.core.agent;
        let body = self.program.playbook(callee);
        let globals = &self.globals[agent.0 as usize];
        let is_below = |name: &str| {
            // What a plan has set is its own.
            let mut below = self.frames.iter().rev().skip(1).filter_map(Frame::playbook);
            below.any(|below| below.core.agent == agent && below.scopes().any(|scope| scope.contains(name)))
        };
        let is_owned = |name: &Arc<str>| {
            self.program.playbooks.iter().any(|playbook| playbook.agent == agent && playbook.own.contains(name))
        };
        // `$call` or `$event` of a trigger's playbook is bound, and no parameter: nobody could see it any more.
        let is_given =
            |name: &Arc<str>| frame.core.scope.contains(name) && self.analysis.looks_up(callee, &(agent, name.clone()));
        if frame.core.trigger.is_some() && [CALL, EVENT].map(Arc::from).iter().any(is_given) {
            return true;
        }
        frame.core.scope.iter().filter(|(_, variable)| !variable.bound).any(|(name, variable)| {
            let key = (agent, name.clone());
            let is_watched = self.analysis.is_watched(&key);
            if !is_watched && !self.analysis.looks_up(callee, &key) {
                return false;
            }
            if body.agent == agent && body.parameters.iter().any(|parameter| parameter.name == *name) {
                return false;
            }
            let is_older = globals.get(name).is_some_and(|global| global.set > variable.set);
            let is_hidden = is_older || is_below(name);
            if body.agent == agent && self.is_set_before_calls(callee, name) {
                return is_watched && is_hidden;
            }
            is_hidden || is_owned(name)
        })
    }

    /// Whether a playbook owns a name and sets it before it calls anything that looks the name up.
    fn is_set_before_calls(&self, playbook: PlaybookId, name: &Arc<str>) -> bool {
        let playbook = self.program.playbook(playbook);
        if !playbook.own.contains(name) {
            return false;
        }
        let key = (playbook.agent, name.clone());
        let mut seen = vec![false; playbook.steps.len()];
        let mut pending = vec![playbook.flow.entry];
        while let Some(node) = pending.pop() {
            let Node::Step(step) = node else { continue };
            if std::mem::replace(&mut seen[step.0 as usize], true) {
                continue;
            }
            let line = playbook.step(step);
            let callee = line.call().and_then(|call| call.playbook);
            if callee.is_some_and(|callee| self.analysis.looks_up(callee, &key)) {
                return false;
            }
            let is_certain = !matches!(line.kind, StepKind::Loop(_));
            if !(is_certain && line.kind.targets().iter().any(|target| target.name == *name)) {
                pending.extend(playbook.flow.successors(step).iter().map(|edge| edge.to));
            }
        }
        true
    }
}
