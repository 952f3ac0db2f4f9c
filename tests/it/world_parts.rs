//! Parts of the cases of [`crate::world`]: settings and programs.

use std::sync::Arc;

use playhouse::lang::program::{Program, Signature};
use playhouse::lang::{LoadOptions, SourceText, load};
use playhouse::value::Value;
use playhouse::vm::protocol::settings::{Barrier, OnProtocolFailure, OnUserMessage, Settings};
use playhouse::vm::protocol::{Signal, ToolSignature, Update};

/// `--- event NAME`, or `--- event NAME ID`, and its data as JSON.
pub(crate) fn signal(words: &str, data: &str) -> Signal {
    let (name, id) = words.split_once(' ').map_or((words, None), |(name, id)| (name, Some(id.into())));
    Signal::new(name, Value::from_json(data).unwrap(), id).unwrap()
}

/// One line of `--- settings`: `key = value # why`. Whoever switches off what users have says why.
pub(crate) fn setting(settings: &mut Settings, line: &str) {
    let (line, why) = line.split_once('#').unwrap_or((line, ""));
    let Some((key, value)) = line.split_once('=') else { return };
    let (key, value) = (key.trim(), value.trim());
    let number = || value.parse::<u64>().unwrap();
    match key {
        "max_repairs" => settings.max_repairs = number() as u32,
        "max_retries" => settings.max_retries = number() as u32,
        "max_session_turns" => settings.max_session_turns = number() as u32,
        "max_turns_without_progress" => settings.max_turns_without_progress = number() as u32,
        "context_tokens" => settings.context_tokens = number(),
        "depth" => settings.depth = number() as usize,
        "turns" => settings.turns = number(),
        "goal_turns" => settings.goal_turns = number(),
        "queue" => settings.queue = number() as usize,
        "value_bytes" => settings.value_bytes = number() as usize,
        "budget" => settings.budget = number() as u32,
        "max_idle_directives" => settings.max_idle_directives = number(),
        "max_unnamed" => settings.max_unnamed = number() as usize,
        "shown_value_bytes" => settings.shown_value_bytes = number() as usize,
        "conversation" => settings.conversation = number() as usize,
        "resume_fresh" => settings.resume_fresh = value == "true",
        "explicit_lines" => settings.explicit_lines = value == "true",
        "classifier_first" => settings.classifier_first = value == "true",
        "classifier" => settings.classifier = value == "true",
        "barrier" => settings.barrier = if value == "effects" { Barrier::Effects } else { Barrier::All },
        "max_verdicts" => settings.max_verdicts = number() as usize,
        "on_user_message" => {
            settings.on_user_message = match value {
                "interrupt" => OnUserMessage::Interrupt,
                "rollback" => OnUserMessage::Rollback,
                _ => OnUserMessage::Queue,
            }
        }
        "tail_calls" => settings.tail_calls = value == "true",
        "inline_lines" => {
            settings.inline_lines = number() as usize;
            assert!(
                settings.inline_lines > 0 || !why.trim().is_empty(),
                "say why nothing is shown inside: {line} # why"
            );
        }
        "strict" => settings.strict = value == "true",
        "zone" => settings.zone = value.into(),
        "early_start" => settings.early_start = value == "true",
        "starts_in_think" => settings.starts_in_think = value == "true",
        "on_protocol_failure" => settings.on_protocol_failure = OnProtocolFailure::Stop,
        other => panic!("unknown setting {other}"),
    }
}

/// Reads a program's text; a line `=== NAME` begins another file.
pub(crate) fn read_program(text: &str, tools: &[ToolSignature]) -> Arc<Program> {
    let tools: Vec<Signature> = tools.iter().map(|tool| tool.signature.clone()).collect();
    let mut roots = vec![SourceText { name: "case.md".to_owned(), text: String::new() }];
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("=== "), roots.last_mut()) {
            (Some(name), _) => roots.push(SourceText { name: name.trim().to_owned(), text: String::new() }),
            (None, Some(root)) => root.text.push_str(line),
            (None, None) => {}
        }
    }
    let options = LoadOptions { tools: &tools, open_world: true, ..LoadOptions::default() };
    Arc::new(load(roots, &mut |request| Err(format!("no {}", request.path)), &options).program)
}

/// Updates as the log of a case tells them.
pub(crate) fn write_updates(updates: &[Update]) -> String {
    let write = |update: &Update| {
        let old = update.old.as_ref().map_or(String::new(), |old| format!(" was {old}"));
        format!("${} = {}{old}", update.name, update.new)
    };
    let written: Vec<String> = updates.iter().map(write).collect();
    if written.is_empty() { "an event".to_owned() } else { written.join(", ") }
}
