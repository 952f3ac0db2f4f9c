//! Trees to program: names, signatures, metadata, lines, graphs, and what a session begins with.

mod agents;
pub(crate) mod alone;
mod flow;
pub(crate) mod heading;
pub(crate) mod kept;
pub(crate) mod load;
pub(crate) mod names;
pub(crate) mod places;
mod playbooks;
mod reparse;
pub(crate) mod settings;
mod skill_runs;
mod skills;
mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::Names;
use crate::english::phrase::mentioned_names;
use crate::english::reading::Surroundings;
use crate::english::triggers::topics::Topics;
use crate::lower::agents::{AgentPlan, empty_agent, plan_agents};
use crate::lower::alone::Alone;
use crate::lower::kept::{Kept, Known, PlaybookReading, Readings};
use crate::lower::load::{Files, load_files};
use crate::lower::names::sort_names;
use crate::lower::playbooks::{PlaybookDraft, root_playbook};
use crate::lower::settings::{ToolsOf, read_tools};
use crate::lower::skill_runs::skill_runs;
use crate::lower::skills::{add_triggers, agent_of_skills, delegate_of};
use crate::plan::{Plan, PlanId, read_plan};
use crate::program::{
    Agent, AgentId, AgentKind, Entry, FrontMatter, Playbook, PlaybookId, Program, Signature, ToolList, ToolNames,
    Trigger, TriggerKind, USER_MESSAGE, triggers_of,
};
use crate::source::ast::Body;
use crate::source::front_matter::meant_key;
use crate::source::keys::DECLARATIONS;
use crate::source::parse::is_code;
use crate::source::{ImportRequest, SourceText};
use crate::span::Span;

/// What is known about the world a program will run in.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions<'a> {
    /// The tools that can be called.
    pub tools: &'a [Signature],
    /// Whether there are more tools, known only at run time: an unknown callee is then a warning.
    pub open_world: bool,
    /// What rules for tools may name besides: tools that are there and cannot be called, and beginnings of names
    /// (`files.*`) that are known only at run time.
    pub others: &'a [Arc<str>],
    /// The fields of what tools give back, as far as they are declared. There may be more.
    pub fields: Option<&'a Fields>,
}

/// By the name of a tool the fields of what it gives back.
pub type Fields = BTreeMap<Arc<str>, Vec<Arc<str>>>;

/// What `lower` gives: the program, and what the checks need besides it.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) readings: Readings,
}

/// The program of one file, without what it imports, and the paths of that.
pub(crate) fn lower_alone(text: &str) -> (Program, Vec<String>) {
    let mut imports = Vec::new();
    let root = SourceText { name: "program.md".to_owned(), text: text.to_owned() };
    let mut read = |request: &ImportRequest<'_>| {
        imports.push(request.path.to_owned());
        Err(String::new())
    };
    let files = load_files(vec![root], &mut read, &mut Kept::default());
    (lower(files, &LoadOptions::default(), Kept::default()).program, imports)
}

