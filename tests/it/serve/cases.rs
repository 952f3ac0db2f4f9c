//! Requests and answers as text: `tests/cases/http`.
//!
//! `=== NAME` begins a file of the server's folder, `=== requests` the requests, one per paragraph: method and path, then
//! headers, then a body that begins with `{`. `as NAME` before the method sends that token. `$1` is the first session that
//! began. `until TYPE` after the path reads a stream until that event has come.

use std::collections::BTreeMap;

use playhouse::serve::http::access::Role;
use regex::Regex;
use tokio::io::AsyncWriteExt;

use super::{Answer, Running, ask, client};
use crate::golden;

/// Headers that say something.
const SHOWN: [&str; 7] =
    ["allow", "location", "retry-after", "set-cookie", "www-authenticate", "x-playhouse-ignored", "x-should-retry"];

#[test]
fn cases() {
    golden::check("http", &["http"], |_, text| {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let mut name = None;
        for line in text.lines() {
            if let Some(next) = line.strip_prefix("=== ") {
                name = Some(next.to_owned());
            } else if let Some(name) = &name {
                *files.entry(name.clone()).or_default() += &format!("{line}\n");
            }
        }
        let requests = files.remove("requests").expect("=== requests");
        let roles = files.remove("tokens").unwrap_or_default();
        let tokens: Vec<(&str, Role)> = roles
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, role)| (name, role.parse().expect("a role")))
            .collect();
        let files: Vec<(String, String)> = files.into_iter().collect();
        let running = Running::start(&files, &tokens);
        let mut sessions = Vec::new();
        let paragraphs = requests.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
        paragraphs.map(|paragraph| perform(&running, paragraph, &mut sessions)).collect()
    });
}

