//! The embedded model as a session sees it.

use std::sync::Arc;

use futures_util::StreamExt;
use playhouse::host::llm::embedded::{Embedded, guarded};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyPart, TurnAsData};
use playhouse::vm::protocol::{Finish, ReplyEnd, TurnData, Usage};

use super::program;

fn one_line(line: &str) -> String {
    format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n")
}

fn request(turn: Option<TurnAsData>) -> LlmRequest {
    LlmRequest { purpose: Purpose::Turn, messages: Vec::new(), schema: None, turn: turn.map(Arc::new) }
}

fn turn(line: &str) -> TurnAsData {
    let program = program(&one_line(line), &[]);
    let playbook = &program.playbooks[0];
    let data = TurnData {
        playbook: playbook.id,
        pointer: playbook.steps.first().map(|step| step.id),
        is_said: false,
        inside: None,
        variables: Vec::new(),
        user: None,
        problem: None,
    };
    TurnAsData { program, tools: Arc::from([]), data }
}

#[tokio::test]
async fn embedded_replies_cost_nothing() {
    let model = Embedded;
    assert_eq!(&*model.id(), "embedded");
    let parts: Vec<ReplyPart> = model.request(request(Some(turn("Greet the user")))).collect().await;
    let text = "{\"at\":\"01\",\"say\":\"Hello!\"}\n{\"at\":\"01\",\"return\":null}";
    let end = ReplyEnd::Complete(Finish::Stop);
    assert_eq!(parts, [ReplyPart::Bytes(text.into()), ReplyPart::End { end, usage: Some(Usage::default()) }]);
}

#[tokio::test]
async fn embedded_refuses_what_is_no_turn() {
    let parts: Vec<ReplyPart> = Embedded.request(request(None)).collect().await;
    let [ReplyPart::End { end: ReplyEnd::Refused { reason }, usage: None }] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert!(reason.contains("--model openai:NAME"), "{reason}");
}

/// What somebody types ends no session, whatever is wrong with the executor.
#[test]
fn embedded_panics_are_replies() {
    let mut at_line = turn("Ask the user for $name");
    let told = guarded(&at_line, || panic!("a mistake")).lines;
    let lines: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [say, wait] = lines.as_slice() else { panic!("{told}") };
    assert!(say["say"].as_str().unwrap().contains("please report it"), "{told}");
    assert_eq!((&wait["at"], &wait["wait"]), (&"01".into(), &"user".into()));
    at_line.data.pointer = None;
    let refusal = guarded(&at_line, || panic!("a mistake")).refusal.unwrap();
    assert!(refusal.contains("please report it"), "{refusal}");
}
