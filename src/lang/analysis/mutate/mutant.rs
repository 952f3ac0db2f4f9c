//! A mutant: what it is about, and how it is made.

use std::sync::Arc;

use crate::analysis::mutate::change::Change;
use crate::program::{PlaybookId, Program, StepId, TriggerId};
use crate::span::Span;

/// A program with one mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutant {
    pub(super) name: String,
    pub(super) site: Site,
    pub(super) span: Span,
    /// None: the line is the model's, and only one can tell whether it is missed.
    pub(super) change: Option<Change>,
}

/// What a mutant is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// A line.
    Line(PlaybookId, StepId),
    /// A trigger.
    Trigger(TriggerId),
    /// Which tools may be called.
    Tools,
}

impl Mutant {
    /// `Pay:03 drop`; unique in its program, and the same as long as the line is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is about.
    pub fn site(&self) -> Site {
        self.site
    }

    /// Where its author has written what it changes.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The mutant of `program`, of which it is. None: it is a line that the model does, so no scripted reply can tell
    /// whether it is there.
    pub fn apply(&self, program: &Program) -> Option<Arc<Program>> {
        let mut mutant = program.clone();
        self.change.as_ref()?.make(&mut mutant);
        Some(Arc::new(mutant))
    }

    /// Whether the interpreter does what it changes.
    pub fn is_interpreters(&self) -> bool {
        self.change.is_some()
    }

    /// Whether it is a trigger that never fires, which only tells where that has fired.
    pub fn silences(&self) -> bool {
        matches!(self.change, Some(Change::DropTrigger(_)))
    }
}
