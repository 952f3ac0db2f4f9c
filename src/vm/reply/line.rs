//! The meaning of one object: its members as a [`TraceLine`], or what is wrong with it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::expr::scan_name;
use playhouse_lang::value::{Map, Value};

use super::key::{Entry, Key, known_keys};
use super::scan::Scan;
use super::types::{Action, CallArguments, ReadFaultKind, TraceLine, WaitFor};
use super::value::{json_message, read_value, text_of};

type Fault = (ReadFaultKind, String);

/// What models write for an action when they do not remember its name.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("speak", "say"),
    ("message", "say"),
    ("ask", "say"),
    ("assign", "set"),
    ("tool", "call"),
    ("function", "call"),
    ("name", "call"),
    ("for_each", "each"),
    ("thought", "think"),
    ("comment", "think"),
    ("omit", "skip"),
    ("exit", "end"),
];

/// Reads a closed object; `None` for an empty one. `bytes` is the object, `start` its place in the reply.
pub(super) fn read_line(bytes: &[u8], start: u64, scan: &mut Scan) -> Result<Option<TraceLine>, Fault> {
    let Ok(source) = std::str::from_utf8(bytes) else {
        return Err((ReadFaultKind::Json, "the line is not valid UTF-8".to_owned()));
    };
    if scan.entries.is_empty() {
        return Ok(None);
    }
    let said = scan.take_said();
    let object = Object { source, entries: &scan.entries, trailing_commas: &scan.trailing_commas };
    object.refuse_unknown()?;
    let streamed_say = said.is_some();
    let mut said = said;
    let mut at = None;
    let mut at_index = 0;
    let mut actions = Vec::with_capacity(object.entries.len());
    let mut yields = Vec::new();
    for entry in object.entries {
        if matches!(entry.key, Key::Args | Key::Each | Key::As | Key::Unknown(_)) {
            continue;
        }
        let raw = object.raw(&entry.value);
        match &entry.key {
            Key::At => {
                let expected = "the id of a line, such as \"02\" or \"03.01\"";
                at = Some(scan.at.clone().ok_or_else(|| wrong("at", expected, &raw))?);
                at_index = actions.len();
            }
            Key::Say => actions.push(Action::Say(match said.take() {
                Some(text) => text,
                None => read_text("say", &raw)?.into_owned(),
            })),
            Key::Set => actions.push(Action::Set(read_set(&raw)?)),
            Key::Call => actions.push(object.read_call(&raw)?),
            Key::Think => actions.push(Action::Think(read_text("think", &raw)?.into_owned())),
            Key::Skip => actions.push(Action::Skip(read_reason(&raw)?)),
            Key::Wait => yields.push(Action::Wait(read_wait(&raw)?)),
            Key::Return => yields.push(Action::Return(read_value(&raw)?)),
            Key::End => yields.push(Action::End(read_end(&raw)?)),
            Key::Args | Key::Each | Key::As | Key::Unknown(_) => {}
        }
    }
    actions.append(&mut yields);
    let span = start..start + bytes.len() as u64;
    Ok(Some(TraceLine { at, actions, span, source: source.into(), streamed_say, at_index }))
}

struct Object<'a> {
    source: &'a str,
    entries: &'a [Entry],
    trailing_commas: &'a [usize],
}

