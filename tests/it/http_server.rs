//! A scripted HTTP server on the loopback interface: what a model's server can do right and wrong.
//!
//! It runs in a thread with a runtime of its own, so it serves tests in this process and tests that start the real
//! binary. It ends when its handle is dropped. Nothing in it sleeps: what is slow waits for a gate that the test
//! opens, and what the client does is a value to wait for.

// Support code: not every test file uses all of it.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// The events of a stream: one delta each, then the finish reason, the counts and `[DONE]`.
pub(crate) fn sse(deltas: &[&str], finish: Option<&str>, usage: Option<(u64, u64)>) -> Vec<Vec<u8>> {
    let mut events: Vec<Vec<u8>> = deltas.iter().map(|delta| event(&delta_chunk(json!({"content": delta})))).collect();
    if let Some(finish) = finish {
        events.push(event(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
        })));
    }
    if let Some((prompt_tokens, completion_tokens)) = usage {
        events.push(event(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
            "usage": {
                "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        })));
    }
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// A chunk with this delta.
pub(crate) fn delta_chunk(delta: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}],
    })
}

/// One event.
pub(crate) fn event(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    /// Written one by one, each flushed and, where the body is chunked, an HTTP chunk of its own.
    pieces: Vec<Vec<u8>>,
    framing: Framing,
    ending: Ending,
    /// From this piece on, each waits for [`ServerHandle::open_gate`].
    gated_from: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Chunked,
    ContentLength,
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The body's proper end; the connection is kept.
    Proper,
    /// The connection is closed without the body's end.
    Cut,
    /// The connection is reset.
    Reset,
    /// Nothing more is sent.
    Hang,
    /// Nothing is sent at all, not even a status.
    HangBeforeStatus,
}

impl Answer {
    /// A good stream of these deltas, with counts.
    pub(crate) fn deltas(deltas: &[&str]) -> Answer {
        Answer::events(sse(deltas, Some("stop"), Some((100, 20))))
    }

    /// A stream of these events, or whatever else the bytes are.
    pub(crate) fn events(pieces: Vec<Vec<u8>>) -> Answer {
        Answer {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            pieces,
            framing: Framing::Chunked,
            ending: Ending::Proper,
            gated_from: None,
        }
    }

    /// A stream whose text is this.
    pub(crate) fn text(text: &str) -> Answer {
        Answer::events(vec![text.as_bytes().to_vec()])
    }

    /// A status with a JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Answer {
        Answer::body(status, "application/json", &body.to_string())
    }

    /// A status with a body.
    pub(crate) fn body(status: u16, content_type: &str, body: &str) -> Answer {
        Answer {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            framing: Framing::ContentLength,
            ..Answer::text(body)
        }
    }

    /// With another status.
    pub(crate) fn status(self, status: u16) -> Answer {
        Answer { status, ..self }
    }

    /// With a further header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The connection is closed after so many bytes of the body.
    pub(crate) fn cut_after_bytes(mut self, n_bytes: usize) -> Answer {
        let mut left = n_bytes;
        for piece in &mut self.pieces {
            piece.truncate(left);
            left -= piece.len();
        }
        self.pieces.retain(|piece| !piece.is_empty());
        Answer { ending: Ending::Cut, ..self }
    }

    /// The connection is closed after so many pieces (deltas, for a stream).
    pub(crate) fn cut_after_pieces(mut self, n_pieces: usize) -> Answer {
        self.pieces.truncate(n_pieces);
        Answer { ending: Ending::Cut, ..self }
    }

    /// The connection is reset after the body, or where it is cut.
    pub(crate) fn reset(self) -> Answer {
        Answer { ending: Ending::Reset, ..self }
    }

    /// Nothing comes after the body, or after where it is cut; the connection stays open.
    pub(crate) fn hang(self) -> Answer {
        Answer { ending: Ending::Hang, ..self }
    }

    /// Nothing comes at all.
    pub(crate) fn silence() -> Answer {
        Answer { ending: Ending::HangBeforeStatus, ..Answer::text("") }
    }

    /// The body ends where the connection does.
    pub(crate) fn until_close(self) -> Answer {
        Answer { framing: Framing::UntilClose, ..self }
    }

    /// Every byte is a piece.
    pub(crate) fn bytewise(mut self) -> Answer {
        self.pieces = self.pieces.concat().chunks(1).map(<[u8]>::to_vec).collect();
        self
    }

    /// The whole body is one piece.
    pub(crate) fn joined(mut self) -> Answer {
        self.pieces = vec![self.pieces.concat()];
        self
    }

    /// From this piece on, each waits for [`ServerHandle::open_gate`].
    pub(crate) fn gated_from(self, piece: usize) -> Answer {
        Answer { gated_from: Some(piece), ..self }
    }
}

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Of which connection, from 0.
    pub(crate) connection: usize,
    /// `POST /v1/chat/completions`.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body; null where it is no JSON.
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// A connection that the client has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    /// Which, from 0.
    pub(crate) connection: usize,
    /// Whether an answer was under way.
    pub(crate) during_answer: bool,
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
struct Log {
    requests: Vec<Request>,
    closed: Vec<Closed>,
    n_connections: usize,
}

