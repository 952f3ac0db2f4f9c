//! One connection. Requests are answered in the order in which they come; what happens in between is told as it
//! happens, so that a program that runs can be paused and asked.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::host::tasks;
use crate::serve::dap::adapter::{Adapter, Flow};
use crate::serve::dap::door::Door;
use crate::serve::dap::framing::{Frames, framed};
use crate::serve::dap::outbox::{Incoming, Outbox};
use crate::serve::dap::relay::relay;
use crate::serve::dap::wire::Request;

/// So many requests may wait; then the client does.
const INBOX: usize = 64;

/// The numbers of requests that a client does not want answered any more.
type Cancelled = Arc<Mutex<HashSet<i64>>>;

/// Speaks the protocol until the client disconnects or is detached.
pub async fn serve<R, W>(reader: R, writer: W, door: Arc<dyn Door>)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (sender, mut incoming) = mpsc::channel(INBOX);
    let cancelled = Cancelled::default();
    let mut reading = tasks::spawn(read(reader, sender, cancelled.clone()));
    let (outbox, messages) = Outbox::new();
    let writing = tasks::spawn(write(writer, messages));
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
