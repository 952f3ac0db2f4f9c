//! Every place of a name in a program, with what it means there and its role.

use std::sync::{Arc, OnceLock};

use playhouse_lang::expr::scan_name;
use playhouse_lang::program::{AgentId, CallSite, Playbook, PlaybookId, Program, Step, TriggerKind};
use playhouse_lang::span::Span;

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// An agent.
    Agent(AgentId),
    /// A playbook.
    Playbook(PlaybookId),
    /// A tool, a plan, or a name that nobody knows.
    Callable(Arc<str>),
    /// A variable of a playbook's own.
    Own(PlaybookId, Arc<str>),
    /// A variable that an agent's playbooks share.
    Shared(AgentId, Arc<str>),
}

/// What a place does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Says that there is such a thing: a title, a parameter, a declaration.
    Definition,
    /// Sets it.
    Write,
    /// Uses it: a read, a call, a mention.
    Use,
}

/// A place of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The name alone; of a variable with its `$`.
    pub span: Span,
    /// What it means.
    pub symbol: Symbol,
    /// What it does with it.
    pub role: Role,
}

/// All of a program; those of a playbook are looked for when they are first asked for.
#[derive(Debug)]
pub(crate) struct Occurrences {
    /// Those outside of playbooks.
    agents: OnceLock<Vec<Occurrence>>,
    /// By playbook, in the order of ids.
    playbooks: Vec<OnceLock<Vec<Occurrence>>>,
}

impl Occurrences {
    /// None is looked for yet.
    pub(crate) fn of(program: &Program) -> Occurrences {
        Occurrences { agents: OnceLock::new(), playbooks: vec![OnceLock::new(); program.playbooks.len()] }
    }

    /// Those in a playbook, by place, no two at one.
    pub(crate) fn in_playbook(&self, program: &Program, id: PlaybookId) -> &[Occurrence] {
        self.playbooks[id.0 as usize].get_or_init(|| {
            let playbook = program.playbook(id);
            let mut found = Vec::new();
            if !playbook.implicit {
                of_playbook(program, playbook, &mut found);
            }
            sorted(found)
        })
    }

    /// Those outside of playbooks, by place, no two at one.
    pub(crate) fn in_agents(&self, program: &Program) -> &[Occurrence] {
        self.agents.get_or_init(|| sorted(of_agents(program)))
    }
}

fn sorted(mut found: Vec<Occurrence>) -> Vec<Occurrence> {
    found.sort_by_key(|place| (place.span, place.role as u8));
    found.dedup_by_key(|place| place.span);
    found
}

fn of_agents(program: &Program) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for agent in &program.agents {
        let symbol = Symbol::Agent(agent.id);
        found.extend(in_title(program, agent.title_span, &agent.title).map(|span| definition(span, symbol)));
        for variable in &agent.variables {
            let symbol = Symbol::Shared(agent.id, variable.name.clone());
            found.extend(word(program, variable.span, &variable.name).map(|span| definition(span, symbol)));
        }
    }
    found
}

fn definition(span: Span, symbol: Symbol) -> Occurrence {
    Occurrence { span, symbol, role: Role::Definition }
}

fn of_playbook(program: &Program, playbook: &Playbook, found: &mut Vec<Occurrence>) {
    let symbol = Symbol::Playbook(playbook.id);
    let named = word(program, playbook.title_span, &playbook.name);
    let titled = || in_title(program, playbook.title_span, playbook.title.split('(').next().unwrap_or_default().trim());
    found.extend(named.or_else(titled).map(|span| definition(span, symbol)));
    for line in &playbook.steps {
        if let Some(call) = line.kind.call() {
            of_call(program, line, call, found);
        }
        // The name without its `$`, which stands before it.
        for target in line.kind.targets() {
            let span = Span { start: target.span.start.saturating_sub(1), ..target.span };
            let is_whole = program.sources.text(span).starts_with('$');
            let span = if is_whole { span } else { target.span };
            found.push(Occurrence { span, symbol: variable(playbook, &target.name), role: Role::Write });
        }
    }
    for trigger in &playbook.triggers {
        if let TriggerKind::BeforeCall(call) | TriggerKind::AfterCall(call) | TriggerKind::CallFails(Some(call)) =
            &trigger.kind
        {
            let symbol = call.playbook.map_or_else(|| Symbol::Callable(call.name.clone()), Symbol::Playbook);
            let span = word(program, trigger.span, &call.name);
            found.extend(span.map(|span| Occurrence { span, symbol, role: Role::Use }));
        }
    }
    mentions(program, playbook, found);
}

