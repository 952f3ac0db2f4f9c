//! A plan that is being executed, whichever language it is in.

use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanBody, PlanId};
use playhouse_lang::value::Excess;

use crate::calls::arguments::Resolved;
use crate::calls::call::QueuedCall;
use crate::dataflow::execution::DataflowExecution;
use crate::machine::frame_core::FrameCore;
use crate::plan::json::JsonExecution;
use crate::plan::want::{NodeFault, Session, Sight, Want};
use crate::protocol::settings::Settings;
use crate::protocol::{CallId, Location, PlanFaultKind, Timestamp, Tracked};
use crate::variables::bounds::describe_excess;

/// A plan being executed. It answers what it wants; the machine does that, and tells it what came of it.
#[derive(Clone, Debug)]
pub(crate) struct PlanFrame {
    pub(crate) core: FrameCore,
    plan: PlanId,
    source: Arc<Plan>,
    execution: Execution,
}

/// How far it is.
#[derive(Clone, Debug)]
enum Execution {
    Json(JsonExecution),
    Dataflow(DataflowExecution),
}

impl PlanFrame {
    /// A plan at its beginning.
    ///
    /// # Errors
    /// The settings do not say what it needs.
    pub(crate) fn new(
        core: FrameCore,
        plan: PlanId,
        source: Arc<Plan>,
        now: Timestamp,
        settings: &Settings,
    ) -> Result<PlanFrame, String> {
        let execution = match &source.body {
            PlanBody::Json(_) => Execution::Json(JsonExecution::default()),
            PlanBody::Dataflow(dataflow) => Execution::Dataflow(DataflowExecution::new(dataflow, now, settings)?),
        };
        Ok(PlanFrame { core, plan, source, execution })
    }

    /// What it wants first. The arguments have been bound and checked.
    pub(crate) fn begin(&mut self, bound: Vec<(Arc<str>, Tracked)>, session: Session<'_>) -> Vec<Want> {
        let (execution, sight) = self.split(session);
        match execution {
            Execution::Json(json) => json.begin(bound, &sight),
            Execution::Dataflow(dataflow) => dataflow.begin(&bound, &sight),
        }
    }

    /// What it wants next; nothing: it has changed by itself, or below the top of the stack there is nothing to do.
    pub(crate) fn next(&mut self, session: Session<'_>) -> Vec<Want> {
        let (execution, sight) = self.split(session);
        match execution {
            Execution::Json(json) => json.next(&sight),
            Execution::Dataflow(dataflow) => dataflow.next(&sight),
        }
    }

    /// What it wants now that a call is over and out of its queue.
    pub(crate) fn take(
        &mut self,
        queued: &QueuedCall,
        result: &Result<Tracked, Arc<str>>,
        session: Session<'_>,
    ) -> Vec<Want> {
        let (execution, sight) = self.split(session);
        match execution {
            Execution::Json(json) => json.take(queued, result, &sight),
            Execution::Dataflow(dataflow) => dataflow.take(queued, result, &sight),
        }
    }

    /// What it wants now that what a variable was to be set to is too large.
    pub(crate) fn refuse(&mut self, name: &str, excess: Excess, session: Session<'_>) -> Vec<Want> {
        let message = format!("`{name}` would be {}", describe_excess(excess));
        let fault = NodeFault::new(PlanFaultKind::Limit, message);
        let (execution, sight) = self.split(session);
        match execution {
            Execution::Json(json) => json.fail(fault.of(name), &sight),
            Execution::Dataflow(dataflow) => dataflow.fail(fault, &sight),
        }
    }

    fn split<'a>(&'a mut self, session: Session<'a>) -> (&'a mut Execution, Sight<'a>) {
        let PlanFrame { core, plan, source, execution } = self;
        (execution, Sight { plan: *plan, source, core, session })
    }

    /// A call that it wanted is in its queue; `unit` is its own number for it.
    pub(crate) fn call_queued(&mut self, call: CallId, unit: u32, resolved: &Resolved, session: Session<'_>) {
        match &mut self.execution {
            Execution::Json(_) => {}
            Execution::Dataflow(dataflow) => dataflow.call_queued(call, unit, session.callees.may_overlap(resolved)),
        }
    }

    /// It is another plan from now on, or the same under another number.
    pub(crate) fn adopt(&mut self, plan: PlanId, source: Arc<Plan>) {
        (self.plan, self.source) = (plan, source);
    }

    pub(crate) fn go_to(&mut self, node: Option<NodeId>) {
        match &mut self.execution {
            Execution::Json(json) => json.go_to(node),
            Execution::Dataflow(dataflow) => dataflow.go_to(node),
        }
    }

    /// Nothing more is begun; it fails as soon as nothing runs any more.
    pub(crate) fn stop(&mut self, reason: Arc<str>) {
        self.core.queue.drop_waiting();
        match &mut self.execution {
            Execution::Json(json) => json.stop(reason),
            Execution::Dataflow(dataflow) => dataflow.stop(reason),
        }
    }

    /// The result of one of its calls has come.
    pub(crate) fn note_result(&mut self) {
        match &mut self.execution {
            Execution::Json(_) => {}
            Execution::Dataflow(dataflow) => dataflow.note_result(),
        }
    }

    /// Whether it does one thing after the other.
    pub(crate) fn is_sequential(&self) -> bool {
        matches!(self.execution, Execution::Json(_))
    }

    /// Whether it may have something to do though a playbook of its runs above it.
    pub(crate) fn has_news(&self) -> bool {
        matches!(&self.execution, Execution::Dataflow(dataflow) if dataflow.has_news())
    }

    pub(crate) fn plan(&self) -> PlanId {
        self.plan
    }

    pub(crate) fn source(&self) -> &Arc<Plan> {
        &self.source
    }

    /// Where it is; none: after the last instruction, or nothing of it has begun.
    pub(crate) fn node(&self) -> Option<NodeId> {
        match &self.execution {
            Execution::Json(json) => json.node(),
            Execution::Dataflow(dataflow) => dataflow.node(),
        }
    }

    pub(crate) fn location(&self) -> Location {
        Location::Plan { plan: self.plan, node: self.node() }
    }
}
