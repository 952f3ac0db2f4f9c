//! The incremental JSON scanner: one object, its bytes in any pieces.
//!
//! It checks the syntax as the bytes come (strict JSON, but for a comma before a closing bracket), notes where
//! the members of the object stand, and decodes a `say` that is the first action while it is still arriving.
//! Positions are relative to the object's beginning.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use playhouse_lang::value::json::{escaped, is_number};

use super::fault::OpenFault;
use super::key::{Entry, Key, before_say, line_id};
use super::speech::Speech;
use super::token::n_plain;
use super::types::{ReadFaultKind, Reading};

/// Deeper nesting is a fault; serde_json has the same limit.
const MAX_DEPTH: usize = 128;

/// Where a scan came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanEnd {
    /// All bytes are looked at.
    More,
    /// The closing brace.
    Closed,
    /// The opening bracket of a wrapper, `{"trace":[`.
    Trace,
}

type Step = Result<ScanEnd, Box<OpenFault>>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    /// A key or the closing brace, after the opening one.
    #[default]
    KeyOrEnd,
    /// A key after a comma.
    Key,
    Colon,
    /// The value of a member.
    Value,
    /// An element or the closing bracket, after the opening one.
    ItemOrEnd,
    /// An element after a comma.
    Item,
    /// A comma or a closing bracket.
    Next,
    /// The rest of a string.
    Text(Escape),
    Number,
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    /// After the backslash.
    Backslash,
    /// In `\uXXXX`, with so many digits to come.
    Hex(u8),
}

/// The scanner of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    cursor: usize,
    expect: Expect,
    depth: usize,
    /// One bit per level, the innermost lowest: whether it is an array.
    arrays: u128,
    /// Where the current string, number or word begins.
    token: usize,
    in_key: bool,
    /// Whether the last value was a string: then a quote in it may be the fault.
    behind_text: bool,
    last_comma: usize,
    /// The key whose value is read, at the top level.
    key: Option<(Key, usize)>,
    value: usize,
    seen: u16,
    seen_unknown: BTreeSet<String>,
    /// The line id, as soon as it is read.
    pub(super) at: Option<Arc<str>>,
    may_speak: bool,
    speech: Option<Speech>,
    said: Option<String>,
    /// The members that are closed.
    pub(super) entries: Vec<Entry>,
    /// Where commas stand that serde_json would refuse.
    pub(super) trailing_commas: Vec<usize>,
}

impl Scan {
    /// Begins a new object, after its opening brace. `may_speak`: whether its `say` may be streamed.
    pub(super) fn reset(&mut self, may_speak: bool) {
        self.cursor = 1;
        self.expect = Expect::KeyOrEnd;
        self.depth = 1;
        self.arrays = 0;
        self.key = None;
        self.seen = 0;
        self.seen_unknown.clear();
        self.at = None;
        self.may_speak = may_speak;
        self.speech = None;
        self.said = None;
        self.entries.clear();
        self.trailing_commas.clear();
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The whole text of a `say` that was streamed.
    pub(super) fn take_said(&mut self) -> Option<String> {
        self.said.take()
    }

    /// The streamed text that was not given yet.
    pub(super) fn take_speech(&mut self) -> Option<String> {
        self.speech.as_mut().and_then(Speech::take)
    }

    /// The unknown keys with the place of their members.
    pub(super) fn unknown_keys(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let unknown = |entry: &&Entry| matches!(entry.key, Key::Unknown(_));
        self.entries.iter().filter(unknown).map(|entry| (entry.key.name(), entry.key_start..entry.value.end))
    }

    /// Where in the object the reply ended, for the message.
    pub(super) fn describe_place(&self) -> String {
        let place = match self.expect {
            Expect::Text(_) if self.in_key => "in a key",
            Expect::Text(_) => "in a string",
            Expect::Colon => "after a key",
            Expect::KeyOrEnd | Expect::Key | Expect::Next | Expect::ItemOrEnd | Expect::Item => {
                "before its closing bracket"
            }
            Expect::Value | Expect::Number | Expect::Word => "in a value",
        };
        match &self.key {
            Some((key, _)) => format!("{place} (key `{}`)", key.name()),
            None => place.to_owned(),
        }
    }

    /// Reads on. `bytes` is the object from its opening brace, as far as it has come.
    pub(super) fn advance(&mut self, bytes: &[u8], start: u64, readings: &mut Vec<Reading>) -> Step {
        while let Some(&byte) = bytes.get(self.cursor) {
            let step = match self.expect {
                Expect::Text(escape) => self.read_text(escape, byte, bytes, readings)?,
                Expect::Number => self.read_number(byte, bytes)?,
                Expect::Word => self.read_word(byte, bytes)?,
                Expect::KeyOrEnd
                | Expect::Key
                | Expect::Colon
                | Expect::Value
                | Expect::ItemOrEnd
                | Expect::Item
                | Expect::Next => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => {
                        self.cursor += 1;
                        ScanEnd::More
                    }
                    _ => self.read_structure(byte, bytes, start, readings)?,
                },
            };
            if step != ScanEnd::More {
                return Ok(step);
            }
        }
        if self.expect == Expect::Text(Escape::No) {
            self.decode_speech(bytes, false)?;
        }
        Ok(ScanEnd::More)
    }

