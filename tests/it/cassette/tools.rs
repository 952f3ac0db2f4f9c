//! Which tools are recorded, and that nothing is opened for those that are.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse::host::cassette::file::Cassette;
use playhouse::host::cassette::recording::{Case, record};
use playhouse::host::cassette::take::{Cast, Mode, Take, TakeOptions};
use playhouse::host::secrets::Secrets;
use playhouse::host::tool::registry::Registry;
use playhouse::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use playhouse::lang::program::{Signature, Type};
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::{CallOutcome, EffectClass, EndedCall, ToolSignature, Usage};
use tokio_util::sync::CancellationToken;

use super::{ANSWERS, LATE, desk, entries, live, server};
use crate::tool::start;

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

/// However a call ends, it ends so again.
#[tokio::test(start_paused = true)]
async fn errors_questions_and_counts_are_recorded_too() {
    let registry = |tools: &[&str], take: Arc<Take>| {
        let registry = Registry::new();
        tools.iter().for_each(|name| registry.add(Arc::new(Odd((*name).to_owned()))).unwrap());
        registry.record(take).unwrap();
        registry
    };
    let names = ["Fails", "Asks", "Writes", "Hides", "Waits"];
    let take = |cassette: Cassette, mode: Mode| {
        let secrets = [(Arc::from("Hides"), Value::from("1234"))].into_iter().collect();
        let (name, command) = ("a.test.md".to_owned(), "playhouse test a.test.md --record".to_owned());
        let options = TakeOptions { name, command, run: 1, mode, with_tools: true, secrets };
        Arc::new(Take::new(Arc::new(cassette), options))
    };
    let recording = take(Cassette::default(), Mode::Missing);
    let live = outcomes(&registry(&names, recording.clone()), &names).await;
    recording.note_cast(Cast {
        model: "m".into(),
        classifier: None,
        tools: registry(&names, recording.clone()).recorded(),
    });
    let case = Case { rules: &[], text: "", public: "", declared: &[], secrets: &Secrets::new(), is_exact: false };
    let text = record(&[recording], &case).unwrap().0.render();
    assert!(!text.contains("hidden"), "{text}");
    let cassette = Cassette::from_text(Path::new("a.cassette.jsonl"), &text).unwrap();
    // None of the tools is there.
    let replay = take(cassette, Mode::Replay);
    let mut replayed = outcomes(&registry(&[], replay.clone()), &names).await;
    assert_eq!(replayed[3].0, CallOutcome::Value { value: Value::from("1234"), secret: true });
    replayed[3] = live[3].clone();
    assert_eq!(replayed, live);
    assert!(replay.misses().is_empty() && replay.has_used_all());
}

/// What comes of a call of each; one that waits is given up.
async fn outcomes(registry: &Registry, names: &[&str]) -> Vec<EndedCall> {
    let mut outcomes = Vec::new();
    for (number, name) in (1..).zip(names) {
        let cancel = CancellationToken::new();
        let begun = registry.begin(&"s".into(), &start(number, name, &[]), cancel, None, None);
        let ended = tokio::time::timeout(Duration::from_secs(1), begun.outcome).await;
        outcomes.push(ended.unwrap_or((CallOutcome::Interrupted, None)));
    }
    outcomes
}

/// A tool whose calls end as its name says.
struct Odd(String);

impl Tool for Odd {
    fn signature(&self) -> ToolSignature {
        let signature =
            Signature { name: self.0.as_str().into(), parameters: Vec::new(), returns: Type::ANY, summary: "".into() };
        ToolSignature::new(signature, EffectClass::Write)
    }

    fn call(&self, _: CallContext, _: Map) -> ToolFuture<'_> {
        let usage = Usage { prompt_tokens: 3, cached_tokens: 1, completion_tokens: 2 };
        Box::pin(async move {
            match self.0.as_str() {
                "Fails" => ToolOutcome::Error("no".to_owned()),
                "Asks" => ToolOutcome::Asks("which?".to_owned()),
                "Writes" => ToolOutcome::Written { text: "a".to_owned(), usage: Some(usage) },
                "Hides" => ToolOutcome::Secret(Value::from("hidden")),
                _ => std::future::pending().await,
            }
        })
    }
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
