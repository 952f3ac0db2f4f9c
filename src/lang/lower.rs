//! Trees to program: names, signatures, metadata, lines, graphs, and what a session begins with.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::LoadOptions;
use crate::agents::{AgentPlan, plan_agents};
use crate::ast::{Body, ItemTree, PlaybookTree, SectionKind};
use crate::callables::{Callable, Names};
use crate::diagnostic::Diagnostic;
use crate::flow_graph;
use crate::lines::Surroundings;
use crate::load::Files;
use crate::names::{ReachCache, sort_names};
use crate::parse::is_code;
use crate::plan::{Plan, PlanId, read_plan};
use crate::program::{
    Agent, AgentId, AgentKind, Entry, FrameLimits, FrontMatter, Mode, Playbook, PlaybookId, Program, Signature,
    ToolList, Trigger, TriggerId, TriggerIndex, TriggerKind,
};
use crate::settings::{is_true, read_limits, read_metadata, read_tools};
use crate::signature::{Heading, read_heading};
use crate::span::Span;
use crate::steps::{join_paragraphs, join_pieces, lower_steps, spread_types, types_of};
use crate::triggers::read_trigger;
use crate::words::{Words, mentioned_names};

/// What `lower` gives: the program, and what the checks need besides it.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    /// Names that exist but can't be run yet: plans, functions in Python fences.
    pub(crate) later: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Makes the program of all files.
pub(crate) fn lower(mut files: Files, options: &LoadOptions<'_>) -> Lowered {
    let mut diagnostics = std::mem::take(&mut files.diagnostics);
    let plans = plan_agents(&files, &mut diagnostics);
    let mut later = Vec::new();
    let programs = read_plans(&files, &mut diagnostics);
    let mut shells = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let agent = AgentId(u32::try_from(index).unwrap_or(u32::MAX));
        for body in &plan.bodies {
            note_fences(&files, body, &mut later, &mut diagnostics);
        }
        for tree in &plan.playbooks {
            note_fences(&files, &tree.body, &mut later, &mut diagnostics);
            shells.push(Shell::read(agent, tree, source_of(&files, tree.heading.title), &mut diagnostics));
        }
    }
    check_duplicates(&plans, &shells, &mut diagnostics);
    let agent_names: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
    let callables = shells.iter().enumerate().map(|(index, shell)| Callable {
        id: playbook_id(index),
        agent: shell.agent,
        agent_name: &agent_names[shell.agent.0 as usize],
        name: &shell.heading.name,
        public: shell.public,
        n_parameters: shell.heading.parameters.len(),
    });
    // To who calls it a plan is like a tool: a name, parameters, a result.
    let signatures = with_plans(options.tools, &programs);
    let names = Names::new(callables.collect(), &signatures, &later, &agent_names);
    let mut playbooks: Vec<Playbook> = Vec::new();
    for (index, shell) in shells.iter().enumerate() {
        let source = source_of(&files, shell.tree.heading.title);
        let around = Surroundings { names: &names, agent: shell.agent, has_children: false };
        playbooks.push(shell.lower(playbook_id(index), source, around, &mut diagnostics));
    }
    let mut agents: Vec<Agent> = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let id = AgentId(u32::try_from(index).unwrap_or(u32::MAX));
        let own = playbooks.iter().filter(|playbook| playbook.agent == id).map(|playbook| playbook.id).collect();
        agents.push(plan.to_agent(id, own));
    }
    let given_alone = files.files.is_empty() && !programs.is_empty();
    let entry = if given_alone { Entry::Plan(PlanId(0)) } else { find_entry(&agents, &playbooks) };
    if let (true, Some(plan)) = (agents.is_empty(), programs.first()) {
        agents.push(agent_of_plan(plan));
    }
    if let Entry::Root(id) = entry
        && let Some((agent, plan)) = agents.iter().zip(&plans).find(|(agent, _)| agent.kind == AgentKind::Playbooks)
    {
        let around = Surroundings { names: &names, agent: agent.id, has_children: false };
        playbooks.push(root_playbook(id, agent, plan, &playbooks, &files, around));
    }
    for agent in &mut agents {
        agent.triggers = TriggerIndex::new(agent.playbooks.iter().map(|id| &playbooks[id.0 as usize]));
    }
    sort_all_names(&agents, &mut playbooks);
    let settings = read_settings(&files, &mut diagnostics);
    let tools = read_tool_list(&files, &mut diagnostics);
    let reach = ReachCache::new(&playbooks);
    let mut program = Program {
        sources: files.sources,
        agents,
        playbooks,
        plans: programs,
        called_by_plans: Vec::new(),
        settings,
        tools,
        entry,
        reach,
    };
    program.called_by_plans = called_by_plans(&program);
    Lowered { program, later, diagnostics }
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
            let message = format!("two plans are called `{}`; rename one of the files", plan.name);
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

