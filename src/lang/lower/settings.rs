//! YAML of front matter and metadata: values with places, declared variables, limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::program::{DeclaredVariable, FrameLimits, OnLimit, ToolList, ToolNames, Type};
use crate::signature::read_type;
use crate::source::ast::Metadata;
use crate::source::line_start;
use crate::source::yaml;
use crate::source::yaml::{Node, NodeKind, Scalar, Style};
use crate::span::{FileId, Span};
use crate::value::{Map, Value};

/// Lists and maps may stand so many levels inside each other.
const MAX_NESTING: usize = 100;

/// The code of findings about front matter.
pub(crate) const FRONT_MATTER: &str = "bad-front-matter";

/// What was read, or what is wrong with it.
type Read<T> = Result<T, Box<Diagnostic>>;

/// One key of a YAML map, with the place of its line.
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) span: Span,
    /// The texts in it, the key among them, with their places; none for metadata.
    words: Vec<(String, Span)>,
}

/// Texts of a setting, in the order in which they stand there, with their places.
pub(crate) type Words = [(String, Span)];

impl Setting {
    /// Where this text stands in it, as far as that is known.
    pub(crate) fn place_of(&self, text: &str) -> Span {
        self.words.iter().find(|(word, _)| word == text).map_or(self.span, |(_, span)| *span)
    }

    /// The items of its list, or the one value that it has, each with the texts in it.
    pub(crate) fn items(&self) -> Vec<(&Value, &Words)> {
        let items = if let Value::List(items) = &self.value { &items[..] } else { std::slice::from_ref(&self.value) };
        let mut rest = self.words.get(1..).unwrap_or_default();
        let mut of_next = |item| {
            let (own, others) = rest.split_at(n_words(item).min(rest.len()));
            rest = others;
            (item, own)
        };
        items.iter().map(&mut of_next).collect()
    }
}

