//! OpenAI's interface where it matters when something comes: retries, clients that go away, the end of the process.

use playhouse::host::ledger::{Filter, TokenRow};
use playhouse::serve::http::access::Role;
use serde_json::{Value, json};

use super::{Answer, Running, ask, client, sha256};

pub(super) const FRUIT: &str = "# Desk

## Main
### Triggers
- At the beginning
### Steps
- Tell the user about the fruit that they ask for, again and again
";

/// What is said about pears takes its time.
pub(super) const MODEL: &str = r#"{"reply": "{\"at\":\"01\",\"say\":\"Which fruit?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n"}
{"when": "apples", "reply": "{\"at\":\"01\",\"say\":\"Äpfel are sweet — all of them.\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n", "chunks": 7, "repeat": true}
{"when_any": "pears", "reply": "{\"at\":\"01\",\"say\":\"Pears are soft, and there are so many of them that it takes a while to tell.\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n", "chunks": 4, "delay_ms": 20, "repeat": true}
"#;

fn fruit(options: &str) -> Vec<(String, String)> {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    vec![
        file("desk.md", FRUIT),
        file("model.jsonl", MODEL),
        file("playhouse.toml", &format!("[serve.openai]\n{options}")),
    ]
}

/// A request with these messages of the user; each but the last was answered.
pub(super) fn request(texts: &[&str], more: Value) -> String {
    let mut messages = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        messages.push(json!({"role": "user", "content": text}));
        if index + 1 < texts.len() {
            messages.push(json!({"role": "assistant", "content": "…"}));
        }
    }
    let mut request = json!({"model": "desk", "messages": messages});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request.to_string()
}

