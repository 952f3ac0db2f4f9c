//! What people are told of tools.

use crate::vm::protocol::{Approval, Origin, ToolSignature};

/// What stands between a call of a tool and what it does, for people.
pub(crate) fn about_tool(tool: &ToolSignature) -> Vec<String> {
    let asks = (tool.approval != Approval::Never).then(|| "a person is asked".to_owned());
    let rules = tool.rules.iter().filter(|rule| rule.accepts != Origin::ALL && !rule.parameter.is_empty());
    let sources = |accepts: Origin| accepts.names().collect::<Vec<_>>().join(", ");
    asks.into_iter()
        .chain(rules.map(|rule| format!("`{}` only from {}", rule.parameter, sources(rule.accepts))))
        .collect()
}
