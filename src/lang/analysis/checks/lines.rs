//! Findings about names and values of lines and triggers: misspelt variables, triggers on variables that nothing sets,
//! comparisons that can never be true.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::Spelling;
use crate::diagnostic::wording::meant_or;
use crate::expr::{BinaryOperator as Op, Expr, ExprKind, scan_name};
use crate::lower::alone::Alone;
use crate::program::{
    Agent, Mode, Playbook, Program, Step, StepKind, TriggerKind, Type, TypeKind, USER_MESSAGE, one_of,
};
use crate::span::Span;
use crate::value::Value;

/// Adds the findings of all agents.
pub(crate) fn check_lines(program: &Program, alone: &[&Alone], diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let playbooks: Vec<&Playbook> = agent.playbooks.iter().map(|id| program.playbook(*id)).collect();
        Variables::new(agent, &playbooks, alone).check(&playbooks, diagnostics);
        for playbook in playbooks {
            for (condition, place) in conditions(playbook) {
                never_equal(playbook, agent, condition, place, diagnostics);
            }
        }
    }
}

/// The exact conditions of lines and triggers, each with the place of its line or trigger.
pub(super) fn conditions(playbook: &Playbook) -> impl Iterator<Item = (&Expr, Span)> {
    let compared = playbook.steps.iter().filter_map(|step| Some((step.kind.condition()?, step.span)));
    let watched = playbook.triggers.iter().filter_map(|trigger| {
        if let TriggerKind::Condition(condition) = &trigger.kind { Some((condition, trigger.span)) } else { None }
    });
    compared.chain(watched)
}

/// The variables of an agent: those that something sets for certain, and in how many lines each is named.
struct Variables<'a> {
    set: HashSet<&'a str>,
    n_lines: HashMap<&'a str, usize>,
    has_goal: bool,
    spelling: Spelling,
}

impl<'a> Variables<'a> {
    fn new(agent: &'a Agent, playbooks: &[&'a Playbook], alone: &[&'a Alone]) -> Self {
        let (mut set, mut n_lines) = (HashSet::from([USER_MESSAGE, "call", "event"]), HashMap::new());
        set.extend(agent.variables.iter().map(|variable| &*variable.name));
        for alone in playbooks.iter().map(|playbook| alone[playbook.id.0 as usize]) {
            set.extend(alone.sets.iter().map(|name| &**name));
            alone.n_lines.iter().for_each(|(name, n)| *n_lines.entry(&**name).or_default() += n);
        }
        let has_goal = playbooks.iter().any(|playbook| playbook.mode == Mode::Goal);
        Variables { set, n_lines, has_goal, spelling: Spelling::default() }
    }

    fn nearest(&self, name: &str) -> Option<&'a str> {
        self.spelling.nearest(name, self.set.iter().copied().filter(|known| known.len() > 2))
    }

    /// A name in braces that is said as it stands: `{name}` for a variable, `{$name` that is not closed.
    fn unfilled(&self, step: &Step) -> Option<Diagnostic> {
        let StepKind::Say { literal: Some(text) } = &step.kind else { return None };
        let warn = |name: &str, message: String| {
            let warning = Diagnostic::warning("unfilled-name", step.span, message);
            Some(warning.with_note(format!("write `{{${name}}}` for its value")))
        };
        let mut inside = text.split('{').skip(1);
        inside.find_map(|piece| {
            let name = piece.strip_prefix('$').unwrap_or(piece);
            let (name, after) = name.split_at(scan_name(name));
            let has_sign = piece.starts_with('$');
            if name.is_empty() || (has_sign && after.contains('}')) {
                return None;
            }
            match has_sign {
                true => warn(name, format!("`{{${name}` is not closed, so it is said literally")),
                false if after.starts_with('}') && self.set.contains(name) => {
                    warn(name, format!("`{{{name}}}` is said literally"))
                }
                false => None,
            }
        })
    }

    fn check(&self, playbooks: &[&Playbook], diagnostics: &mut Vec<Diagnostic>) {
        for playbook in playbooks {
            for step in &playbook.steps {
                diagnostics.extend(self.unfilled(step));
            }
            for step in playbook.steps.iter().filter(|step| !step.explicit) {
                let once = |name: &&Arc<str>| self.n_lines.get(&***name) == Some(&1) && !self.set.contains(&***name);
                for name in step.reads.iter().filter(once) {
                    // A model may set it; but a name that is nearly another one is a slip.
                    let Some(meant) = self.nearest(name) else { continue };
                    let message = format!("nothing sets `${name}`");
                    let warning = Diagnostic::warning("unknown-variable", step.span, message);
                    diagnostics.push(warning.with_note(format!("did you mean `${meant}`?")));
                }
            }
            for trigger in &playbook.triggers {
                let exact = matches!(trigger.kind, TriggerKind::Condition(_) | TriggerKind::Changes(_));
                let unknown = |name: &&Arc<str>| !self.set.contains(&***name) && !self.n_lines.contains_key(&***name);
                for name in trigger.names.iter().filter(unknown).filter(|_| exact && !self.has_goal) {
                    let message = format!("no line sets `${name}`, so this trigger can't match");
                    let warning = Diagnostic::warning("unknown-variable", trigger.span, message);
                    let meant = self.nearest(name).map(|meant| format!("${meant}"));
                    let otherwise = format!("declare it (`variables: {{{name}: …}}`) if it comes from outside");
                    diagnostics.push(warning.with_note(meant_or(meant, otherwise)));
                }
            }
        }
    }
}

