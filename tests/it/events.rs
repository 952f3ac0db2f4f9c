//! Public events: names, fields, and what is not shown.

use std::path::Path;
use std::sync::Arc;

use playhouse::host::events::make::EventMaker;
use playhouse::host::program::load_texts;
use playhouse::lang::SourceText;
use playhouse::lang::program::{AgentId, PlaybookId, StepId};
use playhouse::value::Value;
use playhouse::vm::protocol::fault::{Fault, FaultKind};
use playhouse::vm::protocol::{
    CallId, CallKind, Effect, Fact, FrameId, Location, Outcome, Place, Progress, Report, TurnEnd, TurnId, Usage,
    UtteranceId, Wait,
};
use playhouse::vm::protocol::{Origin, Tracked};

fn maker() -> EventMaker {
    let text = "# Desk\n\n## Main\n### Steps\n- Say \"Hi\"\n- Talk\n".to_owned();
    let roots = vec![SourceText { name: "desk.md".into(), text }];
    let (_, loaded) = load_texts(roots, &[], &mut |_: &Path| Err("none".into()));
    EventMaker::new("s1".into(), Arc::new(loaded.program))
}

fn place() -> Place {
    Place {
        frame: FrameId(1),
        agent: AgentId(0),
        location: Location::Line { playbook: PlaybookId(0), step: Some(StepId(1)) },
        depth: 2,
        turn: Some(TurnId(7)),
    }
}

fn report(fact: Fact) -> Progress {
    Progress::Emit(Effect::Report(Box::new(Report { place: Some(place()), fact })))
}

fn line(progress: &Progress) -> String {
    serde_json::to_string(&maker().of_progress(progress)).unwrap()
}

fn secret(text: &str) -> Tracked {
    Tracked::new(Value::str(text), Origin::ARGUMENT).secret_if(true)
}

#[test]
fn every_event_has_its_place() {
    let placed = r#""agent":"Desk","playbook":"Main","line":"02","depth":2"#;
    assert_eq!(
        line(&Progress::Reached(place())),
        format!(r#"{{"seq":1,"session":"s1","type":"line_reached",{placed},"turn":7}}"#)
    );
    let usage = Usage { prompt_tokens: 5, cached_tokens: 4, completion_tokens: 3 };
    let fact =
        Fact::TurnFinished { turn: TurnId(6), end: TurnEnd::Cut, usage, discarded_tokens: 2, estimated: true, ms: 1 };
    assert_eq!(
        line(&report(fact)),
        format!(
            r#"{{"seq":1,"session":"s1","type":"turn_finished",{placed},"turn":6,"end":"cut","prompt_tokens":5,"cached_tokens":4,"completion_tokens":3,"discarded_tokens":2,"estimated":true,"ms":1}}"#
        )
    );
    let say = |text: &str| {
        Progress::Emit(Effect::Say { utterance: UtteranceId(3), text: text.into(), last: false, place: place() })
    };
    assert_eq!(
        line(&say("Hel")),
        format!(r#"{{"seq":1,"session":"s1","type":"said_delta",{placed},"turn":7,"text":"Hel","utterance":3}}"#)
    );
    assert_eq!(line(&say("")), "null");
    assert_eq!(line(&Progress::Blocked(Wait::User)), "null");
    let waiting = line(&report(Fact::Waiting { wait: Wait::Approval(CallId(4)) }));
    assert!(waiting.ends_with(r#""for":"approval","call":4}"#), "{waiting}");
}

#[test]
fn a_playbook_left_by_its_last_call_is_named() {
    let elided = line(&report(Fact::FrameElided { playbook: PlaybookId(0) }));
    assert!(elided.contains(r#""type":"frame_elided""#) && elided.contains(r#""left":""#), "{elided}");
}

#[test]
fn secrets_are_masked() {
    let facts = [
        Fact::VariableSet { name: "key".into(), value: secret("s3cret"), old: Some(Value::str("***")), local: false },
        Fact::CallQueued {
            call: CallId(1),
            name: "Pay".into(),
            kind: CallKind::Tool,
            arguments: vec![("key".into(), secret("s3cret")), ("n".into(), Tracked::new(Value::Int(2), Origin::CODE))],
            written_in: None,
        },
        Fact::CallFinished {
            call: CallId(1),
            name: "Pay".into(),
            kind: CallKind::Tool,
            result: Ok(secret("s3cret")),
            ms: 3,
        },
        Fact::FramePopped { value: Some(secret("s3cret")) },
    ];
    for fact in facts {
        let line = line(&report(fact));
        assert!(!line.contains("s3cret") && line.contains("***"), "{line}");
    }
}

#[test]
fn the_end_is_told_once() {
    let mut maker = maker();
    assert_eq!(maker.started("script:x".into()).seq, 1);
    let done = Progress::Finished(Outcome::Done { value: Tracked::new(Value::Int(3), Origin::CODE) });
    let event = maker.of_progress(&done).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"seq":2,"session":"s1","type":"finished","value":3}"#);
    assert_eq!(maker.of_progress(&done), None);
    let fault = Fault { kind: FaultKind::Limit, place: Some(place()), message: "too deep".into() };
    let failed = line(&Progress::Finished(Outcome::Failed(fault)));
    assert!(failed.contains(r#""type":"failed","agent":"Desk""#), "{failed}");
    assert!(failed.ends_with(r#""fault":"limit","message":"too deep"}"#), "{failed}");
}

#[test]
fn a_call_that_failed_has_an_error_and_no_result() {
    let fact = Fact::CallFinished {
        call: CallId(1),
        name: "Pay".into(),
        kind: CallKind::Playbook,
        result: Err("no money".into()),
        ms: 3,
    };
    let line = line(&report(fact));
    assert!(line.ends_with(r#""call":1,"name":"Pay","kind":"playbook","error":"no money","ms":3}"#), "{line}");
}
