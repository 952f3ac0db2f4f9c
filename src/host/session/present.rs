//! How a machine stands at a moment.

use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_vm::protocol::Timestamp;
use playhouse_vm::protocol::view::View;

use crate::events::Mark;

/// A machine's state at a moment of its session.
#[derive(Clone, Debug)]
pub struct Present {
    /// The state.
    pub view: Arc<View>,
    /// The text that it has.
    pub program: Arc<Program>,
    /// Of the last event.
    pub mark: Mark,
    /// The time of the last record.
    pub time: Timestamp,
    /// What the session's own model has cost, where `[prices]` knows it.
    pub cost: Option<f64>,
    /// When the next of its timers runs out.
    pub due: Option<Timestamp>,
}
