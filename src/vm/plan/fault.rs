//! An instruction fails: what is recorded, and what becomes of the plan (spec `plans.md`, sections 1.7 and 2.7).

use crate::plan::frame::InstructionFault;
use std::sync::Arc;

use crate::machine::frame::Frame;
use crate::machine::state::Machine;
use crate::plan::frame::json_of;
use crate::protocol::fault::FaultKind;
use crate::protocol::{Fact, FrameOrigin, PlanFault};

impl Machine {
    /// The instruction at the pointer has failed. The plan ends, unless a model may write another one.
    pub(crate) fn plan_fault(&mut self, fault: InstructionFault) {
        let Some(Frame::Plan(frame)) = self.frames.last() else { return };
        let Some(node) = frame.pointer else { return };
        let instruction = json_of(&frame.source).instruction(node);
        let label = frame.source.node(node).label.clone();
        let at = fault.parameter.as_ref().map(|parameter| format!(", `{parameter}`")).unwrap_or_default();
        let message: Arc<str> =
            format!("{}, instruction {label} ({}{at}): {}", frame.source.name, instruction.type_name, fault.message)
                .into();
        let fault = PlanFault {
            kind: fault.kind,
            plan: frame.plan,
            node,
            label,
            seq_no: Some(instruction.seq_no),
            type_name: instruction.type_name,
            parameter: fault.parameter,
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
            let finished = queued.finish(now, Err(message));
            self.report(finished);
        }
        self.remove_stale();
    }
}
