//! Agent Skills as playbooks: one file is one agent with one playbook, whose lines are what its text tells to do (spec
//! `skills.md`, "Reading").

use std::collections::BTreeSet;

use crate::diagnostic::wording::one_line;
use crate::english::callables::skill_identifier;
use crate::english::items::read_item;
use crate::english::outline::{Outline, OutlineLine};
use crate::english::phrase::Phrase;
use crate::english::reading::Surroundings;
use crate::english::skill_calls::{due_skill, without_number};
use crate::lower::agents::{AgentPlan, empty_agent};
use crate::lower::flow::flow_graph;
use crate::program::flow_graph::{EdgeKind, FlowGraph};
use crate::program::permits::{DELEGATE, Permission, Permits};
use crate::program::{
    ARGUMENTS, Agent, AgentId, Arm, BegunBy, Body, Loop, Mode, Parameter, Playbook, PlaybookId, SkillMode, SkillRun,
    SkillText, Step, StepId, StepKind, Trigger, TriggerId, TriggerKind, Type, TypeKind, USER_MESSAGE,
};
use crate::source::ast::{PlaybookTree, SkillTree};
use crate::span::Span;
use crate::value::Value;

/// The agent of a program that has nothing but skills, and what it is for.
const SKILLS: &str = "Skills";
const SKILLS_GOAL: &str = "Do what the user wants. Call the playbook that fits it; if none does, say so.";

/// The parameter of [`DELEGATE`].
const TASK: &str = "task";

/// Words for whoever does a part of a task.
const DELEGATING: [&str; 4] = ["subagent", "task tool", "`task`", "task("];

/// What a model is told of a part of a skill's task.
const DELEGATE_GOAL: &str = "Do what $task says and nothing else. Then `return` what has come of it.";

impl SkillTree {
    /// What it is called by.
    pub(crate) fn identifier(&self) -> String {
        skill_identifier(&self.name)
    }

    /// What can be said of its playbook before its lines are read.
    pub(crate) fn heading(&self, id: PlaybookId, agent: AgentId, tree: &PlaybookTree, source: &str) -> Playbook {
        let place = tree.heading.title;
        let words = Type { kind: TypeKind::Str, ..Type::ANY };
        let parameter = Parameter {
            name: ARGUMENTS.into(),
            ty: words,
            default: Some(Value::from("")),
            description: "what it is for this time, in words".into(),
            span: Some(place),
        };
        let summary = one_line(&self.description).into();
        let has_numbers = self.has_hint || source[self.body.range()].contains(&format!("${ARGUMENTS}"));
        Playbook {
            id,
            agent,
            name: self.identifier().into(),
            title: self.name.as_str().into(),
            title_span: place,
            span: tree.span,
            parameters: vec![parameter],
            public: true,
            own: [ARGUMENTS.into()].into(),
            skill: Some(SkillText {
                summary,
                has_numbers,
                permits: Permits::read(self.allowed_tools.as_deref(), &self.disallowed_tools),
                begun_by: BegunBy { description: self.begins_by_description, user: self.begins_by_name },
                run: SkillRun::default(),
                delegate: None,
            }),
            ..Playbook::default()
        }
    }

    /// Its text with the ids of its lines, and these: of one procedure one after the other; of several those of each, of
    /// which a model chooses; of none whatever leads to what the text is for. The program may want it otherwise.
    pub(crate) fn lower(&self, source: &str, around: Surroundings<'_>, heading: &Playbook) -> Playbook {
        let run = heading.skill.as_ref().map(|skill| skill.run).unwrap_or_default();
        let outline = || Outline::find(self.body.file, source, self.body.range().start);
        let outline = match run.mode {
            Some(SkillMode::Goal) => Outline::default(),
            Some(SkillMode::Steps) => outline().in_one(),
            Some(SkillMode::Guide) | None => outline(),
        };
        let mut steps = lines_of(&outline, source, around);
        let is_in_order = outline.procedures.len() == 1 && run.mode != Some(SkillMode::Guide);
        if run.strict {
            make_compulsory(&mut steps, is_in_order);
        }
        let (mode, flow) =
            if is_in_order { (Mode::Steps, in_order(&steps)) } else { (Mode::Goal, FlowGraph::default()) };
        let description = self.with_ids(source, &outline, &steps).into();
        Playbook { mode, description, body: Body { steps, flow }, ..heading.clone() }
    }

    /// Its text as a model sees it: an id stands where a heading's words or an item's number stood.
    fn with_ids(&self, source: &str, outline: &Outline, steps: &[Step]) -> String {
        let (mut text, mut from) = (String::new(), self.body.range().start);
        // A procedure may stand inside of another one.
        let mut lines: Vec<(&OutlineLine, &Step)> = outline.lines().zip(steps).collect();
        lines.sort_by_key(|(line, _)| line.span);
        for (line, step) in lines {
            let (whole, words) = (line.whole.range(), line.span.range());
            let written = &source[words.clone()];
            let is_numbered = source[whole.start..words.start].starts_with(|c: char| c.is_ascii_digit());
            let n_marks = written.len() - written.trim_start_matches(['#', ' ']).len();
            let at = if is_numbered { whole.start } else { words.start + n_marks };
            text.push_str(&source[from..at]);
            text.push_str(&format!("{}{} ", step.label, if step.compulsory { "!" } else { "" }));
            from = if is_numbered { words.start } else { at };
        }
        text.push_str(&source[from..self.body.range().end]);
        text.trim().replace("\r\n", "\n")
    }
}

