//! A folder of a skill: what stands in it, and what of it is wrong (spec `skills.md`, "Reading").

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use playhouse_lang::called_skills;
use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::kind;
use playhouse_lang::outline::Outline;
use playhouse_lang::source::skill::{FILE_NAME, Skill};
use playhouse_lang::span::{Sources, Span};

use crate::skills::commands::{Command, commands, network_words};
use crate::walk::files_below;

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
    /// The commands of its text.
    pub commands: Vec<Command>,
    /// What in them and in its scripts uses the network.
    pub network_words: BTreeSet<&'static str>,
}

/// Bytes of a script that is looked at, at most.
const MAX_SCRIPT: u64 = 1_000_000;

/// The `SKILL.md`s of a folder and of all folders below it.
///
/// # Errors
/// A folder cannot be read.
pub fn skills_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
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
            let message = format!("`{path}` does not exist; what this skill says to read or run there will fail");
            Diagnostic::warning("skill-dead-link", place, message)
        });
        skill.findings.extend(dead);
        let (scripts, references) = files_beside(file, folder);
        let texts: Vec<String> = [text.clone()].into_iter().chain(texts(folder, &references)).collect();
        let start = Span::new(id, skill.body.range().start, skill.body.range().start);
        for script in &scripts {
            let name = script.rsplit('/').next().unwrap_or(script);
            if !texts.iter().any(|text| text.contains(name)) {
                let message = format!("nothing names `{script}`, so nobody will run it");
                skill.findings.push(Diagnostic::warning("skill-script-unmentioned", start, message));
            }
            // Who runs `python fetch.py` needs no right to run `fetch.py`.
            let is_program =
                |command: &Command| command.name.split(' ').next().is_some_and(|run| run.ends_with(script));
            let is_run = || texts.iter().any(|text| commands(text).iter().any(is_program));
            if cannot_run(&folder.join(script)) && is_run() {
                let message = format!("`{script}` is run by its name, but the file is not executable");
                let finding = Diagnostic::warning("skill-script-not-executable", start, message);
                skill.findings.push(finding.with_note(format!("write `chmod +x {script}`")));
            }
        }
        skill.findings.sort_by_key(|finding| finding.span);
        let from = skill.body.range().start;
        let outline = Outline::find(id, &text, from);
        let calls = called_skills(&text[from..]);
        let commands = commands(&text);
        let scripts_text = scripts.iter().filter_map(|script| read_script(&folder.join(script))).collect::<Vec<_>>();
        let run = commands.iter().map(|command| command.text.as_str());
        let network_words = network_words(run.chain(scripts_text.iter().map(String::as_str)));
        let n_bytes = text[from..].trim().len();
        Ok(SkillFolder { outline, n_bytes, references, scripts, calls, commands, network_words, skill })
    }
}

/// Whether a file says what runs it, and the system would not.
fn cannot_run(script: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let may_run = script.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
        !may_run && read_script(script).is_some_and(|text| text.starts_with("#!"))
    }
    #[cfg(not(unix))]
    {
        let _ = script;
        false
    }
}

fn read_script(script: &Path) -> Option<String> {
    let is_short = script.metadata().is_ok_and(|data| data.len() <= MAX_SCRIPT);
    is_short.then(|| std::fs::read_to_string(script).ok()).flatten()
}

/// What is run, and all else but tests, by path in the folder; what cannot be listed is passed over.
fn files_beside(file: &Path, folder: &Path) -> (Vec<String>, Vec<String>) {
    let is_test = |found: &PathBuf| found.to_string_lossy().ends_with(kind::TEST);
    let files = files_below(folder).filter_map(Result::ok).filter(|found| found != file && !is_test(found));
    let inside = files.filter_map(|found| Some(found.strip_prefix(folder).ok()?.to_string_lossy().into_owned()));
    inside.partition(|path| Path::new(path).starts_with(SCRIPTS))
}

/// The texts in Markdown among these.
fn texts<'r>(folder: &'r Path, references: &'r [String]) -> impl Iterator<Item = String> + 'r {
    let markdown = references.iter().filter(|path| path.ends_with(".md"));
    markdown.filter_map(|path| std::fs::read_to_string(folder.join(path)).ok())
}
