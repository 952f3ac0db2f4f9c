//! How a run ended, in words and as an exit code.

use std::sync::Arc;

use crate::host::events::Summary;
use crate::host::session::Ending;
use crate::lang::program::Program;
use crate::serve::cli::console::{Console, Exit, count};
use crate::serve::cli::conversation::Subject;
use crate::vm::fault::{Fault, FaultKind};
use crate::vm::protocol::{Location, Outcome};

/// Tells how a session's task ended: what went wrong and where, what can be done, and, where wanted, the summary.
pub(crate) fn tell(
    console: &Console,
    subject: &Subject,
    ending: &Arc<Ending>,
    question: Option<&str>,
    input_ended: bool,
    wants_summary: bool,
) -> Exit {
    let mut exit = match &ending.outcome {
        Some(Outcome::Done { .. }) => Exit::Finished,
        // What was given on the command line does not fit the program: nothing has happened.
        Some(Outcome::Failed(fault)) if fault.kind == FaultKind::Begin => {
            console.error(&fault.message);
            Exit::Wrong
        }
        Some(Outcome::Failed(fault)) => {
            let place = place(&subject.program, fault).map_or(String::new(), |place| format!("{place}: "));
            let show = subject.show.as_ref().map_or(String::new(), |show| format!("\nwhere it stands: {show}"));
            console.fault(&fault.kind.to_string(), &format!("{place}{}{show}", fault.message));
            Exit::Failed
        }
        None => {
            let why = match (question, input_ended) {
                (Some(question), true) => {
                    format!("the program waits for an answer ({question}) and standard input has ended")
                }
                (None, true) => "the program waits for the user and standard input has ended".to_owned(),
                (_, false) => "the session is kept".to_owned(),
            };
            console.tell(&format!("{why}; to go on: {}\n", subject.go_on));
            Exit::Waits
        }
    };
    for left_over in &ending.left_over {
        if left_over.is_failure {
            console.error(&left_over.message);
            exit = Exit::Failed;
        } else if ending.outcome.is_some() {
            console.warning(&left_over.message);
        }
    }
    if console.is_conversation {
        console.remark(&cost(&ending.summary));
    }
    if wants_summary {
        // Numbers and a word: writing them as JSON cannot fail.
        console.tell(&format!("{}\n", serde_json::to_string(&ending.summary).unwrap_or_default()));
    }
    exit
}

/// `program.md:12, line 03 of Greet`.
fn place(program: &Program, fault: &Fault) -> Option<String> {
    let Location::Line { playbook, step } = fault.place?.location;
    let playbook = program.playbooks.get(playbook.0 as usize)?;
    let step = step.and_then(|step| playbook.steps.get(step.0 as usize));
    let span = step.map_or(playbook.title_span, |step| step.span);
    let file = program.sources.get(span.file)?;
    let (line, _) = file.lines.line_column(span.start as usize);
    let inside = step.map_or(String::new(), |step| format!("line {} of ", step.label));
    Some(format!("{}:{line}, {inside}{}", file.name, playbook.name))
}

/// What a conversation has cost, in one line.
fn cost(summary: &Summary) -> String {
    let turns = count(usize::try_from(summary.turns).unwrap_or(usize::MAX), "turn");
    let cached = match summary.cached_tokens {
        0 => String::new(),
        cached => format!(" ({cached} cached)"),
    };
    format!(
        "{turns}, {}{cached} tokens in, {} out, {:.1} s of model time",
        summary.prompt_tokens,
        summary.completion_tokens,
        summary.model_ms as f64 / 1000.0
    )
}
