//! Canned tools: `--tools FILE` (spec `cli.md`, "Script files"). A JSON object, name to
//! `{description?, args?, required?, responses, delay_ms?, effect?, log?}`:
//!
//! - `args`: names of the parameters, or an object of names and types (`{"order_id": "str"}`); without it, the
//!   names that any `when` mentions. `required`: those that a call must give.
//! - `responses`: `{"return": JSON}`, `{"error": text}`, either with `"when": {name: value}`. The first whose
//!   `when` fits answers; else those without `when` in order, the last one again and again.
//! - `effect`: `read_only`, `idempotent` or `write` (default).
//! - `log`: a file below the working directory that gets one line per call before it is answered, synced:
//!   `call_id name arguments`.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cap_std::fs::{Dir, OpenOptions};
use indexmap::IndexMap;
use playhouse_lang::program::{Signature, Type};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{CallId, EffectClass, StartCall, ToolSignature};
use serde::Deserialize;

use crate::directory::WorkingDirectory;
use crate::journal::wire::{EffectWire, TypeWire, present};
use crate::tasks;
use crate::tool::arguments::parameter;
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// Why a file of canned tools cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CannedError {
    /// It cannot be read.
    #[error("{path}: cannot read the tools: {cause}; check the path given with --tools, or as `canned_tools`")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It is not of the form that is wanted.
    #[error("{path}: {cause}; a tool is written `\"Name\": {{\"args\": [\"a\"], \"responses\": [{{\"return\": 1}}]}}`")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolEntry {
    #[serde(default)]
    description: String,
    args: Option<ArgsEntry>,
    #[serde(default)]
    required: Vec<Arc<str>>,
    responses: Vec<ResponseEntry>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default, with = "EffectWire")]
    effect: EffectClass,
    log: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ArgsEntry {
    Names(Vec<Arc<str>>),
    Types(IndexMap<Arc<str>, TypeWire>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseEntry {
    when: Option<IndexMap<Arc<str>, Value>>,
    #[serde(rename = "return", default, deserialize_with = "present")]
    value: Option<Value>,
    error: Option<String>,
}

/// Reads a file of canned tools.
///
/// # Errors
/// It cannot be read, or is not of the form above.
pub fn load(path: &Path, directory: &WorkingDirectory) -> Result<Vec<Arc<dyn Tool>>, CannedError> {
    let text = std::fs::read_to_string(path).map_err(|cause| CannedError::Io { path: path.to_owned(), cause })?;
    from_text(&text, directory).map_err(|cause| CannedError::Form { path: path.to_owned(), cause })
}

/// Reads the text of a file of canned tools.
///
/// # Errors
/// What is wrong, and where.
pub fn from_text(text: &str, directory: &WorkingDirectory) -> Result<Vec<Arc<dyn Tool>>, String> {
    let entries: IndexMap<Arc<str>, ToolEntry> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let tools = entries.into_iter().map(|(name, entry)| {
        let tool = Canned::new(name.clone(), entry, directory).map_err(|cause| format!("tool `{name}`: {cause}"))?;
        Ok(Arc::new(tool) as Arc<dyn Tool>)
    });
    tools.collect()
}

struct Canned {
    signature: ToolSignature,
    conditional: Vec<(IndexMap<Arc<str>, Value>, ToolOutcome)>,
    in_order: Vec<ToolOutcome>,
    delay: Duration,
    log: Option<(Arc<Dir>, PathBuf)>,
    chosen: Mutex<Chosen>,
}

/// Which of the responses in order each call has got. Chosen when the call begins, in replay too: so a call that
/// is started again after a crash has the same answer, and the next one the next.
#[derive(Default)]
struct Chosen {
    n_given: HashMap<Arc<str>, usize>,
    of_call: HashMap<(Arc<str>, CallId), usize>,
}

impl Canned {
    fn new(name: Arc<str>, entry: ToolEntry, directory: &WorkingDirectory) -> Result<Canned, String> {
        let mut conditional = Vec::new();
        let mut in_order = Vec::new();
        let mut mentioned: IndexMap<Arc<str>, TypeWire> = IndexMap::new();
        for (index, response) in entry.responses.into_iter().enumerate() {
            let outcome = match (response.value, response.error) {
                (Some(value), None) => ToolOutcome::Value(value),
                (None, Some(error)) => ToolOutcome::Error(error),
                _ => return Err(format!("response {} must have either `return` or `error`", index + 1)),
            };
            match response.when {
                Some(when) => {
                    mentioned.extend(when.keys().map(|name| (name.clone(), TypeWire(Type::ANY))));
                    conditional.push((when, outcome));
                }
                None => in_order.push(outcome),
            }
        }
        let args = match entry.args {
            Some(ArgsEntry::Types(types)) => types,
            Some(ArgsEntry::Names(names)) => names.into_iter().map(|name| (name, TypeWire(Type::ANY))).collect(),
            None => {
                mentioned.extend(entry.required.iter().map(|name| (name.clone(), TypeWire(Type::ANY))));
                mentioned
            }
        };
        if let Some(stranger) = entry.required.iter().find(|name| !args.contains_key(*name)) {
            return Err(format!("`required` names `{stranger}`, which is not among `args`"));
        }
        let parameters = args.into_iter().map(|(name, ty)| {
            let is_required = entry.required.contains(&name);
            let ty = Type { optional: ty.0.optional || !is_required, ..ty.0 };
            parameter(&name, ty, (!is_required).then_some(Value::Null), "")
        });
        let signature =
            Signature { name, parameters: parameters.collect(), returns: Type::ANY, summary: entry.description.into() };
        Ok(Canned {
            signature: ToolSignature::new(signature, entry.effect),
            conditional,
            in_order,
            delay: Duration::from_millis(entry.delay_ms),
            log: entry.log.map(|path| (directory.folder().clone(), path)),
            chosen: Mutex::default(),
        })
    }

    fn answer(&self, context: &CallContext, arguments: &Map) -> ToolOutcome {
        if let Some((_, outcome)) = self.conditional.iter().find(|(when, _)| fits(when, arguments)) {
            return outcome.clone();
        }
        let number = context.call_id.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let place = chosen.of_call.get(&(context.session.clone(), CallId(number))).copied().unwrap_or(0);
        match self.in_order.get(place.min(self.in_order.len().saturating_sub(1))) {
            Some(outcome) => outcome.clone(),
            None => ToolOutcome::Error(format!("no canned response fits these arguments{}", self.mistyped(arguments))),
        }
    }

    /// Which argument would fit if its type were another: a number is never equal to a text.
    fn mistyped(&self, arguments: &Map) -> String {
        let wanted = self.conditional.iter().flat_map(|(when, _)| when);
        let mut mistyped = wanted.filter_map(|(name, wanted)| {
            let given = arguments.get(&**name)?;
            let is_near = given != wanted && given.to_text() == wanted.to_text();
            is_near.then(|| format!("; `{name}` is {}, and `when` has {}", given.to_json(), wanted.to_json()))
        });
        mistyped.next().unwrap_or_default()
    }
}

impl Tool for Canned {
    fn signature(&self) -> ToolSignature {
        self.signature.clone()
    }

    /// Those of all its answers together.
    fn fields(&self) -> Option<Vec<Arc<str>>> {
        let outcomes = self.conditional.iter().map(|(_, outcome)| outcome).chain(&self.in_order);
        let maps = outcomes.filter_map(|outcome| {
            if let ToolOutcome::Value(Value::Map(members)) = outcome { Some(members.keys().cloned()) } else { None }
        });
        Some(maps.flatten().collect())
    }

    fn is_recorded(&self) -> bool {
        false
    }

    fn begun(&self, session: &str, call: &StartCall) {
        let arguments = call.argument_map();
        if self.conditional.iter().any(|(when, _)| fits(when, &arguments)) {
            return;
        }
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::from(session), call.call);
        if !chosen.of_call.contains_key(&key) {
            let n_given = chosen.n_given.entry(session.into()).or_insert(0);
            let place = *n_given;
            *n_given += 1;
            chosen.of_call.insert(key, place);
        }
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        Box::pin(async move {
            if let Some((folder, path)) = self.log.clone() {
                let name = &self.signature.signature.name;
                let line = format!("{} {name} {}\n", context.call_id, Value::map(arguments.clone()));
                let written = tasks::on_thread(move || append(&folder, &path, &line)).await;
                if let Err(cause) = written.map_err(std::io::Error::other).flatten() {
                    return ToolOutcome::Error(format!("the call could not be logged: {cause}"));
                }
            }
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            self.answer(&context, &arguments)
        })
    }
}

fn append(folder: &Dir, path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = folder.open_with(path, OpenOptions::new().append(true).create(true))?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

/// Whether each argument that `when` names has the value it wants; one that is left out counts as null.
fn fits(when: &IndexMap<Arc<str>, Value>, arguments: &Map) -> bool {
    when.iter().all(|(name, wanted)| arguments.get(&**name).unwrap_or(&Value::Null) == wanted)
}
