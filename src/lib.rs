//! Playhouse runs playbooks: Markdown procedures that a language model carries out line by line, while an interpreter
//! keeps the call stack, the current line, the variables and the calls.
//!
//! With this library a Rust program holds conversations with playbooks. This one runs as it is, on the embedded model
//! (`cargo run --example conversation`):
//!
//! ```text
//! use std::error::Error;
//! use std::io::stdin;
//!
//! use playhouse::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn Error>> {
//!     let mut lines = stdin().lines();
//!     let playhouse = Playhouse::new().model("embedded");
//!     let mut chat = playhouse.load("examples/greeting.md").await?.start().await?;
//!     while let Some(turn) = chat.next().await? {
//!         match turn {
//!             Turn::Said(text) => println!("{text}"),
//!             Turn::Asks => match lines.next() {
//!                 Some(line) => chat.say(line?).await?,
//!                 None => break,
//!             },
//!             Turn::Approval(question) => {
//!                 println!("{} (y/n)", question.text);
//!                 let is_yes = matches!(lines.next(), Some(Ok(line)) if line == "y");
//!                 chat.answer(question, is_yes).await?;
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! - [`Playhouse`](prelude::Playhouse) sets the model, the tools, and where sessions are stored. Anything that you do not
//!   set is as for `playhouse run`: it comes from the environment and from the `playhouse.toml` beside the program.
//! - [`tool`](prelude::tool) makes a tool from a closure (`examples/embed/tool.rs`); [`host::tool::Tool`] is the trait.
//! - [`Playhouse::listen`](prelude::Playhouse::listen) passes every event to a closure (`examples/embed/events.rs`).
//! - [`host::launch`] and [`host::session`] are the level below: any number of sessions, each with a handle that you can
//!   clone, and with which you can interrupt, resume and debug the session.
//!
//! Features: `cli` (the command line and the binary), `dap` (the debugger for editors), `lsp` (the language server for
//! editors), `mcp` (MCP servers and clients), `otel` (traces), `serve` (the HTTP server), `sqlite`, `postgres` and
//! `restate` (sessions on many machines). All but the last two are on by default; a library needs none of them.
//!
//! The modules are in reading order; each uses only those above it (DESIGN.md, "Layers").

pub use playhouse_lang as lang;
pub use playhouse_lang::{diagnostic, span, value};

pub use playhouse_vm as vm;

pub use playhouse_host as host;

pub mod serve;

/// Everything that a program needs to talk with playbooks: `use playhouse::prelude::*`.
pub mod prelude {
    pub use crate::host::embed::{Playhouse, Turn};
    pub use crate::host::events::{PublicBody, PublicEvent};
    pub use crate::host::tool::function::tool;
    pub use crate::lang::program::TypeKind;
    pub use crate::value::Map;
    pub use crate::vm::protocol::EffectClass;
}
