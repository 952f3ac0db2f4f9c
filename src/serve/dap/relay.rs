//! A connection that is handed on: the client speaks with this process, the program runs in another one.

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::serve::dap::framing::{Frames, framed};
use crate::serve::dap::outbox::{Incoming, Outbox};

/// The first messages for the other process: what the client has said so far.
#[derive(Debug)]
pub(crate) struct First {
    /// `initialize`, which has been answered here.
    pub(crate) initialize: Vec<u8>,
    /// Its number.
    pub(crate) initialize_seq: i64,
    /// `attach`, which has not.
    pub(crate) attach: Vec<u8>,
}

/// Hands on what either side says until one of them has gone.
pub(crate) async fn relay(
    other: TcpStream,
    first: First,
    incoming: &mut mpsc::Receiver<Incoming>,
    outbox: &mut Outbox,
) {
    let (mut reader, mut writer) = other.into_split();
    let mut frames = Frames::new();
    let mut bytes = vec![0; 16 * 1024];
    let mut has_ended = false;
    for message in [&first.initialize, &first.attach] {
        if writer.write_all(&framed(message)).await.is_err() {
            return lost(outbox, has_ended);
        }
    }
    loop {
        outbox.flush().await;
        tokio::select! {
            came = incoming.recv() => match came {
                Some(Incoming::Request(_, message)) => {
                    if writer.write_all(&framed(&message)).await.is_err() {
                        return lost(outbox, has_ended);
                    }
                }
                Some(Incoming::Strange(_)) => {}
                // The other process sees that the connection ends, and lets its program go on.
                Some(Incoming::Broken(_)) | None => return,
            },
            read = reader.read(&mut bytes) => {
                match read {
                    Ok(0) | Err(_) => return lost(outbox, has_ended),
                    Ok(n) => frames.push(&bytes[..n]),
                }
                loop {
                    match frames.next_message() {
                        Ok(None) => break,
                        Ok(Some(message)) => has_ended |= hand_on(&message, first.initialize_seq, outbox),
                        Err(_) => return lost(outbox, has_ended),
                    }
                }
            }
        }
    }
}

/// Whether nothing more is to be expected: the program has ended, or the client has been let go.
fn hand_on(message: &[u8], initialize_seq: i64, outbox: &mut Outbox) -> bool {
    let Ok(message) = serde_json::from_slice::<Json>(message) else { return false };
    let is = |key: &str, value: &str| message.get(key).and_then(Json::as_str) == Some(value);
    let answers = message.get("request_seq").and_then(Json::as_i64);
    // The client has had its answer from here.
    if is("type", "response") && is("command", "initialize") && answers == Some(initialize_seq) {
        return false;
    }
    let is_end = is("event", "terminated") || (is("type", "response") && is("command", "disconnect"));
    outbox.forward(message);
    is_end
}

/// The other process has gone.
fn lost(outbox: &mut Outbox, has_ended: bool) {
    if !has_ended {
        outbox.event("terminated", Json::Null);
    }
}
