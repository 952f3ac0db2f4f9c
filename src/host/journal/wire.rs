//! The journal's own forms of what a session begins with: tools, program texts (its settings are
//! [`crate::settings`]). Versioned by [`super::record::FORMAT`]; nothing in `vm` is serialised itself (DESIGN.md,
//! invariant 9).

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse_lang::value::Value;
use playhouse_vm::protocol::Origin;
use playhouse_vm::protocol::{Approval, EffectClass, Finish, ParameterRule, ToolSignature};
use serde::{Deserialize, Deserializer, Serialize};
use strum::IntoEnumIterator as _;

/// One file of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWire {
    /// Its name as shown to people.
    pub name: Arc<str>,
    /// Its whole text.
    pub text: Arc<str>,
    /// Which file each path meant that the text imports: path as written to the file's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imports: BTreeMap<String, Arc<str>>,
}

/// [`ToolSignature`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolWire {
    /// The tool's name.
    pub name: Arc<str>,
    /// Its parameters in order.
    pub parameters: Vec<ParameterWire>,
    /// What it gives back (`str | None`).
    pub returns: TypeWire,
    /// One line.
    pub summary: Arc<str>,
    /// What it does to the world.
    #[serde(with = "EffectWire")]
    pub effect: EffectClass,
    /// Whether a person confirms its calls.
    #[serde(default, skip_serializing_if = "is_never", with = "ApprovalWire")]
    pub approval: Approval,
    /// What is demanded of single arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleWire>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<str>>,
    /// What a model is told of its plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// Whether an MCP server has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mcp: bool,
    /// Whether only skills have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_skills: bool,
}

/// [`Approval`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Approval")]
pub enum ApprovalWire {
    /// Nobody is asked.
    Never,
    /// Each call is confirmed that no skill has a permit for.
    Unpermitted,
    /// Each call is confirmed.
    Ask,
}

/// [`ParameterRule`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleWire {
    /// The parameter's name; empty: all arguments together.
    pub parameter: Arc<str>,
    /// Where its value may have come from, by the sources' names.
    pub accepts: Vec<String>,
    /// Whether it takes assets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_assets: bool,
}

/// [`Parameter`] as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterWire {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: TypeWire,
    /// Its default; absent: required. `null` is a default too.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub default: Option<Value>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub description: Arc<str>,
}

/// [`EffectClass`] as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "EffectClass")]
pub enum EffectWire {
    /// It changes nothing.
    ReadOnly,
    /// The same call with the same key has its effect once.
    Idempotent,
    /// Anything else.
    Write,
}

/// [`Type`] as programs write it: `int | None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TypeWire(pub Type);

impl From<TypeWire> for String {
    fn from(ty: TypeWire) -> String {
        ty.0.to_string()
    }
}

impl TryFrom<String> for TypeWire {
    type Error = String;

    fn try_from(text: String) -> Result<TypeWire, String> {
        let (kind, optional) = match text.strip_suffix("| None") {
            Some(kind) => (kind.trim_end(), true),
            None => (text.trim(), false),
        };
        let known = || TypeKind::iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(", ");
        let kind = kind.parse().map_err(|_| format!("unknown type `{text}`; known: {}", known()))?;
        Ok(TypeWire(Type { kind, optional }))
    }
}

impl ToolWire {
    /// The wire form of `tool`.
    pub fn from_tool(tool: &ToolSignature) -> ToolWire {
        let Signature { name, parameters, returns, summary } = &tool.signature;
        ToolWire {
            name: name.clone(),
            parameters: parameters
                .iter()
                .map(|parameter| ParameterWire {
                    name: parameter.name.clone(),
                    ty: TypeWire(parameter.ty),
                    default: parameter.default.clone(),
                    description: parameter.description.clone(),
                })
                .collect(),
            returns: TypeWire(*returns),
            summary: summary.clone(),
            effect: tool.effect,
            approval: tool.approval,
            rules: tool.rules.iter().map(RuleWire::from_rule).collect(),
            schema: tool.schema.clone(),
            about: tool.about.clone(),
            is_mcp: tool.is_mcp,
            is_for_skills: tool.is_for_skills,
        }
    }

    /// The tool's signature.
    pub fn to_tool(&self) -> ToolSignature {
        ToolSignature {
            signature: Signature {
                name: self.name.clone(),
                parameters: self
                    .parameters
                    .iter()
                    .map(|parameter| Parameter {
                        name: parameter.name.clone(),
                        ty: parameter.ty.0,
                        default: parameter.default.clone(),
                        description: parameter.description.clone(),
                        span: None,
                    })
                    .collect(),
                returns: self.returns.0,
                summary: self.summary.clone(),
            },
            effect: self.effect,
            approval: self.approval,
            rules: self.rules.iter().map(RuleWire::to_rule).collect(),
            schema: self.schema.clone(),
            about: self.about.clone(),
            is_mcp: self.is_mcp,
            is_for_skills: self.is_for_skills,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_never(approval: &Approval) -> bool {
    *approval == Approval::Never
}

impl RuleWire {
    fn from_rule(rule: &ParameterRule) -> RuleWire {
        let accepts = rule.accepts.names().map(str::to_owned).collect();
        RuleWire { parameter: rule.parameter.clone(), accepts, takes_assets: rule.takes_assets }
    }

    /// A source that is not known here is accepted from nowhere, so that nothing becomes looser.
    fn to_rule(&self) -> ParameterRule {
        let known = self.accepts.iter().filter_map(|name| Origin::named(name));
        let accepts = known.fold(Origin::default(), Origin::with);
        ParameterRule { parameter: self.parameter.clone(), accepts, takes_assets: self.takes_assets }
    }
}

/// Why a reply is complete, as it is written down.
pub(crate) fn finish_name(finish: &Finish) -> Arc<str> {
    match finish {
        Finish::Stop => "stop".into(),
        Finish::Length => "length".into(),
        Finish::Other(name) => name.clone(),
    }
}

/// The reverse of [`finish_name`].
pub(crate) fn finish_named(name: &Arc<str>) -> Finish {
    match &**name {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        _ => Finish::Other(name.clone()),
    }
}

/// Reads a member that is there: `null` is a value, not an absence.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A playbook or plan by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryWire {
    /// Its agent's name.
    pub agent: Arc<str>,
    /// Its own.
    pub playbook: Arc<str>,
    /// It is a plan's name, and the agent's is not needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_plan: bool,
}

/// The point of another session that this one goes on from: the records up to there are that one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The other session's id.
    pub session: Arc<str>,
    /// The last of its records before the fork.
    pub seq: u64,
    /// How often the machine had moved since.
    pub directive: u32,
}
