//! Which agents a program has, and which trees each is made of: imported files add playbooks to the agent that
//! imports them, as if their text stood there.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::expr::identifier;
use crate::lower::load::Files;
use crate::lower::settings::{ToolsOf, file_start, read_metadata, read_tools, read_variables};
use crate::lower::steps::join_paragraphs;
use crate::program::{Agent, AgentId, AgentKind, DeclaredVariable, ToolList, ToolNames};
use crate::source::ast::{AgentTree, Body, PlaybookTree};
use crate::span::Span;

/// An agent and the trees it is made of.
pub(crate) struct AgentPlan<'a> {
    /// Without its playbooks.
    pub(crate) agent: Agent,
    /// Its own body first, then those of imported files without an agent.
    pub(crate) bodies: Vec<&'a Body>,
    pub(crate) playbooks: Vec<&'a PlaybookTree>,
}

/// An agent that has nothing but a name.
pub(crate) fn empty_agent(name: &str, title: &str, title_span: Span) -> Agent {
    Agent { name: name.into(), title: title.into(), title_span, ..Agent::default() }
}

/// Finds all agents: those of the given files in order, then those of imported files.
pub(crate) fn plan_agents<'a>(
    files: &'a Files,
    tools: &ToolNames<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<AgentPlan<'a>> {
    let mut plans = Vec::new();
    // Per file, the plans of its agents.
    let mut plans_of: Vec<Vec<usize>> = Vec::new();
    let mut variables_of: Vec<Vec<DeclaredVariable>> = Vec::new();
    for file in &files.files {
        let source = files.text(file.tree.file);
        let settings = file.settings.iter().filter(|setting| setting.key == "variables");
        let variables: Vec<DeclaredVariable> = settings.flat_map(|s| read_variables(s, diagnostics)).collect();
        let mut own = Vec::new();
        for tree in &file.tree.agents {
            own.push(plans.len());
            plans.push(plan_agent(tree, source, &variables, tools, diagnostics));
        }
        plans_of.push(own);
        variables_of.push(variables);
    }
    for (index, file) in files.files.iter().enumerate() {
        let preamble = &file.tree.preamble;
        let has_text = !preamble.body.text.is_empty();
        // The variables of a file without an agent belong to whoever imports it.
        let variables = if file.tree.agents.is_empty() { std::mem::take(&mut variables_of[index]) } else { Vec::new() };
        if preamble.playbooks.is_empty() && !has_text && variables.is_empty() {
            continue;
        }
        let mut owners: Vec<usize> = importers(files, index, &plans_of);
        let imported = !owners.is_empty();
        if !imported {
            if let Some(first) = preamble.playbooks.first() {
                let message = "no agent's heading stands before this playbook; write `# Name` above it";
                diagnostics.push(Diagnostic::error("playbook-without-agent", first.heading.title, message));
            }
            let fallback = plans_of[index].first().copied().or((!plans.is_empty()).then_some(0));
            owners.push(fallback.unwrap_or_else(|| {
                plans.push(agent_without_heading(files, index));
                plans.len() - 1
            }));
        }
        let source = files.text(file.tree.file);
        for owner in owners {
            let plan: &mut AgentPlan<'a> = &mut plans[owner];
            let text = join_paragraphs(source, &preamble.body.text);
            // What stands before an agent in its own file comes first, what is imported into it last.
            let at = if imported { plan.playbooks.len() } else { 0 };
            let agent = &mut plan.agent;
            let texts = if imported { [&*agent.description, &text] } else { [text.as_str(), &agent.description] };
            let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            agent.description = texts.join("\n\n").into();
            agent.variables.extend(variables.iter().cloned());
            plan.bodies.push(&preamble.body);
            plan.playbooks.splice(at..at, &preamble.playbooks);
        }
    }
    for (index, plan) in plans.iter_mut().enumerate() {
        plan.agent.id = AgentId(u32::try_from(index).unwrap_or(u32::MAX));
        keep_last(&mut plan.agent.variables);
    }
    plans
}

/// What an agent declares itself stands after what its file declares, and counts.
fn keep_last(variables: &mut Vec<DeclaredVariable>) {
    let mut last: HashMap<Arc<str>, usize> = HashMap::new();
    for (index, variable) in variables.iter().enumerate() {
        last.insert(variable.name.clone(), index);
    }
    let mut index = 0;
    variables.retain(|variable| {
        index += 1;
        last.get(&variable.name) == Some(&(index - 1))
    });
}

