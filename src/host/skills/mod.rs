//! Folders of skills: what stands in them, and what of it is wrong (spec `skills.md`, "Reading").

pub mod options;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::host::walk::files_below;
use crate::lang::called_skills;
use crate::lang::outline::Outline;
use crate::lang::source::skill::{FILE_NAME, Skill};
use crate::span::{Sources, Span};

/// Where a skill keeps what is run.
const SCRIPTS: &str = "scripts";

/// A folder with a `SKILL.md`.
#[derive(Debug)]
pub struct SkillFolder {
    /// What its `SKILL.md` says, and all that was found.
    pub skill: Skill,
    /// What is to be done, as far as its text has an order.
    pub outline: Outline,
    /// How many bytes its text has without the front matter: what a model reads at each call.
    pub n_bytes: usize,
    /// Files that its text may name, by their paths in the folder.
    pub references: Vec<String>,
    /// The same of what is run.
    pub scripts: Vec<String>,
    /// Other skills that its text calls, by their names.
    pub calls: BTreeSet<String>,
}

/// The `SKILL.md`s of a folder and of all folders below it.
///
/// # Errors
/// A folder cannot be read.
pub fn find(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_skill = |file: &PathBuf| file.file_name().is_some_and(|name| name == FILE_NAME);
    let mut found = Vec::new();
    for file in files_below(folder) {
        found.extend(Some(file.map_err(io::Error::other)?).filter(is_skill));
    }
    Ok(found)
}

impl SkillFolder {
    /// Reads a `SKILL.md` with the folder that it stands in.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn read(file: &Path, sources: &mut Sources) -> io::Result<SkillFolder> {
        let text = std::fs::read_to_string(file)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        // `.` has a name, too.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = sources.add(file.display().to_string(), text.as_str());
        let mut skill = Skill::read(id, &name, &text);
        let links = skill.links(&text).into_iter().filter(|(_, path)| !folder.join(path).exists());
        let dead = links.map(|(place, path)| {
            let message = format!("`{path}` is not there; what this skill tells to read or run there will fail");
            Diagnostic::warning("skill-dead-link", place, message)
        });
        skill.findings.extend(dead);
        let (scripts, references) = files_beside(file, folder);
        let texts: Vec<String> = [text.clone()].into_iter().chain(texts(folder, &references)).collect();
        for script in &scripts {
            let name = script.rsplit('/').next().unwrap_or(script);
            if !texts.iter().any(|text| text.contains(name)) {
                let message = format!("`{script}` is named nowhere, so nobody will run it");
                let start = Span::new(id, skill.body.range().start, skill.body.range().start);
                skill.findings.push(Diagnostic::warning("skill-script-unmentioned", start, message));
            }
        }
        skill.findings.sort_by_key(|finding| finding.span);
        let from = skill.body.range().start;
        let outline = Outline::find(id, &text, from);
        let calls = called_skills(&text[from..]);
        Ok(SkillFolder { outline, n_bytes: text[from..].trim().len(), references, scripts, calls, skill })
    }
}

/// What is run, and all else, by path in the folder; what cannot be listed is passed over.
fn files_beside(file: &Path, folder: &Path) -> (Vec<String>, Vec<String>) {
    let files = files_below(folder).filter_map(Result::ok).filter(|found| found != file);
    let inside = files.filter_map(|found| Some(found.strip_prefix(folder).ok()?.to_string_lossy().into_owned()));
    inside.partition(|path| Path::new(path).starts_with(SCRIPTS))
}

/// The texts in Markdown among these.
fn texts<'r>(folder: &'r Path, references: &'r [String]) -> impl Iterator<Item = String> + 'r {
    let markdown = references.iter().filter(|path| path.ends_with(".md"));
    markdown.filter_map(|path| std::fs::read_to_string(folder.join(path)).ok())
}
