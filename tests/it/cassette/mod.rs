//! Recorded tests: what a live model and live tools answered is kept beside the test, and nothing is asked any more. Through
//! the real binary, with a server of the tests'.

mod bad;
mod fidelity;
mod keys;
mod recording;
mod redaction;
mod secrets;
mod tools;

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::http_server::{Answer, Request, ServerHandle, start_with};
use crate::run::{Done, Run};

/// A server that answers by the last message of a request; what none of the `answers` fits gets a refusal.
fn server(answers: &[(&str, &str)]) -> ServerHandle {
    let answers: Vec<(String, String)> =
        answers.iter().map(|(when, reply)| ((*when).to_owned(), (*reply).to_owned())).collect();
    start_with(move |request| {
        let last = last_message(request);
        match answers.iter().find(|(when, _)| last.contains(when)) {
            Some((_, reply)) => pieces(reply),
            None => Answer::json(400, &serde_json::json!({"error": {"message": format!("no answer to: {last}")}})),
        }
    })
}

/// A reply in pieces of seven characters, as servers cut.
fn pieces(reply: &str) -> Answer {
    let characters: Vec<char> = reply.chars().collect();
    let pieces: Vec<String> = characters.chunks(7).map(|piece| piece.iter().collect()).collect();
    Answer::deltas(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
}

fn last_message(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// `playhouse test ARGUMENTS` with this server as the model.
fn live(run: Run, server: &ServerHandle, arguments: &str) -> Done {
    run.line(&format!("test {arguments} --model openai:m")).variable("OPENAI_BASE_URL", &server.url()).done()
}

/// The lines of a cassette.
fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Those lines that have this member.
fn entries(text: &str, member: &str) -> Vec<Json> {
    lines(text).into_iter().filter(|line| line.get(member).is_some()).collect()
}

/// Whether some file below the folder holds the text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, text);
        }
        String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text)
    })
}

/// A desk: the model asks for a number, a file tells the state, another playbook says good-bye.
const DESK: &str = "\
---
limits: {inline_lines: 0}
---

# Desk

## Order

### Triggers

- At the beginning

### Steps

- Ask the user for $order_id
- $order = LoadFile(\"order.txt\")
- Bye()
- Tell the user the state of the order

## Bye

### Steps

- Tell the user that it was a pleasure
- Return nothing
";

/// Its test.
const LATE: &str = "\
# Late

- program: program.md
- model: recorded

## Says

> Which number?

## User

> 4334, please

## Says

> A pleasure.

> It is shipped.

## Outcome

finished: null
";

/// What the model says to it.
const ANSWERS: [(&str, &str); 4] = [
    ("USER \"4334", "{\"at\":\"01\",\"set\":{\"order_id\":\"4334\"}}\n"),
    ("PLAYBOOK Order", "{\"at\":\"01\",\"say\":\"Which number?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n"),
    ("PLAYBOOK Bye", "{\"at\":\"01\",\"say\":\"A pleasure.\"}\n"),
    ("GO ON FROM 04", "{\"at\":\"04\",\"say\":\"It is shipped.\"}\n{\"at\":\"04\",\"return\":null}\n"),
];

fn desk() -> Run {
    Run::new().program(DESK).file("late.test.md", LATE).file("order.txt", "shipped")
}
