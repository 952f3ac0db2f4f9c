//! Single lines, answers and conditions: tables of text in, text out.

use std::fmt::Write;
use std::sync::Arc;

use playhouse::value::Value;

use super::Chat;
use crate::golden;

/// One entry of a table: a line, and what the user says.
struct Entry {
    line: String,
    variables: Vec<(Arc<str>, Value)>,
    /// Each a conversation: its messages.
    said: Vec<Vec<String>>,
}

/// Reads a table: `$name = JSON` sets a variable for what follows, `- …` is a line, `< …` below it is what the user
/// says (`|` between messages), everything else a heading.
fn read(text: &str) -> Vec<Result<Entry, String>> {
    let mut entries: Vec<Result<Entry, String>> = Vec::new();
    let mut variables: Vec<(Arc<str>, Value)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(line) = line.strip_prefix("- ") {
            entries.push(Ok(Entry { line: line.to_owned(), variables: variables.clone(), said: Vec::new() }));
        } else if let Some(said) = line.trim().strip_prefix('<') {
            let messages = said.split('|').map(|message| message.trim().to_owned()).collect();
            if let Some(Ok(entry)) = entries.last_mut() {
                entry.said.push(messages);
            }
        } else if let Some((name, value)) = line.strip_prefix('$').and_then(|line| line.split_once(" = ")) {
            variables.retain(|(known, _)| **known != *name);
            variables.push((name.into(), Value::from_json(value).unwrap()));
        } else {
            entries.push(Err(line.to_owned()));
        }
    }
    entries
}

/// What a reply does, line by line, without its last `return`.
fn write_reply(lines: &[serde_json::Value], margin: &str) -> String {
    let mut text = String::new();
    for line in lines {
        if let Some(say) = line.get("say") {
            writeln!(text, "{margin}{}", say.as_str().unwrap()).unwrap();
        }
        if let Some(set) = line.get("set") {
            writeln!(text, "{margin}set {set}").unwrap();
        }
        if let Some(reason) = line.get("skip") {
            writeln!(text, "{margin}(skipped: {})", reason.as_str().unwrap()).unwrap();
        }
        if let Some(call) = line.get("call") {
            writeln!(text, "{margin}call {call} {}", line["args"]).unwrap();
        }
        if let Some(value) = line.get("return").filter(|value| !value.is_null()) {
            writeln!(text, "{margin}return {value}").unwrap();
        }
        for key in ["wait", "end"] {
            if let Some(value) = line.get(key) {
                writeln!(text, "{margin}{key} {value}").unwrap();
            }
        }
    }
    if text.is_empty() { format!("{margin}(nothing)\n") } else { text }
}

/// A table as it comes out: headings and lines as they stand, and what `tell` writes of each line.
fn rows(text: &str, tell: impl Fn(&mut String, &Entry)) -> String {
    let mut result = String::new();
    for entry in read(text) {
        match entry {
            Ok(entry) => {
                writeln!(result, "- {}", entry.line).unwrap();
                tell(&mut result, &entry);
            }
            Err(heading) => writeln!(result, "{heading}\n").unwrap(),
        }
    }
    result
}

/// What is asked or said, and what becomes of the answers.
fn tell_line(result: &mut String, entry: &Entry) {
    let program = format!("# Tea shop\n\n## Main\n\n### Steps\n\n- {}\n", entry.line);
    let new = || Chat::new(&program, &entry.variables);
    if new().is_explicit() {
        writeln!(result, "  (the interpreter's)").unwrap();
        return;
    }
    if entry.said.is_empty() {
        result.push_str(&write_reply(&new().reply(None), "  "));
    }
    for messages in &entry.said {
        let mut chat = new();
        chat.reply(None);
        for message in messages {
            writeln!(result, "  < {message}").unwrap();
            result.push_str(&write_reply(&chat.reply(Some(message)), "    "));
        }
    }
}

/// Whether a condition is judged, and how.
fn tell_condition(result: &mut String, entry: &Entry) {
    let program = format!("# Desk\n\n## Main\n\n### Steps\n\n- {}\n  - Say \"so\"\n- Say \"over\"\n", entry.line);
    for message in entry.said.iter().flatten() {
        let mut variables = entry.variables.clone();
        variables.push(("user_message".into(), Value::from(message.as_str())));
        let lines = Chat::new(&program, &variables).reply(None);
        let is_named = lines.iter().any(|line| line.get("skip").is_some());
        let holds = lines.iter().any(|line| line["at"] == "01.01");
        let verdict = match (is_named, holds) {
            (true, false) => "cannot judge",
            (false, true) => "yes",
            (false, false) => "no",
            (true, true) => panic!("{lines:?}"),
        };
        writeln!(result, "  {verdict} < {message}").unwrap();
    }
}

