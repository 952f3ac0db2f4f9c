//! What is secret stays so, whatever is done with it.

use playhouse::vm::protocol::{CallOutcome, Event};

use super::{Ran, ran, start};
use crate::world::{Chunking, parse, play};

#[test]
fn bug_2_1_a_loop_over_secrets_keeps_them_secret() {
    let ran = ran(r#"--- program
---
variables:
  pins: {type: list, value: ["hidden-aaa-111", "hidden-bbb-222"], secret: true}
---
# A
## Main
### Steps
- For each $pin in $pins
  - Log in with the pin
--- reply
{"at":"01.01","set":{"copy":"<{$pin}>"}}
{"at":"01.01","say":"I take {$pin}."}
"#);
    ran.assert_hidden("hidden-");
    assert!(ran.requests()[0].messages[1].text.contains("$pin = (secret)"), "{}", ran.log());
}

const FAULTS: &str = r#"--- program
---
variables:
  token: {type: str, value: "hidden-tok-333", secret: true}
  card: {type: dict, value: {hidden-key-444: 1, "n": "hidden-tok-555"}, secret: true}
---
# A
## Main
### Steps
- LINE
- Return 1
--- tools
Put(item)
"#;

/// A fault of an expression is told to the model: it names variables and kinds, not the values of secrets.
#[test]
fn bug_2_2_a_fault_does_not_tell_a_secret() {
    for line in [
        "If $token is more than 3, return 1",
        "If $token",
        "If not $token, return 1",
        "$x = -$token",
        "$x = $token * 2",
        "$x = 1 in $token",
        "$x = $card + 1",
        "$x = $card.nothing",
        "$x = $card.n.deeper",
        "$x = $card.n[3]",
        "$x = $token.at",
        "$x = {\"a\": [$token + 1]}",
        "Put($token - 1)",
        "Return $card.nothing",
        "Say \"It is {$card.nothing}.\"",
        "For each $item in $token\n  - Put($item)",
        "Repeat $token times\n  - Put(1)",
        "While $token is less than 3\n  - Put(1)",
    ] {
        let ran = ran(&FAULTS.replace("LINE", line));
        assert!(ran.log().contains("01 is left to you: "), "{line} has no fault:\n{}", ran.log());
        ran.assert_hidden("hidden-");
    }
}

/// The same in what a model writes.
#[test]
fn bug_2_2_a_mistake_of_the_model_does_not_tell_a_secret() {
    for reply in [
        r#"{"at":"01","set":{"x":"$card.nothing"}}"#,
        r#"{"at":"01","set":{"x":"<{$card.n.deeper}>"}}"#,
        r#"{"at":"01","set":{"x":"$token[2]"}}"#,
        r#"{"at":"01","say":"{$card.nothing} {$card.n.deeper}"}"#,
        r#"{"at":"01","return":"$card.n.deeper"}"#,
        r#"{"at":"01","call":"Put","args":{"item":"$card.nothing"}}"#,
        r#"{"at":"01","call":"Put","args":{"other":"$token"}}"#,
        r#"{"at":"01","call":"Put","args":["$token","$token"]}"#,
    ] {
        let ran = ran(&format!("{}--- reply\n{reply}\n", FAULTS.replace("LINE", "Log in somehow")));
        ran.assert_hidden("hidden-");
    }
}

/// A trigger's condition that cannot be evaluated: what watchers and `why` are told.
#[test]
fn bug_2_2_a_fault_of_a_trigger_does_not_tell_a_secret() {
    let ran = ran(r#"--- program
---
variables:
  token: {type: str | None, secret: true}
---
# A
## Main
### Triggers
- At the beginning
### Steps
- $token = $given
- Return 1
## High
### Triggers
- When $token > 3
- When $token.n > 3
### Steps
- Say "high"
--- argument given="hidden-tok-333"
"#);
    ran.assert_has("judged High:T1: Fault(");
    // The argument itself is nobody's secret before it is given to the name that is.
    let faults: Vec<&String> = ran.world.log.iter().filter(|line| line.starts_with("judged High")).collect();
    assert!(faults.iter().all(|line| !line.contains("hidden-")), "{faults:?}");
}

const NAMED: &str = r#"--- program
---
variables:
  pin: {type: str | None, secret: true}
---
# A
## Main
### Triggers
- At the beginning
### Steps
- $raw = LoadFile("key.txt")
- LINE
- Return 1
## Check($pin)
### Steps
- Say something nice
- Say something else
- Say a third thing
- Say a fourth thing
- Say a fifth thing
- Say a sixth thing
--- tools
LoadFile(path) read_only
--- result LoadFile
["hidden-key-777"]
"#;

/// Whoever gives a value to a name that is declared secret, it is secret there.
#[test]
fn bug_2_3_a_parameter_with_the_name_of_a_secret_is_secret() {
    let ran = ran(&NAMED.replace("LINE", "Check($raw[0])"));
    let request = &ran.requests()[0].messages[1].text;
    assert!(request.contains("PLAYBOOK Check("), "{request}");
    assert!(request.contains("$pin = (secret)") && !request.contains("$pin = \"hidden"), "{request}");
}

#[test]
fn bug_2_3_a_parameter_of_a_tail_call_with_the_name_of_a_secret_is_secret() {
    let ran = ran(&NAMED.replace("LINE", "Return Check($raw[0])"));
    let request = &ran.requests()[0].messages[1].text;
    assert!(request.contains("PLAYBOOK Check("), "{request}");
    assert!(!request.contains("$pin = \"hidden"), "{request}");
}

#[test]
fn bug_2_3_a_loop_variable_with_the_name_of_a_secret_is_secret() {
    let ran = ran(&NAMED.replace("LINE", "For each $pin in $raw\n  - Log in"));
    let request = &ran.requests()[0].messages[1].text;
    assert!(request.contains("$pin = (secret)") && !request.contains("$pin = \"hidden"), "{request}");
    ran.assert_has("set $pin = \"***\"");
}

/// A debugger's edit of a frame's variable is one more door.
#[test]
fn bug_2_3_an_edit_in_a_frame_of_the_name_of_a_secret_is_secret() {
    let case = parse(&NAMED.replace("LINE", "Log in"));
    let mut world = play(start(&case), &case, Chunking::Whole);
    let frame = world.machine.view().stack[0].id;
    world.handle(Event::Edited { frame: Some(frame), name: "pin".into(), value: "hidden-edit-888".into() });
    let _ = world.settle();
    Ran { world }.assert_hidden("hidden-edit");
}

/// The origin of an item is that of the list it was taken from, not that of what the expression gives by now.
#[test]
fn bug_2_4_an_item_comes_from_where_its_list_came_from() {
    let ran = ran(r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- $xs = ListFiles(".")
- For each $x in $xs
  - $xs = []
  - Send($x)
- Return 1
--- tools
ListFiles(path) read_only
Send(what) what:code
--- result ListFiles
["a.txt", "b.txt"]
"#);
    ran.assert_has("set $x = \"a.txt\" [tool]");
    ran.assert_has("set $x = \"b.txt\" [tool]");
    // Data of a tool is not let through as the program's own.
    ran.assert_has_not("start 3 Send");
}

/// A tool's secret result, taken apart: its items and members are as secret as the whole.
#[test]
fn parts_of_a_secret_result_are_secret() {
    let case = parse(
        r#"--- program
# A
## Main
### Triggers
- At the beginning
### Steps
- $keys = Fetch()
- $first = $keys[0]
- For each $key in $keys
  - Use the key
- Return $first
--- tools
Fetch() read_only
"#,
    );
    let mut world = start(&case);
    let _ = world.settle();
    let call = world
        .events
        .iter()
        .find_map(|(_, event)| if let Event::CallStarted { call, .. } = event { Some(*call) } else { None });
    let value = playhouse::value::Value::from_json(r#"["hidden-one", "hidden-two"]"#).unwrap();
    world.handle(Event::CallEnded {
        call: call.unwrap(),
        outcome: CallOutcome::Value { value, secret: true },
        usage: None,
    });
    let _ = world.settle();
    let ran = Ran { world };
    ran.assert_has("ask 1");
    ran.assert_hidden("hidden-");
}
