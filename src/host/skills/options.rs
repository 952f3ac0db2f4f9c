//! What an operator decides of skills: the section `[skills]` of playhouse.toml (spec `skills.md`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::host::classify::shortlist::BUDGET;

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
    /// How it runs; none: as its text has procedures.
    pub mode: Option<SkillMode>,
    /// Whether its lines must be done, as a playbook's are.
    pub strict: bool,
    /// Whether its commands may use the network.
    pub network: bool,
}

/// How a skill runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillMode {
    /// Line by line, all procedures one after the other.
    Steps,
    /// The model chooses what of it is to be done.
    Goal,
}

impl Default for SkillsOptions {
    fn default() -> SkillsOptions {
        SkillsOptions { discover: false, budget: BUDGET, sandbox: SandboxKind::System, skills: BTreeMap::new() }
    }
}
