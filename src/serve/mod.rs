//! The doors: what people and programs use to reach sessions and analyses. Nothing here touches a machine.

#[cfg(feature = "cli")]
pub mod cli;

#[cfg(feature = "dap")]
pub mod dap;

#[cfg(any(feature = "cli", feature = "dap"))]
#[cfg_attr(
    not(all(feature = "cli", feature = "dap")),
    allow(dead_code, reason = "each of the two doors uses a part; what nobody uses shows where both are there")
)]
pub mod show;
