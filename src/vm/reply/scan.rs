//! The incremental JSON scanner: one object, its bytes in any pieces.
//!
//! It checks the syntax as the bytes come (strict JSON, but for a comma before a closing bracket), notes where
//! the members of the object stand, and decodes a `say` that is the first action while it is still arriving.
//! Positions are relative to the object's beginning.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::line::line_id;
use super::{ReadFaultKind, Reading};

/// Deeper nesting is a fault; serde_json has the same limit.
const MAX_DEPTH: usize = 128;

pub(super) const HALF_SURROGATE: &str = "half a surrogate pair in a \\uXXXX escape; write the character itself";

/// A key of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    At,
    Say,
    Set,
    Call,
    Args,
    As,
    Think,
    Wait,
    Return,
    End,
    Unknown(String),
}

impl Key {
    fn new(text: &str) -> Key {
        match text {
            "at" => Key::At,
            "say" => Key::Say,
            "set" => Key::Set,
            "call" => Key::Call,
            "args" => Key::Args,
            "as" => Key::As,
            "think" => Key::Think,
            "wait" => Key::Wait,
            "return" => Key::Return,
            "end" => Key::End,
            _ => Key::Unknown(text.to_owned()),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Key::At => "at",
            Key::Say => "say",
            Key::Set => "set",
            Key::Call => "call",
            Key::Args => "args",
            Key::As => "as",
            Key::Think => "think",
            Key::Wait => "wait",
            Key::Return => "return",
            Key::End => "end",
            Key::Unknown(name) => name,
        }
    }

    /// A bit of its own for each known key, 0 for an unknown one.
    fn bit(&self) -> u16 {
        match self {
            Key::At => 1,
            Key::Say => 1 << 1,
            Key::Set => 1 << 2,
            Key::Call => 1 << 3,
            Key::Args => 1 << 4,
            Key::As => 1 << 5,
            Key::Think => 1 << 6,
            Key::Wait => 1 << 7,
            Key::Return => 1 << 8,
            Key::End => 1 << 9,
            Key::Unknown(_) => 0,
        }
    }
}

/// What takes effect before a `say` that stands behind it. (Yields do not: they come last.)
const BEFORE_SAY: u16 = 1 << 2 | 1 << 3 | 1 << 6;

/// A member of the object, closed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) key_start: usize,
    pub(super) value: Range<usize>,
}

/// A syntax fault.
pub(super) struct ScanFault {
    pub(super) kind: ReadFaultKind,
    /// The byte that is wrong.
    pub(super) at: usize,
    pub(super) message: String,
    /// Whether the message goes on with the character that was found.
    pub(super) names_found: bool,
}

/// Where a scan came to.
pub(super) enum ScanEnd {
    /// All bytes are looked at.
    More,
    /// The closing brace.
    Closed,
    /// The opening bracket of a wrapper, `{"trace":[`.
    Trace,
    /// A fault.
    Fault(ScanFault),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    /// A key or the closing brace, behind the opening one.
    #[default]
    KeyOrEnd,
    /// A key behind a comma.
    Key,
    Colon,
    /// The value of a member.
    Value,
    /// An element or the closing bracket, behind the opening one.
    ItemOrEnd,
    /// An element behind a comma.
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
    /// Behind the backslash.
    Backslash,
    /// In `\uXXXX`, with so many digits to come.
    Hex(u8),
}

/// A `say` that is being streamed.
#[derive(Clone, Debug)]
struct Speech {
    /// The text decoded so far.
    text: String,
    /// How much of it was given.
    n_given: usize,
    /// Where the bytes begin that are not decoded yet.
    from: usize,
    unit: u16,
    /// The first half of a surrogate pair.
    high: Option<u16>,
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
    at: Option<Arc<str>>,
    may_speak: bool,
    speech: Option<Speech>,
    said: Option<String>,
    /// The members that are closed.
    pub(super) entries: Vec<Entry>,
    /// Where commas stand that serde_json would refuse.
    pub(super) trailing_commas: Vec<usize>,
}

