//! A call that asks a person: between two attempts it stays in flight, and goes on with the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use playhouse_lang::value::Value;
use rmcp::model::{CallToolRequestParams, CallToolResult, ElicitResult, ElicitationAction};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection::Connection;
use super::error::Trouble;
use super::flight::Flight;
use super::flights::Happening;
use super::form::Form;
use super::text;

/// Calls of one server that may wait for answers at a time.
const MAX_WAITING: usize = 256;

/// How long a call waits for an answer; a little longer than it may stay in flight.
const KEPT: Duration = Duration::from_secs(60 * 61);

/// A call and what has been asked on its behalf.
pub(super) struct Talk {
    pub(super) flight: Flight,
    open: Option<Open>,
    /// Questions and answers, in order: if the call has to be made anew nobody is asked twice.
    pub(super) answered: Vec<(Arc<str>, Value)>,
    /// How many of them the call that is in flight has had.
    n_used: usize,
    /// The server had given up waiting when the answer came.
    is_late: bool,
}

/// A form that is being filled in.
struct Open {
    form: Form,
    reply: oneshot::Sender<ElicitResult>,
}

/// What comes next.
pub(super) enum Next {
    /// A person must be asked.
    Ask(String),
    /// The call is over.
    Ended(Box<Result<CallToolResult, Trouble>>),
    /// The call ended before the answer came, and must be made anew.
    Anew,
}

impl Talk {
    /// Makes the call; what was asked before, and is `answered`, is not asked again.
    pub(super) fn begin(
        connection: Arc<Connection>,
        params: CallToolRequestParams,
        answered: Vec<(Arc<str>, Value)>,
    ) -> Talk {
        Talk { flight: Flight::begin(connection, params), open: None, answered, n_used: 0, is_late: false }
    }

    /// Takes the answer to the open question; the text is the next question, if there is one now.
    pub(super) fn answer(&mut self, answer: Value) -> Option<String> {
        let open = self.open.as_mut()?;
        let question = open.form.question()?;
        if let Err(reason) = open.form.answer(&answer) {
            return Some(format!("That cannot be used: {reason}.\n{question}"));
        }
        self.answered.push((question.into(), answer));
        self.n_used = self.answered.len();
        if open.reply.is_closed() {
            self.is_late = true;
            self.open = None;
            return None;
        }
        self.go_on()
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Next {
        loop {
            match self.flight.happenings.recv().await {
                Some(Happening::Asks(asked)) => {
                    let Some(form) = Form::new(&asked.request) else {
                        let _ = asked.reply.send(ElicitResult::new(ElicitationAction::Cancel));
                        continue;
                    };
                    self.open = Some(Open { form, reply: asked.reply });
                    if let Some(question) = self.go_on() {
                        return Next::Ask(question);
                    }
                }
                Some(Happening::Ended(ended)) => {
                    let has_failed = ended.as_ref().as_ref().map_or(true, |result| result.is_error == Some(true));
                    return if self.is_late && has_failed { Next::Anew } else { Next::Ended(ended) };
                }
                None => return Next::Ended(Box::new(Err(Trouble::Lost("closed the connection".to_owned())))),
            }
        }
    }

    /// Fills in what has been answered already; the next question, or none and the server has its answer.
    fn go_on(&mut self) -> Option<String> {
        let open = self.open.as_mut()?;
        while let Some(question) = open.form.question() {
            // What people were shown has the server's name, and what was wrong with an answer, in front.
            let shown = text::lines(&question, text::MAX_QUESTION);
            let known = self.answered.get(self.n_used).filter(|(asked, _)| asked.ends_with(&shown));
            let Some((_, answer)) = known else { return Some(question) };
            // One that was refused is followed by the next try.
            let _ = open.form.answer(answer);
            self.n_used += 1;
        }
        if let Some(open) = self.open.take()
            && open.reply.send(open.form.result()).is_err()
        {
            self.is_late = true;
        }
        None
    }
}

/// Calls that wait for answers, by call id.
#[derive(Default)]
pub(super) struct Talks(Mutex<HashMap<Arc<str>, (Talk, Instant)>>);

impl Talks {
    /// Keeps a call until its answer comes; whether there is room for it.
    pub(super) fn keep(&self, call_id: Arc<str>, talk: Talk) -> bool {
        let mut talks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        talks.retain(|_, (_, since)| since.elapsed() < KEPT);
        let has_room = talks.len() < MAX_WAITING;
        if has_room {
            talks.insert(call_id, (talk, Instant::now()));
        }
        has_room
    }

    /// The call whose answer has come.
    pub(super) fn take(&self, call_id: &str) -> Option<Talk> {
        let mut talks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        talks.remove(call_id).map(|(talk, _)| talk)
    }

    /// Gives up all of them.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
