//! Journals: the list of a session's events, from which everything else can be rebuilt (spec `architecture.md`,
//! "Journal").
//!
//! A [`store::Store`] keeps the sessions of one place, a [`Journal`] is one of them for its owner. Records are only ever added,
//! each with a number of its own: a file, a database and a log of some server can all do that. [`tail::TailBuffer`] is
//! what a session writes into, whatever is below: it joins the pieces of a reply in memory. Its `flush` is called before
//! anything that the session does reaches somebody else.

pub mod record;

pub mod error;

pub mod tail;

pub mod store;

pub mod address;

pub mod memory;

pub mod file;

pub mod sqlite;

pub mod copy;

pub mod wire;

pub mod secrets;

mod lease;

pub(crate) mod private;

pub(crate) mod blocking;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture, Either, Ready};
use futures_util::stream::BoxStream;

use crate::journal::record::Record;

pub use crate::journal::error::{JournalError, JournalErrorKind};

/// A flush in progress, or its result where nothing has to be waited for.
pub type Flush = Either<Ready<Result<(), JournalError>>, BoxFuture<'static, Result<(), JournalError>>>;

/// Records as they are read, in order.
pub type RecordStream = BoxStream<'static, Result<Record, JournalError>>;

/// What a flush is to outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of this process.
    Killed,
    /// A power cut, or whatever takes the machine away.
    PowerCut,
}

/// The records of one session, for its owner: nobody else writes them as long as this lives.
pub trait Journal: Send {
    /// Where it is kept, for messages.
    fn location(&self) -> String;

    /// The number of the next record: 1, if it holds none.
    fn next_seq(&self) -> u64;

    /// Takes a record with that number, in memory.
    fn append(&mut self, record: Record);

    /// Writes all that was appended: the records are there when the session is read again, all of them or those before
    /// one of them. Never waits for a disk or a server on an async thread. After an error it is not to be used any more.
    fn flush(&mut self, durability: Durability) -> Flush;

    /// What was flushed, from the record with this number on.
    fn read(&mut self, from: u64) -> RecordStream;

    /// Gives the lease up; so does dropping it, which may wait for a disk.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        drop(self);
        future::ready(()).boxed()
    }
}
