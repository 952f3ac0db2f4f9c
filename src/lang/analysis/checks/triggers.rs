//! Findings about triggers: the same one twice, one that need not cost a model call, one that calls a playbook
//! with parameters.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::wording::one_line;
use crate::english::triggers::conditions::{NearCondition, near_condition};
use crate::program::{CALL, Playbook, Program, Trigger, TriggerKind};
use crate::span::Span;

/// Adds the findings of all agents.
pub(crate) fn check_triggers(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let mut first: HashMap<String, Span> = HashMap::new();
        for playbook in agent.playbooks.iter().map(|&id| program.playbook(id)) {
            for trigger in &playbook.triggers {
                same_trigger(trigger, &mut first, diagnostics);
                could_be_condition(trigger, diagnostics);
            }
            parameters(playbook, diagnostics);
        }
    }
}

fn same_trigger(trigger: &Trigger, first: &mut HashMap<String, Span>, diagnostics: &mut Vec<Diagnostic>) {
    let text = one_line(&trigger.text).trim_end_matches('.').to_lowercase();
    match first.get(&text) {
        // Several playbooks may well begin at the beginning.
        Some(place) if trigger.kind != TriggerKind::Beginning => {
            let message = "another trigger has the same text; both fire";
            let warning = Diagnostic::warning("same-trigger", trigger.span, message);
            diagnostics.push(warning.with_place(*place, "first here"));
        }
        Some(_) => {}
        None => {
            first.insert(text, trigger.span);
        }
    }
}

/// A trigger calls its playbook without arguments.
fn parameters(playbook: &Playbook, diagnostics: &mut Vec<Diagnostic>) {
    let fires = |trigger: &&Trigger| trigger.kind != TriggerKind::Beginning;
    for parameter in playbook.parameters.iter().filter(|parameter| parameter.required()) {
        // A trigger that names the parameter waits for that variable.
        let is_without = |trigger: &&Trigger| fires(trigger) && !trigger.names.contains(&parameter.name);
        let Some(trigger) = playbook.triggers.iter().find(is_without) else { continue };
        // The variables of a call and of a message are always there.
        let is_given = trigger.kind.waits_for_call(|_| true) && &*parameter.name == CALL;
        if is_given {
            continue;
        }
        let message = format!(
            "a trigger passes no arguments: `${0}` takes the value that the variable `${0}` has at that moment; if it \
             has none, the playbook cannot be called",
            parameter.name
        );
        let place = parameter.span.unwrap_or(playbook.title_span);
        let warning = Diagnostic::warning("trigger-parameters", place, message);
        let warning = warning.with_place(trigger.span, "called by this trigger");
        diagnostics.push(warning.with_note(format!("give it a default: `${} = null`", parameter.name)));
    }
}

/// A semantic trigger that says nearly what a condition could say.
fn could_be_condition(trigger: &Trigger, diagnostics: &mut Vec<Diagnostic>) {
    let near = (trigger.kind == TriggerKind::Semantic).then(|| near_condition(&trigger.text)).flatten();
    let message = "the classifier judges this trigger, but it could be a condition";
    let warning = Diagnostic::warning("semantic-could-be-condition", trigger.span, message);
    diagnostics.extend(near.map(|near| match near {
        NearCondition::Wording(wording) => {
            let advice = format!("write `{wording}`, which needs no model");
            // Of a text with a list below it the first line stands there alone.
            if trigger.text.contains('\n') {
                warning.with_note(advice)
            } else {
                warning.with_fix(advice, trigger.span, wording)
            }
        }
        NearCondition::Ambiguous(advice) => warning.with_note(advice),
    }));
}
