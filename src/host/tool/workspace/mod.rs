//! Tools that work on the working directory: its files, and commands in it.
//!
//! No file leads out of the working directory. Nor is anything below it touched that is in a folder whose name begins
//! with a dot.

pub mod command;
mod edit;
mod search;
pub(super) mod skill_file;

use std::io::{self, Read};
use std::path::PathBuf;

use crate::host::directory::WorkingDirectory;
use crate::host::tool::arguments::{parameter, tool};
use crate::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use crate::lang::program::TypeKind;
use crate::value::{Map, Value};
use crate::vm::protocol::{EffectClass, ToolSignature};

/// Names that `ListFiles` and `FindFiles` give at most: more would fill any model's context.
const MAX_NAMES: usize = 10_000;

/// One of the tools that work on files.
pub(super) struct FileTool {
    work: Work,
    directory: WorkingDirectory,
    max_bytes: usize,
}

/// Which.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// `LoadFile`.
    Load,
    /// `SaveFile`.
    Save,
    /// `ListFiles`.
    List,
    /// `EditFile`.
    Edit,
    /// `FindFiles`.
    Find,
    /// `SearchFiles`.
    Search,
}

impl FileTool {
    /// In this folder, with files of up to `max_bytes`.
    pub(super) fn new(work: Work, directory: WorkingDirectory, max_bytes: usize) -> FileTool {
        FileTool { work, directory, max_bytes }
    }
}

impl Tool for FileTool {
    fn signature(&self) -> ToolSignature {
        let path = |default, description: &str| parameter("path", TypeKind::Str, default, description);
        let one = || path(None, "path of the file, relative to the working directory");
        match self.work {
            Work::Load => {
                let summary = "Returns the text of a file in the working directory.";
                tool("LoadFile", vec![one()], TypeKind::Str, summary, EffectClass::ReadOnly)
            }
            Work::Save => {
                let text = parameter("text", TypeKind::Str, None, "the file's whole new text");
                let summary =
                    "Writes text to a file in the working directory, replacing what it held, and returns its path.";
                // The same text written again leaves the same file.
                tool("SaveFile", vec![one(), text], TypeKind::Str, summary, EffectClass::Idempotent)
            }
            Work::List => {
                let folder = path(Some(Value::str(".")), "a folder, relative to the working directory");
                let summary = "Lists the names in a folder of the working directory; those of folders end in `/`.";
                tool("ListFiles", vec![folder], TypeKind::List, summary, EffectClass::ReadOnly)
            }
            Work::Edit => edit::signature(one()),
            Work::Find => search::find_signature(path(Some(Value::str(".")), search::BELOW)),
            Work::Search => search::search_signature(path(Some(Value::str(".")), search::BELOW)),
        }
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        let (work, directory, max_bytes) = (self.work, self.directory.clone(), self.max_bytes);
        Box::pin(async move {
            let result = tokio::task::spawn_blocking(move || {
                let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
                let path = text("path");
                match work {
                    Work::Load => load(&directory, "load", path, max_bytes).map(Value::from),
                    Work::Save => save(&directory, "save", path, text("text"), max_bytes).map(|()| Value::str(path)),
                    Work::List => list(&directory, path),
                    Work::Edit => edit::edit(&directory, path, &arguments, max_bytes),
                    Work::Find => search::find(&directory, path, text("pattern"), &context.cancel),
                    Work::Search => search::search(&directory, path, &arguments, max_bytes, &context.cancel),
                }
            });
            match result.await {
                Ok(Ok(value)) => ToolOutcome::Value(value),
                Ok(Err(fault)) => ToolOutcome::Error(fault),
                Err(lost) => ToolOutcome::Error(format!("the file could not be processed: {lost}")),
            }
        })
    }
}

/// The text of a file, for what is done with it.
fn load(directory: &WorkingDirectory, action: &str, path: &str, max_bytes: usize) -> Result<String, String> {
    let fault = |cause: io::Error| explain(action, path, &cause);
    let (folder, place) = (directory.folder(), place(directory, action, path)?);
    let is_file = folder.metadata(&place).map_err(fault)?.is_file();
    if !is_file {
        // A pipe would never end, a device hold anything.
        return Err(format!("cannot {action} `{path}`: it is not a file; `ListFiles` shows what a folder holds"));
    }
    let mut bytes = Vec::new();
    folder.open(place).map_err(fault)?.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
    check_size(action, path, bytes.len(), max_bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("cannot {action} `{path}`: it is not text (byte {at} is not UTF-8)")
    })
}

/// Writes a file's whole text.
fn save(directory: &WorkingDirectory, action: &str, path: &str, text: &str, max_bytes: usize) -> Result<(), String> {
    let fault = |cause: io::Error| explain(action, path, &cause);
    check_size(action, path, text.len(), max_bytes)?;
    let (folder, place) = (directory.folder(), place(directory, action, path)?);
    if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create_dir_all(parent).map_err(fault)?;
    }
    if folder.metadata(&place).is_ok_and(|found| !found.is_file()) {
        return Err(format!("cannot {action} `{path}`: something that is not a file has this name"));
    }
    folder.write(place, text).map_err(fault)
}

fn list(directory: &WorkingDirectory, path: &str) -> Result<Value, String> {
    let fault = |cause: io::Error| explain("list", path, &cause);
    let mut names = Vec::new();
    for entry in directory.folder().read_dir(place(directory, "list", path)?).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let mut name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            name.push('/');
        }
        names.push(name);
        if names.len() > MAX_NAMES {
            return Err(format!("cannot list `{path}`: it holds more than {MAX_NAMES} names"));
        }
    }
    names.sort_unstable();
    Ok(Value::list(names.into_iter().map(Value::from).collect()))
}

/// Where a path leads below the working directory.
fn place(directory: &WorkingDirectory, action: &str, path: &str) -> Result<PathBuf, String> {
    let place = directory.resolve(path).map_err(|refused| format!("cannot {action} `{path}`: {refused}"))?;
    Ok(if place.as_os_str().is_empty() { PathBuf::from(".") } else { place })
}

fn check_size(action: &str, path: &str, n_bytes: usize, max_bytes: usize) -> Result<(), String> {
    if n_bytes <= max_bytes {
        return Ok(());
    }
    Err(format!("cannot {action} `{path}`: it is larger than {max_bytes} bytes (limits.value_bytes); use a part of it"))
}

fn explain(action: &str, path: &str, cause: &io::Error) -> String {
    let kind = cause.kind();
    let why = if kind == io::ErrorKind::NotFound {
        "there is no such file or folder".to_owned()
    } else if kind == io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none() {
        // cap-std's answer to whatever would leave the folder.
        "it is outside the working directory; paths are relative to that folder".to_owned()
    } else {
        cause.to_string()
    };
    format!("cannot {action} `{path}`: {why}")
}
