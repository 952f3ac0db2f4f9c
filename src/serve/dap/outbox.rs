//! What comes from the client and what goes to it.

use std::collections::VecDeque;

use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use crate::serve::dap::wire::{Refusal, RefusalKind, Request};

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

    /// Puts a message in the queue, under the next number.
    fn put(&mut self, mut message: Json) {
        self.seq += 1;
        if let Some(members) = message.as_object_mut() {
            members.insert("seq".to_owned(), self.seq.into());
            members.retain(|key, member| key != "body" || !member.is_null());
        }
        // JSON values: writing them cannot fail.
        self.unsent.push_back(serde_json::to_vec(&message).unwrap_or_default());
    }

    /// Answers a request.
    pub(crate) fn respond(&mut self, request: &Request, answer: Result<Json, Refusal>) {
        match answer {
            Ok(body) => self.answer(request, None, body),
            Err(refusal) => self.answer(request, Some(&refusal.text), refusal.to_body()),
        }
    }

    /// Answers a request that is not wanted any more.
    pub(super) fn cancel(&mut self, request: &Request) {
        self.answer(request, Some("cancelled"), Json::Null);
    }

    /// `fault`: why the request has failed, as text or as a word of the protocol's.
    fn answer(&mut self, request: &Request, fault: Option<&str>, body: Json) {
        let (command, success) = (&request.command, fault.is_none());
        let mut response = json!({
            "seq": 0, "type": "response", "request_seq": request.seq, "success": success, "command": command,
        });
        if let Some(fault) = fault {
            response["message"] = fault.into();
        }
        response["body"] = body;
        self.put(response);
    }

    /// Tells what has happened.
    pub(crate) fn event(&mut self, event: &'static str, body: Json) {
        self.put(json!({"seq": 0, "type": "event", "event": event, "body": body}));
    }

    /// Hands on a message of another process.
    pub(crate) fn forward(&mut self, message: Json) {
        self.put(message);
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
        RefusalKind::Arguments.told(format!("the arguments of {} cannot be read: {fault}", request.command))
    })
}
