//! The form of user files: somebody who talks with a program, and what is expected of it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use regex::Regex;

use crate::evaluation::checks::Written;
use crate::files::case_file::call::{ExpectedCall, ExpectedResult};
use crate::span::Span;
use crate::value::Map;

/// So many messages a user says at most where the file does not say so itself.
pub const STOP: NonZeroUsize = NonZeroUsize::MIN.saturating_add(19);

/// So many turns a run takes at most where the file does not say so itself.
pub const TURNS: u64 = 200;

/// One user. Paths are relative to the file's folder.
#[derive(Clone, Debug)]
pub struct UserFile {
    /// The first heading's text.
    pub title: String,
    /// The text below it; empty if none.
    pub description: String,
    /// The program's path.
    pub program: String,
    /// The path of a file of canned tools.
    pub tools: Option<String>,
    /// Settings, by the names they have in `playhouse.toml`.
    pub settings: Map,
    /// What the user says first, whatever the program has said; none: they answer.
    pub opens: Option<Arc<str>>,
    /// After so many messages the user says nothing more.
    pub stop: NonZeroUsize,
    /// When a run is cut off.
    pub limit: Limit,
    /// What a run may cost, by `[prices]`; none: anything.
    pub budget: Option<f64>,
    /// Whom a model plays; none: only the answers speak, so no model is needed.
    pub person: Option<Person>,
    /// What is said without a model; the first that fits counts.
    pub answers: Vec<Answer>,
    /// What tools are to answer after the run.
    pub database: Vec<DatabaseCheck>,
    /// What is to be true of the run.
    pub checks: Vec<Written>,
}

/// Somebody whom a model is to play.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// What they want.
    pub goal: String,
    /// What they know; empty: nothing.
    pub knows: String,
    /// How they are; empty: anyhow.
    pub manner: String,
}

/// When a run is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The model was asked so often.
    Turns(u64),
    /// So many milliseconds have gone by.
    Time(u64),
}

/// One row of `## Answers`.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Matches what the user was told and asked since they last said something.
    pub asked: Regex,
    /// What they say to that.
    pub says: Arc<str>,
}

/// One item of `## Database`.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseCheck {
    /// Its line, from 1.
    pub line: usize,
    /// Its place.
    pub span: Span,
    /// As it is written.
    pub text: Arc<str>,
    /// What it compares.
    pub kind: DatabaseKind,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseKind {
    /// What a tool of the run answers afterwards.
    Answers {
        /// The call.
        call: Lookup,
        /// What is to come of it.
        expected: ExpectedResult,
    },
    /// What a tool of the run answers afterwards, and what the same tool answers after other calls on fresh tools.
    Same {
        /// The calls that make the wanted state.
        as_if: Vec<ExpectedCall>,
        /// What is compared.
        same: ExpectedCall,
    },
}

/// A call of a tool by whoever looks.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// With its arguments by name.
    Named(ExpectedCall),
    /// With a text for its first parameter.
    First {
        /// The tool.
        tool: String,
        /// The text.
        argument: String,
    },
}

impl UserFile {
    /// What the user says without a model to what they were told and asked.
    pub fn answer(&self, asked: &str) -> Option<&Arc<str>> {
        self.answers.iter().find(|answer| answer.asked.is_match(asked)).map(|answer| &answer.says)
    }
}
