//! The form of messages: what is one, what is not, what answers them.

use playhouse::host::component::message::{Exchange, Message};
use playhouse::value::Value;

use super::json;

fn message(content_type: &str, content: &str) -> Value {
    json(&format!(
        r#"{{"sender": {{"role": "cerebrum", "id": "c1"}}, "receiver": {{"role": "plugin", "name": "demo"}},
            "content_type": {}, "content": {content}, "thrd_id": "t9"}}"#,
        Value::str(content_type)
    ))
}

#[track_caller]
fn faults(json: &Value) -> String {
    Message::from_json(json).unwrap_err().join("\n")
}

#[test]
fn a_sound_message_is_the_same_again() {
    for (content_type, content) in [
        ("command", r#"{"command": "go", "param": null}"#),
        ("command", r#"{"command": "go", "response": false}"#),
        ("text/markdown", r##""# hi""##),
        ("text/plain; charset=utf-8", r#""hi""#),
        ("application/vnd.api+json", r#"{"a": 1}"#),
        ("<class 'dict'>", r#"{"a": 1}"#),
        ("<class 'list'>", "[]"),
        ("<class 'str'>", r#""""#),
        ("<class 'int'>", "3"),
        ("<class 'float'>", "3"),
        ("<class 'bool'>", "false"),
        ("<class 'NoneType'>", "null"),
    ] {
        let written = message(content_type, content);
        let read = Message::from_json(&written).unwrap_or_else(|faults| panic!("{content_type}: {faults:?}"));
        assert_eq!(read.to_json(), written, "{content_type}");
    }
}

#[test]
fn unknown_fields_are_kept() {
    let written = json(
        r#"{"sender": {"role": "user", "mood": 3}, "receiver": {"role": "cerebrum"}, "content_type": "text/plain",
            "content": "", "cost": 0.5}"#,
    );
    assert_eq!(Message::from_json(&written).unwrap().to_json(), written);
}

#[test]
fn what_is_wrong_is_told_together() {
    let bad = json(r#"{"sender": {"role": "Plugin", "id": 3}, "content_type": "dict", "time": 1}"#);
    begin_with(
        &faults(&bad),
        &[
            r#"`sender.role` is "Plugin"; it must be cerebrum, plugin, user or system"#,
            "`sender.id` must be text, not int",
            "`receiver` is missing",
            r#"`content_type` is "dict"; it must be command"#,
            "`content` is missing",
            "`time` must be text, not int",
        ],
    );
    assert_eq!(faults(&json("[]")), "a message must be a map, not list");
}

#[track_caller]
fn begin_with(found: &str, expected: &[&str]) {
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{found}");
    for (line, part) in lines.iter().zip(expected) {
        assert!(line.starts_with(part), "{line:?} does not begin with {part:?}");
    }
}

#[test]
fn contents_must_fit_their_type() {
    for (content_type, content, fault) in [
        ("command", r#"{"param": {}}"#, "`content.command` is missing"),
        ("command", r#"{"command": "", "param": {}}"#, "`content.command` is empty"),
        ("command", r#"{"command": "go", "param": 1, "response": 2}"#, "`content` has `param` and `response`"),
        ("command", r#"{"command": "go"}"#, "`content` has neither"),
        ("command", r#""go""#, "`content` of a command must be a map, not str"),
        ("<class 'dict'>", r#"{"command": "go"}"#, "`content.command` is for calls"),
        ("application/json", r#"{"response": 1}"#, "`content.response` is for calls"),
        ("<class 'int'>", "true", "`content` is bool, and `content_type` says <class 'int'>"),
        ("<class 'bool'>", "0", "`content` is int"),
        ("<class 'NoneType'>", "false", "`content` is bool"),
        ("<class 'numpy.ndarray'>", "[]", "`content_type` is"),
        ("Command", r#"{"command": "go", "param": 1}"#, "`content_type` is"),
        ("text/", r#""x""#, "`content_type` is"),
        ("text/a b", r#""x""#, "`content_type` is"),
        ("text/plain; x", r#""x""#, "`content_type` is"),
    ] {
        let found = faults(&message(content_type, content));
        assert!(found.starts_with(fault), "{content_type} {content}: {found}");
    }
}

#[test]
fn answers_carry_whatever_was_given_back() {
    let call = Message::from_json(&message("command", r#"{"command": "go", "param": {"s": "a"}}"#)).unwrap();
    for returned in ["null", "false", "0", "\"\"", "[]", "{}", "\"text\"", "{\"ok\": true}"] {
        let reply = call.reply("demo", json(returned)).unwrap();
        let expected = format!(
            r#"{{"sender": {{"role": "plugin", "name": "demo"}}, "receiver": {{"role": "cerebrum", "id": "c1"}},
                "content_type": "command", "content": {{"command": "go", "response": {returned}}}, "thrd_id": "t9"}}"#
        );
        assert_eq!(reply.to_json(), json(&expected));
        assert_eq!(reply.exchange(), Exchange::Response("go", &json(returned)));
        assert!(Message::from_json(&reply.to_json()).is_ok());
        assert!(reply.reply("demo", Value::Null).is_err(), "an answer is no call");
    }
    let failure = call.failure("no such book", "isbn 3").unwrap();
    let expected = r#"{"sender": {"role": "system"}, "receiver": {"role": "cerebrum", "id": "c1"},
        "content_type": "<class 'dict'>", "content": {"error": "no such book", "detail": "isbn 3"}, "thrd_id": "t9"}"#;
    assert_eq!(failure.to_json(), json(expected));
    let text = Message::from_json(&message("text/plain", "\"go\"")).unwrap();
    assert!(text.reply("demo", Value::Null).unwrap_err().contains("it is not a call"));
}

#[test]
fn a_call_is_answered_by_the_plugin_it_is_for() {
    let call = |receiver: &str| {
        let text = format!(
            r#"{{"sender": {{"role": "cerebrum"}}, "receiver": {receiver}, "content_type": "command",
                "content": {{"command": "go", "param": {{}}}}, "thrd_id": "t9"}}"#
        );
        Message::from_json(&json(&text)).unwrap().reply("demo", Value::Null)
    };
    assert!(call(r#"{"role": "plugin", "name": "demo"}"#).is_ok());
    assert!(call(r#"{"role": "plugin"}"#).is_ok());
    for (receiver, shown) in [
        (r#"{"role": "plugin", "name": "other"}"#, "plugin `other`"),
        (r#"{"role": "plugin", "name": "Demo"}"#, "plugin `Demo`"),
        (r#"{"role": "user", "name": "demo"}"#, "user `demo`"),
        (r#"{"role": "cerebrum"}"#, "cerebrum"),
    ] {
        assert_eq!(call(receiver).unwrap_err(), format!("it is for the {shown}, not for the plugin `demo`"));
    }
}

#[test]
fn what_we_send_is_sound() {
    for message in [
        Message::call("demo", "go", Value::Null),
        Message::exit("demo"),
        Message::event("demo", "configure", [("config", json(r#"{"command": "x"}"#))]),
        Message::progress("demo", "t1", "half"),
    ] {
        assert_eq!(Message::from_json(&message.to_json()), Ok(message));
    }
}
