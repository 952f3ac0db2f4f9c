//! What a dataflow plan does next: everything that waits for nothing is begun, whatever else is running.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use playhouse_lang::dataflow::{Alias, AliasBody, Dataflow, Domain};
use playhouse_lang::plan::{NodeId, Plan, PlanBody};
use playhouse_lang::program::{Parameter, Type};
use playhouse_lang::value::Value;

use crate::calls::arguments::{Given, bind};
use crate::calls::call::{CallState, Callee, QueuedCall};
use crate::dataflow::date::{Calendar, zone};
use crate::dataflow::evaluate::{AliasValue, EvaluationFault, collapse, evaluate, slot_values};
use crate::dataflow::graph::{Graph, Unit};
use crate::plan::request::{NodeFault, PlanContext, PlanEvent, PlanRequest, Requested};
use crate::protocol::settings::Settings;
use crate::protocol::{CallId, PlanFaultKind, Timestamp, Tracked, Wait};

/// How far a dataflow plan is.
#[derive(Clone, Debug)]
pub(crate) struct DataflowExecution {
    calendar: Arc<Calendar>,
    graph: Arc<Graph>,
    /// The aliases that have a value, by their ids.
    values: Vec<Option<AliasValue>>,
    /// The results of calls, by their units.
    results: HashMap<u32, Tracked>,
    /// Per unit, how many it still waits for.
    n_missing: Vec<u32>,
    /// Units that can be evaluated, in the order in which that became so.
    ready: VecDeque<u32>,
    /// Calls that wait for another to end: of playbooks and plans only one runs at a time.
    held: BTreeSet<u32>,
    /// The calls in the queue, with their units.
    calls: HashMap<CallId, u32>,
    /// The call that is a playbook's or a plan's, or that a trigger may refuse.
    sequential: Option<CallId>,
    /// The unit that the debugger has been told of, to be done in the next step.
    reached: Option<u32>,
    /// It is to end as soon as nothing runs any more, and why.
    stopped: Option<Arc<str>>,
    /// A result has come while another frame was on top.
    has_news: bool,
}

impl DataflowExecution {
    pub(crate) fn new(dataflow: &Dataflow, now: Timestamp, settings: &Settings) -> Result<DataflowExecution, String> {
        let zone = zone(&settings.zone).map_err(|problem| format!("the setting `zone`: {problem}"))?;
        let graph = Graph::new(dataflow);
        Ok(DataflowExecution {
            calendar: Arc::new(Calendar::new(now, zone, settings.times_of_day)),
            values: vec![None; dataflow.aliases.len()],
            results: HashMap::new(),
            n_missing: graph.n_missing.clone(),
            ready: VecDeque::new(),
            held: BTreeSet::new(),
            calls: HashMap::new(),
            sequential: None,
            reached: None,
            stopped: None,
            has_news: false,
            graph,
        })
    }