/// A running server.
pub(crate) struct ServerHandle {
    address: SocketAddr,
    log: watch::Receiver<Log>,
    gate: Arc<Semaphore>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

type Answers = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// Starts a server that gives these answers in order, whatever the connection. Further requests are refused.
pub(crate) fn start(answers: Vec<Answer>) -> ServerHandle {
    let answers = Mutex::new(answers.into_iter());
    start_with(move |_| {
        let next = answers.lock().unwrap().next();
        next.unwrap_or_else(|| Answer::json(418, &json!({"error": {"message": "no further answer is scripted"}})))
    })
}

/// Starts a server whose answers depend on the request.
pub(crate) fn start_with(answers: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> ServerHandle {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (log_sender, log) = watch::channel(Log::default());
    let gate = Arc::new(Semaphore::new(0));
    let stop = CancellationToken::new();
    let server = Server { answers: Arc::new(answers), log: Arc::new(log_sender), gate: gate.clone() };
    let stopped = stop.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        // Connections that are still open are dropped with the runtime.
        runtime.block_on(stopped.run_until_cancelled(server.accept(listener)));
    });
    ServerHandle { address, log, gate, stop, thread: Some(thread) }
}

impl ServerHandle {
    /// The base URL of an OpenAI-compatible server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.log.borrow().requests.clone()
    }

    /// The connections that clients have closed so far.
    pub(crate) fn closed_connections(&self) -> Vec<Closed> {
        self.log.borrow().closed.clone()
    }

    /// How many connections have been made so far.
    pub(crate) fn n_connections(&self) -> usize {
        self.log.borrow().n_connections
    }

    /// Lets so many gated pieces pass.
    pub(crate) fn open_gate(&self, n_pieces: usize) {
        self.gate.add_permits(n_pieces);
    }

    /// Waits until so many requests have come.
    pub(crate) async fn wait_for_requests(&self, n_requests: usize) {
        self.log.clone().wait_for(|log| log.requests.len() >= n_requests).await.unwrap();
    }

    /// Waits until clients have closed so many connections; without a runtime: `futures_util` or `block_on` in a
    /// runtime of the caller's.
    pub(crate) async fn wait_for_closed(&self, n_closed: usize) -> Vec<Closed> {
        self.log.clone().wait_for(|log| log.closed.len() >= n_closed).await.unwrap().closed.clone()
    }

    /// [`ServerHandle::wait_for_requests`] for tests without a runtime.
    pub(crate) fn wait_for_requests_blocking(&self, n_requests: usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.wait_for_requests(n_requests));
    }

    /// [`ServerHandle::wait_for_closed`] for tests without a runtime.
    pub(crate) fn wait_for_closed_blocking(&self, n_closed: usize) -> Vec<Closed> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.wait_for_closed(n_closed))
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the scripted server panicked");
        }
    }
}

#[derive(Clone)]
struct Server {
    answers: Answers,
    log: Arc<watch::Sender<Log>>,
    gate: Arc<Semaphore>,
}

