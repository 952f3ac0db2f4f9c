//! What a plugin sends and nobody has asked for: dropped, counted, logged once per kind and never acted upon.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a line is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unasked {
    /// It is not UTF-8.
    NotText,
    /// It is not JSON.
    NotJson,
    /// It is no message of the contract.
    NotMessage,
    /// It is not from the plugin, or not for the interpreter.
    WrongRoles,
    /// It is for another plugin, which it does not reach: the plugin is told so.
    OtherPlugin,
    /// It belongs to no call that runs: the id is unknown or stale, or the call has been answered.
    NoSuchCall,
    /// It answers another command than the one that was called.
    OtherCommand,
    /// It is a call: plugins are called, and call nobody.
    Call,
    /// It is a message that says nothing to anybody here.
    Other,
}

impl Unasked {
    const ALL: [Unasked; 9] = [
        Unasked::NotText,
        Unasked::NotJson,
        Unasked::NotMessage,
        Unasked::WrongRoles,
        Unasked::OtherPlugin,
        Unasked::NoSuchCall,
        Unasked::OtherCommand,
        Unasked::Call,
        Unasked::Other,
    ];

    /// What it is, for people.
    pub fn text(self) -> &'static str {
        match self {
            Unasked::NotText => "a line that is not UTF-8",
            Unasked::NotJson => "a line that is not JSON",
            Unasked::NotMessage => "a line that is not a message",
            Unasked::WrongRoles => "a message with roles that are not its own",
            Unasked::OtherPlugin => "a message for another plugin",
            Unasked::NoSuchCall => "a message for a call that does not run",
            Unasked::OtherCommand => "the answer of another command than the one that was called",
            Unasked::Call => "a call of its own",
            Unasked::Other => "a message that nobody has asked for",
        }
    }
}

/// How many lines of each kind.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; Unasked::ALL.len()]);

impl Counts {
    /// Counts one; says whether it is the first of its kind.
    pub(super) fn add(&self, kind: Unasked) -> bool {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed) == 0
    }

    /// All that there have been.
    pub(super) fn all(&self) -> Vec<(Unasked, u64)> {
        let counts = Unasked::ALL.into_iter().zip(&self.0).map(|(kind, count)| (kind, count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
