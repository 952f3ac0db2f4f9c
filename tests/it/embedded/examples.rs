//! The examples on the embedded model, with every answer that a person may type.

use std::fmt::Write;

use playhouse::value::{Map, Value};
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::{Begin, Machine};

use super::program;
use super::talk::{assert_flawless, example, talk};
use crate::golden;
use crate::run::Run;
use crate::world::{World, parse};

/// What the tools of the examples answer.
fn result(name: &str, world: &World) -> Result<Value, String> {
    let last = world.log.iter().rev().find(|line| line.starts_with("start ") && line.contains(name)).cloned();
    let of = |text: &str| last.as_ref().is_some_and(|line| line.contains(text));
    let json = match name {
        "GetOrderStatus" if of("4334") => r#"{"state": "shipped", "expected": "Thursday"}"#,
        "GetOrderStatus" if of("5120") => r#"{"state": "being packed", "expected": "Saturday"}"#,
        "GetOrderStatus" => r#"{"state": "not found"}"#,
        "OpenTicket" => "\"T-208\"",
        other => panic!("no tool {other}"),
    };
    Ok(Value::from_json(json).unwrap())
}

const TOOLS: &str = "--- program\n# A\n--- tools\nGetOrderStatus(order_id)\nOpenTicket(order_id, reason)\n";

/// One conversation with an example, as its user sees it.
fn converse(name: &str, messages: &[&str]) -> String {
    let tools = parse(TOOLS).tools;
    let mut world = World::new(Machine::begin(Begin {
        program: program(&example(name), &tools),
        settings: Settings { classifier: false, ..Settings::default() },
        tools: tools.into(),
        entry: None,
        arguments: Map::new(),
        time: Timestamp(0),
    }));
    // What people type is shown as they typed it.
    let is_marked = messages.iter().any(|message| message.contains(['$', '{']) || message.contains("null"));
    let mut messages = messages.iter().map(|message| (*message).to_owned());
    let end = talk(&mut world, &mut messages, &mut result);
    assert_flawless(&world.log, name);
    let mut text = String::new();
    for line in &world.log {
        if let Some(user) = line.strip_prefix("user ") {
            writeln!(text, "> {}", serde_json::from_str::<String>(user).unwrap()).unwrap();
        } else if let Some(said) = line.strip_prefix("say ").and_then(|said| said.split_once(' ')) {
            writeln!(text, "{}", serde_json::from_str::<String>(said.1).unwrap()).unwrap();
        }
    }
    assert!(is_marked || !text.contains('$') && !text.contains("null") && !text.contains('{'), "{text}");
    writeln!(text, "({end})").unwrap();
    text
}

/// `tests/cases/embedded/odd.txt`: below `# example` one conversation a line, messages between bars.
#[test]
fn embedded_examples_with_odd_answers() {
    let path = format!("{}/tests/cases/embedded/odd.txt", env!("CARGO_MANIFEST_DIR"));
    let (mut name, mut text) = (String::new(), String::new());
    let mut n_conversations = 0;
    for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(example) => {
                example.clone_into(&mut name);
                writeln!(text, "# {name}\n").unwrap();
            }
            None => {
                let messages: Vec<&str> = line.split('|').map(str::trim).collect();
                writeln!(text, "{}", converse(&name, &messages)).unwrap();
                n_conversations += 1;
            }
        }
    }
    assert!(n_conversations >= 90, "{n_conversations}");
    golden::compare("embedded/odd.golden", &text);
}

/// What a new user types first.
#[test]
fn embedded_is_the_default() {
    let hello = example("hello");
    let done = Run::new().program(&hello).line("run program.md").stdin("Ada\n").code(0);
    assert!(
        done.stdout.ends_with("Please tell me your name.\nHello, Ada! I wish you a good day.\n"),
        "{}",
        done.stdout
    );
    assert_eq!(
        done.stderr,
        "model embedded: built in, no key needed; `playhouse doctor` shows how to use a language model\n"
    );
}
