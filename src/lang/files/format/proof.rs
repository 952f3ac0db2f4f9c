//! The proof that a text in its layout is the text that it was.

use crate::diagnostic::Diagnostic;
use crate::span::LineIndex;

/// Why a text is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untouched {
    /// The line of the text that is the reason, from 1.
    pub line: usize,
    /// What is the matter, in lower case.
    pub why: String,
}

impl Untouched {
    /// The text cannot be read; this is what was found.
    pub fn unread(text: &str, findings: &[Diagnostic]) -> Untouched {
        let first = findings.first();
        let line = first.map_or(1, |found| LineIndex::new(text).line_column(found.span.start as usize).0);
        Untouched {
            line,
            why: first.map_or_else(|| "nothing can be read here".to_owned(), |found| found.message.clone()),
        }
    }

    /// The text would mean something else at this byte.
    pub fn differs(text: &str, offset: usize) -> Untouched {
        let line = LineIndex::new(text).line_column(offset).0;
        Untouched { line, why: "formatted, this would be read as something else".to_owned() }
    }
}

/// What `write` makes of a text, if that is the `same` and is what `write` makes of it in turn.
///
/// # Errors
/// Why the text is left as it is.
pub fn proved(
    text: &str,
    write: impl Fn(&str) -> Result<String, Untouched>,
    same: impl FnOnce(&str, &str) -> Result<(), Untouched>,
) -> Result<String, Untouched> {
    let written = write(text)?;
    if written == text {
        return Ok(written);
    }
    same(text, &written)?;
    let again = write(&written)?;
    if again != written {
        let line = written.lines().zip(again.lines()).take_while(|(first, second)| first == second).count() + 1;
        return Err(Untouched { line, why: "formatted a second time, this would be something else again".to_owned() });
    }
    Ok(written)
}
