//! Checks: what somebody says of a session, as a form (spec `evaluate.md`, section 3).
//!
//! [`Check::parse`] reads the text of one, [`Check::resolve`] finds what it names in a program. Both are pure. The whole
//! grammar, with an example of each rule, is [`grammar`]; what a check means is told there, and decided by
//! `host::checks`.

mod atoms;
pub mod grammar;
mod names;
mod read;

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::expr::Expr;
use crate::span::{FileId, Span};
use crate::value::{Reference, Value};

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// As it is written.
    pub text: Arc<str>,
    /// Where.
    pub span: Span,
    /// What it says.
    pub kind: CheckKind,
}

/// A check as it stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// What people call it: `Known before paid:1`, or the heading that it stands below.
    pub label: Arc<str>,
    /// Its line, from 1.
    pub line: usize,
    /// What it says.
    pub check: Check,
}

/// What a check says; the forms are those of [`grammar::CHECKS`], in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckKind {
    /// `atom`
    Happens(Atom),
    /// `never atom`
    Never(Atom),
    /// `atom N times`
    Times(Atom, u64),
    /// `at most N atom [per $x]`
    AtMost {
        /// So often.
        most: u64,
        /// What.
        atom: Atom,
        /// What of it is counted by itself; none: every binding.
        per: Option<Word>,
    },
    /// `atom only after atom`
    OnlyAfter(Atom, Atom),
    /// `call only knowing call`
    OnlyKnowing(CallPattern, CallPattern),
    /// `atom only if EXPR`
    OnlyIf(Atom, Expr),
    /// `after atom [until atom] never atom`
    After {
        /// After this.
        after: Atom,
        /// Until this; none: for good.
        until: Option<Atom>,
        /// Never this.
        never: Atom,
    },
    /// `atom is followed by atom [within N turns]`
    FollowedBy {
        /// What is to be followed.
        atom: Atom,
        /// By what.
        next: Atom,
        /// In so many turns of the model.
        within: Option<u64>,
    },
    /// `EXPR`: at the end.
    AtEnd(Expr),
    /// `$x | result matches schema FILE`: at the end.
    Matches {
        /// What.
        subject: Subject,
        /// The path of a JSON Schema, relative to the file of the check.
        schema: Word,
    },
    /// `turns | tokens | cost | seconds | depth at most N`
    Bounded {
        /// What is measured.
        measure: Measure,
        /// How much of it there may be.
        most: f64,
    },
    /// `judge: TEXT`: a question to a model.
    Judge(Arc<str>),
}

/// Something that can happen in a session; the forms are those of [`grammar::ATOMS`].
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// `Name(…)`, `Name(…) returns JSON`, `Name(…) fails`
    Call(CallPattern),
    /// `says /re/`
    Says(Pattern),
    /// `user says /re/`
    UserSays(Pattern),
    /// `reaches P`, `reaches P:04`
    Reaches {
        /// A playbook or plan.
        place: Word,
        /// A line of it.
        line: Option<Word>,
    },
    /// `fires P:T1`
    Fires(Word),
}

/// Calls that are meant.
#[derive(Clone, Debug, PartialEq)]
pub struct CallPattern {
    /// The tool, playbook or plan.
    pub name: Word,
    /// What is said of arguments, each once; others don't matter.
    pub arguments: Vec<ArgumentPattern>,
    /// What came of it; none: the making of the call is meant.
    pub result: Option<ResultPattern>,
    /// Where all of it is written.
    pub span: Span,
}

/// What is said of one argument.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentPattern {
    /// The parameter's name; none before [`Check::resolve`]: the one at this place.
    pub name: Option<Word>,
    /// What it is to be.
    pub value: ValuePattern,
    /// Where that is written.
    pub span: Span,
}

/// What a value is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum ValuePattern {
    /// This: of a map these members, whatever others it has.
    Json(Value),
    /// A text, or something written as JSON, with a match in it.
    Matches(Pattern),
    /// Anything, which is called so: each value makes a check of its own.
    Binds(Arc<str>),
}

/// What is to come of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultPattern {
    /// This result: of a map these members.
    Returns(Value),
    /// An error.
    Fails,
}

/// A name, path or number in a check, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written, after [`Check::resolve`] as the program has it.
    pub text: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// A regular expression; whether it is one is found out by whoever compiles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What stands between the slashes, `\/` being a slash.
    pub source: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// What a schema is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The value of a variable at the end, or a part of it.
    Variable(Reference),
    /// What the program returned.
    Result,
}

/// What can be measured of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Measure {
    /// Requests to the model.
    Turns,
    /// Of requests and replies.
    Tokens,
    /// What the model has cost, where prices are known.
    Cost,
    /// Of the session, without those in which a person was waited for.
    Seconds,
    /// The most playbooks and plans that stood on each other.
    Depth,
}

impl Check {
    /// Reads one check. `offset` is the place of `text` in `file`.
    ///
    /// # Errors
    /// Where it stops being one; the first note says what to do.
    pub fn parse(text: &str, file: FileId, offset: usize) -> Result<Check, Box<Diagnostic>> {
        read::read(text, file, offset)
    }

    /// What stands at a place in it.
    pub fn text_at(&self, span: Span) -> &str {
        let start = self.span.start;
        let at = |place: u32| place.checked_sub(start).map_or(usize::MAX, |at| at as usize);
        self.text.get(at(span.start)..at(span.end)).unwrap_or("")
    }
}

impl CallPattern {
    /// The names that its arguments bind, in the order written, each once.
    pub fn names(&self) -> Vec<&Arc<str>> {
        let mut names = Vec::new();
        for argument in &self.arguments {
            if let ValuePattern::Binds(name) = &argument.value
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

impl Atom {
    /// The names that it binds, each once.
    pub fn names(&self) -> Vec<&Arc<str>> {
        if let Atom::Call(call) = self { call.names() } else { Vec::new() }
    }
}

impl Written {
    /// What it asks a judge, if it does.
    pub fn question(&self) -> Option<&Arc<str>> {
        if let CheckKind::Judge(question) = &self.check.kind { Some(question) } else { None }
    }
}
