//! What servers and models do wrong, through the real binary and a scripted server. Of every case: the tool was
//! called once, everything was said once, the exit code, the number of requests, and that the message says what
//! can be done.
//!
//! After its scripted answers the server answers as an ideal model would: only what the assistant's messages of
//! the request do not hold yet.

mod replies;
mod servers;
mod streams;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::http_server::{Answer, Request, ServerHandle, start_with};

/// Everything a line can do, in lines that are the model's.
const PROGRAM: &str = "\
# Desk
Writes down numbers.

## Main
### Triggers
- At the beginning
### Steps
- Choose a number and keep it in mind
- Let the user know the number
- Write the number down
- Give the number back
";

/// The whole work of that program, as it should be done.
const LINES: [&str; 4] = [
    r#"{"at":"01","set":{"number":7}}"#,
    r#"{"at":"02","say":"Schön: \"{$number}\" is yours,\nall of it."}"#,
    r#"{"at":"03","call":"Note","args":{"number":"$number"},"as":"status"}"#,
    r#"{"at":"04","return":"$status"}"#,
];

/// What it says.
const SAID: &str = "Schön: \"7\" is yours,\nall of it.";

const TOOLS: &str = r#"{"Note": {"args": {"number": "int"}, "required": ["number"], "responses": [{"return": "noted"}],
                                  "log": "calls.log"}}"#;

/// Waiting is no part of what is tested.
const CONFIG: &str = "\
read_timeout = 20
yield_grace = 0.2
[limits]
retry_delay_ms = 1
max_retry_delay_ms = 5
max_retries = 3
";

/// The whole work, as one reply.
fn ideal() -> String {
    LINES.map(|line| format!("{line}\n")).concat()
}

/// A reply in pieces of so many characters.
fn pieces(text: &str, n_characters: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(n_characters).map(|piece| piece.iter().collect()).collect()
}

