//! A conversation with a program, turn by turn.

use std::sync::Arc;

use playhouse_lang::value::Value;
use playhouse_vm::protocol::fault::Fault;
use playhouse_vm::protocol::{CallId, Outcome, Wait};

use crate::events::{PublicBody, PublicEvent};
use crate::launch::Opened;
use crate::session::{Interest, Notice, SendError, Session, SessionError, SessionGone, SessionHandle, Subscription};

/// Events that may wait for a listener, between two waits for a turn.
const CAPACITY: usize = 10_000;

/// Somebody who hears every event.
pub(super) type Listener = Arc<dyn Fn(&PublicEvent) + Send + Sync>;

/// A conversation with a running program. If you drop it, the session ends as soon as it waits for the user.
pub struct Conversation {
    handle: SessionHandle,
    events: Subscription,
    listeners: Vec<Listener>,
    opened: Arc<Opened>,
}

/// What happens next in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The program has said this; the text is complete.
    Said(Arc<str>),
    /// The program waits for the user; reply with [`Conversation::say`].
    Asks,
    /// A call waits for a person's answer; give it with [`Conversation::answer`].
    Approval(Question),
}

/// A question to a person about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The question in words.
    pub text: Arc<str>,
    call: CallId,
}

/// Why a conversation did not end well.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EndError {
    /// The program failed.
    #[error("{}", .0.message)]
    Failed(Fault),
    /// The session could not continue.
    #[error(transparent)]
    Session(#[from] Arc<SessionError>),
}

impl Conversation {
    /// Runs a session that has begun.
    pub(super) fn new(mut session: Session, opened: Arc<Opened>, listeners: Vec<Listener>) -> Conversation {
        let everything = Interest::Everything { capacity: CAPACITY };
        let events = session.subscribe(if listeners.is_empty() { Interest::Speech } else { everything });
        Conversation { handle: session.spawn(), events, listeners, opened }
    }

    /// Waits for the next turn; `None` means that the program has ended or was stopped.
    ///
    /// # Errors
    /// The program or its session failed.
    pub async fn next(&mut self) -> Result<Option<Turn>, EndError> {
        while let Some(notice) = self.events.next().await {
            let event = match notice {
                Notice::Event(event) => event,
                Notice::Missed(n) => {
                    tracing::warn!("{n} events were lost, as nobody waited for the next turn");
                    continue;
                }
            };
            self.listeners.iter().for_each(|listener| listener(&event));
            if let PublicBody::Said { text } = &event.body {
                return Ok(Some(Turn::Said(text.clone())));
            }
            let PublicBody::Waiting { on } = &event.body else { continue };
            if let Wait::User = on {
                return Ok(Some(Turn::Asks));
            }
            // Where there is no question any more, it has been answered by now.
            if let Wait::Approval(call) = on
                && let Some(text) = self.handle.view().await?.question_about(*call)
            {
                return Ok(Some(Turn::Approval(Question { text: text.clone(), call: *call })));
            }
        }
        match &self.handle.outcome().await?.outcome {
            Some(Outcome::Failed(fault)) => Err(EndError::Failed(fault.clone())),
            Some(Outcome::Done { .. }) | None => Ok(None),
        }
    }

    /// Sends a message from the user. If the program is busy, the message waits until the program asks.
    ///
    /// # Errors
    /// The session has ended, or the message is too large.
    pub async fn say(&self, text: impl Into<Arc<str>>) -> Result<(), SendError> {
        self.handle.send(text).await
    }

    /// Gives a person's answer: `false` refuses the call, anything else is passed to its tool.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn answer(&self, question: Question, answer: impl Into<Value>) -> Result<(), SessionGone> {
        self.handle.approve(question.call, answer.into()).await
    }

    /// The handle of the session: its id, state and outcome, events from outside, more listeners.
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// Stops the session, and closes the tools if nothing else uses the program. A stored session can be resumed.
    pub async fn close(self) {
        let Conversation { handle, opened, .. } = self;
        handle.stop().await;
        // Whoever wants to know how it ended has asked `next`.
        let _ = handle.outcome().await;
        close(opened).await;
    }
}

/// Closes the tools of a program that nobody else has.
pub(super) async fn close(opened: Arc<Opened>) {
    if let Some(opened) = Arc::into_inner(opened) {
        opened.close().await;
    }
}
