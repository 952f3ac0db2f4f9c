//! Who calls a playbook, whom it calls, and the arguments of a call that is being written.

use playhouse_lang::analysis::explain::signature;
use playhouse_lang::program::{AgentId, Playbook, PlaybookId, Signature, Step, TriggerId};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::hover::count;
use crate::occurrences::Symbol;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caller {
    /// A playbook, in lines of its own.
    Playbook(PlaybookId),
    /// A trigger of the playbook that is called.
    Trigger(TriggerId),
}

/// A caller, or somebody who is called, and the places of the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls<T> {
    /// Who.
    pub who: T,
    /// Of the calls; of a trigger, of the lines that set what it waits for.
    pub places: Vec<Span>,
}

/// A call that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writing {
    /// What is called, as `check --explain` has it.
    pub label: String,
    /// What it does, in one line.
    pub summary: String,
    /// Its parameters.
    pub parameters: Vec<String>,
    /// Which of them is being written, from 0.
    pub active: usize,
}

impl View {
    /// The playbook whose title or name stands at an offset.
    pub fn playbook_named_at(&self, file: FileId, offset: usize) -> Option<&Playbook> {
        let Symbol::Playbook(id) = self.name_at(file, offset)?.symbol else { return None };
        Some(self.program().playbook(id))
    }

    /// Who calls a playbook: lines by place, and its own triggers, which the lines set off that set what they wait for.
    pub fn callers(&self, id: PlaybookId) -> Vec<Calls<Caller>> {
        let program = self.program();
        let mut callers: Vec<Calls<Caller>> = Vec::new();
        for (playbook, line) in self.lines() {
            if let Some(call) = line.call().filter(|call| call.playbook == Some(id)) {
                add(&mut callers, Caller::Playbook(playbook.id), call.callee_span);
            }
        }
        let playbook = program.playbook(id);
        for trigger in &playbook.triggers {
            let sets = self.lines().filter(|(other, line)| {
                other.agent == playbook.agent && line.writes.iter().any(|name| trigger.names.contains(name))
            });
            let places = sets.map(|(_, line)| line.span).collect();
            callers.push(Calls { who: Caller::Trigger(trigger.id), places });
        }
        callers
    }

    /// Which playbooks a playbook calls.
    pub fn callees(&self, id: PlaybookId) -> Vec<Calls<PlaybookId>> {
        let mut callees = Vec::new();
        for call in self.program().playbook(id).steps.iter().filter_map(Step::call) {
            if let Some(callee) = call.playbook {
                add(&mut callees, callee, call.callee_span);
            }
        }
        callees
    }

    /// How many [`View::callers`] a playbook has, and how many of them are triggers: `3 callers (2 triggers)`.
    pub fn counted_callers(&self, id: PlaybookId) -> String {
        let n_triggers = self.program().playbook(id).triggers.len();
        let triggers = if n_triggers == 0 { String::new() } else { format!(" ({})", count(n_triggers, "trigger")) };
        format!("{}{triggers}", count(self.callers(id).len(), "caller"))
    }

    fn lines(&self) -> impl Iterator<Item = (&Playbook, &Step)> {
        let playbooks = self.program().playbooks.iter().filter(|playbook| !playbook.implicit);
        playbooks.flat_map(|playbook| playbook.steps.iter().map(move |line| (playbook, line)))
    }

    /// The call in whose brackets an offset of a file lies, whose text is now `text`. Brackets in quotation marks and
    /// those of earlier lines do not count.
    pub fn writing(&self, file: FileId, text: &str, offset: usize) -> Option<Writing> {
        let before = text.get(..offset)?;
        let line = before.rsplit('\n').next()?;
        let (mut open, mut is_quoted): (Vec<(usize, usize)>, bool) = (Vec::new(), false);
        for (at, c) in line.char_indices() {
            match c {
                '"' => is_quoted = !is_quoted,
                '(' | '[' | '{' if !is_quoted => open.push((at, 0)),
                ')' | ']' | '}' if !is_quoted => {
                    open.pop();
                }
                ',' if !is_quoted => {
                    if let Some((_, n_commas)) = open.last_mut() {
                        *n_commas += 1;
                    }
                }
                _ => {}
            }
        }
        let is_call =
            |(at, _): &&(usize, usize)| line[*at..].starts_with('(') && !callee_before(&line[..*at]).is_empty();
        let (at, active) = *open.iter().rev().find(is_call)?;
        let called = self.signature_in(self.playbook_at(file, offset)?.agent, callee_before(&line[..at]))?;
        let parameters = called.parameters.iter().map(|parameter| format!("${}", parameter.name)).collect();
        Some(Writing { label: signature(&called), summary: called.summary.to_string(), parameters, active })
    }

    /// How what is called by this name in an agent's playbooks is called.
    pub(crate) fn signature_in(&self, agent: AgentId, name: &str) -> Option<Signature> {
        let program = self.program();
        if let Some(id) = program.find_playbook(agent, name) {
            return Some(program.playbook(id).signature());
        }
        let plan = program.find_plan(name).and_then(|id| program.plan(id));
        plan.map(|plan| plan.signature()).or_else(|| self.tool(name).cloned())
    }
}

/// The name that a text ends with: `Pay`, `bank.Pay`.
pub(crate) fn callee_before(text: &str) -> &str {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    &text[text.trim_end_matches(is_inner).len()..]
}

fn add<T: PartialEq>(calls: &mut Vec<Calls<T>>, who: T, place: Span) {
    match calls.iter_mut().find(|known| known.who == who) {
        Some(known) => known.places.push(place),
        None => calls.push(Calls { who, places: vec![place] }),
    }
}
