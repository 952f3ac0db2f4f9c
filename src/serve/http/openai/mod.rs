//! OpenAI's interface: each program is a model, each conversation a session (spec `serving.md`, section 8). A client that
//! sends the whole conversation with each message is found by what its user has said; what it says about the model,
//! prompts and tools has no effect, as no client rewrites the program.

pub(super) mod chat;

pub(super) mod models;

pub(super) mod responses;

pub(super) mod wire;

mod history;

pub(super) mod id;

mod tasks;

mod request;