    /// Something has happened: what the plan wants now.
    pub(crate) fn handle(&mut self, event: PlanEvent<'_>, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        match event {
            PlanEvent::Begun(bound) => self.begin(&bound, context),
            PlanEvent::Step => self.next(context),
            PlanEvent::CallQueued { call, unit, resolved } => {
                self.calls.insert(call, unit);
                if !context.session.callees.may_overlap(resolved) {
                    self.sequential = Some(call);
                }
                Vec::new()
            }
            PlanEvent::CallEnded(queued, result) => self.take(queued, result, context),
            PlanEvent::TooLarge(name, excess) => {
                self.fail(NodeFault::too_large(&format!("`{name}`"), excess), context.node, context)
            }
        }
    }

    /// What was given has its value, and what waits for nothing else is ready.
    fn begin(&mut self, bound: &[(Arc<str>, Tracked)], context: &PlanContext<'_>) -> Vec<PlanRequest> {
        let dataflow = dataflow_of(context.source);
        let mut requests = Vec::new();
        let graph = self.graph.clone();
        for (unit, what) in (0_u32..).zip(&graph.units) {
            if let Unit::Alias(id) = *what
                && let Alias { body: AliasBody::Parameter, name, .. } = dataflow.alias(id)
            {
                let given = bound.iter().find(|(given, _)| given == name);
                let value = context.as_declared(name, given.map_or(Tracked::NULL, |(_, value)| value.clone()));
                self.values[id.0 as usize] = Some(AliasValue::from(value.clone()));
                self.finish_unit(unit);
                requests.push(PlanRequest::Bind(name.clone(), value));
                continue;
            }
            // What the result is not made of is never evaluated.
            let is_needed = match *what {
                Unit::Alias(id) => dataflow.alias(id).reachable,
                Unit::Domain(..) => true,
            };
            if is_needed && graph.n_missing[unit as usize] == 0 {
                self.ready.push_back(unit);
            }
        }
        requests
    }

    /// One thing that it does next.
    fn next(&mut self, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        if let Some(requests) = self.next_of_tools(context) {
            return requests;
        }
        if !context.session.is_top {
            self.has_news = false;
            return Vec::new();
        }
        if self.stopped.is_none()
            && let Some(requests) = self.next_in_sequence(context)
        {
            return requests;
        }
        let open = context.core.queue.iter().find_map(|queued| match queued.state() {
            CallState::Running { .. } => Some(Wait::Call(queued.id)),
            CallState::Asking { .. } => Some(Wait::Approval(queued.id)),
            CallState::Queued | CallState::Done(_) => None,
        });
        let result = &self.values[dataflow_of(context.source).result.0 as usize];
        vec![match (open, &self.stopped, result) {
            (Some(wait), ..) => PlanRequest::Wait(wait),
            (None, Some(reason), _) => PlanRequest::Fail(reason.clone()),
            (None, None, Some(value)) => PlanRequest::Return(value.tracked()),
            // The text was checked: without a cycle something is always ready, running or done.
            (None, None, None) => PlanRequest::Fail("a dataflow plan waits for nothing".into()),
        }]
    }

    /// Takes a result, evaluates what is ready, starts a tool: what goes on also while a playbook of its runs above.
    /// None: there is nothing to do.
    fn next_of_tools(&mut self, context: &PlanContext<'_>) -> Option<Vec<PlanRequest>> {
        if let Some(unit) = self.reached.take() {
            return Some(self.perform(unit, context).unwrap_or_else(|fault| self.fail(fault, context.node, context)));
        }
        let is_done = |queued: &&QueuedCall| {
            matches!(queued.state(), CallState::Done(_))
                && queued.guards.is_none()
                && (context.session.is_top || self.sequential != Some(queued.id))
        };
        if let Some(done) = context.core.queue.iter().find(is_done) {
            return Some(vec![PlanRequest::Take(done.id)]);
        }
        if let Some(unit) = self.ready.pop_front() {
            let is_domain = matches!(self.graph.units[unit as usize], Unit::Domain(..));
            // A call without room waits for some.
            if is_domain && !(has_room(context) && self.may_overlap(unit, context)) {
                self.held.insert(unit);
                return Some(Vec::new());
            }
            return Some(self.reach(unit, context));
        }
        if has_room(context) { self.reach_held(true, context) } else { None }
    }

    /// The playbook or plan whose turn it is, or a call that a trigger may refuse. None: there is nothing to do.
    fn next_in_sequence(&mut self, context: &PlanContext<'_>) -> Option<Vec<PlanRequest>> {
        // Tools that only wait for room are not its concern.
        let Some(id) = self.sequential else { return self.reach_held(false, context) };
        let queue = &context.core.queue;
        let next = queue.iter().find(|queued| queued.guards_call(id)).or_else(|| queue.get(id))?;
        match next.state() {
            CallState::Queued | CallState::Done(_) => Some(vec![PlanRequest::Work(next.id)]),
            CallState::Running { .. } | CallState::Asking { .. } => None,
        }
    }

    /// The first call that is held, in document order, among those that may be made beside others, or among the rest.
    fn reach_held(&mut self, may_overlap: bool, context: &PlanContext<'_>) -> Option<Vec<PlanRequest>> {
        let first = self.held.iter().copied().find(|unit| self.may_overlap(*unit, context) == may_overlap)?;
        self.held.remove(&first);
        Some(self.reach(first, context))
    }

    fn may_overlap(&self, unit: u32, context: &PlanContext<'_>) -> bool {
        let Some(domain) = self.domain(unit, context) else { return false };
        let callees = context.session.callees;
        callees.find(&domain.name).is_ok_and(|resolved| callees.may_overlap(&resolved))
    }

    /// Where the plan is; a debugger may stop there, and nothing of it is done yet.
    fn reach(&mut self, unit: u32, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        self.reached = Some(unit);
        let node = match self.graph.units[unit as usize] {
            Unit::Alias(id) => Some(dataflow_of(context.source).alias(id).node),
            Unit::Domain(..) => self.domain(unit, context).map(|domain| domain.node),
        };
        vec![PlanRequest::GoTo(node.or(context.node))]
    }

    /// Evaluates the unit that was reached, or makes its call.
    fn perform(&mut self, unit: u32, context: &PlanContext<'_>) -> Requested {
        let dataflow = dataflow_of(context.source);
        let Unit::Alias(id) = self.graph.units[unit as usize] else { return self.planned_call(unit, context) };
        let alias = dataflow.alias(id);
        let mut value = match &alias.body {
            AliasBody::Text(template) => {
                let wrong = |fault: EvaluationFault| NodeFault::new(PlanFaultKind::Value, fault.message);
                evaluate(dataflow, template, &self.values, &self.calendar).map_err(wrong)?
            }
            AliasBody::Domains(domains) => {
                let result = |(index, domain): (usize, &Domain)| {
                    let result = self.results.get(&self.graph.domain(id, index)).cloned();
                    (domain.name.clone(), result.unwrap_or_default())
                };
                collapse(domains.iter().enumerate().map(result).collect())
            }
            AliasBody::Parameter => return Ok(Vec::new()),
        };
        let tracked = context.as_declared(&alias.name, value.tracked());
        value.provenance = tracked.provenance();
        let set = PlanRequest::Set(alias.name.clone(), tracked);
        self.values[id.0 as usize] = Some(value);
        self.finish_unit(unit);
        Ok(vec![set])
    }

    /// A call with the values of its slots.
    fn planned_call(&self, unit: u32, context: &PlanContext<'_>) -> Requested {
        let Some(domain) = self.domain(unit, context) else { return Ok(Vec::new()) };
        let mut arguments = Vec::with_capacity(domain.slots.len());
        for slot in &domain.slots {
            let wrong = |fault: EvaluationFault| NodeFault::new(PlanFaultKind::Value, fault.message).of(&slot.name);
            let value = slot_values(dataflow_of(context.source), slot, &self.values, &self.calendar).map_err(wrong)?;
            arguments.push((slot.name.clone(), value));
        }
        let cannot_call = |problem: String| NodeFault::new(PlanFaultKind::Call, problem);
        let resolved = context.session.callees.find(&domain.name).map_err(cannot_call)?;
        let takes_lists = matches!(resolved.callee, Callee::Tool(_));
        for (name, value) in &mut arguments {
            let parameter = resolved.signature.parameters.iter().find(|parameter| parameter.name == *name);
            *value = value.with_value(as_argument(value.value().clone(), parameter, takes_lists));
        }
        let arguments = bind(&resolved, Given::named(arguments)).map_err(cannot_call)?;
        Ok(vec![PlanRequest::Call { resolved, arguments, unit }])
    }

    /// A call has ended: its result is one of its alias's.
    fn take(
        &mut self,
        queued: &QueuedCall,
        result: &Result<Tracked, Arc<str>>,
        context: &PlanContext<'_>,
    ) -> Vec<PlanRequest> {
        if self.sequential == Some(queued.id) {
            self.sequential = None;
        }
        let Some(unit) = self.calls.remove(&queued.id) else { return Vec::new() };
        match result {
            Ok(value) => {
                self.results.insert(unit, value.clone());
                self.finish_unit(unit);
                Vec::new()
            }
            Err(error) => {
                let Some(domain) = self.domain(unit, context) else { return Vec::new() };
                let message = format!("{} failed: {error}", queued.name);
                // Others may have been begun since: the fault is told where it is.
                self.fail(NodeFault::new(PlanFaultKind::Failed, message), Some(domain.node), context)
            }
        }
    }

    /// Something has failed at a node: nothing more is begun.
    fn fail(&self, fault: NodeFault, node: Option<NodeId>, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        let Some(node) = node else { return Vec::new() };
        let label = &context.source.node(node).label;
        let type_name = if label.contains('.') { "domain" } else { "alias" };
        let at = fault.parameter.as_ref().map(|slot| format!(", slot `{slot}`")).unwrap_or_default();
        let fault = fault.into_plan_fault(context, node, None, type_name, &format!("{type_name} {label}{at}"));
        let stop = PlanRequest::Stop(fault.message.clone());
        vec![PlanRequest::Fault(fault), stop]
    }

    /// Nothing more is begun; what runs is awaited.
    pub(crate) fn stop(&mut self, reason: Arc<str>) {
        self.stopped.get_or_insert(reason);
        self.ready.clear();
        self.held.clear();
    }

    /// A unit is done: those that waited for nothing else are ready.
    fn finish_unit(&mut self, unit: u32) {
        let graph = self.graph.clone();
        for &dependent in &graph.dependents[unit as usize] {
            let n_missing = &mut self.n_missing[dependent as usize];
            *n_missing -= 1;
            if *n_missing == 0 && self.stopped.is_none() {
                self.ready.push_back(dependent);
            }
        }
    }

    pub(crate) fn note_result(&mut self) {
        self.has_news = true;
    }

    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// The call that a unit is.
    fn domain<'p>(&self, unit: u32, context: &PlanContext<'p>) -> Option<&'p Domain> {
        let Unit::Domain(id, index) = self.graph.units[unit as usize] else { return None };
        match &dataflow_of(context.source).alias(id).body {
            AliasBody::Domains(domains) => domains.get(index),
            AliasBody::Parameter | AliasBody::Text(_) => None,
        }
    }
}

/// A dataflow plan's body is always a dataflow document.
fn dataflow_of(plan: &Plan) -> &Dataflow {
    match &plan.body {
        PlanBody::Dataflow(dataflow) => dataflow,
        PlanBody::Json(_) => unreachable!("JSON plans are executed in another way"),
    }
}

/// Whether one more tool may be called now.
fn has_room(context: &PlanContext<'_>) -> bool {
    let limit = context.session.settings.dataflow_calls;
    limit == 0 || context.core.queue.iter().filter(|queued| queued.is_under_way()).count() < limit
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
