//! What a dataflow plan does next: everything that waits for nothing is begun, whatever else is running.

use std::sync::Arc;

use crate::protocol::Tracked;
use playhouse_lang::dataflow::{AliasBody, AliasId, Dataflow, Domain};
use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::program::{Parameter, Type};
use playhouse_lang::value::Value;

use crate::calls::arguments::{Given, bind};
use crate::calls::call::{CallState, Callee, QueuedCall};
use crate::dataflow::date::{Calendar, zone};
use crate::dataflow::evaluate::{AliasValue, collapse, evaluate, slot_values};
use crate::dataflow::frame::{DataflowFrame, dataflow_of};
use crate::dataflow::graph::{Graph, Unit};
use crate::machine::frame::Frame;
use crate::machine::frame_core::FrameCore;
use crate::machine::state::Machine;
use crate::protocol::fault::FaultKind;
use crate::protocol::{CallId, Fact, FrameId, FrameOrigin, PlanFault, PlanFaultKind, Progress, Wait};

impl Machine {
    /// Pushes a frame of a dataflow plan; `bound` are its parameters.
    pub(crate) fn push_dataflow(
        &mut self,
        plan: PlanId,
        source: Arc<Plan>,
        bound: Vec<(Arc<str>, Tracked)>,
        origin: FrameOrigin,
    ) {
        let zone = match zone(&self.settings.zone) {
            Ok(zone) => zone,
            Err(problem) => return self.fail(FaultKind::Begin, format!("the setting `zone`: {problem}")),
        };
        let agent = self.calling_agent();
        self.next.frame += 1;
        let dataflow = dataflow_of(&source);
        let graph = Graph::new(dataflow);
        let n_aliases = dataflow.aliases.len();
        let frame = DataflowFrame {
            core: FrameCore::new(FrameId(self.next.frame), agent, origin),
            plan,
            calendar: Arc::new(Calendar::new(self.now, zone, self.settings.times_of_day)),
            values: vec![None; n_aliases],
            results: Default::default(),
            n_missing: graph.n_missing.clone(),
            ready: Default::default(),
            held: Default::default(),
            calls: Default::default(),
            sequential: None,
            node: None,
            reached: None,
            stopped: None,
            has_news: false,
            graph: graph.clone(),
            source: source.clone(),
        };
        self.frames.push(Frame::Dataflow(frame));
        self.frame_pushed(origin);
        let depth = self.frames.len() - 1;
        for (unit, what) in (0_u32..).zip(&graph.units) {
            let Unit::Alias(id) = *what else {
                if graph.n_missing[unit as usize] == 0 {
                    self.dataflow_mut(depth).ready.push_back(unit);
                }
                continue;
            };
            let alias = dataflow.alias(id);
            match (&alias.body, alias.reachable) {
                (AliasBody::Parameter, _) => {
                    let given = bound.iter().find(|(name, _)| *name == alias.name);
                    let value = given.map_or(Tracked::NULL, |(_, value)| value.clone());
                    self.dataflow_mut(depth).values[id.0 as usize] = Some(AliasValue::from(value.clone()));
                    self.bind_in_plan(&alias.name, value);
                    self.dataflow_mut(depth).finish_unit(unit);
                }
                (AliasBody::Text(_), true) if graph.n_missing[unit as usize] == 0 => {
                    self.dataflow_mut(depth).ready.push_back(unit);
                }
                (AliasBody::Text(_) | AliasBody::Domains(_), _) => {}
            }
        }
    }

    fn dataflow_at(&self, depth: usize) -> &DataflowFrame {
        match &self.frames[depth] {
            Frame::Dataflow(frame) => frame,
            Frame::Playbook(_) | Frame::Plan(_) => unreachable!("only asked for at the depth of a dataflow plan"),
        }
    }

    fn dataflow_mut(&mut self, depth: usize) -> &mut DataflowFrame {
        match &mut self.frames[depth] {
            Frame::Dataflow(frame) => frame,
            Frame::Playbook(_) | Frame::Plan(_) => unreachable!("only asked for at the depth of a dataflow plan"),
        }
    }

