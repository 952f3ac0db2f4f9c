//! Fields that the result of a call is not declared to have: `$booking.statte`, where `desk.find` gives a `state`; and records
//! that are compared with a text.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::analysis::checks::lines::{conditions, equated};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::Spelling;
use crate::expr::{EXISTENCE, Expr, ExprKind, scan_reference};
use crate::lower::Fields;
use crate::program::{Agent, CallSite, Mode, Playbook, Program, Returned, StepKind};
use crate::span::Span;
use crate::value::{PathStep, Value};

/// Adds a warning for each that is nearly the name of one that is declared. A result may have more fields than were declared,
/// so a name that is like none of them is no finding.
pub(super) fn check_fields(program: &Program, tools: Option<&Fields>, diagnostics: &mut Vec<Diagnostic>) {
    let spelling = Spelling::default();
    for agent in &program.agents {
        let results = results_of(program, agent, tools);
        if results.is_empty() {
            continue;
        }
        for playbook in agent.playbooks.iter().map(|id| program.playbook(*id)) {
            let lines = playbook.steps.iter().map(|step| step.span);
            for place in lines.chain(playbook.triggers.iter().map(|trigger| trigger.span)) {
                for (name, field, span) in fields_in(program.sources.text(place), place) {
                    let Some(Known { callee, fields }) = results.get(&*name) else { continue };
                    let known = || fields.iter().map(|field| &**field);
                    let Some(meant) = spelling.nearest(&field, known()).filter(|_| known().all(|it| it != &*field))
                    else {
                        continue;
                    };
                    let message = format!("`{callee}` gives no field `{field}`, as far as its result is declared");
                    let warning = Diagnostic::warning("unknown-field", span, message);
                    diagnostics.push(warning.with_fix(format!("write `{meant}`"), span, meant));
                }
            }
        }
    }
}

/// Adds a warning for each comparison of a record with a text: `$policy is not active`, where `$policy` is the result of a call
/// and other lines read its fields.
pub(super) fn check_records(program: &Program, tools: Option<&Fields>, diagnostics: &mut Vec<Diagnostic>) {
    for agent in &program.agents {
        let playbooks = || agent.playbooks.iter().map(|id| program.playbook(*id));
        let results = call_results(program, agent);
        let mut compared: Vec<(&Arc<str>, &Arc<str>, Span)> = Vec::new();
        for playbook in playbooks() {
            // What a parameter holds, whoever calls says.
            let is_given = |name: &str| playbook.parameters.iter().any(|parameter| *parameter.name == *name);
            let texts = conditions(playbook).flat_map(|(condition, _)| texts_compared(condition));
            compared.extend(texts.filter(|(name, ..)| !is_given(name)));
        }
        compared.retain(|(name, ..)| results.contains_key(&***name));
        if compared.is_empty() {
            continue;
        }
        let places = playbooks().flat_map(|playbook| {
            playbook.steps.iter().map(|step| step.span).chain(playbook.triggers.iter().map(|trigger| trigger.span))
        });
        let read: Vec<_> = places.flat_map(|place| fields_in(program.sources.text(place), place)).collect();
        let known = results_of(program, agent, tools);
        for (name, text, place) in compared {
            let is_record = read.iter().any(|(record, ..)| record == name);
            // Whether it is found is another question (`unquoted-word`).
            if !is_record || EXISTENCE.iter().any(|(word, _)| text.eq_ignore_ascii_case(word)) {
                continue;
            }
            let fields = known.get(&**name).map(|known| &known.fields);
            let has = |field: &str| fields.is_some_and(|fields| fields.contains(field));
            let message = format!("`${name}` is a record with fields, and it is compared with the text \"{text}\"");
            let warning = Diagnostic::warning("record-compared", place, message);
            let fits = |field: &&str| has(field) || (fields.is_none() && *field != &**name);
            let state = ["status", "state"].into_iter().find(fits).unwrap_or("status");
            diagnostics.push(warning.with_note(match has(&text.to_lowercase()) {
                true => format!("did you mean `${name}.{}`?", text.to_lowercase()),
                false => format!("name the field that you mean: `${name}.{state} is \"{text}\"`"),
            }));
        }
    }
}

