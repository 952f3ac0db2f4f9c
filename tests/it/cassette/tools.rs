//! Which tools are recorded, and that nothing is opened for those that are.

use std::fs;

use super::{ANSWERS, LATE, desk, entries, live, server};

#[test]
fn canned_tools_are_not_recorded() {
    let model = server(&ANSWERS);
    let canned = r#"{"LoadFile": {"args": ["path"], "responses": [{"return": "canned"}]}}"#;
    let test = LATE.replace("- model", "- tools: tools.json\n- model");
    let done = live(desk().file("late.test.md", &test).tools(canned), &model, "--record").code(0);
    let text = done.read("late.cassette.jsonl");
    assert!(entries(&text, "call").is_empty() && entries(&text, "tool").is_empty(), "{text}");
    drop(model);
    done.then().line("test").code(0);
}

#[test]
fn live_tools_are_called_each_time() {
    let model = server(&ANSWERS);
    let test = LATE.replace("- model", "- tools: live\n- model");
    let done = live(desk().file("late.test.md", &test), &model, "--record").code(0);
    let text = done.read("late.cassette.jsonl");
    assert!(entries(&text, "call").is_empty() && entries(&text, "tool").is_empty(), "{text}");
    drop(model);
    done.then().line("test").code(0);
    fs::write(done.path("order.txt"), "lost").unwrap();
    let miss = done.then().line("test").code(1);
    let miss = miss.stdout_contains("request 3, Bye:01; the nearest (3) differs in VARIABLES\n");
    miss.stdout_contains("    - $order = \"shipped\"\n    + $order = \"lost\"\n");
}

#[test]
fn a_call_that_is_not_recorded_is_told_beside_the_nearest() {
    let model = server(&ANSWERS);
    let done = live(desk(), &model, "--record").code(0);
    let text = done.read("late.cassette.jsonl");
    // As if somebody had recorded another one.
    fs::write(
        done.path("late.cassette.jsonl"),
        text.replace(r#""args":{"path":"order.txt"}"#, r#""args":{"path":"a.txt"}"#),
    )
    .unwrap();
    let miss = done.then().line("test").code(1);
    miss.stdout(
        "FAILED late.test.md\n  \
         late.test.md: no recording for the call LoadFile(path: \"order.txt\"); the nearest differs\n    \
         - path: \"a.txt\"\n    + path: \"order.txt\"\n    playhouse test late.test.md --record\n\
         0 passed, 1 failed\n",
    );
}

/// What a server of tools says of itself is in the recording, too.
#[cfg(feature = "mcp")]
#[tokio::test(flavor = "multi_thread")]
async fn no_server_of_tools_is_needed() {
    use crate::mcp::server::{TestServer, tool};

    let (tools, _events) = TestServer::new(vec![tool("structured", serde_json::json!({"id": {"type": "string"}}), 1)]);
    let http = tools.http().await;
    let toml = format!("[mcp]\nshop = {{ url = \"{}\" }}\n", http.url);
    let program = super::DESK.replace("LoadFile(\"order.txt\")", "shop.structured($order_id)");
    let model = server(&ANSWERS);
    let run = desk().program(&program).file("playhouse.toml", &toml);
    let done = tokio::task::block_in_place(|| live(run, &model, "--record").code(0));
    assert_eq!(tools.calls().len(), 1);
    http.end().await;
    drop(model);
    let text = done.read("late.cassette.jsonl");
    assert_eq!(entries(&text, "tool")[0]["tool"]["name"], "shop.structured");
    assert_eq!(entries(&text, "call")[0]["args"].to_string(), r#"{"id":"4334"}"#);
    tokio::task::block_in_place(|| done.then().line("test").code(0));
    assert_eq!(tools.calls().len(), 1);
}
