//! The reply reader on the corpus in `tests/cases/reply/*.txt`: odd replies and what is read in them.
//!
//! A file holds several replies, each behind a line `=== name`, perhaps with options behind a `|`: `crlf`, `bom`,
//! `think` (`starts_in_think`), `cut` (the stream broke), `open` (no line break at the end), `escapes` (`\xNN`,
//! `\\`), `fill` (`<<x*500>>` is 500 times x), `actions=N`, `bytes=N`. The `.golden` beside it has one line per
//! reading; `BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::value::Value;
use playhouse::vm::reply::{
    Action, CallArguments, ReadEnd, ReadFaultKind, ReaderOptions, Reading, ReplyReader, WaitFor, agent_schema,
};
use serde_json::json;

/// One reply of the corpus.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) reply: Vec<u8>,
    pub(crate) options: ReaderOptions,
    pub(crate) end: ReadEnd,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/reply")
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

fn read_cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut sections = text.split("=== ");
    assert!(sections.next().unwrap().is_empty(), "{}: text before the first case", path.display());
    sections.map(read_case).collect()
}

fn read_case(section: &str) -> Case {
    let (head, body) = section.split_once('\n').unwrap();
    let (name, flags) = head.split_once('|').unwrap_or((head, ""));
    let mut body = body.to_owned();
    let mut options = ReaderOptions::default();
    let mut end = ReadEnd::Complete;
    let mut prefix = "";
    let mut crlf = false;
    let mut escapes = false;
    for flag in flags.split_whitespace() {
        match flag.split_once('=') {
            Some(("actions", number)) => options.max_actions = number.parse().unwrap(),
            Some(("bytes", number)) => options.max_bytes = number.parse().unwrap(),
            _ => match flag {
                "crlf" => crlf = true,
                "bom" => prefix = "\u{feff}",
                "think" => options.starts_in_think = true,
                "cut" => end = ReadEnd::Cut,
                "open" => body.truncate(body.trim_end_matches('\n').len()),
                "escapes" => escapes = true,
                "fill" => body = fill(&body),
                _ => panic!("unknown flag {flag}"),
            },
        }
    }
    if crlf {
        body = body.replace('\n', "\r\n");
    }
    let mut reply = prefix.as_bytes().to_vec();
    reply.extend(if escapes { unescape(&body) } else { body.into_bytes() });
    Case { name: name.trim().to_owned(), reply, options, end }
}

fn fill(body: &str) -> String {
    let mut parts = body.split("<<");
    let mut filled = parts.next().unwrap().to_owned();
    for part in parts {
        let (pattern, rest) = part.split_once(">>").unwrap();
        let (text, count) = pattern.rsplit_once('*').unwrap();
        filled.push_str(&text.repeat(count.parse().unwrap()));
        filled.push_str(rest);
    }
    filled
}

fn unescape(body: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = body.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind) {
            (b'\\', [b'x', a, b, behind @ ..]) => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&[*a, *b]).unwrap(), 16).unwrap());
                rest = behind;
            }
            (b'\\', [b'\\', behind @ ..]) => {
                bytes.push(b'\\');
                rest = behind;
            }
            _ => bytes.push(*byte),
        }
    }
    bytes
}

/// All replies of the corpus.
pub(crate) fn corpus() -> Vec<Case> {
    files().iter().flat_map(|path| read_cases(path)).collect()
}

/// What is read in the pieces of a reply, text that was streamed joined again.
pub(crate) fn read<'a>(
    options: &ReaderOptions,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    end: ReadEnd,
) -> Vec<Reading> {
    let mut reader = ReplyReader::new(options.clone());
    let mut readings = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut readings);
    }
    reader.finish(end, &mut readings);
    let mut joined: Vec<Reading> = Vec::new();
    for reading in readings {
        match (joined.last_mut(), reading) {
            (Some(Reading::SayText(text)), Reading::SayText(more)) => text.push_str(&more),
            (_, reading) => joined.push(reading),
        }
    }
    joined
}

