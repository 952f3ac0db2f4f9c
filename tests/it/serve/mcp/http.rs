//! At `/mcp`: after the guard and the tokens, with a client or with requests as text.

use playhouse::serve::http::access::Role;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::{Client, HANGS, HELLO, LIST, MOOD, Person, call, desk, new, old, told, wrong};
use crate::serve::{Running, client};

/// A client at `/mcp`.
async fn connect(running: &Running, token: &str, person: &Person, mode: ClientLifecycleMode) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", running.address));
    let config = config.auth_header(format!("ph_{token}"));
    let transport = StreamableHttpClientTransport::with_client(client(), config);
    person.clone().serve_with_lifecycle(transport, mode).await.unwrap()
}

#[test]
fn over_http_a_token_says_whose_the_sessions_are() {
    let running = Running::start(&desk(MOOD, ""), &[("ida", Role::User), ("eve", Role::User)]);
    running.runtime.block_on(async {
        for mode in [old(), new()] {
            let ida = connect(&running, "ida", &Person::default(), mode.clone()).await;
            let eve = connect(&running, "eve", &Person::default(), mode.clone()).await;
            let result = told(&call(&ida, "Mood", json!({"name": "Ida"})).await);
            assert_eq!(result["status"], "waiting", "{result}");
            let session = result["session"].as_str().unwrap();
            assert_eq!(&*running.residents.find(&session.into()).await.unwrap().owner, "ida");
            let answer = json!({"session": session, "message": "fine"});
            for (tool, arguments) in
                [("wait", json!({"session": session})), ("reply", answer.clone()), ("talk", answer.clone())]
            {
                let said = wrong(&call(&eve, tool, arguments).await);
                assert!(said.starts_with(&format!("there is no session {session} here")), "{tool}: {said}");
            }
            let result = told(&call(&ida, "reply", answer).await);
            assert_eq!((&result["status"], &result["value"]), (&json!("finished"), &json!("fine")), "{result}");
            // Asked by form.
            let person = Person::who_says([json!({"answer": "fine"})]);
            let ida = connect(&running, "ida", &person, mode).await;
            let result = told(&call(&ida, "Mood", json!({"name": "Ida"})).await);
            assert_eq!((&result["status"], person.asked().len()), (&json!("finished"), 1), "{result}");
        }
    });
}

#[test]
fn the_guard_and_the_tokens_stand_before_the_protocol() {
    let config = "[serve]\nhosts = [\"desk.example\"]\norigins = [\"https://www.example\"]\n";
    let tokens = [("ida", Role::User), ("eve", Role::User), ("guest", Role::Visitor)];
    let running = Running::start(&desk("", config), &tokens);
    let accept = ("accept", "application/json, text/event-stream");
    let post = |headers: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([accept]).collect();
        running.ask("POST", "/mcp", &headers, Some(body))
    };
    let (ida, eve) = (("authorization", "Bearer ph_ida"), ("authorization", "Bearer ph_eve"));
    assert_eq!(post(&[], HELLO).status, 401);
    assert_eq!(post(&[("authorization", "Bearer ph_nobody")], HELLO).status, 401);
    assert_eq!(post(&[("authorization", "Bearer ph_guest")], HELLO).status, 403);
    assert_eq!(post(&[ida, ("origin", "https://evil.example")], HELLO).status, 403);
    assert_eq!(post(&[ida, ("host", "evil.example")], HELLO).status, 421);
    // What our guard lets in, the protocol's own does, too.
    assert_eq!(post(&[ida, ("origin", "https://www.example")], HELLO).status, 200);
    assert_eq!(post(&[ida, ("host", "desk.example")], HELLO).status, 200);
    let answer = post(&[ida], HELLO);
    assert!(answer.body.contains(r#""protocolVersion":"2025-11-25""#), "{}", answer.body);
    let id = answer.headers.iter().find(|(name, _)| name == "mcp-session-id").unwrap().1.clone();
    let session = ("mcp-session-id", id.as_str());
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post(&[ida, session], ready).status, 202);
    assert!(post(&[ida, session], LIST).body.contains(r#""name":"Twice""#));
    // The connection of one is not there for another.
    assert_eq!(post(&[eve, session], LIST).status, 404);
    assert_eq!(running.ask("DELETE", "/mcp", &[eve, session], None).status, 204);
    assert_eq!(post(&[ida, session], LIST).status, 200, "and they cannot end it");
    assert_eq!(running.ask("PUT", "/mcp", &[ida], Some("{}")).status, 405);
    assert_eq!(post(&[ida], &" ".repeat(300 << 10)).status, 413);
    let answer = running.ask("GET", "/mcp", &[ida], None);
    assert_eq!(answer.status, 406, "it wants no events");
    assert!(answer.headers.iter().any(|(name, value)| name == "content-type" && value.starts_with("text/plain")));
}

#[test]
fn whoever_hangs_up_interrupts_the_session() {
    let running = Running::start(&desk(HANGS, ""), &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "Mood", "arguments": {"name": "Ida"}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    running.runtime.block_on(async {
        let request = client()
            .post(format!("http://{}/mcp", running.address))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "Mood")
            .body(body);
        let calling = tokio::spawn(request.send());
        let id = loop {
            match running.residents.sessions().ids().pop() {
                Some(id) => break id,
                None => tokio::task::yield_now().await,
            }
        };
        calling.abort();
        let client = connect(&running, "", &Person::default(), new()).await;
        let result = told(&call(&client, "wait", json!({"session": &*id})).await);
        assert_eq!(result["status"], "waiting", "{result}");
    });
}
