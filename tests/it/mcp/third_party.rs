//! The reference servers, as they are published.

use std::path::PathBuf;

use playhouse::host::tool::mcp::{McpOptions, Transport};
use serde_json::json;

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
        matches!(&wrong, Came::Error(words) if words.contains("`edits[0].oldText` must be str, not int")
        && words.contains("`edits[0].newText` is missing")),
        "{wrong:?}"
    );

    let everything = World::new(McpOptions::new("everything", command("server-everything", &[]))).await;
    println!("{:?}: {}", everything.server.protocol_version().await, everything.names().join(" "));
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
    files.server.close().await;
    everything.server.close().await;
}
