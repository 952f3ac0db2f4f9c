//! A plan that has failed may go on with another one, which a model writes (spec `plans.md`, section 2.7).
//!
//! The model is told the plan, where it failed and why, the variables, and what has been done and may have changed
//! something. What it writes is checked like any plan; faults go back to it, a bounded number of times.

use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, read_written_plan};
use playhouse_lang::program::Signature;
use playhouse_lang::value::Value;

use crate::plan::json::{Doing, JsonExecution, json_of};
use crate::plan::prompts::adjust;
use crate::plan::request::{PlanContext, PlanRequest, WrittenPlan};
use crate::protocol::Tracked;
use crate::protocol::settings::Replan;

impl JsonExecution {
    /// Asks for another plan, if one more may be written; else the plan has failed.
    pub(super) fn begin_replan(&mut self, fault: &Arc<str>, context: &PlanContext<'_>) -> PlanRequest {
        if self.n_replans >= context.session.settings.max_replans {
            return PlanRequest::Fail(fault.clone());
        }
        self.n_replans += 1;
        self.ask_for_plan(fault, 1, None, context)
    }

    fn ask_for_plan(
        &mut self,
        fault: &Arc<str>,
        n_asked: u32,
        problem: Option<&str>,
        context: &PlanContext<'_>,
    ) -> PlanRequest {
        let question = adjust(context, fault, &self.effects, problem);
        self.doing = Doing::Replan { n_asked, told: fault.clone() };
        context.question("replan", question).unwrap_or_else(|unasked| {
            PlanRequest::Fail(format!("{fault}; no other plan was requested: {}", unasked.message).into())
        })
    }

    /// The model has answered.
    pub(super) fn replanned(
        &mut self,
        result: &Result<Tracked, Arc<str>>,
        n_asked: u32,
        fault: &Arc<str>,
        context: &PlanContext<'_>,
    ) -> Vec<PlanRequest> {
        let reply = match result {
            Ok(reply) => reply.value().to_text(),
            Err(error) => {
                let message = format!("{fault}; the model could not be asked for another plan: {error}");
                return vec![PlanRequest::Fail(message.into())];
            }
        };
        match self.read_new_plan(&reply, context) {
            Ok(plan) => self.go_on_with(plan, &reply, context),
            Err(problem) if n_asked <= context.session.settings.max_repairs => {
                vec![self.ask_for_plan(fault, n_asked + 1, Some(&problem), context)]
            }
            Err(problem) => vec![PlanRequest::Fail(
                format!("{fault}; the model wrote no usable plan in {n_asked} attempts, the last one:\n{problem}")
                    .into(),
            )],
        }
    }

    /// The plan in a reply; the error is what is wrong with it, as the model is told.
    fn read_new_plan(&self, reply: &str, context: &PlanContext<'_>) -> Result<Plan, String> {
        let (source, callees) = (context.source, context.session.callees);
        let find = |name: &str| -> Option<Signature> { callees.find(name).ok().map(|found| found.signature) };
        let candidates: Vec<String> = callees.tools.iter().map(|tool| tool.signature.name.to_string()).collect();
        let plan = read_written_plan(&source.name, reply, source.language(), &find, &candidates)?;
        if context.session.settings.replan == Replan::Resume {
            self.check_same_beginning(&plan, reply, context)?;
        }
        Ok(plan)
    }

    /// What stands before the instruction that failed has been executed: the new plan may not tell it otherwise.
    fn check_same_beginning(&self, plan: &Plan, text: &str, context: &PlanContext<'_>) -> Result<(), String> {
        let (source, old_text) = (context.source, context.text());
        let start = source.span.start as usize;
        let Some(pointer) = context.node else { return Ok(()) };
        let json = json_of(source);
        for (node, instruction) in source.nodes.iter().zip(&json.instructions).take(pointer.0 as usize) {
            let new = plan.nodes.iter().position(|other| other.label == node.label);
            let range = instruction.span.range();
            let old = old_text.get(range.start.saturating_sub(start)..range.end.saturating_sub(start));
            let new = new.and_then(|index| text.get(json_of(plan).instructions[index].span.range()));
            // A condition holds its branches, which may be changed after the pointer: its own text is compared there.
            let is_same = match (old, new) {
                (Some(old), Some(new)) => old == new || same_json(old, new),
                _ => false,
            };
            let holds_pointer = instruction.span.contains(json.instruction(pointer).span.start as usize);
            if !is_same && !holds_pointer {
                return Err(format!(
                    "instruction {} was changed or left out; it has already run: write it exactly as it was",
                    node.label
                ));
            }
        }
        let label = &source.node(pointer).label;
        if plan.nodes.iter().any(|node| node.label == *label) {
            return Ok(());
        }
        Err(format!("there is no instruction {label}, where the plan must continue"))
    }

    fn go_on_with(&mut self, plan: Plan, text: &str, context: &PlanContext<'_>) -> Vec<PlanRequest> {
        let at = match context.session.settings.replan {
            Replan::Restart => json_of(&plan).first,
            Replan::Resume => {
                let label = context.node.map(|node| &context.source.node(node).label);
                let index = plan.nodes.iter().position(|node| Some(&node.label) == label);
                index.and_then(|index| u32::try_from(index).ok()).map(NodeId)
            }
        };
        let written = WrittenPlan { plan: Arc::new(plan), text: text.into() };
        vec![PlanRequest::Adopt { written, at, attempt: self.n_replans }, PlanRequest::GoTo(at)]
    }
}

fn same_json(old: &str, new: &str) -> bool {
    matches!((Value::from_json(old), Value::from_json(new)), (Ok(old), Ok(new)) if old == new)
}
