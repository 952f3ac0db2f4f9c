//! What an editor asks about a program, answered in an editor's words: places, texts, kinds. Pure and total: any program,
//! any offset. What it says of a line is what `check --explain` says (spec `editors.md`, sections 2 and 4).
//!
//! A [`View`] is one program as it was loaded. Which programs there are, and which texts their files have, is the
//! business of whoever asks.

pub mod actions;
pub mod calls;
pub mod case_complete;
pub mod case_names;
pub mod cases;
pub mod complete;
pub mod extract;
pub mod hints;
pub mod hover;
mod keys;
pub mod occurrences;
pub mod outline;
pub mod rename;
pub mod tokens;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::Loaded;
use playhouse_lang::analysis::Analysis;
use playhouse_lang::analysis::explain::explain_with;
use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::program::{Playbook, Program, Signature, Step, Trigger};
use playhouse_lang::span::{FileId, Span};

use crate::occurrences::{Occurrence, Occurrences, Symbol};

/// The tools that a program can call, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// How they are called.
    pub signatures: Vec<Signature>,
    /// By name: what stands between a call and what it does.
    pub about: HashMap<Arc<str>, Vec<String>>,
}

/// A program as it was loaded, and what is known of it beside its text.
#[derive(Debug)]
pub struct View {
    analysis: Analysis,
    tools: Tools,
    findings: Vec<Diagnostic>,
    occurrences: Occurrences,
}

/// What stands at an offset, the smallest first: a name, else a line or trigger, else nothing.
#[derive(Debug)]
pub enum At<'v> {
    /// A name.
    Name(&'v Occurrence),
    /// A line, outside of names.
    Line(&'v Playbook, &'v Step),
    /// A trigger, outside of names.
    Trigger(&'v Trigger),
}

impl View {
    /// Of what was loaded with these tools.
    pub fn new(loaded: Loaded, tools: Tools) -> View {
        let occurrences = Occurrences::of(&loaded.program);
        View { analysis: Analysis::new(Arc::new(loaded.program)), tools, findings: loaded.diagnostics, occurrences }
    }

    /// What was loaded.
    pub fn into_loaded(self) -> Loaded {
        let program = Arc::unwrap_or_clone(self.analysis.into_program());
        Loaded { program, diagnostics: self.findings }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        self.analysis.program()
    }

    /// The program as `check --explain` tells it, but for what is known of the way to its tools.
    pub fn explain(&self) -> String {
        explain_with(self.program(), &|tool| self.tools.about.get(tool).cloned().unwrap_or_default())
    }

    /// Every place of a name in it: those outside of playbooks, then those of each playbook, each by place.
    pub fn names(&self) -> impl Iterator<Item = &Occurrence> {
        let program = self.program();
        let of_playbook = |playbook: &Playbook| self.occurrences.in_playbook(program, playbook.id);
        self.occurrences.in_agents(program).iter().chain(program.playbooks.iter().flat_map(of_playbook))
    }

    /// Those in a part of a file, by place.
    pub fn names_in(&self, file: FileId, range: Range<usize>) -> Vec<&Occurrence> {
        let touches = |span: Span| span.file == file && span.touches(&range);
        let program = self.program();
        let playbooks = self.playbooks(file).filter(|playbook| touches(playbook.span));
        let inside = playbooks.flat_map(|playbook| self.occurrences.in_playbook(program, playbook.id));
        let all = self.occurrences.in_agents(program).iter().chain(inside);
        let mut found: Vec<&Occurrence> = all.filter(|place| touches(place.span)).collect();
        found.sort_by_key(|place| place.span);
        found
    }

    /// What was found in it, by place.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// Its file of this name.
    pub fn file(&self, name: &str) -> Option<FileId> {
        self.program().sources.iter().find(|(_, file)| *file.name == *name).map(|(id, _)| id)
    }

    /// What stands at an offset, in bytes. Directly after a name counts, too: there the cursor stands after typing it.
    pub fn at(&self, file: FileId, offset: usize) -> Option<At<'_>> {
        if let Some(name) = self.name_at(file, offset) {
            return Some(At::Name(name));
        }
        let holds = |span: Span| span.file == file && span.touches(&(offset..offset));
        let playbook = self.playbook_at(file, offset)?;
        // A header's text does not hold the lines below it.
        if let Some(line) = playbook.steps.iter().find(|line| holds(line.span)) {
            return Some(At::Line(playbook, line));
        }
        playbook.triggers.iter().find(|trigger| holds(trigger.span)).map(At::Trigger)
    }

    /// The name at an offset.
    pub fn name_at(&self, file: FileId, offset: usize) -> Option<&Occurrence> {
        // The shortest: a variable inside of a title.
        let found = self.names_in(file, offset..offset);
        found.into_iter().min_by_key(|place| place.span.end - place.span.start)
    }

    /// How a tool is called; none: it is not known.
    fn tool(&self, name: &str) -> Option<&Signature> {
        self.tools.signatures.iter().find(|tool| *tool.name == *name)
    }

    /// What stands between a call of a tool and what it does.
    fn about(&self, name: &str) -> Vec<String> {
        self.tools.about.get(name).cloned().unwrap_or_default()
    }

    /// All places of what a name means, by place.
    pub fn places(&self, symbol: &Symbol) -> impl Iterator<Item = &Occurrence> {
        let mut found: Vec<&Occurrence> = self.names().filter(|place| place.symbol == *symbol).collect();
        found.sort_by_key(|place| place.span);
        found.into_iter()
    }

    /// The playbook in whose text an offset lies.
    pub fn playbook_at(&self, file: FileId, offset: usize) -> Option<&Playbook> {
        self.playbooks(file).find(|playbook| playbook.span.touches(&(offset..offset)))
    }
}
