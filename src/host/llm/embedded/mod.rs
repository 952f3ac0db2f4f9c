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
mod lines;
mod loops;
mod names;
mod numbers;
mod phrases;
mod say;
mod scope;
mod wanted;
mod wording;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use playhouse_lang::program::{Arm, Mode, Playbook, Program, Step, StepKind};
use playhouse_vm::protocol::{ReplyEnd, Usage};
use serde_json::json;
use tokio::task::JoinError;

use crate::library::is_library;
use crate::llm::{Llm, LlmRequest, ModelKind, ReplyPart, ReplyStream, TurnAsData, refused};
use crate::tasks;
use crate::text::first_few;

pub use executor::{Written, reply};

/// The embedded model: the same everywhere, and at every time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Llm for Embedded {
    fn id(&self) -> Arc<str> {
        "embedded".into()
    }

    fn kind(&self) -> ModelKind {
        ModelKind::Embedded
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        let Some(turn) = request.turn else {
            return Box::pin(tokio_stream::once(refused(phrases::ONLY_TURNS)));
        };
        let messages = request.messages;
        let task = tasks::on_thread(move || guarded(&turn, || reply(&turn, &messages)));
        Box::pin(stream::once(task).flat_map(|done| stream::iter(parts(done))))
    }
}

/// What is streamed of a reply. Nothing is paid for: no tokens were sent anywhere.
fn parts(done: Result<Written, JoinError>) -> Vec<ReplyPart> {
    let usage = Some(Usage::default());
    match done {
        Ok(written) => {
            let end = written.end();
            vec![ReplyPart::Bytes(written.lines.into_bytes()), ReplyPart::End { end, usage }]
        }
        // The process is being ended.
        Err(error) => {
            let reason = format!("the embedded model was stopped: {error}").into();
            vec![ReplyPart::End { end: ReplyEnd::Refused { reason }, usage }]
        }
    }
}

/// The reply that `make` gives. Where it panics the user is told so and may say it in other words: what somebody types
/// ends no session.
pub fn guarded(turn: &TurnAsData, make: impl FnOnce() -> Written) -> Written {
    let made = catch_unwind(AssertUnwindSafe(make));
    made.unwrap_or_else(|_| match turn.data.pointer {
        Some(pointer) => {
            let at = &turn.program.playbook(turn.data.playbook).step(pointer).label;
            let (say, wait) = (json!({ "at": at, "say": phrases::PANICKED }), json!({ "at": at, "wait": "user" }));
            Written { lines: format!("{say}\n{wait}"), refusal: None }
        }
        None => Written { lines: String::new(), refusal: Some(phrases::PANICKED.to_owned()) },
    })
}

/// Which of the author's lines are in free words, so that the embedded model may have to leave them out, for people. (The
/// library's are not the author's to change.)
pub fn beyond(program: &Program) -> Option<String> {
    const MAX_SHOWN: usize = 6;
    let is_own =
        |playbook: &Playbook| !program.sources.get(playbook.title_span.file).is_some_and(|file| is_library(&file.name));
    let written = program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps && is_own(playbook));
    let lines = written.flat_map(|playbook| playbook.steps.iter().map(move |step| (playbook, step)));
    let in_words = |step: &Step| {
        let condition = matches!(&step.kind, StepKind::Branch { arm, condition: None } if *arm != Arm::Else);
        condition || matches!(step.kind, StepKind::Free | StepKind::Assign { value: None, .. })
    };
    let (n_lines, found): (usize, Vec<String>) = lines.fold((0, Vec::new()), |(n, mut found), (playbook, step)| {
        found.extend((!step.explicit && in_words(step)).then(|| format!("{}:{}", playbook.name, step.label)));
        (n + 1, found)
    });
    (!found.is_empty()).then(|| {
        format!(
            "the embedded model understands free words only in part; of {n_lines} lines it may leave out {}",
            first_few(&found, MAX_SHOWN)
        )
    })
}
