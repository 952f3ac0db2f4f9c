//! The door to a running session: a cheap handle that can be cloned and sent anywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use playhouse_lang::program::Program;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::view::View;
use playhouse_vm::protocol::{CallId, FrameId, Outcome, Signal, Timestamp, ToolSignature};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::debug::control::Command;
use crate::events::{Mark, Summary};
use crate::journal::JournalError;
use crate::journal::record::Record;
use crate::llm::LeftOver;
use crate::replay::error::SessionError;
use crate::session::input::{Act, Deed, Input, Receipt, Refusal};
use crate::session::listeners::{Interest, Publisher, Subscription};
use crate::session::present::Present;

/// The session has ended: see [`SessionHandle::outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionGone;

/// Why a message is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SendError {
    /// There is nobody who could take it.
    #[error(transparent)]
    Gone(#[from] SessionGone),
    /// A model's context is no place for it.
    #[error("the message has {found} bytes, but the limit is {limit}; put it into a file that a tool can read")]
    TooLarge {
        /// Its bytes.
        found: usize,
        /// The most that are taken.
        limit: usize,
    },
    /// Its inbox is full, and stays so: it reads slower than it is written to.
    #[error("the session is busy and has not accepted it; try again in a moment")]
    Busy,
    /// It does not fit what has been done before.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// How a session's task ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The program's outcome; none: the task was stopped before, and the journal can be resumed.
    pub outcome: Option<Outcome>,
    /// The machine's last state.
    pub view: Arc<View>,
    /// The text that it has.
    pub program: Arc<Program>,
    /// Of the last event.
    pub mark: Mark,
    /// The time of the last record.
    pub time: Timestamp,
    /// What was counted.
    pub summary: Summary,
    /// What a scripted model or classifier never used.
    pub left_over: Vec<LeftOver>,
    /// Of a session that was let go: when the next of its timers runs out.
    pub due: Option<Timestamp>,
}

impl Ending {
    /// The session's last state, and when that is.
    pub fn present(&self) -> Present {
        let Ending { view, program, mark, time, summary, due, .. } = self.clone();
        Present { view, program, mark, time, cost: summary.cost, due }
    }
}

/// So long an inbox may stay full.
const PATIENCE: Duration = Duration::from_secs(2);

/// What [`SessionHandle::outcome`] gives; the error is shared by all who ask.
pub type EndResult = Result<Arc<Ending>, Arc<SessionError>>;

/// A running session. The task goes on until the program ends, somebody stops it, or the last handle is dropped
/// and nothing is left to be done but wait for a person.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    pub(crate) id: Arc<str>,
    pub(crate) inbox: mpsc::Sender<Input>,
    pub(crate) end: watch::Receiver<Option<EndResult>>,
    /// [`crate::session::SessionOptions::message_bytes`].
    pub(crate) message_bytes: usize,
    pub(crate) is_busy: Arc<AtomicBool>,
    /// Who does what is done through this handle.
    pub(crate) by: Option<Arc<str>>,
}

impl SessionHandle {
    /// The session's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The same door for this person: the journal says who did what.
    #[must_use]
    pub fn on_behalf_of(&self, who: impl Into<Arc<str>>) -> SessionHandle {
        SessionHandle { by: Some(who.into()), ..self.clone() }
    }

    /// Does something, and waits until that is in the journal.
    ///
    /// # Errors
    /// Nothing has happened: the session has ended, its inbox is full for two seconds, a message is too large, or it does
    /// not fit what was done before.
    pub async fn deliver(&self, deed: Deed) -> Result<Receipt, SendError> {
        self.check(&deed)?;
        let (sender, receipt) = oneshot::channel();
        let put = self.inbox.send_timeout(self.letter(deed, Some(sender)), PATIENCE).await;
        put.map_err(|refused| match refused {
            SendTimeoutError::Timeout(_) => SendError::Busy,
            SendTimeoutError::Closed(_) => SendError::Gone(SessionGone),
        })?;
        Ok(receipt.await.map_err(|_| SessionGone)??)
    }

    /// The user says something. Waits while the session's inbox is full; messages keep their order.
    ///
    /// # Errors
    /// The session has ended, or the message is too large; nothing has happened then.
    pub async fn send(&self, text: impl Into<Arc<str>>) -> Result<(), SendError> {
        let deed = Deed::Message { text: text.into(), id: None };
        self.check(&deed)?;
        Ok(self.put(self.letter(deed, None)).await?)
    }

