//! Programs as tools of other people's agents: MCP on standard input and output and at `/mcp` (spec `serving.md`, section
//! 9). A call is a session; what its program asks a person goes to whoever sits at the client.

mod ask;
mod follow;
mod result;
pub(crate) mod server;
pub mod stdio;
mod tools;
