//! The program: what the machine runs. Made by `lower` from the trees of all files; immutable afterwards.
//!
//! Typed ids index the vectors of [`Program`] and [`Playbook`]; they are only meaningful for the program that
//! made them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::expr::Expr;
use crate::flow_graph::FlowGraph;
use crate::names::ReachCache;
use crate::plan::{Plan, PlanId};
use crate::span::{Sources, Span};
pub use crate::tool_list::ToolList;
pub use crate::trigger_index::{CallName, Trigger, TriggerIndex, TriggerKind};
use crate::value::Value;

/// An agent, by its position in [`Program::agents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// A playbook, by its position in [`Program::playbooks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaybookId(pub u32);

/// A line of a playbook, by its position in [`Playbook::steps`]: document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub u32);

/// A trigger: its playbook and its place (from 0) in that playbook's list; shown as `Playbook:T1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TriggerId {
    /// The playbook that the trigger calls.
    pub playbook: PlaybookId,
    /// Its place in the list, from 0.
    pub index: u32,
}

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The texts it was made from.
    pub sources: Sources,
    /// All agents in file order.
    pub agents: Vec<Agent>,
    /// All playbooks in file order; implicit ones (the root of an agent without an entry) come last.
    pub playbooks: Vec<Playbook>,
    /// All plans: those that were given, then those that are imported.
    pub plans: Vec<Arc<Plan>>,
    /// The playbooks that plans call, by whatever agent they may be run.
    pub called_by_plans: Vec<PlaybookId>,
    /// What the front matter says, of all files together.
    pub settings: FrontMatter,
    /// Which tools may be called at all: what all files say together.
    pub tools: ToolList,
    /// What the session begins with.
    pub entry: Entry,
    /// What [`Program::names_from`] has computed so far.
    pub(crate) reach: ReachCache,
}

/// What a session begins with when no `--playbook` is given (spec `language.md`, "File").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The playbooks of one agent that have an `At the beginning`, in program order. Never empty.
    Beginning(Vec<PlaybookId>),
    /// The only playbook there is.
    Single(PlaybookId),
    /// The implicit root playbook of the first agent: goal mode, waits for the user first.
    Root(PlaybookId),
    /// A plan that was given alone.
    Plan(PlanId),
    /// There is nothing to run.
    None,
}

/// What a session can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryId {
    /// A playbook.
    Playbook(PlaybookId),
    /// A plan.
    Plan(PlanId),
}

/// One H1: an agent, its standing instructions and its playbooks.
#[derive(Clone, Debug)]
pub struct Agent {
    /// This agent's id.
    pub id: AgentId,
    /// Its name as an identifier, unique in the program.
    pub name: Arc<str>,
    /// The heading's text as written.
    pub title: Arc<str>,
    /// The place of the title.
    pub title_span: Span,
    /// The text below the heading: its standing instructions.
    pub description: Arc<str>,
    /// Its playbooks in file order (implicit ones not among them).
    pub playbooks: Vec<PlaybookId>,
    /// Variables that exist from the start, from front matter and the agent's metadata.
    pub variables: Vec<DeclaredVariable>,
    /// Which tools its playbooks may call.
    pub tools: ToolList,
    /// Whether it is run by us, stands for a person, or lives elsewhere.
    pub kind: AgentKind,
    /// The triggers of its playbooks, by what concerns them.
    pub triggers: TriggerIndex,
}

/// What runs an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentKind {
    /// Our machine.
    Playbooks,
    /// A person (`# Agent:Human`): recognised, not supported.
    Human,
    /// Another process (`remote:`): recognised, not supported.
    Remote,
}

/// A variable declared by `variables:`: exists from the start, never own.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredVariable {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Its first value; none: the name is declared but not set.
    pub value: Option<Value>,
    /// Whether it may be shown (`secret: true`).
    pub secret: bool,
    /// The place of the declaration.
    pub span: Span,
}

/// The types of the language (spec `language.md`, "Steps").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// What kind of value.
    pub kind: TypeKind,
    /// Whether null is allowed too (`T | None`).
    pub optional: bool,
}

/// The kinds of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Anything.
    Any,
    /// Text.
    Str,
    /// A 64-bit integer.
    Int,
    /// A number; integers are accepted.
    Float,
    /// `true` or `false`.
    Bool,
    /// A list.
    List,
    /// A map.
    Dict,
}

impl Type {
    /// Accepts every value.
    pub const ANY: Type = Type { kind: TypeKind::Any, optional: false };

    /// Whether `value` is of this type. There is no coercion; an integer is a `float`.
    pub fn accepts(self, value: &Value) -> bool {
        match (self.kind, value) {
            (TypeKind::Any, _)
            | (TypeKind::Str, Value::Str(_))
            | (TypeKind::Int, Value::Int(_))
            | (TypeKind::Float, Value::Int(_) | Value::Float(_))
            | (TypeKind::Bool, Value::Bool(_))
            | (TypeKind::List, Value::List(_))
            | (TypeKind::Dict, Value::Map(_)) => true,
            (_, Value::Null) => self.optional,
            _ => false,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.kind {
            TypeKind::Any => "any",
            TypeKind::Str => "str",
            TypeKind::Int => "int",
            TypeKind::Float => "float",
            TypeKind::Bool => "bool",
            TypeKind::List => "list",
            TypeKind::Dict => "dict",
        })?;
        f.write_str(if self.optional { " | None" } else { "" })
    }
}

