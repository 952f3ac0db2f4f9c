//! `ReadSkillFile`: the files that stand beside the text of a skill, for that skill alone (spec `skills.md`, "Execution").

use std::path::Path;

use playhouse_lang::program::TypeKind;
use playhouse_lang::program::permits::{FOLDER_MARKS, READ_SKILL_FILE};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};

use crate::directory::WorkingDirectory;
use crate::tasks;
use crate::tool::arguments::{parameter, tool};
use crate::tool::workspace::Visit;
use crate::tool::{CallContext, Tool, ToolFuture, ToolOutcome};

/// Lines of a page, if nobody says how many.
const N_LINES: i64 = 400;

/// Bytes of a page: what a model reads at once.
const PAGE_BYTES: usize = 16_000;

/// `ReadSkillFile(path, from, lines)`.
pub(in crate::tool) struct ReadSkillFile {
    max_bytes: usize,
}

impl ReadSkillFile {
    /// The files may have up to so many bytes.
    pub(in crate::tool) fn new(max_bytes: usize) -> ReadSkillFile {
        ReadSkillFile { max_bytes }
    }
}

impl Tool for ReadSkillFile {
    fn signature(&self) -> ToolSignature {
        let parameters = vec![
            parameter("path", TypeKind::Str, None, "path of the file in the skill's folder, as its text names it"),
            parameter("from", TypeKind::Int, Some(Value::Int(1)), "the first line to read"),
            parameter("lines", TypeKind::Int, Some(Value::Int(N_LINES)), "how many lines to read"),
        ];
        let summary = "Reads a file that belongs to the running skill: its text counts as the skill's own.";
        tool(READ_SKILL_FILE, parameters, TypeKind::Str, summary, EffectClass::ReadOnly)
    }

    fn call(&self, context: CallContext, arguments: Map) -> ToolFuture<'_> {
        let max_bytes = self.max_bytes;
        Box::pin(async move {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
            let number = |name: &str| match arguments.get(name) {
                Some(Value::Int(number)) => usize::try_from(*number).unwrap_or(0),
                _ => 0,
            };
            let (from, n_lines) = (number("from").max(1), number("lines").max(1));
            let Some(folder) = context.skill else {
                let fault = format!("cannot read `{path}`: no skill makes this call; `LoadFile` reads other files");
                return ToolOutcome::Error(fault);
            };
            let read = tasks::on_thread(move || read(&folder, &path, from, n_lines, max_bytes)).await;
            let text = read.map_err(|lost| format!("the file could not be read: {lost}")).flatten();
            text.map_or_else(ToolOutcome::Error, |text| ToolOutcome::Value(Value::from(text)))
        })
    }
}

fn read(folder: &Path, path: &str, from: usize, n_lines: usize, max_bytes: usize) -> Result<String, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let directory = WorkingDirectory::open(folder)
        .map_err(|cause| format!("cannot read `{path}`: the skill's folder `{}`: {cause}", folder.display()))?;
    let inside = FOLDER_MARKS.iter().find_map(|mark| path.strip_prefix(mark)).unwrap_or(path);
    let inside = inside.trim_start_matches('/');
    let text = Visit { directory: &directory, action: "read", path: inside, max_bytes }.load()?;
    page(&text, path, from, n_lines)
}

/// So many lines of a text, and how the next ones are read.
fn page(text: &str, path: &str, from: usize, n_lines: usize) -> Result<String, String> {
    let n_all = text.lines().count();
    if from > n_all && n_all > 0 {
        return Err(format!("cannot read `{path}` from line {from}: it has {n_all} lines"));
    }
    let (mut page, mut n_read) = (String::new(), 0);
    for line in text.lines().skip(from - 1).take(n_lines) {
        // A longer line is a page of its own.
        if n_read > 0 && page.len() + line.len() > PAGE_BYTES {
            break;
        }
        page.push_str(line);
        page.push('\n');
        n_read += 1;
    }
    let next = from + n_read;
    if next <= n_all {
        let n_left = n_all - next + 1;
        page.push_str(&format!("… {n_left} more lines: {READ_SKILL_FILE}(\"{path}\", from={next})\n"));
    }
    Ok(page)
}
