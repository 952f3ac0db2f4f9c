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
async fn what_a_signature_can_say_is_checked_here_and_the_rest_by_the_server() {
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
    let (server, _events) = TestServer::new(vec![tool_of("put", rows.clone()), tool_of("refuses", rows)]);
    let world = World::new(server.options(Generation::Auto)).await;
    let wrong = r#"{"rows": {"id": 1}, "limit": "x", "lmit": 3, "tag": 5}"#;
    assert_eq!(
        world.call("test.put", wrong).await,
        error(
            "`lmit` is not a parameter; `rows` must be list, not dict; `mode` is missing; `limit` must be int | None, not \
             str; `tag` must be str, not int; the parameters are test.put(rows: list, mode: str, limit: int | None, \
             tag: str)"
        )
    );
    assert_eq!(server.calls(), Vec::<String>::new(), "nothing wrong was sent");
    let right = r#"{"rows": [{"id": 1, "at x": "y"}], "mode": "slow", "limit": null, "tag": null}"#;
    let sent = r#"{"rows":[{"id":1,"at x":"y"}],"mode":"slow","limit":null,"tag":"none"}"#;
    assert_eq!(world.call("test.put", right).await, text(sent));
    // What is wrong further in the server finds; the model is told what it says.
    let deep = r#"{"rows": [{"id": "secret"}, {"at x": 1}, {"id": 0}], "mode": "Fast", "tag": "A"}"#;
    assert_eq!(world.call("test.refuses", deep).await, error(r#"not today ({"why":"rain"})"#));
    assert_eq!(server.calls(), ["put", "refuses"]);
}

#[tokio::test]
async fn names_that_a_signature_does_not_know_are_handed_on_where_the_schema_may_allow_them() {
    let rows = json!({"rows": {"type": "array", "items": {}}});
    let many: serde_json::Map<String, serde_json::Value> = (0..300).map(|n| (format!("p{n}"), json!({}))).collect();
    let open = [
        ("deep", json!({"properties": rows})),
        ("named", json!({"properties": rows, "additionalProperties": {"type": "integer"}})),
        ("like", json!({"properties": rows, "patternProperties": {"^p": {}}, "additionalProperties": false})),
        ("many", json!({"properties": many, "additionalProperties": false})),
        ("one_of", json!({"oneOf": [{"required": ["p299"]}, {"required": ["rows"]}]})),
    ];
    let closed = [
        ("plain", json!({"properties": {"rows": {"type": "array"}}})),
        ("shut", json!({"properties": rows, "additionalProperties": false})),
    ];
    let tools = open.iter().chain(&closed).map(|(name, schema)| tool_of(name, schema.clone())).collect();
    let (server, _events) = TestServer::new(tools);
    let world = World::new(server.options(Generation::Auto)).await;
    for (name, _) in &open {
        assert_eq!(world.call(&format!("test.{name}"), r#"{"p299": 1}"#).await, text(r#"{"p299":1}"#), "{name}");
    }
    for (name, _) in &closed {
        let refused = format!("`p299` is not a parameter; the parameters are test.{name}(rows: list)");
        assert_eq!(world.call(&format!("test.{name}"), r#"{"p299": 1}"#).await, error(&refused));
    }
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
async fn results_are_not_held_against_the_schema_that_the_server_has_for_them() {
    let mut structured = tool("structured", json!({}), 0);
    let schema = json!({"type": "object", "required": ["m"], "properties": {"n": {"type": "string"}}});
    structured.output_schema = Some(Arc::new(schema.as_object().unwrap().clone()));
    let (server, _events) = TestServer::new(vec![structured]);
    let world = World::new(server.options(Generation::Auto)).await;
    assert_eq!(world.call("test.structured", "{}").await, json(r#"{"n": 1, "rows": [{"id": 2}]}"#));
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
            world.registry.begin(&"s1".into(), &start(1, "test.slow", "{}", Vec::new()), cancel.clone(), None, None);
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

/// A server is told of the span that it works for (SEP-414), and of none where there is none.
#[tokio::test]
async fn servers_are_told_of_their_span() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for generation in GENERATIONS {
        let (server, _events) = TestServer::new(vec![tool("trace", json!({}), 0)]);
        let world = World::new(server.options(generation)).await;
        let call = start(1, "test.trace", "{}", Vec::new());
        let trace = Some(PARENT.parse().unwrap());
        let begun = world.registry.begin(&"s1".into(), &call, CancellationToken::new(), None, trace);
        assert_eq!(came(begun).await, text(PARENT));
        assert_eq!(world.call("test.trace", "{}").await, text("none"));
        assert!(world.registry.signatures().iter().all(|tool| tool.is_mcp));
    }
}
