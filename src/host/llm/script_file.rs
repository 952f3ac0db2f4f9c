//! Script files: their wire format and its errors; reading entries is shared with the scripts of classifiers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use playhouse_vm::protocol::Usage;
use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::llm::script::{Chunks, Repeat, Script, ScriptEntry, ScriptError, ScriptFileError};

impl Script {
    /// Reads a script file.
    pub fn load(path: &Path) -> Result<Script, ScriptFileError> {
        load(path, Script::from_text)
    }

    /// Reads the text of a script file (spec `cli.md`, "Script files"). The name is used in messages.
    pub fn from_text(name: &str, text: &str) -> Result<Script, ScriptFileError> {
        Ok(Script::from_entries(name, entries_from_text(name, text)?))
    }
}

/// Reads a script file of any kind.
pub(crate) fn load<T>(path: &Path, read: fn(&str, &str) -> Result<T, ScriptFileError>) -> Result<T, ScriptFileError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|cause| ScriptFileError::Read { name: name.clone(), cause })?;
    read(&name, &text)
}

/// One entry as written. Unknown keys are errors: a misspelt `when` would match everything.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WireEntry {
    when: Option<String>,
    when_any: Option<String>,
    reply: Option<String>,
    chunks: Option<WireChunks>,
    delay_ms: u64,
    error: Option<WireError>,
    retry_after_ms: Option<u64>,
    repeat: Option<WireRepeat>,
    must: bool,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`chunks` is a list of sizes in bytes, one size, or \"bytes\"")]