/// A callee, the agent before its dot, and the parameters that its arguments name.
fn of_call(program: &Program, line: &Step, call: &CallSite, found: &mut Vec<Occurrence>) {
    let mut span = call.callee_span;
    let Some(id) = call.playbook else {
        let symbol = Symbol::Callable(call.callee.clone());
        return found.push(Occurrence { span, symbol, role: Role::Use });
    };
    let callee = program.playbook(id);
    let agent = program.agent(callee.agent);
    if let Some(rest) = program.sources.text(span).strip_prefix(&*agent.name)
        && rest.starts_with('.')
    {
        let end = agent.name.len();
        found.push(Occurrence { span: span.part(0..end), symbol: Symbol::Agent(agent.id), role: Role::Use });
        span = span.part(end + 1..end + rest.len());
    }
    found.push(Occurrence { span, symbol: Symbol::Playbook(id), role: Role::Use });
    let rest = Span::new(span.file, span.range().end, line.span.range().end.max(span.range().end));
    for name in call.arguments.iter().flatten().filter_map(|argument| argument.name.as_ref()) {
        let symbol = Symbol::Own(id, name.clone());
        found.extend(argument_name(program, rest, name).map(|span| Occurrence { span, symbol, role: Role::Use }));
    }
}

/// Where an argument's name stands: `name =`, and not `$name`.
fn argument_name(program: &Program, span: Span, name: &str) -> Option<Span> {
    let text = program.sources.text(span);
    let is_inner = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == '.';
    let names = |at: &usize| {
        let after = text[*at + name.len()..].trim_start();
        !text[..*at].ends_with(is_inner) && after.starts_with(['=', ':']) && !after.starts_with("==")
    };
    let at = text.match_indices(name).map(|(at, _)| at).find(names)?;
    Some(span.part(at..at + name.len()))
}

/// `$name`, wherever it stands in a playbook: lines, triggers, notes, texts that are said.
fn mentions(program: &Program, playbook: &Playbook, found: &mut Vec<Occurrence>) {
    let text = program.sources.text(playbook.span);
    let title = playbook.title_span;
    for (at, _) in text.match_indices('$') {
        // Of `$order.total` the name is the variable.
        let length = scan_name(&text[at + 1..]);
        if length == 0 {
            continue;
        }
        let span = playbook.span.part(at..at + 1 + length);
        let role = if title.contains(span.range().start) { Role::Definition } else { Role::Use };
        found.push(Occurrence { span, symbol: variable(playbook, &text[at + 1..][..length]), role });
    }
}

/// What a variable of this name is in a playbook.
pub(crate) fn variable(playbook: &Playbook, name: &str) -> Symbol {
    match playbook.own.get(name) {
        Some(name) => Symbol::Own(playbook.id, name.clone()),
        // Most names are there already.
        None => Symbol::Shared(playbook.agent, playbook.outer.get(name).cloned().unwrap_or_else(|| name.into())),
    }
}

/// The first place of a whole word in a span.
fn word(program: &Program, span: Span, name: &str) -> Option<Span> {
    let at = whole_words(program.sources.text(span), name).next()?;
    Some(span.part(at..at + name.len()))
}

/// Where a name stands in a text as a whole word.
pub(crate) fn whole_words<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = move |at: &usize| {
        !text[..*at].ends_with(is_inner) && !text[*at + name.len()..].starts_with(is_inner) && !name.is_empty()
    };
    text.match_indices(name).map(|(at, _)| at).filter(is_whole)
}

/// A title's own words.
fn in_title(program: &Program, span: Span, title: &str) -> Option<Span> {
    let at = program.sources.text(span).find(title).filter(|_| !title.is_empty())?;
    Some(span.part(at..at + title.len()))
}
