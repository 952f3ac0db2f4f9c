//! The reference servers, as they are published.

use std::path::PathBuf;

use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::ScriptEntry;
use playhouse::host::tool::mcp::{McpOptions, Transport};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::sessions::{Person, run};
use super::*;

/// Needs the packages that `tests/third_party/mcp` pins: the folder with its `node_modules` is named by
/// `PLAYHOUSE_TEST_MCP`.
#[tokio::test]
#[ignore = "needs packages that tests do not download"]
#[allow(clippy::disallowed_methods)]
async fn the_reference_servers_work() {
    let modules = PathBuf::from(std::env::var("PLAYHOUSE_TEST_MCP").unwrap()).join("node_modules");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let command = |package: &str, arguments: &[&str]| {
        let program = modules.join("@modelcontextprotocol").join(package).join("dist/index.js").display().to_string();
        let mut command = vec!["node".to_owned(), program];
        command.extend(arguments.iter().map(|it| (*it).to_owned()));
        let environment = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
        Transport::Command { command, folder: root.clone(), environment }
    };
    let path = |name: &str| root.join(name).display().to_string();

    let files = McpOptions::new("files", command("server-filesystem", &[&root.display().to_string()]));
    let files = World::new(files).await;
    let write = json!({"path": path("a.txt"), "content": "one\ntwo\n"}).to_string();
    assert!(matches!(files.call("files.write_file", &write).await, Came::Value(_)));
    assert_eq!(std::fs::read_to_string(root.join("a.txt")).unwrap(), "one\ntwo\n");
    let read = files.call("files.read_text_file", &json!({"path": path("a.txt")}).to_string()).await;
    assert_eq!(read, json(r#"{"content": "one\ntwo\n"}"#));
    let outside = files.call("files.read_text_file", r#"{"path": "/etc/passwd"}"#).await;
    assert!(matches!(&outside, Came::Error(words) if words.contains("outside")), "{outside:?}");
    let edit = json!({"path": path("a.txt"), "edits": [{"oldText": 1}, {"oldText": "a", "newText": "b"}]}).to_string();
    let wrong = files.call("files.edit_file", &edit).await;
    assert!(
        matches!(&wrong, Came::Error(words) if words.contains("oldText") && words.contains("newText")),
        "{wrong:?}"
    );

    let everything = World::new(McpOptions::new("everything", command("server-everything", &[]))).await;
    assert_eq!(everything.call("everything.echo", r#"{"message": "hi"}"#).await, text("Echo: hi"));
    assert_eq!(everything.call("everything.get_sum", r#"{"a": 2, "b": 3}"#).await, text("The sum of 2 and 3 is 5."));
    let mut long =
        everything.begin(1, "everything.trigger_long_running_operation", r#"{"duration": 0.2, "steps": 2}"#, None);
    assert!(matches!(long.outcome.await.0, CallOutcome::Value { .. }));
    assert!(long.progress.recv().await.is_some());
    assert!(matches!(everything.call("everything.list_resources", "{}").await, Came::Value(_)));
    let prompt = everything.call("everything.get_prompt", r#"{"name": "simple-prompt"}"#).await;
    assert!(matches!(prompt, Came::Value(_)), "{prompt:?}");
    let asked = everything.call("everything.trigger_elicitation_request", "{}").await;
    assert!(matches!(&asked, Came::Asks(question) if question.contains("1 of")), "{asked:?}");
    let declined = everything.answer("everything.trigger_elicitation_request", false).await;
    assert!(matches!(&declined, Came::Value(_)), "{declined:?}");

    // The program that is run by the real binary, too, without its front matter.
    let source = include_str!("../../third_party/mcp/reference-servers.md");
    let program = source.splitn(3, "---\n").last().unwrap().replace("@FOLDER@", &root.display().to_string());
    let registry = Arc::new(Registry::new());
    for server in [&files.server, &everything.server] {
        for tool in server.tools().await.unwrap() {
            registry.add(tool).unwrap();
        }
    }
    let script = include_str!("../../third_party/mcp/reference-servers.jsonl");
    let script = script.replace("@FOLDER@", &root.display().to_string());
    let reply =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["reply"].as_str().unwrap().to_owned();
    let script: Vec<ScriptEntry> = script.lines().map(|line| ScriptEntry::reply(reply(line))).collect();
    let answers = ["Ada Lovelace", "yes"].into_iter().chain([const { "skip" }; 11]);
    let person = answers.map(|answer| Person::Answers(answer.into())).collect();
    let run = run(&registry, &MemoryJournal::new(), &program, script, person, async || {}).await;
    let form =
        "User inputs:\n- Name: Ada Lovelace\n- Agreed to terms: true\n- Favorite Integer: 42\n- Favorite Number: 3.14";
    assert_eq!(
        run.said,
        [
            "The file says: tea and biscuits.",
            "The sum of 2 and 3 is 5.",
            "There is [FILE] a.txt\n[FILE] notes.txt.",
            form
        ]
    );
    assert_eq!(run.asked.len(), 13);
    assert!(run.value.is_some(), "{:?}", run.events);

    let (url, mut process) = over_http(&modules).await;
    let remote = World::new(McpOptions::new("remote", Transport::Url { url, headers: Vec::new() })).await;
    assert_eq!(remote.call("remote.echo", r#"{"message": "hi"}"#).await, super::text("Echo: hi"));
    let asked = remote.call("remote.trigger_elicitation_request", "{}").await;
    assert!(matches!(&asked, Came::Asks(question) if question.contains("1 of")), "{asked:?}");
    let declined = remote.answer("remote.trigger_elicitation_request", false).await;
    assert!(matches!(&declined, Came::Value(_)), "{declined:?}");
    remote.server.close().await;
    process.kill().await.unwrap();
    files.server.close().await;
    everything.server.close().await;
}

/// The second server over HTTP; gives its address.
#[allow(clippy::disallowed_methods)]
async fn over_http(modules: &std::path::Path) -> (String, tokio::process::Child) {
    let probe = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let mut process = tokio::process::Command::new("node")
        .arg(modules.join("@modelcontextprotocol/server-everything/dist/index.js"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    while !lines.next_line().await.unwrap().unwrap().contains("listening on port") {}
    (format!("http://127.0.0.1:{port}/mcp"), process)
}
