//! `HttpGet` and `HttpPost` against real servers.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse::host::resource::http::resolver::Resolver;
use playhouse::host::resource::http::{Http, HttpConfig};
use playhouse::host::resource::{Label, Resource};
use playhouse::host::tool::http::add_http_tools;
use playhouse::host::tool::policy::{Operator, Policies, ToolPolicy};
use playhouse::host::tool::registry::Registry;
use playhouse::value::Value;
use playhouse::vm::protocol::EffectClass;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::http_server::{self, Answer, ServerHandle};
use crate::resource::{begin, call, json as value, outcome};

/// A world of names without a network: the answers of each name in order, the last one for ever.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn with(mut self, name: &str, answers: &[&[&str]]) -> Names {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    /// The names that were asked for so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock().unwrap();
        let n_before = asked.iter().filter(|known| *known == name).count();
        asked.push(name.to_owned());
        let answers = self.answers.get(name);
        let answer = answers.and_then(|answers| answers.get(n_before).or(answers.last())).cloned();
        Box::pin(async move { answer.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name")) })
    }
}

/// Everything on 127.0.0.1 is allowed, and nothing else.
pub(crate) fn config() -> HttpConfig {
    HttpConfig {
        hosts: vec!["*:*".to_owned()],
        networks: vec!["127.0.0.1".to_owned()],
        schemes: vec!["http".to_owned(), "https".to_owned()],
        timeout: Duration::from_secs(10),
        ..HttpConfig::default()
    }
}

/// The tools on one resource of this configuration; a failed call is not made again.
pub(crate) async fn tools(config: HttpConfig, names: Arc<Names>) -> Registry {
    tools_of(vec![("web", config)], names).await
}

async fn tools_of(configs: Vec<(&str, HttpConfig)>, names: Arc<Names>) -> Registry {
    let mut all = Vec::new();
    for (name, config) in configs {
        let http = Http::with_resolver(Label::named(name), &config, names.clone()).unwrap();
        http.acquire().await.unwrap();
        all.push(Arc::new(http));
    }
    let once = ToolPolicy { retries: Some(0), ..ToolPolicy::default() };
    let policies = Policies { operator: Operator(vec![("*".into(), once)]), ..Policies::default() };
    let registry = Registry::with_policies(policies);
    add_http_tools(&registry, &all).unwrap();
    registry
}

/// The server's address without a path.
pub(crate) fn base(server: &ServerHandle) -> String {
    server.url().trim_end_matches("/v1").to_owned()
}

pub(crate) async fn get(registry: &Registry, url: &str) -> Result<Value, String> {
    call(registry, "HttpGet", &[("url", url.into())]).await
}

fn member(answer: &Value, name: &str) -> Value {
    let Value::Map(members) = answer else { panic!("{answer}") };
    members[name].clone()
}

#[tokio::test]
async fn bodies_become_values() {
    let latin = Answer::events(vec![b"caf\xe9".to_vec()]);
    let server = http_server::start(vec![
        Answer::json(200, &json!({"a": [1, 2.5, null]})).header("X-Twice", "1").header("X-Twice", "2"),
        Answer::body(404, "text/plain", "not here").header("set-cookie", "session=secret"),
        Answer::body(200, "application/problem+json; charset=utf-8", "{\"b\": 1}"),
        Answer::body(200, "application/json", "{\"b\": 1"),
        Answer::body(200, "text/html", "{\"b\": 1}"),
        latin.clone().header("content-type", "text/plain; charset=iso-8859-1"),
        latin,
    ]);
    let tools = tools(config(), Arc::default()).await;
    let url = format!("{}/x?y=1#part", base(&server));
    let first = get(&tools, &url).await.unwrap();
    assert_eq!(member(&first, "status"), Value::Int(200));
    assert_eq!(member(&first, "body"), value(json!({"a": [1, 2.5, null]})));
    assert_eq!(member(&member(&first, "headers"), "x-twice"), "1, 2".into());
    assert_eq!(server.requests()[0].target, "GET /x?y=1");
    let second = get(&tools, &url).await.unwrap();
    assert_eq!(member(&second, "status"), Value::Int(404));
    assert_eq!(member(&second, "body"), "not here".into());
    assert!(!second.to_json().contains("secret"), "{second}");
    let mut bodies = Vec::new();
    for _ in 0..5 {
        bodies.push(member(&get(&tools, &url).await.unwrap(), "body"));
    }
    let expected = [
        json!({"b": 1}),
        json!("{\"b\": 1"),
        json!("{\"b\": 1}"),
        // The first of two content types counts, and text/event-stream says nothing of its characters.
        json!({"base64": "Y2Fm6Q==", "mime_type": "text/event-stream"}),
        json!({"base64": "Y2Fm6Q==", "mime_type": "text/event-stream"}),
    ];
    assert_eq!(bodies, expected.map(value));
}