/// The playbooks that are meant by what plans call.
fn called_by_plans(program: &Program) -> Vec<PlaybookId> {
    let names: BTreeSet<&str> = program.plans.iter().flat_map(|plan| plan.callees()).collect();
    let meant = |name: &str| program.agents.iter().filter_map(|agent| program.find_playbook(agent.id, name)).collect();
    let found: BTreeSet<PlaybookId> = names.into_iter().flat_map(|name| -> Vec<PlaybookId> { meant(name) }).collect();
    found.into_iter().collect()
}

/// Who runs a plan that no agent calls.
fn agent_of_plan(plan: &Plan) -> Agent {
    Agent {
        id: AgentId(0),
        name: plan.name.clone(),
        title: plan.name.clone(),
        title_span: Span { end: plan.span.start, ..plan.span },
        description: "".into(),
        playbooks: Vec::new(),
        variables: Vec::new(),
        tools: ToolList::default(),
        kind: AgentKind::Playbooks,
        triggers: TriggerIndex::default(),
    }
}

fn playbook_id(index: usize) -> PlaybookId {
    PlaybookId(u32::try_from(index).unwrap_or(u32::MAX))
}

fn source_of(files: &Files, span: Span) -> &str {
    files.sources.get(span.file).map_or("", |file| &file.text)
}