/// A good answer with this text, in pieces of four characters.
fn reply(text: &str) -> Answer {
    let pieces = pieces(text, 4);
    Answer::deltas(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The words of a request's last message.
fn last_words(request: &Request) -> &str {
    request.body["messages"].as_array().and_then(|messages| messages.last()).unwrap()["content"].as_str().unwrap()
}

/// What is left to be done after what a request holds as done.
fn rest(request: &Request) -> Vec<String> {
    let messages = request.body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert!(roles[1..].chunks(2).all(|pair| pair[0] == "user" && pair.get(1).is_none_or(|role| *role == "assistant")));
    let mut said = String::new();
    let mut keys = Vec::new();
    for message in messages.iter().filter(|message| message["role"] == "assistant") {
        for line in message["content"].as_str().unwrap().lines() {
            let line: Value = serde_json::from_str(line).expect("an assistant's message holds JSON Lines only");
            said.push_str(line["say"].as_str().unwrap_or_default());
            keys.extend(line.as_object().unwrap().keys().filter(|key| *key != "at").cloned());
        }
    }
    // The first time the text stands there as it was written, with its reference.
    let said = said.replace("{$number}", "7");
    let unsaid = SAID.strip_prefix(said.as_str()).expect("only what was to be said has been said");
    let is_open = |key: &str| !keys.iter().any(|done| done == key);
    let mut lines = Vec::new();
    if is_open("set") {
        lines.push(LINES[0].to_owned());
    }
    if unsaid == SAID {
        lines.push(LINES[1].to_owned());
    } else if !unsaid.is_empty() {
        let told = last_words(request);
        assert!(told.contains(&format!("you were saying {}: go on in mid-sentence", Value::from(said))), "{told}");
        lines.push(serde_json::json!({"at": "02", "say": unsaid}).to_string());
    }
    if is_open("call") {
        lines.push(LINES[2].to_owned());
    }
    lines.push(LINES[3].to_owned());
    lines
}

/// A server that gives these answers, and then those of an ideal model.
fn server(answers: Vec<Answer>) -> ServerHandle {
    let answers = Mutex::new(answers.into_iter());
    start_with(move |request| {
        let next = answers.lock().unwrap().next();
        next.unwrap_or_else(|| reply(&rest(request).concat_lines()))
    })
}

trait ConcatLines {
    fn concat_lines(&self) -> String;
}

impl ConcatLines for Vec<String> {
    fn concat_lines(&self) -> String {
        self.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A folder in which the program runs.
struct Desk {
    folder: TempDir,
    key: Option<&'static str>,
}

/// What came of a run.
#[derive(Debug)]
struct Ran {
    exit: i32,
    stdout: String,
    stderr: String,
    /// Calls of the tool, in this folder, in all runs so far.
    calls: Vec<String>,
    events: Vec<Value>,
}

impl Desk {
    fn new() -> Desk {
        Desk::with_config("")
    }

    /// With lines that come before the usual configuration and win over it.
    fn with_config(first: &str) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let desk = Desk { folder, key: None };
        desk.write("desk.md", PROGRAM);
        desk.write("tools.json", TOOLS);
        let keys: Vec<&str> = first.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key).collect();
        let is_free = |line: &&str| !keys.iter().any(|key| line.starts_with(key));
        let (outer, limits) = CONFIG.split_once("[limits]\n").unwrap();
        let (first_outer, first_limits) = first.split_once("[limits]\n").unwrap_or((first, ""));
        let joined = |first: &str, usual: &str| {
            first.lines().chain(usual.lines().filter(is_free)).map(|line| format!("{line}\n")).collect::<String>()
        };
        desk.write("desk.toml", &format!("{}[limits]\n{}", joined(first_outer, outer), joined(first_limits, limits)));
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, server: &ServerHandle, input: &str) -> Ran {
        self.run_url(&server.url(), &["--session", "desk"], input)
    }

    fn run_url(&self, url: &str, more: &[&str], input: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_playhouse"));
        command
            .args(["run", "desk.md", "--model", "openai:test", "--base-url", url])
            .args(["--tools", "tools.json", "--config", "desk.toml", "--events", "events.jsonl"])
            .args(more)
            .current_dir(self.folder.path())
            .env_clear()
            .env("XDG_STATE_HOME", self.path("state"))
            .envs(self.key.map(|key| ("OPENAI_API_KEY", key)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that ends before it has read everything is no fault of ours.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let calls = std::fs::read_to_string(self.path("calls.log")).unwrap_or_default();
        let events = std::fs::read_to_string(self.path("events.jsonl")).unwrap_or_default();
        Ran {
            exit: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            calls: calls.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect(),
            events: events.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }
}

impl Ran {
    /// Everything was done, each thing once.
    #[track_caller]
    fn check_whole(&self, name: &str) {
        assert_eq!(self.stdout, format!("{SAID}\n"), "{name}\n{}", self.stderr);
        assert_eq!(self.calls, [r#"Note {"number":7}"#], "{name}\n{}", self.stderr);
        assert_eq!(self.exit, 0, "{name}\n{}", self.stderr);
        assert_eq!(self.finished_value(), Some(&Value::from("noted")), "{name}");
        assert_eq!(self.n_events("said"), 1, "{name}");
        assert_eq!(self.n_events("call_queued"), 1, "{name}");
        let set: Vec<&str> = self.of_type("variable_set").map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(set, ["number", "status"], "{name}");
    }

    /// Nothing was said or called, and the run failed with these words.
    #[track_caller]
    fn check_failed(&self, name: &str, words: &[&str]) {
        assert_eq!((self.exit, self.stdout.as_str()), (1, ""), "{name}\n{}", self.stderr);
        assert!(self.calls.is_empty(), "{name}: {:?}", self.calls);
        self.check_told(name, words);
    }

    #[track_caller]
    fn check_told(&self, name: &str, words: &[&str]) {
        for part in words {
            assert!(self.stderr.contains(part), "{name}: {part:?} is missing in\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{name}\n{}", self.stderr);
    }

    fn of_type<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    fn n_events(&self, kind: &str) -> usize {
        self.of_type(kind).count()
    }

    fn finished_value(&self) -> Option<&Value> {
        self.of_type("finished").next().map(|event| &event["value"])
    }
}

/// The program is what the cases think it is: every line is the model's.
#[test]
fn program_is_the_models() {
    let desk = Desk::new();
    let server = server(Vec::new());
    let ran = desk.run(&server, "");
    ran.check_whole("ideal");
    assert_eq!(ran.stderr, "model openai:test (--model)\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let told = last_words(&requests[0]);
    let lines = told.lines().filter(|line| line.starts_with("0"));
    assert!(lines.clone().count() == 4 && lines.clone().all(|line| !line.contains('=')), "{told}");
    assert!(Path::new(&desk.path("state/playhouse/sessions/desk.jsonl")).exists());
}