impl Scan {
    /// Begins a new object, behind its opening brace. `may_speak`: whether its `say` may be streamed.
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
        let speech = self.speech.as_mut()?;
        let text = &speech.text[speech.n_given..];
        if text.is_empty() {
            return None;
        }
        let text = text.to_owned();
        speech.n_given = speech.text.len();
        Some(text)
    }

    /// The unknown keys with the place of their members.
    pub(super) fn unknown_keys(&self) -> impl Iterator<Item = (String, Range<usize>)> {
        self.entries.iter().filter_map(|entry| match &entry.key {
            Key::Unknown(key) => Some((key.clone(), entry.key_start..entry.value.end)),
            Key::At
            | Key::Say
            | Key::Set
            | Key::Call
            | Key::Args
            | Key::As
            | Key::Think
            | Key::Wait
            | Key::Return
            | Key::End => None,
        })
    }

    /// Where in the object the reply ended, for the message.
    pub(super) fn describe_place(&self) -> String {
        let place = match self.expect {
            Expect::Text(_) if self.in_key => "in a key",
            Expect::Text(_) => "in a string",
            Expect::Colon => "behind a key",
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
    pub(super) fn advance(&mut self, bytes: &[u8], start: u64, readings: &mut Vec<Reading>) -> ScanEnd {
        while let Some(&byte) = bytes.get(self.cursor) {
            let step = match self.expect {
                Expect::Text(escape) => self.read_text(escape, byte, bytes, readings),
                Expect::Number => self.read_number(byte, bytes),
                Expect::Word => self.read_word(byte, bytes),
                Expect::KeyOrEnd
                | Expect::Key
                | Expect::Colon
                | Expect::Value
                | Expect::ItemOrEnd
                | Expect::Item
                | Expect::Next => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => {
                        self.cursor += 1;
                        Ok(ScanEnd::More)
                    }
                    _ => self.read_structure(byte, bytes, start, readings),
                },
            };
            match step {
                Ok(ScanEnd::More) => {}
                Ok(end) => return end,
                Err(fault) => return ScanEnd::Fault(fault),
            }
        }
        self.decode_speech(bytes, self.cursor, false).map_or_else(ScanEnd::Fault, |()| ScanEnd::More)
    }

    fn read_structure(
        &mut self,
        byte: u8,
        bytes: &[u8],
        start: u64,
        readings: &mut Vec<Reading>,
    ) -> Result<ScanEnd, ScanFault> {
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
                let message = match self.expect {
                    Expect::KeyOrEnd | Expect::Key => "expected a key in double quotes or `}`, found ".to_owned(),
                    Expect::Colon => "expected `:` behind the key, found ".to_owned(),
                    _ => {
                        let closing = if self.in_array() { ']' } else { '}' };
                        let hint = " (a double quote inside a string is written \\\")";
                        let hint = if self.behind_text { hint } else { "" };
                        format!("expected `,` or `{closing}` behind the value{hint}, found ")
                    }
                };
                return Err(self.unexpected(message));
            }
        }
        self.cursor += 1;
        Ok(ScanEnd::More)
    }

    fn begin_value(&mut self, byte: u8, start: u64, readings: &mut Vec<Reading>) -> Result<ScanEnd, ScanFault> {
        if self.depth == 1 {
            self.value = self.cursor;
            match &self.key {
                Some((Key::Unknown(key), _)) if key == "trace" && byte == b'[' && self.seen == 0 => {
                    self.cursor += 1;
                    return Ok(ScanEnd::Trace);
                }
                Some((Key::Say, _)) if byte == b'"' && self.may_speak && self.seen & BEFORE_SAY == 0 => {
                    self.speech =
                        Some(Speech { text: String::new(), n_given: 0, from: self.cursor + 1, unit: 0, high: None });
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
                    return Err(self.fault(ReadFaultKind::Json, self.cursor, message));
                }
                self.depth += 1;
                self.arrays = self.arrays << 1 | u128::from(byte == b'[');
                self.expect = if byte == b'[' { Expect::ItemOrEnd } else { Expect::KeyOrEnd };
            }
            b'-' | b'0'..=b'9' => self.expect = Expect::Number,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.expect = Expect::Word,
            _ => return Err(self.unexpected("expected a JSON value, found ".to_owned())),
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

    fn read_number(&mut self, byte: u8, bytes: &[u8]) -> Result<ScanEnd, ScanFault> {
        if matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') {
            self.cursor += 1;
            return Ok(ScanEnd::More);
        }
        let number = &bytes[self.token..self.cursor];
        if !is_number(number) {
            let number = String::from_utf8_lossy(&number[..number.len().min(40)]);
            return Err(self.fault(ReadFaultKind::Json, self.token, format!("`{number}` is no JSON number")));
        }
        self.end_value(bytes);
        Ok(ScanEnd::More)
    }

    fn read_word(&mut self, byte: u8, bytes: &[u8]) -> Result<ScanEnd, ScanFault> {
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
            [b'$', ..] => "; a reference stands in a string: \"$name\"",
            _ => "; a text stands in double quotes",
        };
        let word = String::from_utf8_lossy(&word[..word.len().min(40)]);
        Err(self.fault(ReadFaultKind::Json, self.token, format!("`{word}` is no JSON value{hint}")))
    }

    fn read_text(
        &mut self,
        escape: Escape,
        byte: u8,
        bytes: &[u8],
        readings: &mut Vec<Reading>,
    ) -> Result<ScanEnd, ScanFault> {
        match escape {
            Escape::No => {
                self.cursor += n_plain(&bytes[self.cursor..]);
                let Some(&byte) = bytes.get(self.cursor) else {
                    return Ok(ScanEnd::More);
                };
                self.decode_speech(bytes, self.cursor, true)?;
                match byte {
                    b'"' => {
                        self.refuse_lone_surrogate()?;
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
                        return Err(self.fault(ReadFaultKind::Json, self.cursor, message.to_owned()));
                    }
                    b'\t' => {
                        let message = "a tab character in a string; write it \\t".to_owned();
                        return Err(self.fault(ReadFaultKind::Json, self.cursor, message));
                    }
                    _ => {
                        let message = format!("a control character in a string; write it \\u{byte:04x}");
                        return Err(self.fault(ReadFaultKind::Json, self.cursor, message));
                    }
                }
            }
            Escape::Backslash => {
                let character = match byte {
                    b'u' => {
                        self.cursor += 1;
                        self.expect = Expect::Text(Escape::Hex(4));
                        return Ok(ScanEnd::More);
                    }
                    b'"' | b'\\' | b'/' => char::from(byte),
                    b'n' => '\n',
                    b't' => '\t',
                    b'r' => '\r',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    _ => {
                        let message =
                            "JSON knows the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX only, found \\ and ";
                        return Err(self.unexpected(message.to_owned()));
                    }
                };
                self.refuse_lone_surrogate()?;
                self.cursor += 1;
                if let Some(speech) = &mut self.speech {
                    speech.text.push(character);
                    speech.from = self.cursor;
                }
                self.expect = Expect::Text(Escape::No);
            }
            Escape::Hex(n_left) => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    return Err(self.unexpected("expected four hexadecimal digits behind \\u, found ".to_owned()));
                };
                self.cursor += 1;
                if let Some(speech) = &mut self.speech {
                    #[allow(clippy::cast_possible_truncation)] // A digit has four bits.
                    let digit = digit as u16;
                    speech.unit = speech.unit << 4 | digit;
                    speech.from = self.cursor;
                }
                self.expect = Expect::Text(if n_left == 1 { Escape::No } else { Escape::Hex(n_left - 1) });
                if n_left == 1 {
                    self.end_unit()?;
                }
            }
        }
        Ok(ScanEnd::More)
    }

    /// The closing quote was read.
    fn end_text(&mut self, bytes: &[u8], readings: &mut Vec<Reading>) -> Result<(), ScanFault> {
        let text = &bytes[self.token + 1..self.cursor - 1];
        if self.in_key {
            self.expect = Expect::Colon;
            return if self.depth == 1 { self.end_key(text) } else { Ok(()) };
        }
        if let Some(text) = self.take_speech() {
            readings.push(Reading::SayText(text));
        }
        if let Some(speech) = self.speech.take() {
            self.said = Some(speech.text);
            readings.push(Reading::SayEnded);
        }
        self.end_value(bytes);
        Ok(())
    }

    fn end_key(&mut self, text: &[u8]) -> Result<(), ScanFault> {
        let decoded;
        let text = if text.contains(&b'\\') {
            decoded = serde_json::from_slice::<String>(&[b"\"", text, b"\""].concat());
            decoded.as_deref().ok()
        } else {
            std::str::from_utf8(text).ok()
        };
        let Some(text) = text else {
            let message = "the key is no valid Unicode text".to_owned();
            return Err(self.fault(ReadFaultKind::Json, self.token, message));
        };
        let key = Key::new(text);
        let is_new = match &key {
            Key::Unknown(text) => self.seen_unknown.insert(text.clone()),
            known => self.seen & known.bit() == 0,
        };
        if !is_new {
            let text: String = text.chars().take(40).collect();
            let message = format!("the key `{text}` stands twice in this object; write two lines");
            return Err(self.fault(ReadFaultKind::DuplicateKey, self.token, message));
        }
        self.seen |= key.bit();
        self.key = Some((key, self.token));
        Ok(())
    }

    /// Decodes the plain bytes of a streamed string up to `end`. Half a UTF-8 sequence is left for later, unless
    /// the run of plain bytes `is_over`.
    fn decode_speech(&mut self, bytes: &[u8], end: usize, is_over: bool) -> Result<(), ScanFault> {
        let Some(speech) = &mut self.speech else {
            return Ok(());
        };
        // Behind a backslash or inside \uXXXX there is nothing plain.
        let plain = &bytes[speech.from.min(end)..end];
        if plain.is_empty() || !matches!(self.expect, Expect::Text(Escape::No)) {
            return Ok(());
        }
        if speech.high.is_some() {
            return self.refuse_lone_surrogate();
        }
        match std::str::from_utf8(plain) {
            Ok(text) => {
                speech.text.push_str(text);
                speech.from = end;
            }
            Err(error) => {
                let n_valid = error.valid_up_to();
                speech.text.push_str(std::str::from_utf8(&plain[..n_valid]).unwrap_or_default());
                speech.from += n_valid;
                if is_over || error.error_len().is_some() {
                    let at = speech.from;
                    return Err(self.fault(ReadFaultKind::Json, at, "the string is no valid UTF-8".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// A `\uXXXX` of a streamed string is complete.
    fn end_unit(&mut self) -> Result<(), ScanFault> {
        let Some(speech) = &mut self.speech else {
            return Ok(());
        };
        let unit = std::mem::take(&mut speech.unit);
        let decoded = match (speech.high.take(), unit) {
            (None, 0xD800..=0xDBFF) => {
                speech.high = Some(unit);
                return Ok(());
            }
            (None, _) => char::from_u32(u32::from(unit)),
            (Some(high), _) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
        };
        match decoded {
            Some(character) => {
                speech.text.push(character);
                Ok(())
            }
            None => Err(self.lone_surrogate()),
        }
    }

    fn refuse_lone_surrogate(&self) -> Result<(), ScanFault> {
        if self.speech.as_ref().is_some_and(|speech| speech.high.is_some()) {
            return Err(self.lone_surrogate());
        }
        Ok(())
    }

    fn lone_surrogate(&self) -> ScanFault {
        let at = self.speech.as_ref().map_or(self.cursor, |speech| speech.from) - 1;
        self.fault(ReadFaultKind::Json, at, HALF_SURROGATE.to_owned())
    }

    fn fault(&self, kind: ReadFaultKind, at: usize, message: String) -> ScanFault {
        ScanFault { kind, at, message, names_found: false }
    }

    fn unexpected(&self, message: String) -> ScanFault {
        ScanFault { kind: ReadFaultKind::Json, at: self.cursor, message, names_found: true }
    }
}

/// How many bytes at the beginning of `bytes` stand for themselves in a JSON string: up to a quote, a backslash
/// or a control character. Eight at a time, because replies consist of strings mostly.
fn n_plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let (words, _) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // The lowest high bit is exact; borrows can make a false one above a true one only.
        let special = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let special = special & HIGHS;
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let n_done = words.len() * 8;
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    n_done + bytes[n_done..].iter().position(is_special).unwrap_or(bytes.len() - n_done)
}

/// Whether the bytes are a number by JSON's grammar.
fn is_number(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let n_digits = digits(rest);
    if n_digits == 0 || (n_digits > 1 && rest[0] == b'0') {
        return false;
    }
    let mut rest = &rest[n_digits..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n_digits = digits(fraction);
        if n_digits == 0 {
            return false;
        }
        rest = &fraction[n_digits..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            _ => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