/// The agents that a file without an agent of its own is pulled into.
fn importers(files: &Files, to: usize, plans_of: &[Vec<usize>]) -> Vec<usize> {
    let mut owners = Vec::new();
    let mut seen = vec![false; files.files.len()];
    let mut pending = vec![to];
    while let Some(at) = pending.pop() {
        for edge in files.imports.iter().filter(|edge| edge.to == at) {
            let agent = plans_of[edge.from].get(edge.agent.unwrap_or(0));
            match agent {
                Some(&owner) if !owners.contains(&owner) => owners.push(owner),
                Some(_) => {}
                // An import by a file that has no agent either belongs to whoever imports that one.
                None if !std::mem::replace(&mut seen[edge.from], true) => pending.push(edge.from),
                None => {}
            }
        }
    }
    owners.sort_unstable();
    owners
}

/// A text without any heading is the description of an agent that has the file's name.
fn agent_without_heading<'a>(files: &Files, index: usize) -> AgentPlan<'a> {
    let tree = &files.files[index].tree;
    let path = files.sources.get(tree.file).map_or("", |file| &*file.name);
    let settings = &files.files[index].settings;
    let stem = path.rsplit(['/', '\\']).next().unwrap_or("").split('.').next().unwrap_or("");
    let given = settings.iter().find(|setting| setting.key == "name").and_then(|setting| setting.value.as_str());
    let title = given.unwrap_or(stem);
    let name = Some(identifier(title)).filter(|name| !name.is_empty()).unwrap_or_else(|| "Agent".to_owned());
    AgentPlan { agent: empty_agent(&name, title, file_start(tree.file)), bodies: Vec::new(), playbooks: Vec::new() }
}

fn plan_agent<'a>(
    tree: &'a AgentTree,
    source: &str,
    declared: &[DeclaredVariable],
    known: &ToolNames<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> AgentPlan<'a> {
    if let [PlaybookTree { skill: Some(skill), .. }] = &tree.playbooks[..] {
        let place = tree.heading.map_or(tree.playbooks[0].span, |heading| heading.title);
        let agent = Agent {
            description: skill.description.as_str().into(),
            ..empty_agent(&skill.identifier(), &skill.name, place)
        };
        return AgentPlan { agent, bodies: Vec::new(), playbooks: tree.playbooks.iter().collect() };
    }
    let title_span = tree.heading.map_or(file_start(crate::span::FileId(0)), |heading| heading.title);
    let title = source.get(title_span.range()).unwrap_or("");
    let (words, mut kind) = match title.rsplit_once(':') {
        Some((words, "Human")) => (words, AgentKind::Human),
        Some((words, "MCP")) => (words, AgentKind::Remote),
        Some((words, "AI")) => (words, AgentKind::Playbooks),
        _ => (title, AgentKind::Playbooks),
    };
    let mut name = identifier(words);
    if name.is_empty() {
        diagnostics.push(Diagnostic::error("bad-signature", title_span, "this agent has no name; write `# Name`"));
        name = "Agent".to_owned();
    }
    let mut variables = declared.to_vec();
    let mut tools = ToolList::default();
    for metadata in &tree.body.metadata {
        let setting = read_metadata(source, metadata);
        match setting.key.as_str() {
            "variables" => variables.extend(read_variables(&setting, diagnostics)),
            "tools" => tools = read_tools(&setting, ToolsOf::Part, known, diagnostics),
            "remote" | "mcp" => kind = AgentKind::Remote,
            key => {
                let message = format!("`{key}:` of an agent is recognised, but not supported; it has no effect");
                diagnostics.push(Diagnostic::warning("unsupported-metadata", setting.span, message));
            }
        }
    }
    let unsupported = match kind {
        AgentKind::Playbooks => None,
        AgentKind::Human => Some("agents that stand for a person are recognised, but not supported"),
        AgentKind::Remote => Some("remote agents are recognised, but not supported"),
    };
    if let Some(message) = unsupported {
        diagnostics.push(Diagnostic::warning("unsupported-agent", title_span, message));
    }
    let description = join_paragraphs(source, &tree.body.text).into();
    AgentPlan {
        agent: Agent { kind, description, variables, tools, ..empty_agent(&name, title, title_span) },
        bodies: vec![&tree.body],
        playbooks: tree.playbooks.iter().collect(),
    }
}
