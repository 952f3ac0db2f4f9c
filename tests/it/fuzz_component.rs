//! What must hold for any `config.yaml` and for any value that is passed to a component. `cargo test` runs a fixed
//! number of made-up inputs; `cargo bolero` goes on.

use std::sync::Arc;

use playhouse::diagnostic::Severity;
use playhouse::host::component::ComponentConfig;
use playhouse::host::component::schema::json_schema;
use playhouse::span::Span;
use playhouse::value::{Map, Value};

use crate::component::{plugin, read, sound};
use crate::made_up::made_up;

/// Pieces of configurations: bytes at random hardly ever make a key.
const PIECES: [&str; 74] = [
    "group_id: org.example\n",
    "artifact_id: demo\n",
    "version: 1.10\n",
    "type: plugin\n",
    "as_plugin: true\n",
    "info: {title: t, description: d}\n",
    "setup: {package: p}\n",
    "commands:\n",
    "  - command_name: go\n",
    "    parameter:\n",
    "    response:\n",
    "      type:\n",
    "        a: {type: int}\n",
    "        b: {type: point}\n",
    "        _type_ref: point\n",
    "    parameter: {type: string}\n",
    "config:\n",
    "  a: 1\n",
    "type: ",
    "enum: ",
    "example: ",
    "required: ",
    "optional: ",
    "asset_ref_acceptable: ",
    "accepts: ",
    "secret: ",
    "effect: ",
    "timeout: ",
    "name: ",
    "_type_ref: ",
    "string",
    "int",
    "Dict[str, ",
    "List[",
    "Union[",
    "Optional[",
    "Mapping[int",
    "None",
    "point",
    "a.b",
    "]",
    "[",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "\n        ",
    "\n          ",
    " ",
    "\t",
    "\"",
    "'",
    "|\n",
    ">\n",
    "# c\n",
    "---\n",
    "&a ",
    "*a ",
    "!!str ",
    "<<: ",
    "? ",
    "~",
    "true",
    "yes",
    "1.10",
    "-1e5",
    "é🎉",
    "\u{feff}",
    "\r\n",
    "\\x41",
];

fn text_of(bytes: &[u8]) -> String {
    let piece =
        |&byte: &u8| PIECES.get(byte as usize % 80).map_or_else(|| char::from(byte).to_string(), |p| p.to_string());
    bytes.iter().map(piece).collect()
}

fn assert_inside(text: &str, span: Span) {
    assert!(text.get(span.range()).is_some(), "{span:?} is no range of characters of {text:?}");
}

/// Reads what the bytes stand for: never a panic, every place inside the text, a component or an error.
pub(crate) fn component_config_one(bytes: &[u8]) {
    let type_text = text_of(bytes).replace('\n', " ");
    let texts = [
        text_of(bytes),
        plugin(&format!("  - command_name: go\n    parameter:\n      {}", text_of(bytes))),
        plugin(&format!("  - command_name: go\n    parameter:\n      type: {type_text}\n")),
        String::from_utf8_lossy(bytes).into_owned(),
    ];
    for text in texts {
        let (config, findings, _) = read("config.yaml", &text);
        for finding in &findings {
            assert_inside(&text, finding.span);
            finding.notes.iter().filter_map(|note| note.span).for_each(|span| assert_inside(&text, span));
            finding.fix.iter().for_each(|fix| assert_inside(&text, fix.span));
        }
        let is_refused = findings.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!(config.is_none(), is_refused, "{text:?}");
        if let Some(config) = config {
            check_one(&config, bytes);
        }
    }
}

/// A component that was read can be used: its commands have signatures and schemas, and judge values.
fn check_one(config: &ComponentConfig, bytes: &[u8]) {
    let value = value_of(bytes, &mut 0, 0);
    for command in &config.commands {
        command.signature("demo", &config.types);
        config.check_parameter(&command.name, Some(&value));
        config.check_response(&command.name, Some(&value));
        for description in command.parameter.iter().chain(&command.response) {
            json_schema(description, &config.types);
        }
    }
}

/// Names of members in the types that values are checked against, and others.
const NAMES: [&str; 8] = ["next", "rows", "id", "kind", "image", "asset_id", "field_path", "other"];

