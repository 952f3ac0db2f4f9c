//! Which aliases the result is made of, circles among them, and whether their domains can be called (spec
//! `plans.md`, 3.3).

use std::collections::VecDeque;

use crate::diagnostic::spelling::{Spelling, nearest};
use crate::diagnostic::{Diagnostic, Severity};
use crate::graph::strongly_connected;
use crate::plan::dataflow::lexer::is_name;
use crate::plan::dataflow::types::{Alias, AliasId, Domain};
use crate::plan::types::{Plan, PlanBody};
use crate::signature::Signature;

/// So many names of a long circle are shown.
const MAX_SHOWN: usize = 20;

/// Marks what the result is made of. Without a result all may be needed.
pub(super) fn mark_reachable(aliases: &mut [Alias], result: Option<AliasId>) {
    let Some(result) = result else {
        aliases.iter_mut().for_each(|alias| alias.reachable = true);
        return;
    };
    let mut pending = VecDeque::from([result]);
    while let Some(id) = pending.pop_front() {
        let alias = &mut aliases[id.0 as usize];
        if !alias.reachable {
            alias.reachable = true;
            pending.extend(&alias.needs);
        }
    }
}

/// Says what the result is not made of.
pub(super) fn never_evaluated(aliases: &[Alias]) -> impl Iterator<Item = Diagnostic> {
    aliases.iter().filter(|alias| !alias.reachable).map(|alias| {
        let message = format!("the result does not use `{}`, so it is never evaluated", alias.name);
        let warning = Diagnostic::warning("never-evaluated", alias.name_span, message);
        if is_name(&alias.name) {
            warning
        } else {
            warning.with_note(
                "no expression can name it: names have letters, digits, `_` and `$`, and do not begin with a digit",
            )
        }
    })
}

/// The circles among aliases that need each other, one for each group of them.
pub(super) fn cycles(aliases: &[Alias]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for group in groups(aliases) {
        let first = group.iter().copied().min().unwrap_or(0);
        let Some(path) = circle(aliases, first, &group) else { continue };
        let mut names: Vec<&str> = path.iter().map(|index| &*aliases[*index].name).collect();
        if names.len() > MAX_SHOWN {
            names.splice(MAX_SHOWN / 2..names.len() - MAX_SHOWN / 2, ["…"]);
        }
        let message = format!("`{}` depends on itself: {} -> {}", aliases[first].name, names.join(" -> "), names[0]);
        let mut fault = Diagnostic::error("alias-cycle", aliases[first].name_span, message);
        if !aliases[first].reachable {
            fault.severity = Severity::Warning;
        }
        found.push(fault);
    }
    found
}

/// The groups of aliases each of which leads to each other; an alias alone is one if it needs itself.
fn groups(aliases: &[Alias]) -> impl Iterator<Item = Vec<usize>> {
    let needs = |alias: &Alias| alias.needs.iter().map(|need| need.0 as usize).collect();
    let edges: Vec<Vec<usize>> = aliases.iter().map(needs).collect();
    let mut groups = vec![Vec::new(); aliases.len()];
    for (alias, group) in strongly_connected(&edges).into_iter().enumerate() {
        groups[group].push(alias);
    }
    groups.into_iter().filter(move |group| match group[..] {
        [] => false,
        [only] => edges[only].contains(&only),
        [..] => true,
    })
}

/// The shortest way from `first` back to itself inside `group`.
fn circle(aliases: &[Alias], first: usize, group: &[usize]) -> Option<Vec<usize>> {
    let inside: std::collections::HashSet<usize> = group.iter().copied().collect();
    let mut came_from = std::collections::HashMap::new();
    let mut pending = VecDeque::from([first]);
    while let Some(alias) = pending.pop_front() {
        for need in aliases[alias].needs.iter().map(|need| need.0 as usize).filter(|need| inside.contains(need)) {
            if need == first {
                let mut path = vec![alias];
                while let Some(before) = came_from.get(&path[path.len() - 1]) {
                    path.push(*before);
                }
                path.reverse();
                return Some(path);
            }
            if let std::collections::hash_map::Entry::Vacant(entry) = came_from.entry(need) {
                entry.insert(alias);
                pending.push_back(need);
            }
        }
    }
    None
}

/// Finds the domains that nothing is called by, and slots against the signatures of what can be called. `callables`
/// gives the signature of a name, `candidates` are the names for suggestions. Of what the result is not made of
/// all this is a warning. A JSON plan has no domains.
pub fn check_domains(
    plan: &Plan,
    callables: &dyn Fn(&str) -> Option<Signature>,
    candidates: &[String],
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let PlanBody::Dataflow(dataflow) = &plan.body else { return found };
    let spelling = Spelling::default();
    let domains = dataflow.aliases.iter().flat_map(|alias| alias.domains().iter().map(move |domain| (alias, domain)));
    for (alias, domain) in domains {
        let from = found.len();
        match callables(&domain.name) {
            Some(signature) => check_slots(domain, &signature, &mut found),
            None => {
                let message = format!("there is no tool, playbook or plan `{}`", domain.name);
                let unknown = Diagnostic::error("unknown-domain", domain.name_span, message);
                found.push(match spelling.nearest(&domain.name, candidates.iter()) {
                    Some(meant) => unknown.with_fix(format!("call `{meant}`"), domain.name_span, meant),
                    None => unknown,
                });
            }
        }
        if !alias.reachable {
            found[from..].iter_mut().for_each(|fault| fault.severity = Severity::Warning);
        }
    }
    found
}

fn check_slots(domain: &Domain, signature: &Signature, found: &mut Vec<Diagnostic>) {
    let names = || signature.parameters.iter().map(|parameter| &parameter.name);
    for slot in domain.slots.iter().filter(|slot| !names().any(|name| *name == slot.name)) {
        let message = format!("`{}` has no parameter `{}`", domain.name, slot.name);
        let unknown = Diagnostic::error("unknown-slot", slot.name_span, message);
        let free = names().filter(|name| !domain.slots.iter().any(|other| other.name == **name));
        let all: Vec<&str> = names().map(|name| &**name).collect();
        found.push(match nearest(&slot.name, free.map(|name| &**name)) {
            Some(meant) => unknown.with_fix(format!("write `{meant}`"), slot.name_span, meant),
            None if all.is_empty() => unknown.with_note("it takes no parameters"),
            None => unknown.with_note(format!("it takes: {}", all.join(", "))),
        });
    }
    let required = signature.parameters.iter().filter(|parameter| parameter.default.is_none());
    for parameter in required.filter(|parameter| !domain.slots.iter().any(|slot| slot.name == parameter.name)) {
        let message = format!("`{}` needs the slot `{}`", domain.name, parameter.name);
        found.push(Diagnostic::error("missing-slot", domain.name_span, message));
    }
}
