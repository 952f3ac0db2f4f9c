//! What an editor waits for: findings after an edit, answers to questions (spec `editors.md`, section 3).
//!
//! The server runs in a thread of its own and speaks with the bench as with an editor, but for the pipe. Each row is the 95th
//! percentile of what lies between a message and its answer.
//!
//! `cargo bench --bench ide`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and ends where something is not as it was made"
)]

#[path = "shared/shop.rs"]
mod shop;

use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use playhouse::serve::lsp::serve;
use serde_json::{Value as Json, json};

/// How often each is measured.
const N_ROUNDS: usize = 40;

fn main() {
    // `cargo test --benches` passes other arguments: then a compiled bench is all that is wanted.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    for (name, n_lines) in [("10,000 lines in 500 playbooks", 10_000), ("1,000 lines in 50 playbooks", 1_000)] {
        println!("{name}");
        measure(&shop::program(n_lines, 20));
    }
}

fn measure(text: &str) {
    let (client, server) = Connection::memory();
    let server = std::thread::spawn(move || serve(&server));
    let mut editor = Editor { client, n_asked: 0, version: 1 };
    editor.ask("initialize", json!({"capabilities": {"general": {"positionEncodings": ["utf-8"]}}}));
    editor.tell("initialized", json!({}));
    let started = Instant::now();
    let document = json!({"uri": URI, "languageId": "markdown", "version": 1, "text": text});
    editor.tell("textDocument/didOpen", json!({"textDocument": document}));
    editor.wait_for_findings();
    row("the first findings", vec![started.elapsed()]);

    let lines: Vec<&str> = text.lines().collect();
    let line_of = |part: &str, from: usize| from + lines[from..].iter().position(|line| line.contains(part)).unwrap();
    let middle = lines.len() / 2;
    let (word, heading) = (line_of("Think about", middle), line_of("## Playbook", middle));
    for (what, line) in
        [("an edit in a line, to all findings", word), ("an edit in a heading, to all findings", heading)]
    {
        let end = lines[line].find('(').unwrap_or(lines[line].len());
        let times = (0..N_ROUNDS).map(|round| {
            // What is found changes each time, so that it is told.
            let (from, to, new) = if round % 2 == 0 { (end, end, " $zzz") } else { (end, end + 5, "") };
            editor.edit(line, from, to, new)
        });
        row(what, times.collect());
    }
    let call = line_of("$status = Playbook", middle);
    let column = lines[call].find("Playbook").unwrap() + 2;
    let variable = lines[call].find("$status").unwrap() + 2;
    let at = |line: usize, column: usize| {
        json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": column},
            "context": {"triggerKind": 1, "isRetrigger": false, "includeDeclaration": true}})
    };
    let range = json!({"textDocument": {"uri": URI}, "range":
        {"start": {"line": middle, "character": 0}, "end": {"line": middle + 60, "character": 0}}});
    let questions = [
        ("hover", "textDocument/hover", at(call, column)),
        ("definition", "textDocument/definition", at(call, column)),
        ("highlights", "textDocument/documentHighlight", at(call, variable)),
        ("completion of a variable", "textDocument/completion", at(call, variable)),
        ("completion of a call", "textDocument/completion", at(call, column)),
        ("signature", "textDocument/signatureHelp", at(call, lines[call].find('(').unwrap() + 1)),
        ("tokens of 60 lines", "textDocument/semanticTokens/range", range.clone()),
        ("hints of 60 lines", "textDocument/inlayHint", range),
        ("tokens of all", "textDocument/semanticTokens/full", at(0, 0)),
        ("outline", "textDocument/documentSymbol", at(0, 0)),
        ("references", "textDocument/references", at(call, column)),
        ("symbols of all programs", "workspace/symbol", json!({"query": "Playbook1"})),
    ];
    for (name, method, params) in questions {
        let times = (0..N_ROUNDS).map(|_| editor.ask(method, params.clone()));
        row(name, times.collect());
    }
    let mut rename = at(call, column);
    rename["newName"] = json!("Something else");
    row("rename with its proof", (0..N_ROUNDS).map(|_| editor.ask("textDocument/rename", rename.clone())).collect());
    editor.ask("shutdown", Json::Null);
    editor.tell("exit", Json::Null);
    server.join().unwrap().unwrap();
}

/// The only document.
const URI: &str = "file:///bench/shop.playbook.md";

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let p95 = times[(times.len() * 95).div_ceil(100) - 1];
    println!("  {name:<40} {:8.2} ms", p95.as_secs_f64() * 1e3);
}

struct Editor {
    client: Connection,
    n_asked: i32,
    version: i32,
}

impl Editor {
    fn tell(&self, method: &str, params: Json) {
        let message = Message::Notification(Notification::new(method.to_owned(), params));
        self.client.sender.send(message).unwrap();
    }

    /// How long an answer takes, which is there.
    fn ask(&mut self, method: &str, params: Json) -> Duration {
        self.n_asked += 1;
        let id = RequestId::from(self.n_asked);
        let request = Message::Request(Request::new(id.clone(), method.to_owned(), params));
        let started = Instant::now();
        self.client.sender.send(request).unwrap();
        loop {
            if let Message::Response(response) = self.client.receiver.recv().unwrap()
                && response.id == id
            {
                let elapsed = started.elapsed();
                let answer = serde_json::to_value(response).unwrap();
                let is_empty = [json!(null), json!([])].contains(&answer["result"]) && method != "shutdown";
                assert!(answer["error"].is_null() && !is_empty, "{method}: {answer}");
                return elapsed;
            }
        }
    }

    fn edit(&mut self, line: usize, from: usize, to: usize, text: &str) -> Duration {
        self.version += 1;
        let place = |character: usize| json!({"line": line, "character": character});
        let change = json!({"range": {"start": place(from), "end": place(to)}, "text": text});
        let document = json!({"uri": URI, "version": self.version});
        let started = Instant::now();
        self.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
        self.wait_for_findings();
        started.elapsed()
    }

    fn wait_for_findings(&self) {
        loop {
            if let Message::Notification(notification) = self.client.receiver.recv().unwrap()
                && notification.method == "textDocument/publishDiagnostics"
                && notification.params["version"] == self.version
            {
                return;
            }
        }
    }
}