#[test]
fn embedded_lines() {
    for name in ["lines", "answers", "other_lines"] {
        let path = format!("{}/tests/cases/embedded/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        golden::compare(&format!("embedded/{name}.golden"), &rows(&text, tell_line));
    }
}

#[test]
fn embedded_conditions() {
    let path = format!("{}/tests/cases/embedded/conditions.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    golden::compare("embedded/conditions.golden", &rows(&text, tell_condition));
}

/// Whatever a line is, no value and no mark of the language is said as it stands there.
#[test]
fn embedded_lines_show_no_marks() {
    let values: [(Arc<str>, Value); 2] =
        [("name".into(), Value::from("{$secret} $name")), ("secret".into(), Value::from("x"))];
    for line in [
        "Greet the user by $name",
        "Tell the user that $name is there and costs $5",
        "Ask $name for their $town",
        "Think about $name and $unknown",
        "If $name sounds sad, go home",
        "Tell the user about $unknown",
    ] {
        let program = format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n");
        for reply in Chat::new(&program, &values).reply(None) {
            let Some(say) = reply.get("say").and_then(serde_json::Value::as_str) else { continue };
            assert!(!say.contains("{$secret}"), "{line}: {say}");
            let rest = say.replace("{$name}", "").replace("$$", "");
            assert!(!rest.contains('$'), "{line}: {say}");
        }
    }
}

/// Words and marks that lines and answers are made of.
const PIECES: [&str; 60] = [
    "Ask",
    "the",
    "user",
    "for",
    "$x",
    "$name",
    "$order.state",
    "their",
    "and",
    "if",
    "whether",
    "what",
    "they",
    "like",
    ",",
    ":",
    ".",
    "?",
    "\"",
    "“",
    "”",
    "(",
    ")",
    "$",
    "$$",
    "{",
    "}",
    "{$x}",
    "tell",
    "that",
    "say",
    "goodbye",
    "set",
    "to",
    "sum",
    "of",
    "12",
    "1.5",
    "2026-05-03",
    "ß",
    "日本",
    "😀",
    "é",
    "’s",
    "user's",
    "name",
    "number",
    "or",
    "then",
    "return",
    "call",
    "Foo(",
    "as",
    "until",
    "repeat",
    "while",
    "is",
    "not",
    "e-mail",
    "\u{301}",
];

/// No line and no answer makes it panic, and whatever it writes is a trace line.
#[test]
fn embedded_survives_any_text() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = |most: usize| {
        let n = random.usize(1..most);
        let spaces = ["", " ", " ", " ", "  "];
        let pieces = (0..n).map(|_| format!("{}{}", PIECES[random.usize(..PIECES.len())], spaces[random.usize(..5)]));
        pieces.collect::<String>()
    };
    let order = Value::from_json(r#"{"state": "x", "1": [null, {"a$": "$b"}]}"#).unwrap();
    for _ in 0..800 {
        let (name, said, again) = (text(4), text(8), text(8));
        let variables =
            [("x".into(), Value::Int(3)), ("order".into(), order.clone()), ("name".into(), Value::from(name))];
        let starts = [
            "",
            "Ask the user ",
            "Tell the user ",
            "Set $x:int to ",
            "If the user ",
            "Repeat until ",
            "Return ",
            "Say ",
        ];
        let line = format!("{}{}", starts[said.len() % starts.len()], text(14));
        let program = format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n  - {}\n- {}\n", text(6), text(10));
        let mut chat = Chat::new(&program, &variables);
        for user in [None, Some(&*said), Some(&*again)] {
            for written in chat.reply(user) {
                assert!(written.is_object(), "{line}: {written}");
            }
        }
    }
}

/// A trace line that was refused is not written again.
#[test]
fn embedded_does_not_repeat_a_mistake() {
    let variables = [("name".into(), Value::from("Ada"))];
    for line in [
        "Tell the user the $name",
        "Set $x to the same as $name",
        "Ask the user for $y",
        "Return the $name",
        "Greet the user",
    ] {
        let program = format!("# Desk\n\n## Main\n\n### Steps\n\n- {line}\n");
        let mut chat = Chat::new(&program, &variables);
        let first = chat.reply(None);
        chat.turn.data.problem = Some(format!("something is wrong; the line was: {}", first[0]).into());
        chat.messages.clear();
        let second = chat.reply(None);
        assert!(!second.is_empty() && !second.contains(&first[0]), "{line}: {second:?}");
    }
}
