//! Playhouse runs playbooks: Markdown procedures that a language model executes line by line, while an
//! interpreter owns the call stack, the instruction pointer, the variables and the queued calls.
//!
//! As a library it gives a program in Rust conversations with playbooks. This one runs as it stands, on the small model
//! inside (`cargo run --example conversation`):
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
//! - [`Playhouse`](prelude::Playhouse) says with what: a model, tools, where sessions are kept. What it does not say is as
//!   for `playhouse run`: the environment counts, and `playhouse.toml` beside the program.
//! - [`tool`](prelude::tool) makes a tool of a closure (`examples/embed/tool.rs`); [`host::tool::Tool`] is the trait.
//! - [`Playhouse::listen`](prelude::Playhouse::listen) hears every event (`examples/embed/events.rs`).
//! - [`host::launch`] and [`host::session`] stand below: any number of sessions, each with a handle that can be cloned,
//!   interrupted, resumed, debugged.
//!
//! Features: `cli` (the command line and the binary), `dap` (the debugger for editors), `lsp` (the language server for editors), `mcp`, `sqlite`, and `postgres`;
//! all but the last are on by default, and a library needs none of them.
//!
//! Modules in reading order; each may use those above it only (DESIGN.md, "Layers").

pub use playhouse_lang as lang;
pub use playhouse_lang::{diagnostic, span, value};

pub use playhouse_vm as vm;

pub mod host;

pub mod serve;

/// What a program needs that talks with playbooks: `use playhouse::prelude::*`.
pub mod prelude {
    pub use crate::host::embed::{Playhouse, Turn};
    pub use crate::host::events::{PublicBody, PublicEvent};
    pub use crate::host::tool::function::tool;
    pub use crate::lang::program::TypeKind;
    pub use crate::value::Map;
    pub use crate::vm::protocol::EffectClass;
}