#[tokio::test]
async fn character_sets_are_read() {
    let server = http_server::start_with(|_| Answer::body(200, "text/plain; charset=\"UTF-16LE\"", "h\0i\0"));
    let tools = tools(config(), Arc::default()).await;
    assert_eq!(member(&get(&tools, &base(&server)).await.unwrap(), "body"), "hi".into());
}

#[tokio::test]
async fn a_post_has_a_key_and_a_type() {
    let server = http_server::start_with(|_| Answer::json(201, &json!({"id": 5})));
    let tools = tools(config(), Arc::default()).await;
    let post = async |body: Value, headers: serde_json::Value| {
        let arguments = [("url", base(&server).into()), ("body", body), ("headers", value(headers))];
        call(&tools, "HttpPost", &arguments).await
    };
    let answer = post(value(json!({"b": 1, "a": [true]})), json!({"X-Mine": 5})).await.unwrap();
    assert_eq!((member(&answer, "status"), member(&answer, "body")), (Value::Int(201), value(json!({"id": 5}))));
    post("text".into(), json!({})).await.unwrap();
    post("<a/>".into(), json!({"Content-Type": "application/xml"})).await.unwrap();
    post(Value::Null, json!({})).await.unwrap();
    let requests = server.requests();
    let header = |n: usize, name| requests[n].header(name);
    assert_eq!(requests[0].target, "POST /");
    assert_eq!(requests[0].body, json!({"b": 1, "a": [true]}));
    assert_eq!(header(0, "content-type"), Some("application/json"));
    assert_eq!(header(0, "idempotency-key"), Some("s1/7"));
    assert_eq!(header(0, "x-mine"), Some("5"));
    assert_eq!(header(1, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(header(2, "content-type"), Some("application/xml"));
    assert_eq!((header(3, "content-type"), header(3, "content-length")), (None, Some("0")));
    let signatures = tools.signatures();
    let effects: Vec<EffectClass> = signatures.iter().map(|signature| signature.effect).collect();
    assert_eq!(effects, [EffectClass::ReadOnly, EffectClass::Write]);
}

#[tokio::test]
async fn headers_that_are_not_the_callers_are_refused_together() {
    let config = HttpConfig { headers: vec![("X-Api-Key".to_owned(), "secret".to_owned())], ..config() };
    let tools = tools(config, Arc::default()).await;
    let headers = json!({"Host": "a", "content-length": 5, "x-api-key": "mine", "X\n": "a", "X-Line": "a\r\nb: c",
        "X-List": [], "X-Good": "yes"});
    let arguments = [("url", "http://127.0.0.1:9/".into()), ("headers", value(headers))];
    let fault = call(&tools, "HttpGet", &arguments).await.unwrap_err();
    assert_eq!(
        fault,
        "`headers.Host` is set by the program itself; `headers.content-length` is set by the program itself; \
         `headers.x-api-key` is set by the resource; `headers.X\n` is not a header name; `headers.X-Line` has a \
         value that is not allowed in a header; `headers.X-List` must be text or a number; the parameters are HttpGet(url: \
         str, headers: dict)"
    );
}

#[tokio::test]
async fn redirects_are_followed_a_few_times() {
    let server = http_server::start_with(|request| match request.target.as_str() {
        "POST /see" => Answer::text("").header("location", "/end").status(303),
        "POST /same" => Answer::text("").header("location", "/end").status(307),
        "GET /end" | "POST /end" => Answer::json(200, &json!("here")),
        "GET /nowhere" => Answer::text("no location").status(302),
        _ => Answer::text("").header("location", "/again").status(302),
    });
    let tools = tools(config(), Arc::default()).await;
    let url = |path: &str| Value::from(format!("{}{path}", base(&server)));
    for path in ["/see", "/same"] {
        let body = call(&tools, "HttpPost", &[("url", url(path)), ("body", value(json!({"a": 1})))]).await.unwrap();
        assert_eq!(member(&body, "body"), "here".into());
    }
    let targets: Vec<_> = server.requests().into_iter().map(|request| (request.target, request.body)).collect();
    let sent = json!({"a": 1});
    let expected = [
        ("POST /see", sent.clone()),
        ("GET /end", serde_json::Value::Null),
        ("POST /same", sent.clone()),
        ("POST /end", sent),
    ];
    assert_eq!(targets, expected.map(|(target, body)| (target.to_owned(), body)));
    let nowhere = call(&tools, "HttpGet", &[("url", url("/nowhere"))]).await.unwrap();
    assert_eq!(member(&nowhere, "status"), Value::Int(302));
    let endless = call(&tools, "HttpGet", &[("url", url("/"))]).await.unwrap_err();
    let host = base(&server).replace("http://", "");
    assert_eq!(endless, format!("`{host}` redirects again after 5 redirects (`max_redirects` of the resource)"));
    assert_eq!(server.requests().len(), 4 + 1 + 6);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_if_that_is_safe() {
    let server = http_server::start_with(|_| Answer::body(503, "text/plain", "busy"));
    let http = Http::new(Label::named("web"), &config()).unwrap();
    http.acquire().await.unwrap();
    let tools = Registry::new();
    add_http_tools(&tools, &[Arc::new(http)]).unwrap();
    let read = get(&tools, &base(&server)).await;
    assert_eq!(read, Err("the server is busy and answers with status 503".to_owned()));
    assert_eq!(server.requests().len(), 3);
    let written = call(&tools, "HttpPost", &[("url", base(&server).into()), ("body", Value::Null)]).await.unwrap();
    assert_eq!(member(&written, "status"), Value::Int(503));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn several_resources_are_told_apart() {
    let server = http_server::start_with(|request| Answer::json(200, &json!(request.header("x-key"))));
    let keyed = |key: &str| HttpConfig { headers: vec![("X-Key".to_owned(), key.to_owned())], ..config() };
    let tools = tools_of(vec![("one", keyed("1")), ("two", keyed("2"))], Arc::default()).await;
    let ask = async |resource: Value| {
        let answer = call(&tools, "HttpGet", &[("url", base(&server).into()), ("resource", resource)]).await;
        answer.map(|answer| member(&answer, "body"))
    };
    assert_eq!(ask(Value::Null).await, Ok("1".into()));
    assert_eq!(ask("two".into()).await, Ok("2".into()));
    let fault = ask("three".into()).await.unwrap_err();
    assert!(fault.starts_with("`resource` is not one of the resources; these are `one`, `two`; "), "{fault}");
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let server = http_server::start(vec![Answer::silence()]);
    let tools = tools(config(), Arc::default()).await;
    let cancel = CancellationToken::new();
    let begun = begin(&tools, "HttpGet", &[("url", base(&server).into())], cancel.clone());
    let running = tokio::spawn(outcome(begun));
    server.wait_for_requests(1).await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err("the request was cancelled".to_owned()));
    assert_eq!(server.wait_for_closed(1).await.len(), 1);
}

#[tokio::test]
async fn a_resource_that_is_released_asks_nobody() {
    let http = Arc::new(Http::new(Label::named("web"), &config()).unwrap());
    let tools = Registry::new();
    add_http_tools(&tools, std::slice::from_ref(&http)).unwrap();
    http.acquire().await.unwrap();
    http.release().await;
    assert_eq!(get(&tools, "http://127.0.0.1:9/").await, Err("the HTTP client is not ready".to_owned()));
}
