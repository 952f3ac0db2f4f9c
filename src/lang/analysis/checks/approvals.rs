//! Calls that a person may refuse, with nothing after them that looks whether it was refused: the interpreter goes on, and the
//! user hears "Booked".

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::expr::{Expr, LAST_CALL_FAILED};
use crate::program::{Agent, CallSite, Mode, Playbook, Program, Step, StepId, StepKind, TriggerKind, fits};
use crate::value::Value;

/// Adds a warning for each call of a tool that the program's front matter declares with `approval: ask`, if an exact line of
/// the same block says or calls something before any line looks whether the call failed. It does not see what is declared in
/// `playhouse.toml` or by a plugin, nor what follows the block.
pub(super) fn check_approvals(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let asked = asked(program);
    if asked.is_empty() {
        return;
    }
    for playbook in program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps && playbook.skill.is_none())
    {
        let agent = program.agent(playbook.agent);
        let top = playbook.steps.iter().filter(|step| step.parent.is_none()).map(|step| step.id).collect();
        let nested = playbook.steps.iter().map(|step| step.children.clone());
        for block in std::iter::once(top).chain(nested) {
            for (at, id) in block.iter().enumerate() {
                let step = playbook.step(*id);
                let StepKind::Call(call) = &step.kind else { continue };
                let is_asked =
                    step.explicit && call.playbook.is_none() && asked.iter().any(|name| fits(name, &call.callee));
                if !is_asked || waits_for_failure(program, agent, &call.callee) {
                    continue;
                }
                diagnostics.extend(unchecked(playbook, call, &block[at + 1..]));
            }
        }
    }
}

/// The tools that a person confirms, as the program declares them; a name may end in `*`.
fn asked(program: &Program) -> BTreeSet<&str> {
    let tools = program.settings.other.iter().filter(|(key, ..)| key == "tools");
    let rules = tools.filter_map(|(_, value, _)| if let Value::Map(rules) = value { Some(rules) } else { None });
    let asks =
        |rule: &Value| matches!(rule, Value::Map(rule) if rule.get("approval").and_then(Value::as_str) == Some("ask"));
    rules.flat_map(|rules| rules.iter()).filter(|(_, rule)| asks(rule)).map(|(name, _)| &**name).collect()
}

/// Whether a trigger of the agent waits for a call of `callee`, or any call, that fails.
fn waits_for_failure(program: &Program, agent: &Agent, callee: &str) -> bool {
    let mut triggers = agent.playbooks.iter().flat_map(|id| &program.playbook(*id).triggers);
    triggers.any(|trigger| {
        let TriggerKind::CallFails(failing) = &trigger.kind else { return false };
        failing.as_ref().is_none_or(|call| *call.name == *callee)
    })
}

/// The warning, if the lines `after` a call say or call something first.
fn unchecked(playbook: &Playbook, call: &CallSite, after: &[StepId]) -> Option<Diagnostic> {
    let result = call.result.as_ref().map(|target| &*target.name);
    let reads = |step: &Step| result.is_some_and(|result| step.reads.iter().any(|name| **name == *result));
    let mut lines = after.iter().map(|id| playbook.step(*id));
    let first = lines.find(|step| !matches!(&step.kind, StepKind::Assign { value: Some(_), .. }) || reads(step))?;
    // A model that does the line sees the failure, and an exact line that needs the result is not done without it.
    let looks = |condition: &Expr| {
        let mut asks = false;
        condition.for_each_reference(&mut |reference| asks |= *reference.name == *LAST_CALL_FAILED);
        asks
    };
    let acts = first.explicit && matches!(first.kind, StepKind::Say { .. } | StepKind::Call(_));
    if !acts || reads(first) || first.kind.condition().is_some_and(looks) {
        return None;
    }
    let message = format!("a person may refuse `{}`, and the next line is done then, too", call.callee);
    let warning = Diagnostic::warning("unchecked-approval", call.callee_span, message);
    let warning = warning.with_place(first.span, "done also after a refusal");
    let note = "write `If the last call failed` after the call, and `Otherwise` before what needs it";
    let limits = "only the lines of the same block are looked at, and only approvals that the front matter declares";
    Some(warning.with_note(note).with_note(limits))
}
