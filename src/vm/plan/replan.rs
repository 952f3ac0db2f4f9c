//! A plan that has failed may go on with another one, which a model writes (spec `plans.md`, section 2.7).
//!
//! The model is told the plan, where it failed and why, the variables, and what has been done and may have changed
//! something. What it writes is checked like any plan; faults go back to it, a bounded number of times.

use std::sync::Arc;

use crate::protocol::Tracked;
use playhouse_lang::plan::{Plan, PlanId, read_written_plan};
use playhouse_lang::program::Signature;
use playhouse_lang::value::Value;

use crate::machine::frame::Frame;
use crate::machine::state::Machine;
use crate::machine::state::WrittenPlan;
use crate::plan::Doing;
use crate::plan::frame::{PlanFrame, json_of};
use crate::plan::prompts::{Adjustment, adjust};
use crate::prompt::system::summary_line;
use crate::protocol::Fact;
use crate::protocol::settings::Replan;

impl Machine {
    /// Asks for another plan, if one more may be written. Answers whether it does.
    pub(crate) fn begin_replan(&mut self, fault: &Arc<str>) -> bool {
        let max = self.settings.max_replans;
        let Some(Frame::Plan(frame)) = self.frames.last_mut() else { return false };
        if frame.n_replans >= max {
            return false;
        }
        frame.n_replans += 1;
        self.ask_for_plan(fault, 1, None);
        true
    }

    fn ask_for_plan(&mut self, fault: &Arc<str>, n_asked: u32, problem: Option<&str>) {
        let frame = self.plan_frame();
        let tools: Vec<String> =
            self.tools.iter().map(|tool| summary_line(&tool.signature.name, &tool.signature)).collect();
        let text = self.plan_text(frame);
        let adjustment = Adjustment {
            language: frame.source.language(),
            plan: &text,
            fault,
            tools,
            scope: &frame.core.scope,
            effects: &frame.effects,
            resume: self.settings.replan == Replan::Resume,
            problem,
        };
        let question = adjust(&adjustment, self.settings.shown_value_bytes);
        self.plan_frame_mut().doing = Doing::Replan { n_asked, told: fault.clone() };
        if let Err(unasked) = self.ask_model("replan", question) {
            self.end_failed(format!("{fault}; no other plan was asked for: {}", unasked.message).into());
        }
    }

    /// The text of the plan that a frame executes.
    fn plan_text(&self, frame: &PlanFrame) -> Arc<str> {
        let written = (frame.plan.0 as usize).checked_sub(self.program.plans.len());
        match written.and_then(|index| self.written_plans.get(index)) {
            Some(written) => written.text.get(frame.source.span.range()).unwrap_or(&written.text).into(),
            None => self.program.sources.text(frame.source.span).into(),
        }
    }

    /// The model has answered.
    pub(super) fn replanned(&mut self, result: Result<Tracked, Arc<str>>, n_asked: u32, fault: &Arc<str>) {
        let reply = match result {
            Ok(reply) => reply.value().to_text(),
            Err(error) => {
                return self
                    .end_failed(format!("{fault}; the model could not be asked for another plan: {error}").into());
            }
        };
        match self.read_new_plan(&reply) {
            Ok(plan) => self.go_on_with(plan, &reply),
            Err(problem) if n_asked <= self.settings.max_repairs => {
                self.ask_for_plan(fault, n_asked + 1, Some(&problem));
            }
            Err(problem) => self.end_failed(
                format!("{fault}; the model wrote no usable plan in {n_asked} attempts, the last one:\n{problem}")
                    .into(),
            ),
        }
    }

    /// The plan in a reply; the error is what is wrong with it, as the model is told.
    fn read_new_plan(&self, reply: &str) -> Result<Plan, String> {
        let source = &self.plan_frame().source;
        let find = |name: &str| -> Option<Signature> { self.find_callee(name).ok().map(|found| found.signature) };
        let candidates: Vec<String> = self.tools.iter().map(|tool| tool.signature.name.to_string()).collect();
        let plan = read_written_plan(&source.name, reply, source.language(), &find, &candidates)?;
        if self.settings.replan == Replan::Resume {
            self.check_same_beginning(&plan, reply)?;
        }
        Ok(plan)
    }

    /// What stands before the instruction that failed has been executed: the new plan may not tell it otherwise.
    fn check_same_beginning(&self, plan: &Plan, text: &str) -> Result<(), String> {
        let frame = self.plan_frame();
        let old_text = self.plan_text(frame);
        let start = frame.source.span.start as usize;
        let Some(pointer) = frame.pointer else { return Ok(()) };
        for (node, instruction) in frame.source.nodes.iter().zip(&frame.json().instructions).take(pointer.0 as usize) {
            let new = plan.nodes.iter().position(|other| other.label == node.label);
            let range = instruction.span.range();
            let old = old_text.get(range.start.saturating_sub(start)..range.end.saturating_sub(start));
            let new = new.and_then(|index| text.get(json_of(plan).instructions[index].span.range()));
            // A condition holds its branches, which may be changed behind the pointer: its own text is compared there.
            let is_same = match (old, new) {
                (Some(old), Some(new)) => old == new || same_json(old, new),
                _ => false,
            };
            let holds_pointer = instruction.span.contains(frame.json().instruction(pointer).span.start as usize);
            if !is_same && !holds_pointer {
                return Err(format!(
                    "instruction {} was changed or left out; it has been executed: write it exactly as it was",
                    node.label
                ));
            }
        }
        let label = &frame.source.node(pointer).label;
        if plan.nodes.iter().any(|node| node.label == *label) {
            return Ok(());
        }
        Err(format!("there is no instruction {label}, where the plan is to go on"))
    }

    fn go_on_with(&mut self, plan: Plan, text: &str) {
        let index = self.program.plans.len() + self.written_plans.len();
        let id = PlanId(u32::try_from(index).unwrap_or(u32::MAX));
        let plan = Arc::new(plan);
        let resumes = self.settings.replan == Replan::Resume;
        let frame = self.plan_frame_mut();
        let label = frame.pointer.map(|node| frame.source.node(node).label.clone());
        let attempt = frame.n_replans;
        frame.plan = id;
        frame.source = plan.clone();
        frame.doing = Doing::Call;
        let first = frame.json().first;
        self.written_plans.push(WrittenPlan { plan: plan.clone(), text: text.into() });
        let at = if resumes {
            let index = label.and_then(|label| plan.nodes.iter().position(|node| node.label == label));
            index.and_then(|index| u32::try_from(index).ok()).map(playhouse_lang::plan::NodeId)
        } else {
            first
        };
        self.plan_frame_mut().pointer = at;
        self.report(Fact::Replanned { plan: id, source: plan, attempt });
        self.go_to(at);
    }
}

fn same_json(old: &str, new: &str) -> bool {
    matches!((Value::from_json(old), Value::from_json(new)), (Ok(old), Ok(new)) if old == new)
}
