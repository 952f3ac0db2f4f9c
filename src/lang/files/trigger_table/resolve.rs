//! The names in a trigger table and the triggers of a program.

use super::table::{FiredName, TriggerTable, TriggerUpdate};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::{in_ticks, meant_or};
use crate::program::{Playbook, Program, Trigger, TriggerId, TriggerKind};

/// A table's triggers and labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTable {
    /// All triggers that an update can make fire, in program order.
    pub triggers: Vec<TriggerId>,
    /// What fires, case by case, each in program order.
    pub expected: Vec<Vec<TriggerId>>,
}

impl TriggerTable {
    /// Finds the triggers that the table names.
    ///
    /// # Errors
    /// Names that mean no trigger, none that waits for updates, or several.
    pub fn resolve(&self, program: &Program) -> Result<ResolvedTable, Vec<Diagnostic>> {
        let all = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
        let triggers: Vec<TriggerId> =
            all.filter(|trigger| trigger.kind.waits_for_updates()).map(|trigger| trigger.id).collect();
        let mut findings = Vec::new();
        if triggers.is_empty() {
            let message = "the program has no trigger that waits for an update";
            let found = Diagnostic::error("no-triggers", self.program_span, message);
            findings.push(found.with_note("give a playbook a trigger like `- When $attempts > 3`"));
            return Err(findings);
        }
        let mut expected = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            let mut fires: Vec<TriggerId> = Vec::with_capacity(case.fires.len());
            for FiredName { name, span, is_skill } in &case.fires {
                let (code, found) = match is_skill {
                    true => ("unknown-skill", find_skill(program, name, &case.updates)),
                    false => ("unknown-trigger", find_trigger(program, name)),
                };
                match found.map_err(|(message, next)| Diagnostic::error(code, *span, message).with_note(next)) {
                    Ok(id) if fires.contains(&id) => {
                        let message = format!("`{}` is named twice", label(program, id));
                        let found = Diagnostic::error("duplicate-name", *span, message);
                        findings.push(found.with_note("remove one of them"));
                    }
                    Ok(id) => fires.push(id),
                    Err(found) => findings.push(found),
                }
            }
            fires.sort_by_key(|id| triggers.iter().position(|other| other == id));
            expected.push(fires);
        }
        if findings.is_empty() { Ok(ResolvedTable { triggers, expected }) } else { Err(findings) }
    }
}

/// A trigger's name: `Playbook:T1`, with its agent before it if several playbooks have that name.
pub fn label(program: &Program, id: TriggerId) -> String {
    program.unique_trigger_name(id)
}

/// The trigger that `[Agent.]Playbook[:T1]` means.
///
/// # Errors
/// It means none, none that waits for updates, or several: what is wrong, and what to do.
pub fn find_trigger(program: &Program, name: &str) -> Result<TriggerId, (String, String)> {
    let error = |message: String, next: String| (message, next);
    let (path, number) = match name.split_once(':') {
        Some((path, number)) => (path, Some(number)),
        None => (name, None),
    };
    let mut found = program.playbooks_named(path);
    let Some(playbook) = found.next() else {
        let bare = path.split_once('.').map_or(path, |(_, bare)| bare);
        return Err(error(format!("there is no playbook `{path}`"), meant(program, bare)));
    };
    if let Some(other) = found.next() {
        let agents = [playbook, other].map(|playbook| &*program.agent(playbook.agent).name);
        let next = format!("write `{}.{name}` or `{}.{name}`", agents[0], agents[1]);
        return Err(error(format!("several agents have a playbook `{path}`"), next));
    }
    let waiting: Vec<&Trigger> = playbook.triggers.iter().filter(|trigger| trigger.kind.waits_for_updates()).collect();
    let names = || in_ticks(waiting.iter().map(|trigger| program.trigger_name(trigger.id)));
    let next = || match waiting.is_empty() {
        true => "only conditions and triggers in words fire on an update".to_owned(),
        false => format!("this playbook has {}", names()),
    };
    let Some(number) = number else {
        return match waiting[..] {
            [only] => Ok(only.id),
            [] => Err(error(format!("no trigger of `{path}` waits for an update"), next())),
            [..] => Err(error(format!("`{path}` has several triggers"), format!("write one of {}", names()))),
        };
    };
    let index = number.strip_prefix('T').and_then(|number| number.parse::<usize>().ok());
    let trigger = index.and_then(|index| playbook.triggers.get(index.checked_sub(1)?));
    match trigger {
        Some(trigger) if trigger.kind.waits_for_updates() => Ok(trigger.id),
        Some(_) => Err(error(format!("`{name}` does not wait for an update"), next())),
        None => Err(error(format!("there is no trigger `{name}`"), next())),
    }
}

/// What begins the skill that calls itself so: its name, if one of the updates is a message that begins with that; else its
/// description.
fn find_skill(program: &Program, name: &str, updates: &[TriggerUpdate]) -> Result<TriggerId, (String, String)> {
    let skills = || program.playbooks.iter().filter(|playbook| playbook.skill.is_some());
    let Some(skill) = skills().find(|skill| *skill.title == *name) else {
        let names = || skills().map(|skill: &Playbook| &*skill.title);
        let next = meant_or(nearest(name, names()), format!("the skills here are {}", in_ticks(names())));
        return Err((format!("there is no skill `{name}` here"), next));
    };
    let is_named = |trigger: &&Trigger| {
        let is_command = |update: &TriggerUpdate| match update {
            TriggerUpdate::User(message) => trigger.kind.words_of_command(message).is_some(),
            TriggerUpdate::Set(..) => false,
        };
        updates.iter().any(is_command)
    };
    let described = || skill.triggers.iter().find(|trigger| trigger.kind == TriggerKind::Semantic);
    let found = skill.triggers.iter().find(is_named).or_else(described).map(|trigger| trigger.id);
    found.ok_or_else(|| {
        let next =
            "remove `disable-model-invocation` from its front matter and give it a description, or expect no skill";
        (format!("the description of the skill `{name}` does not start it"), next.to_owned())
    })
}

/// What may have been meant.
fn meant(program: &Program, name: &str) -> String {
    let with_triggers = program
        .playbooks
        .iter()
        .filter(|playbook| playbook.triggers.iter().any(|trigger| trigger.kind.waits_for_updates()));
    let near = nearest(name, with_triggers.map(|playbook| &*playbook.name));
    meant_or(near, "`playhouse check --explain` lists the playbooks and their triggers")
}
