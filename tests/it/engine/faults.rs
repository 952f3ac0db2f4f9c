//! What is said of an engine that cannot be used.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use futures_util::TryStreamExt;
use playhouse::host::engine::wire::ROOM;
use playhouse::host::journal::record::{FORMAT, Record};
use serde_json::json;

use super::{Server, residents, wait, with_server};
use crate::cli;
use crate::golden;
use crate::journal::begun;
use crate::run::Run;
use crate::serve::ask;

#[test]
fn commands_without_an_engine() {
    golden::check("engine/cli", &["txt"], cli::transcript);
}

fn serve(options: &str) -> Run {
    let run = Run::new().file("desk.md", "# Desk\n").variable("PLAYHOUSE_NODE_SECRET", "a secret of a test");
    run.line("serve desk.md --node http://127.0.0.1:1 --engine").line(options)
}

#[test]
fn a_node_without_an_engine_ends_at_once() {
    serve("restate:http://127.0.0.1:1").code(1).stderr_contains(
        "error: http://127.0.0.1:1/: cannot reach the engine of the journal: Connection refused (os error 111); check that \
         it runs and can be reached, then try again",
    );
}

#[test]
fn a_key_that_is_none_is_told_before_the_engine_is_asked() {
    serve("restate:http://127.0.0.1:1 --engine-key nonsense")
        .code(2)
        .stderr_contains("error: --engine-key: nonsense: ");
}

#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_node_that_knows_the_engine_by_another_key_is_not_registered() {
    with_server(async |server| {
        let engine = server.join(ROOM).await;
        let key = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f".to_owned();
        let refused = server.try_register(&engine, None, &[key]).await.unwrap_err();
        assert!(refused.contains("401"), "{refused}");
        assert!(
            refused.ends_with("; start the node with this engine's key, if it has one (--engine-key)"),
            "{refused}"
        );
    });
}

/// A node that is a process of its own; killed when it is dropped.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_node_waits_until_it_is_registered_and_refuses_when_the_engine_is_gone() {
    wait(async {
        let server = Server::start().await;
        let engine = format!("restate:http://{}", server.ingress);
        let [listen, door, _] = super::free().map(|address| address.to_string());
        let run = serve(&engine).args(["--engine-listen", &listen, "--listen", &door, "--model", "embedded"]);
        let run = run.file("desk.md", DESK);
        let mut node = Node(run.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let mut told = BufReader::new(node.0.stderr.take().unwrap()).lines().map_while(Result::ok);
        let waits = told.find(|line| line.starts_with("waits: "));
        let expected = format!(
            "waits: http://{}/: cannot use the journal: no node is registered there (it has no Directory); register a \
             node with `playhouse engine register URI`",
            server.ingress
        );
        assert_eq!(waits, Some(expected));
        let early = ask(door.parse().unwrap(), "GET", "/readyz", &[], None).await;
        assert_eq!(early.status, 503, "{}", early.body);
        // The next request of the same client comes to the server itself.
        assert!(early.headers.contains(&("connection".to_owned(), "close".to_owned())), "{:?}", early.headers);
        server.admin().register(&format!("http://{listen}"), false).await.unwrap();
        let mut line = String::new();
        BufReader::new(node.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        let begin = async || ask(address, "POST", "/api/sessions", &[], Some(r#"{"program":"desk"}"#)).await;
        let begun = begin().await;
        assert_eq!(begun.status, 201, "{}", begun.body);
        drop(server);
        let refused = begin().await;
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(refused.headers.iter().any(|(name, _)| name == "retry-after"), "{:?}", refused.headers);
        assert!(refused.body.contains("check that it runs and can be reached, then try again"), "{}", refused.body);
    });
}

const DESK: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Say \"Hello.\"
";

#[test]
#[ignore = "needs a Restate server: RESTATE_SERVER"]
fn a_journal_of_a_newer_program_waits_for_a_newer_node() {
    let folder = tempfile::tempdir().unwrap();
    with_server(async |server| {
        let engine = server.join(ROOM).await;
        let residents = residents(&engine, folder.path(), DESK, "").await;
        server.register(&engine, Some(&residents)).await;
        let mut record = serde_json::to_value(Record { seq: 1, time: 3, body: begun("x") }).unwrap();
        *record.pointer_mut("/format").unwrap() = json!(FORMAT + 1);
        server.call("Log/s1/open", Some(json!({"node": "http://other", "visit": "v1"}))).await;
        let append = json!({"epoch": 1, "from": 1, "n": 1, "blocks": [[1, record.to_string()]]});
        server.call("Log/s1/append", Some(append)).await;
        let words =
            format!("the journal has format {}, this version reads up to {FORMAT}; use a newer playhouse", FORMAT + 1);
        let read: Result<Vec<Record>, _> = engine.store().read("s1", 1).try_collect().await;
        assert_eq!(read.unwrap_err().to_string(), format!("http://{}/: {words}", server.ingress));
        let wake = json!({"id": "d1", "visit": "wake", "reply_to": null});
        server.call("Session/s1/deliver/send", Some(wake)).await;
        // It is tried again and again, as long as no node reads it: the session is as it was.
        let why = loop {
            let stuck = server.admin().status().await.unwrap().stuck;
            if let Some(stuck) = stuck.iter().find(|stuck| stuck.attempts > 6) {
                break stuck.why.clone();
            }
        };
        assert!(why.contains(&words), "{why}");
    });
}