/// Comparisons of a variable with a value that its type does not have.
fn never_equal(playbook: &Playbook, agent: &Agent, condition: &Expr, place: Span, diagnostics: &mut Vec<Diagnostic>) {
    condition.for_each(&mut |expr| {
        let Some((name, compared)) = equated(expr) else { return };
        let ty = playbook.type_of(agent, name).unwrap_or(Type::ANY);
        let choices = playbook.choices.get(name);
        for value in compared.filter_map(Expr::as_constant) {
            if !can_be(ty, &value) {
                let message = format!("`${name}` is of type {ty}, so it is never {}", value.to_json());
                let warning = Diagnostic::warning("never-equal", place, message);
                diagnostics.push(warning.with_note("compare it with a value of its type, or declare another type"));
            } else if let Some(choices) =
                choices.filter(|choices| !choices.iter().any(|choice| is_alike(choice, &value)))
                && value != Value::Null
            {
                let message = format!("`${name}` is {}, so it is never {}", one_of(choices), value.to_json());
                let warning = Diagnostic::warning("never-equal", place, message);
                diagnostics
                    .push(warning.with_note("compare it with one of them, or add this to the choices of the question"));
            }
        }
    });
}

/// Whether two values are the same but for the case of letters.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => one == other,
    }
}

/// The variable by itself that a comparison compares with values, and what it may or may not be equal to: several, or one.
/// The case of letters is left out.
pub(super) fn equated(expr: &Expr) -> Option<(&Arc<str>, impl Iterator<Item = &Expr>)> {
    let ExprKind::Binary(Op::Equal | Op::NotEqual | Op::In, left, right) = &expr.kind else { return None };
    let ExprKind::Reference(reference) = &without_case(left).kind else { return None };
    let right = without_case(right);
    let compared: &[Expr] = if let ExprKind::List(items) = &right.kind { items } else { std::slice::from_ref(right) };
    reference.path.is_empty().then(|| (&reference.name, compared.iter().map(without_case)))
}

fn without_case(expr: &Expr) -> &Expr {
    if let ExprKind::Unary(crate::expr::UnaryOperator::Lowercase, inner) = &expr.kind { inner } else { expr }
}

/// Whether a value of this type can be equal to `value`: as docs/language.md, "Comparisons", has it.
fn can_be(ty: Type, value: &Value) -> bool {
    if ty.accepts(value) || *value == Value::Null {
        return true;
    }
    let Value::Str(text) = value else {
        let is_plain = matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_));
        return ty.kind == TypeKind::Str && is_plain;
    };
    match ty.kind {
        TypeKind::Int | TypeKind::Float => text.trim().parse::<f64>().is_ok(),
        TypeKind::Bool => matches!(text.trim().to_lowercase().as_str(), "yes" | "no" | "true" | "false"),
        TypeKind::Any | TypeKind::Str => true,
        // Texts of another form, in any case.
        TypeKind::Email => text.contains('@'),
        TypeKind::Date | TypeKind::Time | TypeKind::List | TypeKind::Dict => false,
    }
}
