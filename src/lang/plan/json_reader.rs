//! Tokens of JSON to a tree, and what is wrong with them. The only file that names `jsonc-parser`.

use std::borrow::Cow;

use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{ParseStringErrorKind, Scanner, ScannerOptions};

use crate::diagnostic::Diagnostic;
use crate::plan::json_text::{Builder, Kind, Reading};
use crate::plan::wording::shown;
use crate::span::{FileId, Span};

const CODE: &str = "plan-bad-json";

/// What the scanner may read beyond JSON: nothing.
const STRICT: ScannerOptions = ScannerOptions {
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A value; behind the opening bracket of a list also its end.
    Value,
    /// A value behind a comma.
    ValueBehindComma,
    /// A key, or the end of the object.
    Key,
    /// A key behind a comma.
    KeyBehindComma,
    Colon,
    /// A comma, or the end of what is open.
    Comma,
}

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    /// The scanner's offsets count from here.
    start: usize,
    scanner: Scanner<'a>,
    builder: Builder<'a>,
    faults: Vec<Diagnostic>,
    max_faults: usize,
    expected: Expected,
    /// Where the last token ended.
    before: usize,
    /// Where whoever looks for another value goes on if this is none.
    resume: usize,
    /// Where the last token began, if it was a text.
    text_before: Option<usize>,
    /// Whether this token stands directly behind a text.
    touches_text: bool,
    last_comma: Span,
    /// Where the last value ended.
    value_end: usize,
    /// Whether that was a number; what follows it at once is no new value.
    was_number: bool,
}

/// Reading can't go on; the fault is reported.
struct Stop;

/// Reads the value that begins at `start`.
pub(crate) fn read<'a>(file: FileId, text: &'a str, start: usize, max_faults: usize) -> Reading<'a> {
    let source = text.get(start..).unwrap_or("");
    let mut reader = Reader {
        file,
        text,
        start,
        scanner: Scanner::new(source, &STRICT),
        builder: Builder::new(),
        faults: Vec::new(),
        max_faults,
        expected: Expected::Value,
        before: start,
        resume: start,
        text_before: None,
        touches_text: false,
        last_comma: Span::new(file, start, start),
        value_end: start,
        was_number: false,
    };
    while let Ok(false) = reader.step() {}
    let Reader { builder, faults, before, resume, .. } = reader;
    let (document, duplicates, is_plan) = builder.finish();
    let resume = if faults.is_empty() { before } else { resume };
    Reading { document, faults, duplicates, resume, is_plan }
}

