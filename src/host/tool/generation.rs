//! Generations of the Model Context Protocol: what a declaration names, also where the protocol is not built in.

use serde::Deserialize;

/// Which generation of the protocol a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// The newer one, and the older if the server does not know it.
    #[default]
    Auto,
    /// `initialize`, as servers knew it until 2025.
    Initialize,
    /// `server/discover`, since 2026-07-28.
    Discover,
}
