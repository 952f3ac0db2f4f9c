//! Which mutants a program has.

use std::collections::BTreeMap;

use crate::analysis::mutate::bounds::{counted, moved};
use crate::analysis::mutate::change::{Change, ToolsOf};
use crate::analysis::mutate::mutant::{Mutant, Site};
use crate::expr::{Expr, ExprKind, UnaryOperator};
use crate::program::flow_graph::Node;
use crate::program::{Entry, Loop, Mode, Playbook, Program, Returned, Step, StepId, StepKind, Trigger, TriggerKind};
use crate::span::Span;
use crate::value::Value;

/// All mutants of a program, in the order of its text, what is denied last. The same text has the same mutants.
pub fn mutants(program: &Program) -> Vec<Mutant> {
    let mut list = List { program, n_named: BTreeMap::new(), mutants: Vec::new() };
    let is_run = |playbook: &&Playbook| !playbook.implicit && program.unsupported(playbook.id).is_none();
    for playbook in program.playbooks.iter().filter(is_run) {
        for trigger in &playbook.triggers {
            list.of_trigger(trigger);
        }
        // A model that pursues a goal goes its own way.
        if playbook.mode == Mode::Steps {
            for line in &playbook.steps {
                list.of_line(playbook, line);
            }
        }
    }
    list.of_tools();
    list.mutants
}

/// The mutants so far.
struct List<'p> {
    program: &'p Program,
    /// How often each name would stand there.
    n_named: BTreeMap<String, usize>,
    mutants: Vec<Mutant>,
}

impl List<'_> {
    fn add(&mut self, name: String, site: Site, span: Span, change: Option<Change>) {
        let n = self.n_named.entry(name.clone()).or_default();
        *n += 1;
        let name = if *n > 1 { format!("{name} #{n}") } else { name };
        self.mutants.push(Mutant { name, site, span, change });
    }

    fn of_trigger(&mut self, trigger: &Trigger) {
        let id = trigger.id;
        let name = self.program.unique_trigger_name(id);
        let can_be_missed = match (&trigger.kind, &self.program.entry) {
            // Of a program that does not begin every test takes notice.
            (TriggerKind::Beginning, Entry::Beginning(all)) => all.len() > 1 && all.contains(&id.playbook),
            (TriggerKind::Beginning, Entry::Single(_) | Entry::Root(_) | Entry::Plan(_) | Entry::None) => false,
            (_, _) => true,
        };
        let mut add = |words: &str, change| {
            self.add(format!("{name} {words}"), Site::Trigger(id), trigger.span, Some(change));
        };
        if can_be_missed {
            add("drop", Change::DropTrigger(id));
        }
        if let TriggerKind::Condition(condition) = &trigger.kind {
            for (words, condition) in conditions(condition) {
                add(&words, Change::TriggerCondition(id, condition));
            }
        }
    }

    fn of_line(&mut self, playbook: &Playbook, line: &Step) {
        let (id, step) = (playbook.id, line.id);
        let name = format!("{}:{}", self.program.unique_name(id), line.label);
        let mut add = |words: &str, change| {
            self.add(format!("{name} {words}"), Site::Line(id, step), line.span, change);
        };
        if !line.explicit {
            return add("drop", None);
        }
        if let Some(condition) = line.kind.condition() {
            for (words, condition) in conditions(condition) {
                add(&words, Some(Change::Condition(id, step, condition)));
            }
        }
        if let StepKind::Loop(header) = &line.kind {
            let count = match header {
                Loop::Repeat { count } | Loop::Until { at_most: count, .. } => count.as_ref(),
                Loop::ForEach { .. } | Loop::While { .. } => None,
            };
            if let Some((words, count)) = count.and_then(|count| counted(count, 1)) {
                add(&words, Some(Change::Count(id, step, count)));
            }
            add("once", Some(Change::Once(id, step)));
        } else if !matches!(line.kind, StepKind::Branch { .. }) && can_go(playbook, line) {
            add("drop", Some(Change::Drop(id, step)));
            if let Some(next) = beside(playbook, step).filter(|next| is_order_seen(line, next)) {
                add(&format!("swap {}", next.label), Some(Change::Swap(id, step, next.id)));
            }
        }
    }

    /// What is denied, by whatever list.
    fn of_tools(&mut self) {
        let program = self.program;
        let front_matter = program.settings.other.iter().find(|(key, ..)| key == "tools").map(|(_, _, span)| *span);
        let mut lists = vec![(String::new(), ToolsOf::Program, front_matter.unwrap_or_default())];
        lists.extend(
            program.agents.iter().map(|agent| (format!("{} ", agent.name), ToolsOf::Agent(agent.id), agent.title_span)),
        );
        lists.extend(program.playbooks.iter().map(|playbook| {
            (format!("{} ", program.unique_name(playbook.id)), ToolsOf::Playbook(playbook.id), playbook.title_span)
        }));
        for (whose, of, span) in lists {
            for name in &of.list(program).deny {
                let change = Change::Permit(of, name.clone());
                self.add(format!("{whose}tools {name} deny drop"), Site::Tools, span, Some(change));
            }
        }
    }
}

/// The other conditions that one can be mistaken for.
fn conditions(condition: &Expr) -> Vec<(String, Expr)> {
    let negated = ExprKind::Unary(UnaryOperator::Not, Box::new(condition.clone()));
    let negated = ("negate".to_owned(), Expr { kind: negated, span: condition.span });
    std::iter::once(negated).chain(moved(condition)).collect()
}

/// Whether it makes a difference that a line is gone. One with others below it is the beginning of something; one that
/// returns nothing where the playbook is at its end changes nothing.
fn can_go(playbook: &Playbook, line: &Step) -> bool {
    let is_null = |value: &Expr| value.as_constant() == Some(Value::Null);
    let returns_nothing = matches!(&line.kind, StepKind::Return(Returned::Nothing))
        || matches!(&line.kind, StepKind::Return(Returned::Value(value)) if is_null(value));
    line.children.is_empty() && !(returns_nothing && playbook.flow.after(line.id) == Node::End)
}

/// The line after one, side by side with it.
fn beside(playbook: &Playbook, step: StepId) -> Option<&Step> {
    let parent = playbook.step(step).parent;
    playbook.steps.get(step.0 as usize + 1).filter(|next| next.parent == parent)
}

/// Whether it can be seen in which order the interpreter does two lines: both speak, both call a tool, or one needs
/// what the other sets. A playbook that is called may be shown inside its line, where it stays.
fn is_order_seen(line: &Step, next: &Step) -> bool {
    let is_free = |line: &Step| {
        let is_alone = match line.call() {
            Some(call) => call.playbook.is_none() && matches!(line.kind, StepKind::Call(_)),
            None => matches!(line.kind, StepKind::Assign { .. } | StepKind::Say { .. }),
        };
        is_alone && line.children.is_empty()
    };
    let needs = |one: &Step, other: &Step| {
        one.writes.iter().any(|name| other.reads.contains(name) || other.writes.contains(name))
    };
    let is_alike = matches!(
        (&line.kind, &next.kind),
        (StepKind::Say { .. }, StepKind::Say { .. }) | (StepKind::Call(_), StepKind::Call(_))
    );
    let is_swappable = line.explicit && next.explicit && is_free(line) && is_free(next);
    is_swappable && (is_alike || needs(line, next) || needs(next, line))
}
