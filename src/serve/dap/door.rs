//! Where programs to be debugged come from.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::host::debuggee::Launcher;
use crate::host::session::{Session, SessionHandle};
use crate::lang::program::Program;
use crate::serve::dap::wire::{AttachArguments, LaunchArguments};

/// Where programs to be debugged come from.
pub trait Door: Send + Sync {
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

/// What must be known about a program besides its session.
#[derive(Clone)]
pub struct Subject {
    /// The program.
    pub program: Arc<Program>,
    /// Whether it is a plan: it says nothing, and its value is the result.
    pub is_plan: bool,
}

/// A program that can begin.
pub struct Launched {
    /// Its session, which does not run yet.
    pub session: Session,
    /// About it.
    pub subject: Subject,
    /// What a fork of it runs with.
    pub launcher: Arc<dyn Launcher>,
    /// What people are told: which model was chosen, ….
    pub remarks: Vec<String>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// The verdict when it has ended, if it is a test: the error is what is wrong, in whole lines.
    pub verdict: Option<BoxFuture<'static, Result<(), String>>>,
    /// Closes what was opened for it.
    pub closing: BoxFuture<'static, ()>,
}

/// A program that runs.
pub enum Reached {
    /// In this process.
    Here(Running),
    /// In another one, which listens at this address.
    At(String),
}

/// A program that runs in this process.
#[derive(Clone)]
pub struct Running {
    /// Its session.
    pub handle: SessionHandle,
    /// About it.
    pub subject: Subject,
}
