//! One file as it was written: what stands where. Nothing is judged here and nothing is lost: every token that
//! the program does not keep (heading marks, bullets, old numbering) has its place, for whoever rewrites a text.

use crate::span::{FileId, Span};

/// A whole file.
#[derive(Clone, Debug)]
pub(crate) struct FileTree {
    /// The file.
    pub(crate) file: FileId,
    /// The YAML between the first two `---` lines, without them.
    pub(crate) front_matter: Option<Span>,
    /// A line that was probably meant to open front matter and does not, and what to do.
    pub(crate) lost_front_matter: Option<(Span, &'static str)>,
    /// What stands before the first agent's heading; its `heading` is none.
    pub(crate) preamble: AgentTree,
    /// The agents in order.
    pub(crate) agents: Vec<AgentTree>,
}

impl FileTree {
    /// Whether this is the file of a skill.
    pub(crate) fn is_skill(&self) -> bool {
        self.agents.iter().flat_map(|agent| &agent.playbooks).any(|playbook| playbook.skill.is_some())
    }

    /// What stands below the headings of agents and playbooks, with the agent's position; none: before the first.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = (Option<usize>, &Body)> {
        let agents = self.agents.iter().enumerate().map(|(index, agent)| (Some(index), agent));
        [(None, &self.preamble)].into_iter().chain(agents).flat_map(|(agent, tree)| {
            let bodies = [&tree.body].into_iter().chain(tree.playbooks.iter().map(|playbook| &playbook.body));
            bodies.map(move |body| (agent, body))
        })
    }
}

/// A heading line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadingTree {
    /// The `#`s in front.
    pub(crate) marks: Span,
    /// The words, without marks and white space around them.
    pub(crate) title: Span,
}

/// An agent: an H1 and what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct AgentTree {
    /// Its heading; none for a file's preamble.
    pub(crate) heading: Option<HeadingTree>,
    /// What stands between the heading and the first playbook.
    pub(crate) body: Body,
    /// Its playbooks in order.
    pub(crate) playbooks: Vec<PlaybookTree>,
}

/// A playbook: an H2 and what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct PlaybookTree {
    /// Its heading; the title holds the signature.
    pub(crate) heading: HeadingTree,
    /// What stands between the heading and the first known H3, and under unknown headings.
    pub(crate) body: Body,
    /// `### Triggers`, `### Steps` and `### Notes` in order; each can stand more than once.
    pub(crate) sections: Vec<Section>,
    /// From the heading to the end of the playbook.
    pub(crate) span: Span,
    /// What there is besides in the file of a skill, which is one playbook; its heading is the skill's name.
    pub(crate) skill: Option<SkillTree>,
}

/// A skill: a text that nobody wrote for an interpreter.
#[derive(Clone, Debug)]
pub(crate) struct SkillTree {
    /// Its name, as it is written.
    pub(crate) name: String,
    /// What it is for; empty if nothing says so.
    pub(crate) description: String,
    /// Whether it says which words it is called with.
    pub(crate) has_hint: bool,
    /// `allowed-tools`, if it is there.
    pub(crate) allowed_tools: Option<String>,
    /// `disallowed-tools`; empty if it is not there.
    pub(crate) disallowed_tools: String,
    /// Not `disable-model-invocation: true`.
    pub(crate) begins_by_description: bool,
    /// Not `user-invocable: false`.
    pub(crate) begins_by_name: bool,
    /// Where its text stands.
    pub(crate) body: Span,
}

/// The free part of an agent or playbook.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Metadata lines.
    pub(crate) metadata: Vec<Metadata>,
    /// The key of a line that was probably meant as metadata and is text, and the key that was meant.
    pub(crate) near_metadata: Option<(Span, &'static str)>,
    /// The text for the model: pieces between which something else was taken out.
    pub(crate) text: Vec<Span>,
    /// The list items in that text.
    pub(crate) items: Vec<ItemTree>,
    /// Fenced blocks in that text.
    pub(crate) fences: Vec<Fence>,
    /// `!import` lines.
    pub(crate) imports: Vec<Import>,
    /// Headings of the third level that are none we know.
    pub(crate) unknown_headings: Vec<HeadingTree>,
}

/// A metadata line, `key: value`; a value can go on over indented lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The key.
    pub(crate) key: Span,
    /// Everything after the colon.
    pub(crate) value: Span,
}

/// What a known H3 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// `### Triggers` or `### Trigger`.
    Triggers,
    /// `### Steps`.
    Steps,
    /// `### Notes`.
    Notes,
}

/// A known H3 and what stands under it.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Which one.
    pub(crate) kind: SectionKind,
    /// Its heading.
    pub(crate) heading: HeadingTree,
    /// Everything under the heading: pieces between which something else was taken out.
    pub(crate) text: Vec<Span>,
    /// Its list items.
    pub(crate) items: Vec<ItemTree>,
    /// What stands in it outside of lists.
    pub(crate) other: Vec<Span>,
}

/// A list item.
#[derive(Clone, Debug)]
pub(crate) struct ItemTree {
    /// How deep it is nested, from 0.
    pub(crate) level: usize,
    /// Whether its list is numbered.
    pub(crate) ordered: bool,
    /// The bullet or number.
    pub(crate) bullet: Span,
    /// An old number or trigger prefix (`01:QUE`, `T1:CND`, `01.`), with its colon.
    pub(crate) prefix: Option<Span>,
    /// Its own text, in pieces if lists are nested between them.
    pub(crate) text: Vec<Span>,
    /// Whether the text is one paragraph and nothing else.
    pub(crate) plain: bool,
    /// Whether it was nested too deep and is therefore one level higher than written.
    pub(crate) lifted: bool,
}

/// A fenced block outside of lists.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    /// The first word after the fence, in lower case.
    pub(crate) language: String,
    /// The block with its fences.
    pub(crate) span: Span,
}

/// An `!import` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The whole line.
    pub(crate) span: Span,
    /// The path alone.
    pub(crate) path: Span,
}