enum WireChunks {
    Every(usize),
    Sizes(Vec<usize>),
    Named(String),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`error` is an HTTP status or a name")]
enum WireError {
    Status(u16),
    Named(String),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`repeat` is true, false or a count")]
pub(crate) enum WireRepeat {
    Always(bool),
    Times(u64),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WireUsage {
    prompt_tokens: u64,
    cached_tokens: u64,
    completion_tokens: u64,
}

/// Reads a script file: JSON Lines, or one JSON array.
pub(crate) fn entries_from_text(name: &str, text: &str) -> Result<Vec<ScriptEntry>, ScriptFileError> {
    const FORM: &str = "a script is JSON Lines or one JSON array of {\"when\"?, \"reply\"}";
    let read = |place: Option<Arc<str>>, wire| entry_from_wire(wire).map(|entry| ScriptEntry { place, ..entry });
    read_entries(name, text, FORM, read)
}

/// Reads the entries of a script file of any kind, each by `read`, which is told the line it stands in (of JSON
/// Lines only). `form` says what the file should look like.
pub(crate) fn read_entries<W: DeserializeOwned, E>(
    name: &str,
    text: &str,
    form: &str,
    read: impl Fn(Option<Arc<str>>, W) -> Result<E, Problem>,
) -> Result<Vec<E>, ScriptFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut entries = Vec::new();
    if text.trim_start().starts_with('[') {
        let wires: Vec<W> = serde_json::from_str(text).map_err(|error| json_error(name, form, &error, None))?;
        for (number, wire) in (1..).zip(wires) {
            let problem = |problem| entry_error(name, format!("entry {number}"), problem);
            entries.push(read(None, wire).map_err(problem)?);
        }
        return Ok(entries);
    }
    // An entry that spans several lines is read too.
    let mut wires = serde_json::Deserializer::from_str(text).into_iter::<W>();
    let (mut line, mut counted) = (1, 0);
    loop {
        let blank = text[wires.byte_offset()..].len() - text[wires.byte_offset()..].trim_start().len();
        let begin = wires.byte_offset() + blank;
        line += text[counted..begin].matches('\n').count();
        counted = begin;
        let Some(wire) = wires.next() else { return Ok(entries) };
        let wire = wire.map_err(|error| json_error(name, form, &error, Some(entries.len() + 1)))?;
        let place = format!("line {line}");
        let problem = |problem| entry_error(name, format!("{place} (entry {})", entries.len() + 1), problem);
        let entry = read(Some(place.as_str().into()), wire).map_err(problem)?;
        entries.push(entry);
    }
}

/// What is wrong with an entry, and what can be done.
pub(crate) struct Problem {
    pub(crate) cause: String,
    pub(crate) next_step: &'static str,
}

fn entry_from_wire(wire: WireEntry) -> Result<ScriptEntry, Problem> {
    if wire.reply.is_none() && wire.error.is_none() {
        return Err(Problem {
            cause: String::from("the entry has neither `reply` nor `error`"),
            next_step: "add the text the model is to answer",
        });
    }
    let usage = wire.usage.map(|usage| Usage {
        prompt_tokens: usage.prompt_tokens,
        cached_tokens: usage.cached_tokens,
        completion_tokens: usage.completion_tokens,
    });
    Ok(ScriptEntry {
        place: None,
        when: regex_from_wire("when", wire.when)?,
        when_any: regex_from_wire("when_any", wire.when_any)?,
        reply: wire.reply,
        chunks: chunks_from_wire(wire.chunks)?,
        delay: Duration::from_millis(wire.delay_ms),
        error: error_from_wire(wire.error)?,
        retry_after_ms: wire.retry_after_ms,
        repeat: repeat_from_wire(wire.repeat)?,
        must: wire.must,
        usage,
    })
}

pub(crate) fn repeat_from_wire(repeat: Option<WireRepeat>) -> Result<Repeat, Problem> {
    match repeat {
        None | Some(WireRepeat::Always(false)) => Ok(Repeat::Times(1)),
        Some(WireRepeat::Always(true)) => Ok(Repeat::Always),
        Some(WireRepeat::Times(0)) => {
            let cause = String::from("`repeat` is 0: the entry could never answer");
            Err(Problem { cause, next_step: "remove the entry, or write a count of 1 or more" })
        }
        Some(WireRepeat::Times(times)) => Ok(Repeat::Times(times)),
    }
}

pub(crate) fn regex_from_wire(key: &str, source: Option<String>) -> Result<Option<Regex>, Problem> {
    let Some(source) = source else { return Ok(None) };
    Regex::new(&source).map(Some).map_err(|error| Problem {
        cause: format!("`{key}` is not a regular expression: {error}"),
        next_step: "write special characters that are meant as text with a backslash (in JSON two)",
    })
}

fn chunks_from_wire(chunks: Option<WireChunks>) -> Result<Chunks, Problem> {
    let chunks = match chunks {
        None => Chunks::Whole,
        Some(WireChunks::Every(size)) => Chunks::Every(size),
        Some(WireChunks::Sizes(sizes)) => Chunks::Sizes(sizes),
        Some(WireChunks::Named(name)) if name == "bytes" => Chunks::Every(1),
        Some(WireChunks::Named(name)) => {
            return Err(Problem {
                cause: format!("unknown `chunks` {name:?}"),
                next_step: "write a list of sizes, one size, or \"bytes\"",
            });
        }
    };
    let has_zero = match &chunks {
        Chunks::Whole => false,
        Chunks::Every(size) => *size == 0,
        Chunks::Sizes(sizes) => sizes.contains(&0),
    };
    if has_zero {
        return Err(Problem {
            cause: String::from("`chunks` holds a size of 0"),
            next_step: "write sizes of 1 or more",
        });
    }
    Ok(chunks)
}

fn error_from_wire(error: Option<WireError>) -> Result<Option<ScriptError>, Problem> {
    let next_step = "write a status from 400 to 599, or \"drop\", \"hang\", \"length\", \"no_finish\", \"quota\"";
    Ok(Some(match error {
        None => return Ok(None),
        Some(WireError::Status(status @ 400..=599)) => ScriptError::Status(status),
        Some(WireError::Status(status)) => {
            return Err(Problem { cause: format!("`error` {status} is not an HTTP error"), next_step });
        }
        Some(WireError::Named(name)) => match name.as_str() {
            "drop" => ScriptError::Drop,
            "hang" => ScriptError::Hang,
            "length" => ScriptError::Length,
            "no_finish" => ScriptError::NoFinish,
            "quota" | "insufficient_quota" => ScriptError::Quota,
            _ => return Err(Problem { cause: format!("unknown `error` {name:?}"), next_step }),
        },
    }))
}

fn json_error(name: &str, form: &str, error: &serde_json::Error, entry: Option<usize>) -> ScriptFileError {
    let entry = entry.map_or_else(String::new, |entry| format!(" (entry {entry})"));
    // The position stands in the place already.
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    ScriptFileError::Entry {
        name: name.to_owned(),
        place: format!("line {}, column {}{entry}", error.line(), error.column()),
        cause: text.strip_suffix(&position).unwrap_or(&text).to_owned(),
        next_step: form.to_owned(),
    }
}

fn entry_error(name: &str, place: String, problem: Problem) -> ScriptFileError {
    ScriptFileError::Entry {
        name: name.to_owned(),
        place,
        cause: problem.cause,
        next_step: problem.next_step.to_owned(),
    }
}