/// Makes the program of all files. What was kept of it is taken where the text is the same.
pub(crate) fn lower(mut files: Files, options: &LoadOptions<'_>, mut kept: Kept) -> Lowered {
    let mut diagnostics = std::mem::take(&mut files.diagnostics);
    let programs = read_plans(&files, &mut diagnostics);
    // To who calls it a plan is like a tool: a name, parameters, a result.
    let signatures: Arc<[Signature]> = with_plans(options.tools, &programs).into();
    let tools = ToolNames::new(signatures.iter().map(|tool| &*tool.name), options.others);
    let plans = plan_agents(&files, &tools, &mut diagnostics);
    let runs = skill_runs(&files, &mut diagnostics);
    let mut later = Vec::new();
    let mut drafts: Vec<PlaybookDraft<'_>> = Vec::new();
    for plan in &plans {
        for body in &plan.bodies {
            note_fences(&files, body, &mut later, &mut diagnostics);
        }
        for tree in &plan.playbooks {
            note_fences(&files, &tree.body, &mut later, &mut diagnostics);
            let (id, file) = (playbook_id(drafts.len()), tree.heading.title.file);
            let mut draft = PlaybookDraft::read(id, plan.agent.id, tree, files.text(file), &tools, &mut diagnostics);
            if let (Some(skill), Some(run)) = (&mut draft.playbook.skill, runs.get(&file)) {
                (skill.run, draft.playbook.strict) = (*run, run.strict);
            }
            drafts.push(draft);
        }
    }
    check_duplicates(&plans, &drafts, &mut diagnostics);
    let of_plans = plans.iter().map(|plan| &plan.agent);
    let known = Known::new(of_plans, drafts.iter().map(|draft| &draft.playbook), &signatures, later);
    let agent_names = known.agents.iter().map(|agent| &*agent.name);
    let names = Names::new(&known.playbooks, &known.signatures, &known.later, agent_names)
        .with_variables(files.sources.iter().map(|(_, file)| &*file.text));
    let names = kept.known(&known, names);
    let around = |agent: AgentId| Surroundings { held: known.held(agent), ..Surroundings::new(&names, agent) };
    let mut playbooks: Vec<Playbook> = Vec::with_capacity(drafts.len());
    let mut readings: Vec<PlaybookReading> = Vec::with_capacity(drafts.len());
    for draft in &drafts {
        let source = files.text(draft.tree.heading.title.file);
        let before = kept.playbook(&draft.playbook, source, &names);
        let (playbook, reading) = before.unwrap_or_else(|| {
            let mut found = Vec::new();
            let mut playbook = draft.lower(source, around(draft.playbook.agent), &mut found);
            // In the text of a skill nothing is a name of ours.
            if playbook.skill.is_none() {
                sort_names_of(&mut playbook, known.declared(draft.playbook.agent));
            }
            let alone = Alone::of(&playbook);
            (playbook, PlaybookReading { found, asked: names.take_asked(), alone })
        });
        diagnostics.extend(reading.found.iter().cloned());
        playbooks.push(playbook);
        readings.push(reading);
    }
    let mut agents: Vec<Agent> = plans.iter().map(|plan| plan.agent.clone()).collect();
    for playbook in &playbooks {
        agents[playbook.agent.0 as usize].playbooks.push(playbook.id);
    }
    let given_alone = files.files.is_empty() && !programs.is_empty();
    let entry = if given_alone { Entry::Plan(PlanId(0)) } else { find_entry(&agents, &playbooks) };
    if let (true, Some(plan)) = (agents.is_empty(), programs.first()) {
        // Who runs a plan that no agent calls.
        agents.push(empty_agent(&plan.name, &plan.name, Span { end: plan.span.start, ..plan.span }));
    }
    let are_skills = !playbooks.is_empty() && playbooks.iter().all(|playbook| playbook.skill.is_some());
    let of_skills = are_skills.then(|| agent_of_skills(&agents));
    let first = plans.iter().find(|plan| plan.agent.kind == AgentKind::Playbooks);
    if let (Entry::Root(id), Some(plan)) = (&entry, of_skills.as_ref().or(first)) {
        let mut root = root_playbook(*id, plan, &playbooks, &files, around(plan.agent.id));
        sort_names_of(&mut root, known.declared(plan.agent.id));
        playbooks.push(root);
        agents.extend(of_skills.map(|plan| plan.agent));
    }
    for index in 0..playbooks.len() {
        let delegate = delegate_of(&playbooks[index], playbook_id(playbooks.len()));
        if let Some(skill) = &mut playbooks[index].skill {
            skill.delegate = delegate.as_ref().map(|delegate| delegate.id);
        }
        playbooks.extend(delegate);
    }
    for agent in &agents {
        find_topics(agent, &mut playbooks);
    }
    add_triggers(&mut playbooks);
    for agent in &mut agents {
        agent.triggers = triggers_of(agent, &playbooks);
    }
    let settings = read_settings(&files, &mut diagnostics);
    let tools = read_tool_list(&files, &tools, &mut diagnostics);
    let names = names.into_used();
    let trees = files.files.into_iter().map(|file| file.tree).collect();
    let mut program = Program {
        sources: files.sources,
        agents,
        playbooks,
        plans: programs,
        called_by_plans: Vec::new(),
        settings,
        tools,
        entry,
    };
    program.called_by_plans = called_by_plans(&program);
    Lowered { program, diagnostics, readings: Readings { trees, known, playbooks: readings, names } }
}