/// A value, made of the bytes from `at` on.
fn value_of(bytes: &[u8], at: &mut usize, depth: usize) -> Value {
    let mut byte = || {
        *at += 1;
        bytes.get(*at - 1).copied().unwrap_or(0)
    };
    let (kind, more) = (byte(), byte());
    match kind % 9 {
        0 => Value::Null,
        1 => Value::Bool(more % 2 == 0),
        2 => Value::Int(i64::from(more) - 100),
        3 => Value::Float(f64::from(more) / 4.0),
        4 => Value::str(["a", "b", "", "asset://a/b/0", "1"][more as usize % 5]),
        5 if depth < 40 => Value::list((0..more % 4).map(|_| value_of(bytes, at, depth + 1)).collect()),
        _ if depth < 40 => {
            let members = (0..more % 4).map(|n| {
                let name = NAMES[(kind as usize + n as usize * 3) % NAMES.len()];
                (Arc::from(name), value_of(bytes, at, depth + 1))
            });
            Value::map(members.collect::<Map>())
        }
        _ => Value::Int(0),
    }
}

/// What values are checked against: every form of type, recursion and unions among them.
const TYPES: &str = "  - command_name: go
    parameter:
      type:
        _type_ref: node
        next: {type: \"Union[node, row, None]\", required: false}
        rows: {type: \"List[row]\", required: false}
        id: {type: \"Union[int, string]\", required: false, enum: [1, a]}
        kind: {type: \"Dict[str, List[node]]\", required: false}
        image: {type: a.b, required: false, asset_ref_acceptable: true}
        other: {type: Any, required: false}
    response: {type: row}
  - command_name: rows
    parameter:
      type:
        - {name: id, type: int}
        - {name: next, type: {_type_ref: row, id: {type: number}, next: {type: \"Optional[node]\", required: false}}, required: false}
";

/// The component whose types they are.
pub(crate) fn types() -> ComponentConfig {
    sound(&plugin(TYPES))
}

/// Checks a value: never a panic; every path is a way into the value, or to a member of something there.
pub(crate) fn component_check_one(config: &ComponentConfig, bytes: &[u8]) {
    let value = value_of(bytes, &mut 0, 0);
    for command in ["go", "rows", "gone"] {
        let faults = config.check_parameter(command, Some(&value));
        assert_eq!(faults, config.check_parameter(command, Some(&value)));
        for fault in faults.iter().filter(|fault| fault.path != "command") {
            let path = fault.path.strip_prefix("param").unwrap();
            let inner = path.rsplit_once(['.', '[']).map_or("", |(inner, _)| inner);
            assert!(at(&value, inner).is_some(), "{fault} in {value}");
        }
        config.check_response(command, Some(&value));
    }
}

/// The value at the end of a path as faults write it; none if there is no such value.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    let mut rest = path;
    while !rest.is_empty() {
        let end = rest[1..].find(['.', '[']).map_or(rest.len(), |end| end + 1);
        let (step, behind) = rest.split_at(end);
        value = match (step.strip_prefix('.'), value) {
            (Some(name), Value::Map(members)) => members.get(name)?,
            (None, Value::List(items)) => items.get(step.trim_matches(['[', ']']).parse::<usize>().ok()?)?,
            _ => return None,
        };
        rest = behind;
    }
    Some(value)
}

#[test]
fn component_config() {
    made_up!(300, 150).for_each(component_config_one);
}

#[test]
fn component_check() {
    let config = types();
    made_up!(500, 300).for_each(|bytes| component_check_one(&config, bytes));
}

#[test]
fn many_of_the_values_fit() {
    let config = types();
    let mut random = fastrand::Rng::with_seed(1);
    let mut n_fit = 0;
    for _ in 0..2_000 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(60).collect();
        let value = value_of(&bytes, &mut 0, 0);
        n_fit += usize::from(matches!(value, Value::Map(_)) && config.check_parameter("go", Some(&value)).is_empty());
    }
    // Otherwise the harness would test little but messages.
    assert!(n_fit > 100, "{n_fit}");
}