impl<'a> Reader<'a> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    /// Reports what could be read over.
    fn fault(&mut self, fault: Diagnostic) -> Result<(), Stop> {
        self.faults.push(fault);
        if self.faults.len() < self.max_faults { Ok(()) } else { Err(Stop) }
    }

    /// Reports what could not.
    fn stop<T>(&mut self, span: Span, message: impl Into<String>) -> Result<T, Stop> {
        self.faults.push(Diagnostic::error(CODE, span, message));
        Err(Stop)
    }

    /// The next token, with comments, words and exotic white space dealt with.
    fn token(&mut self) -> Result<(Token<'a>, Span), Stop> {
        loop {
            let scanned = self.scanner.scan();
            let start = self.start + self.scanner.token_start();
            let end = self.start + self.scanner.token_end();
            self.white_space(start)?;
            let span = self.span(start, end);
            self.touches_text = self.text_before.is_some() && self.before == start;
            self.resume = self.text_before.take().unwrap_or(start);
            let token = match scanned {
                Ok(Some(token)) => token,
                Ok(None) => return self.ended(),
                // A word that a bracket or comma follows; the scanner has read the word.
                Err(error) if matches!(error.kind(), ParseErrorKind::UnexpectedToken) && end > start => {
                    Token::Word(self.text.get(start..end).unwrap_or(""))
                }
                Err(error) => return self.no_token(&error),
            };
            self.before = end;
            if let Token::CommentLine(_) | Token::CommentBlock(_) = token {
                let fault = Diagnostic::error(CODE, span, "JSON has no comments");
                self.resume = end;
                self.fault(fault.with_fix("remove it", span, ""))?;
                continue;
            }
            if let Token::String(_) = token {
                self.text_before = Some(start);
                self.control_characters(start, end)?;
            }
            return Ok((token, span));
        }
    }

    /// Between tokens the scanner accepts more than JSON does.
    fn white_space(&mut self, until: usize) -> Result<(), Stop> {
        let gap = self.text.get(self.before..until).unwrap_or("");
        let odd = gap.char_indices().find(|(_, character)| !matches!(character, ' ' | '\t' | '\n' | '\r'));
        let Some((at, character)) = odd else { return Ok(()) };
        let span = self.span(self.before + at, self.before + at + character.len_utf8());
        let message = format!("the character U+{:04X} between values is no white space of JSON", u32::from(character));
        self.fault(Diagnostic::error(CODE, span, message).with_fix("write a space", span, " "))
    }

    /// Line breaks and tabs in strings are fine, other control characters are not.
    fn control_characters(&mut self, start: usize, end: usize) -> Result<(), Stop> {
        let bytes = self.text.as_bytes().get(start..end).unwrap_or_default();
        let odd = bytes.iter().position(|byte| *byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t'));
        let Some(at) = odd else { return Ok(()) };
        let span = self.span(start + at, start + at + 1);
        let escape = format!("\\u{:04x}", bytes[at]);
        let fault = Diagnostic::error(CODE, span, "a text can't hold this control character as it is");
        self.fault(fault.with_fix("escape it", span, escape))
    }

    fn ended<T>(&mut self) -> Result<T, Stop> {
        let read = self.text.get(..self.before).unwrap_or("");
        self.before = read.len();
        let at = self.span(read.len(), read.len());
        let fault = match self.builder.innermost() {
            None => Diagnostic::error(CODE, at, "a value is expected here"),
            Some((is_list, open)) => {
                let what = if is_list { "list" } else { "object" };
                let n_others = self.builder.depth() - 1;
                let fault = Diagnostic::error(CODE, at, format!("the text ends here, before this {what} does"));
                let fault = fault.with_place(open, "it begins here");
                match n_others {
                    0 => fault,
                    1 => fault.with_note("what is around it is open too"),
                    n => fault.with_note(format!("{n} lists and objects around it are open too")),
                }
            }
        };
        self.faults.push(fault);
        Err(Stop)
    }

    /// What the scanner can't read.
    fn no_token<T>(&mut self, error: &ParseError) -> Result<T, Stop> {
        let range = error.range();
        let (mut start, mut end) = (self.start + range.start, self.start + range.end);
        let kind = error.kind();
        let message = if matches!(kind, ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral)) {
            // Up to the end of the line, not of the file.
            end = self.text.get(start..end).and_then(|text| text.find('\n')).map_or(end, |at| start + at);
            "this text has no closing quotation mark".to_owned()
        } else if let ParseErrorKind::String(string) = kind {
            match string {
                ParseStringErrorKind::InvalidEscape
                | ParseStringErrorKind::InvalidEscapeInDoubleQuoteString
                | ParseStringErrorKind::InvalidEscapeInSingleQuoteString => {
                    end = self.escape_end(start);
                    let escape = self.text.get(start..end).unwrap_or("");
                    format!("`{}` is no escape of JSON; a backslash itself is written `\\\\`", shown(escape))
                }
                ParseStringErrorKind::InvalidUnicodeEscapeSequence(_) => {
                    "this escape stands for no character".to_owned()
                }
                ParseStringErrorKind::ExpectedFourHexDigits
                | ParseStringErrorKind::ExpectedTwoHexDigits
                | ParseStringErrorKind::UnterminatedStringLiteral => {
                    "four hexadecimal digits are expected behind `\\u`".to_owned()
                }
            }
        } else if matches!(kind, ParseErrorKind::UnterminatedCommentBlock) {
            self.resume = self.text.len();
            end = start + 2;
            "JSON has no comments".to_owned()
        } else if matches!(kind, ParseErrorKind::UnexpectedToken) {
            if self.touches_text {
                return self.quotation_mark(start);
            }
            let rest = self.text.get(start..).unwrap_or("");
            let first = rest.chars().next().unwrap_or(' ');
            end = start + rest.len() - rest.trim_start_matches(first).len();
            format!("`{}` is no JSON", shown(self.text.get(start..end).unwrap_or("")))
        } else {
            wording(kind)
        };
        // On character boundaries, whatever the scanner says.
        start = self.boundary(start);
        end = self.boundary(end);
        self.before = start.max(self.before);
        let span = self.span(start, end);
        self.stop(span, message)
    }

    /// Something follows a text without any gap: a quotation mark inside it was not escaped, most likely.
    fn quotation_mark<T>(&mut self, end: usize) -> Result<T, Stop> {
        let mark = self.span(end - 1, end);
        let fault = Diagnostic::error(CODE, mark, "the text ends here, and something follows it");
        self.faults.push(fault.with_fix("if it is a part of the text, escape it", mark, "\\\""));
        Err(Stop)
    }

    fn escape_end(&self, start: usize) -> usize {
        let mut characters = self.text.get(start..).unwrap_or("").char_indices().skip(1);
        characters.next().map_or(self.text.len(), |(at, character)| start + at + character.len_utf8())
    }

    fn boundary(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset.min(self.text.len()))
    }

    /// Handles one token. Whether the document is whole.
    fn step(&mut self) -> Result<bool, Stop> {
        let (token, span) = self.token()?;
        let in_list = self.builder.innermost().is_none_or(|(is_list, _)| is_list);
        match self.expected {
            Expected::Colon => match token {
                Token::Colon => {
                    self.expected = Expected::Value;
                    Ok(false)
                }
                Token::OpenBrace
                | Token::CloseBrace
                | Token::OpenBracket
                | Token::CloseBracket
                | Token::Comma
                | Token::String(_)
                | Token::Word(_)
                | Token::Boolean(_)
                | Token::Number(_)
                | Token::Null
                | Token::CommentLine(_)
                | Token::CommentBlock(_) => self.stop(span, "`:` is expected behind a key"),
            },
            Expected::Comma => self.behind_value(token, span, in_list),
            Expected::Key | Expected::KeyBehindComma => self.key(token, span),
            Expected::Value | Expected::ValueBehindComma => self.value(token, span, in_list),
        }
    }

    /// A value was read. Whether it was the document.
    fn done(&mut self, is_whole: bool) -> Result<bool, Stop> {
        self.expected = Expected::Comma;
        Ok(is_whole)
    }

    fn scalar(&mut self, kind: Kind<'a>, span: Span) -> Result<bool, Stop> {
        self.was_number = matches!(kind, Kind::Int(_) | Kind::Float(_));
        self.value_end = span.end as usize;
        let is_whole = self.builder.scalar(kind, span);
        self.done(is_whole)
    }

    fn close(&mut self, span: Span) -> Result<bool, Stop> {
        self.was_number = false;
        self.value_end = span.end as usize;
        let is_whole = self.builder.end(span);
        self.done(is_whole)
    }

    fn value(&mut self, token: Token<'a>, span: Span, in_list: bool) -> Result<bool, Stop> {
        match token {
            Token::OpenBracket | Token::OpenBrace => {
                let is_list = token == Token::OpenBracket;
                self.builder.begin(is_list, span);
                self.expected = if is_list { Expected::Value } else { Expected::Key };
                Ok(false)
            }
            Token::String(text) => self.scalar(Kind::Text(text), span),
            Token::Boolean(truth) => self.scalar(Kind::Bool(truth), span),
            Token::Null => self.scalar(Kind::Null, span),
            Token::Number(digits) => {
                let kind = match number(digits) {
                    Some(kind) => kind,
                    None => {
                        let fault = Diagnostic::error(CODE, span, "this number is too large");
                        self.fault(fault.with_note("numbers are 64-bit integers and floats"))?;
                        Kind::Float(0.0)
                    }
                };
                self.scalar(kind, span)
            }
            Token::Word(word) => self.word(word, span),
            Token::CloseBracket if in_list && self.builder.depth() > 0 => {
                self.trailing_comma("element")?;
                self.close(span)
            }
            Token::CloseBracket | Token::CloseBrace | Token::Comma | Token::Colon => {
                self.stop(span, format!("a value is expected here, not `{}`", token.as_str()))
            }
            // `token` has dealt with them.
            Token::CommentLine(_) | Token::CommentBlock(_) => Ok(false),
        }
    }

    fn trailing_comma(&mut self, what: &str) -> Result<(), Stop> {
        if !matches!(self.expected, Expected::ValueBehindComma | Expected::KeyBehindComma) {
            return Ok(());
        }
        let comma = self.last_comma;
        let fault = Diagnostic::error(CODE, comma, format!("behind the last {what} there must be no comma"));
        self.fault(fault.with_fix("remove it", comma, ""))
    }

    /// Bare words where values stand: those of other languages are known.
    fn word(&mut self, word: &'a str, span: Span) -> Result<bool, Stop> {
        let (kind, meant) = match word {
            "True" | "TRUE" => (Kind::Bool(true), "true".to_owned()),
            "False" | "FALSE" => (Kind::Bool(false), "false".to_owned()),
            "None" | "NULL" | "Null" | "undefined" | "nil" | "NaN" | "Infinity" => (Kind::Null, "null".to_owned()),
            _ => (Kind::Text(Cow::Borrowed(word)), format!("\"{word}\"")),
        };
        let message = format!("`{}` is no JSON", shown(word));
        let fault = Diagnostic::error(CODE, span, message);
        self.fault(fault.with_fix(format!("write `{}`", shown(&meant)), span, meant))?;
        self.scalar(kind, span)
    }

    fn key(&mut self, token: Token<'a>, span: Span) -> Result<bool, Stop> {
        let key = match token {
            Token::String(key) => key,
            Token::CloseBrace => {
                self.trailing_comma("member")?;
                return self.close(span);
            }
            Token::Word(word) => {
                let fault = Diagnostic::error(CODE, span, format!("the key `{}` needs quotation marks", shown(word)));
                self.fault(fault.with_fix("add them", span, format!("\"{word}\"")))?;
                Cow::Borrowed(word)
            }
            Token::OpenBrace
            | Token::OpenBracket
            | Token::CloseBracket
            | Token::Comma
            | Token::Colon
            | Token::Boolean(_)
            | Token::Number(_)
            | Token::Null
            | Token::CommentLine(_)
            | Token::CommentBlock(_) => {
                return self.stop(span, format!("a key in quotation marks is expected here, not `{}`", token.as_str()));
            }
        };
        self.builder.key(key, span);
        self.expected = Expected::Colon;
        Ok(false)
    }

    fn behind_value(&mut self, token: Token<'a>, span: Span, in_list: bool) -> Result<bool, Stop> {
        match token {
            Token::Comma => {
                self.last_comma = span;
                self.expected = if in_list { Expected::ValueBehindComma } else { Expected::KeyBehindComma };
                Ok(false)
            }
            Token::CloseBracket if in_list => self.close(span),
            Token::CloseBrace if !in_list => self.close(span),
            Token::CloseBracket | Token::CloseBrace => {
                let what = if in_list { "list" } else { "object" };
                let message = format!("`{}` does not end a {what}", token.as_str());
                let error = Diagnostic::error(CODE, span, message);
                let open = self.builder.innermost().map_or(span, |(_, open)| open);
                self.faults.push(error.with_place(open, format!("the {what} begins here")));
                Err(Stop)
            }
            Token::Colon => self.stop(span, "`,` is expected behind a value, not `:`"),
            Token::Number(_) if self.was_number && self.value_end == span.start as usize => {
                self.stop(span, "a number is not written with a leading zero")
            }
            Token::Word(_) if self.touches_text => self.quotation_mark(span.start as usize),
            Token::Word(word) => {
                let message = format!("`{}` is no JSON", shown(word));
                self.fault(Diagnostic::error(CODE, span, message).with_fix("remove it", span, ""))?;
                Ok(false)
            }
            Token::OpenBrace
            | Token::OpenBracket
            | Token::String(_)
            | Token::Boolean(_)
            | Token::Number(_)
            | Token::Null => {
                let gap = self.span(self.value_end, self.value_end);
                let fault = Diagnostic::error(CODE, span, "a comma is missing before this");
                self.fault(fault.with_fix("add it", gap, ","))?;
                if in_list { self.value(token, span, true) } else { self.key(token, span) }
            }
            // `token` has dealt with them.
            Token::CommentLine(_) | Token::CommentBlock(_) => Ok(false),
        }
    }
}

