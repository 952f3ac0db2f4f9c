//! What a plugin sends and nobody has asked for: dropped, counted, logged once per kind and never acted upon.

use std::sync::atomic::{AtomicU64, Ordering};

use strum::{EnumCount as _, VariantArray as _};

/// Why a line is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumCount, strum::VariantArray)]
pub enum Unasked {
    /// It is not UTF-8.
    #[strum(to_string = "a line that is not UTF-8")]
    NotText,
    /// It is not JSON.
    #[strum(to_string = "a line that is not JSON")]
    NotJson,
    /// It is no message of the contract.
    #[strum(to_string = "a line that is not a message")]
    NotMessage,
    /// It is not from the plugin, or not for the interpreter.
    #[strum(to_string = "a message with roles that are not its own")]
    WrongRoles,
    /// It is for another plugin, which it does not reach: the plugin is told so.
    #[strum(to_string = "a message for another plugin")]
    OtherPlugin,
    /// It belongs to no call that runs: the id is unknown or stale, or the call has been answered.
    #[strum(to_string = "a message for a call that does not run")]
    NoSuchCall,
    /// It answers another command than the one that was called.
    #[strum(to_string = "the answer of another command than the one that was called")]
    OtherCommand,
    /// It is a call: plugins are called, and call nobody.
    #[strum(to_string = "a call of its own")]
    Call,
    /// It is a message that says nothing to anybody here.
    #[strum(to_string = "a message that nobody has asked for")]
    Other,
}

/// How many lines of each kind.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; Unasked::COUNT]);

impl Counts {
    /// Counts one; says whether it is the first of its kind.
    pub(super) fn add(&self, kind: Unasked) -> bool {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed) == 0
    }

    /// All that there have been.
    pub(super) fn all(&self) -> Vec<(Unasked, u64)> {
        let counts = Unasked::VARIANTS.iter().zip(&self.0).map(|(kind, count)| (*kind, count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
