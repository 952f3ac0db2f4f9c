//! Conditions that are read as something else than they look like: a dot that separates thousands, and ages.

use crate::analysis::checks::lines::conditions;
use crate::diagnostic::Diagnostic;
use crate::english::phrase::Phrase;
use crate::expr::{AGES, Expr, ExprKind, is_one_of};
use crate::program::{Arm, Loop, Playbook, Program, StepKind};
use crate::value::Value;

/// Adds a warning for each.
pub(super) fn check_readings(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    for playbook in &program.playbooks {
        for (condition, _) in conditions(playbook) {
            condition.for_each(&mut |expr| diagnostics.extend(thousands(program, expr)));
        }
        ages(program, playbook, diagnostics);
    }
}

/// `1.000` is one; who writes three digits after the dot most likely means a thousand.
fn thousands(program: &Program, number: &Expr) -> Option<Diagnostic> {
    let ExprKind::Literal(Value::Float(value)) = &number.kind else { return None };
    let written = program.sources.text(number.span);
    let (whole, digits) = written.split_once('.')?;
    let is_group = digits.len() == 3 && matches!(whole.len(), 1..=3) && !whole.starts_with('0');
    if !is_group || !written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let message = format!("`{written}` is the number {value}: a dot begins the decimals");
    let meant = format!("{whole}{digits}");
    let warning = Diagnostic::warning("dot-in-number", number.span, message);
    Some(warning.with_fix(format!("write `{meant}`"), number.span, meant))
}

/// Conditions of `playbook` that ask how old something is: the model judges them.
fn ages(program: &Program, playbook: &Playbook, diagnostics: &mut Vec<Diagnostic>) {
    for step in &playbook.steps {
        let is_judged = matches!(
            step.kind,
            StepKind::Branch { arm: Arm::If | Arm::ElseIf, condition: None }
                | StepKind::Loop(Loop::While { condition: None } | Loop::Until { condition: None, .. })
        );
        let line = Phrase::at(program.sources.text(step.span), step.span);
        if !is_judged || line.mentions().is_empty() {
            continue;
        }
        let words: Vec<(usize, &str)> = line.words().collect();
        let is_age = |at: usize| {
            let is = |at: Option<usize>, list: &str| {
                at.and_then(|at| words.get(at)).is_some_and(|(_, word)| is_one_of(list, word))
            };
            let than = at.checked_sub(2).map(|at| at.saturating_sub(1)..at + 1).unwrap_or(0..0);
            is(Some(at), AGES)
                && (is(Some(at + 1), "old ago") || than.into_iter().any(|at| is(Some(at), "older younger newer")))
        };
        let Some(at) = (0..words.len()).find(|&at| is_age(at)) else { continue };
        let (at, word) = words[at];
        let message = "the interpreter does not compute how old something is, so the model judges this";
        let warning = Diagnostic::warning("age-in-words", line.from(at).until(word.len()).span(), message);
        diagnostics.push(warning.with_note(
            "let a tool or a plan compute the date, and compare with it: `If $order.delivered is before $oldest`",
        ));
    }
}
