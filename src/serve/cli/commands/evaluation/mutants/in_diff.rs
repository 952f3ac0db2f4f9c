//! The lines that a unified diff changes. Pure.

use std::ops::RangeInclusive;
use std::path::{Component, Path};

/// What a diff changes: files with lines as they are afterwards, from 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedLines(Vec<(String, usize)>);

impl ChangedLines {
    /// Reads a unified diff, as `git diff` writes it.
    ///
    /// # Errors
    /// It holds no hunk, or one that cannot be read; in words.
    pub(super) fn read(diff: &str) -> Result<ChangedLines, String> {
        let mut changed = Vec::new();
        let mut file = None;
        // The number of the next line, and how many of the old and of the new text are still to come.
        let mut hunk: Option<(usize, usize, usize)> = None;
        let mut n_hunks = 0;
        for (index, line) in diff.lines().enumerate() {
            if let Some((next, old, new)) = &mut hunk {
                match line.as_bytes().first() {
                    Some(b'+') => {
                        changed.extend(file.clone().map(|file| (file, *next)));
                        (*next, *new) = (*next + 1, new.saturating_sub(1));
                    }
                    Some(b'-') => *old = old.saturating_sub(1),
                    Some(b'\\') => {}
                    Some(_) | None => {
                        (*next, *old, *new) = (*next + 1, old.saturating_sub(1), new.saturating_sub(1));
                    }
                }
                if *old == 0 && *new == 0 {
                    hunk = None;
                }
            } else if let Some(name) = line.strip_prefix("+++ ") {
                // Behind a tab stands when it was changed.
                let name = name.split('\t').next().unwrap_or(name).trim_matches('"');
                file = (name != "/dev/null").then(|| name.strip_prefix("b/").unwrap_or(name).to_owned());
            } else if line.starts_with("@@ ") {
                let read = read_header(line);
                hunk =
                    Some(read.ok_or_else(|| format!("line {}: this is not the header of a hunk: {line}", index + 1))?);
                n_hunks += 1;
            }
        }
        if n_hunks == 0 {
            return Err("it has no hunk of a unified diff; make it with `git diff`".to_owned());
        }
        Ok(ChangedLines(changed))
    }

    /// Whether any of these lines of a file was changed.
    pub(super) fn has(&self, file: &str, lines: &RangeInclusive<usize>) -> bool {
        self.0.iter().any(|(changed, line)| lines.contains(line) && is_same(changed, file))
    }
}

/// `@@ -OLD[,N] +NEW[,N] @@`: the first new line, and how many lines of both texts there are.
fn read_header(line: &str) -> Option<(usize, usize, usize)> {
    let mut words = line.split_whitespace().skip(1);
    let range = |word: &str, sign| -> Option<(usize, usize)> {
        let word = word.strip_prefix(sign)?;
        let (first, n) = word.split_once(',').unwrap_or((word, "1"));
        Some((first.parse().ok()?, n.parse().ok()?))
    };
    let (_, n_old) = range(words.next()?, '-')?;
    let (first, n_new) = range(words.next()?, '+')?;
    Some((first, n_old, n_new))
}

/// Whether both paths mean one file: a diff is written from another folder, perhaps.
fn is_same(one: &str, other: &str) -> bool {
    let names = |path: &str| -> Vec<String> {
        let parts = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (one, other) = (names(one), names(other));
    !one.is_empty() && !other.is_empty() && (one.ends_with(&other) || other.ends_with(&one))
}
