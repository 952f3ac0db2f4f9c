//! A playbook as an Agent Skill: its lines as a numbered list, its triggers in words as "Use when …", what it calls as files
//! beside it (spec `skills.md`, "Commands").

use std::collections::{BTreeMap, BTreeSet};

use playhouse_lang::outline::Outline;
use playhouse_lang::program::{Mode, Playbook, Program, Step, TriggerKind};
use playhouse_lang::source::skill::FILE_NAME;
use playhouse_lang::span::FileId;

use crate::text::one_line;

/// Where the playbooks stand that it calls.
const REFERENCES: &str = "references";

/// Characters of a description, at most.
const MAX_DESCRIPTION: usize = 1_024;

/// A skill that was made of a playbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its files by their paths in its folder.
    pub files: BTreeMap<String, String>,
    /// What the playbook has and the skill has not: what only an interpreter keeps to.
    pub lost: Vec<String>,
}

/// `order-status` of `Order status($id)`.
pub fn kebab_case(title: &str) -> String {
    let title = without_signature(title);
    let mut name = String::new();
    let mut is_small = false;
    for c in title.chars() {
        if c.is_alphanumeric() {
            if (c.is_uppercase() && is_small) && !name.is_empty() {
                name.push('-');
            }
            name.extend(c.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        is_small = c.is_lowercase() || c.is_numeric();
    }
    name.trim_end_matches('-').to_owned()
}

/// A playbook as a skill of this name.
pub fn export(program: &Program, playbook: &Playbook, name: &str) -> Exported {
    let called = called(program, playbook);
    let mut lost = lost(program, playbook);
    let body = body(playbook, &mut lost);
    let mut text = format!("---\nname: {name}\ndescription: {}\n---\n\n", description(playbook));
    text.push_str(&format!("# {}\n\n", without_signature(&playbook.title)));
    if !playbook.parameters.is_empty() {
        let names: Vec<String> = playbook.parameters.iter().map(|parameter| format!("`${}`", parameter.name)).collect();
        text.push_str(&format!("It is called with {}: $ARGUMENTS\n\n", names.join(", ")));
    }
    text.push_str(&body);
    let files = called.iter().map(|called| (format!("{REFERENCES}/{}.md", kebab_case(&called.name)), *called));
    let mut files: BTreeMap<String, &Playbook> = files.collect();
    if !files.is_empty() {
        text.push_str("## References\n\n");
        for (path, called) in &files {
            text.push_str(&format!("- Where a line calls `{}`: [{path}]({path})\n", called.name));
        }
    }
    let mut written = BTreeMap::from([(FILE_NAME.to_owned(), text)]);
    while let Some((path, called)) = files.pop_first() {
        let mut of_it = self::lost(program, called);
        let text = format!("# {}\n\n{}", without_signature(&called.title), self::body(called, &mut of_it));
        written.insert(path, text);
        lost.extend(of_it.into_iter().map(|what| format!("{}: {what}", called.name)));
    }
    Exported { files: written, lost }
}

/// All playbooks that it calls, directly or not, but itself and skills.
fn called<'p>(program: &'p Program, playbook: &Playbook) -> Vec<&'p Playbook> {
    let (mut found, mut pending): (Vec<&Playbook>, Vec<&Playbook>) = (Vec::new(), vec![program.playbook(playbook.id)]);
    while let Some(caller) = pending.pop() {
        let callees = caller.body.steps.iter().filter_map(|step| step.call()?.playbook);
        for callee in callees.map(|id| program.playbook(id)) {
            let is_known = callee.id == playbook.id || found.iter().any(|known| known.id == callee.id);
            if !is_known && callee.skill.is_none() {
                found.push(callee);
                pending.push(callee);
            }
        }
    }
    found
}

/// What a playbook tells to do, and how. Its list is one that is read as its lines, if there is such a list.
fn body(playbook: &Playbook, lost: &mut Vec<String>) -> String {
    let mut text = String::new();
    if !playbook.description.trim().is_empty() {
        text.push_str(&format!("{}\n\n", playbook.description.trim()));
    }
    if !playbook.body.steps.is_empty() {
        // What does not begin with an order is one in a box.
        let lists = ["", "[ ] "].map(|mark| list(playbook, mark));
        let is_same = |list: &&String| has_lines(&format!("{text}## Steps\n\n{list}"), playbook);
        let list = lists.iter().find(is_same);
        if list.is_none() {
            let n_outer = playbook.body.steps.iter().filter(|step| step.parent.is_none()).count();
            lost.push(match n_outer {
                0..3 => "it has too few lines to be read as steps: the skill runs as a goal".to_owned(),
                _ => "its lines are not read as the same steps; see `playhouse check`".to_owned(),
            });
        }
        text.push_str(&format!("## Steps\n\n{}\n", list.unwrap_or(&lists[0])));
    }
    if !playbook.notes.trim().is_empty() {
        text.push_str(&format!("## Notes\n\n{}\n\n", playbook.notes.trim()));
    }
    text
}

