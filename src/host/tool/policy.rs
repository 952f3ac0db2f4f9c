//! What people decide about tools beside the tools themselves: `[tools]` of `playhouse.toml` and `tools:` of front
//! matter. Approval, time-outs, retries, how many calls at a time, where values may come from.

use std::sync::Arc;
use std::time::Duration;

use crate::lang::program::{ToolList, fits};
use crate::vm::protocol::Origin;
use crate::vm::protocol::{Approval, EffectClass, ParameterRule, ToolSignature};

/// Which calls a person confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalPolicy {
    /// None.
    Never,
    /// Those of tools that change something.
    Writes,
    /// All.
    Ask,
}

/// What is decided about tools of one name, or of all names with one beginning. What is not set is as the tool says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolPolicy {
    /// Which calls a person confirms.
    pub approval: Option<ApprovalPolicy>,
    /// How long a call may take, with all its attempts.
    pub timeout: Option<Duration>,
    /// How often a call that could not be made is made again; never one of a tool that writes. Default 2.
    pub retries: Option<u32>,
    /// How many calls may run at a time.
    pub concurrency: Option<usize>,
    /// What it does to the world.
    pub effect: Option<EffectClass>,
    /// Where the values of parameters may come from.
    pub accepts: Vec<(Arc<str>, Origin)>,
}

/// All that is decided about tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// Which tools there are at all. (What a program's front matter says of this holds in the machine, and is not
    /// among it.)
    pub list: ToolList,
    /// By name, or by beginning with `*`; each list is one source, and each may make things stricter.
    pub sources: Vec<Vec<(Arc<str>, ToolPolicy)>>,
}

impl Policies {
    /// What is decided about the tool of this name. In one source the longest beginning that says something counts; of
    /// several sources the strictest.
    pub fn of(&self, name: &str) -> ToolPolicy {
        let mut all = ToolPolicy::default();
        for source in &self.sources {
            let one = of_source(source, name);
            all.approval = all.approval.max(one.approval);
            all.timeout = shorter(all.timeout, one.timeout);
            all.retries = shorter(all.retries, one.retries);
            all.concurrency = shorter(all.concurrency, one.concurrency);
            all.effect = all.effect.or(one.effect);
            for (parameter, origin) in one.accepts {
                match all.accepts.iter_mut().find(|(known, _)| *known == parameter) {
                    Some((_, accepted)) => *accepted = accepted.and(origin),
                    None => all.accepts.push((parameter, origin)),
                }
            }
        }
        all
    }

    /// The signature of a tool as it counts for programs.
    pub fn apply(&self, signature: &mut ToolSignature) {
        let policy = self.of(&signature.signature.name);
        signature.effect = policy.effect.unwrap_or(signature.effect);
        let is_reading = signature.effect == EffectClass::ReadOnly;
        match policy.approval {
            Some(ApprovalPolicy::Ask) => signature.approval = Approval::Ask,
            Some(ApprovalPolicy::Writes) if !is_reading => signature.approval = Approval::Ask,
            Some(ApprovalPolicy::Never) => signature.approval = Approval::Never,
            Some(ApprovalPolicy::Writes) | None => {}
        }
        for (parameter, accepts) in policy.accepts {
            match signature.rules.iter_mut().find(|rule| rule.parameter == parameter) {
                Some(rule) => rule.accepts = rule.accepts.and(accepts),
                None => signature.rules.push(ParameterRule { parameter, accepts, takes_assets: false }),
            }
        }
    }
}

/// The smaller of two bounds.
fn shorter<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn of_source(source: &[(Arc<str>, ToolPolicy)], name: &str) -> ToolPolicy {
    let mut found: Vec<&(Arc<str>, ToolPolicy)> = source.iter().filter(|(pattern, _)| fits(pattern, name)).collect();
    // The exact name first, then the longest beginning; of two that are the same the later one.
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
