//! Agent Skills: where they are found, by whom they are trusted, what stands in their folders (spec `skills.md`).

pub mod commands;
pub mod export;
pub mod find;
#[cfg(feature = "cli")]
pub mod folder;
pub mod known;
pub mod options;
pub mod trust;
