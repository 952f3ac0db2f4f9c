//! Playbooks: headings, modes, limits, and their lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use crate::program::agent::Agent;
use crate::program::flow_graph::FlowGraph;
use crate::program::ids::{AgentId, PlaybookId, StepId};
use crate::program::permits::Permits;
use crate::program::step::Step;
use crate::program::tool_list::ToolList;
use crate::program::trigger_index::Trigger;
use crate::signature::{Parameter, Signature, Type};
use crate::span::Span;
use crate::value::Value;

/// One H2: a playbook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playbook {
    /// This playbook's id.
    pub id: PlaybookId,
    /// Its agent.
    pub agent: AgentId,
    /// Its name, unique within the agent; derived from the title if that is not an identifier.
    pub name: Arc<str>,
    /// The heading's text as written, with its signature.
    pub title: Arc<str>,
    /// The place of the heading line.
    pub title_span: Span,
    /// From the heading to the end of the playbook.
    pub span: Span,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// The declared return type, if any.
    pub returns: Option<Type>,
    /// Whether other agents and doors may call it.
    pub public: bool,
    /// `strict: false`: passing a line that is not done is only an event.
    pub strict: bool,
    /// Its own limits.
    pub limits: FrameLimits,
    /// Which tools it may call.
    pub tools: ToolList,
    /// The text between heading (and metadata) and the first H3, unknown headings included.
    pub description: Arc<str>,
    /// Its triggers in order.
    pub triggers: Vec<Trigger>,
    /// How it runs.
    pub mode: Mode,
    /// Its lines.
    pub body: Body,
    /// The text of `### Notes`; empty if none.
    pub notes: Arc<str>,
    /// Names that belong to a frame of this playbook (spec `execution.md`, "Variables").
    pub own: BTreeSet<Arc<str>>,
    /// Names its lines, triggers and texts mention that are not own.
    pub outer: BTreeSet<Arc<str>>,
    /// The types that lines give to names they set.
    pub types: BTreeMap<Arc<str>, Type>,
    /// The values that questions allow for names they set.
    pub choices: BTreeMap<Arc<str>, Vec<Value>>,
    /// `meeting: true`: recognised, not supported; a call of it is an error.
    pub meeting: bool,
    /// Made by us (the implicit root), not written by the author.
    pub implicit: bool,
    /// What it is besides if it is an Agent Skill.
    pub skill: Option<SkillText>,
}

/// What a playbook has that is an Agent Skill (spec `skills.md`). Its title is the skill's name as it is written, its
/// description the whole text with the ids of its lines where they stand; all agents call it by its name alone.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillText {
    /// What it is for, in one line.
    pub summary: Arc<str>,
    /// Whether `$1` in its text is the first word that it is called with. Most texts that have it mean a shell's.
    pub has_numbers: bool,
    /// What it says of tools.
    pub permits: Permits,
    /// Who may begin it besides the lines and models that call it.
    pub begun_by: BegunBy,
    /// How the program that names it wants it to run.
    pub run: SkillRun,
    /// The playbook of its agent that does a part of its task, [`DELEGATE`](crate::program::permits::DELEGATE); none: the
    /// program is not whole.
    pub delegate: Option<PlaybookId>,
}

/// How a program wants a skill to run (docs/skills.md, "How a skill is read"). It says so where it names the skill, for
/// its text alone is what a session can be replayed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkillRun {
    /// What its lines are; none: what its text shows.
    pub mode: Option<SkillMode>,
    /// Whether none of its lines may be left out for a reason alone.
    pub strict: bool,
}

/// What the lines of a skill are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum SkillMode {
    /// Those of all its procedures, one after the other in the order of the text.
    Steps,
    /// Those of its procedures, of which a model chooses.
    Guide,
    /// There are none: the text is what it is for.
    Goal,
}

/// Who may begin a skill without a line that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunBy {
    /// Whether its description is a trigger (not with `disable-model-invocation: true`).
    pub description: bool,
    /// Whether a user's message that begins with its name does it: `/pdf-forms a.pdf` (not with `user-invocable: false`).
    pub user: bool,
}

/// The parameter of a skill: what it is called with, in words.
pub const ARGUMENTS: &str = "ARGUMENTS";