    fn read_structure(&mut self, byte: u8, bytes: &[u8], start: u64, readings: &mut Vec<Reading>) -> Step {
        match (self.expect, byte) {
            (Expect::KeyOrEnd | Expect::Key, b'"') => {
                self.token = self.cursor;
                self.in_key = true;
                self.expect = Expect::Text(Escape::No);
            }
            (Expect::KeyOrEnd, b'}') | (Expect::ItemOrEnd, b']') => return Ok(self.close(bytes)),
            (Expect::Key, b'}') | (Expect::Item, b']') => {
                self.trailing_commas.push(self.last_comma);
                return Ok(self.close(bytes));
            }
            (Expect::Colon, b':') => self.expect = Expect::Value,
            (Expect::Next, b',') => {
                self.last_comma = self.cursor;
                self.expect = if self.in_array() { Expect::Item } else { Expect::Key };
            }
            (Expect::Next, b']') if self.in_array() => return Ok(self.close(bytes)),
            (Expect::Next, b'}') if !self.in_array() => return Ok(self.close(bytes)),
            (Expect::Value | Expect::Item | Expect::ItemOrEnd, _) => return self.begin_value(byte, start, readings),
            _ => {
                if self.expect == Expect::Colon {
                    return Err(self.unexpected("expected `:` after the key, found "));
                }
                if matches!(self.expect, Expect::KeyOrEnd | Expect::Key) {
                    return Err(self.unexpected("expected a key in double quotes or `}`, found "));
                }
                let closing = if self.in_array() { ']' } else { '}' };
                let hint = " (a double quote inside a string is written \\\")";
                let hint = if self.behind_text { hint } else { "" };
                return Err(self.unexpected(format!("expected `,` or `{closing}` after the value{hint}, found ")));
            }
        }
        self.cursor += 1;
        Ok(ScanEnd::More)
    }

    fn begin_value(&mut self, byte: u8, start: u64, readings: &mut Vec<Reading>) -> Step {
        if self.depth == 1 {
            self.value = self.cursor;
            match &self.key {
                Some((Key::Unknown(key), _)) if key == "trace" && byte == b'[' && self.seen == 0 => {
                    self.cursor += 1;
                    return Ok(ScanEnd::Trace);
                }
                Some((Key::Say, _)) if byte == b'"' && self.may_speak && self.seen & before_say() == 0 => {
                    self.speech = Some(Speech::begin(self.cursor + 1));
                    readings.push(Reading::SayBegan { at: self.at.clone(), start });
                }
                _ => {}
            }
        }
        self.token = self.cursor;
        match byte {
            b'"' => {
                self.in_key = false;
                self.expect = Expect::Text(Escape::No);
            }
            b'{' | b'[' => {
                if self.depth == MAX_DEPTH {
                    let message = format!("the value is nested deeper than {MAX_DEPTH} levels");
                    return Err(OpenFault::json(self.cursor, message));
                }
                self.depth += 1;
                self.arrays = self.arrays << 1 | u128::from(byte == b'[');
                self.expect = if byte == b'[' { Expect::ItemOrEnd } else { Expect::KeyOrEnd };
            }
            b'-' | b'0'..=b'9' => self.expect = Expect::Number,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.expect = Expect::Word,
            _ => return Err(self.unexpected("expected a JSON value, found ")),
        }
        self.cursor += 1;
        Ok(ScanEnd::More)
    }

    fn in_array(&self) -> bool {
        self.arrays & 1 == 1
    }

    /// Steps over a closing bracket.
    fn close(&mut self, bytes: &[u8]) -> ScanEnd {
        self.cursor += 1;
        self.depth -= 1;
        self.arrays >>= 1;
        if self.depth == 0 {
            return ScanEnd::Closed;
        }
        self.end_value(bytes);
        ScanEnd::More
    }

    /// A value ended before `cursor`.
    fn end_value(&mut self, bytes: &[u8]) {
        self.expect = Expect::Next;
        self.behind_text = bytes[self.cursor - 1] == b'"';
        if self.depth == 1
            && let Some((key, key_start)) = self.key.take()
        {
            if key == Key::At {
                // For a `say` that follows. A bad one is an error when the object closes; until then nothing is
                // streamed.
                self.at = std::str::from_utf8(&bytes[self.value..self.cursor]).ok().and_then(line_id);
                self.may_speak &= self.at.is_some();
            }
            self.entries.push(Entry { key, key_start, value: self.value..self.cursor });
        }
    }

