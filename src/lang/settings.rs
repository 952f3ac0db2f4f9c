//! YAML of front matter and metadata: values with places, declared variables, limits.

use std::sync::Arc;

use crate::ast::Metadata;
use crate::diagnostic::Diagnostic;
use crate::program::{DeclaredVariable, FrameLimits, OnLimit, ToolList, Type};
use crate::signature::read_type;
use crate::span::{FileId, Span};
use crate::value::{Map, Value};

/// One key of a YAML map, with the place of its line.
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) span: Span,
}

/// Reads front matter: the top-level keys in order. What is no YAML map is an error.
pub(crate) fn read_front_matter(text: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Vec<Setting> {
    let source = text.get(span.range()).unwrap_or("");
    let members = match read_yaml(source) {
        Ok(Value::Map(members)) => members,
        Ok(Value::Null) => return Vec::new(),
        Ok(_) => {
            let message = "front matter is no map; write `key: value` lines between the `---` lines";
            diagnostics.push(Diagnostic::error("bad-front-matter", first_line(source, span), message));
            return Vec::new();
        }
        Err((line, message)) => {
            let place = line_span(source, span, line);
            let message = format!("front matter is not valid YAML: {message}");
            diagnostics.push(Diagnostic::error("bad-front-matter", place, message));
            return Vec::new();
        }
    };
    let places = key_places(source, span);
    let place = |key: &str| places.iter().find(|(name, _)| *name == key).map_or(span, |(_, place)| *place);
    members
        .iter()
        .map(|(key, value)| Setting { key: key.to_string(), value: value.clone(), span: place(key) })
        .collect()
}

/// Reads the value of a metadata line. What is no YAML is kept as the text it is.
pub(crate) fn read_metadata(text: &str, metadata: &Metadata) -> Setting {
    let key = text.get(metadata.key.range()).unwrap_or("").to_owned();
    let source = text.get(metadata.value.range()).unwrap_or("");
    let value = read_yaml(&unindented(text, metadata.value)).unwrap_or_else(|_| Value::str(source));
    Setting { key, value, span: metadata.key.to(metadata.value) }
}

/// The text at `span` with its first line pushed to the column it stands in, so that YAML sees the lines of a
/// list or map one below the other.
fn unindented(text: &str, span: Span) -> String {
    let source = text.get(span.range()).unwrap_or("");
    let line_start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line_start..span.start as usize];
    if before.trim().is_empty() { format!("{before}{source}") } else { source.to_owned() }
}

/// The error is a line (from 1) and what is wrong there.
fn read_yaml(source: &str) -> Result<Value, (usize, String)> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(source, options).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
        let message = error.to_string();
        // The place is shown by the diagnostic; the parser's counts from the first line of the YAML.
        let message = message.lines().next().and_then(|message| message.split(" at line ").next());
        (line, message.unwrap_or("it can't be read").to_owned())
    })
}

fn line_span(source: &str, span: Span, line: usize) -> Span {
    let mut start = span.start as usize;
    for (number, text) in source.split_inclusive('\n').enumerate() {
        if number + 1 == line {
            return Span::new(span.file, start, start + text.trim_end().len());
        }
        start += text.len();
    }
    first_line(source, span)
}

fn first_line(source: &str, span: Span) -> Span {
    let start = span.start as usize;
    Span::new(span.file, start, start + source.lines().next().unwrap_or("").trim_end().len())
}

/// The places of the lines that begin a top-level key.
fn key_places(source: &str, span: Span) -> Vec<(&str, Span)> {
    let mut places = Vec::new();
    let mut start = span.start as usize;
    for line in source.split_inclusive('\n') {
        if let Some((key, _)) = line.split_once(':')
            && !key.starts_with([' ', '\t', '#', '-'])
        {
            let key = key.trim().trim_matches(['"', '\'']);
            places.push((key, Span::new(span.file, start, start + line.trim_end().len())));
        }
        start += line.len();
    }
    places
}

