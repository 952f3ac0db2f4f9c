//! Which calls are shown inside their caller (spec `execution.md`, "Fewer model calls").

use crate::program::{CallSite, Mode, PlaybookId, Program, StepId, StepKind};

/// How many lines a playbook may have to be shown inside its caller, unless the settings say otherwise: a guess,
/// until it is measured with real models. What is shown inside costs prompt tokens on every turn of the caller; a
/// call costs a turn.
pub const INLINE_LINES: usize = 5;

/// The condition that a line misses to be shown with the lines of the playbook it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[allow(missing_docs, reason = "the words of a reason say what it is")]
pub enum NotInlined {
    #[strum(to_string = "inlining is off")]
    Off,
    /// It may call a tool or a plan.
    #[strum(to_string = "the line is not a call of a playbook")]
    NotACall,
    #[strum(to_string = "the line returns it")]
    Returned,
    #[strum(to_string = "the line has more than the call")]
    MoreThanACall,
    /// Only the model can find them.
    #[strum(to_string = "the arguments are in words")]
    ArgumentsInWords,
    /// A frame's own recursion cannot be shown inside it.
    #[strum(to_string = "the playbook calls itself")]
    Itself,
    #[strum(to_string = "it belongs to another agent")]
    OtherAgent,
    #[strum(to_string = "the callee is not supported")]
    Unsupported,
    #[strum(to_string = "it runs in goal mode")]
    GoalMode,
    /// The callee has more lines than allowed.
    #[strum(to_string = "it has {lines} lines")]
    TooLong { lines: usize },
    #[strum(to_string = "it has triggers")]
    Triggers,
    #[strum(to_string = "a trigger waits for calls of it")]
    Watched,
    #[strum(to_string = "it has limits of its own")]
    OwnLimits,
    #[strum(to_string = "it calls a playbook")]
    Calls,
    #[strum(to_string = "it has a loop")]
    Loops,
    #[strum(to_string = "it can return before its last line")]
    EarlyReturn,
    #[strum(to_string = "it can end the program")]
    End,
}

/// The playbook whose lines may be shown inside a line: see [`crate::analysis::Analysis::inlining`].
pub(super) fn judge_line(
    program: &Program,
    playbook: PlaybookId,
    step: StepId,
    inline_lines: usize,
) -> Result<PlaybookId, NotInlined> {
    let body = program.playbook(playbook);
    let line = body.steps.get(step.0 as usize).ok_or(NotInlined::NotACall)?;
    let written = line.kind.as_written();
    let call = written.call().ok_or(NotInlined::NotACall)?;
    let callee = program.playbook(call.playbook.ok_or(NotInlined::NotACall)?);
    let calls_plan = |call: &CallSite| call.playbook.is_none() && program.find_plan(&call.callee).is_some();
    // Asked of every call; what follows takes time in proportion to the callee.
    first_of(&[(inline_lines == 0, NotInlined::Off)])?;
    first_of(&[
        (matches!(written, StepKind::Return(_)), NotInlined::Returned),
        (call.arguments.is_none(), NotInlined::ArgumentsInWords),
        (!line.explicit, NotInlined::MoreThanACall),
        (callee.id == body.id, NotInlined::Itself),
        (callee.agent != body.agent, NotInlined::OtherAgent),
        (program.unsupported(callee.id).is_some(), NotInlined::Unsupported),
        (program.is_call_watched(body.agent, callee.id), NotInlined::Watched),
        (callee.steps.iter().filter_map(|step| step.kind.as_written().call()).any(calls_plan), NotInlined::Calls),
        // Without lines it is in goal mode.
        (callee.mode == Mode::Goal || callee.steps.is_empty(), NotInlined::GoalMode),
    ])?;
    if callee.steps.len() > inline_lines {
        return Err(NotInlined::TooLong { lines: callee.steps.len() });
    }
    first_of(&[(!callee.triggers.is_empty(), NotInlined::Triggers), (callee.limits.is_set(), NotInlined::OwnLimits)])?;
    for (index, step) in callee.steps.iter().enumerate() {
        let is_last = index + 1 == callee.steps.len();
        let written = step.kind.as_written();
        first_of(&[
            (written.call().is_some_and(|call| call.playbook.is_some()), NotInlined::Calls),
            (matches!(written, StepKind::Loop(_)), NotInlined::Loops),
            (matches!(written, StepKind::End), NotInlined::End),
            (matches!(written, StepKind::Return(_)) && !is_last, NotInlined::EarlyReturn),
        ])?;
    }
    Ok(callee.id)
}

/// The first reason of those that hold.
fn first_of(reasons: &[(bool, NotInlined)]) -> Result<(), NotInlined> {
    reasons.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, reason)| Err(*reason))
}
