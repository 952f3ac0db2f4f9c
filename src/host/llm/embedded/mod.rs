//! The model inside the binary: a guided executor.
//!
//! It reads the turn as data, never the prompt. Lines are executed by patterns and templates; what needs judgement is
//! named in one honest sentence and passed over.

mod answer;
mod asking;
mod assigning;
mod calls;
mod dates;
mod earlier;
mod english;
mod evasion;
mod executor;
mod judge;
mod kinds;
mod lines;
mod loops;
mod names;
mod numbers;
mod phrases;
mod question;
mod reckon;
mod say;
mod scope;
mod tell;
mod wanted;
mod wording;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;
use tokio_stream::Stream;

use crate::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use crate::lang::program::{Arm, Mode, Program, Step, StepKind};
use crate::vm::protocol::{Finish, ReplyEnd, Usage};

pub use executor::reply;

/// The embedded model: the same everywhere, and at every time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Llm for Embedded {
    fn id(&self) -> Arc<str> {
        "embedded".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let Some(turn) = request.turn else {
            let end = ReplyEnd::Refused { reason: phrases::ONLY_TURNS.into() };
            return Box::pin(tokio_stream::once(ReplyPart::End { end, usage: None }));
        };
        let messages = request.messages;
        let task = tokio::task::spawn_blocking(move || reply(&turn, &messages));
        Box::pin(Reply { task: Some(task), end: None })
    }
}

/// A reply that is being made on a thread of its own.
struct Reply {
    task: Option<JoinHandle<String>>,
    end: Option<ReplyPart>,
}

impl Stream for Reply {
    type Item = ReplyPart;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReplyPart>> {
        if let Some(end) = self.end.take() {
            return Poll::Ready(Some(end));
        }
        let Some(task) = self.task.as_mut() else { return Poll::Ready(None) };
        let done = std::task::ready!(Pin::new(task).poll(context));
        self.task = None;
        // Nothing is paid for: no tokens were sent anywhere.
        let usage = Some(Usage::default());
        let (part, end) = match done {
            Ok(text) => (Some(ReplyPart::Bytes(text.into_bytes())), ReplyEnd::Complete(Finish::Stop)),
            Err(error) => (
                None,
                ReplyEnd::Refused { reason: format!("the embedded model failed: {error}; please report it").into() },
            ),
        };
        let end = ReplyPart::End { end, usage };
        Poll::Ready(Some(match part {
            Some(part) => {
                self.end = Some(end);
                part
            }
            None => end,
        }))
    }
}

/// Which lines of a program are in free words, so that the embedded model may have to leave them out, for people.
pub fn beyond(program: &Program) -> Option<String> {
    const MAX_SHOWN: usize = 6;
    let written = program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps);
    let lines = written.flat_map(|playbook| playbook.steps.iter().map(move |step| (playbook, step)));
    let in_words = |step: &Step| {
        let condition = matches!(&step.kind, StepKind::Branch { arm, condition: None } if *arm != Arm::Else);
        condition || matches!(step.kind, StepKind::Free | StepKind::Assign { value: None, .. })
    };
    let (n_lines, found): (usize, Vec<String>) = lines.fold((0, Vec::new()), |(n, mut found), (playbook, step)| {
        found.extend((!step.explicit && in_words(step)).then(|| format!("{}:{}", playbook.name, step.label)));
        (n + 1, found)
    });
    let more = found.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = found.iter().take(MAX_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!found.is_empty()).then(|| {
        format!(
            "the embedded model understands free words only in part; of {n_lines} lines it may leave out {shown}{more}"
        )
    })
}
