//! A client of the debug adapter, for tests.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use playhouse::serve::dap::framing::{Frames, framed};
use regex::Regex;
use serde_json::{Value as Json, json};

use crate::run::Run;

/// Longer than anything takes; so that a test ends that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running adapter, and what was said with it.
pub(super) struct Client {
    // Its folder goes with it.
    run: Run,
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Json>,
    seq: u64,
    /// What comes, with what changes from run to run made plain.
    pub(super) log: String,
    /// The number of the list that was opened last.
    pub(super) last_list: Json,
}

impl Client {
    /// Starts the adapter.
    pub(super) fn start(run: Run) -> Client {
        let mut child = run.spawn();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let (mut frames, mut bytes) = (Frames::new(), [0; 4096]);
            loop {
                while let Some(message) = frames.next_message().unwrap() {
                    if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                        return;
                    }
                }
                match stdout.read(&mut bytes).unwrap() {
                    0 => return,
                    n => frames.push(&bytes[..n]),
                }
            }
        });
        let stdin = child.stdin.take();
        Client { run, child, stdin, messages, seq: 0, log: String::new(), last_list: json!(0) }
    }

    /// Sends bytes as they are.
    pub(super) fn send_raw(&mut self, text: &str) {
        let text = text.replace("\\r\\n", "\r\n");
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn send(&mut self, command: &str, arguments: Json) -> u64 {
        self.seq += 1;
        // Paths in arguments: `FOLDER/program.md`.
        let text = json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).to_string();
        let text = text.replace("FOLDER", &self.folder().display().to_string());
        // A client that was let go is not read any more.
        let _ = self.stdin.as_mut().unwrap().write_all(&framed(text.as_bytes()));
        self.seq
    }

    fn folder(&self) -> PathBuf {
        self.run.folder().canonicalize().unwrap()
    }

    fn next(&mut self) -> Option<Json> {
        self.messages.recv_timeout(PATIENCE).ok()
    }

    /// Sends a request; all that comes up to its answer is told.
    pub(super) fn request(&mut self, command: &str, arguments: Json) {
        let seq = self.send(command, arguments);
        while let Some(message) = self.next() {
            self.tell(&message);
            if message["type"] == "response" && message["request_seq"] == seq {
                return;
            }
        }
        panic!("no answer to {command}:\n{}", self.log);
    }

    /// Sends a request and gives its answer; what comes before that is told.
    pub(super) fn ask(&mut self, command: &str, arguments: Json) -> Json {
        let seq = self.send(command, arguments);
        while let Some(message) = self.next() {
            if message["type"] == "response" && message["request_seq"] == seq {
                if message["success"] != true {
                    self.tell(&message);
                }
                return message["body"].clone();
            }
            self.tell(&message);
        }
        panic!("no answer to {command}:\n{}", self.log)
    }

    /// Tells what comes up to an event.
    pub(super) fn wait(&mut self, event: &str) {
        while let Some(message) = self.next() {
            self.tell(&message);
            if message["type"] == "event" && message["event"] == event {
                return;
            }
        }
        panic!("no {event}:\n{}", self.log);
    }

    fn tell(&mut self, message: &Json) {
        let of = |key: &str| message[key].as_str().unwrap_or_default();
        let body = if message["body"].is_null() { String::new() } else { format!(" {}", message["body"]) };
        let line = match (of("type"), message["success"] == true) {
            ("event", _) => format!("* {}{body}", of("event")),
            (_, true) => format!("< {}{body}", of("command")),
            (_, false) => {
                let id = &message["body"]["error"]["id"];
                format!("< {} refused ({id}): {}", of("command"), of("message"))
            }
        };
        let line = line.replace(&self.folder().display().to_string(), "FOLDER");
        let line = Regex::new(r"\d{8}-\d{6}-\w{16}").unwrap().replace_all(&line, "SESSION").into_owned();
        let line = Regex::new(r"\d{4}-\d\d-\d\dT[\d:]{8}Z").unwrap().replace_all(&line, "TIME").into_owned();
        self.log.push_str(&line);
        self.log.push('\n');
    }

    /// The client goes; what still comes, what stands on standard error and the exit code are told.
    pub(super) fn end(mut self) -> String {
        self.stdin = None;
        while let Ok(message) = self.messages.recv_timeout(PATIENCE) {
            self.tell(&message);
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code();
        if !stderr.is_empty() {
            writeln!(self.log, "standard error: {stderr}").unwrap();
        }
        writeln!(self.log, "exit code {}", code.unwrap_or(-1)).unwrap();
        self.log
    }
}
