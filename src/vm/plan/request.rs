//! What plans are told, what they can see, and what they want of the machine.
//!
//! A plan decides and the machine does: the execution of a plan is told a [`PlanEvent`], reads its [`PlanContext`] and
//! answers [`PlanRequest`]s, whichever language it is in. It changes nothing but its own state.

use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::value::Excess;

use crate::calls::arguments::Resolved;
use crate::calls::call::QueuedCall;
use crate::calls::callees::Callees;
use crate::machine::frame_core::FrameCore;
use crate::protocol::settings::Settings;
use crate::protocol::{CallId, Fact, PROMPT, PlanFault, PlanFaultKind, Tracked, Wait};
use crate::variables::bounds::describe_excess;

/// What has happened to a plan.
pub(crate) enum PlanEvent<'a> {
    /// It begins, with arguments that have been bound and checked.
    Begun(Vec<(Arc<str>, Tracked)>),
    /// It may do one thing.
    Step,
    /// A call that it wanted is in its queue; `unit` is its own number for it.
    CallQueued { call: CallId, unit: u32, resolved: &'a Resolved },
    /// A call is over and out of its queue.
    CallEnded(&'a QueuedCall, &'a Result<Tracked, Arc<str>>),
    /// What the variable of this name was to be set to is too large.
    TooLarge(&'a str, Excess),
}

/// What a plan wants done.
pub(crate) enum PlanRequest {
    /// One of its first variables has this value, which nobody is told.
    Bind(Arc<str>, Tracked),
    /// A variable gets this value. Where that is too large, nothing of what follows is wanted.
    Set(Arc<str>, Tracked),
    /// The step is not over: the plan is asked once more, now that it sees what was set.
    Again,
    /// It stands at this node, and a debugger may stop there; none: after the last.
    GoTo(Option<NodeId>),
    /// A call is queued, whose arguments have been bound; `unit` is the plan's own number for it.
    Call { resolved: Resolved, arguments: Vec<(Arc<str>, Tracked)>, unit: u32 },
    /// The result of a call that is over is taken.
    Take(CallId),
    /// What a call, or the playbook that guards it, needs next. Only for the plan on top of the stack.
    Work(CallId),
    /// Watchers are told.
    Tell(Fact),
    /// It stands where this is wrong, and watchers are told.
    Fault(Box<PlanFault>),
    /// It goes on with another plan, at a node of that.
    Adopt { written: WrittenPlan, at: Option<NodeId>, attempt: u32 },
    /// Nothing more is begun; when nothing runs any more, the plan fails.
    Stop(Arc<str>),
    /// Nothing can be done before this.
    Wait(Wait),
    /// It is over, with this value.
    Return(Tracked),
    /// It has failed for good.
    Fail(Arc<str>),
}

/// What a plan wants, or why it cannot want anything.
pub(crate) type Requested = Result<Vec<PlanRequest>, NodeFault>;

/// A plan that a model wrote, and its text.
#[derive(Clone, Debug)]
pub(crate) struct WrittenPlan {
    pub(crate) plan: Arc<Plan>,
    pub(crate) text: Arc<str>,
}

/// What is wrong at a node of a plan: an instruction, an alias or a domain.
#[derive(Clone, Debug)]
pub(crate) struct NodeFault {
    pub(crate) kind: PlanFaultKind,
    pub(crate) parameter: Option<Arc<str>>,
    pub(crate) message: String,
}

impl NodeFault {
    pub(crate) fn new(kind: PlanFaultKind, message: impl Into<String>) -> NodeFault {
        NodeFault { kind, parameter: None, message: message.into() }
    }

    pub(crate) fn too_large(what: &str, excess: Excess) -> NodeFault {
        NodeFault::new(PlanFaultKind::Limit, format!("{what} would be {}", describe_excess(excess)))
    }

    pub(crate) fn of(mut self, parameter: &str) -> NodeFault {
        self.parameter = Some(parameter.into());
        self
    }

    /// As watchers are told; `named` says in words which node it is and what of it is wrong.
    pub(crate) fn into_plan_fault(
        self,
        context: &PlanContext<'_>,
        node: NodeId,
        seq_no: Option<i64>,
        type_name: &'static str,
        named: &str,
    ) -> Box<PlanFault> {
        let NodeFault { kind, parameter, message } = self;
        let label = context.source.node(node).label.clone();
        let message = format!("{}, {named}: {message}", context.source.name).into();
        Box::new(PlanFault { kind, plan: context.plan, node, label, seq_no, type_name, parameter, message })
    }
}

/// What plans can see of the session.
#[derive(Clone, Copy)]
pub(crate) struct SessionContext<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) callees: Callees<'a>,
    pub(crate) written: &'a [WrittenPlan],
    /// Tokens used so far.
    pub(crate) n_tokens: u64,
    /// Whether the plan is on top of the stack.
    pub(crate) is_top: bool,
}

/// What the execution of a plan can see: of the plan, and of the session.
pub(crate) struct PlanContext<'a> {
    pub(crate) plan: PlanId,
    pub(crate) source: &'a Plan,
    /// Where it stands.
    pub(crate) node: Option<NodeId>,
    /// Its variables and its calls.
    pub(crate) core: &'a FrameCore,
    pub(crate) session: SessionContext<'a>,
}

impl<'a> PlanContext<'a> {
    /// A value for one of the plan's variables, secret if its agent declares the name so: before anything is made of it.
    pub(crate) fn as_declared(&self, name: &str, value: Tracked) -> Tracked {
        value.secret_if(self.session.callees.program.agent(self.core.agent).declares_secret(name))
    }

    /// The text of the plan.
    pub(crate) fn text(&self) -> &'a str {
        let SessionContext { written, callees, .. } = self.session;
        let span = self.source.span;
        match (self.plan.0 as usize).checked_sub(callees.program.plans.len()).and_then(|index| written.get(index)) {
            Some(written) => written.text.get(span.range()).unwrap_or(&written.text),
            None => callees.program.sources.text(span),
        }
    }

    /// A question of the machine's own to the session's model; its answer comes as the result of a call.
    pub(crate) fn question(&self, name: &str, question: Tracked) -> Result<PlanRequest, NodeFault> {
        let limit = self.session.settings.tokens;
        if self.session.n_tokens >= limit {
            let message = format!("the session has used up its {limit} tokens (limit `tokens`)");
            return Err(NodeFault::new(PlanFaultKind::Limit, message));
        }
        let (resolved, arguments) = (Resolved::question(name), vec![(PROMPT.into(), question)]);
        Ok(PlanRequest::Call { resolved, arguments, unit: 0 })
    }
}
