//! What is kept of a dataflow plan that is being executed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::protocol::Tracked;
use playhouse_lang::dataflow::{AliasId, Dataflow};
use playhouse_lang::plan::{NodeId, Plan, PlanBody, PlanId};

use crate::calls::call::CallState;
use crate::dataflow::date::Calendar;
use crate::dataflow::evaluate::AliasValue;
use crate::dataflow::graph::Graph;
use crate::machine::frame_core::FrameCore;
use crate::protocol::{CallId, Location};

/// A dataflow plan being executed.
#[derive(Clone, Debug)]
pub(crate) struct DataflowFrame {
    pub(crate) core: FrameCore,
    pub(crate) plan: PlanId,
    pub(crate) source: Arc<Plan>,
    pub(crate) calendar: Arc<Calendar>,
    pub(crate) graph: Arc<Graph>,
    /// The aliases that have a value, by their ids.
    pub(crate) values: Vec<Option<AliasValue>>,
    /// The results of calls, by their units.
    pub(crate) results: HashMap<u32, Tracked>,
    /// Per unit, how many it still waits for.
    pub(crate) n_missing: Vec<u32>,
    /// Units that can be evaluated, in the order in which that became so.
    pub(crate) ready: VecDeque<u32>,
    /// Calls that wait for another to end: of playbooks and plans only one runs at a time.
    pub(crate) held: BTreeSet<u32>,
    /// The calls in the queue, with their units.
    pub(crate) calls: HashMap<CallId, u32>,
    /// The call that is a playbook's or a plan's, or that a trigger may refuse.
    pub(crate) sequential: Option<CallId>,
    /// Where it is: what was begun last.
    pub(crate) node: Option<NodeId>,
    /// The unit that the debugger has been told of, to be done in the next step.
    pub(crate) reached: Option<u32>,
    /// It is to end as soon as nothing runs any more, and why.
    pub(crate) stopped: Option<Arc<str>>,
    /// A result has come while another frame was on top.
    pub(crate) has_news: bool,
}

impl DataflowFrame {
    pub(crate) fn location(&self) -> Location {
        Location::Plan { plan: self.plan, node: self.node }
    }

    pub(crate) fn dataflow(&self) -> &Dataflow {
        dataflow_of(&self.source)
    }

    /// Nothing more is begun; what runs is awaited.
    pub(crate) fn stop(&mut self, reason: Arc<str>) {
        if self.stopped.is_none() {
            self.stopped = Some(reason);
        }
        self.ready.clear();
        self.held.clear();
        self.core.queue.drop_waiting();
    }

    /// A unit is done: those that waited for nothing else are ready.
    pub(crate) fn finish_unit(&mut self, unit: u32) {
        let graph = self.graph.clone();
        for &dependent in &graph.dependents[unit as usize] {
            let n_missing = &mut self.n_missing[dependent as usize];
            *n_missing -= 1;
            if *n_missing == 0 && self.stopped.is_none() {
                self.ready.push_back(dependent);
            }
        }
    }

    /// How many of its calls the world is making.
    pub(crate) fn n_running(&self) -> usize {
        let runs = |state: &CallState| matches!(state, CallState::Running { .. } | CallState::Asking { .. });
        self.core.queue.iter().filter(|queued| runs(queued.state())).count()
    }

    pub(crate) fn value(&self, id: AliasId) -> Option<&AliasValue> {
        self.values.get(id.0 as usize).and_then(Option::as_ref)
    }
}

/// A dataflow frame's plan is always a dataflow document.
pub(crate) fn dataflow_of(plan: &Plan) -> &Dataflow {
    match &plan.body {
        PlanBody::Dataflow(dataflow) => dataflow,
        PlanBody::Json(_) => unreachable!("frames of JSON plans are of another kind"),
    }
}
