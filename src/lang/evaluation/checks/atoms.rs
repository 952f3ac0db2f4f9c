//! The words of a check one after the other, and the atoms.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::evaluation::checks::{
    ArgumentPattern, Atom, CallPattern, Pattern, ResultPattern, ValuePattern, Word, grammar,
};
use crate::expr::{begins_name, continues_name, scan_name};
use crate::span::{FileId, Span};
use crate::value::Value;

/// A finding, on the heap: it is large, and rare.
pub(super) type Found<T> = Result<T, Box<Diagnostic>>;

/// What has been read of a text.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    file: FileId,
    offset: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, file: FileId, offset: usize) -> Scanner<'t> {
        Scanner { text, at: 0, file, offset }
    }

    /// What is left, without spaces before it.
    pub(super) fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    pub(super) fn file(&self) -> FileId {
        self.file
    }

    /// Where reading stands, in the file.
    pub(super) fn place(&self) -> usize {
        self.offset + self.at
    }

    /// Takes so many bytes of the rest.
    pub(super) fn take(&mut self, length: usize) -> Word {
        let start = self.at;
        self.at += length;
        let span = Span::new(self.file, self.offset + start, self.offset + self.at);
        Word { text: self.text[start..self.at].into(), span }
    }

    /// Takes the words of `phrase`, with any spaces between them, if all of them come.
    pub(super) fn eat(&mut self, phrase: &str) -> bool {
        let start = self.at;
        for word in phrase.split(' ') {
            let rest = self.rest();
            let is_next = rest.strip_prefix(word).is_some_and(|after| !after.starts_with(continues_name));
            if !is_next {
                self.at = start;
                return false;
            }
            self.at += word.len();
        }
        true
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// A finding about what is next.
    pub(super) fn error(&mut self, message: impl Into<String>, next: impl Into<String>) -> Box<Diagnostic> {
        self.finding("bad-check", message, next)
    }

    fn finding(&mut self, code: &'static str, message: impl Into<String>, next: impl Into<String>) -> Box<Diagnostic> {
        let length = self.rest().len();
        let span = Span::new(self.file, self.place(), self.place() + length);
        Box::new(Diagnostic::error(code, span, message).with_note(next))
    }

    /// A whole number.
    pub(super) fn number(&mut self) -> Found<u64> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        match rest[..length].parse() {
            Ok(number) => {
                self.take(length);
                Ok(number)
            }
            Err(_) => Err(self.error("a whole number is missing here", "write it in digits, as in `at most 1 Refund`")),
        }
    }

    /// `$x`.
    pub(super) fn variable(&mut self) -> Found<Word> {
        let rest = self.rest();
        let length = rest.strip_prefix('$').map_or(0, scan_name);
        if length == 0 {
            return Err(self.error("a name is missing here", "write it as in `$id`"));
        }
        self.at += 1;
        Ok(self.take(length))
    }

    /// `/re/`.
    fn pattern(&mut self) -> Found<Pattern> {
        let form = "write a regular expression between slashes, as in `/late|lost/`; a slash in it is `\\/`";
        let Some(body) = self.rest().strip_prefix('/') else {
            return Err(self.error("a regular expression is missing here", form));
        };
        let mut is_escaped = false;
        let end = body.find(|c| {
            let ends = c == '/' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let Some(end) = end else { return Err(self.error("this regular expression does not end", form)) };
        let Word { span, .. } = self.take(end + 2);
        Ok(Pattern { source: body[..end].replace("\\/", "/").into(), span })
    }

    /// The JSON value that is next.
    fn json(&mut self) -> Found<Value> {
        let rest = self.rest();
        // Numbers and words end where something else begins, texts, lists and maps at their own end.
        let ends = |c: char| c == ',' || c == ')' || c.is_whitespace();
        let has_end = rest.starts_with(['"', '[', '{']);
        let word = if has_end { rest } else { &rest[..rest.find(ends).unwrap_or(rest.len())] };
        let mut values = serde_json::Deserializer::from_str(word).into_iter::<Value>();
        let next = "write JSON, text in double quotes";
        match values.next() {
            Some(Ok(value)) => {
                self.take(values.byte_offset());
                Ok(value)
            }
            Some(Err(error)) => {
                let error = error.to_string();
                // Its place is ours.
                let cause = error.split(" at line ").next().unwrap_or(&error);
                Err(self.error(format!("this is not a JSON value: {cause}"), next))
            }
            None => Err(self.error("a value is missing here", next)),
        }
    }

    /// A name with dots in it; of no length if none is next.
    fn name_length(&mut self) -> usize {
        let rest = self.rest();
        let mut length = scan_name(rest);
        while length > 0 && rest[length..].starts_with('.') {
            match scan_name(&rest[length + 1..]) {
                0 => break,
                more => length += 1 + more,
            }
        }
        length
    }

    /// Something that can happen.
    pub(super) fn atom(&mut self) -> Found<Atom> {
        if self.eat("user says") {
            return self.pattern().map(Atom::UserSays);
        }
        if self.eat("says") {
            return self.pattern().map(Atom::Says);
        }
        if self.eat("reaches") {
            return self.reaches();
        }
        if self.eat("fires") {
            let rest = self.rest();
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            if !rest[..length].contains(':') {
                return Err(
                    self.error("this does not name a trigger", "write playbook and trigger, as in `fires Calm:T1`")
                );
            }
            return Ok(Atom::Fires(self.take(length)));
        }
        self.call().map(Atom::Call)
    }

    fn reaches(&mut self) -> Found<Atom> {
        let length = self.name_length();
        if length == 0 {
            return Err(self.error("this does not name a playbook", "write playbook and line, as in `reaches Pay:03`"));
        }
        let place = self.take(length);
        let line =
            self.text[self.at..].strip_prefix(':').map(|line| line.find(char::is_whitespace).unwrap_or(line.len()));
        let line = match line {
            Some(0) => {
                return Err(self.error("this does not name a line", "write playbook and line, as in `reaches Pay:03`"));
            }
            Some(length) => {
                self.at += 1;
                Some(self.take(length))
            }
            None => None,
        };
        Ok(Atom::Reaches { place, line })
    }

    /// A call.
    pub(super) fn call(&mut self) -> Found<CallPattern> {
        let length = self.name_length();
        if length == 0 {
            return Err(self.error("this is not something that can happen", format!("write one of {}", forms())));
        }
        let name = self.take(length);
        let arguments = if self.text[self.at..].starts_with('(') { self.arguments()? } else { Vec::new() };
        let result = if self.eat("returns") {
            Some(ResultPattern::Returns(self.json()?))
        } else {
            self.eat("fails").then_some(ResultPattern::Fails)
        };
        let span = name.span.to(Span::new(self.file, self.place(), self.place()));
        Ok(CallPattern { name, arguments, result, span })
    }

    /// What stands between the brackets of a call.
    fn arguments(&mut self) -> Found<Vec<ArgumentPattern>> {
        self.at += 1;
        let mut arguments = Vec::new();
        let mut is_named = false;
        loop {
            if self.rest().starts_with(')') {
                self.at += 1;
                return Ok(arguments);
            }
            let name = self.argument_name();
            if name.is_none() && is_named {
                let next = "write its name before it; only the first arguments need no name";
                return Err(self.error("this argument has no name", next));
            }
            is_named = name.is_some();
            arguments.push(self.argument(name)?);
            let rest = self.rest();
            if rest.starts_with(',') {
                self.at += 1;
            } else if !rest.starts_with(')') {
                return Err(self.error("`,` or `)` is missing here", "write a call as in `Refund(id: $id, amount: 5)`"));
            }
        }
    }

    fn argument(&mut self, name: Option<Word>) -> Found<ArgumentPattern> {
        let rest = self.rest();
        let start = self.place();
        let value = if rest.starts_with('/') {
            ValuePattern::Matches(self.pattern()?)
        } else if rest.starts_with('$') {
            ValuePattern::Binds(self.variable()?.text)
        } else {
            ValuePattern::Json(self.json()?)
        };
        Ok(ArgumentPattern { name, value, span: Span::new(self.file, start, self.place()) })
    }

    /// `name:` before a value.
    fn argument_name(&mut self) -> Option<Word> {
        let length = scan_name(self.rest());
        let is_name = length > 0 && self.text[self.at + length..].trim_start().starts_with(':');
        let name = is_name.then(|| self.take(length))?;
        self.at += self.rest().find(':').map_or(0, |colon| colon + 1);
        Some(name)
    }
}

/// Whether a text begins as an expression does and no call: `word` is its first word.
pub(super) fn begins_expression(rest: &str) -> bool {
    const WORDS: [&str; 8] = ["not", "length", "number", "lower", "the", "true", "false", "null"];
    let word = &rest[..scan_name(rest)];
    !rest.starts_with(begins_name) || (WORDS.contains(&word) && !rest[word.len()..].starts_with('('))
}

/// What can happen, in words.
fn forms() -> String {
    let forms: Vec<&str> = grammar::ATOMS.iter().map(|rule| rule.form).collect();
    forms.join(", ")
}

/// Where an `Arc` of a text is wanted.
pub(super) fn shared(text: &str) -> Arc<str> {
    text.trim().into()
}
