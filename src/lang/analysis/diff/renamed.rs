//! Whether two programs are one program in which something is called otherwise.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use super::same::SetAside;
use crate::program::{Body, Playbook, Program, Step, Trigger};
use crate::span::Span;

/// What stands in the place of both names while they are compared: it stands in no text.
const EITHER: &str = "\u{0}";

/// Two names of one thing: as it was, and as it is; also as words, where a line or title has it so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    /// Both names, the longer ones first.
    names: Vec<Arc<str>>,
}

impl Renamed {
    /// One that is called by these, before or after.
    pub fn new(names: impl IntoIterator<Item = Arc<str>>) -> Renamed {
        let mut names: Vec<Arc<str>> = names.into_iter().filter(|name| !name.is_empty()).collect();
        names.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        names.dedup();
        Renamed { names }
    }

    /// Whether `new` is `old`, but for this name and for places (spec `editors.md`, section 4, "Rename").
    ///
    /// # Errors
    /// The place in `new` of the first part that reads differently.
    pub fn is_all_that_differs(&self, old: &Program, new: &Program) -> Result<(), Span> {
        SetAside::is_all_that_differs(self, old, new).map_err(|(_, new)| new)
    }

    /// How something that has the name in it is written out without it, and without places.
    pub fn without_names(&self, named: &dyn Debug) -> String {
        self.written(format!("{named:-?}"))
    }

    /// Names come in their order, which is another one now.
    fn sorted(&self, names: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut sorted: Vec<Arc<str>> = names.iter().map(|name| self.either(name)).collect();
        sorted.sort();
        sorted
    }

    fn either(&self, name: &Arc<str>) -> Arc<str> {
        if self.names.contains(name) { EITHER.into() } else { name.clone() }
    }
}

impl SetAside for Renamed {
    fn line<'a>(&self, line: &'a Step) -> Cow<'a, Step> {
        Cow::Owned(Step { reads: self.sorted(&line.reads), writes: self.sorted(&line.writes), ..line.clone() })
    }

    fn trigger<'a>(&self, trigger: &'a Trigger) -> Cow<'a, Trigger> {
        Cow::Owned(Trigger { names: self.sorted(&trigger.names), ..trigger.clone() })
    }

    fn playbook(&self, playbook: &Playbook) -> Playbook {
        let names = |names: &std::collections::BTreeSet<Arc<str>>| names.iter().map(|name| self.either(name)).collect();
        let of_name = |(name, ty): (&Arc<str>, &_)| (self.either(name), Clone::clone(ty));
        Playbook {
            body: Body { steps: Vec::new(), flow: playbook.flow.clone() },
            triggers: Vec::new(),
            own: names(&playbook.own),
            outer: names(&playbook.outer),
            types: playbook.types.iter().map(of_name).collect(),
            choices: playbook.choices.iter().map(|(name, values)| (self.either(name), values.clone())).collect(),
            ..playbook.clone()
        }
    }

    fn written(&self, written: String) -> String {
        self.names.iter().fold(written, |written, name| replace_words(&written, name, EITHER))
    }
}

/// Puts `new` in the place of `old` wherever that stands as a whole word, or as whole words.
fn replace_words(text: &str, old: &str, new: &str) -> String {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    let (mut replaced, mut from) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(old) {
        let end = at + old.len();
        if at < from || text[..at].ends_with(is_inner) || text[end..].starts_with(is_inner) {
            continue;
        }
        replaced.push_str(&text[from..at]);
        replaced.push_str(new);
        from = end;
    }
    replaced.push_str(&text[from..]);
    replaced
}
