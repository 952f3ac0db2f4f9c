//! OpenAI's interface: each program is a model, each conversation a session (spec `serving.md`, section 8). A client that
//! sends the whole conversation with each message is found by what its user has said; what it says about the model,
//! prompts and tools has no effect, as no client rewrites the program.

pub(super) mod chat;
mod history;
pub(super) mod id;
pub(super) mod models;
mod request;
pub(super) mod responses;
mod tasks;
pub(super) mod wire;