    /// An event from outside comes, for triggers that wait for its name. A session that has come to its end takes none.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn signal(&self, signal: Signal) -> Result<(), SessionGone> {
        self.put(self.letter(Deed::Signal(signal), None)).await
    }

    /// Cancels what is going on: the reply is closed, calls of tools end and have failed for the program, which waits
    /// for the user.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn interrupt(&self) -> Result<(), SessionGone> {
        self.put(self.letter(Deed::Interrupt, None)).await
    }

    /// A person answers a call's question: false refuses, anything else is handed to the tool.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn approve(&self, call: CallId, answer: Value) -> Result<(), SessionGone> {
        self.put(self.letter(Deed::Approve(call, answer), None)).await
    }

    /// A debugger changes a variable of a frame; no frame: one of the agent's others.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn edit(
        &self,
        frame: Option<FrameId>,
        name: impl Into<Arc<str>>,
        value: Value,
    ) -> Result<(), SessionGone> {
        self.put(self.letter(Deed::Edit(frame, name.into(), value), None)).await
    }

    /// So much time passes at once for its timers, which test clocks do not move. At most the one that runs out first
    /// does.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn pass(&self, time: Duration) -> Result<(), SessionGone> {
        self.put(Input::Pass(time)).await
    }

    /// The set of tools has changed.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn change_tools(&self, tools: Arc<[ToolSignature]>) -> Result<(), SessionGone> {
        self.put(Input::SignaturesChanged(tools)).await
    }

    /// Listens from now on. To hear a session from its first event, subscribe before it is spawned
    /// ([`crate::session::Session::subscribe`]).
    ///
    /// # Errors
    /// The session has ended.
    pub async fn subscribe(&self, interest: Interest) -> Result<Subscription, SessionGone> {
        let (publisher, subscription) = Publisher::open(interest);
        self.put(Input::Subscribe(publisher)).await?;
        Ok(subscription)
    }

    /// The machine's state: between two events, or its last one if the session has ended.
    ///
    /// # Errors
    /// The session's task has failed.
    pub async fn view(&self) -> Result<Arc<View>, Arc<SessionError>> {
        Ok(self.present().await?.view)
    }

    /// The same, and when that is.
    ///
    /// # Errors
    /// The session's task has failed.
    pub async fn present(&self) -> Result<Present, Arc<SessionError>> {
        let (sender, answer) = oneshot::channel();
        if self.inbox.send(Input::View(sender)).await.is_ok()
            && let Ok(present) = answer.await
        {
            return Ok(present);
        }
        self.outcome().await.map(|ending| ending.present())
    }

    /// Everything that the session's journal holds, for [`crate::why`]. Secrets are in it: show
    /// [`Record::shown`] only. The session waits while it is read.
    ///
    /// # Errors
    /// The session has ended; inside, its journal cannot be read.
    pub async fn records(&self) -> Result<Result<Vec<Record>, JournalError>, SessionGone> {
        let (sender, answer) = oneshot::channel();
        self.put(Input::Records(sender)).await?;
        answer.await.map_err(|_| SessionGone)
    }

    /// A debugger wants something.
    ///
    /// # Errors
    /// The session has ended.
    pub(crate) async fn debug(&self, command: Command) -> Result<(), SessionGone> {
        self.put(Input::Debug(Box::new(command))).await
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// Our own infrastructure failed (the journal cannot be written), or a bug of ours ended the task.
    pub async fn outcome(&self) -> EndResult {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or_else(|| Err(Arc::new(SessionError::Vanished))),
            // The task was dropped without a word: it panicked, or its runtime was shut down.
            Err(_) => Err(Arc::new(SessionError::Vanished)),
        }
    }

    /// Lets the session go if it waits for a person, nobody listens, nothing runs and that has been so for `idle`. It
    /// ends then without an outcome, as after [`SessionHandle::stop`], and can be resumed; [`Ending::due`] tells when its
    /// next timer would run out. Does not wait, and does nothing to a session that is busy.
    pub fn rest(&self, idle: Duration) {
        // One that has ended, or has so much to do, is not to be let go.
        let _ = self.inbox.try_send(Input::Rest(idle));
    }

    /// Lets the session go as soon as it only waits, for a person or for a moment, whoever listens: then it ends as by
    /// [`SessionHandle::rest`]. What has come by then is handled before.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn leave(&self) -> Result<(), SessionGone> {
        self.put(Input::Leave).await
    }

    /// Whether a reply, a tool or a verdict is waited for, or about to be.
    pub fn is_busy(&self) -> bool {
        !self.has_ended() && self.is_busy.load(Ordering::Relaxed)
    }

    /// Whether the session has ended.
    pub fn has_ended(&self) -> bool {
        self.end.borrow().is_some() || self.inbox.is_closed()
    }

    /// Stops the task: the reply in progress is closed, running tools are cancelled, the journal is synced. The
    /// session can be resumed. Does not wait: see [`SessionHandle::outcome`].
    pub async fn stop(&self) {
        // A session that has ended needs no stopping.
        let _ = self.inbox.send(Input::Stop).await;
    }

    fn check(&self, deed: &Deed) -> Result<(), SendError> {
        if let Deed::Message { text, .. } = deed
            && text.len() > self.message_bytes
        {
            return Err(SendError::TooLarge { found: text.len(), limit: self.message_bytes });
        }
        Ok(())
    }

    fn letter(&self, deed: Deed, receipt: Option<oneshot::Sender<Result<Receipt, Refusal>>>) -> Input {
        Input::Act(Box::new(Act { deed, by: self.by.clone(), receipt }))
    }

    async fn put(&self, input: Input) -> Result<(), SessionGone> {
        self.inbox.send(input).await.map_err(|_| SessionGone)
    }
}
