//! Words without quotes that are read as something else than people mean: `If $customer is not found` is true of every
//! customer whose value is not the text "found", and of `If $size is small` the model judges what is small.

use crate::analysis::checks::lines::{conditions, equated};
use crate::diagnostic::Diagnostic;
use crate::english::phrase::Phrase;
use crate::english::words::split_camel_case;
use crate::expr::{EXISTENCE, Expr, ExprKind};
use crate::program::{Playbook, Program, TypeKind, one_of};
use crate::value::Value;

/// Adds a warning for each.
pub(super) fn check_unquoted(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for playbook in &program.playbooks {
        conditions(playbook).for_each(|(condition, _)| existence(program, playbook, condition, diagnostics));
        judged_choices(program, playbook, diagnostics);
    }
}

/// Words that ask whether something is there, in a condition of `playbook`, unless the program shows that they are values.
fn existence(program: &Program, playbook: &Playbook, condition: &Expr, diagnostics: &mut Vec<Diagnostic>) {
    condition.for_each(&mut |expr| {
        // A member is a text more often than a thing that may be there: `$order.status is found`.
        let Some((name, values)) = equated(expr).filter(|(name, _)| !is_value_of_type(program, playbook, name)) else {
            return;
        };
        for compared in values {
            let ExprKind::Literal(Value::Str(word)) = &compared.kind else { continue };
            let Some((_, test)) = EXISTENCE.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)) else { continue };
            let is_quoted = !program.sources.text(compared.span).starts_with(char::is_alphabetic);
            if is_quoted || is_given(program, playbook, name, word) {
                continue;
            }
            let message = format!("`${name}` is compared with the text \"{word}\", and nothing here gives it that text");
            let advice = format!(
                "`is {test}` asks whether it has a value, `is empty` whether a list has no items; if you mean the text, \
                 write `\"{word}\"`"
            );
            let warning = Diagnostic::warning("unquoted-word", compared.span, message);
            diagnostics.push(warning.with_note(advice).with_fix(format!("write `{test}`"), compared.span, *test));
        }
    });
}

/// Conditions of `playbook` that are left to the model because a choice of a question stands in them without quotes, and the
/// word is one that judges: `small`, `late`.
fn judged_choices(program: &Program, playbook: &Playbook, diagnostics: &mut Vec<Diagnostic>) {
    for step in playbook.steps.iter().filter(|step| step.kind.is_judged() && !playbook.choices.is_empty()) {
        let line = Phrase::at(program.sources.text(step.span), step.span);
        for mention in line.mentions() {
            let Some(choices) = playbook.choices.get(mention.name) else { continue };
            let after = line.from(mention.span.end as usize - line.start());
            let compared = after.strip_any(&["is not", "isn't", "is"]);
            let Some((words, quoted)) = compared.and_then(|words| listed_choices(words, choices)) else { continue };
            let (name, choices) = (&mention.name, one_of(choices));
            let message = format!("`${name}` is {choices}, but without quotes the model judges this");
            let warning = Diagnostic::warning("unquoted-word", words.span(), message);
            diagnostics.push(warning.with_fix(format!("write `{quoted}`"), words.span(), quoted));
        }
    }
}

/// The choices at the beginning of `words`, joined by `or`, and how they are written with quotes; none: something else follows
/// that may belong to the condition.
fn listed_choices<'a>(words: Phrase<'a>, choices: &[Value]) -> Option<(Phrase<'a>, String)> {
    let (mut rest, mut quoted) = (words, String::new());
    loop {
        let texts = choices.iter().filter_map(Value::as_str);
        let chosen = texts.filter_map(|text| Some((text, rest.strip(&text.to_lowercase())?)));
        let (text, after) = chosen.max_by_key(|(text, _)| text.len())?;
        quoted += &format!("\"{text}\"");
        if let Some(next) = after.strip("or") {
            quoted += " or ";
            rest = next;
            continue;
        }
        let is_over = after.is_empty()
            || after.text.starts_with([',', ':', ';', '.', '-', '—', '–'])
            || after.strip_any(&["then", "and"]).is_some()
            || after.begins_action();
        return is_over.then(|| (words.until(words.text.len() - after.text.len()).trim(), quoted));
    }
}

/// Whether the type of a name says which texts it may be, or that it is none, which `never-equal` judges.
fn is_value_of_type(program: &Program, playbook: &Playbook, name: &str) -> bool {
    let ty = playbook.type_of(program.agent(playbook.agent), name);
    playbook.choices.contains_key(name) || ty.is_some_and(|ty| !matches!(ty.kind, TypeKind::Any | TypeKind::Str))
}

/// Whether the program shows that a word is a value of `name`: the name is that of a state, the word stands in quotes
/// somewhere, or a line that sets the name says it.
fn is_given(program: &Program, playbook: &Playbook, name: &str, word: &str) -> bool {
    let mut parts = Vec::new();
    split_camel_case(name, &mut parts);
    if parts.last().is_some_and(|last| matches!(last.as_str(), "state" | "status")) {
        return true;
    }
    let word = word.to_lowercase();
    let is_quoted = |text: &str| {
        let text = text.to_lowercase();
        [('"', '"'), ('“', '”'), ('\'', '\'')]
            .iter()
            .any(|(open, close)| text.contains(&format!("{open}{word}{close}")))
    };
    let agent = program.agent(playbook.agent);
    let steps = || agent.playbooks.iter().flat_map(|id| &program.playbook(*id).steps);
    let mut setting = steps().filter(|step| step.kind.targets().iter().any(|target| *target.name == *name));
    setting.any(|step| step.text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|said| said == word))
        || program.sources.iter().any(|(_, source)| is_quoted(&source.text))
}
