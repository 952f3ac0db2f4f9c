//! Commands in a skill's text and scripts, for people who decide whether they trust it: what is run, and what of it may use
//! the network. Nothing is run or kept by this.

use std::collections::BTreeSet;

/// What blocks of commands are marked with.
const SHELLS: [&str; 8] = ["bash", "console", "sh", "shell", "shell-session", "shellscript", "terminal", "zsh"];

/// Words of a shell that are none of a command.
const SYNTAX: &str = "{ } ! case do done elif else esac exec export fi for function if in local sudo then time while";

/// What in a command or a script uses the network.
const NETWORK: [&str; 29] = [
    "apt install",
    "apt-get install",
    "brew install",
    "bun add",
    "cargo install",
    "curl",
    "docker pull",
    "docker run",
    "fetch(",
    "gem install",
    "gh api",
    "git clone",
    "git fetch",
    "git pull",
    "git push",
    "go get",
    "http://",
    "https://",
    "import socket",
    "npm install",
    "npx",
    "pip install",
    "pnpm add",
    "requests.",
    "scp",
    "ssh",
    "urllib",
    "uvx",
    "wget",
];

/// A command of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Where its line begins, in bytes.
    pub at: usize,
    /// The whole command.
    pub text: String,
    /// Its program, with a word that tells which part of it: `git rev-parse`.
    pub name: String,
}

/// The commands in the blocks of a Markdown text that are a shell's, in order.
pub fn commands(text: &str) -> Vec<Command> {
    let (mut found, mut fence, mut at) = (Vec::new(), None::<(&str, bool)>, 0);
    // What follows a `\` or stands up to the end of a here-document belongs to the command before.
    let (mut is_continued, mut here): (bool, Option<String>) = (false, None);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                let language = words.trim_start_matches(['`', '~']).trim().split([' ', '{', ',']).next().unwrap_or("");
                fence = Some((mark, SHELLS.contains(&language)));
                (is_continued, here) = (false, None);
            }
            (Some((open, _)), Some(mark)) if mark == open => fence = None,
            (Some((_, true)), _) => {
                if here.as_ref().is_some_and(|end| end == words) {
                    here = None;
                } else if here.is_none() {
                    if !is_continued {
                        found.extend(of_line(words).map(|(name, text)| Command { at, text, name }));
                    }
                    is_continued = words.ends_with('\\');
                    here = here_document(words);
                }
            }
            (Some((_, false)) | None, _) => {}
        }
        at += line.len();
    }
    found
}

/// The words in these commands and scripts that use the network, each once.
pub fn network_words<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeSet<&'static str> {
    let lines = texts.flat_map(str::lines).filter(|line| !line.trim_start().starts_with('#'));
    let is_whole = |line: &str, at: usize, word: &str| {
        let begins = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
        let ends = line[at + word.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        (begins || !word.starts_with(char::is_alphanumeric)) && (ends || !word.ends_with(char::is_alphanumeric))
    };
    let has = |line: &str, word: &str| line.match_indices(word).any(|(at, _)| is_whole(line, at, word));
    lines.flat_map(|line| NETWORK.into_iter().filter(move |word| has(line, word))).collect()
}

/// The commands of a line with their names: those between `&&`, `||`, `;` and `|`.
fn of_line(line: &str) -> impl Iterator<Item = (String, String)> {
    let line = line.strip_prefix("$ ").unwrap_or(line).trim_end_matches('\\');
    let line = if line.starts_with('#') { "" } else { line };
    let pieces = line.split(['|', ';']).flat_map(|piece| piece.split("&&"));
    let named = pieces.filter_map(|piece| Some((name_of(piece)?, piece.trim().to_owned())));
    named.collect::<Vec<_>>().into_iter()
}

/// `git rev-parse` of `GIT_DIR=$(git rev-parse --git-dir)`; none: it is no command.
fn name_of(piece: &str) -> Option<String> {
    let is_syntax = |word: &str| SYNTAX.split(' ').any(|syntax| syntax == word);
    // What a variable is set to may be a command.
    let inner = piece.split_once("=$(").map_or(piece, |(_, inner)| inner);
    let is_set = |word: &str| word.contains('=') && !word.starts_with(['-', '=', '"', '\'']);
    let mut words = inner.split_whitespace().skip_while(|word| is_syntax(word) || is_set(word));
    let program = words.next()?.trim_matches(['(', ')', '"', '\'']);
    let is_program = program.starts_with(|c: char| c.is_alphabetic() || matches!(c, '.' | '/' | '~' | '$'))
        && program.chars().all(|c| c.is_alphanumeric() || "._-/~${}+".contains(c));
    let part = words.next().map(|word| word.trim_end_matches(')'));
    let is_part = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '_'))
    };
    let part = part.filter(is_part).map_or_else(String::new, |part| format!(" {part}"));
    is_program.then(|| format!("{program}{part}"))
}

/// What ends the here-document that begins in this line.
fn here_document(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("<<")?;
    let end = rest.trim_start_matches(['-', ' ']).split_whitespace().next()?;
    let end = end.trim_matches(['"', '\'', '\\']);
    (!end.is_empty() && !end.starts_with('<')).then(|| end.to_owned())
}