pub(crate) fn read_whole(case: &Case) -> Vec<Reading> {
    read(&case.options, [&*case.reply], case.end)
}

/// A text in one line; a very long one shortened.
fn quote(text: &str) -> String {
    let n_characters = text.chars().count();
    if n_characters <= 300 {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(20).collect();
    format!("{head:?}… ({n_characters} characters)")
}

/// One line per reading; the middle of very many is left out.
fn render(readings: &[Reading]) -> String {
    const MAX_ENDS: usize = 6;
    let mut out = String::new();
    for (index, reading) in readings.iter().enumerate() {
        if readings.len() > 50 && (MAX_ENDS..readings.len() - MAX_ENDS).contains(&index) {
            if index == MAX_ENDS {
                writeln!(out, "… ({} readings)", readings.len()).unwrap();
            }
            continue;
        }
        let line = match reading {
            Reading::SayBegan { at, start } => format!("say-began at={} start={start}", at.as_deref().unwrap_or("-")),
            Reading::SayText(text) => format!("say-text {}", quote(text)),
            Reading::SayEnded => "say-ended".to_owned(),
            Reading::Prose { text, span } => format!("prose {span:?} {}", quote(text)),
            Reading::Think { text, span } => format!("think {span:?} {}", quote(text)),
            Reading::Ignored { key, span } => format!("ignored {span:?} {key:?}"),
            Reading::Fault(fault) => {
                format!("fault {:?} {:?} {}\n  in {:?}", fault.kind, fault.span, fault.message, fault.excerpt)
            }
            Reading::Line(line) => {
                let mut text = format!("line {:?} at={}", line.span, line.at.as_deref().unwrap_or("-"));
                if line.at_index > 0 {
                    write!(text, " at_index={}", line.at_index).unwrap();
                }
                if line.streamed_say {
                    text.push_str(" streamed");
                }
                for action in &line.actions {
                    write!(text, " | {}", render_action(action)).unwrap();
                }
                text
            }
        };
        writeln!(out, "{line}").unwrap();
    }
    out
}

fn render_action(action: &Action) -> String {
    match action {
        Action::Say(text) => format!("say {}", quote(text)),
        Action::Set(members) => format!("set {}", quote(&Value::map(members.clone()).to_json())),
        Action::Call { name, arguments, each, result } => {
            let arguments = match arguments {
                CallArguments::Named(members) => Value::map(members.clone()).to_json(),
                CallArguments::Positional(items) => Value::list(items.clone()).to_json(),
            };
            let result = result.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
            let each = each.as_ref().map(|each| format!(" each {} {}", each.0, quote(&each.1.to_json())));
            format!("call {name} {}{}{result}", quote(&arguments), each.unwrap_or_default())
        }
        Action::Think(text) => format!("think {}", quote(text)),
        Action::Skip(reason) => format!("skip {}", quote(reason)),
        Action::Wait(WaitFor::Calls) => "wait calls".to_owned(),
        Action::Wait(WaitFor::User) => "wait user".to_owned(),
        Action::Wait(WaitFor::Timer(duration)) => format!("wait timer {duration}"),
        Action::Wait(WaitFor::Agent(name)) => format!("wait agent {name}"),
        Action::Return(value) => format!("return {}", quote(&value.to_json())),
        Action::End(reason) => format!("end {reason:?}"),
    }
}

#[test]
fn corpus_reads_as_blessed() {
    let bless = crate::golden::is_blessing();
    let mut n_cases = 0;
    let mut wrong = Vec::new();
    for path in files() {
        let mut golden = String::new();
        for case in read_cases(&path) {
            n_cases += 1;
            write!(golden, "=== {}\n{}", case.name, render(&read_whole(&case))).unwrap();
        }
        let golden_path = path.with_extension("golden");
        if bless {
            std::fs::write(&golden_path, &golden).unwrap();
        } else if std::fs::read_to_string(&golden_path).unwrap_or_default() != golden {
            let before = std::fs::read_to_string(&golden_path).unwrap_or_default();
            wrong.push(crate::golden::difference(&path.display().to_string(), &before, &golden));
        }
    }
    assert!(wrong.is_empty(), "{}\nBLESS=1 writes the goldens anew", wrong.join("\n"));
    assert!(n_cases >= 220, "{n_cases} cases");
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<String> = corpus().into_iter().map(|case| case.name).collect();
    names.sort();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}

/// Every kind of fault occurs in the corpus.
#[test]
fn corpus_has_every_fault() {
    let mut kinds: Vec<ReadFaultKind> = Vec::new();
    for case in corpus() {
        kinds.extend(read_whole(&case).iter().filter_map(|reading| match reading {
            Reading::Fault(fault) => Some(fault.kind),
            Reading::SayBegan { .. }
            | Reading::SayText(_)
            | Reading::SayEnded
            | Reading::Line(_)
            | Reading::Prose { .. }
            | Reading::Think { .. }
            | Reading::Ignored { .. } => None,
        }));
    }
    for kind in [
        ReadFaultKind::Json,
        ReadFaultKind::UnknownAction,
        ReadFaultKind::WrongShape,
        ReadFaultKind::DuplicateKey,
        ReadFaultKind::CutOff,
        ReadFaultKind::TooManyActions,
        ReadFaultKind::TooLong,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

/// What is read agrees with itself: spans, sources, streamed texts, excerpts.
pub(crate) fn check_readings(reply: &[u8], readings: &[Reading]) {
    let length = reply.len() as u64;
    let mut last_start = 0;
    let mut said = None;
    for (index, reading) in readings.iter().enumerate() {
        let span = match reading {
            Reading::SayBegan { start, .. } => {
                said = Some(String::new());
                Some(*start..length)
            }
            Reading::SayText(text) => {
                assert!(!text.is_empty());
                said.as_mut().unwrap().push_str(text);
                None
            }
            Reading::SayEnded => None,
            Reading::Line(line) => {
                let bytes = &reply[usize::try_from(line.span.start).unwrap()..usize::try_from(line.span.end).unwrap()];
                assert_eq!(bytes, line.source.as_bytes());
                assert_eq!(said.is_some(), line.streamed_say);
                if let Some(said) = said.take() {
                    assert_eq!(line.actions[0], Action::Say(said));
                }
                let first_yield = line.actions.iter().position(Action::is_yield).unwrap_or(line.actions.len());
                assert!(line.actions[first_yield..].iter().all(Action::is_yield));
                assert!(line.at_index <= first_yield);
                Some(line.span.clone())
            }
            Reading::Prose { text, span } | Reading::Think { text, span } => {
                assert!(!text.trim().is_empty());
                assert_eq!(text.trim(), text);
                if matches!(reading, Reading::Prose { .. }) {
                    let bytes = &reply[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()];
                    assert_eq!(String::from_utf8_lossy(bytes), *text);
                }
                Some(span.clone())
            }
            Reading::Ignored { span, .. } => Some(span.clone()),
            Reading::Fault(fault) => {
                assert_eq!(index + 1, readings.len());
                assert!(fault.excerpt.chars().count() <= 200);
                assert!(!fault.message.is_empty());
                Some(fault.span.clone())
            }
        };
        if let Some(span) = span {
            assert!(span.start <= span.end && span.end <= length, "{span:?} of {length}");
            assert!(matches!(reading, Reading::Line(_) | Reading::Fault(_)) || span.start >= last_start);
            last_start = span.start;
        }
    }
}

#[test]
fn readings_of_the_corpus_agree() {
    for case in corpus() {
        check_readings(&case.reply, &read_whole(&case));
    }
}

#[test]
fn nothing_is_read_after_the_end() {
    let mut reader = ReplyReader::new(ReaderOptions::default());
    let mut readings = Vec::new();
    reader.push(b"{\"end\":true}\n{\"at\":", &mut readings);
    reader.finish(ReadEnd::Complete, &mut readings);
    let n_readings = readings.len();
    reader.push(b"\"02\"}\n{\"say\":\"x\"}\n", &mut readings);
    reader.finish(ReadEnd::Complete, &mut readings);
    assert_eq!(readings.len(), n_readings);
    assert_eq!(reader.n_bytes(), 37);
}

/// What the schema says about a line, checked by hand: the keywords it uses and no others.
fn fits(schema: &serde_json::Value, value: &serde_json::Value) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema == &json!(true);
    };
    schema.iter().all(|(keyword, rule)| match keyword.as_str() {
        "description" => true,
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            other => panic!("type {other}"),
        },
        "anyOf" => rule.as_array().unwrap().iter().any(|schema| fits(schema, value)),
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "pattern" => {
            value.as_str().is_none_or(|text| regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(text))
        }
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(rule, item))),
        "required" => {
            let keys = rule.as_array().unwrap();
            value.as_object().is_none_or(|object| keys.iter().all(|key| object.contains_key(key.as_str().unwrap())))
        }
        "properties" => value.as_object().is_none_or(|object| {
            let rules = rule.as_object().unwrap();
            object.iter().all(|(key, value)| rules.get(key).is_none_or(|rule| fits(rule, value)))
        }),
        "additionalProperties" => {
            *rule != json!(false)
                || value.as_object().is_none_or(|object| {
                    let known = schema["properties"].as_object().unwrap();
                    object.keys().all(|key| known.contains_key(key))
                })
        }
        other => panic!("keyword {other}"),
    })
}