fn json_of(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

fn chat(running: &Running, texts: &[&str], headers: &[(&str, &str)]) -> Value {
    let mut answer = json_of(&running.ask("POST", "/v1/chat/completions", headers, Some(&request(texts, json!({})))));
    // The same answer has it anew each time that it is given.
    answer.as_object_mut().map(|members| members.remove("created"));
    answer
}

fn said(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap()
}

fn session(answer: &Value) -> &str {
    answer["playhouse"]["session"].as_str().unwrap()
}

fn sessions(running: &Running) -> usize {
    let filter = Filter { limit: 100, ..Filter::default() };
    running.runtime.block_on(running.residents.ledger().list(filter)).unwrap().len()
}

/// Waits until a response has another state than this one.
fn after_state(running: &Running, id: &str, state: &str) -> Value {
    loop {
        let response = running.json("GET", &format!("/v1/responses/{id}"), None);
        if response["status"] != state {
            return response;
        }
        std::thread::yield_now();
    }
}

const RETRY: (&str, &str) = ("x-stainless-retry-count", "1");

#[test]
fn a_request_that_comes_while_it_is_answered_joins_it() {
    let running = Running::start(&fruit(""), &[]);
    chat(&running, &["apples"], &[]);
    let address = running.address;
    let again = |_| async move {
        let body = request(&["apples", "pears"], json!({}));
        ask(address, "POST", "/v1/chat/completions", &[], Some(&body)).await
    };
    let answers = running.runtime.block_on(async { futures_util::future::join_all((0..4).map(again)).await });
    let answers: Vec<Value> = answers.iter().map(json_of).collect();
    assert!(said(&answers[0]).starts_with("Pears are soft"), "{}", answers[0]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(sessions(&running), 1);
    // Now that it has come to its end the same request wants another answer.
    let other = chat(&running, &["apples", "pears"], &[]);
    assert_ne!(session(&other), session(&answers[0]));
    // One that the client has sent before does not.
    assert_eq!(chat(&running, &["apples", "pears"], &[RETRY]), other);
    assert_eq!(sessions(&running), 2);
}

#[test]
fn conversations_go_on_after_the_end_of_the_process() {
    let running = Running::start(&fruit(""), &[]);
    let first = chat(&running, &["apples"], &[]);
    let running = Running::in_folder(running.end(), &[]);
    assert_eq!(chat(&running, &["apples"], &[RETRY]), first);
    let second = chat(&running, &["apples", "pears"], &[]);
    assert_eq!(session(&second), session(&first));
    // With the session all goes that is known of it.
    assert_eq!(running.ask("DELETE", &format!("/api/sessions/{}", session(&first)), &[], None).status, 204);
    let third = chat(&running, &["apples", "pears", "apples"], &[]);
    assert_ne!(session(&third), session(&first));
    assert_eq!(sessions(&running), 1);
}

/// Asks for a stream, and goes away after some pieces of speech.
fn leave(running: &Running) -> String {
    running.runtime.block_on(async {
        let body = json!({"model": "desk", "input": "pears", "stream": true}).to_string();
        let request = client().post(format!("http://{}/v1/responses", running.address));
        let mut answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        let mut text = String::new();
        while let Some(chunk) = answer.chunk().await.unwrap() {
            text.push_str(&String::from_utf8_lossy(&chunk));
            if text.matches("output_text.delta").count() > 4 {
                break;
            }
        }
        let at = text.find("resp_").unwrap();
        text[at..].split('"').next().unwrap().to_owned()
    })
}

#[test]
fn an_answer_whose_client_goes_away_comes_to_its_end() {
    let running = Running::start(&fruit(""), &[]);
    let id = leave(&running);
    let response = after_state(&running, &id, "in_progress");
    assert_eq!(response["status"], "completed", "{response}");
    let text = response["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("a while to tell."), "{text}");
}

#[test]
fn an_answer_whose_client_goes_away_is_cancelled_where_that_is_wanted() {
    let running = Running::start(&fruit("on_disconnect = \"interrupt\"\n"), &[]);
    let id = leave(&running);
    let response = after_state(&running, &id, "in_progress");
    assert_eq!(response["status"], "cancelled", "{response}");
    let text = response["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(!text.ends_with("a while to tell."), "{text}");
}

#[test]
fn a_response_in_the_background_is_looked_at_and_cancelled() {
    let running = Running::start(&fruit(""), &[]);
    let body = json!({"model": "desk", "input": "pears", "background": true}).to_string();
    let response = running.json("POST", "/v1/responses", Some(&body));
    assert_eq!(response["status"], "in_progress", "{response}");
    let id = response["id"].as_str().unwrap();
    while !running.json("GET", &format!("/v1/responses/{id}"), None).to_string().contains("Pears") {
        std::thread::yield_now();
    }
    let cancelled = json_of(&running.ask("POST", &format!("/v1/responses/{id}/cancel"), &[], None));
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert_eq!(running.json("GET", &format!("/v1/responses/{id}"), None)["status"], "cancelled");
}

/// The speech of a stream of events, and the number of the last one.
fn heard(text: &str) -> (String, u64) {
    let (mut speech, mut last) = (String::new(), 0);
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data).unwrap();
        let number = event["sequence_number"].as_u64().unwrap();
        assert!(number > last || number == 0, "{number} after {last}");
        last = number;
        speech.push_str(event["delta"].as_str().unwrap_or_default());
    }
    (speech, last)
}

#[test]
fn a_response_is_taken_up_after_any_byte() {
    let mut running = Running::start(&fruit(""), &[]);
    let body = json!({"model": "desk", "input": "apples", "stream": true}).to_string();
    let whole = running.ask("POST", "/v1/responses", &[], Some(&body)).body;
    let (speech, last) = heard(&whole);
    assert_eq!(speech, "Which fruit?\n\nÄpfel are sweet — all of them.");
    assert_eq!(last, 3 + speech.len() as u64 + 4);
    let at = whole.find("resp_").unwrap();
    let id = whole[at..].split('"').next().unwrap().to_owned();
    for _ in 0..2 {
        for (byte, _) in speech.char_indices() {
            let path = format!("/v1/responses/{id}?stream=true&starting_after={}", 3 + byte);
            let (rest, end) = heard(&running.ask("GET", &path, &[], None).body);
            assert_eq!((&*rest, end), (&speech[byte..], last), "after {byte}");
        }
        // In the journal of a session that was closed the pieces are joined.
        running = Running::in_folder(running.end(), &[]);
    }
}

#[test]
fn a_service_says_for_which_of_its_users_it_asks() {
    let running = Running::start(&fruit(""), &[("ida", Role::User)]);
    let row = TokenRow {
        hash: sha256("ph_ui"),
        name: "ui".into(),
        role: "user".to_owned(),
        program: None,
        created: playhouse::vm::protocol::Timestamp(0),
        expires: None,
        forwards: true,
    };
    assert!(running.runtime.block_on(running.residents.ledger().add_token(row)).unwrap());
    let ask = |token: &str, user: &str, texts: &[&str]| {
        let headers = [("authorization", &*format!("Bearer ph_{token}")), ("x-openwebui-user-id", user)];
        let answer = chat(&running, texts, &headers);
        session(&answer).to_owned()
    };
    let ann = ask("ui", "ann", &["apples"]);
    assert_ne!(ask("ui", "bob", &["apples", "apples"]), ann, "another user");
    assert_ne!(ask("ida", "ann", &["apples", "apples"]), ann, "another token");
    assert_eq!(ask("ui", "ann", &["apples", "apples"]), ann);
    // Whoever has no such token cannot ask for others.
    let own = ask("ida", "ann", &["apples"]);
    assert_eq!(ask("ida", "bob", &["apples", "apples"]), own);
}