    fn read_number(&mut self, byte: u8, bytes: &[u8]) -> Step {
        if matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') {
            self.cursor += 1;
            return Ok(ScanEnd::More);
        }
        let number = &bytes[self.token..self.cursor];
        if !is_number(number) {
            let number = String::from_utf8_lossy(&number[..number.len().min(40)]);
            return Err(OpenFault::json(self.token, format!("`{number}` is not a JSON number")));
        }
        self.end_value(bytes);
        Ok(ScanEnd::More)
    }

    fn read_word(&mut self, byte: u8, bytes: &[u8]) -> Step {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') {
            self.cursor += 1;
            return Ok(ScanEnd::More);
        }
        let word = &bytes[self.token..self.cursor];
        let hint = match word {
            b"true" | b"false" | b"null" => {
                self.end_value(bytes);
                return Ok(ScanEnd::More);
            }
            b"True" | b"TRUE" => "; JSON writes `true`",
            b"False" | b"FALSE" => "; JSON writes `false`",
            b"None" | b"NULL" | b"Null" | b"nil" | b"undefined" => "; JSON writes `null`",
            b"NaN" | b"Infinity" => "; JSON has no such number",
            [b'$', ..] => "; write a reference in a string: \"$name\"",
            _ => "; write text in double quotes",
        };
        let word = String::from_utf8_lossy(&word[..word.len().min(40)]);
        Err(OpenFault::json(self.token, format!("`{word}` is not a JSON value{hint}")))
    }

    fn read_text(&mut self, escape: Escape, byte: u8, bytes: &[u8], readings: &mut Vec<Reading>) -> Step {
        match escape {
            Escape::No => {
                self.cursor += n_plain(&bytes[self.cursor..]);
                let Some(&byte) = bytes.get(self.cursor) else {
                    return Ok(ScanEnd::More);
                };
                self.decode_speech(bytes, true)?;
                match byte {
                    b'"' => {
                        self.cursor += 1;
                        self.end_text(bytes, readings)?;
                    }
                    b'\\' => {
                        self.cursor += 1;
                        self.expect = Expect::Text(Escape::Backslash);
                    }
                    b'\n' | b'\r' => {
                        let message =
                            "the string is not closed at the end of its line (a line break in a string is written \\n)";
                        return Err(OpenFault::json(self.cursor, message));
                    }
                    b'\t' => {
                        return Err(OpenFault::json(self.cursor, "a tab character in a string; write it \\t"));
                    }
                    _ => {
                        let message = format!("a control character in a string; write it \\u{byte:04x}");
                        return Err(OpenFault::json(self.cursor, message));
                    }
                }
            }
            Escape::Backslash => {
                let escape = match byte {
                    b'u' => Escape::Hex(4),
                    _ if escaped(byte).is_some() => Escape::No,
                    _ => {
                        let message =
                            "JSON knows the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX only, found \\ and ";
                        return Err(self.unexpected(message));
                    }
                };
                self.cursor += 1;
                self.expect = Expect::Text(escape);
            }
            Escape::Hex(n_left) => {
                if !byte.is_ascii_hexdigit() {
                    return Err(self.unexpected("expected four hexadecimal digits after \\u, found "));
                }
                self.cursor += 1;
                self.expect = Expect::Text(if n_left == 1 { Escape::No } else { Escape::Hex(n_left - 1) });
            }
        }
        Ok(ScanEnd::More)
    }

    /// The closing quote was read.
    fn end_text(&mut self, bytes: &[u8], readings: &mut Vec<Reading>) -> Result<(), Box<OpenFault>> {
        let text = &bytes[self.token + 1..self.cursor - 1];
        if self.in_key {
            self.expect = Expect::Colon;
            return if self.depth == 1 { self.end_key(text) } else { Ok(()) };
        }
        if let Some(mut speech) = self.speech.take() {
            readings.extend(speech.take().map(Reading::SayText));
            self.said = Some(speech.into_text());
            readings.push(Reading::SayEnded);
        }
        self.end_value(bytes);
        Ok(())
    }

    fn end_key(&mut self, text: &[u8]) -> Result<(), Box<OpenFault>> {
        let decoded;
        let text = if text.contains(&b'\\') {
            decoded = serde_json::from_slice::<String>(&[b"\"", text, b"\""].concat());
            decoded.as_deref().ok()
        } else {
            std::str::from_utf8(text).ok()
        };
        let Some(text) = text else {
            return Err(OpenFault::json(self.token, "the key is not valid Unicode text"));
        };
        let key = Key::new(text);
        let bit = key.bit();
        let is_new = if bit == 0 { self.seen_unknown.insert(text.to_owned()) } else { self.seen & bit == 0 };
        if !is_new {
            let text: String = text.chars().take(40).collect();
            let message = format!("the key `{text}` appears twice in this object; write two lines");
            return Err(OpenFault::new(ReadFaultKind::DuplicateKey, self.token, message));
        }
        self.seen |= bit;
        self.key = Some((key, self.token));
        Ok(())
    }

    /// Decodes a streamed string up to `cursor`.
    fn decode_speech(&mut self, bytes: &[u8], is_over: bool) -> Result<(), Box<OpenFault>> {
        self.speech.as_mut().map_or(Ok(()), |speech| speech.decode(bytes, self.cursor, is_over))
    }

    /// The byte at `cursor` is wrong.
    fn unexpected(&self, message: impl Into<String>) -> Box<OpenFault> {
        let mut fault = OpenFault::json(self.cursor, message);
        fault.names_found = true;
        fault
    }
}
