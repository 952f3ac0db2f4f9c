//! Which tools a program, an agent or a playbook may call.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::spelling::Spelling;

/// So many names are listed where no near one can be named.
const MAX_LISTED: usize = 12;

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
        let fits = |pattern: &Arc<str>| fits(pattern, name);
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

/// Whether a tool can have both names, each of which may end in `*`.
pub fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_suffix('*'), name.strip_suffix('*')) {
        (Some(beginning), None) => name.starts_with(beginning),
        (None, Some(beginning)) => pattern.starts_with(beginning),
        (Some(beginning), Some(other)) => beginning.starts_with(other) || other.starts_with(beginning),
        (None, None) => pattern == name,
    }
}

/// The tools there are, for rules that name them: lists, and what is decided about single tools.
pub struct ToolNames<'a> {
    names: BTreeSet<&'a str>,
    others: &'a [Arc<str>],
    spelling: Spelling,
}

impl<'a> ToolNames<'a> {
    /// `others` are there and cannot be called; one may end in `*`, where it is not known which they are.
    pub fn new(names: impl Iterator<Item = &'a str>, others: &'a [Arc<str>]) -> ToolNames<'a> {
        ToolNames { names: names.collect(), others, spelling: Spelling::default() }
    }

    /// Whether a rule for this name, or for all names with this beginning, holds for anything.
    pub fn has(&self, pattern: &str) -> bool {
        self.names.contains(pattern) || self.all().any(|name| fits(pattern, name))
    }

    /// Whether there is a plugin or server of which this could be a tool.
    pub fn has_owner(&self, pattern: &str) -> bool {
        pattern.split_once('.').is_some_and(|(owner, _)| self.owners().contains(owner))
    }

    /// The tool, or the plugin with `.*`, that a rule which holds for nothing was probably meant for.
    pub fn nearest(&self, pattern: &str) -> Option<String> {
        match pattern.strip_suffix(".*") {
            Some(owner) => {
                let near = self.spelling.nearest(owner, self.owners().into_iter());
                near.map(|owner| format!("{owner}.*"))
            }
            None => self.spelling.nearest(pattern, self.all()).map(str::to_owned),
        }
    }

    /// What is told of a rule that holds for nothing; which tools there are only where none is near.
    pub fn missing(&self, pattern: &str, near: Option<&str>) -> String {
        let has_owner = self.has_owner(pattern);
        let owner = pattern.split('.').next().filter(|_| has_owner);
        let is_of = |name: &&str| owner.is_none_or(|owner| name.split('.').next() == Some(owner));
        let mut names = self.all().filter(is_of).map(|name| format!("`{name}`"));
        let listed: Vec<String> = names.by_ref().take(MAX_LISTED).collect();
        let more = if names.next().is_some() { " and others" } else { "" };
        let known = if listed.is_empty() { String::new() } else { format!("; known are {}{more}", listed.join(", ")) };
        format!("there is no tool `{pattern}`{}", if near.is_some() { "" } else { &known })
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().copied().chain(self.others.iter().map(|name| &**name))
    }

    fn owners(&self) -> BTreeSet<&str> {
        self.all().filter_map(|name| Some(name.split_once('.')?.0)).collect()
    }
}
