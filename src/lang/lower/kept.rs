//! What was read of a program, kept for when its texts are edited: most of a text says afterwards what it said before
//! (spec `editors.md`, section 3).

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::english::callables::{Asked, Callable, Names, UsedNames};
use crate::english::reading::{Held, NOTHING_HELD};
use crate::lower::alone::Alone;
use crate::lower::places::{Places, Shift, distance};
use crate::lower::reparse::reparse;
use crate::program::{Agent, AgentId, Playbook, Program, Signature};
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
    /// In the order of their ids.
    pub(super) playbooks: Vec<Callable>,
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
    pub(super) held: Held,
}

impl Known {
    /// `playbooks` stand in the order of their ids; what their lines are does not matter.
    pub(super) fn new<'a>(
        agents: impl Iterator<Item = &'a Agent>,
        playbooks: impl Iterator<Item = &'a Playbook>,
        signatures: &Arc<[Signature]>,
        later: Vec<String>,
    ) -> Known {
        let agents: Vec<KnownAgent> = agents
            .map(|agent| KnownAgent {
                name: agent.name.clone(),
                variables: agent.variables.iter().map(|variable| variable.name.clone()).collect(),
                held: Held::default().with_types(agent.variables.iter().map(|variable| (&variable.name, variable.ty))),
            })
            .collect();
        let playbooks = playbooks.map(|playbook| Callable::new(playbook, &agents[playbook.agent.0 as usize].name));
        Known { playbooks: playbooks.collect(), agents, signatures: signatures.clone(), later }
    }

    /// The keys of the playbooks that are other than in `before`; none: more is.
    fn changed(&self, before: &Known) -> Option<HashSet<u64>> {
        let Known { agents, playbooks, signatures, later } = self;
        let is_alike = *agents == before.agents
            && *signatures == before.signatures
            && *later == before.later
            && playbooks.iter().map(|playbook| playbook.agent).eq(before.playbooks.iter().map(|old| old.agent));
        let changed = playbooks.iter().zip(&before.playbooks).filter(|(now, old)| now != old);
        is_alike.then(|| changed.flat_map(|(now, old)| [now.keys(), old.keys()]).flatten().collect())
    }

    /// What the variables hold that an agent declares.
    pub(super) fn held(&self, agent: AgentId) -> &Held {
        self.agents.get(agent.0 as usize).map_or(&NOTHING_HELD, |agent| &agent.held)
    }

    /// The variables that an agent declares.
    pub(super) fn declared(&self, agent: AgentId) -> &[Arc<str>] {
        // One that is made for a program of skills has none.
        self.agents.get(agent.0 as usize).map_or(&[], |agent| &agent.variables)
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
            // A skill's tree is none of a text as others are read.
            trees: readings.trees.into_iter().map(|tree| (!tree.is_skill()).then_some(tree)).collect(),
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
            && playbook.skill == draft.skill
            && names.would_answer(&reading.asked);
        if !is_alone || !is_same {
            return None;
        }
        let shift =
            Shift { file: now.file, part: before.range(), by: distance(before.range().start, now.range().start) };
        playbook.shift(&shift);
        reading.found.shift(&shift);
        reading.alone.shift(&shift);
        Some((playbook, reading))
    }
}
