//! The replies of a session that was: what `replay:SESSION` answers with.

use playhouse_vm::protocol::{Event, ReplyEnd, TurnId};

use crate::journal::record::Record;
use crate::llm::replay::RecordedReply;

/// The replies that a journal holds, in order.
pub(super) fn recorded_replies(records: &[Record]) -> Vec<RecordedReply> {
    let mut replies = Vec::new();
    let mut open: Vec<(TurnId, Vec<u8>)> = Vec::new();
    // As far as replies are concerned.
    let event = |record: &Record| if record.body.reopens() { Some(Event::Reopened) } else { record.body.to_event() };
    for event in records.iter().filter_map(event) {
        match event {
            Event::Chunk { turn, bytes } => match open.iter_mut().find(|(of, _)| *of == turn) {
                Some((_, so_far)) => so_far.extend_from_slice(&bytes),
                None => open.push((turn, bytes.to_vec())),
            },
            Event::ReplyEnded { turn, end, usage } => {
                let index = open.iter().position(|(of, _)| *of == turn);
                let bytes = index.map(|index| open.remove(index).1).unwrap_or_default();
                replies.push(RecordedReply { bytes, end, usage });
            }
            Event::Reopened => {
                let end = ReplyEnd::Broken { reason: "the process was stopped".into(), retry_after_ms: None };
                replies.extend(open.drain(..).map(|(_, bytes)| RecordedReply { bytes, end: end.clone(), usage: None }));
            }
            Event::CallStarted { .. }
            | Event::CallEnded { .. }
            | Event::Message { .. }
            | Event::Signal(_)
            | Event::Verdict { .. }
            | Event::TimerFired { .. }
            | Event::Approved { .. }
            | Event::Interrupted
            | Event::Edited { .. }
            | Event::SignaturesChanged { .. }
            | Event::ProgramChanged { .. }
            | Event::GoOn => {}
        }
    }
    replies
}
