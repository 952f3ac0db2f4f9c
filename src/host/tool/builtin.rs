//! The tools that every program may name: files below the working directory, the time, documents, and what plans ask.
//!
//! No file leads out of the working directory. Nor is anything below it touched that is in a folder whose name begins
//! with a dot.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use crate::host::clock::{Clock, iso_text};
use crate::host::directory::WorkingDirectory;
use crate::host::resource::documents::Documents;
use crate::host::tool::arguments::{parameter, tool};
use crate::host::tool::generate::LlmGenerate;
use crate::host::tool::registry::{AddToolError, Registry};
use crate::host::tool::retrieval::Retrieval;
use crate::host::tool::skill_file::ReadSkillFile;
use crate::host::tool::{CallContext, Tool, ToolFuture, ToolOutcome};
use crate::lang::program::TypeKind;
use crate::lang::program::permits::{READ_SKILL_FILE, RUN_COMMAND};
use crate::value::{Map, Value};
use crate::vm::plan::LLM_GENERATE;
use crate::vm::protocol::{EffectClass, ToolSignature};

/// Names that `ListFiles` gives at most: more would fill any model's context.
const MAX_NAMES: usize = 10_000;

/// Makes a built-in tool.
type Make = fn(&Ground<'_>) -> Arc<dyn Tool>;

/// The built-in tools, by name.
const TOOLS: [(&str, Make); 12] = [
    ("LoadFile", |ground| ground.file(Work::Load)),
    ("SaveFile", |ground| ground.file(Work::Save)),
    ("ListFiles", |ground| ground.file(Work::List)),
    (READ_SKILL_FILE, |ground| Arc::new(ReadSkillFile { max_bytes: ground.max_bytes })),
    ("Now", |ground| Arc::new(Now { clock: ground.clock.clone() })),
    (LLM_GENERATE, |_| Arc::new(LlmGenerate)),
    (Retrieval::Search.name(), |ground| Retrieval::Search.on(ground.indexes)),
    (Retrieval::Read.name(), |ground| Retrieval::Read.on(ground.indexes)),
    (Retrieval::LookUp.name(), |ground| Retrieval::LookUp.on(ground.indexes)),
    (Retrieval::KnowledgeGraph.name(), |ground| Retrieval::KnowledgeGraph.on(ground.indexes)),
    (Retrieval::EmbeddedChunks.name(), |ground| Retrieval::EmbeddedChunks.on(ground.indexes)),
    (Retrieval::VectorSearch.name(), |ground| Retrieval::VectorSearch.on(ground.indexes)),
];

/// Those that skills expect, whose texts name them in the words of other programs: a program that has a skill has these.
pub const FOR_SKILLS: [&str; 8] =
    [READ_SKILL_FILE, "LoadFile", "SaveFile", "ListFiles", "EditFile", "FindFiles", "SearchFiles", RUN_COMMAND];

/// What built-in tools stand on.
struct Ground<'a> {
    /// The folder that file tools stay below.
    directory: &'a WorkingDirectory,
    /// The clock.
    clock: &'a Arc<dyn Clock>,
    /// Bytes that a file may have.
    max_bytes: usize,
    /// The indexes of documents.
    indexes: &'a [Arc<Documents>],
}

impl Ground<'_> {
    fn file(&self, work: Work) -> Arc<dyn Tool> {
        Arc::new(FileTool { work, directory: self.directory.clone(), max_bytes: self.max_bytes })
    }
}

/// The names of the built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// Adds those built-in tools that are wanted; rules may name the others, too. Files may have up to `max_bytes`.
///
/// # Errors
/// One cannot be added.
pub fn add_builtins(
    registry: &Registry,
    directory: &WorkingDirectory,
    clock: Arc<dyn Clock>,
    max_bytes: usize,
    indexes: &[Arc<Documents>],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), AddToolError> {
    let ground = Ground { directory, clock: &clock, max_bytes, indexes };
    for (name, make) in TOOLS {
        if is_wanted(name) {
            registry.replace(make(&ground))?;
        } else {
            registry.expect(name.into());
        }
    }
    Ok(())
}

/// Where a program's text names a built-in tool first, in bytes. A name that is also an English word (`Now`) is one before
/// a bracket, and between marks: `Now()`, `` `Now` ``, `allow: [Now]`.
pub fn named_at(name: &str, text: &str) -> Option<usize> {
    let is_word = !name.chars().skip(1).any(|c| c.is_uppercase() || c == '_');
    text.match_indices(name).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_marked = after == Some('(') || before.is_some_and(|c| matches!(c, '`' | '"' | '\'' | '['));
        !goes_on(before) && !goes_on(after) && (is_marked || !is_word)
    })
}

