//! The tools that every program may name: files and commands in the working directory, the time, documents, and what
//! plans ask.

use std::sync::Arc;

use playhouse_lang::program::TypeKind;
use playhouse_lang::program::permits::{READ_SKILL_FILE, RUN_COMMAND};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::plan::LLM_GENERATE;
use playhouse_vm::protocol::{EffectClass, ToolSignature};

use crate::clock::{Clock, iso_text};
use crate::directory::WorkingDirectory;
use crate::resource::documents::Documents;
use crate::tool::arguments::tool;
use crate::tool::generate::LlmGenerate;
use crate::tool::registry::{AddToolError, Registry};
use crate::tool::retrieval::Retrieval;
use crate::tool::workspace::command::{Commands, RunCommand};
use crate::tool::workspace::skill_file::ReadSkillFile;
use crate::tool::workspace::{FileTool, Work};
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// Makes a built-in tool.
type Make = fn(&Ground<'_>) -> Arc<dyn Tool>;

/// The built-in tools, by name, but for those that look into documents.
const TOOLS: [(&str, Make); 10] = [
    ("LoadFile", |ground| ground.file(Work::Load)),
    ("SaveFile", |ground| ground.file(Work::Save)),
    ("ListFiles", |ground| ground.file(Work::List)),
    ("EditFile", |ground| ground.file(Work::Edit)),
    ("FindFiles", |ground| ground.file(Work::Find)),
    ("SearchFiles", |ground| ground.file(Work::Search)),
    (RUN_COMMAND, |ground| Arc::new(RunCommand::new(ground.directory, ground.commands))),
    (READ_SKILL_FILE, |ground| Arc::new(ReadSkillFile::new(ground.max_bytes))),
    ("Now", |ground| Arc::new(Now { clock: ground.clock.clone() })),
    (LLM_GENERATE, |_| Arc::new(LlmGenerate)),
];

/// Those that skills expect, whose texts name them in the words of other programs: a program that has a skill has these.
pub const FOR_SKILLS: [&str; 8] =
    [READ_SKILL_FILE, "LoadFile", "SaveFile", "ListFiles", "EditFile", "FindFiles", "SearchFiles", RUN_COMMAND];

/// What built-in tools stand on.
pub struct Ground<'a> {
    /// The folder that file tools stay below, and where commands run.
    pub directory: &'a WorkingDirectory,
    /// The clock.
    pub clock: &'a Arc<dyn Clock>,
    /// Bytes that a file may have.
    pub max_bytes: usize,
    /// The indexes of documents.
    pub indexes: &'a [Arc<Documents>],
    /// How commands run.
    pub commands: &'a Commands,
}

impl Ground<'_> {
    fn file(&self, work: Work) -> Arc<dyn Tool> {
        Arc::new(FileTool::new(work, self.directory.clone(), self.max_bytes))
    }
}

/// The names of the built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain(Retrieval::ALL.iter().map(|kind| kind.name()))
}

/// Adds those built-in tools that are wanted; rules may name the others, too.
///
/// # Errors
/// One cannot be added.
pub fn add_builtins(
    registry: &Registry,
    ground: &Ground<'_>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), AddToolError> {
    let add = |name: &str, make: &dyn Fn() -> Arc<dyn Tool>| {
        if is_wanted(name) {
            return registry.replace(make());
        }
        registry.expect(name.into());
        Ok(())
    };
    TOOLS.iter().try_for_each(|(name, make)| add(name, &|| make(ground)))?;
    Retrieval::ALL.iter().try_for_each(|kind| add(kind.name(), &|| kind.on(ground.indexes)))
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

/// `Now`.
struct Now {
    clock: Arc<dyn Clock>,
}

impl Tool for Now {
    fn signature(&self) -> ToolSignature {
        let summary = "Returns the date and time, ISO 8601 with the local offset (`2026-11-21T14:48:05-08:00`).";
        tool("Now", Vec::new(), TypeKind::Str, summary, EffectClass::ReadOnly)
    }

    fn call(&self, _context: CallContext, _arguments: Map) -> ToolFuture<'_> {
        let text = iso_text(self.clock.now(), &self.clock.zone());
        Box::pin(std::future::ready(ToolOutcome::Value(Value::from(text))))
    }
}