/// The variables by themselves that a condition compares with a text, each with one of the texts.
fn texts_compared(condition: &Expr) -> Vec<(&Arc<str>, &Arc<str>, Span)> {
    let mut found = Vec::new();
    condition.for_each(&mut |expr| {
        let Some((name, mut compared)) = equated(expr) else { return };
        let text = compared
            .find_map(|value| if let ExprKind::Literal(Value::Str(text)) = &value.kind { Some(text) } else { None });
        found.extend(text.map(|text| (name, text, expr.span)));
    });
    found
}

/// The variables of an agent that nothing sets but calls of one playbook or tool.
fn call_results<'a>(program: &'a Program, agent: &'a Agent) -> HashMap<&'a str, &'a str> {
    let (mut results, mut others) = (HashMap::<&str, &str>::new(), BTreeSet::new());
    for playbook in agent.playbooks.iter().map(|id| program.playbook(*id)) {
        for step in &playbook.steps {
            for target in step.kind.targets() {
                let callee = if let StepKind::Call(call) = &step.kind { Some(&*call.callee) } else { None };
                let is_same = callee.is_some_and(|callee| *results.entry(&target.name).or_insert(callee) == callee);
                if !is_same {
                    others.insert(&*target.name);
                }
            }
        }
    }
    results.retain(|name, _| !others.contains(name));
    results
}

/// What is known of a variable: what gives it, and which fields that has.
struct Known<'a> {
    callee: &'a str,
    fields: BTreeSet<Arc<str>>,
}

/// The variables of an agent that nothing sets but calls whose results are known.
fn results_of<'a>(program: &'a Program, agent: &'a Agent, tools: Option<&Fields>) -> HashMap<&'a str, Known<'a>> {
    let (mut results, mut others) = (HashMap::<&str, Known<'_>>::new(), BTreeSet::new());
    let is_set = |value: &Option<Value>| value.as_ref().is_some_and(|value| *value != Value::Null);
    others.extend(agent.variables.iter().filter(|known| is_set(&known.value)).map(|variable| &*variable.name));
    for playbook in agent.playbooks.iter().map(|id| program.playbook(*id)) {
        others.extend(playbook.parameters.iter().map(|parameter| &*parameter.name));
        for step in &playbook.steps {
            for target in step.kind.targets() {
                let call = if let StepKind::Call(call) = &step.kind { Some(call) } else { None };
                match call.and_then(|call| Some((call, fields_of(program, call, tools)?))) {
                    Some((call, fields)) => {
                        let known = Known { callee: &call.callee, fields: BTreeSet::new() };
                        results.entry(&target.name).or_insert(known).fields.extend(fields);
                    }
                    None => {
                        others.insert(&*target.name);
                    }
                }
            }
        }
    }
    results.retain(|name, _| !others.contains(name));
    results
}

/// The fields of what a call gives back, as far as they are known.
fn fields_of(program: &Program, call: &CallSite, tools: Option<&Fields>) -> Option<Vec<Arc<str>>> {
    if let Some(id) = call.playbook {
        return returned_fields(program.playbook(id));
    }
    let is_plan = program.plans.iter().any(|plan| plan.name == call.callee);
    tools?.get(&call.callee).filter(|_| !is_plan).cloned()
}

/// The fields of what a playbook returns, if every line that returns something has a map there.
fn returned_fields(playbook: &Playbook) -> Option<Vec<Arc<str>>> {
    let mut fields = Vec::new();
    for step in playbook.steps.iter().filter(|_| playbook.mode == Mode::Steps) {
        let StepKind::Return(returned) = &step.kind else { continue };
        match returned {
            Returned::Nothing => {}
            Returned::Value(value) => {
                if let ExprKind::Map(members) = &value.kind {
                    fields.extend(members.iter().map(|(name, _)| name.clone()));
                } else if value.as_constant() != Some(Value::Null) {
                    return None;
                }
            }
            Returned::Call(_) | Returned::Words => return None,
        }
    }
    (!fields.is_empty()).then_some(fields)
}

/// The first fields of the variables that a text names, each with its place: `$booking.state`.
fn fields_in(text: &str, place: Span) -> Vec<(Arc<str>, Arc<str>, Span)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find('$') {
        at += next;
        let Some((reference, length)) = scan_reference(&text[at..]).filter(|_| !text[at..].starts_with("$$")) else {
            at += if text[at..].starts_with("$$") { 2 } else { 1 };
            continue;
        };
        if let Some(PathStep::Member(field)) = reference.path.first() {
            let start = place.start as usize + at + 1 + reference.name.len() + 1;
            found.push((reference.name, field.clone(), Span::new(place.file, start, start + field.len())));
        }
        at += length;
    }
    found
}
