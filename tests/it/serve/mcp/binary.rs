//! The real binary: what it writes, how it ends, and sessions that go on another time.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rmcp::service::ClientServiceExt;
use serde_json::{Value as Json, json};

use super::{Client, HELLO, LIST, MOOD, Person, call, desk, new, told, wrong};
use crate::serve::write;

fn binary(folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_playhouse"));
    let arguments = ["mcp", "desk.md", "--model", "script:model.jsonl", "--tools", "tools.json"];
    command.current_dir(folder).env_clear().env("XDG_STATE_HOME", folder.join("state")).args(arguments);
    command
}

#[test]
fn standard_output_carries_the_protocol_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &desk("", ""));
    let calls = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"Twice","arguments":{"word":"ho"}}}"#;
    fs::write(folder.path().join("input"), format!("{HELLO}\n{LIST}\n{calls}\n")).unwrap();
    let input = fs::File::open(folder.path().join("input")).unwrap();
    let mut command = binary(folder.path());
    let output = command.env("RUST_LOG", "debug").stdin(input).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("an MCP client can talk with desk on standard input and output"), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"), "{lines}");
    let result = answers.iter().find(|answer| answer["id"] == 3).unwrap_or_else(|| panic!("{lines}"));
    assert_eq!(result["result"]["structuredContent"]["value"], "ho", "{lines}");
    let store = folder.path().join("state/playhouse/mcp.sqlite");
    assert!(store.is_file(), "sessions are kept");
}

#[test]
fn a_program_with_an_error_is_no_server() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &desk("", ""));
    fs::write(folder.path().join("desk.md"), "# Desk\n\n## Main\n### Steps\n- $x = GetOrder(1)\n").unwrap();
    let output = binary(folder.path()).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no playbook or tool `GetOrder`") && output.stdout.is_empty(), "{said}");
}

#[test]
fn a_server_that_starts_itself_comes_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &desk("", ""));
    let command = json!([
        env!("CARGO_BIN_EXE_playhouse"),
        "mcp",
        "desk.md",
        "--model",
        "script:model.jsonl",
        "--journal",
        "mcp.sqlite"
    ]);
    fs::write(folder.path().join("playhouse.toml"), format!("[mcp.itself]\ncommand = {command}\n")).unwrap();
    let output = binary(folder.path()).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("playhouse has started itself again and again"), "{said}");
}

/// The real server, with a client in this process.
async fn start(folder: &Path) -> (Client, tokio::process::Child) {
    let mut command = tokio::process::Command::from(binary(folder));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (Person::default().serve_with_lifecycle(streams, new()).await.unwrap(), child)
}

#[tokio::test]
async fn sessions_rest_when_the_input_ends_and_go_on_another_time() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &desk(MOOD, ""));
    let (client, mut child) = start(folder.path()).await;
    let result = told(&call(&client, "Mood", json!({"name": "Ida"})).await);
    let session = result["session"].clone();
    assert_eq!(result["status"], "waiting", "{result}");
    // Another client with the same store sees it, and does not get it from under the first.
    let (other, mut beside) = start(folder.path()).await;
    let held = wrong(&call(&other, "reply", json!({"session": session, "message": "I am fine"})).await);
    assert!(held.contains("another process"), "{held}");
    client.cancel().await.unwrap();
    assert!(child.wait().await.unwrap().success());
    let result = told(&call(&other, "reply", json!({"session": session, "message": "I am fine"})).await);
    assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("fine")), "{result}");
    other.cancel().await.unwrap();
    assert!(beside.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_signal_ends_it_though_the_input_stays() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &desk("", ""));
    let (client, mut child) = start(folder.path()).await;
    let pid = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    drop(client);
}