#[test]
fn schema_takes_what_the_prompt_teaches() {
    let callables: Vec<Arc<str>> = vec!["GetOrderStatus".into(), "Lookup".into()];
    let schema = agent_schema(&callables);
    let lines = [
        r#"{"at":"01","say":"Hi! What is your order number?"}"#,
        r#"{"at":"01","wait":"user"}"#,
        r#"{"at":"02","set":{"order_id":"43345678","items":[1,{"a":null}]}}"#,
        r#"{"at":"03","call":"GetOrderStatus","args":{"order_id":"$order_id"},"as":"status"}"#,
        r#"{"at":"03.01","call":"Lookup","args":["$x",2]}"#,
        r#"{"call":"Lookup"}"#,
        r#"{"at":"03>01","wait":"calls"}"#,
        r#"{"wait":"timer:PT30S"}"#,
        r#"{"at":"10","think":"…"}"#,
        r#"{"at":"100","return":{"ok":true}}"#,
        r#"{"return":null}"#,
        r#"{"end":true}"#,
        r#"{"end":"solved"}"#,
        r#"{"at":"04"}"#,
    ];
    for line in lines {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(fits(&schema, &json!({ "trace": [value] })), "{line}");
        let readings = read(&ReaderOptions::default(), [line.as_bytes()], ReadEnd::Complete);
        assert!(matches!(readings.last(), Some(Reading::Line(_))), "{line}");
    }
    let refused = [
        r#"{}"#,
        r#"{"at":"1"}"#,
        r#"{"at":"01","speak":"Hi"}"#,
        r#"{"call":"Unknown"}"#,
        r#"{"say":1}"#,
        r#"{"wait":"forever"}"#,
        r#"{"end":false}"#,
        r#"{"set":[]}"#,
        r#"{"args":{}}"#,
    ];
    for line in refused {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(!fits(&schema, &json!({ "trace": [value] })), "{line}");
    }
}

#[test]
fn schema_without_callables_has_no_call() {
    let schema = agent_schema(&[]);
    assert!(!fits(&schema, &json!({ "trace": [{ "call": "X" }] })));
    assert!(fits(&schema, &json!({ "trace": [{ "say": "X" }] })));
    assert_eq!(schema.to_string(), agent_schema(&[]).to_string());
}
