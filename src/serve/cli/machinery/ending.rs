//! How a run ended, in words and as an exit code.

use std::sync::Arc;

use crate::host::events::Summary;
use crate::host::events::wire::LeftLineWire;
use crate::host::llm::LeftOver;
use crate::host::session::Ending;
use crate::host::text::one_line;
use crate::lang::program::Program;
use crate::serve::cli::machinery::console::{Console, Exit, count};
use crate::vm::protocol::fault::{Fault, FaultKind};
use crate::vm::protocol::{INTERRUPTED, Location, Outcome, REFUSED, SignalFate};

/// What is to be known of a session besides what it tells itself.
pub(crate) struct Subject {
    /// Its program.
    pub(crate) program: Arc<Program>,
    /// The command that goes on with it.
    pub(crate) go_on: String,
    /// The command that shows it, if one does.
    pub(crate) show: Option<String>,
    /// Whether it has been going on before.
    pub(crate) is_resumed: bool,
    /// Whether a new session can be begun after it.
    pub(crate) can_restart: bool,
    /// Whether its model counts tokens: scripted ones and those inside the process cost none.
    pub(crate) has_tokens: bool,
    /// Whether its trigger classifier asks a model.
    pub(crate) asks_model: bool,
    /// Whether it is of a plan: it says nothing, and its value is what is wanted of it.
    pub(crate) is_plan: bool,
}

/// What the conversation knows of its end.
pub(crate) struct Told<'a> {
    /// What a person was asked for the call that waits.
    pub(crate) question: Option<&'a str>,
    /// Nobody says anything more.
    pub(crate) input_ended: bool,
    /// A server did not count its tokens.
    pub(crate) is_estimated: bool,
    /// `--summary`.
    pub(crate) wants_summary: bool,
}

/// Tells how a session's task ended: what went wrong and where, what can be done, and, where wanted, the summary.
pub(crate) fn tell(console: &Console, subject: &Subject, ending: &Arc<Ending>, told: &Told<'_>) -> Exit {
    let mut exit = match &ending.outcome {
        Some(Outcome::Done { .. }) => Exit::Finished,
        // What was given on the command line does not fit the program: nothing has happened.
        Some(Outcome::Failed(fault)) if fault.kind == FaultKind::Begin => {
            console.error(&fault.message);
            Exit::Wrong
        }
        Some(Outcome::Failed(fault)) => {
            let place = place(&subject.program, fault).map_or(String::new(), |place| format!("{place}: "));
            let show = subject.show.as_ref().map_or(String::new(), |show| format!("\nto see its state: {show}"));
            let go_on = fault.kind.can_go_on().then(|| format!("\nto continue: {}", subject.go_on));
            let next = show + &go_on.unwrap_or_default();
            console.fault(&fault.kind.to_string(), &format!("{place}{}{next}", fault.message));
            Exit::Failed
        }
        None => {
            let why = match (told.question, told.input_ended) {
                (Some(question), true) => {
                    format!("the program waits for an answer ({question}) and standard input has ended")
                }
                (None, true) => "the program waits for the user and standard input has ended".to_owned(),
                (_, false) => "the session is saved".to_owned(),
            };
            console.tell(&format!("{why}; to continue: {}\n", subject.go_on));
            Exit::Waits
        }
    };
    if tell_left_over(console, &ending.left_over, ending.outcome.is_some()) {
        exit = Exit::Failed;
    }
    if console.is_conversation {
        let cost = cost(&ending.summary, subject, told.is_estimated);
        console.remark(&match ending.outcome {
            Some(Outcome::Done { .. }) => format!("finished: {cost}"),
            Some(Outcome::Failed(_)) | None => cost,
        });
    }
    if told.wants_summary {
        // Numbers and a word: writing them as JSON cannot fail.
        console.tell(&format!("{}\n", serde_json::to_string(&ending.summary).unwrap_or_default()));
    }
    exit
}

/// Tells what a script has left over; whether that is a failure. Where the session may still go on, the rest may be used.
pub(crate) fn tell_left_over(console: &Console, left_over: &[LeftOver], is_over: bool) -> bool {
    for left in left_over {
        if left.is_failure {
            console.error(&left.message);
        } else if is_over {
            console.warning(&left.message);
        }
    }
    left_over.iter().any(|left| left.is_failure)
}

