//! Trees to playbooks: headings and metadata first, lines when all names are known.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::english::phrase::Phrase;
use crate::english::reading::Surroundings;
use crate::english::triggers::read_trigger;
use crate::lower::agents::AgentPlan;
use crate::lower::flow::flow_graph;
use crate::lower::heading::{Heading, read_heading};
use crate::lower::load::Files;
use crate::lower::settings::{ToolsOf, is_true, read_limits, read_metadata, read_tools};
use crate::lower::steps::{choices_of, join_paragraphs, join_pieces, lower_steps, spread_types, types_of};
use crate::program::flow_graph::FlowGraph;
use crate::program::{AgentId, Body, Mode, Playbook, PlaybookId, ToolNames, Trigger, TriggerId};
use crate::source::ast::{ItemTree, PlaybookTree, Section, SectionKind};
use crate::span::Span;
use crate::value::Value;

/// A playbook before its lines are read.
pub(super) struct PlaybookDraft<'a> {
    pub(super) tree: &'a PlaybookTree,
    /// What its heading and metadata say.
    pub(super) playbook: Playbook,
    /// `execution_mode: react` or `raw`.
    goal: bool,
}

impl<'a> PlaybookDraft<'a> {
    pub(super) fn read(
        id: PlaybookId,
        agent: AgentId,
        tree: &'a PlaybookTree,
        source: &str,
        tools: &ToolNames<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        if let Some(skill) = &tree.skill {
            let playbook = skill.heading(id, agent, tree, source);
            return PlaybookDraft { tree, playbook, goal: false };
        }
        let title = source.get(tree.heading.title.range()).unwrap_or("");
        let Heading { name, parameters, returns } = read_heading(title, tree.heading.title, diagnostics);
        let (title, title_span, span) = (title.into(), tree.heading.title, tree.span);
        let heading = Playbook { id, agent, name, title, title_span, span, parameters, returns, ..Playbook::default() };
        let playbook = Playbook { strict: true, ..heading };
        let mut draft = PlaybookDraft { tree, playbook, goal: false };
        for metadata in &tree.body.metadata {
            let setting = read_metadata(source, metadata);
            match setting.key.as_str() {
                "public" => draft.playbook.public = is_true(&setting.value),
                "strict" => draft.playbook.strict = is_true(&setting.value),
                "limits" => draft.playbook.limits = read_limits(&setting, diagnostics),
                "tools" => draft.playbook.tools = read_tools(&setting, ToolsOf::Part, tools, diagnostics),
                "execution_mode" if setting.value.as_str() == Some("raw") => {
                    let message = "`execution_mode: raw` is not supported; the playbook runs in goal mode";
                    diagnostics.push(Diagnostic::warning("unsupported-mode", setting.span, message));
                    draft.goal = true;
                }
                "execution_mode" => draft.goal = setting.value.as_str() == Some("react"),
                "meeting" if is_true(&setting.value) => {
                    let message = "meetings are recognised, but not supported; a call of this playbook is an error";
                    diagnostics.push(Diagnostic::warning("unsupported-metadata", setting.span, message));
                    draft.playbook.meeting = true;
                }
                // What is switched off is what happens anyway.
                _ if setting.value == Value::Bool(false) => {}
                key => {
                    let message = format!("`{key}:` is recognised, but not supported; it has no effect");
                    diagnostics.push(Diagnostic::warning("unsupported-metadata", setting.span, message));
                }
            }
        }
        warn_of_near_headings(tree, source, diagnostics);
        draft
    }

