//! Signatures, arguments, results, resources and prompts.

use std::sync::Arc;
use std::time::Duration;

use playhouse::host::tool::mcp::{Generation, McpFault, McpServer, Transport};
use playhouse::vm::protocol::{EffectClass, ToolSignature};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::server::{TestServer, tool, tool_of};
use super::*;

fn described(signature: &ToolSignature) -> String {
    let parameters: Vec<String> = signature
        .signature
        .parameters
        .iter()
        .map(|it| match &it.default {
            Some(default) => format!("{}: {} = {}", it.name, it.ty, default.to_json()),
            None => format!("{}: {}", it.name, it.ty),
        })
        .collect();
    let schema = signature.schema.as_deref().unwrap_or("-");
    format!("{}({}) {:?} {schema}", signature.signature.name, parameters.join(", "), signature.effect)
}

#[tokio::test]
async fn signatures_say_what_schemas_say() {
    let mut read = tool("read", json!({"path": {"type": "string", "description": "which\nfile"}}), 1);
    read.description = Some("\n  Reads a file.\nAnd much more about it.".into());
    read.annotations = Some(ToolAnnotations::new().read_only(true));
    let mut put = tool(
        "put",
        json!({
            "key-name": {"type": "string"}, "n": {"type": "integer", "default": 3}, "x": {"type": "number"},
            "on": {"type": ["boolean", "null"]}, "all": {"type": "array"}, "map": {"type": "object"},
        }),
        1,
    );
    put.annotations = Some(ToolAnnotations::new().idempotent(true));
    let nested = tool("nested", json!({"rows": {"type": "array", "items": {"type": "integer"}}, "odd name": {}}), 2);
    let (server, _events) = TestServer::new(vec![read, put, nested, tool("a.b c", json!({}), 0)]);
    let world = World::new(server.options(Generation::Auto)).await;
    let signatures = world.registry.signatures();
    assert_eq!(&*signatures[0].signature.summary, "Reads a file.");
    assert_eq!(&*signatures[0].signature.parameters[0].description, "which file");
    let described: Vec<String> = signatures.iter().map(described).collect();
    assert_eq!(
        described,
        [
            "test.read(path: str) ReadOnly -",
            "test.put(key_name: str, n: int = 3, x: float = null, on: bool | None = null, all: list = null, \
             map: dict = null) Idempotent -",
            "test.nested(rows: list, odd_name: any) Write \
             {\"type\":\"object\",\"properties\":{\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},\
             \"odd_name\":{}},\"required\":[\"rows\",\"odd_name\"]}",
            "test.a_b_c() Write -",
        ]
    );
    // Their names are what the server gets.
    let put = world.call("test.put", r#"{"key_name": "k", "x": null}"#).await;
    assert_eq!(put, text(r#"{"key-name":"k","n":3}"#));
    assert_eq!(
        world.call("test.nested", r#"{"rows": [1], "odd_name": 2}"#).await,
        text(r#"{"rows":[1],"odd name":2}"#)
    );
    assert_eq!(world.call("test.a_b_c", "{}").await, text("{}"));
    assert_eq!(server.calls(), ["put", "nested", "a.b c"]);
}

#[tokio::test]
async fn all_faults_of_arguments_are_told_together_with_their_paths() {
    let rows = json!({
        "type": "object", "required": ["rows", "mode"], "additionalProperties": false,
        "properties": {
            "rows": {"type": "array", "items": {
                "type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {"id": {"type": "integer", "minimum": 1}, "at x": {"type": "string"}},
            }},
            "mode": {"enum": ["fast", "slow"]},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "tag": {"type": "string", "pattern": "^[a-z]+$", "default": "none"},
        },
    });
    let (server, _events) = TestServer::new(vec![tool_of("put", rows)]);
    let world = World::new(server.options(Generation::Auto)).await;
    let wrong = r#"{"rows": [{"id": 1}, {"id": "secret"}, {"at x": 1, "more": 2}, {"id": 0}], "limit": "x", "lmit": 3,
                    "tag": "A"}"#;
    assert_eq!(
        world.call("test.put", wrong).await,
        error(
            "`mode` is missing; `rows[1].id` must be int, not str; `rows[2][\"at x\"]` must be str, not int; \
             `rows[2].more` is not known there; `rows[2].id` is missing; `rows[3].id` must be at least 1; `limit` must \
             be int or null, not str; `tag` must match ^[a-z]+$; `lmit` is no parameter; the parameters are \
             test.put(rows: list, mode: str, limit: int | None, tag: str)"
        )
    );
    let chosen = world.call("test.put", r#"{"rows": [], "mode": "Fast"}"#).await;
    let Came::Error(words) = chosen else { panic!("{chosen:?}") };
    assert!(words.starts_with("`mode` must be one of \"fast\", \"slow\"; the parameters"), "{words}");
    assert_eq!(server.calls(), Vec::<String>::new(), "nothing wrong was sent");
    let right = r#"{"rows": [{"id": 1, "at x": "y"}], "mode": "slow", "limit": null, "tag": null}"#;
    let sent = r#"{"rows":[{"id":1,"at x":"y"}],"mode":"slow","limit":null}"#;
    assert_eq!(world.call("test.put", right).await, text(sent));
}

#[tokio::test]
async fn results_are_values_and_texts_stay_texts() {
    for generation in GENERATIONS {
        let names = ["structured", "parts", "fails", "refuses", "echo"];
        let (server, _events) = TestServer::new(names.map(|name| tool(name, json!({}), 0)).to_vec());
        let world = World::new(server.options(generation)).await;
        assert_eq!(world.names().len(), 5, "all pages");
        assert_eq!(world.call("test.structured", "{}").await, json(r#"{"n": 1, "rows": [{"id": 2}]}"#));
        assert_eq!(
            world.call("test.parts", "{}").await,
            json(
                r#"["{\"kept\": \"as text\"}", {"type": "image", "mime_type": "image/png", "data": "aGk="},
                    {"type": "resource", "uri": "file:///a.txt", "mime_type": "text/plain", "text": "inside"},
                    {"type": "resource_link", "uri": "file:///b.txt", "name": "b"}]"#
            )
        );
        assert_eq!(world.call("test.fails", "{}").await, error("no such order"));
        assert_eq!(world.call("test.refuses", "{}").await, error(r#"not today ({"why":"rain"})"#));
        assert_eq!(world.call("test.echo", "{}").await, text("{}"), "JSON stays text");
    }
}

#[tokio::test]
async fn results_that_are_not_what_was_promised_are_errors() {
    let with = |schema: serde_json::Value| {
        let mut tool = tool("structured", json!({}), 0);
        tool.output_schema = Some(Arc::new(schema.as_object().unwrap().clone()));
        tool
    };
    let rows = |ty: &str| {
        json!({"type": "object", "required": ["m"], "properties": {
            "n": {"type": ty}, "rows": {"type": "array", "items": {"properties": {"id": {"type": ty}}}}}})
    };
    let (server, _events) = TestServer::new(vec![with(rows("string"))]);
    let world = World::new(server.options(Generation::Auto)).await;
    assert_eq!(
        world.call("test.structured", "{}").await,
        error(
            "the result is not what the server's schema says: `m` is missing; `n` must be str, not int; `rows[0].id` \
             must be str, not int"
        )
    );
}

#[tokio::test]
async fn news_of_a_call_and_its_cancellation_reach_the_other_side() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("slow", json!({}), 0)]);
        let options = server.options(generation);
        options.secrets.add("key-4711");
        let world = World::new(options).await;
        let cancel = CancellationToken::new();
        let mut begun =
            world.registry.begin(&"s1".into(), &start(1, "test.slow", "{}", Vec::new()), cancel.clone(), None);
        let outcome = tokio::spawn(begun.outcome);
        let news = begun.progress.recv().await.unwrap();
        assert_eq!(news.to_json(), r#"{"message":"half of ***","progress":1.0,"total":2.0}"#);
        while events.recv().await.unwrap() != "slow runs" {}
        cancel.cancel();
        let CallOutcome::Error(words) = outcome.await.unwrap().0 else { panic!() };
        assert_eq!(&*words, "`test.slow` was cancelled");
        assert_eq!(events.recv().await.unwrap(), "slow was cancelled");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_over_there() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("slow", json!({}), 0)]);
        let mut options = server.options(generation);
        options.timeout = Duration::from_millis(50);
        let world = World::new(options).await;
        assert_eq!(world.call("test.slow", "{}").await, error("`test.slow` gave no answer within 0.05 s"));
        while events.recv().await.unwrap() != "slow was cancelled" {}
    }
}

#[tokio::test]
async fn resources_and_prompts_are_tools() {
    for generation in GENERATIONS {
        let (server, _events) = TestServer::full(vec![tool("get_prompt", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        let names = world.names();
        assert_eq!(
            names,
            ["test.get_prompt", "test.list_resources", "test.read_resource", "test.list_prompts", "test.get_prompt_"],
            "the server's own tool keeps its name"
        );
        assert!(world.registry.signatures()[1..].iter().all(|it| it.effect == EffectClass::ReadOnly));
        assert_eq!(
            world.call("test.list_resources", "{}").await,
            json(
                r#"{"resources": [{"uri": "note://a", "name": "a", "mime_type": "text/plain", "size": 5},
                                  {"uri": "note://b", "name": "b", "mime_type": "text/plain", "size": 5}],
                    "templates": [{"uri_template": "note://{name}", "name": "notes", "description": "All notes."}]}"#
            )
        );
        assert_eq!(world.call("test.read_resource", r#"{"uri": "note://a"}"#).await, text("hello"));
        assert_eq!(
            world.call("test.read_resource", r#"{"uri": "note://b"}"#).await,
            json(
                r#"[{"type": "resource", "uri": "note://b/1", "mime_type": "text/plain", "text": "one"},
                    {"type": "resource", "uri": "note://b/2", "mime_type": "image/png", "data": "aGk="}]"#
            )
        );
        let missing = world.call("test.read_resource", r#"{"uri": "note://c"}"#).await;
        let Came::Error(words) = missing else { panic!("{missing:?}") };
        assert!(words.starts_with("the MCP server `test` refused: there is no note://c"), "{words}");
        assert_eq!(
            world.call("test.list_prompts", "{}").await,
            json(
                r#"[{"name": "greet", "description": "Greets.", "arguments": [{"name": "topic", "required": true}]}]"#
            )
        );
        assert_eq!(
            world.call("test.get_prompt_", r#"{"name": "greet", "arguments": {"topic": 5}}"#).await,
            json(r#"{"messages": [{"role": "user", "content": "greet {\"topic\":\"5\"}"}]}"#)
        );
    }
}

#[tokio::test]
async fn names_that_become_the_same_are_an_error_that_names_both() {
    let (server, _events) = TestServer::new(vec![tool("get-it", json!({}), 0), tool("get.it", json!({}), 0)]);
    let server = McpServer::connect(server.options(Generation::Auto)).await.unwrap();
    let Err(error) = server.tools().await else { panic!() };
    assert_eq!(error.fault, McpFault::Names);
    assert_eq!(
        error.to_string(),
        "the MCP server `test` has two tools, `get-it` and `get.it`, that would both be named `get_it`; correct its \
         entry under `mcp`"
    );
}

#[tokio::test]
async fn a_server_needs_a_name_that_programs_can_use() {
    for name in ["", "a.b", "1st", "two words"] {
        let (server, _events) = TestServer::new(Vec::new());
        let options = McpOptions::new(name, Transport::Stream(server.dial()));
        let Err(error) = McpServer::connect(options).await else { panic!("{name}") };
        assert_eq!(error.fault, McpFault::Configuration);
        assert_eq!(server.n_connections(), 0);
    }
}

#[tokio::test]
async fn a_change_between_the_first_list_and_the_beginning_of_following_is_seen() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("one", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        if generation == Generation::Discover {
            while events.recv().await.unwrap() != "listens" {}
        }
        server.change(vec![tool("one", json!({}), 0), tool("two", json!({}), 0)]).await;
        // Whatever was sent before the answer has come with it.
        assert_eq!(world.call("test.one", "{}").await, text("{}"));
        let mut changes = world.registry.changes();
        world.server.follow(&world.registry);
        changes.changed().await.unwrap();
        assert_eq!(world.names(), ["test.one", "test.two"]);
    }
}

#[tokio::test]
async fn a_running_registry_sees_that_tools_have_changed() {
    for generation in GENERATIONS {
        let (server, mut events) = TestServer::new(vec![tool("one", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        world.server.follow(&world.registry);
        if generation == Generation::Discover {
            while events.recv().await.unwrap() != "listens" {}
        }
        let mut changes = world.registry.changes();
        let tools: Vec<Tool> = ["two", "three"].map(|name| tool(name, json!({}), 0)).to_vec();
        server.change(tools).await;
        changes.changed().await.unwrap();
        assert_eq!(world.names(), ["test.two", "test.three"]);
        assert_eq!(world.call("test.two", "{}").await, text("{}"));
        assert_eq!(world.call("test.one", "{}").await, error("there is no tool named `test.one` now"));
    }
}
