//! The server as a process, and those who talk with it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use playhouse::host::ledger::sqlite::SqliteLedger;
use playhouse::host::ledger::{Ledger, TokenRow};
use playhouse::vm::protocol::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::conversation::CONVERSATION;

const STORE: &str = "serve.sqlite";

/// A process that serves; it is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// From the start of the process to its address.
    pub(crate) started: Duration,
}

impl Server {
    /// One with a store.
    pub(crate) fn start(folder: &Path, model: SocketAddr, address: &str) -> Server {
        Server::start_with(folder, model, &["--listen", address, "--journal", STORE], "")
    }

    /// One with these options, and this secret of its nodes.
    pub(crate) fn start_with(folder: &Path, model: SocketAddr, options: &[&str], secret: &str) -> Server {
        fs::write(folder.join("shop.md"), CONVERSATION).expect("a file");
        let config = "[serve]\ngrace = 1\nidle = 3600\nmax_live = 20000\nmax_busy = 1000\n";
        if !folder.join("playhouse.toml").exists() {
            fs::write(folder.join("playhouse.toml"), config).expect("a file");
        }
        let begun = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_playhouse"))
            .args(["serve", "shop.md", "--model", "openai:test", "--base-url", &format!("http://{model}/v1")])
            .args(options)
            .current_dir(folder)
            .env_clear()
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("PLAYHOUSE_NODE_SECRET", secret)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        let started = begun.elapsed();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
        Server { child, address, started }
    }

    /// Memory in KiB.
    pub(crate) fn memory(&self) -> u64 {
        memory_of(self.id())
    }

    /// Of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The memory of a process in KiB.
pub(crate) fn memory_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Makes so many tokens in the store of a server.
pub(crate) async fn make_tokens(folder: &Path, n: usize) {
    add_tokens(&SqliteLedger::open(&folder.join(STORE)).await.expect("a store"), n).await;
}

/// Makes so many tokens, `t0`, `t1`, …: what one may do in a minute is limited.
pub(crate) async fn add_tokens(ledger: &dyn Ledger, n: usize) {
    for n in 0..n {
        let row = TokenRow {
            hash: Sha256::digest(format!("t{n}")).into(),
            name: format!("caller-{n}").into(),
            role: "operator".to_owned(),
            program: None,
            forwards: false,
            created: Timestamp(0),
            expires: None,
        };
        assert!(ledger.add_token(row).await.expect("a store"));
    }
}

/// Somebody with a token, and connections that stay.
#[derive(Clone)]
pub(crate) struct Caller {
    client: reqwest::Client,
    base: Arc<str>,
    token: String,
}

impl Caller {
    pub(crate) fn new(address: SocketAddr, token: usize) -> Caller {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Caller { client, base: format!("http://{address}").into(), token: format!("t{token}") }
    }

    /// The same connections with another token.
    pub(crate) fn with_token(&self, token: usize) -> Caller {
        Caller { token: format!("t{token}"), ..self.clone() }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        self.try_ask(method, path, body).await.expect("an answer")
    }

    pub(crate) async fn try_ask(&self, method: &str, path: &str, body: Option<Value>) -> reqwest::Result<Value> {
        let request = self.client.request(method.parse().expect("a method"), format!("{}{path}", self.base));
        let mut request = request.bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await?.error_for_status()?.text().await?;
        Ok(serde_json::from_str(&answer).unwrap_or(Value::Null))
    }

    /// Begins a session, and waits until it waits.
    pub(crate) async fn begin(&self) -> String {
        let session = self.ask("POST", "/api/sessions", Some(serde_json::json!({"program": "shop"}))).await;
        session["id"].as_str().expect("an id").to_owned()
    }

    /// One turn, to its end.
    pub(crate) async fn turn(&self, id: &str) -> Value {
        let body = serde_json::json!({"text": "43345678, please"});
        self.ask("POST", &format!("/api/sessions/{id}/messages?wait=60"), Some(body)).await
    }

    /// Listens from a mark on; each event's name, mark and data.
    pub(crate) async fn listen(&self, id: &str, after: Option<&str>) -> reqwest::Result<Listening> {
        let path = format!("{}/api/sessions/{id}/events?show=speech", self.base);
        let mut request = self.client.get(path).bearer_auth(&self.token);
        if let Some(mark) = after {
            request = request.header("last-event-id", mark);
        }
        let answer = request.send().await?.error_for_status()?;
        Ok(Listening { bytes: Box::pin(answer.bytes_stream()), text: Vec::new() })
    }
}

/// A reply of the model itself, with no server between.
pub(crate) async fn hear_model(model: SocketAddr) -> Listening {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let answer = client.post(format!("http://{model}/v1/chat/completions")).send().await.expect("an answer");
    Listening { bytes: Box::pin(answer.bytes_stream()), text: Vec::new() }
}

/// A stream of events.
pub(crate) struct Listening {
    bytes: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<axum::body::Bytes>> + Send>>,
    text: Vec<u8>,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) mark: Option<String>,
    pub(crate) data: Value,
}

impl Listening {
    /// The next event; none: the stream has ended, in whatever way.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        loop {
            while let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                let event = String::from_utf8(event).expect("UTF-8");
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let Some(data) = field("data: ") else { continue };
                let name = field("event: ").unwrap_or_default();
                // The last word of a model is none.
                return Some(Told { name, mark: field("id: "), data: serde_json::from_str(&data).unwrap_or_default() });
            }
            self.text.extend_from_slice(&self.bytes.next().await?.ok()?);
        }
    }
}