/// A parameter of a playbook or tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// Its type; `any` if none was written.
    pub ty: Type,
    /// Its default value; a parameter without one is required.
    pub default: Option<Value>,
    /// What it is for, in one line; empty if unknown.
    pub description: Arc<str>,
    /// The place of the declaration; none for a tool's.
    pub span: Option<Span>,
}

impl Parameter {
    /// Whether a call must give it.
    pub fn required(&self) -> bool {
        self.default.is_none()
    }
}

/// What one can know about a callable without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The name it is called by; may hold one dot (`plugin.command`, `Agent.Playbook`).
    pub name: Arc<str>,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// What it gives back; `any` if unknown.
    pub returns: Type,
    /// One line for the model and for people.
    pub summary: Arc<str>,
}

/// One H2: a playbook.
#[derive(Clone, Debug)]
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
    /// All lines in document order. In goal mode: the items of the body's ordered lists (skills), or none.
    pub steps: Vec<Step>,
    /// The text of `### Notes`; empty if none.
    pub notes: Arc<str>,
    /// Which line can follow which; in goal mode without edges.
    pub flow: FlowGraph,
    /// Names that belong to a frame of this playbook (spec `execution.md`, "Variables").
    pub own: BTreeSet<Arc<str>>,
    /// Names its lines, triggers and texts mention that are not own.
    pub outer: BTreeSet<Arc<str>>,
    /// The types that lines give to names they set.
    pub types: BTreeMap<Arc<str>, Type>,
    /// `meeting: true`: recognised, not supported; a call of it is an error.
    pub meeting: bool,
    /// Made by us (the implicit root), not written by the author.
    pub implicit: bool,
}

/// How a playbook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Line by line.
    Steps,
    /// No `### Steps`: the model chooses until the goal is met.
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

/// One line of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// This line's id.
    pub id: StepId,
    /// Its line id as people and models see it: `01`, `02.01`.
    pub label: Arc<str>,
    /// The line it is nested under.
    pub parent: Option<StepId>,
    /// The lines nested directly under it, in order.
    pub children: Vec<StepId>,
    /// The author's words, without bullet or old numbering; may hold line breaks and fenced blocks.
    pub text: Arc<str>,
    /// The place of those words.
    pub span: Span,
    /// What it was read as.
    pub kind: StepKind,
    /// Whether the *whole* line was read by the expression grammar, so that the interpreter may perform it.
    pub explicit: bool,
    /// Names it reads, in order of mention, without `$`.
    pub reads: Vec<Arc<str>>,
    /// Names it writes.
    pub writes: Vec<Arc<str>>,
}

/// What a line was read as (spec `language.md`, "Steps").
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// `If …`, `Else if …`, `Otherwise`.
    Branch {
        /// Which arm of the chain.
        arm: Arm,
        /// The condition; none for `else` and for one that is not an expression.
        condition: Option<Expr>,
        /// What stands on the same line behind the condition (`If $x > 3, return $x`).
        action: Option<Box<StepKind>>,
    },
    /// `For each …`, `Repeat …`, `While …`, `Until …`.
    Loop(Loop),
    /// `Return …`.
    Return(Returned),
    /// `End program`, `Exit`.
    End,
    /// A call of a playbook, plan or tool.
    Call(CallSite),
    /// `$x = expression`, `Set $x to …`.
    Assign {
        /// The variable that gets the value.
        target: Target,
        /// The value; none if it is not an expression.
        value: Option<Expr>,
    },
    /// `Ask user for $x`, `Wait for …`.
    Ask {
        /// The variables asked for; may be empty.
        targets: Vec<Target>,
    },
    /// `Say "…"`, `Tell the user …`.
    Say {
        /// The exact text (with `{$x}` references), where the line is a quoted text and nothing else.
        literal: Option<Arc<str>>,
    },
    /// Anything else.
    Free,
}

/// Which arm of a branch a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// `If …`.
    If,
    /// `Else if …`.
    ElseIf,
    /// `Otherwise`, `Else`.
    Else,
}

/// Loop headers. An expression that is none could not be read, and the loop is the model's own.
#[derive(Clone, Debug, PartialEq)]
pub enum Loop {
    /// `For each $x in $xs`.
    ForEach {
        /// The loop variable.
        variable: Target,
        /// The list.
        list: Option<Expr>,
    },
    /// `Repeat 3 times`.
    Repeat {
        /// How often.
        count: Option<Expr>,
    },
    /// `While …`.
    While {
        /// Goes on as long as this is true.
        condition: Option<Expr>,
    },
    /// `Repeat until …`.
    Until {
        /// Goes on until this is true; judged after each round.
        condition: Option<Expr>,
    },
}