/// The lines of a playbook, and which can follow which. What can be asked of them can be asked of the playbook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// All lines in document order. In goal mode: the items of the body's ordered lists (skills), or none.
    pub steps: Vec<Step>,
    /// Which line can follow which; in goal mode without edges.
    pub flow: FlowGraph,
}

/// What a value must be that is one of `choices`, for people and models: `one of "S", "M", 3`.
pub fn one_of(choices: &[Value]) -> String {
    format!("one of {}", choices.iter().map(|choice| choice.to_json().to_string()).collect::<Vec<_>>().join(", "))
}

impl Deref for Playbook {
    type Target = Body;

    fn deref(&self) -> &Body {
        &self.body
    }
}

impl Body {
    /// The line with `id`.
    ///
    /// # Panics
    /// If `id` is of another playbook.
    pub fn step(&self, id: StepId) -> &Step {
        &self.steps[id.0 as usize]
    }

    /// The line whose line id is `label`. Missing leading zeros are forgiven (`1` is `01`).
    pub fn find_step(&self, label: &str) -> Option<StepId> {
        fn parts(label: &str) -> impl Iterator<Item = &str> {
            label.split_inclusive(['.', '>']).map(|part| part.trim_start_matches('0'))
        }
        let written_so = self.steps.iter().find(|step| *step.label == *label);
        let found = written_so.or_else(|| self.steps.iter().find(|step| parts(&step.label).eq(parts(label))));
        found.map(|step| step.id)
    }

    /// Whether `step` is nested under `header`, at any depth.
    pub fn is_nested(&self, step: StepId, header: StepId) -> bool {
        std::iter::successors(self.step(step).parent, |&id| self.step(id).parent).any(|parent| parent == header)
    }

    /// How many lines a line is nested under.
    pub fn nesting(&self, step: StepId) -> usize {
        std::iter::successors(self.step(step).parent, |&id| self.step(id).parent).count()
    }
}

/// How a playbook runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Line by line.
    Steps,
    /// No `### Steps`: the model chooses until the goal is met.
    #[default]
    Goal,
}

/// A playbook's own limits (spec `execution.md`, "Limits").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameLimits {
    /// Prompt and completion tokens of this frame and those above it.
    pub tokens: Option<u64>,
    /// Model turns of this frame and those above it.
    pub turns: Option<u64>,
    /// Seconds, without those spent waiting for the user.
    pub seconds: Option<u64>,
    /// What happens when one is reached.
    pub on_limit: OnLimit,
}

impl FrameLimits {
    /// Whether there is any limit.
    pub fn is_set(&self) -> bool {
        self.tokens.is_some() || self.turns.is_some() || self.seconds.is_some()
    }
}

/// What happens when a frame's limit is reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnLimit {
    /// The session fails.
    #[default]
    Fail,
    /// The frame returns this value (`return: VALUE`).
    Return(Value),
    /// The frame is replaced by a call without arguments (`call: Name`).
    Call(Arc<str>),
}

impl Playbook {
    /// The type a name was declared with, as its lines see it: a parameter's, that of a variable of its `agent`, else the
    /// one that a line gives.
    pub fn type_of(&self, agent: &Agent, name: &str) -> Option<Type> {
        let parameter = self.parameters.iter().find(|parameter| *parameter.name == *name).map(|known| known.ty);
        let declared = || agent.variables.iter().find(|variable| *variable.name == *name).map(|known| known.ty);
        parameter.or_else(declared).or_else(|| self.types.get(name).copied())
    }

    /// `Name($a: str, $b = 3) -> dict`, made from what was read.
    pub fn signature(&self) -> Signature {
        let own = || self.description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        let summary = self.skill.as_ref().map_or_else(own, |skill| &skill.summary);
        Signature {
            name: self.name.clone(),
            parameters: self.parameters.clone(),
            returns: self.returns.unwrap_or(Type::ANY),
            summary: first_sentence(summary).into(),
        }
    }
}

/// What comes before the first full stop that ends a word and is followed by a space.
fn first_sentence(line: &str) -> &str {
    line.find(". ").map_or(line, |end| &line[..=end])
}
