//! Calls of tools as files of cases write them: `Name(argument: JSON) -> JSON`.

use crate::expr::scan_name;
use crate::files::case_file::item::{Wrong, json, wrong};
use crate::value::{Map, Value};

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCall {
    /// The tool.
    pub name: String,
    /// By parameter name.
    pub arguments: Map,
    /// What came of it; none: not compared.
    pub result: Option<ExpectedResult>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedResult {
    /// Its value.
    Value(Value),
    /// Its error.
    Error(String),
}

impl ExpectedCall {
    /// As it is written.
    pub fn text(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let result = match &self.result {
            Some(ExpectedResult::Value(value)) => format!(" -> {value}"),
            Some(ExpectedResult::Error(error)) => format!(" !! {error}"),
            None => String::new(),
        };
        format!("{}({}){result}", self.name, arguments.join(", "))
    }
}

/// `Name(argument: JSON, …)`, with ` -> JSON` or ` !! error` after it.
///
/// # Errors
/// It is no call.
pub fn call(item: &str) -> Result<ExpectedCall, Wrong> {
    let form = || {
        wrong(
            "bad-call",
            format!("`{item}` is not a call"),
            "write `Name(argument: JSON)`, followed by ` -> JSON` or ` !! error` to compare the result",
        )
    };
    let (call, rest) = leading_call(item)?.ok_or_else(form)?;
    let rest = rest.trim();
    let result = if rest.is_empty() {
        None
    } else if let Some(value) = rest.strip_prefix("->") {
        Some(ExpectedResult::Value(json(value)?))
    } else if let Some(error) = rest.strip_prefix("!!") {
        Some(ExpectedResult::Error(error.trim().to_owned()))
    } else {
        return Err(form());
    };
    Ok(ExpectedCall { result, ..call })
}

/// The call that a text begins with, `Name(argument: JSON, …)`, and what stands after it; none: it begins with something
/// else.
///
/// # Errors
/// An argument is no JSON.
pub fn leading_call(text: &str) -> Result<Option<(ExpectedCall, &str)>, Wrong> {
    let Some((name, mut rest)) = text.split_once('(') else { return Ok(None) };
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Ok(None);
    }
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(')') {
            return Ok(Some((ExpectedCall { name: name.to_owned(), arguments, result: None }, behind)));
        }
        let Some((argument, behind)) = rest.split_once(':') else { return Ok(None) };
        let argument = argument.trim();
        let Some(length) =
            value_length(behind).filter(|_| !argument.is_empty() && scan_name(argument) == argument.len())
        else {
            return Ok(None);
        };
        arguments.insert(argument.into(), json(&behind[..length])?);
        rest = behind[length..].strip_prefix(',').unwrap_or(&behind[length..]);
    }
}

/// How far the JSON value at the beginning of `text` goes: to the next `,` or `)` outside strings and brackets.
fn value_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b')' if depth == 0 => return Some(index),
            _ => {}
        }
    }
    None
}