/// What a skill hands a part of its task to, in a frame of its own, if its text speaks of such a thing.
pub(super) fn delegate_of(skill: &Playbook, id: PlaybookId) -> Option<Playbook> {
    let text = skill.description.to_lowercase().replace('-', "");
    let permits = &skill.skill.as_ref()?.permits;
    let is_meant = permits.of(DELEGATE, None) == Permission::Given || DELEGATING.iter().any(|word| text.contains(word));
    if !is_meant || permits.forbids(DELEGATE) {
        return None;
    }
    let task = Parameter {
        name: TASK.into(),
        ty: Type { kind: TypeKind::Str, ..Type::ANY },
        default: None,
        description: "what is to be done, with all that must be known for it".into(),
        span: Some(skill.title_span),
    };
    Some(Playbook {
        id,
        agent: skill.agent,
        name: DELEGATE.into(),
        title: DELEGATE.into(),
        title_span: skill.title_span,
        span: skill.title_span,
        parameters: vec![task],
        own: [TASK.into()].into(),
        description: DELEGATE_GOAL.into(),
        implicit: true,
        public: true,
        ..Playbook::default()
    })
}

/// The agent that runs a program of skills alone, of which there are several.
pub(super) fn agent_of_skills<'a>(agents: &[Agent]) -> AgentPlan<'a> {
    let place = agents.first().map_or_else(Span::default, |agent| agent.title_span);
    let agent = Agent {
        id: AgentId(u32::try_from(agents.len()).unwrap_or(u32::MAX)),
        description: SKILLS_GOAL.into(),
        ..empty_agent(SKILLS, SKILLS, place)
    };
    AgentPlan { agent, bodies: Vec::new(), playbooks: Vec::new() }
}

/// What begins skills without a line that calls them: their descriptions, but for those that a line calls, for these are
/// called where their author says; and their names in a message.
pub(super) fn add_triggers(playbooks: &mut [Playbook]) {
    let calls = playbooks.iter().flat_map(|playbook| &playbook.steps).filter_map(|step| step.call()?.playbook);
    let called: BTreeSet<PlaybookId> = calls.collect();
    for playbook in playbooks.iter_mut() {
        let Some(skill) = &playbook.skill else { continue };
        let is_described = skill.begun_by.description && !skill.summary.is_empty() && !called.contains(&playbook.id);
        let description = is_described.then(|| (skill.summary.clone(), TriggerKind::Semantic));
        let name = || (format!("/{}", playbook.title).into(), TriggerKind::Command(playbook.title.clone()));
        let name = skill.begun_by.user.then(name);
        let trigger = |(index, (text, kind))| Trigger {
            id: TriggerId { playbook: playbook.id, index },
            text,
            span: playbook.title_span,
            kind,
            names: vec![USER_MESSAGE.into()],
            at_turn_end: false,
        };
        playbook.triggers = (0..).zip(description.into_iter().chain(name)).map(trigger).collect();
    }
}

fn lines_of(outline: &Outline, source: &str, around: Surroundings<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut outer = None;
    for (line, label) in outline.lines().zip(outline.ids()) {
        let id = StepId(u32::try_from(steps.len()).unwrap_or(u32::MAX));
        let parent = outer.filter(|_| line.is_nested);
        match parent {
            Some(StepId(parent)) => steps[parent as usize].children.push(id),
            None => outer = Some(id),
        }
        steps.push(Step {
            id,
            label: label.into(),
            parent,
            children: Vec::new(),
            text: line.words.as_str().into(),
            span: line.span,
            kind: StepKind::Free,
            explicit: false,
            compulsory: false,
            // Another skill that it names so is called before it is done.
            due_call: due_skill(&line.words, below(line, source), around).map(|skill| skill.name.clone()),
            reads: Vec::new(),
            writes: Vec::new(),
        });
    }
    // Nobody wrote them for an interpreter: whether and how often what stands below a line is done is all that is read.
    for step in steps.iter_mut().filter(|step| !step.children.is_empty()) {
        let text = step.text.clone();
        let words = without_number(Phrase::at(&text, step.span));
        let read = read_item(words, Surroundings { has_children: true, ..around }).line.kind;
        if let StepKind::Branch { .. } = read {
            step.kind = StepKind::Branch { arm: Arm::If, condition: None };
        } else if let StepKind::Loop(_) = read {
            step.kind = StepKind::Loop(Loop::While { condition: None });
        }
    }
    steps
}

/// No line may be left out, as far as it is one by itself: what stands below a condition, and where a model chooses, is done
/// only if it comes to that.
fn make_compulsory(steps: &mut [Step], is_in_order: bool) {
    let decides: Vec<bool> = steps.iter().map(|step| step.kind != StepKind::Free).collect();
    for step in steps.iter_mut().filter(|step| step.kind == StepKind::Free && step.children.is_empty()) {
        step.compulsory = is_in_order || step.parent.is_none_or(|parent| !decides[parent.0 as usize]);
    }
}

/// What belongs to a line besides its own words, with all lines that are nested in it.
fn below<'a>(line: &OutlineLine, source: &'a str) -> &'a str {
    source.get(line.span.range().end..line.whole.range().end).unwrap_or_default()
}

/// The lines one after the other; what is nested below one that decides nothing is done, too.
fn in_order(steps: &[Step]) -> FlowGraph {
    // The steps that their words name are those of the author, who may have begun with 0.
    let mut flow = flow_graph(steps, false);
    for step in steps.iter().filter(|step| step.kind == StepKind::Free && !step.children.is_empty()) {
        flow.successors[step.id.0 as usize].retain(|edge| edge.kind != EdgeKind::Else);
    }
    flow
}
