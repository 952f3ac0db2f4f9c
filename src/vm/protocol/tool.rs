//! Tools as the machine knows them: data, fixed when a session begins.

use std::sync::Arc;

use playhouse_lang::program::Signature;

use crate::protocol::tracked::Origin;

/// What a tool does to the world (spec `architecture.md`, "After a crash"). The more dangerous is the greater.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum EffectClass {
    /// It changes nothing: may be called again, and needs no sync of the journal first.
    ReadOnly,
    /// The same call with the same key has its effect once: may be started again.
    Idempotent,
    /// Anything else: never started again after a crash.
    #[default]
    Write,
}

/// Whether a person confirms calls of a tool before they are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Approval {
    /// Nobody is asked.
    #[default]
    Never,
    /// Each call is confirmed that no skill has a permit for (spec `skills.md`, "Security").
    Unpermitted,
    /// Each call is confirmed.
    Ask,
}

/// A tool as the machine knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSignature {
    /// Name, parameters, return type, summary.
    pub signature: Signature,
    /// What it does to the world.
    pub effect: EffectClass,
    /// Whether a person confirms its calls.
    pub approval: Approval,
    /// What is demanded of single arguments; of those that are not named, nothing.
    pub rules: Vec<ParameterRule>,
    /// The JSON Schema of its arguments, as text for models, where it is more than the signature says. A tool with one
    /// checks its arguments itself, all together and with their paths; the machine hands them on as they are.
    pub schema: Option<Arc<str>>,
    /// What a model is told of all tools of the same plugin, together.
    pub about: Option<Arc<str>>,
    /// Whether an MCP server has it: who watches is told so.
    pub is_mcp: bool,
    /// Whether it is there because there are skills, which expect it: other agents have no part in it.
    pub is_for_skills: bool,
}

/// What a tool demands of one of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterRule {
    /// The parameter's name; empty: all arguments together, where one asset is given for them.
    pub parameter: Arc<str>,
    /// Where its value may have come from (spec `execution.md`, "Where values come from").
    pub accepts: Origin,
    /// Whether `asset://name/path` is accepted in place of a value, and is that variable's value (source 004,
    /// `asset_ref_acceptable`).
    pub takes_assets: bool,
}

impl ToolSignature {
    /// A tool of which nothing else is known.
    pub fn new(signature: Signature, effect: EffectClass) -> ToolSignature {
        ToolSignature {
            signature,
            effect,
            approval: Approval::Never,
            rules: Vec::new(),
            schema: None,
            about: None,
            is_mcp: false,
            is_for_skills: false,
        }
    }

    /// The tool of this name.
    pub fn find<'t>(tools: &'t [ToolSignature], name: &str) -> Option<&'t ToolSignature> {
        tools.iter().find(|tool| &*tool.signature.name == name)
    }

    /// What is demanded of the argument of this name.
    pub fn rule(&self, parameter: &str) -> Option<&ParameterRule> {
        self.rules.iter().find(|rule| &*rule.parameter == parameter)
    }
}
