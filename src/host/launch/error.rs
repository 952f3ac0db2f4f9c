//! Why nothing can be launched: facts, which each door puts into its own form.

use playhouse_lang::diagnostic::{Diagnostic, render};
use playhouse_lang::span::Sources;

use crate::config::ConfigError;
use crate::equipment::EquipmentError;
use crate::journal::JournalError;
use crate::program::ProgramFileError;
use crate::session::SessionError;

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The configuration, or an id that was chosen.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file of the program.
    #[error(transparent)]
    File(#[from] ProgramFileError),
    /// The program's text has errors.
    #[error("{}", render(findings, sources, false))]
    Program {
        /// All findings, warnings among them.
        findings: Vec<Diagnostic>,
        /// The texts they are about.
        sources: Sources,
    },
    /// A tool, a plugin, a server or a resource.
    #[error(transparent)]
    Equipment(#[from] EquipmentError),
    /// The model or the trigger classifier; in words.
    #[error("{0}")]
    Model(String),
    /// The playbook or plan to begin with.
    #[error("there is no playbook `{name}`; the playbooks are {}", known.join(", "))]
    NoEntry {
        /// The name that was given.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// Something that the session was begun with is not there any more; in words.
    #[error("{0}")]
    Gone(String),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
}
