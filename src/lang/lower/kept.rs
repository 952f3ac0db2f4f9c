//! What was read of a program, kept for when its texts are edited: most of a text says afterwards what it said before
//! (spec `editors.md`, section 3).

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::{Asked, Callable, Names, UsedNames, keys_of};
use crate::lower::alone::Alone;
use crate::lower::places::{Places, Shift};
use crate::lower::reparse::reparse;
use crate::program::{Agent, AgentId, Playbook, PlaybookId, Program, Signature};
use crate::source::ast::FileTree;
use crate::source::parse::parse;
use crate::span::{FileId, Sources};

/// What reading a program gave besides the program: by it the next reading takes less time, and gives the same.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    pub(super) trees: Vec<FileTree>,
    pub(super) known: Known,
    /// By playbook, those alone that were written.
    pub(super) playbooks: Vec<PlaybookReading>,
    pub(super) names: UsedNames,
}

impl Readings {
    /// Names that exist but can't be run yet: plans, functions in Python fences.
    pub(crate) fn later(&self) -> &[String] {
        &self.known.later
    }

    /// What the playbooks say alone that were written, in the order of their ids.
    pub(crate) fn alone(&self) -> impl Iterator<Item = &Alone> {
        self.playbooks.iter().map(|playbook| &playbook.alone)
    }
}

/// What the lines of all playbooks are read by, beside their own text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    pub(super) agents: Vec<KnownAgent>,
    playbooks: Vec<KnownPlaybook>,
    /// Of tools and plans.
    pub(super) signatures: Arc<[Signature]>,
    /// Names that exist but can't be run yet: plans, functions in Python fences.
    pub(super) later: Vec<String>,
}

/// An agent as far as lines are read by it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownAgent {
    pub(super) name: Arc<str>,
    variables: Vec<Arc<str>>,
}

/// A playbook as far as the lines of others are read by it.
#[derive(Clone, Debug, PartialEq)]
struct KnownPlaybook {
    agent: AgentId,
    name: Arc<str>,
    public: bool,
    n_parameters: usize,
}

impl Known {
    /// `playbooks` stand in the order of their ids; what their lines are does not matter.
    pub(super) fn new<'a>(
        agents: impl Iterator<Item = &'a Agent>,
        playbooks: impl Iterator<Item = &'a Playbook>,
        signatures: &Arc<[Signature]>,
        later: Vec<String>,
    ) -> Known {
        let agents = agents.map(|agent| KnownAgent {
            name: agent.name.clone(),
            variables: agent.variables.iter().map(|variable| variable.name.clone()).collect(),
        });
        let playbooks = playbooks.map(|playbook| KnownPlaybook {
            agent: playbook.agent,
            name: playbook.name.clone(),
            public: playbook.public,
            n_parameters: playbook.parameters.len(),
        });
        Known { agents: agents.collect(), playbooks: playbooks.collect(), signatures: signatures.clone(), later }
    }

    /// The playbooks, in the order of their ids.
    pub(super) fn callables(&self) -> impl Iterator<Item = Callable<'_>> {
        self.playbooks.iter().zip(0..).map(|(playbook, id)| Callable {
            id: PlaybookId(id),
            agent: playbook.agent,
            agent_name: &self.agents[playbook.agent.0 as usize].name,
            name: &playbook.name,
            public: playbook.public,
            n_parameters: playbook.n_parameters,
        })
    }

    /// The keys of the playbooks that are other than in `before`; none: more is.
    fn changed(&self, before: &Known) -> Option<HashSet<u64>> {
        let Known { agents, playbooks, signatures, later } = self;
        let is_alike = *agents == before.agents
            && *signatures == before.signatures
            && *later == before.later
            && playbooks.iter().map(|playbook| playbook.agent).eq(before.playbooks.iter().map(|old| old.agent));
        let differ = || playbooks.iter().zip(&before.playbooks).map(|(now, old)| now != old);
        let keys = |known: &Known| -> Vec<u64> {
            let changed = known.callables().zip(differ()).filter(|(_, differs)| *differs);
            changed.flat_map(|(playbook, _)| keys_of(&playbook)).collect()
        };
        is_alike.then(|| keys(self).into_iter().chain(keys(before)).collect())
    }

    /// The variables that an agent declares.
    pub(super) fn declared(&self, agent: AgentId) -> &[Arc<str>] {
        &self.agents[agent.0 as usize].variables
    }
}

/// What reading the lines and triggers of a playbook gave besides them.
#[derive(Clone, Debug)]
pub(super) struct PlaybookReading {
    pub(super) found: Vec<Diagnostic>,
    pub(super) asked: Asked,
    pub(super) alone: Alone,
}

/// What the texts were, and what was read of them. Each part can be taken once.
#[derive(Default)]
pub(crate) struct Kept {
    sources: Sources,
    trees: Vec<Option<FileTree>>,
    known: Known,
    playbooks: Vec<Option<(Playbook, PlaybookReading)>>,
    names: UsedNames,
}

impl Kept {
    /// Of a program as it was before its texts were edited.
    pub(crate) fn of(program: Program, readings: Readings) -> Kept {
        let written = program.playbooks.into_iter().zip(readings.playbooks);
        Kept {
            sources: program.sources,
            trees: readings.trees.into_iter().map(Some).collect(),
            known: readings.known,
            playbooks: written.map(Some).collect(),
            names: readings.names,
        }
    }

    /// The tree of a file with this text.
    pub(super) fn tree(&mut self, file: FileId, text: &str) -> FileTree {
        let tree = self.trees.iter_mut().find(|tree| tree.as_ref().is_some_and(|tree| tree.file == file));
        match (tree.and_then(Option::take), self.sources.get(file)) {
            (Some(tree), Some(before)) => reparse(tree, &before.text, text),
            _ => parse(file, text),
        }
    }

    /// `names`, by which lines are read now, with what can be used again; what cannot is given up.
    pub(super) fn known<'n>(&mut self, known: &Known, names: Names<'n>) -> Names<'n> {
        match known.changed(&self.known) {
            Some(changed) => names.with_used(std::mem::take(&mut self.names), changed),
            None => {
                self.playbooks.clear();
                names
            }
        }
    }

    /// What was read of the playbook that now has the heading of `draft` and stands in `source`, if it would be read the
    /// same.
    pub(super) fn playbook(
        &mut self,
        draft: &Playbook,
        source: &str,
        names: &Names<'_>,
    ) -> Option<(Playbook, PlaybookReading)> {
        let (mut playbook, mut reading) = self.playbooks.get_mut(draft.id.0 as usize)?.take()?;
        let (before, now) = (playbook.span, draft.span);
        let mut is_alone = true;
        reading.found.for_each_place(&mut |place| {
            is_alone &= place.file == before.file && before.start <= place.start && place.end <= before.end;
        });
        let is_same = before.file == now.file
            && source.get(now.range()) == Some(self.sources.text(before))
            && playbook.tools == draft.tools
            && names.would_answer(&reading.asked);
        if !is_alone || !is_same {
            return None;
        }
        let shift = Shift { file: now.file, part: before.range(), by: distance(before.start, now.start) };
        playbook.shift(&shift);
        reading.found.shift(&shift);
        reading.alone.shift(&shift);
        Some((playbook, reading))
    }
}

/// How many bytes further down a place is.
fn distance(before: u32, now: u32) -> isize {
    (now as usize).wrapping_sub(before as usize).cast_signed()
}
