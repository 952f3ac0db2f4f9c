//! What a server keeps beside the journals of its store: which sessions it serves and for whom, how they stood when no
//! process had them any more, and the tokens of those who may talk with them (spec `serving.md`, sections 2, 7 and 11).

pub mod answers;

mod millis;

mod rows;

pub mod sqlite;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::host::events::Mark;
use crate::host::journal::JournalError;
use crate::host::ledger::answers::{Answer, KeptAnswer, RowId};
use crate::vm::protocol::Timestamp;

pub use crate::host::ledger::rows::{Filter, Served, TokenRow};

/// What is kept, when it has been written or read.
pub type Kept<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// What a server keeps beside the journals of its sessions.
pub trait Ledger: Send + Sync {
    /// Notes a session that is about to begin; false: one with this id is there. It goes with the session
    /// ([`crate::host::journal::store::Store::delete`]).
    ///
    /// # Errors
    /// It cannot be written.
    fn begin(&self, served: Served) -> Kept<'_, bool>;

    /// A process takes the session up: the number by which it may say how it stands when it lets it go. None: it is not
    /// served.
    ///
    /// # Errors
    /// It cannot be written.
    fn take_up(&self, session: Arc<str>) -> Kept<'_, Option<i64>>;

    /// The process lets it go. Nothing happens where another one has taken it up since.
    ///
    /// # Errors
    /// It cannot be written.
    fn let_go(&self, held: (Arc<str>, i64), standing: String, wake: Option<Timestamp>) -> Kept<'_, ()>;

    /// The session is opened again only when somebody wants it.
    ///
    /// # Errors
    /// It cannot be written.
    fn let_sleep(&self, session: Arc<str>) -> Kept<'_, ()>;

    /// The session has this text of this program now.
    ///
    /// # Errors
    /// It cannot be written.
    fn change_program(&self, session: Arc<str>, program: Arc<str>, version: Arc<str>) -> Kept<'_, ()>;

    /// Forgets a session.
    ///
    /// # Errors
    /// It cannot be written.
    fn forget(&self, session: Arc<str>) -> Kept<'_, ()>;

    /// A session that is served.
    ///
    /// # Errors
    /// It cannot be read.
    fn find(&self, session: Arc<str>) -> Kept<'_, Option<Served>>;

    /// The sessions that are wanted.
    ///
    /// # Errors
    /// They cannot be read.
    fn list(&self, filter: Filter) -> Kept<'_, Vec<Served>>;

    /// The sessions that some process had when it died, or has; and those whose time has come.
    ///
    /// # Errors
    /// They cannot be read.
    fn wanted_back(&self, now: Timestamp, also_held: bool) -> Kept<'_, Vec<Arc<str>>>;

    /// Keeps a token; false: there is one with this name. Those whose time is over go.
    ///
    /// # Errors
    /// It cannot be written.
    fn add_token(&self, token: TokenRow) -> Kept<'_, bool>;

    /// All tokens, by name.
    ///
    /// # Errors
    /// They cannot be read.
    fn tokens(&self) -> Kept<'_, Vec<TokenRow>>;

    /// The token with this SHA-256.
    ///
    /// # Errors
    /// It cannot be read.
    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenRow>>;

    /// Takes a token away; false: there is none of this name.
    ///
    /// # Errors
    /// It cannot be written.
    fn revoke(&self, name: Arc<str>) -> Kept<'_, bool>;

    /// Whether the store can be written.
    ///
    /// # Errors
    /// It cannot.
    fn is_writable(&self) -> Kept<'_, ()>;

    /// Keeps an answer: its row.
    ///
    /// # Errors
    /// It cannot be written.
    fn add_answer(&self, answer: Answer) -> Kept<'_, RowId>;

    /// An answer has come to its end.
    ///
    /// # Errors
    /// It cannot be written.
    fn end_answer(&self, row: RowId, mark: Mark, reply: String) -> Kept<'_, ()>;

    /// All answers to a history, the newest first.
    ///
    /// # Errors
    /// They cannot be read.
    fn answers(&self, key: [u8; 32]) -> Kept<'_, Vec<KeptAnswer>>;

    /// The answer of a session that began at this mark; without one its last answer.
    ///
    /// # Errors
    /// It cannot be read.
    fn answer(&self, session: Arc<str>, began: Option<Mark>) -> Kept<'_, Option<KeptAnswer>>;
}
