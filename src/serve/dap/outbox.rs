//! What comes from the client and what goes to it.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::Value as Json;
use tokio::sync::mpsc;

use crate::serve::dap::wire::{Event, Refusal, RefusalKind, Request, Response};

/// So many messages may wait for a client that does not read; then nothing more is done for it.
const OUTBOX: usize = 1_024;

/// What a connection brings.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A request, and its bytes.
    Request(Box<Request>, Vec<u8>),
    /// A message that is none of the protocol, and why.
    Strange(String),
    /// Bytes that are no message, and why: nothing more can be read.
    Broken(String),
}

/// What goes to the client, numbered.
#[derive(Debug)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<Vec<u8>>,
    /// What one request or event has made, until [`Outbox::flush`].
    unsent: VecDeque<Vec<u8>>,
    seq: i64,
}

impl Outbox {
    pub(super) fn new() -> (Outbox, mpsc::Receiver<Vec<u8>>) {
        let (messages, receiver) = mpsc::channel(OUTBOX);
        (Outbox { messages, unsent: VecDeque::new(), seq: 0 }, receiver)
    }

    /// Hands all messages on, when there is room for them. May be dropped while it waits: none is lost.
    pub(crate) async fn flush(&mut self) {
        while !self.unsent.is_empty() {
            // Whoever read may have gone.
            let Ok(room) = self.messages.reserve().await else { return self.unsent.clear() };
            if let Some(message) = self.unsent.pop_front() {
                room.send(message);
            }
        }
    }

    fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    fn put(&mut self, message: &impl Serialize) {
        // Types of ours and JSON values: writing them cannot fail.
        self.unsent.push_back(serde_json::to_vec(message).unwrap_or_default());
    }

    /// Answers a request.
    pub(crate) fn respond(&mut self, request: &Request, answer: Result<Json, Refusal>) {
        let seq = self.next_seq();
        let (success, message, body) = match answer {
            Ok(body) => (true, None, body),
            Err(refusal) => {
                let body = serde_json::to_value(refusal.to_body()).unwrap_or_default();
                (false, Some(refusal.text), body)
            }
        };
        let command = request.command.clone();
        self.put(&Response { seq, kind: "response", request_seq: request.seq, success, command, message, body });
    }

    /// Answers a request that is not wanted any more.
    pub(super) fn cancel(&mut self, request: &Request) {
        let seq = self.next_seq();
        let (request_seq, command) = (request.seq, request.command.clone());
        let message = Some("cancelled".to_owned());
        self.put(&Response { seq, kind: "response", request_seq, success: false, command, message, body: Json::Null });
    }

    /// Tells what has happened.
    pub(crate) fn event(&mut self, event: &'static str, body: impl Serialize) {
        let seq = self.next_seq();
        let body = serde_json::to_value(body).unwrap_or_default();
        self.put(&Event { seq, kind: "event", event, body });
    }

    /// Hands on a message of another process, with a number of ours.
    pub(crate) fn forward(&mut self, mut message: Json) {
        let seq = self.next_seq();
        if let Some(members) = message.as_object_mut() {
            members.insert("seq".to_owned(), seq.into());
        }
        self.put(&message);
    }
}

/// The arguments of a request.
///
/// # Errors
/// They are not what the request takes.
pub(crate) fn arguments<T: serde::de::DeserializeOwned + Default>(request: &Request) -> Result<T, Refusal> {
    if request.arguments.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(request.arguments.clone()).map_err(|fault| {
        Refusal::new(RefusalKind::Arguments, format!("the arguments of {} cannot be read: {fault}", request.command))
    })
}

/// A body of ours as JSON.
pub(crate) fn body(body: impl Serialize) -> Result<Json, Refusal> {
    // Types of ours: writing them cannot fail.
    Ok(serde_json::to_value(body).unwrap_or_default())
}