/// Warns of code that is not run, and collects the names it defines.
fn note_fences(files: &Files, body: &Body, later: &mut Vec<String>, diagnostics: &mut Vec<Diagnostic>) {
    for fence in body.fences.iter().filter(|fence| is_code(&fence.language) && fence.language != "public.json") {
        let text = files.sources.text(fence.span);
        let first = Span::new(fence.span.file, fence.span.start as usize, fence.span.start as usize + 3);
        let message = "python is recognised and kept, but not run yet";
        diagnostics.push(Diagnostic::warning("python-not-run", first, message));
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

/// A playbook before its lines are read.
struct Shell<'a> {
    agent: AgentId,
    tree: &'a PlaybookTree,
    heading: Heading,
    public: bool,
    strict: bool,
    /// `execution_mode: react` or `raw`.
    goal: bool,
    meeting: bool,
    limits: FrameLimits,
    tools: ToolList,
}

impl<'a> Shell<'a> {
    fn read(agent: AgentId, tree: &'a PlaybookTree, source: &str, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let title = source.get(tree.heading.title.range()).unwrap_or("");
        let heading = read_heading(title, tree.heading.title, diagnostics);
        let (limits, tools) = (FrameLimits::default(), ToolList::default());
        let mut shell =
            Shell { agent, tree, heading, public: false, strict: true, goal: false, meeting: false, limits, tools };
        for metadata in &tree.body.metadata {
            let setting = read_metadata(source, metadata);
            match setting.key.as_str() {
                "public" => shell.public = is_true(&setting.value),
                "strict" => shell.strict = is_true(&setting.value),
                "limits" => shell.limits = read_limits(&setting, diagnostics),
                "tools" => shell.tools = read_tools(&setting, diagnostics),
                "execution_mode" if setting.value.as_str() == Some("raw") => {
                    let message = "`execution_mode: raw` is not supported; the playbook runs in goal mode";
                    diagnostics.push(Diagnostic::warning("unsupported-mode", setting.span, message));
                    shell.goal = true;
                }
                "execution_mode" => shell.goal = setting.value.as_str() == Some("react"),
                "meeting" if is_true(&setting.value) => {
                    let message = "meetings are recognised, but not supported; a call of this playbook is an error";
                    diagnostics.push(Diagnostic::warning("unsupported-metadata", setting.span, message));
                    shell.meeting = true;
                }
                // What is switched off is what happens anyway.
                _ if setting.value == crate::value::Value::Bool(false) => {}
                key => {
                    let message = format!("`{key}:` is recognised, but not supported; it has no effect");
                    diagnostics.push(Diagnostic::warning("unsupported-metadata", setting.span, message));
                }
            }
        }
        warn_of_near_headings(tree, source, diagnostics);
        shell
    }

    fn sections(&self, kind: SectionKind) -> impl Iterator<Item = &'a crate::ast::Section> {
        self.tree.sections.iter().filter(move |section| section.kind == kind)
    }

    fn lower(
        &self,
        id: PlaybookId,
        source: &str,
        around: Surroundings<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Playbook {
        let tree = self.tree;
        let items: Vec<&ItemTree> = self.sections(SectionKind::Steps).flat_map(|section| &section.items).collect();
        let mode = if items.is_empty() || self.goal { Mode::Goal } else { Mode::Steps };
        if let (true, Some(section)) = (items.is_empty(), self.sections(SectionKind::Steps).next()) {
            let message = "no lines stand under this heading, so the playbook runs in goal mode";
            let warning = Diagnostic::warning("no-steps", section.heading.title, message);
            diagnostics.push(warning.with_note("write each line as a list item: `- Ask user for $name`"));
        }
        for section in tree.sections.iter().filter(|section| section.heading.marks.range().len() < 3) {
            let message = "this heading belongs one level lower; it is read as a section of the playbook above";
            let warning = Diagnostic::warning("heading-level", section.heading.marks, message);
            diagnostics.push(warning.with_fix("write `###`", section.heading.marks, "###"));
        }
        let steps_spans: Vec<Span> = self.sections(SectionKind::Steps).map(|section| section.heading.marks).collect();
        for import in &tree.body.imports {
            // The nearest heading above decides where the import stands.
            let above = tree.sections.iter().map(|section| section.heading.marks);
            let above = above.filter(|marks| marks.start < import.span.start).max_by_key(|marks| marks.start);
            if above.is_some_and(|marks| steps_spans.contains(&marks)) {
                let message = "an import among the lines adds no lines here; what it holds joins the agent";
                let warning = Diagnostic::warning("import-in-steps", import.span, message);
                diagnostics.push(warning.with_note("write the imported lines as a playbook and call it"));
            }
        }
        let mut text = tree.body.text.clone();
        for section in self.sections(SectionKind::Steps).filter(|_| mode == Mode::Steps) {
            for piece in &section.other {
                let message = "this text is no list item, so it is no line; it is kept as part of the description";
                diagnostics.push(Diagnostic::warning("text-in-steps", *piece, message));
            }
            text.extend(&section.other);
        }
        if mode == Mode::Goal {
            text.extend(self.sections(SectionKind::Steps).flat_map(|section| &section.text));
        }
        let items = if mode == Mode::Goal { tree.body.items.iter().chain(items).collect() } else { items };
        let mut steps = lower_steps(&items, mode, source, around, diagnostics);
        spread_types(&mut steps, &self.heading.parameters, source);
        let types = types_of(&mut steps);
        let flow = if mode == Mode::Steps { flow_graph::build(&steps) } else { flow_graph::FlowGraph::default() };
        let notes: Vec<Span> = self.sections(SectionKind::Notes).flat_map(|section| section.text.clone()).collect();
        Playbook {
            id,
            agent: self.agent,
            name: self.heading.name.clone(),
            title: source.get(tree.heading.title.range()).unwrap_or("").into(),
            title_span: tree.heading.title,
            span: tree.span,
            parameters: self.heading.parameters.clone(),
            returns: self.heading.returns,
            public: self.public,
            strict: self.strict,
            limits: self.limits.clone(),
            tools: self.tools.clone(),
            description: join_paragraphs(source, &text).into(),
            triggers: self.triggers(id, source, around, diagnostics),
            mode,
            steps,
            notes: join_paragraphs(source, &notes).into(),
            flow,
            own: BTreeSet::new(),
            outer: BTreeSet::new(),
            types,
            meeting: self.meeting,
            implicit: false,
        }
    }

    /// One trigger per outermost item; a paragraph without a bullet is one too.
    fn triggers(
        &self,
        playbook: PlaybookId,
        source: &str,
        around: Surroundings<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Trigger> {
        let mut found: Vec<(Vec<Span>, bool)> = Vec::new();
        for section in self.sections(SectionKind::Triggers) {
            for item in &section.items {
                if item.level == 0 || found.is_empty() {
                    let begins = item.prefix.is_some_and(|prefix| source[prefix.range()].ends_with("BGN"));
                    found.push((item.text.clone(), begins));
                } else if let Some((pieces, _)) = found.last_mut() {
                    pieces.extend(&item.text);
                }
            }
            found.extend(section.other.iter().map(|piece| (vec![*piece], false)));
        }
        found.retain(|(pieces, _)| !pieces.is_empty());
        found.sort_by_key(|(pieces, _)| pieces[0].start);
        let to_trigger = |(index, (pieces, begins)): (usize, (Vec<Span>, bool))| {
            let text = join_pieces(source, &pieces);
            // A text in several pieces (a list under it) has no places of its own in the file.
            let joined = Words::new(&text, Span::new(pieces[0].file, 0, text.len()));
            let words = if pieces.len() == 1 { Words::new(source, pieces[0]) } else { joined };
            let read = read_trigger(words, begins, pieces.len() > 1, around, diagnostics);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let id = TriggerId { playbook, index };
            Trigger { id, span: pieces[0], kind: read.kind, names: read.names, text: text.into() }
        };
        found.into_iter().enumerate().map(to_trigger).collect()
    }
}

/// `### Step` and the like: text, but probably meant as one of ours.
fn warn_of_near_headings(tree: &PlaybookTree, source: &str, diagnostics: &mut Vec<Diagnostic>) {
    for heading in &tree.body.unknown_headings {
        let title = source.get(heading.title.range()).unwrap_or("").to_lowercase();
        let near = |known: &&&str| strsim::damerau_levenshtein(&title, &known.to_lowercase()) <= 2;
        if title.len() <= 12
            && let Some(known) = ["Steps", "Triggers", "Notes"].iter().find(near)
        {
            let message = "this heading is none of Triggers, Steps and Notes; what stands under it is description";
            let warning = Diagnostic::warning("unknown-heading", heading.title, message);
            diagnostics.push(warning.with_fix(format!("write `{known}`"), heading.title, *known));
        }
    }
}

fn check_duplicates(plans: &[AgentPlan<'_>], shells: &[Shell<'_>], diagnostics: &mut Vec<Diagnostic>) {
    let mut agents: HashMap<&str, Span> = HashMap::new();
    for plan in plans {
        if let Some(first) = agents.get(plan.name.as_str()) {
            let message = format!("agent `{}` stands twice; rename one", plan.name);
            let error = Diagnostic::error("duplicate-agent", plan.title_span, message);
            diagnostics.push(error.with_place(*first, "first here"));
        } else {
            agents.insert(&plan.name, plan.title_span);
        }
    }
    let mut playbooks: HashMap<(AgentId, &str), Span> = HashMap::new();
    for shell in shells.iter().filter(|shell| !shell.heading.name.is_empty()) {
        let (key, span) = ((shell.agent, &*shell.heading.name), shell.tree.heading.title);
        if let Some(first) = playbooks.get(&key) {
            let message = format!("playbook `{}` stands twice in its agent; rename one", shell.heading.name);
            diagnostics.push(Diagnostic::error("duplicate-playbook", span, message).with_place(*first, "first here"));
        } else {
            playbooks.insert(key, span);
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
    match (playbooks, agents.iter().find(|agent| agent.kind == AgentKind::Playbooks)) {
        ([single], _) => Entry::Single(single.id),
        (_, None) => Entry::None,
        ([], Some(agent)) if agent.description.is_empty() => Entry::None,
        (_, Some(_)) => Entry::Root(playbook_id(playbooks.len())),
    }
}

/// The frame that a session without an entry begins with: goal mode, its goal is the agent's description.
fn root_playbook(
    id: PlaybookId,
    agent: &Agent,
    plan: &AgentPlan<'_>,
    playbooks: &[Playbook],
    files: &Files,
    around: Surroundings<'_>,
) -> Playbook {
    let taken = |name: &str| playbooks.iter().any(|playbook| playbook.agent == agent.id && &*playbook.name == name);
    let mut name = format!("{}Root", agent.name);
    while taken(&name) {
        name.push('_');
    }
    let mut steps = Vec::new();
    if let Some(body) = plan.bodies.first() {
        let items: Vec<&ItemTree> = body.items.iter().collect();
        steps = lower_steps(&items, Mode::Goal, source_of(files, plan.title_span), around, &mut Vec::new());
    }
    Playbook {
        id,
        agent: agent.id,
        name: name.as_str().into(),
        title: name.into(),
        title_span: agent.title_span,
        span: agent.title_span,
        parameters: Vec::new(),
        returns: None,
        public: false,
        strict: true,
        limits: FrameLimits::default(),
        tools: ToolList::default(),
        description: agent.description.clone(),
        triggers: Vec::new(),
        mode: Mode::Goal,
        steps,
        notes: "".into(),
        flow: flow_graph::FlowGraph::default(),
        own: BTreeSet::new(),
        outer: BTreeSet::new(),
        types: BTreeMap::new(),
        meeting: false,
        implicit: true,
    }
}

fn sort_all_names(agents: &[Agent], playbooks: &mut [Playbook]) {
    for playbook in playbooks {
        let in_triggers: BTreeSet<Arc<str>> =
            playbook.triggers.iter().flat_map(|trigger| mentioned_names(&trigger.text)).collect();
        let in_texts =
            [&playbook.description, &playbook.notes].into_iter().flat_map(|text| mentioned_names(text)).collect();
        let variables = &agents[playbook.agent.0 as usize].variables;
        let declared = |name: &str| variables.iter().any(|variable| &*variable.name == name);
        sort_names(playbook, &in_triggers, &in_texts, &declared);
    }
}

/// Which tools all files together permit: each may take something away, none gives it back.
fn read_tool_list(files: &Files, diagnostics: &mut Vec<Diagnostic>) -> ToolList {
    let mut list = ToolList::default();
    for setting in files.files.iter().flat_map(|file| &file.settings).filter(|setting| setting.key == "tools") {
        list.restrict(read_tools(setting, diagnostics));
    }
    list
}

/// The front matter of all files together; of a key that stands in several files the first counts.
fn read_settings(files: &Files, diagnostics: &mut Vec<Diagnostic>) -> FrontMatter {
    let mut settings = FrontMatter::default();
    let mut first: HashMap<&str, Span> = HashMap::new();
    for setting in files.files.iter().flat_map(|file| &file.settings) {
        // Both are read where they stand, for each file by itself.
        if matches!(setting.key.as_str(), "import" | "variables") {
            continue;
        }
        // Every file brings its own of these; the lists of allowed tools are read beside.
        if matches!(setting.key.as_str(), "tools" | "plugins" | "mcp" | "resources") {
            settings.other.push((setting.key.clone(), setting.value.clone(), setting.span));
            continue;
        }
        if let Some(first) = first.get(setting.key.as_str()) {
            let message = format!("`{}` is set in another file already; this one has no effect", setting.key);
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
