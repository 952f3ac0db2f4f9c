//! Folders of skills that are checked: what was understood of each, and what is wrong with it.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Severity};
use crate::host::skills::commands::Command;
use crate::host::skills::folder::{SkillFolder, skills_below};
use crate::host::text::shorten;
use crate::lang::analysis::CALL_CIRCLE;
use crate::lang::program::permits::{Permission, Permits, RUN_COMMAND};
use crate::lang::source::skill::Skill;
use crate::lang::{LoadOptions, SourceText, load};
use crate::serve::cli::machinery::console::{Failure, count};
use crate::span::{SourceFile, Sources};

/// Characters of a line that are shown.
const MAX_WORDS: usize = 100;

/// What was read of folders: what was understood, what was found, and the texts.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) told: String,
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) sources: Sources,
}

/// Reads all skills of the folders. What the format's own checker refuses is an error if it `is_strict`.
pub(crate) fn check_skills(folders: &[PathBuf], is_strict: bool) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    for folder in folders {
        let wrong = |why: String| Failure::wrong(format!("{}: {why}", folder.display()));
        let files = skills_below(folder).map_err(|cause| wrong(format!("cannot read: {cause}; check the path")))?;
        if files.is_empty() {
            return Err(wrong(
                "there is no `SKILL.md` in this folder or below it; name the folder of a skill".to_owned(),
            ));
        }
        for file in files {
            let read = SkillFolder::read(&file, &mut checked.sources);
            let skill = read.map_err(|cause| Failure::wrong(format!("{}: cannot read: {cause}", file.display())))?;
            checked.told.push_str(&told(&skill));
            checked.findings.extend(skill.skill.findings);
        }
    }
    checked.findings.extend(circles(&checked.sources));
    if is_strict {
        let refused = checked.findings.iter_mut().filter(|finding| Skill::is_refused(finding));
        refused.for_each(|finding| finding.severity = Severity::Error);
    }
    Ok(checked)
}

/// What can be said of these skills only together: which of them call each other without an end. Their texts have the same
/// places in a program of them.
fn circles(sources: &Sources) -> Vec<Diagnostic> {
    let text = |file: &SourceFile| SourceText { name: file.name.to_string(), text: file.text.to_string() };
    let roots = sources.iter().map(|(_, file)| text(file)).collect();
    let options = LoadOptions { open_world: true, ..LoadOptions::default() };
    let loaded = load(roots, &mut |_| Err(String::new()), &options);
    loaded.diagnostics.into_iter().filter(|finding| finding.code == CALL_CIRCLE).collect()
}

/// `skill pdf: steps (step headings), 6 lines, ~2300 tokens`, its lines with the commands below them, and what stands beside it.
pub(crate) fn told(folder: &SkillFolder) -> String {
    let lines: Vec<_> = folder.outline.lines().collect();
    let mode = match &folder.outline.procedures[..] {
        [] => "goal, because nothing in it is a procedure".to_owned(),
        [one] => format!("steps ({}), {}", one.made_of, count(lines.len(), "line")),
        several => format!("guide ({} procedures), {}", several.len(), count(lines.len(), "line")),
    };
    // About four bytes each.
    let mut told = format!("skill {}: {mode}, ~{} tokens\n", folder.skill.name, folder.n_bytes.div_ceil(4));
    // A command belongs to the innermost line around it.
    let holder = |command: &Command| lines.iter().rposition(|line| line.whole.range().contains(&command.at));
    let held = |at: Option<usize>| folder.commands.iter().filter(move |command| holder(command) == at);
    let words: Vec<_> = lines.iter().map(|line| shorten(&line.words, MAX_WORDS)).collect();
    let with_commands = words.iter().enumerate().filter(|(at, _)| held(Some(*at)).next().is_some());
    let width = with_commands.map(|(_, words)| words.chars().count()).max().unwrap_or(0);
    for (at, (id, words)) in folder.outline.ids().iter().zip(&words).enumerate() {
        let commands = commands_told(folder, held(Some(at)));
        let line = if commands.is_empty() { words.to_string() } else { format!("{words:width$}  {commands}") };
        told.push_str(&format!("  {id}  {line}\n"));
    }
    let others = commands_told(folder, held(None));
    if !others.is_empty() {
        told.push_str(&format!("  {others}\n"));
    }
    told.push_str(&format!("  {}\n", beside(folder)));
    told
}

/// `commands: npm test | cargo test (asks)`; `asks` stands where the skill does not say that it needs one of them.
fn commands_told<'c>(folder: &SkillFolder, commands: impl Iterator<Item = &'c Command>) -> String {
    let (mut names, mut asks): (Vec<&str>, bool) = (Vec::new(), false);
    let permits = Permits::read(folder.skill.allowed_tools().as_deref(), &folder.skill.disallowed_tools());
    for command in commands {
        asks |= permits.of(RUN_COMMAND, Some(&command.text)) != Permission::Given;
        if !names.contains(&command.name.as_str()) {
            names.push(&command.name);
        }
    }
    let asks = if asks { " (asks)" } else { "" };
    if names.is_empty() { String::new() } else { format!("commands: {}{asks}", names.join(" | ")) }
}

/// `calls skill tea · 1 reference · no scripts, network words`.
fn beside(folder: &SkillFolder) -> String {
    let names: Vec<&str> = folder.calls.iter().map(String::as_str).collect();
    let words: Vec<&str> = folder.network_words.iter().copied().collect();
    let there = [
        (!names.is_empty()).then(|| format!("calls skill {}", names.join(", "))),
        (!folder.references.is_empty()).then(|| count(folder.references.len(), "reference")),
        (!folder.scripts.is_empty()).then(|| count(folder.scripts.len(), "script")),
        (!words.is_empty()).then(|| format!("network words: {}", words.join(", "))),
    ];
    let missing = there[1..].iter().zip(["references", "scripts", "network words"]);
    let missing: Vec<&str> = missing.filter(|(there, _)| there.is_none()).map(|(_, what)| what).collect();
    let missing = (!missing.is_empty()).then(|| format!("no {}", missing.join(", ")));
    there.into_iter().flatten().chain(missing).collect::<Vec<_>>().join(" · ")
}
