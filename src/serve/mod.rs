//! The doors: what people and programs use to reach sessions and analyses. Nothing here touches a machine.

pub mod cli;

pub mod dap;

pub mod show;
