//! What can only be said about a plan when it is known what is around it: what can be called, what is given.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::Spelling;
use crate::plan::json::references::{Found, is_name, scan};
use crate::plan::json::{Dialect, Instruction, JsonPlan, PlanCall, PlanValue, PlanValueKind};
use crate::plan::types::{Plan, PlanBody};
use crate::plan::wording::{listed, shown, suggest};
use crate::signature::Signature;
use crate::span::Span;
use crate::value::json::quoted;

/// What is around a plan.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The text of the plan's file, for exact places.
    pub text: &'a str,
    /// What can be called by a name: tools, playbooks, plans.
    pub callables: &'a dyn Fn(&str) -> Option<Signature>,
    /// All names that can be called, for suggestions.
    pub candidates: &'a [String],
    /// Whether there is more to call, known only at run time: an unknown callee is then a warning.
    pub open_world: bool,
    /// Whether somebody gives a variable before the plan begins.
    pub given: &'a dyn Fn(&str) -> bool,
}

/// Checks the calls of a JSON plan (errors) and the variables it reads and nothing sets (warnings: only what is
/// executed counts). Of a dataflow plan it says nothing. The diagnostics are in the order of their places.
pub fn check_calls(plan: &Plan, around: &Surroundings<'_>) -> Vec<Diagnostic> {
    let PlanBody::Json(json) = &plan.body else { return Vec::new() };
    let mut check = Check { around, diagnostics: Vec::new(), spelling: Spelling::default() };
    check.calls(json);
    // What an instruction that was not read would have set is not known.
    if !json.instructions.iter().any(Instruction::is_unread) {
        check.variables(plan, json);
    }
    check.diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
    check.diagnostics
}

struct Check<'a> {
    around: &'a Surroundings<'a>,
    diagnostics: Vec<Diagnostic>,
    spelling: Spelling,
}

/// What is known of one callee.
struct Callee<'a> {
    signature: Option<Signature>,
    suggestion: Option<&'a str>,
}