/// Reads the plans; of two of a name the first is called by it, which is an error.
fn read_plans(files: &Files, diagnostics: &mut Vec<Diagnostic>) -> Vec<Arc<Plan>> {
    let mut plans: Vec<Arc<Plan>> = Vec::new();
    for file in &files.plans {
        let Some(source) = files.sources.get(file.file) else { continue };
        let (plan, found) = read_plan(file.file, &source.name, &source.text);
        diagnostics.extend(found);
        let Some(plan) = plan else { continue };
        if let Some(first) = plans.iter().find(|first| first.name == plan.name) {
            let message = format!("there are two plans `{}`; rename one of the files", plan.name);
            let error = Diagnostic::error("duplicate-plan", file.import.unwrap_or(plan.span), message);
            diagnostics.push(error.with_place(Span { end: first.span.start, ..first.span }, "the other one"));
        }
        plans.push(Arc::new(plan));
    }
    plans
}

/// The tools, and the plans as if they were tools: of a tool and a plan of one name the plan counts.
pub(crate) fn with_plans(tools: &[Signature], plans: &[Arc<Plan>]) -> Vec<Signature> {
    let mut signatures = tools.to_vec();
    signatures.extend(plans.iter().map(|plan| plan.signature()));
    signatures
}

/// The playbooks that are meant by what plans call, whoever runs them.
fn called_by_plans(program: &Program) -> Vec<PlaybookId> {
    let names: BTreeSet<&str> = program.plans.iter().flat_map(|plan| plan.callees()).map(|(name, _)| name).collect();
    let is_called = |playbook: &&Playbook| {
        !names.is_empty()
            && !playbook.implicit
            && (names.contains(&*playbook.name) || names.contains(&*program.full_name(playbook)))
    };
    program.playbooks.iter().filter(is_called).map(|playbook| playbook.id).collect()
}

fn playbook_id(index: usize) -> PlaybookId {
    PlaybookId(u32::try_from(index).unwrap_or(u32::MAX))
}

/// Warns of code that is not run, and collects the names it defines.
fn note_fences(files: &Files, body: &Body, later: &mut Vec<String>, diagnostics: &mut Vec<Diagnostic>) {
    for fence in body.fences.iter().filter(|fence| is_code(&fence.language) && fence.language != "public.json") {
        let text = files.sources.text(fence.span);
        let first = Span::new(fence.span.file, fence.span.start as usize, fence.span.start as usize + 3);
        let warning = Diagnostic::warning("python-not-run", first, "python is recognised and kept, but not run");
        let next = "put its functions into a plugin (`playhouse plugin new NAME`), and call them as `NAME.function`";
        diagnostics.push(warning.with_note(next));
        let mut marked = false;
        for line in text.lines().map(str::trim) {
            marked |= line.starts_with("@playbook");
            let Some(function) = line.strip_prefix("async def ").or_else(|| line.strip_prefix("def ")) else {
                continue;
            };
            if std::mem::take(&mut marked) {
                later.push(function.split('(').next().unwrap_or("").trim().to_owned());
            }
        }
    }
}

fn check_duplicates(plans: &[AgentPlan<'_>], drafts: &[PlaybookDraft<'_>], diagnostics: &mut Vec<Diagnostic>) {
    let mut agents: HashMap<&str, Span> = HashMap::new();
    for plan in plans {
        let span = plan.agent.title_span;
        let first = *agents.entry(&plan.agent.name).or_insert(span);
        if first != span {
            let message = format!("there are two agents `{}`; rename one", plan.agent.name);
            diagnostics.push(Diagnostic::error("duplicate-agent", span, message).with_place(first, "first here"));
        }
    }
    let mut playbooks: HashMap<(AgentId, &str), Span> = HashMap::new();
    for playbook in drafts.iter().map(|draft| &draft.playbook).filter(|playbook| !playbook.name.is_empty()) {
        let span = playbook.title_span;
        let first = *playbooks.entry((playbook.agent, &*playbook.name)).or_insert(span);
        if first != span {
            let message = format!("this agent has two playbooks `{}`; rename one", playbook.name);
            diagnostics.push(Diagnostic::error("duplicate-playbook", span, message).with_place(first, "first here"));
        }
    }
}

