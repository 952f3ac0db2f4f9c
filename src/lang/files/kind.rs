//! What a file is: whether a text in Markdown is a playbook (spec `editors.md`, section 1). Pure.

use std::ops::Range;

use crate::english::phrase::Phrase;
use crate::english::triggers::conditions::strip_when;
use crate::lower::lower_alone;
use crate::lower::settings::read_front_matter;
use crate::plan::PlanLanguage;
use crate::program::{Loop, Playbook, Step, StepKind, Trigger, TriggerKind};
use crate::source::ast::{FileTree, Section, SectionKind};
use crate::source::parse::{parse, read_beginning};
use crate::source::skill::folder_of;
use crate::span::FileId;
use crate::value::Value;

/// How the names of scripted conversations end.
pub const TEST: &str = ".test.md";

/// How the names of trigger tables end.
pub const TRIGGERS: &str = ".triggers.md";

/// How the names of files in Markdown end.
pub const MARKDOWN: [&str; 3] = [".md", ".markdown", ".pb"];

/// The kinds of files that people write for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program in Markdown, or a part of one.
    Playbook,
    /// A scripted conversation.
    Test,
    /// A trigger table.
    Triggers,
    /// A plan in JSON.
    JsonPlan,
    /// A plan in YAML.
    YamlPlan,
}

/// What a file is, by its name and its text; none: nothing of ours, or nothing that these two can tell. What another
/// file says of it (an import, a `program:`) is not known here, and by that alone a file of goals is a playbook, and a
/// file in YAML a plan.
pub fn of(name: &str, text: &str) -> Option<Kind> {
    if ends(name, &[".jmp.json", ".branch.json"]) {
        return Some(Kind::JsonPlan);
    }
    // Nobody wrote it for us, whatever stands in it.
    if folder_of(name).is_some() {
        return None;
    }
    let is_script = is_script(text);
    if !is_script && !is_markdown(name) {
        return None;
    }
    let is_named = is_script || ends(name, &[".playbook.md", ".pb"]);
    let by_name = case_of(name).or_else(|| is_named.then_some(Kind::Playbook));
    match said(text) {
        Some(is_ours) => is_ours.then_some(by_name.unwrap_or(Kind::Playbook)),
        None => by_name.or_else(|| {
            // Most texts end here: finding their headings takes a thousand times as long.
            let may_be = text.contains("###") || text.contains("import");
            (may_be && reads_as_playbook(&parse(FileId(0), text), text)).then_some(Kind::Playbook)
        }),
    }
}

/// Whether a file of this name is read as Markdown.
pub fn is_markdown(name: &str) -> bool {
    ends(name, &MARKDOWN)
}

fn ends(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The kind of test that a file of this name is, unless its front matter says that it is none of ours.
pub fn case_of(name: &str) -> Option<Kind> {
    let table = ends(name, &[TRIGGERS]).then_some(Kind::Triggers);
    ends(name, &[TEST]).then_some(Kind::Test).or(table)
}

/// The plan that a file of this name holds, if it is known from elsewhere that it is one of ours.
pub fn plan_of(name: &str) -> Option<Kind> {
    match PlanLanguage::of_file(name)? {
        Some(PlanLanguage::Dataflow) => Some(Kind::YamlPlan),
        Some(PlanLanguage::Jmp | PlanLanguage::Branch) | None => Some(Kind::JsonPlan),
    }
}

/// `#!/usr/bin/env playhouse`.
fn is_script(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or("");
    first.starts_with("#!") && first.contains("playhouse")
}

/// `playhouse: true` or `false` in front matter.
fn said(text: &str) -> Option<bool> {
    let front_matter = read_beginning(FileId(0), text).front_matter?;
    let settings = read_front_matter(text, front_matter, &mut Vec::new());
    let said = settings.iter().find(|setting| setting.key == "playhouse")?;
    if let Value::Bool(is_ours) = said.value { Some(is_ours) } else { None }
}

/// How much of a playbook is read first, in bytes.
const MAX_BEGINNING: usize = 2_000;

fn reads_as_playbook(tree: &FileTree, text: &str) -> bool {
    if tree.bodies().any(|(_, body)| !body.imports.is_empty()) {
        return true;
    }
    // At another level these headings are read, too, but there they stand in many a text.
    let is_ours = |section: &Section| section.kind != SectionKind::Notes && section.heading.marks.range().len() == 3;
    let playbooks = [&tree.preamble].into_iter().chain(&tree.agents).flat_map(|agent| &agent.playbooks);
    let playbooks: Vec<_> = playbooks.filter(|playbook| playbook.sections.iter().any(is_ours)).collect();
    // Most files end here, before a line is read.
    let Some(first) = playbooks.first() else { return false };
    let has_ours = |text: &str| {
        let (program, _) = lower_alone(text);
        let is_meant = |read: &&Playbook| playbooks.iter().any(|playbook| playbook.heading.title == read.title_span);
        program.playbooks.iter().filter(is_meant).any(|playbook| {
            playbook.steps.iter().any(|step| !is_in_words(step)) || playbook.triggers.iter().any(is_trigger)
        })
    };
    // Nearly always the beginning of the first tells; only names of others that a line has in words may be missing.
    let Range { start, end } = first.span.range();
    let cut = text.floor_char_boundary(end.min(start + MAX_BEGINNING));
    let beginning = if cut < end { text[..cut].rfind('\n') } else { None };
    beginning.is_some_and(|end| has_ours(&text[..end])) || has_ours(&text[..end]) || has_ours(text)
}

/// Whether a line is free text, or a branch or loop in words: as people write it for each other, too.
fn is_in_words(step: &Step) -> bool {
    matches!(
        step.kind,
        StepKind::Free
            | StepKind::Branch { condition: None, .. }
            | StepKind::Loop(Loop::While { condition: None } | Loop::Until { condition: None, .. })
            | StepKind::Loop(Loop::ForEach { list: None, .. } | Loop::Repeat { count: None })
    )
}

fn is_trigger(trigger: &Trigger) -> bool {
    trigger.kind != TriggerKind::Semantic || strip_when(Phrase::at(&trigger.text, trigger.span)).is_some()
}
