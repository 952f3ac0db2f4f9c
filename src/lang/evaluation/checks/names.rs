//! What the names in a check mean in a program.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::meant_or;
use crate::evaluation::checks::{Atom, CallPattern, Check, CheckKind, Word};
use crate::lower::LoadOptions;
use crate::program::{Playbook, Program};
use crate::span::Span;

impl Check {
    /// Finds what it names: lines come to be written as the program writes them, and arguments without a name get the
    /// name of the parameter at their place. Answers what names nothing, each with its place; the first note says what
    /// to do.
    pub fn resolve(&mut self, program: &Program, world: &LoadOptions<'_>) -> Vec<Diagnostic> {
        let mut names = Names { program, world, findings: Vec::new() };
        names.check(&mut self.kind);
        names.findings
    }
}

struct Names<'a> {
    program: &'a Program,
    world: &'a LoadOptions<'a>,
    findings: Vec<Diagnostic>,
}

impl<'a> Names<'a> {
    fn check(&mut self, kind: &mut CheckKind) {
        match kind {
            CheckKind::Happens(atom)
            | CheckKind::Never(atom)
            | CheckKind::Times(atom, _)
            | CheckKind::OnlyIf(atom, _) => self.atom(atom),
            CheckKind::AtMost { atom, per, .. } => {
                self.atom(atom);
                if let Some(per) = per {
                    let wanted = format!("write it as an argument, as in `Refund(id: ${0}) per ${0}`", per.text);
                    self.bound(&[&per.text], &atom.names(), per.span, &wanted);
                }
            }
            CheckKind::OnlyAfter(atom, other) | CheckKind::FollowedBy { atom, next: other, .. } => {
                self.atom(atom);
                self.atom(other);
                self.bound(&other.names(), &atom.names(), span_of(other), "use it on both sides, or remove it");
            }
            CheckKind::OnlyKnowing(call, known) => {
                self.call(call);
                self.call(known);
                self.bound(&known.names(), &call.names(), known.name.span, "use it on both sides, or remove it");
            }
            CheckKind::After { after, until, never } => {
                self.atom(after);
                self.atom(never);
                if let Some(until) = until {
                    self.atom(until);
                    let others: Vec<&Arc<str>> = after.names().into_iter().chain(never.names()).collect();
                    self.bound(&until.names(), &others, span_of(until), "use it in another part, or remove it");
                }
            }
            CheckKind::AtEnd(_) | CheckKind::Matches { .. } | CheckKind::Bounded { .. } | CheckKind::Judge(_) => {}
        }
    }

    /// What stands only where nothing gives it a value says nothing.
    fn bound(&mut self, names: &[&Arc<str>], given: &[&Arc<str>], span: Span, next: &str) {
        for name in names.iter().filter(|name| !given.contains(name)) {
            let message = format!("nothing gives `${name}` a value here");
            self.findings.push(Diagnostic::error("unbound-name", span, message).with_note(next));
        }
    }

    fn unknown(&mut self, code: &'static str, word: &Word, message: String, near: Option<String>, otherwise: &str) {
        self.findings.push(Diagnostic::error(code, word.span, message).with_note(meant_or(near, otherwise)));
    }

    fn atom(&mut self, atom: &mut Atom) {
        match atom {
            Atom::Call(call) => self.call(call),
            Atom::Says(_) | Atom::UserSays(_) => {}
            Atom::Reaches { place, line } => self.reaches(place, line.as_mut()),
            Atom::Fires(trigger) => self.fires(trigger),
        }
    }

    fn call(&mut self, call: &mut CallPattern) {
        let CallPattern { name, arguments, .. } = call;
        let Some(parameters) = self.parameters(&name.text) else {
            if self.world.open_world {
                return;
            }
            let message = format!("there is no tool or playbook `{}`", name.text);
            let near = nearest(&name.text, self.callables());
            return self.unknown("unknown-callee", name, message, near, "`playhouse check --explain` lists them");
        };
        let mut given: Vec<Arc<str>> = Vec::new();
        for (index, argument) in arguments.iter_mut().enumerate() {
            let found = match &argument.name {
                Some(word) => parameters.iter().find(|known| **known == word.text),
                None => parameters.get(index),
            };
            match (found, &argument.name) {
                (Some(found), _) if given.contains(found) => {
                    let message = format!("the argument `{found}` is given twice");
                    let found = Diagnostic::error("duplicate-argument", argument.span, message);
                    self.findings.push(found.with_note("remove one of them"));
                }
                (Some(found), _) => {
                    given.push(found.clone());
                    argument.name = Some(Word { text: found.clone(), span: argument.span });
                }
                (None, Some(word)) => {
                    let message = format!("`{}` has no parameter `{}`", name.text, word.text);
                    let near = nearest(&word.text, parameters.iter().map(ToString::to_string));
                    let otherwise = format!("it has: {}", parameters.join(", "));
                    self.unknown("unknown-argument", word, message, near, &otherwise);
                }
                (None, None) => {
                    let message = format!("`{}` has only {} parameters", name.text, parameters.len());
                    let found = Diagnostic::error("unknown-argument", argument.span, message);
                    self.findings.push(found.with_note("remove this argument"));
                }
            }
        }
    }