/// `LoadFile`, `SaveFile` or `ListFiles`.
struct FileTool {
    work: Work,
    directory: WorkingDirectory,
    max_bytes: usize,
}

#[derive(Clone, Copy)]
enum Work {
    Load,
    Save,
    List,
}

impl Tool for FileTool {
    fn signature(&self) -> ToolSignature {
        let path = |default, description: &str| parameter("path", TypeKind::Str, default, description);
        let one = || path(None, "path of the file, relative to the working directory");
        match self.work {
            Work::Load => {
                let summary = "Gives the text of a file in the working directory.";
                tool("LoadFile", vec![one()], TypeKind::Str, summary, EffectClass::ReadOnly)
            }
            Work::Save => {
                let text = parameter("text", TypeKind::Str, None, "the file's whole new text");
                let summary =
                    "Writes a text to a file in the working directory, in place of what it held, and gives its path.";
                // The same text written again leaves the same file.
                tool("SaveFile", vec![one(), text], TypeKind::Str, summary, EffectClass::Idempotent)
            }
            Work::List => {
                let folder = path(Some(Value::str(".")), "a folder, relative to the working directory");
                let summary = "Lists the names in a folder of the working directory; those of folders end in `/`.";
                tool("ListFiles", vec![folder], TypeKind::List, summary, EffectClass::ReadOnly)
            }
        }
    }

    fn call(&self, _context: CallContext, arguments: Map) -> ToolFuture<'_> {
        let (work, directory, max_bytes) = (self.work, self.directory.clone(), self.max_bytes);
        Box::pin(async move {
            let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (path, text) = (text("path"), text("text"));
            let result = tokio::task::spawn_blocking(move || match work {
                Work::Load => load(&directory, &path, max_bytes),
                Work::Save => save(&directory, &path, &text, max_bytes),
                Work::List => list(&directory, &path),
            });
            match result.await {
                Ok(Ok(value)) => ToolOutcome::Value(value),
                Ok(Err(fault)) => ToolOutcome::Error(fault),
                Err(lost) => ToolOutcome::Error(format!("the file could not be worked on: {lost}")),
            }
        })
    }
}

pub(super) fn load(directory: &WorkingDirectory, path: &str, max_bytes: usize) -> Result<Value, String> {
    let fault = |cause: io::Error| explain("load", path, &cause);
    let (folder, place) = (directory.folder(), place(directory, "load", path)?);
    let is_file = folder.metadata(&place).map_err(fault)?.is_file();
    if !is_file {
        // A pipe would never end, a device hold anything.
        return Err(format!("cannot load `{path}`: it is not a file; `ListFiles` shows what a folder holds"));
    }
    let mut bytes = Vec::new();
    folder.open(place).map_err(fault)?.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
    check_size("load", path, bytes.len(), max_bytes)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Value::str(text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(format!("cannot load `{path}`: it is no text (byte {at} is not UTF-8)"))
        }
    }
}

fn save(directory: &WorkingDirectory, path: &str, text: &str, max_bytes: usize) -> Result<Value, String> {
    let fault = |cause: io::Error| explain("save", path, &cause);
    check_size("save", path, text.len(), max_bytes)?;
    let (folder, place) = (directory.folder(), place(directory, "save", path)?);
    if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create_dir_all(parent).map_err(fault)?;
    }
    if folder.metadata(&place).is_ok_and(|found| !found.is_file()) {
        return Err(format!("cannot save `{path}`: something that is not a file has this name"));
    }
    folder.write(place, text).map_err(fault)?;
    Ok(Value::str(path))
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
        "it lies outside of the working directory; paths are relative to it".to_owned()
    } else {
        cause.to_string()
    };
    format!("cannot {action} `{path}`: {why}")
}

/// `Now`.
struct Now {
    clock: Arc<dyn Clock>,
}

impl Tool for Now {
    fn signature(&self) -> ToolSignature {
        let summary = "Gives the date and time, ISO 8601 with the local offset (`2026-11-21T14:48:05-08:00`).";
        tool("Now", Vec::new(), TypeKind::Str, summary, EffectClass::ReadOnly)
    }

    fn call(&self, _context: CallContext, _arguments: Map) -> ToolFuture<'_> {
        let text = iso_text(self.clock.now(), &self.clock.zone());
        Box::pin(std::future::ready(ToolOutcome::Value(Value::from(text))))
    }
}