/// Its lines as a numbered list.
fn list(playbook: &Playbook, mark: &str) -> String {
    let mut text = String::new();
    let outer = playbook.body.steps.iter().filter(|step| step.parent.is_none());
    for (index, step) in outer.enumerate() {
        item(playbook, step, index + 1, (0, mark), &mut text);
    }
    text
}

fn item(playbook: &Playbook, step: &Step, number: usize, (indent, mark): (usize, &str), text: &mut String) {
    let marker = format!("{:indent$}{number}. ", "");
    // Blocks keep their lines.
    let words = if step.text.contains("```") { step.text.to_string() } else { one_line(&step.text) };
    let words = words.replace('\n', &format!("\n{:width$}", "", width = marker.len()));
    text.push_str(&format!("{marker}{mark}{words}\n"));
    for (index, child) in step.children.iter().enumerate() {
        if let Some(child) = playbook.body.steps.get(child.0 as usize) {
            item(playbook, child, index + 1, (marker.len(), mark), text);
        }
    }
}

/// Whether a text is read as the lines of a playbook: as many, with the same words.
fn has_lines(text: &str, playbook: &Playbook) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let outline = Outline::find(FileId(0), text, 0);
    let read: Vec<String> = outline.lines().map(|line| letters(&line.words)).collect();
    let written: Vec<String> = playbook.body.steps.iter().map(|step| letters(&step.text)).collect();
    let is_same = |(read, written): (&String, &String)| written.starts_with(read) && !read.is_empty();
    outline.procedures.len() == 1 && read.len() == written.len() && read.iter().zip(&written).all(is_same)
}

/// What it is for and when it is used, as YAML.
fn description(playbook: &Playbook) -> String {
    let about = playbook.description.split("\n\n").next().map(one_line).filter(|about| !about.is_empty());
    let about = about.unwrap_or_else(|| without_signature(&playbook.title).to_owned());
    let in_words = playbook.triggers.iter().filter(|trigger| trigger.kind == TriggerKind::Semantic);
    let when: Vec<String> = in_words.map(|trigger| one_line(&trigger.text)).collect();
    let when = when.iter().map(|text| match text.get(..1).zip(text.get(1..)) {
        Some((first, rest)) if text.starts_with("When ") => format!("{}{rest}", first.to_lowercase()),
        _ => text.clone(),
    });
    let when = when.collect::<Vec<_>>().join(", or ");
    let end = if about.ends_with(['.', '!', '?']) { "" } else { "." };
    let text = if when.is_empty() { about } else { format!("{about}{end} Use {when}.") };
    let text: String = text.chars().take(MAX_DESCRIPTION).collect();
    // A JSON text is a YAML one.
    serde_json::Value::from(text).to_string()
}

/// What only an interpreter keeps to.
fn lost(program: &Program, playbook: &Playbook) -> Vec<String> {
    let triggers = playbook.triggers.iter().filter(|trigger| trigger.kind != TriggerKind::Semantic);
    let triggers = triggers.map(|trigger| format!("the trigger `{}`", one_line(&trigger.text)));
    let steps = &playbook.body.steps;
    let told = |what: &str, names: Vec<&str>| (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")));
    let labels = |is_it: fn(&Step) -> bool| steps.iter().filter(|step| is_it(step)).map(|step| &*step.label).collect();
    let own = told("lines that cost no model call", labels(|step| step.explicit));
    let must = told("lines that cannot be skipped", labels(Step::must_be_done));
    let names: Vec<String> = playbook.own.iter().chain(&playbook.outer).map(|name| format!("${name}")).collect();
    let names = told("variables and their values", names.iter().map(String::as_str).collect());
    let tools = steps.iter().filter_map(|step| step.call().filter(|call| call.playbook.is_none()));
    let tools: BTreeSet<&str> =
        tools.map(|call| &*call.callee).filter(|name| program.find_plan(name).is_none()).collect();
    let tools = told("tools that it calls", tools.into_iter().collect());
    let limits = (playbook.limits != Default::default()).then(|| "its limits".to_owned());
    let goal = (playbook.mode != Mode::Steps).then(|| "its mode".to_owned());
    triggers.chain(own).chain(must).chain(names).chain(tools).chain(limits).chain(goal).collect()
}

fn without_signature(title: &str) -> &str {
    title.split('(').next().unwrap_or(title).trim()
}