impl<'a> Object<'a> {
    /// The JSON text of a value, as serde_json can read it.
    fn raw(&self, range: &Range<usize>) -> Cow<'a, str> {
        let text = &self.source[range.clone()];
        let mut commas = self.trailing_commas.iter().filter(|comma| range.contains(comma)).peekable();
        if commas.peek().is_none() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut from = range.start;
        for comma in commas {
            clean.push_str(&self.source[from..*comma]);
            from = comma + 1;
        }
        clean.push_str(&self.source[from..range.end]);
        Cow::Owned(clean)
    }

    fn find(&self, key: &Key) -> Option<Cow<'a, str>> {
        self.entries.iter().find(|entry| entry.key == *key).map(|entry| self.raw(&entry.value))
    }

    /// Unknown keys are ignored beside an action only: alone, or beside a mere `at`, they are what the model
    /// wanted to do.
    fn refuse_unknown(&self) -> Result<(), Fault> {
        let mut has_action = false;
        let mut has_call = false;
        let mut part_of_call = None;
        let mut unknown = None;
        for entry in self.entries {
            match &entry.key {
                Key::Say | Key::Set | Key::Think | Key::Skip | Key::Wait | Key::Return | Key::End => {
                    has_action = true;
                }
                Key::Call => has_call = true,
                Key::Args | Key::Each | Key::As => part_of_call = part_of_call.or(Some(entry.key.name())),
                Key::Unknown(key) if key == "trace" => return Err(misplaced_trace(&self.raw(&entry.value))),
                Key::Unknown(key) => unknown = unknown.or(Some((key.as_str(), &entry.value))),
                Key::At => {}
            }
        }
        if has_call {
            return Ok(());
        }
        if let (false, Some((key, value))) = (has_action, unknown) {
            return Err(unknown_action(key, &self.raw(value)));
        }
        if let Some(part) = part_of_call {
            let message = format!("`{part}` belongs to a `call` in the same object, and there is none");
            return Err((ReadFaultKind::WrongShape, message));
        }
        Ok(())
    }

    fn read_call(&self, raw: &str) -> Result<Action, Fault> {
        const EXPECTED: &str = "the name of a callable as a string, its arguments in `args`";
        let name = read_text_or("call", EXPECTED, raw)?;
        let name = name.trim();
        if name.is_empty() || name.contains('(') {
            return Err(wrong("call", EXPECTED, raw));
        }
        let arguments = match self.find(&Key::Args) {
            None => CallArguments::Named(Map::new()),
            Some(raw) => match read_value(&raw)? {
                Value::Null => CallArguments::Named(Map::new()),
                Value::Map(members) => CallArguments::Named(Arc::unwrap_or_clone(members)),
                Value::List(items) => CallArguments::Positional(Arc::unwrap_or_clone(items)),
                Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
                    return Err(wrong("args", "an object of arguments by name, or an array of them by position", &raw));
                }
            },
        };
        let each = match self.find(&Key::Each) {
            Some(raw) if &*raw != "null" => Some(Box::new(read_each(&raw)?)),
            Some(_) | None => None,
        };
        let result = match self.find(&Key::As) {
            Some(raw) if &*raw != "null" => {
                let expected = "the name of the variable that gets the result, as a string";
                let name = read_text_or("as", expected, &raw)?;
                Some(variable_name(&name).ok_or_else(|| wrong("as", expected, &raw))?)
            }
            Some(_) | None => None,
        };
        Ok(Action::Call { name: name.into(), arguments, each, result })
    }
}

/// The parameter that takes an item each, and the list.
fn read_each(raw: &str) -> Result<(Arc<str>, Value), Fault> {
    const EXPECTED: &str = "an object of one parameter and the list whose items it takes, such as {\"id\":\"$ids\"}";
    let only = if let Value::Map(members) = read_value(raw)?
        && members.len() == 1
    {
        Arc::unwrap_or_clone(members).pop()
    } else {
        None
    };
    only.ok_or_else(|| wrong("each", EXPECTED, raw))
}

fn read_set(raw: &str) -> Result<Map, Fault> {
    const EXPECTED: &str = "an object of variable names and their new values, such as {\"name\":\"value\"}";
    let Value::Map(members) = read_value(raw)? else { return Err(wrong("set", EXPECTED, raw)) };
    let members = Arc::unwrap_or_clone(members);
    let is_name = |key: &Arc<str>| !key.is_empty() && scan_name(key) == key.len();
    if members.keys().all(is_name) {
        return Ok(members);
    }
    let mut named = Map::with_capacity(members.len());
    for (key, value) in members {
        let Some(name) = variable_name(&key) else {
            let message = format!("`set` holds {EXPECTED}; `{}` is not a variable name", shorten(&key));
            return Err((ReadFaultKind::WrongShape, message));
        };
        if named.contains_key(&name) {
            let message = format!("`set` has the variable `{name}` twice; write two lines");
            return Err((ReadFaultKind::DuplicateKey, message));
        }
        named.insert(name, value);
    }
    Ok(named)
}

/// A variable's name, with or without its `$`.
fn variable_name(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    let name = text.strip_prefix('$').unwrap_or(text);
    (!name.is_empty() && scan_name(name) == name.len()).then(|| name.into())
}

