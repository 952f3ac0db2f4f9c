//! What the line editor asks about the line: completions, the prompt's colour; and it is told the line as it stands.

use std::borrow::Cow;
use std::cell::RefCell;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use crate::serve::cli::machinery::terminal::Names;
use crate::serve::show::commands;

/// The helper of one line after the other.
#[derive(Default)]
pub(crate) struct LineHelper {
    /// For this line.
    pub(crate) names: Names,
    /// The line so far. The editor tells of it whenever it changes, and of nothing else that we use.
    line: RefCell<String>,
}

impl LineHelper {
    /// Takes what stands on the line.
    pub(crate) fn take_line(&self) -> String {
        self.line.take()
    }
}

/// The completions of what stands before the cursor, and where they begin.
fn completions(before: &str, names: &Names) -> (usize, Vec<String>) {
    if !before.starts_with('/') {
        return (0, Vec::new());
    }
    let Some((word, argument)) = before.split_once(' ') else {
        let fitting = commands::names().filter(|name| name.starts_with(before));
        return (0, fitting.map(|name| name + " ").collect());
    };
    let start = before.len() - argument.len();
    let known: Vec<String> = match word {
        "/why" => names.triggers.clone(),
        "/vars" if argument.starts_with('$') => names.variables.iter().map(|name| format!("${name}")).collect(),
        "/vars" => names.variables.clone(),
        _ => Vec::new(),
    };
    let wanted = argument.to_lowercase();
    (start, known.into_iter().filter(|name| name.to_lowercase().starts_with(&wanted)).collect())
}

impl Completer for LineHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = completions(line.get(..pos).unwrap_or(""), &self.names);
        let pair = |replacement: String| Pair { display: replacement.trim_end().to_owned(), replacement };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for LineHelper {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.line.replace(line.to_owned());
        None
    }
}

impl Highlighter for LineHelper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\u{1b}[1;36m{prompt}\u{1b}[0m"))
    }
}

impl Validator for LineHelper {}

impl Helper for LineHelper {}
