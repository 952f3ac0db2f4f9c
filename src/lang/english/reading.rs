//! What a reading depends on, and what it gives.

use crate::english::callables::Names;
use crate::english::phrase::Phrase;
use crate::program::{AgentId, StepKind};
use crate::span::Span;

/// Where a line stands, as far as its reading depends on it.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// What can be called.
    pub(crate) names: &'a Names<'a>,
    /// From where.
    pub(crate) agent: AgentId,
    /// Whether items are nested under it.
    pub(crate) has_children: bool,
}

/// What a line was read as.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) kind: StepKind,
    pub(crate) explicit: bool,
    /// What it was probably meant to be, where it was not understood.
    pub(crate) near: Option<Box<Near>>,
}

/// What a text was probably meant to be.
#[derive(Debug)]
pub(crate) struct Near {
    /// Where it goes on otherwise than was expected.
    pub(crate) place: Span,
    /// What was expected there.
    pub(crate) message: String,
    /// A line that is read as what was meant.
    pub(crate) wording: String,
    /// What stands at the place, and what would stand there in that line, if the rest of it stays.
    pub(crate) repair: Option<(String, String)>,
}

impl Reading {
    pub(crate) fn new(kind: StepKind, explicit: bool) -> Self {
        Reading { kind, explicit, near: None }
    }

    pub(crate) fn free() -> Self {
        Reading::new(StepKind::Free, false)
    }
}

/// What an item of a list was read as: one line, or a branch and what it does on its own line.
#[derive(Debug)]
pub(crate) struct ItemReading<'a> {
    /// What its line was read as, or its branch.
    pub(crate) line: Reading,
    /// What the branch does, if that stands on its own line (`If $x > 3, return $x`); it becomes a line, too.
    pub(crate) action: Option<Action<'a>>,
    /// The other arm, if that stands there, too (`…, otherwise return 0`).
    pub(crate) otherwise: Option<Action<'a>>,
}

/// What stands after a condition on its own line.
#[derive(Debug)]
pub(crate) struct Action<'a> {
    /// The words of the condition, without what stands between them and the action: `If $x > 3`, `Otherwise`.
    pub(crate) condition: Phrase<'a>,
    /// The words of the action.
    pub(crate) words: Phrase<'a>,
    /// What it was read as by itself.
    pub(crate) reading: Reading,
}

impl ItemReading<'_> {
    /// An item that is one line.
    pub(crate) fn line(line: Reading) -> Self {
        ItemReading { line, action: None, otherwise: None }
    }
}
