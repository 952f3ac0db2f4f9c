//! The open places of a guided turn, and what fills them.
//!
//! The executor decides which lines are done and writes the turn protocol; only two things are left open to a
//! model: a value that stands in the user's words, and the wording of an open-ended sentence. A filler without
//! weights leaves both open, and the executor's patterns and templates stand.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::lang::program::Type;

/// What fills the open places of a turn. Called on a thread that may block.
pub trait SlotFiller: Send + Sync {
    /// Which model fills them, as a person may be told; none: nobody does.
    fn name(&self) -> Option<String>;

    /// The value that `slot` asks for: a quote out of `slot.words`. None: it is not there, or nobody can tell.
    fn extract(&self, slot: &Extraction<'_>, stop: &Stop) -> Option<String>;

    /// One sentence for `slot`. None: its template is to be said.
    fn phrase(&self, slot: &Phrasing<'_>, stop: &Stop) -> Option<String>;
}

/// A value that is to be found in what the user wrote.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// The variable's name, without `$`.
    pub variable: &'a str,
    /// Its type.
    pub ty: Type,
    /// The words of the line that asks for it.
    pub line: &'a str,
    /// What the user was asked.
    pub question: &'a str,
    /// What the user wrote.
    pub words: &'a str,
}

/// What a sentence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeechAct {
    /// Greets.
    Greet,
    /// Says goodbye.
    Farewell,
    /// Thanks.
    Thank,
    /// Says that something is a pity.
    Apologise,
    /// Says something kind, or makes small talk.
    Remark,
    /// Asks for one thing.
    Ask,
}

/// A sentence that is to be worded. Facts are never left to a filler: it would invent them.
#[derive(Clone, Copy, Debug)]
pub struct Phrasing<'a> {
    /// What the sentence does.
    pub act: SpeechAct,
    /// The words of the line, values put in.
    pub direction: &'a str,
    /// Values that the sentence must hold as they are (a name to greet by).
    pub must_hold: &'a [String],
    /// What is said if nothing better is found; the tone to keep to.
    pub template: &'a str,
}

/// Whether the reply is still wanted. A filler looks at it before each token.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Nobody reads the reply any more.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that has been said.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// No weights: patterns and templates alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfilled;

impl SlotFiller for Unfilled {
    fn name(&self) -> Option<String> {
        None
    }

    fn extract(&self, _slot: &Extraction<'_>, _stop: &Stop) -> Option<String> {
        None
    }

    fn phrase(&self, _slot: &Phrasing<'_>, _stop: &Stop) -> Option<String> {
        None
    }
}