/// Reads front matter: the top-level keys in order. What is no YAML map is an error.
pub(crate) fn read_front_matter(text: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Vec<Setting> {
    let source = text.get(span.range()).unwrap_or("");
    read_settings(source, span).unwrap_or_else(|fault| {
        diagnostics.push(*fault);
        Vec::new()
    })
}

/// The settings in `source`, which stands at `span`.
fn read_settings(source: &str, span: Span) -> Read<Vec<Setting>> {
    let Some(root) = parse(source, span.file, span.start as usize)?.filter(|root| !root.is_null()) else {
        return Ok(Vec::new());
    };
    let NodeKind::Mapping(pairs) = &root.kind else {
        let message = "front matter must be a map; write `key: value` lines between the `---` lines";
        let first_line = source.lines().next().unwrap_or("").trim_end();
        let start = span.start as usize;
        return Err(Box::new(error(Span::new(span.file, start, start + first_line.len()), message)));
    };
    let members = members(pairs)?;
    let setting = |((key, value), (place, node)): ((Arc<str>, Value), &(Node, Node))| {
        let whole = place.span.to(node.span);
        // Its first line.
        let written = source.get(whole.start as usize - span.start as usize..).unwrap_or("");
        let length = written.lines().next().unwrap_or("").trim_end().len().min(whole.range().len());
        let start = whole.start as usize;
        let mut words = Vec::new();
        add_words(place, &mut words);
        add_words(node, &mut words);
        Setting { key: key.to_string(), value, span: Span::new(span.file, start, start + length), words }
    };
    Ok(members.into_iter().zip(pairs).map(setting).collect())
}

/// Reads the value of a metadata line. What is no YAML is kept as the text it is.
pub(crate) fn read_metadata(text: &str, metadata: &Metadata) -> Setting {
    let key = text.get(metadata.key.range()).unwrap_or("").to_owned();
    let source = text.get(metadata.value.range()).unwrap_or("");
    let read = parse(&unindented(text, metadata.value), metadata.value.file, 0);
    let value = read.and_then(|root| root.map_or(Ok(Value::Null), |root| to_value(&root)));
    let value = value.unwrap_or_else(|_| Value::str(source));
    Setting { key, value, span: metadata.key.to(metadata.value), words: Vec::new() }
}

/// How many texts [`add_words`] finds in what became this value.
fn n_words(value: &Value) -> usize {
    match value {
        Value::List(items) => items.iter().map(n_words).sum(),
        Value::Map(members) => members.values().map(|value| 1 + n_words(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => 1,
    }
}

fn add_words(node: &Node, words: &mut Vec<(String, Span)>) {
    match &node.kind {
        NodeKind::Scalar(scalar) => words.push((scalar.text.clone(), node.span)),
        NodeKind::List(items) => items.iter().for_each(|item| add_words(item, words)),
        NodeKind::Mapping(pairs) => {
            for (key, value) in pairs {
                add_words(key, words);
                add_words(value, words);
            }
        }
        NodeKind::Unread => {}
    }
}

/// The text at `span` with its first line pushed to the column it stands in, so that YAML sees the lines of a
/// list or map one below the other.
fn unindented(text: &str, span: Span) -> String {
    let source = text.get(span.range()).unwrap_or("");
    let start = span.start as usize;
    let before = &text[line_start(text, start)..start];
    if before.trim().is_empty() { format!("{before}{source}") } else { source.to_owned() }
}

/// Reads YAML that begins at `start` in its file; `None` if nothing is written there.
fn parse(source: &str, file: FileId, start: usize) -> Read<Option<Node>> {
    let (root, errors) = yaml::parse(source, file, MAX_NESTING, &|at| start + at);
    match errors.into_iter().next() {
        Some(error) => Err(Box::new(Diagnostic { code: FRONT_MATTER, ..error })),
        None => Ok(root),
    }
}

fn error(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(FRONT_MATTER, span, message)
}

/// A node as a value.
fn to_value(node: &Node) -> Read<Value> {
    Ok(match &node.kind {
        NodeKind::Scalar(scalar) => scalar_value(scalar),
        NodeKind::List(items) => Value::list(items.iter().map(to_value).collect::<Result<_, _>>()?),
        NodeKind::Mapping(pairs) => Value::map(members(pairs)?),
        // An error.
        NodeKind::Unread => Value::Null,
    })
}

/// The members of a map, whose keys must be texts that stand once.
fn members(pairs: &[(Node, Node)]) -> Read<Map> {
    let mut members = Map::with_capacity(pairs.len());
    for (key, value) in pairs {
        let Some(name) = key.scalar() else {
            return Err(Box::new(error(key.span, "a key must be text, not a list or a map")));
        };
        if let (index, Some(_)) = members.insert_full(name.text.as_str().into(), to_value(value)?) {
            let twice = error(key.span, format!("the key `{}` appears twice", name.text));
            return Err(Box::new(twice.with_place(pairs[index].0.span, "first given here")));
        }
    }
    Ok(members)
}

/// Beside the core schema people write `yes` and `off`, and `1_000`.
fn scalar_value(scalar: &Scalar) -> Value {
    let plain = if scalar.style == Style::Plain { scalar.text.to_lowercase() } else { String::new() };
    match &*plain {
        "yes" | "y" | "on" => Value::Bool(true),
        "no" | "n" | "off" => Value::Bool(false),
        _ if plain.contains('_') && plain.starts_with(|first: char| first.is_ascii_digit()) => {
            plain.replace('_', "").parse().map_or_else(|_| scalar.core_value(), Value::Int)
        }
        _ => scalar.core_value(),
    }
}

/// Reads `variables:`: a map name → value or name → `{type, value, secret}`, or a list of such with a `name`.
pub(crate) fn read_variables(setting: &Setting, diagnostics: &mut Vec<Diagnostic>) -> Vec<DeclaredVariable> {
    let mut variables = Vec::new();
    let mut add = |name: &str, value: &Value| {
        let span = setting.place_of(name);
        let name = name.trim_start_matches('$');
        match read_variable(name, value, span) {
            Ok(variable) => variables.push(variable),
            Err(message) => diagnostics.push(Diagnostic::error("bad-variable", span, message)),
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

/// The keys of a declared variable.
const VARIABLE_KEYS: [&str; 5] = ["name", "type", "value", "secret", "description"];

/// A misspelt key of what must be a declaration, as all its other keys are those of one: read as a value, a secret
/// would be none.
fn misspelt(members: &Map) -> Option<(&str, &'static str)> {
    let mut unknown = members.keys().filter(|key| !VARIABLE_KEYS.contains(&&***key));
    let key = unknown.next().filter(|_| members.len() > 1 && unknown.next().is_none())?;
    Some((&**key, nearest(key, VARIABLE_KEYS.into_iter())?))
}

fn read_variable(name: &str, value: &Value, span: Span) -> Result<DeclaredVariable, String> {
    if name.is_empty() {
        return Err("a declared variable needs a name; write `variables: {name: value}`".to_owned());
    }
    if crate::expr::scan_name(name) != name.len() {
        return Err(format!("`{name}` is not a valid variable name; use letters, digits and `_`"));
    }
    if let Some((key, near)) = value.as_map().and_then(misspelt) {
        return Err(format!(
            "`{key}` of `${name}` is unknown; did you mean `{near}`? If the map is the value itself, write `value: \
             {{…}}`"
        ));
    }
    // A map with other keys is the value itself.
    let declaration = value.as_map().filter(|members| members.keys().all(|key| VARIABLE_KEYS.contains(&&**key)));
    let Some(declaration) = declaration else {
        let name = name.into();
        return Ok(DeclaredVariable { name, ty: Type::ANY, value: Some(value.clone()), secret: false, span });
    };
    let ty = match declaration.get("type").and_then(Value::as_str) {
        Some(text) => read_type(text).ok_or_else(|| {
            format!("type `{text}` of `${name}` is unknown; use str, int, float, bool, list, dict, date, time or email")
        })?,
        None => Type::ANY,
    };
    let first = declaration.get("value").cloned();
    if let Some(first) = &first
        && !ty.accepts(first)
    {
        return Err(format!("the value of `${name}` must be {ty}, not {}", first.kind()));
    }
    let secret = declaration.get("secret") == Some(&Value::Bool(true));
    Ok(DeclaredVariable { name: name.into(), ty, value: first, secret, span })
}

/// Reads `limits: {tokens, turns, seconds, return | call}`.
pub(crate) fn read_limits(setting: &Setting, diagnostics: &mut Vec<Diagnostic>) -> FrameLimits {
    let mut limits = FrameLimits::default();
    let Value::Map(members) = &setting.value else {
        let message = "limits must be a map; write `limits: {tokens: 4000, turns: 6, seconds: 60}`";
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
                let message = match nearest(key, ["tokens", "turns", "seconds", "return", "call"].into_iter()) {
                    Some(near) => format!("limit `{key}` is unknown; did you mean `{near}`?"),
                    None => format!("limit `{key}` is unknown; use tokens, turns, seconds, and return or call"),
                };
                diagnostics.push(Diagnostic::error("unknown-limit", setting.span, message));
                continue;
            }
        };
        *slot = number;
        if number.is_none() {
            let message = format!("limit `{key}` must be a number above 0");
            diagnostics.push(Diagnostic::error("bad-limits", setting.span, message));
        }
    }
    limits
}

/// Whose `tools` are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolsOf {
    /// The program's, in front matter: what else a map says is decided about single tools, and is for the host.
    Program,
    /// An agent's or a playbook's, in metadata: lists alone.
    Part,
}

/// Reads `tools: [Name, "plugin.*"]` or `tools: {allow: […], deny: […], …}`. Each name must be that of a tool: a rule
/// for another one would hold for nothing.
pub(crate) fn read_tools(
    setting: &Setting,
    of: ToolsOf,
    tools: &ToolNames<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> ToolList {
    let mut list = ToolList::default();
    let mut found = Vec::new();
    let mut names = |value: &Value| -> Vec<Arc<str>> {
        let items: Vec<&Value> = if let Value::List(items) = value { items.iter().collect() } else { vec![value] };
        let read: Vec<Arc<str>> =
            items.iter().filter_map(|item| item.as_str()).filter(|name| !name.is_empty()).map(Arc::from).collect();
        if read.len() != items.len() {
            let message = "a list of tools contains names; write `tools: [LoadFile, \"mail.*\"]`";
            diagnostics.push(Diagnostic::error("bad-tools", setting.span, message));
        }
        found.extend(read.iter().cloned());
        read
    };
    let mut single = Vec::new();
    match &setting.value {
        Value::Map(members) => {
            list.allow = members.get("allow").map(&mut names);
            list.deny = members.get("deny").map(&mut names).unwrap_or_default();
            single.extend(members.keys().filter(|name| !matches!(&***name, "allow" | "deny")).cloned());
        }
        // Nothing is written there yet.
        Value::Null => {}
        value @ (Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_)) => {
            list.allow = Some(names(value));
        }
    }
    if let (ToolsOf::Part, Some(name)) = (of, single.first()) {
        let message = format!("`{name}:` has no effect here: an agent and a playbook only have `allow` and `deny`");
        let error = Diagnostic::error("bad-tools", setting.span, message);
        diagnostics.push(error.with_note("rules for a single tool belong in `tools` of the front matter"));
    } else {
        found.append(&mut single);
    }
    let mut told = BTreeSet::new();
    for name in found.iter().filter(|name| !tools.has(name) && told.insert((*name).clone())) {
        let (span, near) = (setting.place_of(name), tools.nearest(name));
        let error = Diagnostic::error("unknown-tool", span, tools.missing(name, near.as_deref()));
        diagnostics.push(match near {
            Some(near) if span != setting.span => error.with_fix(format!("write `{near}`"), span, near),
            Some(near) => error.with_note(format!("did you mean `{near}`?")),
            None => error,
        });
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
