//! Tools, resources and prompts of MCP servers (Model Context Protocol). Client only; both generations of the protocol:
//! that of 2026-07-28 (`server/discover`) and the older one (`initialize`).
//!
//! What a server says is data: its descriptions, results, questions and errors are shown and handed on, never carried
//! out. Sampling and roots are not offered to servers, and declined.

mod catalogue;
mod client;
mod connection;
mod content;
mod error;
mod flight;
mod flights;
mod form;
mod helpers;
mod options;
mod process;
mod schema;
mod server;
mod talk;
mod text;
mod tool;
mod transport;

pub use crate::tool::mcp::error::{McpError, McpFault};
pub use crate::tool::mcp::options::{Dial, Generation, Incoming, McpOptions, Outgoing, Transport};
pub use crate::tool::mcp::server::McpServer;