    /// Dataflow plans go on with their tools while a playbook of theirs runs above them. Answers whether something
    /// was done.
    pub(crate) fn step_dataflow_below(&mut self) -> bool {
        let top = self.frames.len() - 1;
        let has_news = |frame: &Frame| matches!(frame, Frame::Dataflow(frame) if frame.has_news);
        let Some(depth) = self.frames[..top].iter().position(has_news) else { return false };
        if !self.step_dataflow_tools(depth) {
            self.dataflow_mut(depth).has_news = false;
        }
        true
    }

    /// One thing that a dataflow plan on top of the stack does next.
    pub(crate) fn step_dataflow(&mut self) -> Option<Wait> {
        let depth = self.frames.len() - 1;
        let goes_on = self.dataflow_at(depth).stopped.is_none();
        if self.step_dataflow_tools(depth) || (goes_on && self.step_sequential()) {
            return None;
        }
        let frame = self.dataflow_at(depth);
        let open = frame.core.queue.iter().find_map(|queued| match queued.state() {
            CallState::Running { .. } => Some(Wait::Call(queued.id)),
            CallState::Asking { .. } => Some(Wait::Approval(queued.id)),
            CallState::Queued | CallState::Done(_) => None,
        });
        if open.is_some() {
            return open;
        }
        let result = frame.value(frame.dataflow().result).map(AliasValue::tracked);
        match (frame.stopped.clone(), result) {
            (Some(reason), _) => self.end_failed(reason),
            (None, Some(value)) => self.pop_frame(value),
            // The text was checked: without a cycle something is always ready, running or done.
            (None, None) => self.fail(FaultKind::Internal, "a dataflow plan waits for nothing"),
        }
        None
    }

    /// Takes a result, evaluates what is ready, starts a tool. Answers whether there was anything to do.
    fn step_dataflow_tools(&mut self, depth: usize) -> bool {
        if let Some(unit) = self.dataflow_mut(depth).reached.take() {
            self.perform_unit(depth, unit);
            return true;
        }
        let is_top = depth + 1 == self.frames.len();
        let frame = self.dataflow_at(depth);
        let is_done = |queued: &&QueuedCall| {
            matches!(queued.state(), CallState::Done(_))
                && queued.guards.is_none()
                && (is_top || frame.sequential != Some(queued.id))
        };
        let done = frame.core.queue.iter().find(is_done).map(|queued| queued.id);
        if let Some(id) = done {
            self.take_dataflow_call(depth, id);
            return true;
        }
        if let Some(unit) = self.dataflow_mut(depth).ready.pop_front() {
            self.begin_unit(depth, unit);
            return true;
        }
        let waiting = if self.has_room_for_tool(depth) { self.first_held(depth, true) } else { None };
        if let Some(unit) = waiting {
            self.dataflow_mut(depth).held.remove(&unit);
            self.reach_unit(depth, unit);
        }
        waiting.is_some()
    }

    /// The first call that is held, in document order, among those that may be made beside others, or among the rest.
    fn first_held(&self, depth: usize, may_overlap: bool) -> Option<u32> {
        let mut held = self.dataflow_at(depth).held.iter().copied();
        held.find(|unit| self.may_overlap(depth, *unit) == may_overlap)
    }

    /// The playbook or plan whose turn it is, or a call that a trigger may refuse.
    fn step_sequential(&mut self) -> bool {
        let depth = self.frames.len() - 1;
        let frame = self.dataflow_at(depth);
        let Some(id) = frame.sequential else {
            // Tools that only wait for room are not its concern.
            let Some(unit) = self.first_held(depth, false) else { return false };
            self.dataflow_mut(depth).held.remove(&unit);
            self.reach_unit(depth, unit);
            return true;
        };
        let guard = frame.core.queue.iter().find(|queued| queued.guards_call(id));
        if let Some((guard_id, guard, state)) =
            guard.and_then(|queued| Some((queued.id, queued.guards?, queued.state().clone())))
        {
            match state {
                CallState::Queued => self.run_guard(guard_id, guard),
                CallState::Done(_) => self.take_guard(guard_id, guard),
                CallState::Running { .. } | CallState::Asking { .. } => return false,
            }
            return true;
        }
        let is_queued = self.core_mut().queue.get_mut(id).is_some_and(|queued| queued.is_waiting());
        if is_queued {
            self.run_queued(id);
        }
        is_queued
    }

    /// Whether one more tool may be called now.
    fn has_room_for_tool(&self, depth: usize) -> bool {
        let limit = self.settings.dataflow_calls;
        limit == 0 || self.dataflow_at(depth).n_running() < limit
    }

