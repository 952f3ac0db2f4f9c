//! Which calls are shown inside their caller (spec `execution.md`, "Fewer model calls").

use std::borrow::Cow;

use crate::program::{CallSite, Mode, PlaybookId, Program, Step, StepId, StepKind};

/// How many lines a playbook may have to be shown inside its caller, unless the settings say otherwise: a guess,
/// until it is measured with real models. What is shown inside costs prompt tokens on every turn of the caller; a
/// call costs a turn.
pub const INLINE_LINES: usize = 5;

/// The condition that a line misses to be shown with the lines of the playbook it calls, in words.
pub type NotInlined = Cow<'static, str>;

/// The playbook whose lines may be shown inside a line: see [`crate::analysis::Analysis::inlining`].
pub(super) fn judge_line(
    program: &Program,
    playbook: PlaybookId,
    step: StepId,
    inline_lines: usize,
) -> Result<PlaybookId, NotInlined> {
    const NO_CALL: NotInlined = Cow::Borrowed("the line is no call of a playbook");
    let body = program.playbook(playbook);
    let line = body.steps.get(step.0 as usize).ok_or(NO_CALL)?;
    let call = line.call().ok_or(NO_CALL)?;
    let callee = program.playbook(call.playbook.ok_or(NO_CALL)?);
    let calls_plan = |call: &CallSite| call.playbook.is_none() && program.find_plan(&call.callee).is_some();
    // Asked of every call; what follows takes time in proportion to the callee.
    first_of(&[(inline_lines == 0, "inlining is off")])?;
    first_of(&[
        (matches!(line.kind, StepKind::Return(_)), "the line returns it"),
        (call.arguments.is_none(), "the arguments are in words"),
        (!line.explicit, "more than the call stands there"),
        (callee.id == body.id, "the playbook calls itself"),
        (callee.agent != body.agent, "it belongs to another agent"),
        (program.unsupported(callee.id).is_some(), "what is called is not supported"),
        (program.is_call_watched(body.agent, callee.id), "a trigger waits for calls of it"),
        (callee.steps.iter().filter_map(Step::call).any(calls_plan), "it calls a playbook"),
        // Without lines it is in goal mode.
        (callee.mode == Mode::Goal || callee.steps.is_empty(), "it runs in goal mode"),
    ])?;
    if callee.steps.len() > inline_lines {
        return Err(format!("it has {} lines", callee.steps.len()).into());
    }
    first_of(&[
        (!callee.triggers.is_empty(), "it has triggers"),
        (callee.limits.is_set(), "it has limits of its own"),
    ])?;
    for (index, step) in callee.steps.iter().enumerate() {
        let is_last = index + 1 == callee.steps.len();
        first_of(&[
            (step.call().is_some_and(|call| call.playbook.is_some()), "it calls a playbook"),
            (matches!(step.kind, StepKind::Loop(_)), "it has a loop"),
            (matches!(step.kind, StepKind::End), "it can end the program"),
            (matches!(step.kind, StepKind::Return(_)) && !is_last, "it can return before its last line"),
        ])?;
    }
    Ok(callee.id)
}

/// The first reason of those that hold.
fn first_of(reasons: &[(bool, &'static str)]) -> Result<(), NotInlined> {
    reasons.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, reason)| Err(Cow::Borrowed(*reason)))
}
