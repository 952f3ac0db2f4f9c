//! Expressions of dataflow documents as they were written, before names have a meaning (spec `plans.md`, 3.2).

use crate::diagnostic::Diagnostic;
use crate::plan::dataflow::lexer::{Lexed, Token, is_name, next_token};
use crate::plan::dataflow::yaml::Places;
use crate::span::Span;

/// How deep expressions may stand inside each other, a chain of `.name` counted like brackets. What is made of
/// them is walked by recursion.
pub(super) const MAX_DEPTH: usize = 64;

/// A name and its place.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) span: Span,
    pub(super) kind: RawKind,
    depth: usize,
}

#[derive(Clone, Debug)]
pub(super) enum RawKind {
    Int(i64),
    Str(String),
    List(Vec<Raw>),
    Map(Vec<(Named, Raw)>),
    Name(String),
    Call(Named, Vec<Raw>),
    Member(Box<Raw>, Named),
    Index(Box<Raw>, i64),
    Method(Box<Raw>, Named, Vec<Raw>),
}

/// What was read, or why the text is no expression.
type Read<T> = Result<T, Box<Diagnostic>>;

/// What the language has, for everything it does not have.
const SUBSET: &str = "an expression can use names, integers, strings, [lists], {maps}, `.member`, `[0]` and the date \
                      functions; no other JavaScript";

/// What is said of a function of JavaScript, before "not part of this language".
const ARROW: &str = "an arrow function (`=>`) is";

/// Reads what stands between `start` and `end` of `text`, all of it; `places` are those of the text.
pub(super) fn parse(text: &str, start: usize, end: usize, places: &Places) -> Read<Raw> {
    let text = text.get(..end).unwrap_or("");
    let mut parser = Parser { text, places, next: next_token(text, start), behind: start };
    if parser.next.token == Token::End {
        let message = "there is no expression between `${` and `}`";
        return Err(Box::new(Diagnostic::error("empty-expression", places.span(start, end), message)));
    }
    let read = parser.expression(0)?;
    if parser.next.token == Token::End { Ok(read) } else { Err(parser.unexpected("the end of the expression")) }
}

struct Parser<'a> {
    text: &'a str,
    places: &'a Places,
    next: Lexed<'a>,
    /// The end of the token before.
    behind: usize,
}

