//! The system message of an agent, and what stands in it.

use std::sync::{Arc, OnceLock};

use minijinja::context;
use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::program::{AgentId, Mode, Playbook, PlaybookId, Program, Signature, TriggerKind};

use crate::prompt::files::render;
use crate::prompt::topics::repeats;
use crate::protocol::ToolSignature;
use crate::protocol::settings::Settings;
use crate::variables::display::first_line;

/// What is the same for all turns of an agent, made once.
#[derive(Debug)]
pub(crate) struct Prompts {
    agents: Vec<AgentPrompt>,
}

impl Prompts {
    pub(crate) fn new(program: &Program) -> Prompts {
        Prompts { agents: program.agents.iter().map(|_| AgentPrompt::default()).collect() }
    }

    /// The system message of an agent.
    pub(crate) fn system(
        &self,
        program: &Program,
        tools: &[ToolSignature],
        agent: AgentId,
        layouts: &Layouts,
        settings: &Settings,
    ) -> Arc<str> {
        let make = || {
            // What is about playbooks inside lines, loops, goals or triggers costs tokens only where there are such.
            let inlines = program.agent(agent).playbooks.iter().any(|&id| layouts.has_regions(id));
            let is_goal = |playbook: &Playbook| playbook.agent == agent && playbook.mode == Mode::Goal;
            let delegate = program.delegate_of(agent);
            let goals = program.playbooks.iter().any(|playbook| is_goal(playbook) && Some(playbook.id) != delegate);
            let mut lines = program.agent(agent).playbooks.iter().flat_map(|&id| &program.playbook(id).steps);
            let loops = lines.any(|line| !settings.performs(line) && repeats(line));
            let skill = program.agent(agent).playbooks.iter().any(|&id| program.playbook(id).skill.is_some());
            let triggers =
                callable_playbooks(program, agent).any(|(_, playbook)| !starts_by_itself(playbook).is_empty());
            let playbooks: Vec<String> = callable_playbooks(program, agent)
                .map(|(name, playbook)| summary_line(&name, &playbook.signature()) + &starts_by_itself(playbook))
                .collect();
            let tools = tools.iter().filter(|tool| may_call(program, agent, tool));
            let skill_tools = tools.clone().any(|tool| tool.is_for_skills);
            let tools: Vec<String> = tools.map(|tool| summary_line(&tool.signature.name, &tool.signature)).collect();
            let agent = program.agent(agent);
            let (title, description) = (&*agent.title, agent.description.trim());
            let context = context! { agent => title, description, playbooks, tools, inlines, loops, goals, skill, skill_tools, triggers, delegate => delegate.is_some() };
            render("system", context).into()
        };
        match self.agents.get(agent.0 as usize) {
            Some(prompt) => prompt.system.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// The names an agent's model may call, playbooks first.
    pub(crate) fn callables(&self, program: &Program, tools: &[ToolSignature], agent: AgentId) -> Arc<[Arc<str>]> {
        let make = || {
            let playbooks = callable_playbooks(program, agent).map(|(name, _)| Arc::from(name));
            let tools = tools.iter().filter(|tool| may_call(program, agent, tool));
            playbooks.chain(tools.map(|tool| tool.signature.name.clone())).collect()
        };
        match self.agents.get(agent.0 as usize) {
            Some(prompt) => prompt.callables.get_or_init(make).clone(),
            None => make(),
        }
    }
}

/// Whether an agent may call a tool: one that it knows, and that its lists permit.
pub(crate) fn may_call(program: &Program, agent: AgentId, tool: &ToolSignature) -> bool {
    let name = &tool.signature.name;
    knows(program, agent, tool) && program.tools.permits(name) && program.agent(agent).tools.permits(name)
}

/// Whether there is such a tool for an agent: what is there for skills is there for them alone, and not for those that say
/// that they may not use it.
pub(crate) fn knows(program: &Program, agent: AgentId, tool: &ToolSignature) -> bool {
    match program.skill_of(agent).and_then(|playbook| playbook.skill.as_ref()) {
        Some(skill) => !skill.permits.forbids(&tool.signature.name),
        None => !tool.is_for_skills,
    }
}

/// An agent's own playbooks, then the public ones of other agents, each with the name that calls it. A skill does not call
/// itself.
pub(super) fn callable_playbooks(program: &Program, agent: AgentId) -> impl Iterator<Item = (String, &Playbook)> {
    let playbook = move |id: &PlaybookId| program.playbook(*id);
    let own = program.agent(agent).playbooks.iter().map(playbook).filter(|playbook| playbook.skill.is_none());
    let delegate = program.delegate_of(agent).map(|id| program.playbook(id));
    let others = program.agents.iter().filter(move |other| other.id != agent);
    let others = others.flat_map(|other| &other.playbooks).map(playbook).filter(|playbook| playbook.public);
    own.chain(delegate).chain(others).map(move |playbook| (program.name_for(agent, playbook), playbook))
}

/// `Name(a: str, b = 3) -> dict: what it does`.
pub(crate) fn summary_line(name: &str, signature: &Signature) -> String {
    let line = signature.written(name, "");
    if signature.summary.is_empty() { line } else { format!("{line}: {}", signature.summary) }
}

/// When a playbook is called by triggers, so that the model does not call it for the same.
pub(super) fn starts_by_itself(playbook: &Playbook) -> String {
    let triggers = playbook.triggers.iter().filter(|trigger| trigger.kind != TriggerKind::Beginning);
    if playbook.skill.is_some() {
        // Its description stands before it already.
        let is_described = playbook.triggers.iter().any(|trigger| trigger.kind == TriggerKind::Semantic);
        return if is_described { " (starts by itself)".to_owned() } else { String::new() };
    }
    let texts: Vec<&str> = triggers.map(|trigger| first_line(&trigger.text)).collect();
    if texts.is_empty() { String::new() } else { format!(" (starts by itself: {})", clipped(&texts.join("; "), 80)) }
}

/// The beginning of a text.
pub(super) fn clipped(text: &str, limit: usize) -> String {
    if text.len() <= limit { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(limit)]) }
}

#[derive(Debug, Default)]
struct AgentPrompt {
    system: OnceLock<Arc<str>>,
    callables: OnceLock<Arc<[Arc<str>]>>,
}
