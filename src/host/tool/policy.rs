//! What people decide about tools beside the tools themselves: `[tools]` of `playhouse.toml` and `tools:` of front
//! matter. Approval, time-outs, retries, how many calls at a time, where values may come from.

use std::sync::Arc;
use std::time::Duration;

use playhouse_lang::program::{ToolList, fits};
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::Origin;
use playhouse_vm::protocol::{Approval, EffectClass, ParameterRule, ToolSignature};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

pub use crate::component::Approval as ApprovalPolicy;
use crate::keys::{count, of_kind, seconds, texts_of};

/// What is decided about tools of one name, or of all names with one beginning. What is not set is as the tool says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a map, as in `NAME: {approval: ask}`")]
pub struct ToolPolicy {
    /// Which calls a person confirms.
    pub approval: Option<ApprovalPolicy>,
    /// How long a call may take, with all its attempts.
    #[serde(deserialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// How often a call that could not be made is made again; never one of a tool that writes. Default 2.
    pub retries: Option<u32>,
    /// How many calls may run at a time.
    #[serde(deserialize_with = "count")]
    pub concurrency: Option<usize>,
    /// What it does to the world.
    #[serde(deserialize_with = "effect")]
    pub effect: Option<EffectClass>,
    /// Where the values of parameters may come from.
    #[serde(deserialize_with = "accepts")]
    pub accepts: Vec<(Arc<str>, Origin)>,
}

/// What one of the two sources says: by the name of a tool, or by a beginning with `*`. Of one source the closest name
/// counts that says something.
pub type Rules = Vec<(Arc<str>, ToolPolicy)>;

/// The word of the person who configures. It is the last one about a tool: it also lowers what the tool says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operator(pub Rules);

/// The word of a program's text. It makes things stricter, and never lowers anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program(pub Rules);

/// All that is decided about tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// Which tools there are at all. (What a program's front matter says of this holds in the machine, and is not
    /// among it.)
    pub list: ToolList,
    /// What `playhouse.toml` says.
    pub operator: Operator,
    /// What front matter says.
    pub program: Program,
}

/// What both sources say about one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ruling {
    operator: ToolPolicy,
    program: ToolPolicy,
}

impl Policies {
    /// What is decided about the tool of this name.
    pub fn of(&self, name: &str) -> Ruling {
        Ruling { operator: closest(&self.operator.0, name), program: closest(&self.program.0, name) }
    }
}

impl Ruling {
    /// The signature of a tool as it counts for programs, made of what the tool says of itself.
    pub fn apply(&self, signature: &mut ToolSignature) {
        let Ruling { operator, program } = self;
        // The operator's word stands in the place of the tool's own; the program's stands beside what came of that.
        let effect = operator.effect.unwrap_or(signature.effect);
        signature.effect = program.effect.map_or(effect, |wanted| wanted.max(effect));
        let effect = signature.effect;
        if operator.approval == Some(ApprovalPolicy::Never) {
            signature.approval = Approval::Never;
        }
        if [operator.approval, program.approval].into_iter().flatten().any(|policy| policy.asks(effect)) {
            signature.approval = Approval::Ask;
        }
        for (parameter, accepts) in operator.accepts.iter().chain(&program.accepts) {
            match signature.rules.iter_mut().find(|rule| rule.parameter == *parameter) {
                Some(rule) => rule.accepts = rule.accepts.and(*accepts),
                None => signature.rules.push(ParameterRule {
                    parameter: parameter.clone(),
                    accepts: *accepts,
                    takes_assets: false,
                }),
            }
        }
    }

    /// How long a call may take, with all its attempts.
    pub fn timeout(&self) -> Option<Duration> {
        smaller(self.operator.timeout, self.program.timeout)
    }

    /// How often a call that could not be made is made again.
    pub fn retries(&self) -> Option<u32> {
        smaller(self.operator.retries, self.program.retries)
    }

    /// How many calls may run at a time.
    pub fn concurrency(&self) -> Option<usize> {
        smaller(self.operator.concurrency, self.program.concurrency)
    }

    /// What the program says and what has no effect, because it would lower something; as it is written.
    pub fn without_effect(&self, applied: &ToolSignature) -> Vec<String> {
        let lowers = self.program.effect.filter(|effect| *effect < applied.effect);
        let effect = lowers.map(|effect| format!("effect: {}", <&str>::from(effect)));
        let is_asked = applied.approval == Approval::Ask;
        let never =
            (is_asked && self.program.approval == Some(ApprovalPolicy::Never)).then(|| "approval: never".to_owned());
        effect.into_iter().chain(never).collect()
    }
}

/// The smaller of two bounds.
fn smaller<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn closest(rules: &Rules, name: &str) -> ToolPolicy {
    let mut found: Vec<&(Arc<str>, ToolPolicy)> = rules.iter().filter(|(pattern, _)| fits(pattern, name)).collect();
    // The exact name first, then the longest beginning; of two that are the same the earlier one.
    found.sort_by_key(|(pattern, _)| std::cmp::Reverse((!pattern.ends_with('*'), pattern.len())));
    let mut policy = ToolPolicy::default();
    for (_, one) in found {
        policy.approval = policy.approval.or(one.approval);
        policy.timeout = policy.timeout.or(one.timeout);
        policy.retries = policy.retries.or(one.retries);
        policy.concurrency = policy.concurrency.or(one.concurrency);
        policy.effect = policy.effect.or(one.effect);
        for (parameter, origin) in &one.accepts {
            if !policy.accepts.iter().any(|(known, _)| known == parameter) {
                policy.accepts.push((parameter.clone(), *origin));
            }
        }
    }
    policy
}

fn effect<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<EffectClass>, D::Error> {
    of_kind(deserializer, "\"read_only\", \"idempotent\" or \"write\"", |value| value.as_str()?.parse().ok().map(Some))
}

fn accepts<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<(Arc<str>, Origin)>, D::Error> {
    let named = |(parameter, sources)| Ok((Arc::clone(parameter), origin_of(parameter, sources)?));
    Map::deserialize(deserializer)?.iter().map(named).collect::<Result<_, String>>().map_err(D::Error::custom)
}

/// The sources that a list names: `[user, code]`.
fn origin_of(parameter: &str, value: &Value) -> Result<Origin, String> {
    let names = texts_of(value).ok_or_else(|| format!("`{parameter}` must be a list of texts"))?;
    if names.is_empty() {
        return Err(format!("`{parameter}` accepts values from nowhere; name user, code, argument, model or tool"));
    }
    names.iter().try_fold(Origin::default(), |all, name| {
        let origin = Origin::named(name);
        let wrong =
            || format!("`{name}` is not a source of values; the sources are user, code, argument, model and tool");
        Ok(all.with(origin.ok_or_else(wrong)?))
    })
}
