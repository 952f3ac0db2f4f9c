//! What differs between two programs, as data, and as text for people.

use std::fmt;
use std::sync::Arc;

use crate::analysis::diff::matching::{Matching, same_lines};
use crate::diagnostic::wording::one_line;
use crate::program::{Playbook, Program, StepId};

/// All that differs between an old program and a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramChanges {
    /// Files of the new program in its order, then those that are gone. A file that has only another name is none of
    /// them.
    pub files: Vec<(Arc<str>, ChangeKind)>,
    /// Playbooks and plans, in the same order.
    pub parts: Vec<PartChange>,
}

/// How a part differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It has another text.
    Changed,
}

/// One playbook or plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartChange {
    /// `Agent.Playbook`, or a plan's name.
    pub name: Arc<str>,
    /// How it differs.
    pub kind: ChangeKind,
    /// Lines that are not there any more: line id and text.
    pub removed: Vec<(Arc<str>, Arc<str>)>,
    /// Lines that were not there before.
    pub added: Vec<(Arc<str>, Arc<str>)>,
    /// What else of it differs, in words: `heading`, `description`, `triggers`, `notes`.
    pub others: Vec<&'static str>,
}

impl ProgramChanges {
    /// Compares two programs.
    pub fn new(old: &Program, new: &Program) -> ProgramChanges {
        let matching = Matching::new(old, new);
        let mut parts = Vec::new();
        for playbook in &new.playbooks {
            let before = old.playbooks.iter().find(|before| matching.playbook(before.id) == Some(playbook.id));
            let name = new.full_name(playbook).into();
            match before {
                Some(before) => parts.extend(changed_playbook(name, before, playbook)),
                None if playbook.implicit => {}
                None => parts.push(whole(name, ChangeKind::Added)),
            }
        }
        let is_gone = |playbook: &&Playbook| matching.playbook(playbook.id).is_none() && !playbook.implicit;
        let gone = old.playbooks.iter().filter(is_gone);
        parts.extend(gone.map(|playbook| whole(old.full_name(playbook).into(), ChangeKind::Removed)));
        for plan in &new.plans {
            let before = old.plans.iter().find(|before| before.name == plan.name);
            match before.map(|before| old.sources.text(before.span) == new.sources.text(plan.span)) {
                Some(true) => {}
                Some(false) => parts.push(whole(plan.name.clone(), ChangeKind::Changed)),
                None => parts.push(whole(plan.name.clone(), ChangeKind::Added)),
            }
        }
        let gone = old.plans.iter().filter(|plan| new.find_plan(&plan.name).is_none());
        parts.extend(gone.map(|plan| whole(plan.name.clone(), ChangeKind::Removed)));
        ProgramChanges { files: changed_files(old, new), parts }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.parts.is_empty()
    }
}

fn whole(name: Arc<str>, kind: ChangeKind) -> PartChange {
    PartChange { name, kind, removed: Vec::new(), added: Vec::new(), others: Vec::new() }
}

/// None: nothing of it differs.
fn changed_playbook(name: Arc<str>, old: &Playbook, new: &Playbook) -> Option<PartChange> {
    let same = same_lines(old, new);
    let line = |playbook: &Playbook, id: StepId| {
        let step = playbook.step(id);
        (step.label.clone(), step.text.clone())
    };
    let gone = old.steps.iter().filter(|step| same.get(step.id.0 as usize).copied().flatten().is_none());
    let come = new.steps.iter().filter(|step| !same.contains(&Some(step.id)));
    let texts = |playbook: &Playbook| -> Vec<String> {
        playbook.triggers.iter().map(|trigger| one_line(&trigger.text)).collect()
    };
    let others = [
        ("heading", one_line(&old.title) != one_line(&new.title)),
        ("description", one_line(&old.description) != one_line(&new.description)),
        ("triggers", texts(old) != texts(new)),
        ("mode", old.mode != new.mode),
        ("limits", old.limits != new.limits),
        ("notes", one_line(&old.notes) != one_line(&new.notes)),
    ];
    let change = PartChange {
        name,
        kind: ChangeKind::Changed,
        removed: gone.map(|step| line(old, step.id)).collect(),
        added: come.map(|step| line(new, step.id)).collect(),
        others: others.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect(),
    };
    let differs = !change.removed.is_empty() || !change.added.is_empty() || !change.others.is_empty();
    differs.then_some(change)
}

/// Files that were changed, added or removed.
pub fn changed_files(old: &Program, new: &Program) -> Vec<(Arc<str>, ChangeKind)> {
    let find = |program: &Program, name: &str| {
        program.sources.iter().find(|(_, file)| *file.name == *name).map(|(_, file)| file.text.clone())
    };
    let has_text = |program: &Program, text: &Arc<str>| program.sources.iter().any(|(_, file)| file.text == *text);
    let now = new.sources.iter().filter_map(|(_, file)| {
        let kind = match find(old, &file.name) {
            Some(before) if before == file.text => return None,
            Some(_) => ChangeKind::Changed,
            None if has_text(old, &file.text) => return None,
            None => ChangeKind::Added,
        };
        Some((file.name.clone(), kind))
    });
    let is_gone = |name: &str, text: &Arc<str>| find(new, name).is_none() && !has_text(new, text);
    let gone = old.sources.iter().filter(|(_, file)| is_gone(&file.name, &file.text));
    now.chain(gone.map(|(_, file)| (file.name.clone(), ChangeKind::Removed))).collect()
}

/// One line for each playbook, plan and line; `program.md: changed` only where no playbook or plan is.
impl fmt::Display for ProgramChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if self.parts.is_empty() {
            lines.extend(self.files.iter().map(|(name, kind)| format!("{name}: {kind}")));
        }
        for part in &self.parts {
            let others = if part.others.is_empty() { String::new() } else { format!(": {}", part.others.join(", ")) };
            lines.push(format!("{}: {}{others}", part.name, part.kind).replace(": changed:", ":"));
            let line =
                |sign: char, (label, text): &(Arc<str>, Arc<str>)| format!("  {sign} {label} {}", one_line(text));
            lines.extend(part.removed.iter().map(|removed| line('-', removed)));
            lines.extend(part.added.iter().map(|added| line('+', added)));
        }
        f.write_str(&lines.join("\n"))
    }
}
