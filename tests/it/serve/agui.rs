//! AG-UI where it matters when something comes: runs that are cut off, asked for twice at once, and that a colleague
//! lets go on.

use playhouse::serve::http::access::Role;
use serde_json::{Value, json};

use super::openai::{FRUIT, MODEL};
use super::{Running, ask, client};

fn fruit() -> Vec<(String, String)> {
    vec![("desk.md".to_owned(), FRUIT.to_owned()), ("model.jsonl".to_owned(), MODEL.to_owned())]
}

pub(super) fn input(run: &str, messages: &[(&str, &str)]) -> String {
    let messages: Vec<Value> =
        messages.iter().map(|(id, text)| json!({"id": id, "role": "user", "content": text})).collect();
    json!({"threadId": "T1", "runId": run, "messages": messages}).to_string()
}

/// The events of a run.
fn run(running: &Running, body: &str) -> Vec<Value> {
    let answer = running.ask("POST", "/agui/desk", &[], Some(body));
    assert_eq!(answer.status, 200, "{}", answer.body);
    events(&answer.body)
}

pub(super) fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// What is said, with its messages' ids.
pub(super) fn said(events: &[Value]) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    for event in events {
        let text = |field: &str| event[field].as_str().unwrap().to_owned();
        match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_START" => said.push((text("messageId"), String::new())),
            "TEXT_MESSAGE_CONTENT" => said.last_mut().unwrap().1 += &text("delta"),
            _ => {}
        }
    }
    said
}

fn last(events: &[Value]) -> &Value {
    events.last().unwrap()
}

/// Asks for a run, and goes away after so many events of a kind.
fn leave(running: &Running, body: &str, kind: &str, n: usize) {
    running.runtime.block_on(async {
        let request = client().post(format!("http://{}/agui/desk", running.address));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let mut answer = request.send().await.unwrap();
        let mut text = String::new();
        while let Some(chunk) = answer.chunk().await.unwrap() {
            text.push_str(&String::from_utf8_lossy(&chunk));
            if text.matches(kind).count() >= n {
                return;
            }
        }
        panic!("{text}");
    });
}

#[test]
fn a_run_that_was_cut_is_heard_whole() {
    let running = Running::start(&fruit(), &[]);
    run(&running, &input("r1", &[]));
    let body = input("r2", &[("m1", "pears")]);
    leave(&running, &body, "TEXT_MESSAGE_CONTENT", 3);
    let again = run(&running, &body);
    let texts = said(&again);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].1.ends_with("takes a while to tell."), "{texts:?}");
    assert_eq!(last(&again)["outcome"]["type"], "success");
    // Also when it is long over, and by another run of the same message.
    assert_eq!(said(&run(&running, &input("r3", &[("m1", "pears")]))), texts);
    // Nothing of it is told by the next one.
    let next = run(&running, &input("r4", &[("m1", "pears"), ("m2", "apples")]));
    assert_eq!(said(&next).len(), 1, "{next:?}");
    let running = Running::in_folder(running.end(), &[]);
    assert_eq!(said(&run(&running, &body)), texts);
}

#[test]
fn the_same_run_at_the_same_time_is_one() {
    let running = Running::start(&fruit(), &[]);
    run(&running, &input("r1", &[]));
    let address = running.address;
    let again = |_| async move {
        let body = input("r2", &[("m1", "pears")]);
        ask(address, "POST", "/agui/desk", &[], Some(&body)).await
    };
    let answers = running.runtime.block_on(async { futures_util::future::join_all((0..4).map(again)).await });
    let runs: Vec<Vec<Value>> = answers.iter().map(|answer| events(&answer.body)).collect();
    // Pieces of speech may be joined.
    assert!(runs.iter().all(|run| said(run) == said(&runs[0]) && last(run) == last(&runs[0])), "{runs:?}");
    assert_eq!(said(&runs[0]).len(), 1);
}

#[test]
fn a_first_message_answers_the_first_question() {
    let running = Running::start(&fruit(), &[]);
    let first = run(&running, &input("r1", &[("m1", "apples")]));
    let texts: Vec<String> = said(&first).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["Which fruit?", "Äpfel are sweet — all of them."]);
    assert_eq!(said(&run(&running, &input("r1", &[("m1", "apples")]))), said(&first));
}

#[test]
fn a_user_hears_what_a_colleague_has_allowed() {
    let desk = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $order:str\n\
                - $done = Refund($order)\n- Say \"It is {$done}.\"\n- Ask the user for $rating:str\n";
    let tools = r#"{"Refund": {"args": {"order": "str"}, "effect": "write", "responses": [{"return": "refunded"}]}}"#;
    let files =
        [("desk.md", desk), ("desk.json", tools), ("playhouse.toml", "[tools]\nRefund = { approval = \"ask\" }\n")];
    let files: Vec<(String, String)> = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let running = Running::start(&files, &[("ida", Role::User), ("otto", Role::Operator)]);
    let (ida, otto) = ([("Authorization", "Bearer ph_ida")], [("Authorization", "Bearer ph_otto")]);
    let first = running.ask("POST", "/agui/desk", &ida, Some(&input("r1", &[("m1", "4334")])));
    let first = events(&first.body);
    let interrupt = &last(&first)["outcome"]["interrupts"][0];
    assert_eq!(interrupt["message"], "A colleague has to confirm this.", "{first:?}");
    // She waits, whatever she answers; and somebody else decides.
    let resume = json!({
        "threadId": "T1",
        "runId": "r2",
        "messages": [],
        "resume": [{"interruptId": interrupt["id"], "status": "resolved", "payload": true}],
    });
    let request = client().post(format!("http://{}/agui/desk", running.address)).header(ida[0].0, ida[0].1);
    let request = request.header("content-type", "application/json").body(resume.to_string());
    let begun = running.runtime.block_on(async { request.send().await }).unwrap();
    let answer = running.ask("POST", "/api/sessions/T1/approvals/1", &otto, Some(r#"{"answer": true}"#));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let heard = events(&running.runtime.block_on(begun.text()).unwrap());
    let texts: Vec<String> = said(&heard).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["It is refunded.", "Please tell me the rating."]);
}

#[test]
fn a_message_that_comes_before_a_question_is_answered_after_it() {
    let desk = "# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Ask the user for $order:str\n\
                - $found = Find($order)\n- $done = Refund($found)\n- Ask the user for $rating:str\n- Return $rating\n";
    let tools = r#"{"Find": {"args": {"order": "str"}, "effect": "write", "delay_ms": 300, "responses": [{"return": "there"}]},
        "Refund": {"args": {"order": "str"}, "effect": "write", "responses": [{"return": "refunded"}]}}"#;
    let config = "[tools]\nRefund = { approval = \"ask\" }\n";
    let files = [("desk.md", desk), ("desk.json", tools), ("playhouse.toml", config)];
    let running = Running::start(&files.map(|(name, text)| (name.to_owned(), text.to_owned())), &[]);
    run(&running, &input("r1", &[]));
    let first = input("r2", &[("m1", "4334")]);
    leave(&running, &first, "TOOL_CALL_END", 1);
    let second = run(&running, &input("r3", &[("m2", "five")]));
    let outcome = &last(&second)["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{second:?}");
    assert_eq!(last(&run(&running, &first))["outcome"], *outcome);
    let resume = json!([{"interruptId": outcome["interrupts"][0]["id"], "status": "resolved", "payload": "yes"}]);
    let body = json!({"threadId": "T1", "runId": "r4", "messages": [], "resume": resume}).to_string();
    assert_eq!(last(&run(&running, &body))["result"], "five");
}
