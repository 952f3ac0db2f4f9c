//! One connection. Requests are answered in the order in which they come; what happens in between is told as it
//! happens, so that a program that runs can be paused and asked.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::serve::dap::Door;
use crate::serve::dap::adapter::{Adapter, Flow};
use crate::serve::dap::framing::{Frames, framed};
use crate::serve::dap::relay::relay;
use crate::serve::dap::wire::{Event, Refusal, RefusalKind, Request, Response};

/// So many requests may wait; then the client does.
const INBOX: usize = 64;

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

/// The numbers of requests that a client does not want answered any more.
type Cancelled = Arc<Mutex<HashSet<i64>>>;

/// Speaks the protocol until the client has gone, or has been let go.
pub(crate) async fn serve<R, W>(reader: R, writer: W, door: Arc<dyn Door>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (sender, mut incoming) = mpsc::channel(INBOX);
    let cancelled = Cancelled::default();
    let mut reading = tokio::spawn(read(reader, sender, cancelled.clone()));
    let (outbox, messages) = Outbox::new();
    let writing = tokio::spawn(write(writer, messages));
    let mut adapter = Adapter::new(door, outbox);
    loop {
        tokio::select! {
            biased;
            () = adapter.outbox.flush() => {}
            // A client that neither reads nor says anything any more has gone.
            _ = &mut reading => break,
        }
        let flow = tokio::select! {
            came = incoming.recv() => match came {
                Some(Incoming::Request(request, bytes)) => {
                    if take(&cancelled, request.seq) {
                        adapter.outbox.cancel(&request);
                        Flow::GoOn
                    } else {
                        adapter.answer(*request, bytes).await
                    }
                }
                Some(Incoming::Strange(why)) => {
                    adapter.remark(&format!("a message was not understood: {why}\n"));
                    Flow::GoOn
                }
                Some(Incoming::Broken(why)) => {
                    adapter.remark(&format!("the connection is closed: {why}\n"));
                    Flow::End
                }
                None => Flow::End,
            },
            happened = adapter.happened() => {
                adapter.tell(happened).await;
                Flow::GoOn
            }
        };
        match flow {
            Flow::GoOn => {}
            Flow::End => break,
            Flow::Relay(other, first) => {
                relay(other, first, &mut incoming, &mut adapter.outbox).await;
                break;
            }
        }
    }
    adapter.leave().await;
    adapter.outbox.flush().await;
    drop(adapter);
    // What has been said arrives, unless nobody reads any more.
    let _ = writing.await;
    reading.abort();
}

fn take(cancelled: &Cancelled, seq: i64) -> bool {
    cancelled.lock().unwrap_or_else(PoisonError::into_inner).remove(&seq)
}

async fn read<R: AsyncRead + Unpin>(mut reader: R, sender: mpsc::Sender<Incoming>, cancelled: Cancelled) {
    let mut frames = Frames::new();
    let mut bytes = vec![0; 16 * 1024];
    loop {
        loop {
            let came = match frames.next_message() {
                Ok(None) => break,
                Ok(Some(message)) => understood(message),
                Err(fault) => Incoming::Broken(fault.to_string()),
            };
            if let Incoming::Request(request, _) = &came
                && request.command == "cancel"
                && let Some(seq) = request.arguments.get("requestId").and_then(Json::as_i64)
            {
                cancelled.lock().unwrap_or_else(PoisonError::into_inner).insert(seq);
            }
            let is_broken = matches!(came, Incoming::Broken(_));
            if sender.send(came).await.is_err() || is_broken {
                return;
            }
        }
        match reader.read(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(n) => frames.push(&bytes[..n]),
        }
    }
}

fn understood(message: Vec<u8>) -> Incoming {
    match serde_json::from_slice::<Request>(&message) {
        Ok(request) if request.kind == "request" => Incoming::Request(Box::new(request), message),
        Ok(request) => Incoming::Strange(format!("its type is {:?}, and only requests are answered", request.kind)),
        Err(fault) => Incoming::Strange(fault.to_string()),
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        let is_written = writer.write_all(&framed(&message)).await.is_ok() && writer.flush().await.is_ok();
        if !is_written {
            return;
        }
    }
    // The other side learns that nothing more comes, or has gone.
    let _ = writer.shutdown().await;
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
    fn new() -> (Outbox, mpsc::Receiver<Vec<u8>>) {
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
    fn cancel(&mut self, request: &Request) {
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
