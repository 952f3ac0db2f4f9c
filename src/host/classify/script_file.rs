//! The files of scripted classifiers (spec `cli.md`, "Script files").

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::classify::script::{ClassifierEntry, ClassifierError, ScriptClassifier};
use crate::llm::script::ScriptFileError;
use crate::llm::script_file::{Problem, WireRepeat, load, read_entries, regex_from_wire, repeat_from_wire};

const FORM: &str = "a classifier's script is JSON Lines or one JSON array of {\"when\"?, \"match\": [\"Playbook:T1\"]}";

impl ScriptClassifier {
    /// Reads a script file.
    ///
    /// # Errors
    /// It cannot be read, or an entry is wrong.
    pub fn load(path: &Path) -> Result<ScriptClassifier, ScriptFileError> {
        load(path, ScriptClassifier::from_text)
    }

    /// Reads the text of a script file. The name is used in messages.
    ///
    /// # Errors
    /// An entry is wrong.
    pub fn from_text(name: &str, text: &str) -> Result<ScriptClassifier, ScriptFileError> {
        Ok(ScriptClassifier::from_entries(name, entries_from_text(name, text)?))
    }
}

/// One entry as written. Unknown keys are errors: a misspelt `when` would match everything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEntry {
    when: Option<String>,
    #[serde(rename = "match")]
    matched: Option<Vec<Arc<str>>>,
    #[serde(default)]
    delay_ms: u64,
    error: Option<WireError>,
    repeat: Option<WireRepeat>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`error` is an HTTP status or a text")]
enum WireError {
    Status(u16),
    Text(Arc<str>),
}

/// Reads a script: JSON Lines, or one JSON array.
pub(crate) fn entries_from_text(name: &str, text: &str) -> Result<Vec<ClassifierEntry>, ScriptFileError> {
    read_entries(name, text, FORM, entry_from_wire)
}

fn entry_from_wire(place: Option<Arc<str>>, wire: WireEntry) -> Result<ClassifierEntry, Problem> {
    if wire.matched.is_none() && wire.error.is_none() {
        return Err(Problem {
            cause: String::from("the entry has neither `match` nor `error`"),
            next_step: "write the triggers that match, or \"match\": [] for none",
        });
    }
    let error = wire.error.map(|error| match error {
        WireError::Status(status) => {
            ClassifierError::Failed(format!("the server answered with status {status}").into())
        }
        WireError::Text(text) if &*text == "hang" => ClassifierError::Hang,
        WireError::Text(text) => ClassifierError::Failed(text),
    });
    Ok(ClassifierEntry {
        place,
        when: regex_from_wire("when", wire.when)?,
        matched: wire.matched.unwrap_or_default(),
        delay: Duration::from_millis(wire.delay_ms),
        error,
        repeat: repeat_from_wire(wire.repeat)?,
    })
}