impl Server {
    async fn accept(self, listener: std::net::TcpListener) {
        let listener = TcpListener::from_std(listener).unwrap();
        for connection in 0.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            self.log.send_modify(|log| log.n_connections += 1);
            let server = self.clone();
            tokio::spawn(async move { server.serve(connection, stream).await });
        }
    }

    async fn serve(self, connection: usize, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let (mut reader, mut writer) = stream.into_split();
        let mut buffer = Vec::new();
        loop {
            let Some(request) = read_request(connection, &mut reader, &mut buffer).await else {
                self.closed(Closed { connection, during_answer: false });
                return;
            };
            let answer = (self.answers)(&request);
            self.log.send_modify(|log| log.requests.push(request));
            let after = tokio::select! {
                after = self.write_answer(&answer, &mut writer) => after,
                () = client_closes(&mut reader) => After::ClientClosed,
            };
            match after {
                After::Kept => {}
                After::ClosedByUs => {
                    let _ = writer.shutdown().await;
                    return;
                }
                After::Reset => {
                    let stream = reader.reunite(writer).unwrap();
                    // Unsent data is thrown away and the other side gets a reset.
                    stream.set_zero_linger().unwrap();
                    return;
                }
                After::ClientClosed => {
                    self.closed(Closed { connection, during_answer: true });
                    return;
                }
            }
        }
    }

    fn closed(&self, closed: Closed) {
        self.log.send_modify(|log| log.closed.push(closed));
    }

    async fn write_answer(&self, answer: &Answer, writer: &mut OwnedWriteHalf) -> After {
        match self.try_write_answer(answer, writer).await {
            Ok(after) => after,
            Err(_) => After::ClientClosed,
        }
    }

    async fn try_write_answer(&self, answer: &Answer, writer: &mut OwnedWriteHalf) -> std::io::Result<After> {
        if answer.ending == Ending::HangBeforeStatus {
            std::future::pending::<()>().await;
        }
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match answer.framing {
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n\r\n"),
            Framing::ContentLength => {
                let length: usize = answer.pieces.iter().map(Vec::len).sum();
                head.push_str(&format!("content-length: {length}\r\n\r\n"));
            }
            Framing::UntilClose => head.push_str("connection: close\r\n\r\n"),
        }
        writer.write_all(head.as_bytes()).await?;
        for (index, piece) in answer.pieces.iter().enumerate() {
            if answer.gated_from.is_some_and(|first| index >= first) {
                self.gate.acquire().await.unwrap().forget();
            }
            if answer.framing == Framing::Chunked {
                let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
                framed.extend_from_slice(piece);
                framed.extend_from_slice(b"\r\n");
                // An empty chunk would be the body's end.
                if !piece.is_empty() {
                    writer.write_all(&framed).await?;
                }
            } else {
                writer.write_all(piece).await?;
            }
            writer.flush().await?;
        }
        match answer.ending {
            Ending::Proper if answer.framing == Framing::Chunked => {
                writer.write_all(b"0\r\n\r\n").await?;
                Ok(After::Kept)
            }
            Ending::Proper if answer.framing == Framing::ContentLength => Ok(After::Kept),
            Ending::Proper | Ending::Cut => Ok(After::ClosedByUs),
            Ending::Reset => Ok(After::Reset),
            Ending::Hang | Ending::HangBeforeStatus => std::future::pending().await,
        }
    }
}

enum After {
    Kept,
    ClosedByUs,
    Reset,
    ClientClosed,
}

/// Waits until the client closes its side. It sends nothing while it is being answered.
async fn client_closes(reader: &mut OwnedReadHalf) {
    let mut byte = [0; 64];
    while let Ok(1..) = reader.read(&mut byte).await {}
}

/// None: the client has closed the connection.
async fn read_request(connection: usize, reader: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(position) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break position + 4;
        }
        read_more(reader, buffer).await?;
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let target = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    while buffer.len() < head_end + length {
        read_more(reader, buffer).await?;
    }
    let bytes = buffer[head_end..head_end + length].to_vec();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    buffer.drain(..head_end + length);
    Some(Request { connection, target, headers, body, bytes })
}

async fn read_more(reader: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> Option<()> {
    match reader.read_buf(buffer).await {
        Ok(1..) => Some(()),
        Ok(0) | Err(_) => None,
    }
}