    fn sections(&self, kind: SectionKind) -> impl Iterator<Item = &'a Section> {
        self.tree.sections.iter().filter(move |section| section.kind == kind)
    }

    pub(super) fn lower(&self, source: &str, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Playbook {
        let tree = self.tree;
        if let Some(skill) = &tree.skill {
            return skill.lower(source, around, &self.playbook);
        }
        let items: Vec<&ItemTree> = self.sections(SectionKind::Steps).flat_map(|section| &section.items).collect();
        let mode = if items.is_empty() || self.goal { Mode::Goal } else { Mode::Steps };
        if let (true, Some(section)) = (items.is_empty(), self.sections(SectionKind::Steps).next()) {
            let message = "this heading has no lines, so the playbook runs in goal mode";
            let warning = Diagnostic::warning("no-steps", section.heading.title, message);
            diagnostics.push(warning.with_note("write each line as a list item: `- Ask user for $name`"));
        }
        for (index, section) in tree.sections.iter().enumerate() {
            if let Some(first) = tree.sections[..index].iter().find(|first| first.kind == section.kind) {
                let message = "this playbook already has such a section; both are read as one";
                let warning = Diagnostic::warning("section-twice", section.heading.title, message);
                diagnostics.push(warning.with_place(first.heading.title, "the first one"));
            }
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
                let message = "an import among the lines adds no lines here; its content joins the agent";
                let warning = Diagnostic::warning("import-in-steps", import.span, message);
                diagnostics.push(warning.with_note("write the imported lines as a playbook and call it"));
            }
        }
        let mut text = tree.body.text.clone();
        for section in self.sections(SectionKind::Steps).filter(|_| mode == Mode::Steps) {
            for piece in &section.other {
                let message =
                    "this text is not a list item, so it is not a line; it is kept as part of the description";
                diagnostics.push(Diagnostic::warning("text-in-steps", *piece, message));
            }
            text.extend(&section.other);
        }
        if mode == Mode::Goal {
            text.extend(self.sections(SectionKind::Steps).flat_map(|section| &section.text));
        }
        let items = if mode == Mode::Goal { tree.body.items.iter().chain(items).collect() } else { items };
        let declared = self.playbook.parameters.iter().map(|parameter| (&parameter.name, parameter.ty));
        let held = around.held.clone().with_types(declared);
        let of_lines = Surroundings { held: &held, ..around };
        let mut steps = lower_steps(&items, mode, source, of_lines, diagnostics);
        spread_types(&mut steps, &self.playbook.parameters, source, diagnostics);
        let flow = if mode == Mode::Steps { flow_graph(&steps, true) } else { FlowGraph::default() };
        let notes: Vec<Span> = self.sections(SectionKind::Notes).flat_map(|section| section.text.clone()).collect();
        Playbook {
            description: join_paragraphs(source, &text).into(),
            triggers: self.triggers(source, around, diagnostics),
            mode,
            types: types_of(&steps),
            choices: choices_of(&steps, source),
            body: Body { steps, flow },
            notes: join_paragraphs(source, &notes).into(),
            ..self.playbook.clone()
        }
    }

    /// One trigger per outermost item; a paragraph without a bullet is one too.
    fn triggers(&self, source: &str, around: Surroundings<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Trigger> {
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
            let joined = Phrase::new(&text, Span::new(pieces[0].file, 0, text.len()));
            let words = if pieces.len() == 1 { Phrase::new(source, pieces[0]) } else { joined };
            let read = read_trigger(words, begins, pieces.len() > 1, around, diagnostics);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let id = TriggerId { playbook: self.playbook.id, index };
            let (kind, names, at_turn_end) = (read.kind, read.names, false);
            Trigger { id, span: pieces[0], kind, names, at_turn_end, text: text.into() }
        };
        found.into_iter().enumerate().map(to_trigger).collect()
    }
}

/// `### Step` and the like: text, but probably meant as one of ours.
fn warn_of_near_headings(tree: &PlaybookTree, source: &str, diagnostics: &mut Vec<Diagnostic>) {
    for heading in &tree.body.unknown_headings {
        let title = source.get(heading.title.range()).unwrap_or("");
        if let Some(known) = nearest(title, ["Steps", "Triggers", "Notes"].into_iter()) {
            let message = "this heading is not Triggers, Steps or Notes; the text under it is part of the description";
            let warning = Diagnostic::warning("unknown-heading", heading.title, message);
            diagnostics.push(warning.with_fix(format!("write `{known}`"), heading.title, known));
        }
    }
}

/// The frame that a session without an entry begins with: goal mode, its goal is the agent's description.
pub(super) fn root_playbook(
    id: PlaybookId,
    plan: &AgentPlan<'_>,
    playbooks: &[Playbook],
    files: &Files,
    around: Surroundings<'_>,
) -> Playbook {
    let agent = &plan.agent;
    let taken = |name: &str| playbooks.iter().any(|playbook| playbook.agent == agent.id && &*playbook.name == name);
    let mut name = format!("{}Root", agent.name);
    while taken(&name) {
        name.push('_');
    }
    let mut steps = Vec::new();
    if let Some(body) = plan.bodies.first() {
        let items: Vec<&ItemTree> = body.items.iter().collect();
        steps = lower_steps(&items, Mode::Goal, files.text(agent.title_span.file), around, &mut Vec::new());
    }
    Playbook {
        id,
        agent: agent.id,
        title: name.as_str().into(),
        name: name.into(),
        title_span: agent.title_span,
        span: agent.title_span,
        strict: true,
        description: agent.description.clone(),
        body: Body { steps, ..Body::default() },
        implicit: true,
        ..Playbook::default()
    }
}
