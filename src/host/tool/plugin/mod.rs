//! Plugins: folders with a `.config/config.yaml`, whose commands programs call as `plugin.command` (source 004; spec
//! `components.md`).
//!
//! [`Plugin::open`] reads the folder and makes one tool per command. What performs the commands is a [`Component`]:
//! `setup.package` names its maker in [`Packages`], which an embedding program can add to.

mod command;

mod component;

mod copied;

mod folder;

mod packages;

pub mod process;

pub use crate::tool::plugin::component::{Component, ComponentError, Performing};
pub use crate::tool::plugin::folder::{Plugin, PluginError, PluginOptions, identifier};
pub use crate::tool::plugin::packages::{Make, PROCESS, Packages, Parts, Surroundings};
