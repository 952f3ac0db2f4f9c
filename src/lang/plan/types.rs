//! A plan, whichever language it is in.

use std::sync::Arc;

use crate::plan::dataflow::types::Dataflow;
use crate::plan::json::JsonPlan;
use crate::plan::node::{NodeId, PlanLanguage, PlanNode};
use crate::span::{FileId, Span};

/// One plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The name it is called by: its file's stem, made an identifier; unique among the plans of a program.
    pub name: Arc<str>,
    /// Its text.
    pub file: FileId,
    /// The whole of it inside the file (what a model wrote around it left out).
    pub span: Span,
    /// The variables it reads and does not set, in the order of their first reading; of a dataflow plan the aliases
    /// without a value. A call binds them.
    pub parameters: Vec<Arc<str>>,
    /// The places in it, in document order.
    pub nodes: Vec<PlanNode>,
    /// What it does.
    pub body: PlanBody,
}

/// What a plan does.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanBody {
    /// A list of instructions.
    Json(JsonPlan),
    /// A dataflow document.
    Dataflow(Dataflow),
}

impl Plan {
    /// Its language.
    pub fn language(&self) -> PlanLanguage {
        match &self.body {
            PlanBody::Json(plan) => plan.dialect.language(),
            PlanBody::Dataflow(_) => PlanLanguage::Dataflow,
        }
    }

    /// The names it calls and their places, with repetitions, in document order.
    pub fn callees(&self) -> Vec<(&str, Span)> {
        match &self.body {
            PlanBody::Json(plan) => {
                let calls = plan.instructions.iter().filter_map(|instruction| instruction.kind.call());
                calls.map(|call| (&*call.callee, call.callee_span)).collect()
            }
            PlanBody::Dataflow(dataflow) => {
                dataflow.domains().map(|domain| (&*domain.name, domain.name_span)).collect()
            }
        }
    }

    /// The node with `id`.
    ///
    /// # Panics
    /// If `id` is of another plan.
    pub fn node(&self, id: NodeId) -> &PlanNode {
        &self.nodes[id.0 as usize]
    }
}
