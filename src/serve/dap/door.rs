//! Where programs to be debugged come from.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::host::debuggee::Launcher;
use crate::host::session::{Session, SessionHandle};
use crate::lang::program::Program;
use crate::serve::dap::wire::{AttachArguments, LaunchArguments};

/// Where programs to be debugged come from.
pub(crate) trait Door: Send + Sync {
    /// Opens a program. `is_again`: it was debugged here before, and its session is kept; another one begins.
    ///
    /// # Errors
    /// In words: it cannot be opened.
    fn launch(&self, arguments: LaunchArguments, is_again: bool) -> BoxFuture<'_, Result<Launched, String>>;

    /// Finds a program that runs.
    ///
    /// # Errors
    /// In words: there is none.
    fn attach(&self, arguments: &AttachArguments) -> Result<Reached, String>;
}

/// What is to be known of a program beside its session.
#[derive(Clone)]
pub(crate) struct Subject {
    /// The program.
    pub(crate) program: Arc<Program>,
    /// What people call it.
    pub(crate) name: String,
    /// Whether it is a plan: it says nothing, and its value is what is wanted of it.
    pub(crate) is_plan: bool,
}

/// A program that can begin.
pub(crate) struct Launched {
    /// Its session, which does not run yet.
    pub(crate) session: Session,
    /// About it.
    pub(crate) subject: Subject,
    /// What a fork of it runs with.
    pub(crate) launcher: Arc<dyn Launcher>,
    /// What people are told: which model was chosen, ….
    pub(crate) remarks: Vec<String>,
    /// What is odd.
    pub(crate) warnings: Vec<String>,
    /// Closes what was opened for it.
    pub(crate) closing: BoxFuture<'static, ()>,
}

/// A program that runs.
pub(crate) enum Reached {
    /// In this process.
    Here(Running),
    /// In another one, which listens at this address.
    At(String),
}

/// A program that runs in this process.
#[derive(Clone)]
pub(crate) struct Running {
    /// Its session.
    pub(crate) handle: SessionHandle,
    /// About it.
    pub(crate) subject: Subject,
}
