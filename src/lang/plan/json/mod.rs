//! JSON plans as they are run: both dialects are decoded to one list of instructions (spec `plans.md`, sections 1
//! and 2).
//!
//! Branches are laid out flat: every instruction knows the one that follows it, so a machine's place is one number
//! and nesting costs no stack.

pub(crate) mod decode;
mod decoder;
mod dialect;
mod extract;
mod instructions;
mod layout;
mod parameters;
mod reader;
pub(crate) mod references;
mod tree;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::node::{NodeId, PlanLanguage};
use crate::span::Span;
use crate::value::Value;

/// The two dialects of JSON plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `assign`, `jmp`, `calling`, `reasoning`; `${name}`: source 000.
    Jmp,
    /// `assign`, `llm_generate`, `retrieve_knowledge_graph`, `retrieve_embedded_chunks`, `condition`, `reasoning`;
    /// `{"var": "name"}` and `{{name}}`: source 001.
    Branch,
}

/// A JSON plan.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPlan {
    /// Its dialect.
    pub dialect: Dialect,
    /// All instructions, those of branches after their condition. An instruction's position is its [`NodeId`].
    pub instructions: Vec<Instruction>,
    /// The first one to run; none in a plan without instructions.
    pub first: Option<NodeId>,
    /// Instructions of the main list by sequence number, for targets that are computed at run time.
    pub by_seq_no: Vec<(i64, NodeId)>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its number as written.
    pub seq_no: i64,
    /// Its type as written (`calling`, `condition`, …); `unknown` if there is none of that name.
    pub type_name: &'static str,
    /// The whole object.
    pub span: Span,
    /// What it does.
    pub kind: InstructionKind,
    /// The one that follows: the next of its list; after the last of a branch, the one that follows the condition;
    /// none: the plan is over.
    pub next: Option<NodeId>,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum InstructionKind {
    /// Sets variables, in order: a later one sees an earlier one.
    Assign(Vec<Assignment>),
    /// Calls a tool, playbook or plan.
    Call(PlanCall),
    /// Asks a model a question and goes one way or the other.
    Branch(Branch),
    /// Goes elsewhere.
    Jump(Target),
    /// Has no effect.
    Reasoning {
        /// The text, as written.
        text: Arc<str>,
    },
}

/// One variable that is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: Arc<str>,
    /// The place of the name.
    pub name_span: Span,
    /// What it is set to.
    pub value: PlanValue,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCall {
    /// The name of the callee.
    pub callee: Arc<str>,
    /// The place of the name: of the instruction's `type` in dialect B.
    pub callee_span: Span,
    /// Arguments by parameter name, as written. `context: null` in dialect B is not among them.
    pub arguments: Vec<(Arc<str>, PlanValue)>,
    /// Where the result goes.
    pub output: Output,
}

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nowhere.
    Dropped,
    /// The whole of it into a variable.
    Whole(Arc<str>),
    /// Members of it, which must be an object or text that holds one, into variables of their names; never empty.
    Members(Vec<Arc<str>>),
}

/// A question and two ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The question.
    pub prompt: PlanValue,
    /// What else the model is to know; never a literal null.
    pub context: Option<PlanValue>,
    /// Where it goes on for true.
    pub if_true: Target,
    /// Where it goes on for false.
    pub if_false: Target,
}

/// Where a plan goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// There; none: the plan is over.
    Node(Option<NodeId>),
    /// At the main instruction whose number the value is, which must be an integer.
    Computed(PlanValue),
}

/// A value as written, with what is put into it when the instruction runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanValue {
    /// Its place.
    pub span: Span,
    /// What it is.
    pub kind: PlanValueKind,
}

/// The kinds of values; one without references is always a literal, however deep it is.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanValueKind {
    /// As it is.
    Literal(Value),
    /// The value of a variable, with its type.
    Variable(Arc<str>),
    /// Text with variables in it; each becomes text.
    Text(Vec<TextPart>),
    /// A list with references somewhere inside.
    List(Vec<PlanValue>),
    /// An object with references somewhere inside.
    Map(Vec<(Arc<str>, PlanValue)>),
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPart {
    /// As it is.
    Text(Arc<str>),
    /// The text form of a variable.
    Variable(Arc<str>),
}

impl TextPart {
    fn variable(&self) -> Option<&Arc<str>> {
        if let TextPart::Variable(name) = self { Some(name) } else { None }
    }
}

impl Dialect {
    /// A reference to a variable, as it is written.
    pub(crate) fn reference(self, name: &str) -> String {
        match self {
            Dialect::Jmp => format!("${{{name}}}"),
            Dialect::Branch => format!("{{{{{name}}}}}"),
        }
    }

