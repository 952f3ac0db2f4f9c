//! What is kept of a JSON plan that is being executed, and what can be wrong with an instruction.

use std::sync::Arc;

use playhouse_lang::plan::json::JsonPlan;
use playhouse_lang::plan::{NodeId, Plan, PlanBody, PlanId};

use crate::machine::frame_core::FrameCore;
use crate::protocol::{Location, PlanFaultKind};

/// A JSON plan being executed.
#[derive(Clone, Debug)]
pub(crate) struct PlanFrame {
    pub(crate) core: FrameCore,
    pub(crate) plan: PlanId,
    pub(crate) source: Arc<Plan>,
    /// The instruction it is at; none: behind the last.
    pub(crate) pointer: Option<NodeId>,
    /// What the call in its queue is for.
    pub(super) doing: Doing,
    pub(super) n_steps: u64,
    pub(super) n_replans: u32,
    /// What was called so far that may have changed something, as a model is told.
    pub(super) effects: Vec<String>,
    /// It is to end as soon as nothing runs any more, and why.
    pub(super) stopped: Option<Arc<str>>,
}

/// What a plan waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doing {
    /// Nothing, or the result of the instruction's call.
    Call,
    /// The answer to a condition.
    Condition {
        /// How often the model has been asked.
        n_asked: u32,
    },
    /// Another plan.
    Replan {
        n_asked: u32,
        /// What the model was told.
        told: Arc<str>,
    },
}

impl PlanFrame {
    pub(crate) fn location(&self) -> Location {
        Location::Plan { plan: self.plan, node: self.pointer }
    }

    pub(super) fn json(&self) -> &JsonPlan {
        json_of(&self.source)
    }
}

/// A plan frame's plan is always one of instructions.
pub(super) fn json_of(plan: &Plan) -> &JsonPlan {
    match &plan.body {
        PlanBody::Json(json) => json,
        PlanBody::Dataflow(_) => unreachable!("frames of dataflow plans are of another kind"),
    }
}

/// What is wrong with an instruction.
#[derive(Clone, Debug)]
pub(crate) struct InstructionFault {
    pub(crate) kind: PlanFaultKind,
    pub(crate) parameter: Option<Arc<str>>,
    pub(crate) message: String,
}

impl InstructionFault {
    pub(crate) fn new(kind: PlanFaultKind, message: impl Into<String>) -> InstructionFault {
        InstructionFault { kind, parameter: None, message: message.into() }
    }

    pub(crate) fn of(mut self, parameter: &str) -> InstructionFault {
        self.parameter = Some(parameter.into());
        self
    }
}
