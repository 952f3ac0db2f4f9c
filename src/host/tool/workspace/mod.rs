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

use playhouse_lang::program::TypeKind;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};

use crate::component::paths;
use crate::directory::WorkingDirectory;
use crate::tasks;
use crate::tool::arguments::{parameter, tool};
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

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
            let result = tasks::on_thread(move || {
                let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
                let path = text("path");
                let to = |action| Visit { directory: &directory, action, path, max_bytes };
                match work {
                    Work::Load => to("load").load().map(Value::from),
                    Work::Save => to("save").save(text("text")).map(|()| Value::str(path)),
                    Work::List => to("list").list(),
                    Work::Edit => edit::edit(to("edit"), &arguments),
                    Work::Find => search::find(to("find files in"), text("pattern"), &context.cancel),
                    Work::Search => search::search(to("search"), &arguments, &context.cancel),
                }
            });
            let result = result.await.map_err(|lost| format!("the file could not be processed: {lost}")).flatten();
            result.map_or_else(ToolOutcome::Error, ToolOutcome::Value)
        })
    }
}

/// What is done with a path of the working directory.
#[derive(Clone, Copy)]
struct Visit<'a> {
    directory: &'a WorkingDirectory,
    /// As messages have it: "cannot ACTION `path`".
    action: &'a str,
    path: &'a str,
    /// Bytes that a file may have.
    max_bytes: usize,
}

impl Visit<'_> {
    /// The text of a file.
    fn load(self) -> Result<String, String> {
        let fault = |cause: io::Error| self.explain(&cause);
        let (folder, place) = (self.directory.folder(), self.place()?);
        let is_file = folder.metadata(&place).map_err(fault)?.is_file();
        if !is_file {
            // A pipe would never end, a device hold anything.
            return Err(self.fault("it is not a file; `ListFiles` shows what a folder holds"));
        }
        let mut bytes = Vec::new();
        let file = folder.open(place).map_err(fault)?;
        file.take(self.max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
        self.check_size(bytes.len())?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            self.fault(&format!("it is not text (byte {at} is not UTF-8)"))
        })
    }

    /// Writes a file's whole text.
    fn save(self, text: &str) -> Result<(), String> {
        let fault = |cause: io::Error| self.explain(&cause);
        self.check_size(text.len())?;
        let (folder, place) = (self.directory.folder(), self.place()?);
        if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            folder.create_dir_all(parent).map_err(fault)?;
        }
        if folder.metadata(&place).is_ok_and(|found| !found.is_file()) {
            return Err(self.fault("something that is not a file has this name"));
        }
        folder.write(place, text).map_err(fault)
    }

    fn list(self) -> Result<Value, String> {
        let fault = |cause: io::Error| self.explain(&cause);
        let mut names = Vec::new();
        for entry in self.directory.folder().read_dir(self.place()?).map_err(fault)? {
            names.push(paths::listed(&entry.map_err(fault)?));
            if names.len() > MAX_NAMES {
                return Err(self.fault(&format!("it holds more than {MAX_NAMES} names")));
            }
        }
        names.sort_unstable();
        Ok(Value::list(names.into_iter().map(Value::from).collect()))
    }

    /// Where the path leads below the working directory.
    fn place(self) -> Result<PathBuf, String> {
        let place = self.directory.resolve(self.path).map_err(|refused| self.fault(&refused.to_string()))?;
        Ok(if place.as_os_str().is_empty() { PathBuf::from(".") } else { place })
    }

    fn check_size(self, n_bytes: usize) -> Result<(), String> {
        let max_bytes = self.max_bytes;
        if n_bytes <= max_bytes {
            return Ok(());
        }
        Err(self.fault(&format!("it is larger than {max_bytes} bytes (limits.value_bytes); use a part of it")))
    }

    fn explain(self, cause: &io::Error) -> String {
        paths::explain(self.action, self.path, "the working directory", cause)
    }

    fn fault(self, why: &str) -> String {
        format!("cannot {} `{}`: {why}", self.action, self.path)
    }
}
