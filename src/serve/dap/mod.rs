//! The Debug Adapter Protocol: a debugging session over any two streams of bytes.
//!
//! - [`framing`]: bytes to messages; `wire`: messages to types.
//! - [`accept`]: connections, one after the other.
//! - `server`: one connection: it reads, answers in order, and tells what happens meanwhile.
//! - `adapter`: what a connection knows: the program, its breakpoints, what the client has been shown.
//! - `sources`, `stack`, `variables`, `rows`, `breakpoints`: the program in the protocol's words.
//! - `relay`: a connection that is handed on to another process.
//!
//! Where programs come from is not known here ([`Door`]); the debugger itself is [`crate::host::debug`].

pub mod accept;
mod adapter;
mod breakpoints;
mod door;
pub mod framing;
mod lists;
mod outbox;
mod relay;
mod rows;
mod server;
mod sources;
mod stack;
mod variables;
mod wire;

pub use crate::serve::dap::door::{Door, Launched, Reached, Running, Subject};
pub use crate::serve::dap::server::serve;
pub use crate::serve::dap::wire::{AttachArguments, LaunchArguments, OneOrMore};
