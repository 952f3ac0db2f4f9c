//! Rules for tools with one of them left out: a question to a person, where a value may come from, a tool that is
//! denied.

use std::sync::Arc;

use playhouse_lang::value::{Map, Value};

use crate::component::Approval;
use crate::keys::{read, texts_of};

/// What `tools` can become by one denial that is left out, each with its name: `tools Delete deny drop`.
pub(super) fn without_denial(tools: &Value) -> Vec<(String, Value)> {
    let Some((rules, denied)) = tools.as_map().and_then(|rules| Some((rules, texts_of(rules.get("deny")?)?))) else {
        return Vec::new();
    };
    let without = |tool: &String| {
        let others = denied.iter().filter(|other| *other != tool).map(|other| Value::str(other.as_str()));
        (format!("tools {tool} deny drop"), replaced(rules, "deny", Value::list(others.collect())))
    };
    denied.iter().map(without).collect()
}

/// The same by one rule for a tool: `tools SendMail approval drop`, `tools SendMail accepts to drop`.
pub(super) fn without_policy(tools: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (tool, rule) in tools.as_map().into_iter().flatten() {
        let Some(policy) = rule.as_map() else { continue };
        let mut add = |what: &str, policy| {
            let rules = tools.as_map().map(|rules| replaced(rules, tool, policy));
            all.extend(rules.map(|rules| (format!("tools {tool} {what} drop"), rules)));
        };
        let approval = policy.get("approval").and_then(|approval| read::<Approval>(approval).ok());
        if approval.is_some_and(|approval| approval != Approval::Never) {
            add("approval", left_out(policy, "approval"));
        }
        if let Some(accepts) = policy.get("accepts").and_then(Value::as_map) {
            for parameter in accepts.keys() {
                add(&format!("accepts {parameter}"), replaced(policy, "accepts", left_out(accepts, parameter)));
            }
        }
    }
    all
}

fn replaced(members: &Map, name: &str, value: Value) -> Value {
    let mut changed = members.clone();
    changed.insert(name.into(), value);
    Value::map(changed)
}

fn left_out(members: &Map, name: &str) -> Value {
    let others = members.iter().filter(|(other, _)| ***other != *name);
    Value::map(others.map(|(name, value)| (Arc::clone(name), value.clone())).collect())
}
