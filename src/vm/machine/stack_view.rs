//! What can be read of a session without knowing what it is doing: the program, the stack, the variables, what was said.
//!
//! Questions about lines, ways, variables and callees, and the texts that a model is shown, are answered from here. So
//! none of them depends on the reply that is being read, on triggers or on timers, and none changes anything.

use std::sync::Arc;

use playhouse_lang::analysis::Analysis;
use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::program::Program;

use crate::machine::conversation::Conversation;
use crate::machine::frame::Frame;
use crate::prompt::system::Prompts;
use crate::protocol::settings::Settings;
use crate::protocol::{Timestamp, ToolSignature};
use crate::variables::scope::Scope;

/// What can be read of a session.
#[derive(Clone, Copy)]
pub(crate) struct StackView<'a> {
    pub(crate) program: &'a Arc<Program>,
    pub(crate) analysis: &'a Analysis,
    pub(crate) layouts: &'a Layouts,
    pub(crate) settings: &'a Settings,
    pub(crate) tools: &'a [ToolSignature],
    pub(crate) prompts: &'a Prompts,
    pub(crate) now: Timestamp,
    /// The frames, the lowest first.
    pub(crate) frames: &'a [Frame],
    /// The session's other variables, by agent.
    pub(crate) globals: &'a [Scope],
    pub(crate) conversation: &'a Conversation,
}