/// `program.md:12, line 03 of Greet`.
fn place(program: &Program, fault: &Fault) -> Option<String> {
    let (playbook, step) = match fault.place?.location {
        Location::Line { playbook, step } => (playbook, step),
        Location::Plan { plan, node } => {
            let plan = program.plan(plan)?;
            return program.place_of(node.map_or(plan.span, |node| plan.node(node).span));
        }
    };
    let playbook = program.playbooks.get(playbook.0 as usize)?;
    let step = step.and_then(|step| playbook.steps.get(step.0 as usize));
    match step {
        Some(step) => program.place_of_line(playbook, step),
        None => Some(format!("{}, {}", program.place_of(playbook.title_span)?, playbook.name)),
    }
}

/// What a conversation has cost, in one line; of a model inside the process, what was done:
/// `3 turns, 5 model calls, 2012 tokens in (1536 cached), ~310 out, 1 tool call, 4.1 s of model time`.
fn cost(summary: &Summary, subject: &Subject, is_estimated: bool) -> String {
    let questions = if subject.asks_model { summary.classifier_calls } else { 0 };
    let asked = summary.turns + questions + summary.model_questions;
    let mut parts = vec![count(summary.turns, "turn")];
    if subject.has_tokens {
        parts.push(count(asked, "model call"));
        let about = if is_estimated { "~" } else { "" };
        let cached = match summary.cached_tokens {
            0 => String::new(),
            cached => format!(" ({cached} cached)"),
        };
        parts.push(format!("{about}{} tokens in{cached}", summary.prompt_tokens));
        parts.push(format!("{about}{} out", summary.completion_tokens));
        if questions > 0 && summary.classifier_tokens > 0 {
            parts.push(format!("{} for triggers", summary.classifier_tokens));
        }
    }
    parts.push(count(summary.tool_calls, "tool call"));
    if subject.has_tokens {
        let ms = summary.model_ms + if subject.asks_model { summary.classifier_ms } else { 0 };
        parts.push(format!("{:.1} s of model time", ms as f64 / 1000.0));
    }
    // As many digits as tell a cheap turn from none.
    parts.extend(summary.cost.map(|cost| format!("cost {cost:.4}")));
    parts.join(", ")
}

/// Which lines the model leaves out, and why.
pub(crate) fn skipped_remark(playbook: Option<&str>, lines: &[Arc<str>], reason: Option<&str>) -> String {
    let of = playbook.map_or(String::new(), |playbook| format!(" of {playbook}"));
    let why = reason.map_or("the model gave no reason".to_owned(), one_line);
    let (lines, was) = match lines {
        [line] => (format!("line {line}"), "was"),
        lines => (format!("lines {}", lines.join(", ")), "were"),
    };
    format!("{lines}{of} {was} left out: {why}")
}

/// What is to be said of an event that nothing comes of.
pub(crate) fn event_remark(event: &str, fate: SignalFate) -> Option<String> {
    match fate {
        SignalFate::PassedOver => Some(format!(
            "no trigger waits for the event {event}, so it was only recorded; write `When the event {event} arrives` \
             below the `### Triggers` of a playbook"
        )),
        SignalFate::TooLarge => Some(format!(
            "the data of the event {event} is larger than a variable may be (`value_bytes`), so it was only recorded; \
             send less, such as a link to the data"
        )),
        SignalFate::Repeated => Some(format!("the event {event} already came with the same id, so it was ignored")),
        SignalFate::Taken => None,
    }
}

/// That the session goes on with another text, and which lines it has left for that.
pub(crate) fn changed_remark(files: &[Arc<str>], lines: &[LeftLineWire]) -> String {
    let told = |line: &LeftLineWire| match &line.to {
        Some(to) => format!("{} no longer exists, continued at {to}", line.from),
        None => format!("{} no longer exists, nor does its playbook", line.from),
    };
    let left: Vec<String> = lines.iter().map(told).collect();
    let left = if left.is_empty() { String::new() } else { format!("; {}", left.join("; ")) };
    format!("the session continues with the changed program ({}){left}", files.join(", "))
}

/// That a call has failed, and how to see more; none: a person wanted it so.
pub(crate) fn failed_remark(tool: &str, error: &str) -> Option<String> {
    let is_wanted = error == INTERRUPTED || error.starts_with(REFUSED);
    (!is_wanted).then(|| {
        format!(
            "{tool} failed: {error}\n\
             (PLAYHOUSE_LOG=playhouse=debug shows more, also what plugins write to standard error)"
        )
    })
}
