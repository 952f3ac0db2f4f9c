//! Names in files of cases that mean something elsewhere: the program, its playbooks, their lines and triggers.

use crate::span::Span;

/// A name in a file of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands.
    pub span: Span,
    /// What it is to mean.
    pub kind: MentionKind,
}

/// What a name is to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionKind {
    /// The program: a path, relative to the file's folder.
    Program(String),
    /// A file of canned tools: a path, relative to the file's folder.
    Tools(String),
    /// The playbook or plan to begin with.
    Entry(String),
    /// A playbook of any agent.
    Playbook(String),
    /// A tool, playbook or plan that is called.
    Callable(String),
    /// A line of a playbook, or a playbook without lines.
    Line(LineName),
    /// A trigger, `Playbook:T1`, or a playbook with only one.
    Trigger(String),
    /// A variable, or a parameter.
    Variable {
        /// Its name, without `$`.
        name: String,
        /// Whose it is.
        of: Owner,
    },
}

/// Whose variable a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// That of whatever has one.
    Any,
    /// That of the playbook of this name.
    Playbook(String),
    /// That of a playbook with this line.
    Line(LineName),
    /// That of a playbook with this line, which sets it.
    SetBy(LineName),
}

/// How a line is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineName {
    /// By its id: `02`, `04.01`, `04>02`; of whichever playbook is asked about.
    Id(String),
    /// By its text, or an unmistakable beginning of it.
    Text(String),
    /// A playbook without lines, by its name.
    Goal(String),
}
