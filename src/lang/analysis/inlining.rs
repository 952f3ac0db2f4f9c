//! Which calls are shown inside their caller (spec `execution.md`, "Fewer model calls").

use std::fmt;

use crate::program::{CallSite, Mode, Playbook, PlaybookId, Program, Returned, Step, StepId, StepKind};

/// How many lines a playbook may have to be shown inside its caller, unless the settings say otherwise: a guess,
/// until it is measured with real models. What is shown inside costs prompt tokens on every turn of the caller; a
/// call costs a turn.
pub const INLINE_LINES: usize = 5;

/// The condition that a line misses to be shown with the lines of the playbook it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInlined {
    /// Switched off: no lines are allowed.
    Off,
    /// The line is no call of a playbook.
    NotACall,
    /// The line returns what is called.
    Returned,
    /// Something else stands in the line or under it.
    MoreThanACall,
    /// Its arguments are in words, so only the model can find them.
    ArgumentsInWords,
    /// A frame's own recursion cannot be shown inside it.
    Itself,
    /// The callee belongs to another agent.
    OtherAgent,
    /// What is called cannot be run.
    Unsupported,
    /// The callee runs in goal mode.
    GoalMode,
    /// The callee has more lines than allowed.
    TooLong {
        /// How many it has.
        lines: usize,
    },
    /// The callee has triggers.
    Triggers,
    /// A trigger of the agent waits for calls of it.
    Watched,
    /// The callee has limits.
    OwnLimits,
    /// A line of the callee calls a playbook.
    Calls,
    /// The callee has a loop.
    Loops,
    /// The callee can return before its last line.
    EarlyReturn,
    /// A line of the callee ends the program.
    End,
}

impl fmt::Display for NotInlined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotInlined::Off => "inlining is off",
            NotInlined::NotACall => "the line is no call of a playbook",
            NotInlined::Returned => "the line returns it",
            NotInlined::MoreThanACall => "more than the call stands there",
            NotInlined::ArgumentsInWords => "the arguments are in words",
            NotInlined::Itself => "the playbook calls itself",
            NotInlined::OtherAgent => "it belongs to another agent",
            NotInlined::Unsupported => "what is called is not supported",
            NotInlined::GoalMode => "it runs in goal mode",
            NotInlined::TooLong { lines } => return write!(f, "it has {lines} lines"),
            NotInlined::Triggers => "it has triggers",
            NotInlined::Watched => "a trigger waits for calls of it",
            NotInlined::OwnLimits => "it has limits of its own",
            NotInlined::Calls => "it calls a playbook",
            NotInlined::Loops => "it has a loop",
            NotInlined::EarlyReturn => "it can return before its last line",
            NotInlined::End => "it can end the program",
        })
    }
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
    let call = line.call().ok_or(NotInlined::NotACall)?;
    let callee = program.playbook(call.playbook.ok_or(NotInlined::NotACall)?);
    if inline_lines == 0 {
        return Err(NotInlined::Off);
    }
    if matches!(line.kind, StepKind::Return(_)) {
        return Err(NotInlined::Returned);
    }
    if call.arguments.is_none() {
        return Err(NotInlined::ArgumentsInWords);
    }
    if !line.explicit {
        return Err(NotInlined::MoreThanACall);
    }
    if callee.id == body.id {
        return Err(NotInlined::Itself);
    }
    if callee.agent != body.agent {
        return Err(NotInlined::OtherAgent);
    }
    if program.unsupported(callee.id).is_some() {
        return Err(NotInlined::Unsupported);
    }
    if program.is_call_watched(body.agent, callee.id) {
        return Err(NotInlined::Watched);
    }
    let calls_plan = |call: &CallSite| call.playbook.is_none() && program.find_plan(&call.callee).is_some();
    if callee.steps.iter().filter_map(Step::call).any(calls_plan) {
        return Err(NotInlined::Calls);
    }
    fits_inside(callee, inline_lines).map(|()| callee.id)
}

fn fits_inside(callee: &Playbook, inline_lines: usize) -> Result<(), NotInlined> {
    // Without lines it is in goal mode.
    if callee.mode == Mode::Goal || callee.steps.is_empty() {
        return Err(NotInlined::GoalMode);
    }
    if callee.steps.len() > inline_lines {
        return Err(NotInlined::TooLong { lines: callee.steps.len() });
    }
    if !callee.triggers.is_empty() {
        return Err(NotInlined::Triggers);
    }
    if callee.limits.is_set() {
        return Err(NotInlined::OwnLimits);
    }
    let n_steps = callee.steps.len();
    callee.steps.iter().enumerate().try_for_each(|(index, step)| fits_line(step, index + 1 == n_steps))
}

fn fits_line(step: &Step, is_last: bool) -> Result<(), NotInlined> {
    if step.call().is_some_and(|call| call.playbook.is_some()) {
        return Err(NotInlined::Calls);
    }
    match &step.kind {
        StepKind::Loop(_) => Err(NotInlined::Loops),
        StepKind::End => Err(NotInlined::End),
        StepKind::Return(Returned::Nothing | Returned::Value(_) | Returned::Call(_) | Returned::Words) if !is_last => {
            Err(NotInlined::EarlyReturn)
        }
        StepKind::Return(_)
        | StepKind::Branch { .. }
        | StepKind::Call(_)
        | StepKind::Assign { .. }
        | StepKind::Ask { .. }
        | StepKind::Say { .. }
        | StepKind::Free => Ok(()),
    }
}
