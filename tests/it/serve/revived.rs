//! Sessions that somebody else goes on with, and what people have said that no program has read.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use playhouse::serve::http::access::Role;
use tokio::runtime::Runtime;

use super::binary::{Served, json, playhouse};
use super::{Running, ask};
use crate::http_server::{Answer, start_with};

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- Ask the user for $name\n\
                       - Greet the user\n";

/// A server whose model is down, and comes back.
struct Desk {
    folder: tempfile::TempDir,
    runtime: Runtime,
    served: Served,
}

impl Desk {
    fn get(&self, path: &str) -> serde_json::Value {
        json(&self.runtime.block_on(ask(self.served.address, "GET", path, &[], None)))
    }

    /// All events up to the one with which the stream ends.
    fn events(&self, id: &str) -> String {
        let path = format!("/api/sessions/{id}/events");
        self.runtime.block_on(ask(self.served.address, "GET", &path, &[], None)).body
    }

    fn say(&self, id: &str, text: &str) -> u16 {
        let (path, body) = (format!("/api/sessions/{id}/messages"), format!("{{\"text\": \"{text}\"}}"));
        self.runtime.block_on(ask(self.served.address, "POST", &path, &[], Some(&body))).status
    }

    /// A session that has failed, and that no process has any more.
    fn failed(&self) -> String {
        let begin = ask(self.served.address, "POST", "/api/sessions", &[], Some("{\"program\": \"desk\"}"));
        let id = json(&self.runtime.block_on(begin))["id"].as_str().unwrap().to_owned();
        assert!(self.events(&id).contains("send a message, and the model is asked again"));
        while self.get(&format!("/api/sessions/{id}"))["live"] == true {}
        id
    }
}

#[test]
fn a_session_that_has_failed_goes_on_when_its_model_answers_again() {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    let model = start_with(move |request| match request.body.to_string() {
        _ if down.load(Ordering::SeqCst) => Answer::json(500, &serde_json::json!({"error": {"message": "oops"}})),
        body if body.contains("Ada") => {
            Answer::deltas(&["{\"at\":\"01\",\"set\":{\"name\":\"Ada\"}}\n", "{\"at\":\"02\",\"say\":\"Hi Ada.\"}\n"])
        }
        _ => Answer::deltas(&["{\"at\":\"01\",\"say\":\"And you are?\"}\n", "{\"at\":\"01\",\"wait\":\"user\"}\n"]),
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("desk.md"), PROGRAM).unwrap();
    fs::write(folder.path().join("playhouse.toml"), "[limits]\nmax_retries = 0\n").unwrap();
    let arguments = ["--model", "openai:m", "--base-url", &model.url(), "--journal", "serve.sqlite"];
    let served = Served::start_with(folder.path(), &arguments);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let desk = Desk { folder, runtime, served };
    let [resumed, spoken_to] = [desk.failed(), desk.failed()];
    let state = |id: &str| desk.get(&format!("/api/sessions/{id}"))["state"].as_str().unwrap().to_owned();
    assert_eq!(state(&resumed), "failed");
    is_down.store(false, Ordering::SeqCst);
    let mut command = playhouse(desk.folder.path());
    let command = command.args(["sessions", "resume", &resumed, "--journal", "serve.sqlite"]);
    let done = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
    // The server has not opened it since: its journal says more than its row.
    assert_eq!(state(&resumed), "waiting");
    for id in [resumed, spoken_to] {
        assert_eq!(desk.say(&id, "Ada"), 202);
        let events = desk.events(&id);
        let kinds: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(
            (kinds.iter().filter(|kind| **kind == "failed").count(), kinds.last()),
            (1, Some(&"finished")),
            "{events}"
        );
    }
}

#[test]
fn what_the_program_has_not_read_is_exported() {
    // A plan hears nothing while it waits.
    let program =
        PROGRAM.replace("- Greet the user", "- $done = pay($name)").replace("- Ask the user for $name", "- $name = 1")
            + "\n!import plans/pay.jmp.json\n";
    let plan = r#"[{"seq_no": 0, "type": "calling", "parameters": {"tool": "Refund", "params": {"name": "${name}"}, "output_vars": "final_answer"}}]"#;
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let running = Running::start(
        &[
            file("desk.md", &program),
            file("plans/pay.jmp.json", plan),
            file("tools.json", "{\"Refund\": {\"args\": [\"name\"], \"responses\": [{\"return\": 1}]}}"),
            file("playhouse.toml", "[tools]\nRefund = { approval = \"ask\" }\n"),
        ],
        &[("ida", Role::Admin)],
    );
    let as_ida = [("Authorization", "Bearer ph_ida")];
    let begun = running.ask("POST", "/api/sessions", &as_ida, Some("{\"program\": \"desk\"}"));
    let id = json(&begun)["id"].as_str().unwrap().to_owned();
    let said = running.ask("POST", &format!("/api/sessions/{id}/messages"), &as_ida, Some("{\"text\": \"I am hurt\"}"));
    assert_eq!(said.status, 202);
    let mut command = playhouse(running.folder.path());
    let command = command.args(["sessions", "export", &id, "--journal", "serve.sqlite", "--format", "md"]);
    let exported = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let unread = "\n## Messages that the program has not read\n\n**User**\n\n> I am hurt\n";
    assert!(exported.ends_with(unread), "{exported}");
}
