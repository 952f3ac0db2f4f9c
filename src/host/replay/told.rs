//! A session told again from its records: each record, and what the machine did after it. What whoever counts or draws
//! what a session did is told live, too, in the same order.

use std::sync::Arc;

use playhouse_lang::program::Program;
use playhouse_vm::protocol::{Progress, Timestamp};

use crate::journal::record::{Begun, Record};
use crate::replay::error::SessionError;
use crate::replay::{Follower, begun_of};

/// What is told.
#[derive(Clone, Copy, Debug)]
pub enum Told<'t> {
    /// The session begins, with this program. Once, and first.
    Began(Timestamp, &'t Begun, &'t Arc<Program>),
    /// Something happened, and the machine is about to handle it.
    Record(&'t Record),
    /// The machine did something after it.
    Moved(Timestamp, &'t Progress),
}

/// Tells a session from its beginning to the end of its records.
///
/// # Errors
/// The records hold no session, or the machine does not follow them.
pub fn tell(records: &[Record], hear: &mut dyn FnMut(Told<'_>)) -> Result<(), SessionError> {
    let mut follower = Follower::begin(records, None)?;
    hear(Told::Began(follower.time, begun_of(records)?, follower.machine.program()));
    for index in 0..records.len() {
        let next = records.get(index + 1);
        let advanced = follower.advance_before(next, &mut |time, progress| hear(Told::Moved(time, progress)))?;
        if let Some(next) = next {
            hear(Told::Record(next));
            follower.handle(next, advanced.stop.as_ref(), None)?;
        }
    }
    Ok(())
}
