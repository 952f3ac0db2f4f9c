//! A plan that is being executed, whichever language it is in.

use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanBody, PlanId};

use crate::dataflow::execution::DataflowExecution;
use crate::machine::frame_core::FrameCore;
use crate::plan::json::JsonExecution;
use crate::plan::request::{PlanContext, PlanEvent, PlanRequest, SessionContext};
use crate::protocol::settings::Settings;
use crate::protocol::{Location, Timestamp};

/// A plan being executed.
#[derive(Clone, Debug)]
pub(crate) struct PlanFrame {
    pub(crate) core: FrameCore,
    plan: PlanId,
    source: Arc<Plan>,
    /// Where it is: the instruction that is next, or what was begun last. None: after the last instruction.
    node: Option<NodeId>,
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
        Ok(PlanFrame { core, plan, source, node: None, execution })
    }

    /// Something has happened: what the plan wants now.
    pub(crate) fn handle(&mut self, event: PlanEvent<'_>, session: SessionContext<'_>) -> Vec<PlanRequest> {
        let context = PlanContext { plan: self.plan, source: &self.source, node: self.node, core: &self.core, session };
        match &mut self.execution {
            Execution::Json(json) => json.handle(event, &context),
            Execution::Dataflow(dataflow) => dataflow.handle(event, &context),
        }
    }

    /// It stands at another node.
    pub(crate) fn go_to(&mut self, node: Option<NodeId>) {
        self.node = node;
    }

    /// It is another plan from now on, or the same under another number.
    pub(crate) fn adopt(&mut self, plan: PlanId, source: Arc<Plan>) {
        (self.plan, self.source) = (plan, source);
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
        if let Execution::Dataflow(dataflow) = &mut self.execution {
            dataflow.note_result();
        }
    }

    /// Whether it may have something to do though a playbook of its runs above it.
    pub(crate) fn has_news(&self) -> bool {
        matches!(&self.execution, Execution::Dataflow(dataflow) if dataflow.has_news())
    }

    /// Whether it does one thing after the other.
    pub(crate) fn is_sequential(&self) -> bool {
        matches!(self.execution, Execution::Json(_))
    }

    pub(crate) fn plan(&self) -> PlanId {
        self.plan
    }

    pub(crate) fn source(&self) -> &Arc<Plan> {
        &self.source
    }

    pub(crate) fn node(&self) -> Option<NodeId> {
        self.node
    }

    pub(crate) fn location(&self) -> Location {
        Location::Plan { plan: self.plan, node: self.node }
    }
}