impl Check<'_> {
    fn calls(&mut self, plan: &JsonPlan) {
        let mut callees: HashMap<Arc<str>, Callee<'_>> = HashMap::new();
        for call in plan.instructions.iter().filter_map(|instruction| instruction.kind.call()) {
            let callee = match callees.get(&call.callee) {
                Some(callee) => callee,
                None => {
                    let signature = (self.around.callables)(&call.callee);
                    let candidates = self.around.candidates.iter().map(String::as_str);
                    let suggestion =
                        if signature.is_none() { suggest(&self.spelling, &call.callee, candidates) } else { None };
                    callees.entry(call.callee.clone()).or_insert(Callee { signature, suggestion })
                }
            };
            match &callee.signature {
                Some(signature) => self.arguments(plan.dialect, call, signature),
                None => self.unknown_callee(plan.dialect, call, callee.suggestion),
            }
        }
    }

    fn unknown_callee(&mut self, dialect: Dialect, call: &PlanCall, suggestion: Option<&str>) {
        const CODE: &str = "plan-unknown-callee";
        let message = format!("there is no tool, playbook or plan `{}`", shown(&call.callee));
        let found = if self.around.open_world {
            let found = Diagnostic::warning(CODE, call.callee_span, message);
            found.with_note("it may be a tool that is only known at run time")
        } else {
            Diagnostic::error(CODE, call.callee_span, message)
        };
        self.diagnostics.push(match suggestion {
            // In dialect B the callee is the instruction's type, and nothing else can stand there.
            Some(near) if dialect == Dialect::Jmp => {
                found.with_fix(format!("call `{}`", shown(near)), call.callee_span, quoted(near))
            }
            Some(_) | None if self.around.candidates.is_empty() => found.with_note("no tools are configured"),
            Some(_) | None => {
                let names = self.around.candidates.iter().map(String::as_str);
                let n_more = self.around.candidates.len().saturating_sub(MAX_LISTED);
                let more = if n_more > 0 { format!(", and {n_more} more") } else { String::new() };
                found.with_note(format!("available: {}{more}", listed(names.take(MAX_LISTED))))
            }
        });
    }

    fn arguments(&mut self, dialect: Dialect, call: &PlanCall, signature: &Signature) {
        let known = || signature.parameters.iter().map(|parameter| &*parameter.name);
        let name = shown(&call.callee);
        let given: HashSet<&str> = call.arguments.iter().map(|(name, _)| &**name).collect();
        let names: HashSet<&str> = known().collect();
        for (argument, value) in call.arguments.iter().filter(|(argument, _)| !names.contains(&**argument)) {
            let key = self.key_of(argument, value.span);
            let message = format!("`{name}` has no argument `{}`", shown(argument));
            let error = Diagnostic::error("plan-unknown-argument", key.unwrap_or(value.span), message);
            let near = suggest(&self.spelling, argument, known().filter(|known| !given.contains(known)));
            self.diagnostics.push(match (near, key) {
                (Some(near), Some(key)) if dialect == Dialect::Jmp => {
                    error.with_fix(format!("call it `{}`", shown(near)), key, quoted(near))
                }
                _ if signature.parameters.is_empty() => error.with_note("it takes no arguments"),
                _ => error.with_note(format!("it takes {}", listed(known().take(MAX_LISTED)))),
            });
        }
        let required = signature.parameters.iter().filter(|parameter| parameter.required());
        let missing: Vec<&str> =
            required.map(|parameter| &*parameter.name).filter(|name| !given.contains(name)).collect();
        if !missing.is_empty() {
            let message =
                format!("the call to `{name}` is missing {}", listed(missing.iter().copied().take(MAX_LISTED)));
            self.diagnostics.push(Diagnostic::error("plan-missing-argument", call.callee_span, message));
        }
    }

    /// The place of the key whose value stands at `value`, if it is written without escapes.
    fn key_of(&self, key: &str, value: Span) -> Option<Span> {
        let before = self.around.text.get(..value.start as usize)?.trim_end().strip_suffix(':')?.trim_end();
        let start = before.strip_suffix('"')?.strip_suffix(key)?.strip_suffix('"')?.len();
        Some(Span::new(value.file, start, before.len()))
    }

    fn variables(&mut self, plan: &Plan, json: &JsonPlan) {
        let unset = plan.parameters.iter().filter(|name| !(self.around.given)(name));
        let unset: HashSet<&str> = unset.map(|name| &**name).collect();
        if unset.is_empty() {
            return;
        }
        let mut first: Vec<(&str, Span)> = Vec::new();
        let mut n_reads: HashMap<&str, usize> = HashMap::new();
        for value in
            json.instructions.iter().flat_map(|instruction| instruction.kind.inputs()).flat_map(PlanValue::leaves)
        {
            let names = value.variables();
            if !names.iter().any(|name| unset.contains(&***name)) {
                continue;
            }
            let places = self.places(value, json.dialect);
            for name in names.into_iter().filter_map(|name| unset.get(&**name).copied()) {
                let n_reads = n_reads.entry(name).or_default();
                *n_reads += 1;
                if *n_reads == 1 {
                    first.push((name, places.get(name).copied().unwrap_or(value.span)));
                }
            }
        }
        let mut set: Vec<Arc<str>> = json.variables_set().into_keys().collect();
        set.sort();
        for (name, place) in first {
            let message = format!("nothing sets `{}`", shown(name));
            let mut warning = Diagnostic::warning("plan-undefined-variable", place, message);
            match n_reads.get(name) {
                Some(2) => warning = warning.with_note("it is read in one other place"),
                Some(n) if *n > 2 => warning = warning.with_note(format!("it is read in {} other places", n - 1)),
                Some(_) | None => {}
            }
            warning = warning.with_note(format!("set it when you run the plan: `--arg {}=…`", shown(name)));
            let near = suggest(&self.spelling, name, set.iter().map(|name| &**name));
            // The place is that of the name only if the name stands there.
            let is_exact = self.around.text.get(place.range()) == Some(name);
            self.diagnostics.push(match near {
                Some(near) if is_exact && is_name(near, json.dialect) => {
                    warning.with_fix(format!("write `{near}`"), place, near)
                }
                Some(near) => warning.with_note(format!("did you mean `{}`?", shown(near))),
                None => warning,
            });
        }
    }

    /// Where the names stand that a value without members reads, as far as they are written without escapes.
    fn places(&self, value: &PlanValue, dialect: Dialect) -> HashMap<&str, Span> {
        let start = value.span.start as usize;
        let raw = self.around.text.get(value.span.range()).unwrap_or("");
        let mut places = HashMap::new();
        let mut add = |name, at: usize| {
            places.entry(name).or_insert_with(|| Span::new(value.span.file, start + at, start + at + str::len(name)));
        };
        if let PlanValueKind::Variable(name) = &value.kind
            && dialect == Dialect::Branch
        {
            let quoted = format!("\"{name}\"");
            // The key `var` stands before it.
            if let Some(at) = raw.rfind(&quoted) {
                add(&raw[at + 1..at + 1 + name.len()], at + 1);
            }
            return places;
        }
        for Found { range, name, .. } in scan(raw, dialect).filter(|found| found.doubt.is_none()) {
            let at = range.start + raw[range].find(name).unwrap_or(0);
            add(name, at);
        }
        places
    }
}

/// More names are not listed in a message.
const MAX_LISTED: usize = 12;
