//! Which tools a program, an agent or a playbook may call.

use std::sync::Arc;

/// Which tools may be called: `tools: [LoadFile, "mail.*"]`, or `tools: {allow: […], deny: […]}`, in front matter and
/// in the metadata of agents and playbooks. A name may end in `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolList {
    /// Only these; none: all.
    pub allow: Option<Vec<Arc<str>>>,
    /// Not these, even if they are allowed.
    pub deny: Vec<Arc<str>>,
}

impl ToolList {
    /// Whether the tool of this name may be called.
    pub fn permits(&self, name: &str) -> bool {
        let fits = |pattern: &Arc<str>| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => **pattern == *name,
        };
        self.allow.as_ref().is_none_or(|allow| allow.iter().any(fits)) && !self.deny.iter().any(fits)
    }

    /// What both lists permit, for patterns of one program: `deny` together, and of two `allow` the names of either
    /// that the other permits.
    pub fn restrict(&mut self, other: ToolList) {
        self.allow = match (self.allow.take(), other.allow) {
            (Some(ours), Some(theirs)) => {
                let permits = |list: &Vec<Arc<str>>, name: &Arc<str>| {
                    ToolList { allow: Some(list.clone()), deny: Vec::new() }.permits(name)
                };
                let of_ours = ours.iter().filter(|name| permits(&theirs, name));
                let of_theirs = theirs.iter().filter(|name| permits(&ours, name) && !ours.contains(name));
                Some(of_ours.chain(of_theirs).cloned().collect())
            }
            (ours, theirs) => ours.or(theirs),
        };
        self.deny.extend(other.deny);
    }
}
