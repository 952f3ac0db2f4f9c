//! Charts as data: nodes, edges, and what is known of them; and as JSON.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::plan::PlanId;
use crate::program::{AgentId, PlaybookId, StepId, TriggerId};
use crate::span::FileRange;

/// What a node stands for. The lines of a playbook, and what is around them, stand only in the chart of that playbook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "their names say it")]
pub enum Part {
    Agent(AgentId),
    Playbook(PlaybookId),
    Tool(Arc<str>),
    Plan(PlanId),
    Trigger(TriggerId),
    /// Where a playbook begins: its heading.
    Begin,
    Line(StepId),
    /// Where a playbook returns.
    End,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it stands for.
    pub part: Part,
    /// What it is called by in JSON and pages, unique in its chart: `playbook:Pay`, `line:02.01`.
    pub id: String,
    /// What it is shown by: a name, a trigger's words, a line id.
    pub name: String,
    /// What is shown below; may be empty.
    pub detail: String,
    /// What is told of it besides; one line or several.
    pub about: String,
    /// The agent in whose frame it stands, as a node.
    pub inside: Option<usize>,
    /// Where it is written; of a tool where it is called first.
    pub place: Option<FileRange>,
    /// Of a line: whether the interpreter performs it without a model.
    pub is_explicit: bool,
    /// Of a line: whether it is a branch or a loop.
    pub is_branching: bool,
    /// What a session took of it, once the chart knows one.
    pub taken: Option<Count>,
    /// The frames of the session that stand there: of each how many lie below it.
    pub frames: Vec<usize>,
}

/// Why an edge is there.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, strum::EnumIter, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EdgeKind {
    /// A call.
    Call,
    /// One after which nothing is left to do: the callee takes the caller's place.
    TailCall,
    /// One whose lines are shown inside the caller.
    InlinedCall,
    /// From a trigger to its playbook, and to the trigger from what it waits for.
    Trigger,
    /// To the playbook that takes over where a limit is reached.
    Limit,
    /// In sequence.
    Next,
    /// From a branch or loop into its body.
    Then,
    /// Past its body.
    Else,
}

/// An edge between two nodes of one chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node it leaves.
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// Why it is there.
    pub kind: EdgeKind,
    /// What is written beside it; may be empty.
    pub label: String,
    /// Of a call: the lines that do it.
    pub lines: BTreeSet<StepId>,
    /// How often a session took it, once the chart knows one.
    pub n_taken: Option<u64>,
}

/// What was taken of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often: entered, called, fired, reached.
    pub n: u64,
    /// Tokens of requests and replies.
    pub tokens: u64,
}

/// A graph of a program or of a playbook. Edges lead between nodes that are there, and frames are agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub(super) title: String,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The playbook whose lines it shows.
    pub(super) flow: Option<PlaybookId>,
    pub(super) session: Option<Arc<str>>,
}

impl Chart {
    /// The program's or the playbook's name.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The nodes, in program order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges, in the order of the nodes they leave.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The nodes in the frame of an agent, or in none.
    pub(super) fn inside(&self, agent: Option<usize>) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(move |(_, node)| node.inside == agent && !node.is_frame())
    }

    /// The agents, as frames.
    pub(super) fn frames(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_frame())
    }

    /// Whether the session took nothing of something that was counted.
    pub(super) fn is_left_out(&self, n_taken: Option<u64>) -> bool {
        self.session.is_some() && n_taken == Some(0)
    }
}

impl Node {
    /// Whether it is drawn around others.
    pub(super) fn is_frame(&self) -> bool {
        matches!(self.part, Part::Agent(_))
    }

    pub(super) fn n_taken(&self) -> Option<u64> {
        self.taken.map(|count| count.n)
    }

    /// What a session took of it, in words; empty if nothing is known.
    fn taken_words(&self) -> String {
        let Some(Count { n, tokens }) = self.taken.filter(|taken| *taken != Count::default()) else {
            return String::new();
        };
        let tokens = if tokens > 0 { format!(" · {tokens} tokens") } else { String::new() };
        let frames = self.frames.iter().map(|depth| format!(" · frame {}", depth + 1));
        format!("{n}×{tokens}{}", frames.collect::<String>())
    }

    /// What is written below the name: a paragraph or several.
    pub(super) fn paragraphs(&self) -> impl Iterator<Item = String> {
        [self.detail.clone(), self.taken_words()].into_iter().filter(|text| !text.is_empty())
    }
}

impl Edge {
    /// What is written beside it, with how often it was taken.
    pub(super) fn words(&self) -> String {
        let taken = self.n_taken.filter(|n| *n > 0).map(|n| format!("{n}×"));
        let label = Some(&self.label).filter(|label| !label.is_empty()).cloned();
        label.into_iter().chain(taken).collect::<Vec<_>>().join(" · ")
    }
}

/// A public interface: fields are added, never changed or removed.
impl Serialize for Chart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct NodeWire<'a> {
            id: &'a str,
            kind: &'static str,
            name: &'a str,
            detail: &'a str,
            about: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            inside: Option<&'a str>,
            #[serde(flatten)]
            place: &'a Option<FileRange>,
            #[serde(skip_serializing_if = "Option::is_none")]
            explicit: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            taken: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tokens: Option<u64>,
            #[serde(skip_serializing_if = "<[usize]>::is_empty")]
            frames: &'a [usize],
        }
        #[derive(Serialize)]
        struct EdgeWire<'a> {
            from: &'a str,
            to: &'a str,
            kind: EdgeKind,
            label: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            taken: Option<u64>,
        }
        let nodes = self.nodes.iter().map(|node| NodeWire {
            id: &node.id,
            kind: (&node.part).into(),
            name: &node.name,
            detail: &node.detail,
            about: &node.about,
            inside: node.inside.map(|agent| &*self.nodes[agent].id),
            place: &node.place,
            explicit: matches!(node.part, Part::Line(_)).then_some(node.is_explicit),
            taken: node.n_taken(),
            tokens: node.taken.map(|count| count.tokens),
            frames: &node.frames,
        });
        let edges = self.edges.iter().map(|edge| EdgeWire {
            from: &self.nodes[edge.from].id,
            to: &self.nodes[edge.to].id,
            kind: edge.kind,
            label: &edge.label,
            taken: edge.n_taken,
        });
        let mut chart = serializer.serialize_struct("Chart", 4)?;
        chart.serialize_field("title", &self.title)?;
        chart.serialize_field("session", &self.session)?;
        chart.serialize_field("nodes", &nodes.collect::<Vec<_>>())?;
        chart.serialize_field("edges", &edges.collect::<Vec<_>>())?;
        chart.end()
    }
}
