//! `playhouse serve`: sessions over HTTP, and a page (spec `serving.md`). It keeps no conversation of its own: all that it
//! knows of sessions is in [`crate::host::residents`].

pub mod access;
mod agui;
mod answers;
mod approvals;
mod body;
mod door;
mod events;
mod guard;
mod limits;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod messages;
mod metrics;
mod nodes;
mod openai;
mod openapi;
mod page;
mod past;
mod problem;
mod programs;
mod relay;
mod route;
mod routes;
mod server;
mod sessions;
pub(crate) mod wire;

pub use crate::serve::http::listen::serve_meanwhile;
pub use crate::serve::http::routes::as_markdown as routes_as_markdown;
pub use crate::serve::http::server::Server;