fn perform(running: &Running, paragraph: &str, sessions: &mut Vec<String>) -> String {
    let mut lines = paragraph.lines();
    let mut first = lines.next().unwrap();
    let mut headers = Vec::new();
    if let Some((name, rest)) = first.strip_prefix("as ").and_then(|rest| rest.split_once(' ')) {
        headers.push(("Authorization".to_owned(), format!("Bearer ph_{name}")));
        first = rest;
    }
    let mut body = String::new();
    for line in lines {
        match line.split_once(": ") {
            Some((name, value)) if body.is_empty() && !line.starts_with(['{', '[']) => {
                headers.push((name.to_owned(), filled(value, sessions, running)));
            }
            _ => body.push_str(line),
        }
    }
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), filled(words.next().unwrap(), sessions, running));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let body = filled(&body, sessions, running);
    let body = (!body.is_empty()).then_some(&*body);
    let answer = match (words.next(), words.next()) {
        (Some("until"), Some(kind)) => running.runtime.block_on(until(running, &target, &headers, kind)),
        _ => running.ask(method, &target, &headers, body),
    };
    let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let of_session = if json["object"].is_null() { json["id"].as_str() } else { None };
    // Of OpenAI's interface each answer names it.
    let named = Regex::new(r#""playhouse":\{"session":"([^"]+)""#).unwrap();
    let named = named.captures(&answer.body).map(|found| found.get(1).unwrap().as_str());
    if let Some(id) = of_session.or(named)
        && !sessions.iter().any(|known| known == id)
    {
        sessions.push(id.to_owned());
    }
    let mut shown = format!("{first}\n{}\n", answer.status);
    for (name, value) in answer.headers.iter().filter(|(name, _)| SHOWN.contains(&name.as_str())) {
        shown.push_str(&format!("{name}: {value}\n"));
    }
    // How far a session has come that has just begun is a matter of moments.
    let moments = Regex::new(r#""state":"\w+","approval":null,"mark":"[^"]+""#).unwrap();
    let body = match method {
        "GET" => answer.body.clone(),
        _ => moments.replace(&answer.body, r#""state":"$$now","approval":null,"mark":"$$now""#).into_owned(),
    };
    let shown = shown + body.trim_end() + "\n\n";
    masked(shown, sessions, running)
}

/// `$1` is a session, `$address` the server's.
fn filled(text: &str, sessions: &[String], running: &Running) -> String {
    let mut text = text.replace("$address", &running.address.to_string());
    for (index, id) in sessions.iter().enumerate() {
        text = text.replace(&format!("${}", index + 1), id);
    }
    text
}

fn masked(text: String, sessions: &[String], running: &Running) -> String {
    let mut text = text.replace(&running.address.to_string(), "$address");
    text = text.replace(running.folder.path().to_str().unwrap(), "$folder");
    for (index, id) in sessions.iter().enumerate() {
        text = text.replace(id, &format!("${}", index + 1));
    }
    if !running.folder.path().join("model.jsonl").exists() {
        // How much of a reply is counted that was not needed to its end is a matter of moments.
        for (pattern, name) in [
            (r#""mark":"1:\d+","state":"finished""#, r#""mark":"$$now","state":"finished""#),
            (r#"event: finished\nid: 1:\d+\ndata: \{"n":\d+,"#, "event: finished\nid: $$now\ndata: {"),
            (r#","usage":\[[^\]]*\]"#, ""),
            (r#""usage":\{"prompt[^{}]*\{[^{}]*\}\}"#, r#""usage":"$$now""#),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
        }
    }
    for (pattern, name) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "$time"),
        (r"sha256:[0-9a-f]{64}", "sha256:$$hash"),
        (r#""ms":\d+"#, r#""ms":0"#),
        // The task of a session that is over ends a moment later.
        (r#""live":(true|false)"#, r#""live":"$$now""#),
        (r"playhouse=[A-Za-z0-9_-]{20,}", "playhouse=$$cookie"),
        (r"ph_[A-Za-z0-9_-]{40,}", "ph_$$token"),
        (r"visitor-[0-9a-f]{16}", "visitor-$$n"),
        (r#""created(_at)?":\d+"#, r#""created$1":0"#),
    ] {
        let name = if name == "$time" { "$$time" } else { name };
        text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
    }
    text
}

/// A stream up to the first event of a kind.
async fn until(running: &Running, target: &str, headers: &[(&str, &str)], kind: &str) -> Answer {
    let mut request = client().get(format!("http://{}{target}", running.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = request.send().await.unwrap();
    let (status, mut body) = (answer.status().as_u16(), String::new());
    while let Some(chunk) = answer.chunk().await.unwrap() {
        body.push_str(&String::from_utf8_lossy(&chunk));
        let end = body.find(&format!("event: {kind}\n")).and_then(|at| body[at..].find("\n\n").map(|end| at + end));
        if let Some(end) = end {
            body.truncate(end);
            break;
        }
    }
    let padding = Regex::new(r":\s{100,}\n").unwrap();
    Answer { status, headers: Vec::new(), body: padding.replace(&body, ": padding\n").into_owned() }
}

#[test]
fn what_is_too_large_or_too_slow_is_refused() {
    let desk = ("desk.md".to_owned(), super::streams::TALK.to_owned());
    let running = Running::start(&[desk], &[]);
    let id = running.begin("desk");
    let text = "x".repeat((64 << 10) + 1);
    let answer =
        running.ask("POST", &format!("/api/sessions/{id}/messages"), &[], Some(&format!(r#"{{"text":"{text}"}}"#)));
    assert_eq!(answer.status, 413, "{}", answer.body);
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(300 << 10));
    let answer = running.ask("POST", &format!("/api/sessions/{id}/messages"), &[], Some(&body));
    assert_eq!(answer.status, 413, "{}", answer.body);
    assert!(answer.body.contains("262144 bytes"), "{}", answer.body);
    // A head that never ends is cut off; everybody else is served meanwhile.
    running.runtime.block_on(async {
        let mut slow = tokio::net::TcpStream::connect(running.address).await.unwrap();
        slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").await.unwrap();
        let large =
            format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", running.address, "x".repeat(64 << 10));
        let mut much = tokio::net::TcpStream::connect(running.address).await.unwrap();
        much.write_all(large.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        // Closed, after an answer or without one.
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut much, &mut said).await;
        let said = String::from_utf8_lossy(&said);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
        let healthy = ask(running.address, "GET", "/healthz", &[], None).await;
        assert_eq!((healthy.status, healthy.body.as_str()), (200, "ok\n"));
        drop(slow);
    });
}