fn read_wait(raw: &str) -> Result<WaitFor, Fault> {
    const EXPECTED: &str = "\"calls\", \"user\" or \"timer:<ISO 8601 duration>\" (such as \"timer:PT30S\")";
    let text = read_text_or("wait", EXPECTED, raw)?;
    let text = text.trim();
    if text.eq_ignore_ascii_case("calls") || text.eq_ignore_ascii_case("call") {
        return Ok(WaitFor::Calls);
    }
    if text.eq_ignore_ascii_case("user") {
        return Ok(WaitFor::User);
    }
    let (kind, detail) = text.split_once(':').map_or((text, ""), |(kind, detail)| (kind.trim(), detail.trim()));
    if kind.eq_ignore_ascii_case("timer") && is_duration(detail) {
        return Ok(WaitFor::Timer(detail.to_owned()));
    }
    if kind.eq_ignore_ascii_case("agent") && !detail.is_empty() {
        return Ok(WaitFor::Agent(detail.to_owned()));
    }
    Err(wrong("wait", EXPECTED, raw))
}

/// ISO 8601 only: jiff reads `5 minutes` too. Time does not run backwards.
fn is_duration(text: &str) -> bool {
    text.starts_with(['P', 'p']) && text.parse::<jiff::Span>().is_ok_and(|span| !span.is_negative())
}

fn read_end(raw: &str) -> Result<Option<String>, Fault> {
    if raw == "true" {
        return Ok(None);
    }
    read_text_or("end", "true, or the closing reason as a string", raw).map(|reason| Some(reason.into_owned()))
}

/// Why a line is left out: without a reason it is not.
fn read_reason(raw: &str) -> Result<Arc<str>, Fault> {
    const EXPECTED: &str = "the reason why the line is left out, as a string";
    let reason = read_text_or("skip", EXPECTED, raw)?;
    if reason.trim().is_empty() { Err(wrong("skip", EXPECTED, raw)) } else { Ok(reason.trim().into()) }
}

fn read_text<'a>(key: &str, raw: &'a str) -> Result<Cow<'a, str>, Fault> {
    read_text_or(key, "a string", raw)
}

/// The string whose JSON text is `raw`.
fn read_text_or<'a>(key: &str, expected: &str, raw: &'a str) -> Result<Cow<'a, str>, Fault> {
    let text = text_of(raw).map_err(|error| (ReadFaultKind::Json, format!("`{key}`: {}", json_message(&error))))?;
    text.ok_or_else(|| wrong(key, expected, raw))
}

fn wrong(key: &str, expected: &str, raw: &str) -> Fault {
    let found = match raw.as_bytes().first() {
        Some(b'{') => "an object, ",
        Some(b'[') => "an array, ",
        Some(b'-' | b'0'..=b'9') => "a number, ",
        _ => "",
    };
    (ReadFaultKind::WrongShape, format!("`{key}` must be {expected}, not {found}{}", shorten(raw)))
}

/// A value for a message.
fn shorten(text: &str) -> String {
    const MAX: usize = 60;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A wrapper of the whole reply is met by the scanner; here the key is something else.
fn misplaced_trace(raw: &str) -> Fault {
    if !raw.starts_with('[') {
        return wrong("trace", "an array of objects", raw);
    }
    let message = "`trace` holds all lines of a reply; it can't come after other keys of a line".to_owned();
    (ReadFaultKind::WrongShape, message)
}

fn unknown_action(key: &str, raw: &str) -> Fault {
    const RESULTS: [&str; 5] = ["result", "results", "returned", "observation", "tool_result"];
    if RESULTS.contains(&key) {
        let message = format!("`{key}` is not an action: results come from the interpreter, after a `wait`");
        return (ReadFaultKind::UnknownAction, message);
    }
    let hint = match (known_keys().find(|known| raw == format!("\"{known}\"")), meant(key)) {
        (Some(known), _) => format!(" (the action itself is the key: {{\"{known}\": …}})"),
        (None, Some(name)) => format!(" (did you mean `{name}`?)"),
        (None, None) => String::new(),
    };
    let message = format!(
        "`{}` is not an action{hint}; the actions are `say`, `set`, `call` (with `args`, `each` and `as`), `think`, \
         `skip`, `wait`, `return` and `end`",
        shorten(key)
    );
    (ReadFaultKind::UnknownAction, message)
}

/// The known key that was probably meant.
fn meant(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    if key.starts_with('$') {
        return Some("set");
    }
    let key = key.as_str();
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| *other == key) {
        return Some(name);
    }
    let near = known_keys().map(|known| (strsim::osa_distance(key, known), known)).min()?;
    (near.0 <= 1 || (near.0 == 2 && key.len() > 4)).then_some(near.1)
}