    /// Whether a call may be made beside others: a tool that no trigger may refuse.
    fn may_overlap(&self, depth: usize, unit: u32) -> bool {
        let frame = self.dataflow_at(depth);
        let Some(domain) = domain_of(frame.dataflow(), frame.graph.units[unit as usize]) else { return false };
        matches!(self.find_callee_for(depth, &domain.name), Ok(resolved) if matches!(resolved.callee, Callee::Tool(_))
            && !self.has_guards(depth, &resolved))
    }

    /// What is ready is reached, and done in the next step; a call without room waits for some.
    fn begin_unit(&mut self, depth: usize, unit: u32) {
        let is_domain = matches!(self.dataflow_at(depth).graph.units[unit as usize], Unit::Domain(..));
        if is_domain && !(self.has_room_for_tool(depth) && self.may_overlap(depth, unit)) {
            self.dataflow_mut(depth).held.insert(unit);
        } else {
            self.reach_unit(depth, unit);
        }
    }

    /// Where the plan is; a debugger may stop there, and nothing of it is done yet.
    fn reach_unit(&mut self, depth: usize, unit: u32) {
        let source = self.dataflow_at(depth).source.clone();
        let dataflow = dataflow_of(&source);
        let node = match self.dataflow_at(depth).graph.units[unit as usize] {
            Unit::Alias(id) => Some(dataflow.alias(id).node),
            domain @ Unit::Domain(..) => domain_of(dataflow, domain).map(|domain| domain.node),
        };
        let frame = self.dataflow_mut(depth);
        frame.reached = Some(unit);
        frame.node = node.or(frame.node);
        let place = self.frames[depth].place(depth, None);
        self.outbox.push_back(Progress::Reached(place));
    }

    /// Evaluates the unit that was reached, or makes its call.
    fn perform_unit(&mut self, depth: usize, unit: u32) {
        let source = self.dataflow_at(depth).source.clone();
        let dataflow = dataflow_of(&source);
        match self.dataflow_at(depth).graph.units[unit as usize] {
            Unit::Alias(id) => {
                let alias = dataflow.alias(id);
                let frame = self.dataflow_at(depth);
                let value = match &alias.body {
                    AliasBody::Text(template) => evaluate(dataflow, template, &frame.values, &frame.calendar)
                        .map_err(|fault| (PlanFaultKind::Value, fault.message)),
                    AliasBody::Domains(domains) => {
                        let result = |(index, domain): (usize, &Domain)| {
                            let result = frame.results.get(&frame.graph.domain(id, index)).cloned();
                            (domain.name.clone(), result.unwrap_or_default())
                        };
                        Ok(collapse(domains.iter().enumerate().map(result).collect()))
                    }
                    AliasBody::Parameter => return,
                };
                match value {
                    Ok(value) => {
                        let tracked = value.tracked();
                        self.dataflow_mut(depth).values[id.0 as usize] = Some(value);
                        if let Err(trouble) = self.set_in_frame(depth, &alias.name, tracked) {
                            return self.dataflow_fault(depth, alias.node, trouble.kind, None, trouble.message);
                        }
                        self.dataflow_mut(depth).finish_unit(unit);
                    }
                    Err((kind, message)) => self.dataflow_fault(depth, alias.node, kind, None, message),
                }
            }
            Unit::Domain(..) => self.begin_domain(depth, unit),
        }
    }

