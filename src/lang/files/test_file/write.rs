//! A test file's canonical text.

use super::bullet::bullet_text;
use super::form::{Chunks, Edit, Interruption, ScriptedReply, SentEvent, TestFile, TestStepKind, comparable, quoted};
use super::read::LIVE;
use crate::english::grammar::time::time_text;
use crate::value::Value;

/// Writes the file: headings and sections separated by one empty line.
pub(super) fn write(file: &TestFile) -> String {
    let mut text = format!("# {}\n", file.title);
    if !file.description.is_empty() {
        text.push_str(&format!("\n{}\n", file.description));
    }
    text.push_str(&format!("\n- program: {}\n", file.program));
    let tools = if file.live_tools { Some(LIVE) } else { file.tools.as_deref() };
    let model = file.model.map(<&str>::from);
    for (key, value) in
        [("tools", tools), ("model", model), ("playbook", file.playbook.as_deref()), ("now", file.now.as_deref())]
    {
        if let Some(value) = value {
            text.push_str(&format!("- {key}: {value}\n"));
        }
    }
    for (key, members) in [("argument", &file.arguments), ("setting", &file.settings)] {
        for (name, value) in members {
            text.push_str(&format!("- {key} {name}: {}\n", bare_or_json(value)));
        }
    }
    for step in &file.steps {
        text.push_str(&format!("\n## {}\n\n", step.kind.heading()));
        match &step.kind {
            TestStepKind::User(message) => write_quote(&mut text, message),
            TestStepKind::Interrupts(Interruption { text: message, bytes, reply }) => {
                let reply = reply.map_or_else(String::new, |reply| format!(" of reply {reply}"));
                text.push_str(&format!("- during: {bytes}{reply}\n\n"));
                write_quote(&mut text, message);
            }
            TestStepKind::Wait(ms) => text.push_str(&format!("{}\n", time_text(*ms))),
            TestStepKind::Set(edits) => {
                for Edit { name, value, playbook } in edits {
                    let playbook = playbook.as_ref().map_or_else(String::new, |playbook| format!(" in {playbook}"));
                    text.push_str(&format!("- ${name} = {value}{playbook}\n"));
                }
            }
            TestStepKind::Event(SentEvent { name, data: Value::Null }) => text.push_str(&format!("{name}\n")),
            TestStepKind::Event(SentEvent { name, data }) => text.push_str(&format!("{name} {data}\n")),
            TestStepKind::Reply(reply) => write_reply(&mut text, reply),
            TestStepKind::Written(bullets) => {
                text.extend(bullets.iter().map(|written| format!("- {}\n", bullet_text(&written.bullet))));
            }
            TestStepKind::ExpectSay(utterances) => {
                write_list(&mut text, utterances, |text, utterance| write_quote(text, utterance), "\n");
            }
            TestStepKind::ExpectVariables(variables) => write_list(
                &mut text,
                variables,
                |text, (name, value)| match value {
                    Some(value) => text.push_str(&format!("- ${name} = {value}\n")),
                    None => text.push_str(&format!("- ${name} is not set\n")),
                },
                "",
            ),
            TestStepKind::ExpectCalls(calls) => {
                write_list(&mut text, calls, |text, call| text.push_str(&format!("- {}\n", one_line(&call.text()))), "")
            }
            TestStepKind::Expect(checks) => {
                checks.iter().for_each(|written| text.push_str(&format!("- {}\n", written.check.text)));
            }
            TestStepKind::ExpectOutcome(outcome) => text.push_str(&format!("{}\n", one_line(&outcome.text()))),
        }
    }
    text
}

/// Writes the items, or that there are none.
fn write_list<T>(text: &mut String, items: &[T], write_item: impl Fn(&mut String, &T), separator: &str) {
    if items.is_empty() {
        text.push_str("(nothing)\n");
    }
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        write_item(text, item);
    }
}

fn write_quote(text: &mut String, utterance: &str) {
    text.push_str(&quoted(comparable(utterance).split('\n')));
    text.push('\n');
}

fn write_reply(text: &mut String, reply: &ScriptedReply) {
    let chunks = reply.chunks.as_ref().map(|chunks| match chunks {
        Chunks::Bytes => "bytes".to_owned(),
        Chunks::Sizes(sizes) => sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    });
    let options = [("when", &reply.when), ("when any", &reply.when_any), ("chunks", &chunks), ("error", &reply.error)];
    let mut n_options = 0;
    for (key, value) in options {
        if let Some(value) = value {
            text.push_str(&format!("- {key}: {value}\n"));
            n_options += 1;
        }
    }
    if reply.text.is_empty() && reply.error.is_some() {
        return;
    }
    if n_options > 0 {
        text.push('\n');
    }
    let longest = reply.text.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count());
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    text.push_str(&format!("{fence}jsonl\n"));
    if !reply.text.is_empty() {
        text.push_str(&reply.text);
        text.push('\n');
    }
    text.push_str(&format!("{fence}\n"));
}

/// An error's first line: what comes after is detail, and the format has no place for it.
fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}

/// Text as it is where it can't be taken for JSON, everything else as JSON.
fn bare_or_json(value: &Value) -> String {
    let is_bare = |text: &&str| {
        !text.is_empty() && text.trim() == *text && !text.contains(['\n', '\r']) && Value::from_json(text).is_err()
    };
    value.as_str().filter(is_bare).map_or_else(|| value.to_json(), str::to_owned)
}
