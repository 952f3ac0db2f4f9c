//! A model that answers from a stored session, turn by turn: the same replies, without a server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use playhouse_vm::protocol::{ReplyEnd, Usage};

use crate::llm::{Llm, LlmRequest, ModelKind, ReplyPart, ReplyStream, refused};

/// A reply as a journal recorded it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedReply {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// How it ended. [`ReplyEnd::Closed`]: we closed it; what the model would have gone on to say is not known.
    pub end: ReplyEnd,
    /// What the server counted.
    pub usage: Option<Usage>,
}

/// A model that gives recorded replies in order, whatever is asked.
#[derive(Debug)]
pub struct Replay {
    id: Arc<str>,
    n_recorded: usize,
    /// The replies not given yet. The lock is held to take one, never over an `await`.
    replies: Mutex<VecDeque<RecordedReply>>,
}

impl Replay {
    /// A model that gives these replies.
    pub fn new(replies: Vec<RecordedReply>) -> Replay {
        Replay { id: Arc::from("replay"), n_recorded: replies.len(), replies: Mutex::new(replies.into()) }
    }

    /// With the session's id, as people write it (`replay:SESSION`).
    pub fn of_session(session: &str, replies: Vec<RecordedReply>) -> Replay {
        Replay { id: Arc::from(format!("replay:{session}")), ..Replay::new(replies) }
    }

    fn take(&self) -> Option<RecordedReply> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Llm for Replay {
    fn id(&self) -> Arc<str> {
        self.id.clone()
    }

    fn kind(&self) -> ModelKind {
        ModelKind::Recorded
    }

    fn request(&self, _request: LlmRequest) -> ReplyStream {
        let Some(reply) = self.take() else {
            let reason = format!(
                "{} has no further reply: all its {} recorded replies have been given; continue with a live model \
                 (`--model`)",
                self.id, self.n_recorded
            );
            return Box::pin(tokio_stream::once(refused(reason)));
        };
        let bytes = (!reply.bytes.is_empty()).then_some(ReplyPart::Bytes(reply.bytes));
        let end = ReplyPart::End { end: reply.end, usage: reply.usage };
        Box::pin(tokio_stream::iter(bytes.into_iter().chain([end])))
    }

    fn replayed(&self, _request: &LlmRequest) {
        self.take();
    }
}