impl<'a> Parser<'a> {
    /// Takes the next token.
    fn advance(&mut self) -> Lexed<'a> {
        let next = next_token(self.text, self.next.end);
        self.behind = self.next.end;
        std::mem::replace(&mut self.next, next)
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.next.token == Token::Symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: char, what: &str) -> Read<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    /// The place of the next token.
    fn place(&self) -> Span {
        self.places.span(self.next.start, self.next.end)
    }

    /// What is wrong with the next token where `wanted` should be.
    fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let source = self.text.get(self.next.start..self.next.end).unwrap_or("");
        let fault = |message: String| Diagnostic::error("bad-expression", self.place(), message);
        Box::new(match &self.next.token {
            Token::Foreign if source == "=>" => self.foreign(ARROW),
            Token::Foreign => self.foreign(&format!("`{source}` is")),
            // After an operand the sign is an operator.
            Token::Int(_) if source.starts_with('-') => self.foreign("`-` is"),
            Token::Bad(message) => fault((*message).to_owned()),
            Token::End => {
                let end = self.places.span(self.behind, self.behind);
                Diagnostic { span: end, ..fault(format!("the expression ends where {wanted} should be")) }
            }
            Token::Int(_) | Token::Str(_) | Token::Name(_) | Token::Symbol(_) => {
                fault(format!("expected {wanted}, not `{source}`")).with_note(SUBSET)
            }
        })
    }

    fn foreign(&self, what: &str) -> Diagnostic {
        let message = format!("{what} not part of this language");
        Diagnostic::error("not-in-language", self.place(), message).with_note(SUBSET)
    }

    fn too_deep(&self) -> Box<Diagnostic> {
        let message = format!("the expression is nested deeper than {MAX_DEPTH} levels");
        Box::new(Diagnostic::error("nested-too-deep", self.place(), message))
    }

    /// Puts a node together; `inside` are its parts.
    fn node(&self, start: usize, kind: RawKind, inside: usize) -> Read<Raw> {
        let depth = inside + 1;
        let span = self.places.span(start, self.behind);
        if depth > MAX_DEPTH { Err(self.too_deep()) } else { Ok(Raw { span, kind, depth }) }
    }

    fn expression(&mut self, level: usize) -> Read<Raw> {
        if level > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let start = self.next.start;
        let mut read = self.primary(level)?;
        loop {
            let depth = read.depth;
            if self.take('.') {
                let Token::Name(name) = self.next.token else {
                    return Err(self.unexpected("a name after `.`"));
                };
                let name = Named { name: name.to_owned(), span: self.place() };
                self.advance();
                if self.take('(') {
                    let (arguments, inside) = self.expressions(')', level)?;
                    read = self.node(start, RawKind::Method(Box::new(read), name, arguments), depth.max(inside))?;
                } else {
                    read = self.node(start, RawKind::Member(Box::new(read), name), depth)?;
                }
            } else if self.take('[') {
                let Token::Int(index) = self.next.token else {
                    let fault = self.unexpected("a number between `[` and `]`");
                    let note = "an element is written `[0]`, a member `.name`";
                    return Err(Box::new(fault.with_note(note)));
                };
                self.advance();
                self.expect(']', "`]`")?;
                read = self.node(start, RawKind::Index(Box::new(read), index), depth)?;
            } else {
                return Ok(read);
            }
        }
    }

    fn primary(&mut self, level: usize) -> Read<Raw> {
        let start = self.next.start;
        match self.next.token.clone() {
            Token::Int(int) => {
                self.advance();
                self.node(start, RawKind::Int(int), 0)
            }
            Token::Str(content) => {
                self.advance();
                self.node(start, RawKind::Str(content), 0)
            }
            Token::Symbol('[') => {
                self.advance();
                let (items, inside) = self.expressions(']', level)?;
                self.node(start, RawKind::List(items), inside)
            }
            Token::Symbol('{') => {
                self.advance();
                let (members, inside) = self.members(level)?;
                self.node(start, RawKind::Map(members), inside)
            }
            Token::Name(name) => {
                let named = Named { name: name.to_owned(), span: self.place() };
                self.advance();
                if self.take('(') {
                    let (arguments, inside) = self.expressions(')', level)?;
                    self.node(start, RawKind::Call(named, arguments), inside)
                } else {
                    self.node(start, RawKind::Name(named.name), 0)
                }
            }
            Token::Symbol('(') => {
                let is_arrow = self.text[start..].contains("=>");
                Err(Box::new(self.foreign(if is_arrow { ARROW } else { "brackets are" })))
            }
            Token::Symbol(_) | Token::End | Token::Foreign | Token::Bad(_) => Err(self.unexpected("a value")),
        }
    }

    /// Expressions with commas between them up to `close`, and the depth of the deepest.
    fn expressions(&mut self, close: char, level: usize) -> Read<(Vec<Raw>, usize)> {
        let mut read = Vec::new();
        let mut depth = 0;
        while !self.take(close) {
            let expression = self.expression(level + 1)?;
            depth = depth.max(expression.depth);
            read.push(expression);
            if !self.take(',') {
                self.expect(close, &format!("`,` or `{close}`"))?;
                break;
            }
        }
        Ok((read, depth))
    }

    /// The members of a map up to its `}`, and the depth of the deepest.
    fn members(&mut self, level: usize) -> Read<(Vec<(Named, Raw)>, usize)> {
        let mut members = Vec::new();
        let mut depth = 0;
        while !self.take('}') {
            let (start, span) = (self.next.start, self.place());
            let (name, is_bare) = match self.next.token.clone() {
                Token::Name(name) => (name.to_owned(), true),
                Token::Str(name) => (name, false),
                Token::Int(_) | Token::Symbol(_) | Token::End | Token::Foreign | Token::Bad(_) => {
                    return Err(self.unexpected("a key"));
                }
            };
            self.advance();
            let named = Named { name: name.clone(), span };
            let value = if self.take(':') {
                self.expression(level + 1)?
            } else if is_bare && is_name(&name) && !matches!(self.next.token, Token::Symbol('.' | '(' | '[')) {
                self.node(start, RawKind::Name(name), 0)?
            } else {
                return Err(self.unexpected("`:` and a value after the key"));
            };
            depth = depth.max(value.depth);
            members.push((named, value));
            if !self.take(',') {
                self.expect('}', "`,` or `}`")?;
                break;
            }
        }
        Ok((members, depth))
    }
}
