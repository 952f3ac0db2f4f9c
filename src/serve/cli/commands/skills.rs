//! Folders of skills that are checked: what was understood of each, and what is wrong with it.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Severity};
use crate::host::skills::{SkillFolder, find};
use crate::host::text::shorten;
use crate::lang::source::skill::Skill;
use crate::serve::cli::machinery::console::{Failure, count};
use crate::span::Sources;

/// Characters of a line that are shown.
const MAX_WORDS: usize = 100;

/// What was read of folders: what was understood, what was found, and the texts.
pub(super) struct Checked {
    pub(super) told: String,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) sources: Sources,
}

/// Reads all skills of the folders. What the format's own checker refuses is an error if it `is_strict`.
pub(super) fn check_skills(folders: &[PathBuf], is_strict: bool) -> Result<Checked, Failure> {
    let mut checked = Checked { told: String::new(), findings: Vec::new(), sources: Sources::default() };
    for folder in folders {
        let wrong = |why: String| Failure::wrong(format!("{}: {why}", folder.display()));
        let files = find(folder).map_err(|cause| wrong(format!("cannot read: {cause}; check the path")))?;
        if files.is_empty() {
            return Err(wrong(
                "there is no `SKILL.md` in this folder, nor below it; name the folder of a skill".to_owned(),
            ));
        }
        for file in files {
            let read = SkillFolder::read(&file, &mut checked.sources);
            let skill = read.map_err(|cause| Failure::wrong(format!("{}: cannot read: {cause}", file.display())))?;
            checked.told.push_str(&told(&skill));
            checked.findings.extend(skill.skill.findings);
        }
    }
    if is_strict {
        let refused = checked.findings.iter_mut().filter(|finding| Skill::is_refused(finding));
        refused.for_each(|finding| finding.severity = Severity::Error);
    }
    Ok(checked)
}

/// `skill pdf: steps (step headings), 6 lines, ~2300 tokens`, its lines, and what stands beside it.
fn told(folder: &SkillFolder) -> String {
    let procedures = &folder.outline.procedures;
    let lines: Vec<_> = procedures.iter().flat_map(|procedure| &procedure.lines).collect();
    let mode = match &procedures[..] {
        [] => "goal, for nothing in it is an order of things to do".to_owned(),
        [one] => format!("steps ({}), {}", one.made_of, count(lines.len(), "line")),
        several => format!("guide ({} procedures), {}", several.len(), count(lines.len(), "line")),
    };
    // About four bytes each.
    let mut told = format!("skill {}: {mode}, ~{} tokens\n", folder.skill.name, folder.n_bytes.div_ceil(4));
    for (id, line) in folder.outline.ids().iter().zip(lines) {
        told.push_str(&format!("  {id}  {}\n", shorten(&line.words, MAX_WORDS)));
    }
    let beside = [(&folder.references, "reference"), (&folder.scripts, "script")];
    let beside = beside.into_iter().filter(|(files, _)| !files.is_empty());
    let calls: Vec<&str> = folder.calls.iter().map(String::as_str).collect();
    let calls = (!calls.is_empty()).then(|| format!("calls {}", calls.join(", ")));
    let beside = beside.map(|(files, what)| count(files.len(), what));
    let beside: Vec<String> = calls.into_iter().chain(beside).collect();
    if !beside.is_empty() {
        told.push_str(&format!("  {}\n", beside.join(", ")));
    }
    told
}