/// What the scanner says of a token that JSON does not have, in our words.
fn wording(kind: &ParseErrorKind) -> String {
    if matches!(kind, ParseErrorKind::SingleQuotedStringsNotAllowed) {
        return "text stands in double quotation marks".to_owned();
    }
    if matches!(kind, ParseErrorKind::UnaryPlusNumbersNotAllowed) {
        return "a number is not written with a plus sign".to_owned();
    }
    if matches!(kind, ParseErrorKind::HexadecimalNumbersNotAllowed) {
        return "a number is written in decimal digits".to_owned();
    }
    if matches!(kind, ParseErrorKind::BareDecimalPointNumbersNotAllowed) {
        return "digits are expected on both sides of a decimal point".to_owned();
    }
    if matches!(kind, ParseErrorKind::NonFiniteNumbersNotAllowed) {
        return "`Infinity` and `NaN` are no JSON".to_owned();
    }
    let message = kind.to_string();
    let mut characters = message.chars();
    let first = characters.next().map_or(String::new(), |first| first.to_lowercase().to_string());
    format!("{first}{}", characters.as_str())
}

/// The number, as [`crate::value::Value::from_json`] reads it; none if it is infinite.
fn number(digits: &str) -> Option<Kind<'static>> {
    // Minus zero is a float: an integer would lose its sign.
    if let Ok(int) = digits.parse::<i64>()
        && digits != "-0"
    {
        return Some(Kind::Int(int));
    }
    digits.parse::<f64>().ok().filter(|float| float.is_finite()).map(Kind::Float)
}