fn find_entry(agents: &[Agent], playbooks: &[Playbook]) -> Entry {
    let begins = |id: &PlaybookId| {
        playbooks[id.0 as usize].triggers.iter().any(|trigger| trigger.kind == TriggerKind::Beginning)
    };
    for agent in agents {
        let found: Vec<PlaybookId> = agent.playbooks.iter().copied().filter(begins).collect();
        if !found.is_empty() {
            return Entry::Beginning(found);
        }
    }
    // Beside a program's own playbooks skills are there to be called.
    let (skills, own): (Vec<&Playbook>, Vec<&Playbook>) =
        playbooks.iter().partition(|playbook| playbook.skill.is_some());
    let all = if own.is_empty() { skills } else { own };
    match (&all[..], agents.iter().find(|agent| agent.kind == AgentKind::Playbooks)) {
        ([single], _) => Entry::Single(single.id),
        (_, None) => Entry::None,
        ([], Some(agent)) if agent.description.is_empty() => Entry::None,
        (_, Some(_)) => Entry::Root(playbook_id(playbooks.len())),
    }
}

/// Sorts the names of a playbook whose agent has these variables.
fn sort_names_of(playbook: &mut Playbook, declared: &[Arc<str>]) {
    let in_triggers: BTreeSet<Arc<str>> =
        playbook.triggers.iter().flat_map(|trigger| mentioned_names(&trigger.text)).collect();
    let in_texts =
        [&playbook.description, &playbook.notes].into_iter().flat_map(|text| mentioned_names(text)).collect();
    sort_names(playbook, &in_triggers, &in_texts, &|name| declared.iter().any(|variable| **variable == *name));
}

/// What the triggers in words of an agent wait for.
fn find_topics(agent: &Agent, playbooks: &mut [Playbook]) {
    let in_words = |trigger: &Trigger| trigger.kind == TriggerKind::Semantic;
    let own = || agent.playbooks.iter().map(|id| &playbooks[id.0 as usize]);
    if !own().flat_map(|playbook| &playbook.triggers).any(in_words) {
        return;
    }
    let mentioned = own().flat_map(|playbook| playbook.own.iter().chain(&playbook.outer));
    let topics = Topics::new(agent.variables.iter().map(|variable| &variable.name).chain(mentioned));
    for id in &agent.playbooks {
        for trigger in playbooks[id.0 as usize].triggers.iter_mut().filter(|trigger| in_words(trigger)) {
            (trigger.names, trigger.at_turn_end) = topics.of(&trigger.text);
            if trigger.at_turn_end {
                trigger.names = vec![USER_MESSAGE.into()];
            }
        }
    }
}

/// Which tools all files together permit: each may take something away, none gives it back.
fn read_tool_list(files: &Files, tools: &ToolNames<'_>, diagnostics: &mut Vec<Diagnostic>) -> ToolList {
    let mut list = ToolList::default();
    for setting in files.files.iter().flat_map(|file| &file.settings).filter(|setting| setting.key == "tools") {
        list.restrict(read_tools(setting, ToolsOf::Program, tools, diagnostics));
    }
    list
}

/// The front matter of all files together; of a key that stands in several files the first counts.
pub(crate) fn read_settings(files: &Files, diagnostics: &mut Vec<Diagnostic>) -> FrontMatter {
    let mut settings = FrontMatter::default();
    let mut first: HashMap<&str, Span> = HashMap::new();
    for setting in files.files.iter().flat_map(|file| &file.settings) {
        // They are read where they stand, for each file by itself.
        if setting.imports() || setting.key == "variables" {
            continue;
        }
        // Every file brings its own of these; the lists of allowed tools are read beside.
        if DECLARATIONS.contains(&setting.key.as_str()) {
            settings.other.push((setting.key.clone(), setting.value.clone(), setting.span));
            continue;
        }
        if let Some(near) = meant_key(&setting.key) {
            let (span, message) = (setting.place_of(&setting.key), format!("`{}` has no effect here", setting.key));
            let warning = Diagnostic::warning("unknown-setting", span, message);
            diagnostics.push(match &*setting.key {
                // Below `tools` alone its names would be those of what is allowed.
                "deny" => warning.with_note("write `tools: {deny: [NAME]}`"),
                _ => warning.with_fix(format!("write `{near}`"), span, near),
            });
        }
        if let Some(first) = first.get(setting.key.as_str()) {
            let message = format!("`{}` is already set in another file; this one has no effect", setting.key);
            let warning = Diagnostic::warning("duplicate-setting", setting.span, message);
            diagnostics.push(warning.with_place(*first, "this one counts"));
            continue;
        }
        first.insert(&setting.key, setting.span);
        match (setting.key.as_str(), setting.value.as_str()) {
            ("model", Some(model)) => settings.model = Some(model.to_owned()),
            _ => settings.other.push((setting.key.clone(), setting.value.clone(), setting.span)),
        }
    }
    settings
}
