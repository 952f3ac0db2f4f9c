//! An instruction fails: what is recorded, and what becomes of the plan (spec `plans.md`, sections 1.7 and 2.7).

use std::sync::Arc;

use crate::Machine;
use crate::fault::FaultKind;
use crate::frame::{CallState, Frame};
use crate::plan::json_of;
use crate::protocol::{Fact, FrameOrigin, PlanFault, PlanFaultKind};

/// What is wrong with an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: PlanFaultKind,
    pub(crate) parameter: Option<Arc<str>>,
    pub(crate) message: String,
}

impl Trouble {
    pub(crate) fn new(kind: PlanFaultKind, message: impl Into<String>) -> Trouble {
        Trouble { kind, parameter: None, message: message.into() }
    }

    pub(crate) fn of(mut self, parameter: &str) -> Trouble {
        self.parameter = Some(parameter.into());
        self
    }
}

impl Machine {
    /// The instruction at the pointer has failed. The plan ends, unless a model may write another one.
    pub(crate) fn plan_fault(&mut self, trouble: Trouble) {
        let Some(Frame::Plan(frame)) = self.frames.last() else { return };
        let Some(node) = frame.pointer else { return };
        let instruction = json_of(&frame.source).instruction(node);
        let label = frame.source.node(node).label.clone();
        let at = trouble.parameter.as_ref().map(|parameter| format!(", `{parameter}`")).unwrap_or_default();
        let message: Arc<str> =
            format!("{}, instruction {label} ({}{at}): {}", frame.source.name, instruction.type_name, trouble.message)
                .into();
        let fault = PlanFault {
            kind: trouble.kind,
            plan: frame.plan,
            node,
            label,
            seq_no: Some(instruction.seq_no),
            type_name: instruction.type_name,
            parameter: trouble.parameter,
            message: message.clone(),
        };
        self.report(Fact::PlanFault(Box::new(fault)));
        if !self.begin_replan(&message) {
            self.end_failed(message);
        }
    }

    /// The plan on top of the stack has failed for good: its caller's call fails with it, or the session.
    pub(crate) fn end_failed(&mut self, message: Arc<str>) {
        let Some(frame) = self.frames.last() else { return };
        let FrameOrigin::Call { call, .. } = frame.core().origin else {
            return self.fail(FaultKind::Plan, message);
        };
        self.report(Fact::FramePopped { value: None });
        self.leave_frame();
        let now = self.now;
        if let Some(queued) = self.find_call(call) {
            queued.state = CallState::Done(Err(message.clone()));
            let finished = queued.finished(now, Err(message));
            self.report(finished);
        }
        self.remove_stale();
    }
}
