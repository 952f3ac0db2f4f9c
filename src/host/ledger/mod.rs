//! What a server keeps beside the journals of its store: which sessions it serves and for whom, how they stood when no
//! process had them any more, and the tokens of those who may talk with them (spec `serving.md`, sections 2, 7 and 11).

pub mod answers;

mod millis;

mod rows;

pub mod sqlite;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use playhouse_vm::protocol::Timestamp;

use crate::events::Mark;
use crate::journal::JournalError;
use crate::ledger::answers::{Answer, KeptAnswer, RowId};

pub use crate::ledger::rows::{Filter, Served, TokenRow};

/// What is kept, when it has been written or read.
pub type Kept<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// What a server keeps beside the journals of its sessions.
///
/// # Errors
/// Of all of them: it cannot be written, or read.
pub trait Ledger: Send + Sync {
    /// Notes a session that is about to begin; false: one with this id is there. It goes with the session
    /// ([`crate::journal::store::Store::delete`]).
    fn begin(&self, served: Served) -> Kept<'_, bool>;

    /// A process takes the session up: the number by which it may say how it stands when it lets it go. None: it is not
    /// served.
    fn take_up(&self, session: Arc<str>) -> Kept<'_, Option<i64>>;

    /// The process lets it go. Nothing happens where another one has taken it up since.
    fn let_go(&self, held: (Arc<str>, i64), standing: String, wake: Option<Timestamp>) -> Kept<'_, ()>;

    /// The session is opened again only when somebody wants it.
    fn let_sleep(&self, session: Arc<str>) -> Kept<'_, ()>;

    /// The session has this text of this program now.
    fn change_program(&self, session: Arc<str>, program: Arc<str>, version: Arc<str>) -> Kept<'_, ()>;

    /// Forgets a session.
    fn forget(&self, session: Arc<str>) -> Kept<'_, ()>;

    /// A session that is served.
    fn find(&self, session: Arc<str>) -> Kept<'_, Option<Served>>;

    /// The sessions that are wanted.
    fn list(&self, filter: Filter) -> Kept<'_, Vec<Served>>;

    /// The sessions that some process had when it died, or has; and those whose time has come.
    fn wanted_back(&self, now: Timestamp, also_held: bool) -> Kept<'_, Vec<Arc<str>>>;

    /// Keeps a token; false: there is one with this name. Those whose time is over go.
    fn add_token(&self, token: TokenRow) -> Kept<'_, bool>;

    /// All tokens, by name.
    fn tokens(&self) -> Kept<'_, Vec<TokenRow>>;

    /// The token with this SHA-256.
    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenRow>>;

    /// Takes a token away; false: there is none of this name.
    fn revoke(&self, name: Arc<str>) -> Kept<'_, bool>;

    /// Whether the store can be written.
    fn is_writable(&self) -> Kept<'_, ()>;

    /// Keeps an answer: its row.
    fn add_answer(&self, answer: Answer) -> Kept<'_, RowId>;

    /// An answer has come to its end.
    fn end_answer(&self, row: RowId, mark: Mark, reply: String) -> Kept<'_, ()>;

    /// All answers to a history, the newest first.
    fn answers(&self, key: [u8; 32]) -> Kept<'_, Vec<KeptAnswer>>;

    /// The answer of a session that began at this mark; without one its last answer.
    fn answer(&self, session: Arc<str>, began: Option<Mark>) -> Kept<'_, Option<KeptAnswer>>;
}