    /// It as a language.
    pub fn language(self) -> PlanLanguage {
        match self {
            Dialect::Jmp => PlanLanguage::Jmp,
            Dialect::Branch => PlanLanguage::Branch,
        }
    }
}

impl JsonPlan {
    /// The instruction at a node.
    ///
    /// # Panics
    /// If the node is of another plan.
    pub fn instruction(&self, id: NodeId) -> &Instruction {
        &self.instructions[id.0 as usize]
    }

    /// The variables that some instruction sets, and how often each is set.
    pub(crate) fn variables_set(&self) -> HashMap<Arc<str>, usize> {
        let mut set = HashMap::new();
        for (name, _) in self.instructions.iter().flat_map(|instruction| instruction.kind.outputs()) {
            *set.entry(name.clone()).or_default() += 1;
        }
        set
    }
}

impl Instruction {
    /// Whether it could not be read: it stands in a plan with errors, and has no effect.
    pub fn is_unread(&self) -> bool {
        self.type_name != "reasoning" && matches!(self.kind, InstructionKind::Reasoning { .. })
    }

    /// Where the plan goes on, each with when: `true`, `false`, or always.
    pub(crate) fn ways(&self) -> Vec<(&'static str, Target)> {
        match &self.kind {
            InstructionKind::Branch(Branch { if_true, if_false, .. }) => {
                vec![("true", if_true.clone()), ("false", if_false.clone())]
            }
            InstructionKind::Jump(target) => vec![("", target.clone())],
            InstructionKind::Assign(_) | InstructionKind::Call(_) | InstructionKind::Reasoning { .. } => {
                vec![("", Target::Node(self.next))]
            }
        }
    }
}

impl InstructionKind {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&PlanCall> {
        if let InstructionKind::Call(call) = self { Some(call) } else { None }
    }

    /// The variables that it sets, with the places of their names where they are known.
    pub(crate) fn outputs(&self) -> Vec<(&Arc<str>, Option<Span>)> {
        match self {
            InstructionKind::Assign(assignments) => {
                assignments.iter().map(|Assignment { name, name_span, .. }| (name, Some(*name_span))).collect()
            }
            InstructionKind::Call(call) => match &call.output {
                Output::Dropped => Vec::new(),
                Output::Whole(name) => vec![(name, None)],
                Output::Members(names) => names.iter().map(|name| (name, None)).collect(),
            },
            InstructionKind::Branch(_) | InstructionKind::Jump(_) | InstructionKind::Reasoning { .. } => Vec::new(),
        }
    }

    /// The values that it has references in, in document order.
    pub(crate) fn inputs(&self) -> Vec<&PlanValue> {
        let mut values: Vec<&PlanValue> = match self {
            InstructionKind::Assign(assignments) => assignments.iter().map(|assignment| &assignment.value).collect(),
            InstructionKind::Call(call) => call.arguments.iter().map(|(_, value)| value).collect(),
            InstructionKind::Branch(branch) => {
                let targets = [&branch.if_true, &branch.if_false].into_iter().filter_map(Target::computed);
                [&branch.prompt].into_iter().chain(&branch.context).chain(targets).collect()
            }
            InstructionKind::Jump(target) => target.computed().into_iter().collect(),
            InstructionKind::Reasoning { .. } => Vec::new(),
        };
        values.sort_by_key(|value| value.span);
        values
    }
}

impl Target {
    /// The value that says where it is, if that is computed.
    pub fn computed(&self) -> Option<&PlanValue> {
        if let Target::Computed(value) = self { Some(value) } else { None }
    }
}

impl PlanValue {
    /// The values inside it that are references or text with references, in order.
    pub(crate) fn leaves(&self) -> Vec<&PlanValue> {
        let mut leaves = Vec::new();
        let mut pending = vec![self];
        while let Some(value) = pending.pop() {
            match &value.kind {
                PlanValueKind::Literal(_) => {}
                PlanValueKind::Variable(_) | PlanValueKind::Text(_) => leaves.push(value),
                PlanValueKind::List(items) => pending.extend(items.iter().rev()),
                PlanValueKind::Map(members) => pending.extend(members.iter().rev().map(|(_, member)| member)),
            }
        }
        leaves
    }

    /// The names of the variables in it, in order, with repetitions.
    pub fn variables(&self) -> Vec<&Arc<str>> {
        let mut names = Vec::new();
        for leaf in self.leaves() {
            if let PlanValueKind::Variable(name) = &leaf.kind {
                names.push(name);
            } else if let PlanValueKind::Text(parts) = &leaf.kind {
                names.extend(parts.iter().filter_map(TextPart::variable));
            }
        }
        names
    }
}