/// Reads `variables:`: a map name → value or name → `{type, value, secret}`, or a list of such with a `name`.
pub(crate) fn read_variables(setting: &Setting, diagnostics: &mut Vec<Diagnostic>) -> Vec<DeclaredVariable> {
    let mut variables = Vec::new();
    let mut add = |name: &str, value: &Value| {
        let name = name.trim_start_matches('$');
        match read_variable(name, value, setting.span) {
            Ok(variable) => variables.push(variable),
            Err(message) => diagnostics.push(Diagnostic::error("bad-variable", setting.span, message)),
        }
    };
    match &setting.value {
        Value::Map(members) => members.iter().for_each(|(name, value)| add(name, value)),
        Value::List(items) => {
            for item in items.iter() {
                match item {
                    Value::Str(name) => add(name, &Value::Map(Map::new().into())),
                    Value::Map(members) => match members.get("name").and_then(Value::as_str) {
                        Some(name) => add(name, item),
                        None if members.len() == 1 => members.iter().for_each(|(name, value)| add(name, value)),
                        None => add("", item),
                    },
                    Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
                        add("", item);
                    }
                }
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => add("", &setting.value),
    }
    variables
}

fn read_variable(name: &str, value: &Value, span: Span) -> Result<DeclaredVariable, String> {
    if name.is_empty() {
        return Err("a declared variable needs a name; write `variables: {name: value}`".to_owned());
    }
    if crate::expr::scan_name(name) != name.len() {
        return Err(format!("`{name}` is no name of a variable; use letters, digits and `_`"));
    }
    const KEYS: [&str; 5] = ["name", "type", "value", "secret", "description"];
    let declaration = match value {
        // A map with other keys is the value itself.
        Value::Map(members) if members.keys().all(|key| KEYS.contains(&&**key)) => members,
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::List(_)
        | Value::Map(_) => {
            let name = name.into();
            return Ok(DeclaredVariable { name, ty: Type::ANY, value: Some(value.clone()), secret: false, span });
        }
    };
    let ty = match declaration.get("type").and_then(Value::as_str) {
        Some(text) => read_type(text)
            .ok_or_else(|| format!("type `{text}` of `${name}` is unknown; use str, int, float, bool, list or dict"))?,
        None => Type::ANY,
    };
    let first = declaration.get("value").cloned();
    if let Some(first) = &first
        && !ty.accepts(first)
    {
        return Err(format!("the value of `${name}` is no {ty} but {}", first.kind()));
    }
    let secret = declaration.get("secret") == Some(&Value::Bool(true));
    Ok(DeclaredVariable { name: name.into(), ty, value: first, secret, span })
}

/// Reads `limits: {tokens, turns, seconds, return | call}`.
pub(crate) fn read_limits(setting: &Setting, diagnostics: &mut Vec<Diagnostic>) -> FrameLimits {
    let mut limits = FrameLimits::default();
    let Value::Map(members) = &setting.value else {
        let message = "limits are a map; write `limits: {tokens: 4000, turns: 6, seconds: 60}`";
        diagnostics.push(Diagnostic::error("bad-limits", setting.span, message));
        return limits;
    };
    for (key, value) in members.iter() {
        let number = if let Value::Int(int) = value { u64::try_from(*int).ok().filter(|&n| n > 0) } else { None };
        let slot = match &**key {
            "tokens" => &mut limits.tokens,
            "turns" => &mut limits.turns,
            "seconds" => &mut limits.seconds,
            "return" => {
                limits.on_limit = OnLimit::Return(value.clone());
                continue;
            }
            "call" if value.as_str().is_some() => {
                limits.on_limit = OnLimit::Call(value.as_str().unwrap_or("").trim_end_matches("()").into());
                continue;
            }
            _ => {
                let message = format!("limit `{key}` is unknown; use tokens, turns, seconds, and return or call");
                diagnostics.push(Diagnostic::warning("unknown-limit", setting.span, message));
                continue;
            }
        };
        *slot = number;
        if number.is_none() {
            let message = format!("limit `{key}` has to be a number above 0");
            diagnostics.push(Diagnostic::error("bad-limits", setting.span, message));
        }
    }
    limits
}

/// Reads `tools: [Name, "plugin.*"]` or `tools: {allow: […], deny: […], …}`; what else a map says is for the host.
pub(crate) fn read_tools(setting: &Setting, diagnostics: &mut Vec<Diagnostic>) -> ToolList {
    let mut list = ToolList::default();
    let mut names = |value: &Value| -> Vec<Arc<str>> {
        let items: Vec<&Value> = if let Value::List(items) = value { items.iter().collect() } else { vec![value] };
        let read: Vec<Arc<str>> =
            items.iter().filter_map(|item| item.as_str()).filter(|name| !name.is_empty()).map(Arc::from).collect();
        if read.len() != items.len() {
            let message = "a list of tools holds names; write `tools: [LoadFile, \"mail.*\"]`";
            diagnostics.push(Diagnostic::error("bad-tools", setting.span, message));
        }
        read
    };
    match &setting.value {
        Value::Map(members) => {
            list.allow = members.get("allow").map(&mut names);
            list.deny = members.get("deny").map(&mut names).unwrap_or_default();
        }
        // Nothing is written there yet.
        Value::Null => {}
        value @ (Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_)) => {
            list.allow = Some(names(value));
        }
    }
    list
}

/// Whether a YAML value means yes.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Str(text) => matches!(text.to_lowercase().as_str(), "true" | "yes" | "on"),
        Value::Null | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => false,
    }
}

/// An empty range at the beginning of a file, for what has no better place.
pub(crate) fn file_start(file: FileId) -> Span {
    Span::new(file, 0, 0)
}