    /// Puts a call into the queue, with the values of its slots; a tool starts at once.
    fn begin_domain(&mut self, depth: usize, unit: u32) {
        let source = self.dataflow_at(depth).source.clone();
        let dataflow = dataflow_of(&source);
        let Some(domain) = domain_of(dataflow, self.dataflow_at(depth).graph.units[unit as usize]) else { return };
        let frame = self.dataflow_at(depth);
        let mut arguments = Vec::with_capacity(domain.slots.len());
        for slot in &domain.slots {
            match slot_values(dataflow, slot, &frame.values, &frame.calendar) {
                Ok(value) => arguments.push((slot.name.clone(), value)),
                Err(fault) => {
                    let slot = Some(slot.name.clone());
                    return self.dataflow_fault(depth, domain.node, PlanFaultKind::Value, slot, fault.message);
                }
            }
        }
        let resolved = match self.find_callee_for(depth, &domain.name) {
            Ok(resolved) => resolved,
            Err(problem) => return self.dataflow_fault(depth, domain.node, PlanFaultKind::Call, None, problem),
        };
        let takes_lists = matches!(resolved.callee, Callee::Tool(_));
        for (name, value) in &mut arguments {
            let parameter = resolved.signature.parameters.iter().find(|parameter| parameter.name == *name);
            *value = value.with_value(as_argument(value.value().clone(), parameter, takes_lists));
        }
        let bound = match bind(&resolved, Given::named(arguments)) {
            Ok(bound) => bound,
            Err(problem) => return self.dataflow_fault(depth, domain.node, PlanFaultKind::Call, None, problem),
        };
        let id = self.queue_call_at(depth, &resolved, bound, None);
        let is_tool = matches!(resolved.callee, Callee::Tool(_)) && !self.has_guards(depth, &resolved);
        let frame = self.dataflow_mut(depth);
        frame.calls.insert(id, unit);
        if !is_tool {
            frame.sequential = Some(id);
        }
    }

    /// A call has ended: its result is one of its alias's.
    fn take_dataflow_call(&mut self, depth: usize, id: CallId) {
        let frame = self.dataflow_mut(depth);
        let Some((queued, result)) = frame.core.queue.take_done(id) else { return };
        if frame.sequential == Some(id) {
            frame.sequential = None;
        }
        let Some(unit) = frame.calls.remove(&id) else { return };
        match &result {
            Ok(value) => {
                frame.results.insert(unit, value.clone());
                frame.finish_unit(unit);
            }
            Err(error) => {
                let source = frame.source.clone();
                if let Some(domain) = domain_of(dataflow_of(&source), frame.graph.units[unit as usize]) {
                    let message = format!("{} failed: {error}", queued.name);
                    self.dataflow_fault(depth, domain.node, PlanFaultKind::Failed, None, message);
                }
            }
        }
        if depth + 1 == self.frames.len() {
            self.call_taken(&queued, &result);
        }
    }

    /// Something of the plan has failed: nothing more is begun.
    fn dataflow_fault(
        &mut self,
        depth: usize,
        node: NodeId,
        kind: PlanFaultKind,
        parameter: Option<Arc<str>>,
        message: String,
    ) {
        // Others may have been begun since: the fault is told where it is.
        self.dataflow_mut(depth).node = Some(node);
        let frame = self.dataflow_at(depth);
        let label = frame.source.node(node).label.clone();
        let type_name = if label.contains('.') { "domain" } else { "alias" };
        let at = parameter.as_ref().map(|slot| format!(", slot `{slot}`")).unwrap_or_default();
        let message: Arc<str> = format!("{}, {type_name} {label}{at}: {message}", frame.source.name).into();
        let plan = frame.plan;
        let fault = PlanFault { kind, plan, node, label, seq_no: None, type_name, parameter, message: message.clone() };
        let place = self.frames[depth].place(depth, None);
        self.report_at(place, Fact::PlanFault(Box::new(fault)));
        self.dataflow_mut(depth).stop(message);
    }
}

fn domain_of(dataflow: &Dataflow, unit: Unit) -> Option<&Domain> {
    let Unit::Domain(alias, index) = unit else { return None };
    domains(dataflow, alias).get(index)
}

fn domains(dataflow: &Dataflow, alias: AliasId) -> &[Domain] {
    match &dataflow.alias(alias).body {
        AliasBody::Domains(domains) => domains,
        AliasBody::Parameter | AliasBody::Text(_) => &[],
    }
}

/// A slot's list as an argument. A service takes lists; a parameter that says otherwise gets the one value, read as
/// its type if it is text; playbooks and plans get one value as it is.
fn as_argument(list: Value, parameter: Option<&Parameter>, takes_lists: bool) -> Value {
    let ty = parameter.map_or(Type::ANY, |parameter| parameter.ty);
    let Value::List(values) = &list else { return list };
    let [only] = values.as_slice() else { return list };
    if takes_lists && ty.accepts(&list) {
        return list;
    }
    if ty.accepts(only) {
        return only.clone();
    }
    let read = only.as_str().and_then(|text| Value::from_json(text.trim()).ok()).filter(|value| ty.accepts(value));
    read.unwrap_or(list)
}
