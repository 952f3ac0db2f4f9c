//! The doors: what people and programs use to reach sessions and analyses. Nothing here touches a machine.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "dap")]
pub mod dap;
#[cfg(feature = "serve")]
pub mod http;
#[cfg(feature = "lsp")]
pub mod lsp;
#[cfg(all(feature = "mcp", feature = "serve"))]
pub mod mcp;
#[cfg(feature = "cli")]
pub mod report;

#[cfg(any(feature = "cli", feature = "dap", feature = "lsp", feature = "serve"))]
#[cfg_attr(
    not(all(feature = "cli", feature = "dap", feature = "lsp", feature = "serve")),
    allow(dead_code, reason = "each of the doors uses a part; what nobody uses shows where all are there")
)]
pub mod show;