/// What a return line gives back.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned {
    /// `Return` alone.
    Nothing,
    /// `Return $x + 1`.
    Value(Expr),
    /// `Return Foo($x)`.
    Call(CallSite),
    /// Words that are no expression.
    Words,
}

/// A variable that a line writes: `$x` or `$x:int`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// The type written beside it, or that of its declaration in this playbook.
    pub ty: Type,
    /// The place of the name.
    pub span: Span,
}

/// A call as written in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSite {
    /// The name as written, or the playbook's name for a call in plain words.
    pub callee: Arc<str>,
    /// The place of the name.
    pub callee_span: Span,
    /// The playbook it names; none for a tool or an unknown name.
    pub playbook: Option<PlaybookId>,
    /// The arguments, where all of them are expressions; none: the model finds them.
    pub arguments: Option<Vec<Argument>>,
    /// The variable that gets the result (`$s = GetOrder($id)`).
    pub result: Option<Target>,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name, for `name=value`; none: by position.
    pub name: Option<Arc<str>>,
    /// The value.
    pub value: Expr,
}

/// What front matter can hold; the keys of `playhouse.toml` (spec `language.md`, "File").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// `model: openai:NAME`.
    pub model: Option<String>,
    /// Everything else that was written, key by key, for the host to read (`limits`, `tools`, `resume`, …).
    pub other: Vec<(String, Value, Span)>,
}

impl Program {
    /// The agent with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn agent(&self, id: AgentId) -> &Agent {
        &self.agents[id.0 as usize]
    }

    /// The playbook with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn playbook(&self, id: PlaybookId) -> &Playbook {
        &self.playbooks[id.0 as usize]
    }

    /// The playbook that `name` means when an agent's text or model says it: its own by plain name, another
    /// agent's public one by `Agent.Playbook`.
    pub fn find_playbook(&self, agent: AgentId, name: &str) -> Option<PlaybookId> {
        if let Some(&id) = self.agent(agent).playbooks.iter().find(|&&id| &*self.playbook(id).name == name) {
            return Some(id);
        }
        let (owner, name) = name.split_once('.')?;
        let owner = self.agents.iter().find(|other| &*other.name == owner)?;
        let found = owner.playbooks.iter().find(|&&id| &*self.playbook(id).name == name)?;
        (owner.id == agent || self.playbook(*found).public).then_some(*found)
    }

    /// The plan with `id`; none: it is one that a model wrote while a session ran.
    pub fn plan(&self, id: PlanId) -> Option<&Arc<Plan>> {
        self.plans.get(id.0 as usize)
    }

    /// The plan that is called `name`.
    pub fn find_plan(&self, name: &str) -> Option<PlanId> {
        let index = self.plans.iter().position(|plan| &*plan.name == name)?;
        Some(PlanId(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// Why a playbook cannot be run by our machine, in words; none: it can.
    pub fn unsupported(&self, id: PlaybookId) -> Option<String> {
        let playbook = self.playbook(id);
        let agent = self.agent(playbook.agent);
        match agent.kind {
            AgentKind::Playbooks if playbook.meeting => {
                Some(format!("{} is a meeting; meetings are not supported yet", playbook.name))
            }
            AgentKind::Playbooks => None,
            AgentKind::Human => {
                Some(format!("{} stands for a person; agents of that kind are not supported yet", agent.name))
            }
            AgentKind::Remote => Some(format!("{} is a remote agent; those are not supported yet", agent.name)),
        }
    }

    /// The trigger with `id`.
    ///
    /// # Panics
    /// If `id` is of another program.
    pub fn trigger(&self, id: TriggerId) -> &Trigger {
        &self.playbook(id.playbook).triggers[id.index as usize]
    }

    /// Whether a trigger of an agent waits for calls of a playbook: before, after, or when one fails.
    ///
    /// # Panics
    /// If an id is of another program.
    pub fn is_call_watched(&self, agent: AgentId, callee: PlaybookId) -> bool {
        let calls = &self.agent(agent).triggers.calls;
        calls.iter().any(|id| self.trigger(*id).kind.call().is_some_and(|call| call.playbook == Some(callee)))
    }

    /// `Playbook:T1`.
    pub fn trigger_name(&self, id: TriggerId) -> String {
        format!("{}:T{}", self.playbook(id.playbook).name, id.index + 1)
    }
}

impl Playbook {
    /// The line with `id`.
    ///
    /// # Panics
    /// If `id` is of another playbook.
    pub fn step(&self, id: StepId) -> &Step {
        &self.steps[id.0 as usize]
    }

    /// The line whose line id is `label`. Missing leading zeros are forgiven (`1` is `01`).
    pub fn find_step(&self, label: &str) -> Option<StepId> {
        let wanted = label.split('.').map(|part| part.trim_start_matches('0'));
        self.steps
            .iter()
            .find(|step| step.label.split('.').map(|p| p.trim_start_matches('0')).eq(wanted.clone()))
            .map(|step| step.id)
    }

    /// `Name($a: str, $b = 3) -> dict`, made from what was read.
    pub fn signature(&self) -> Signature {
        let summary = self.description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
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
