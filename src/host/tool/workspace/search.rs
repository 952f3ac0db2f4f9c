//! `FindFiles` and `SearchFiles`: files by their names, and lines in files. What is hidden, and what a `.gitignore` names,
//! is left out.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use playhouse_lang::program::{Parameter, Type, TypeKind};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{EffectClass, ToolSignature};
use regex::{Regex, RegexBuilder};
use tokio_util::sync::CancellationToken;

use crate::text::shorten;
use crate::tool::arguments::{parameter, tool};
use crate::tool::workspace::{MAX_NAMES, Visit};
use crate::walk::{chosen, files_below};

/// What the parameter `path` is.
pub(super) const BELOW: &str = "the folder to look in, relative to the working directory";

/// Lines that `SearchFiles` gives at most.
const MAX_LINES: usize = 500;

/// Characters of a line that it gives.
const MAX_SHOWN: usize = 300;

/// How large a regular expression may become, in bytes.
const MAX_REGEX: usize = 1 << 20;

pub(super) fn find_signature(path: Parameter) -> ToolSignature {
    let pattern = parameter("pattern", TypeKind::Str, None, "as in a .gitignore: `*.py`, `src/**/test_*`");
    let summary = "Returns the sorted paths of all files whose names match a pattern, also in the folders below.";
    tool("FindFiles", vec![pattern, path], TypeKind::List, summary, EffectClass::ReadOnly)
}

pub(super) fn search_signature(path: Parameter) -> ToolSignature {
    let pattern = parameter("pattern", TypeKind::Str, None, "a regular expression, for single lines");
    let text = Type { optional: true, ..TypeKind::Str.into() };
    let glob = parameter("glob", text, Some(Value::Null), "only in files that match this pattern, as in `FindFiles`");
    let summary = "Returns all lines in files that match a regular expression, each as `path:line: text`.";
    tool("SearchFiles", vec![pattern, path, glob], TypeKind::Str, summary, EffectClass::ReadOnly)
}

pub(super) fn find(visit: Visit<'_>, pattern: &str, cancel: &CancellationToken) -> Result<Value, String> {
    let files = files(visit, Some(pattern), cancel)?;
    if files.len() > MAX_NAMES {
        let path = visit.path;
        return Err(format!("more than {MAX_NAMES} files below `{path}` match `{pattern}`; give a narrower pattern"));
    }
    Ok(Value::list(files.iter().map(|file| Value::from(file.display().to_string())).collect()))
}

pub(super) fn search(visit: Visit<'_>, arguments: &Map, cancel: &CancellationToken) -> Result<Value, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let regex = regex(text("pattern").unwrap_or_default())?;
    let mut found = String::new();
    let mut n_left = MAX_LINES;
    let files = files(visit, text("glob"), cancel)?;
    for file in files.iter().take(MAX_NAMES) {
        let name = file.display().to_string();
        // What is no text, or too large for one, holds no lines; a link that leads out is not followed.
        let Ok(content) = (Visit { path: &name, ..visit }).load() else { continue };
        for (line, content) in content.lines().enumerate().filter(|(_, content)| regex.is_match(content)) {
            if n_left == 0 {
                found += &format!("… there are more than {MAX_LINES} lines; search for less, or in fewer files\n");
                return Ok(Value::from(found));
            }
            n_left -= 1;
            // Writing into a text cannot fail.
            let _ = writeln!(found, "{name}:{}: {}", line + 1, shorten(content, MAX_SHOWN));
        }
    }
    if files.len() > MAX_NAMES {
        found += &format!("… only {MAX_NAMES} files were searched; search in fewer of them\n");
    }
    Ok(Value::from(found))
}

/// The files below a folder that fit, by their paths in the working directory; not many more than may be shown.
fn files(visit: Visit<'_>, pattern: Option<&str>, cancel: &CancellationToken) -> Result<Vec<PathBuf>, String> {
    let root = visit.directory.root();
    let folder = root.join(visit.place()?);
    if !folder.exists() {
        return Err(visit.fault("there is no such file or folder"));
    }
    let fits = chosen(&folder, pattern.map(str::to_owned).as_slice()).map_err(|(pattern, cause)| {
        format!("the pattern `{pattern}` cannot be read: {cause}; write one as `*.py` or `src/**`")
    })?;
    let found = files_below(&folder).take_while(|_| !cancel.is_cancelled()).filter_map(Result::ok);
    let found = found.filter(|file| fits(file)).take(MAX_NAMES + 1);
    let mut files: Vec<PathBuf> = found.filter_map(|file| Some(below(root, &file)?.to_owned())).collect();
    files.sort_unstable();
    Ok(files)
}

fn below<'f>(root: &Path, file: &'f Path) -> Option<&'f Path> {
    let below = file.strip_prefix(root).ok()?;
    Some(below.strip_prefix(".").unwrap_or(below))
}

fn regex(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MAX_REGEX).build().map_err(|cause| {
        format!(
            "the regular expression `{pattern}` cannot be read: {cause}; characters such as `(` need a `\\` before them"
        )
    })
}