    /// The first playbook of this name.
    fn named(&self, name: &str) -> Option<&'a Playbook> {
        self.program.playbooks_named(name).next()
    }

    /// The names of the parameters of what is called so.
    fn parameters(&self, name: &str) -> Option<Vec<Arc<str>>> {
        if let Some(playbook) = self.named(name) {
            return Some(playbook.parameters.iter().map(|parameter| parameter.name.clone()).collect());
        }
        let plan = self.program.plans.iter().find(|plan| *plan.name == *name).map(|plan| plan.signature());
        let tool = || self.world.tools.iter().find(|tool| *tool.name == *name).cloned();
        let signature = plan.or_else(tool)?;
        Some(signature.parameters.iter().map(|parameter| parameter.name.clone()).collect())
    }

    fn callables(&self) -> impl Iterator<Item = String> {
        let tools = self.world.tools.iter().map(|tool| tool.name.to_string());
        tools.chain(self.places())
    }

    /// Playbooks and plans.
    fn places(&self) -> impl Iterator<Item = String> {
        let playbooks = self.program.playbooks.iter().filter(|playbook| !playbook.implicit);
        let plans = self.program.plans.iter().map(|plan| plan.name.to_string());
        playbooks.map(|playbook| playbook.name.to_string()).chain(plans)
    }

    /// The playbook of this name, or what is said of there being none.
    fn playbook(&mut self, name: &str, word: &Word) -> Option<&'a Playbook> {
        let found = self.named(name);
        if found.is_none() {
            let message = format!("there is no playbook `{name}`");
            let near = nearest(name, self.places());
            self.unknown("unknown-playbook", word, message, near, "`playhouse check --explain` lists them");
        }
        found
    }

    fn reaches(&mut self, place: &Word, line: Option<&mut Word>) {
        let program = self.program;
        if let Some(plan) = program.plans.iter().find(|plan| plan.name == place.text) {
            let Some(line) = line else { return };
            if !plan.nodes.iter().any(|node| node.label == line.text) {
                let message = format!("the plan `{}` has no place `{}`", plan.name, line.text);
                let near = nearest(&line.text, plan.nodes.iter().map(|node| node.label.to_string()));
                self.unknown("unknown-line", line, message, near, "`playhouse plan explain` lists them");
            }
            return;
        }
        let Some(playbook) = self.playbook(&place.text, place) else { return };
        let (Some(line), name) = (line, playbook.name.clone()) else { return };
        match playbook.find_step(&line.text) {
            Some(step) => line.text = playbook.step(step).label.clone(),
            None => {
                let labels: Vec<String> = playbook.steps.iter().map(|step| step.label.to_string()).collect();
                let message = format!("`{name}` has no line `{}`", line.text);
                let otherwise = match labels.as_slice() {
                    [first, .., last] => format!("its lines are {first} to {last}"),
                    [only] => format!("its only line is {only}"),
                    [] => "it has none: it pursues a goal".to_owned(),
                };
                let near = nearest(&line.text, labels.into_iter());
                self.unknown("unknown-line", line, message, near, &otherwise);
            }
        }
    }

    fn fires(&mut self, word: &Word) {
        let Some((name, number)) = word.text.split_once(':') else { return };
        let Some(playbook) = self.playbook(name, word) else { return };
        let names: Vec<String> = (1..=playbook.triggers.len()).map(|number| format!("T{number}")).collect();
        if names.iter().any(|known| known == number) {
            return;
        }
        let message = format!("there is no trigger `{}`", word.text);
        let otherwise = match names.as_slice() {
            [] => format!("`{name}` has no trigger"),
            names => format!("this playbook has {}", names.join(", ")),
        };
        self.unknown("unknown-trigger", word, message, None, &otherwise);
    }
}

/// Where an atom with names in it stands.
fn span_of(atom: &Atom) -> Span {
    match atom {
        Atom::Call(call) => call.name.span,
        Atom::Says(pattern) | Atom::UserSays(pattern) => pattern.span,
        Atom::Reaches { place, .. } => place.span,
        Atom::Fires(trigger) => trigger.span,
    }
}
