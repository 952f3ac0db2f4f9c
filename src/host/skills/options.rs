//! What an operator decides of skills: the section `[skills]` of playhouse.toml (spec `skills.md`).

use std::collections::BTreeMap;

use serde::Deserialize;

/// `[skills]`. Each table below it is that of the skill of this name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SkillsOptions {
    /// Whether the folders are searched in which other programs keep skills.
    pub discover: bool,
    /// So many characters of descriptions are shown to a classifier; of more, those that seem to fit.
    pub budget: usize,
    /// What commands of skills run in.
    pub sandbox: SandboxKind,
    /// `[skills.NAME]`, by the skills' names as they are written.
    #[serde(flatten)]
    pub skills: BTreeMap<String, SkillOptions>,
}

/// What commands run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxKind {
    /// What the system has: Landlock and seccomp on Linux, `sandbox-exec` on macOS.
    #[default]
    System,
    /// bubblewrap.
    Bwrap,
    /// Nothing: every command asks, whatever a skill may do.
    None,
}

/// `[skills.NAME]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SkillOptions {
    /// Whether its commands may use the network.
    pub network: bool,
}

impl Default for SkillsOptions {
    fn default() -> SkillsOptions {
        SkillsOptions { discover: false, budget: 8_000, sandbox: SandboxKind::System, skills: BTreeMap::new() }
    }
}
