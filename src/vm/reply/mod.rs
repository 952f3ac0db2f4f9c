//! The turn protocol's reader: the bytes of a model's reply in, [`Reading`]s out, while the reply arrives.
//!
//! Tolerant in framing, strict in meaning (spec `turn-protocol.md`, "Reading it"). Where the bytes are cut
//! into pieces never changes what is read, and the work is linear in the length of the reply: every byte is
//! looked at once by the framing (`outside.rs`) or by the JSON scanner (`scan.rs`); when an object closes, the
//! values in it (but for a streamed `say`) are read a second time, by serde_json (`line.rs`).

mod fault;
mod key;
mod line;
mod outside;
mod reader;
mod scan;
mod schema;
mod speech;
mod think;
mod token;
mod types;
mod value;
mod window;

pub use reader::ReplyReader;
pub use schema::agent_schema;
pub use types::{Action, CallArguments, ReadEnd, ReadFault, ReadFaultKind, ReaderOptions, Reading, TraceLine, WaitFor};
