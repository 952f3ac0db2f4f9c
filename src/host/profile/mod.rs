//! What sessions have spent, and where: tokens, time and cost by playbooks and lines (spec `evaluate.md`, section 8).
//! Pure over the records of sessions.

mod cache;

mod count;

mod reply;

mod rows;

mod tree;

use crate::journal::record::Record;
use crate::profile::count::Counter;
use crate::replay::error::SessionError;
use crate::replay::told::tell;
use crate::resource::prices::PriceTable;

pub use crate::profile::cache::Cache;
pub use crate::profile::rows::Row;
pub use crate::profile::tree::{Measure, Node, Part, Profile, Spent, Step};

impl Profile {
    /// Adds a session. Pieces of replies that are records of their own have times of their own.
    ///
    /// # Errors
    /// The records hold no session, or the machine does not follow them; then nothing is added.
    pub fn add(&mut self, records: &[Record], prices: &PriceTable) -> Result<(), SessionError> {
        let mut added = self.clone();
        let mut counter = Counter::new(&mut added, prices);
        tell(records, &mut |told| counter.hear(told))?;
        added.n_sessions += 1;
        *self = added;
        Ok(())
    }
}
