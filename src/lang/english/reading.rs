//! What a reading depends on, and what it gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::english::callables::Names;
use crate::english::phrase::Phrase;
use crate::program::{AgentId, CallSite, StepKind, Type, TypeKind};
use crate::span::Span;

/// Where a line stands, as far as its reading depends on it.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// What can be called.
    pub(crate) names: &'a Names<'a>,
    /// From where.
    pub(crate) agent: AgentId,
    /// Whether items are nested under it.
    pub(crate) has_children: bool,
    /// Their text.
    pub(crate) nested: Phrase<'a>,
    /// Whether no line stands below it on its level, so that it may become two and no other gets another id.
    pub(crate) is_last: bool,
    /// What the text of its playbook says of variables.
    pub(crate) held: &'a Held,
    /// What a round of the innermost loop around it is called: `rider`.
    pub(crate) rounds: &'a [String],
}

/// What variables of a playbook hold, as far as the text says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Held {
    /// Those that hold lists.
    pub(crate) lists: BTreeSet<Arc<str>>,
    /// Those that hold `true` or `false`.
    pub(crate) truths: BTreeSet<Arc<str>>,
}

impl Held {
    /// With what the types of `declared` say.
    pub(crate) fn with_types<'a>(mut self, declared: impl Iterator<Item = (&'a Arc<str>, Type)>) -> Held {
        for (name, ty) in declared {
            if ty.kind == TypeKind::List {
                self.lists.insert(name.clone());
            } else if ty.kind == TypeKind::Bool {
                self.truths.insert(name.clone());
            }
        }
        self
    }

    /// With what `lines` say: lists are given to some variables, added to, or gone through.
    pub(crate) fn with_lines<'a>(mut self, lines: impl Iterator<Item = Phrase<'a>>) -> Held {
        for line in lines {
            let adds = line.strip_any(&["append", "attach", "push"]).is_some();
            let repeats = line.strip_any(&["for", "foreach"]).is_some();
            for mention in line.mentions().into_iter().filter(|mention| !mention.is_path) {
                let (start, end) = (mention.span.start as usize, mention.span.end as usize);
                let before = line.until(start - line.start()).trim();
                let given = line.from(end - line.start()).trim();
                let given = given.from(given.text.len() - given.text.trim_start_matches([':', '=', '←', ' ']).len());
                let given = given.strip_any(&["to", "be", "is", "at"]).unwrap_or(given).trim_end_marks();
                let has_type = |kind| mention.ty.is_some_and(|ty| ty.kind == kind);
                let is_list = given.text.starts_with('[')
                    || given.strip_any(&["an empty list", "empty list", "the empty list"]).is_some()
                    || before.strip_end("list").is_some()
                    || (adds && before.strip_end("to").is_some())
                    || (repeats && before.strip_end("in").is_some())
                    || has_type(TypeKind::List);
                if is_list {
                    self.lists.insert(mention.name.into());
                } else if given.is("true") || given.is("false") || has_type(TypeKind::Bool) {
                    self.truths.insert(mention.name.into());
                }
            }
        }
        self
    }
}

/// Nothing is said of any variable.
pub(crate) static NOTHING_HELD: Held = Held { lists: BTreeSet::new(), truths: BTreeSet::new() };

impl<'a> Surroundings<'a> {
    /// Those of a line of `agent` that stands by itself.
    pub(crate) fn new(names: &'a Names<'a>, agent: AgentId) -> Self {
        let nested = Phrase::at("", Span::default());
        Surroundings { names, agent, has_children: false, nested, is_last: true, held: &NOTHING_HELD, rounds: &[] }
    }
}

/// What a line was read as.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) kind: StepKind,
    pub(crate) explicit: bool,
    /// What it was probably meant to be, where it was not understood.
    pub(crate) near: Option<Box<Near>>,
}

/// What a text was probably meant to be.
#[derive(Debug)]
pub(crate) struct Near {
    /// Where it goes on otherwise than was expected.
    pub(crate) place: Span,
    /// What was expected there.
    pub(crate) message: String,
    /// A line that is read as what was meant.
    pub(crate) wording: String,
    /// What stands at the place, and what would stand there in that line, if the rest of it stays.
    pub(crate) repair: Option<(String, String)>,
}

impl Reading {
    pub(crate) fn new(kind: StepKind, explicit: bool) -> Self {
        Reading { kind, explicit, near: None }
    }

    pub(crate) fn free() -> Self {
        Reading::new(StepKind::Free, false)
    }

    /// A call, which is exact if its arguments are known.
    pub(crate) fn call(call: CallSite) -> Self {
        let explicit = call.arguments.is_some();
        Reading::new(StepKind::Call(call), explicit)
    }
}

/// What an item of a list was read as: one line, or a branch and what it does on its own line.
#[derive(Debug)]
pub(crate) struct ItemReading<'a> {
    /// What its line was read as, or its branch.
    pub(crate) line: Reading,
    /// What the branch does, if that stands on its own line (`If $x > 3, return $x`); it becomes a line, too.
    pub(crate) action: Option<Action<'a>>,
    /// The other arm, if that stands there, too (`…, otherwise return 0`).
    pub(crate) otherwise: Option<Action<'a>>,
    /// The end that comes after it, if it is one line (`Say "Bye" and end`).
    pub(crate) end: Option<End<'a>>,
}

/// What ends on a line after what is done there (`apologise and stop`); it becomes a line, too.
#[derive(Debug)]
pub(crate) struct End<'a> {
    /// The words of what is done before.
    pub(crate) before: Phrase<'a>,
    /// Its own words.
    pub(crate) words: Phrase<'a>,
    /// What they were read as.
    pub(crate) reading: Reading,
}

/// What stands after a condition on its own line.
#[derive(Debug)]
pub(crate) struct Action<'a> {
    /// The words of the condition, without what stands between them and the action: `If $x > 3`, `Otherwise`.
    pub(crate) condition: Phrase<'a>,
    /// The words of the action.
    pub(crate) words: Phrase<'a>,
    /// What it was read as by itself.
    pub(crate) reading: Reading,
    /// The end that comes after it.
    pub(crate) end: Option<End<'a>>,
}

impl<'a> Action<'a> {
    pub(crate) fn new(condition: Phrase<'a>, words: Phrase<'a>, reading: Reading) -> Self {
        Action { condition, words, reading, end: None }
    }
}

impl<'a> ItemReading<'a> {
    /// An item that is one line.
    pub(crate) fn line(line: Reading) -> Self {
        ItemReading { line, action: None, otherwise: None, end: None }
    }

    /// What was read, one reading for each line that it becomes.
    pub(crate) fn readings(&mut self) -> impl Iterator<Item = &mut Reading> {
        let actions = [&mut self.action, &mut self.otherwise].into_iter().flatten();
        let of_actions = actions.flat_map(|action| {
            std::iter::once(&mut action.reading).chain(action.end.as_mut().map(|end| &mut end.reading))
        });
        let end = self.end.as_mut().map(|end| &mut end.reading);
        std::iter::once(&mut self.line).chain(end).chain(of_actions)
    }

    /// A branch or a loop, with what is done on the same line.
    pub(crate) fn branch(line: Reading, action: Option<Action<'a>>, otherwise: Option<Action<'a>>) -> Self {
        ItemReading { line, action, otherwise, end: None }
    }
}
