//! Expressions of dataflow documents as they were written, before names have a meaning (spec `plans.md`, 3.2).

use crate::dataflow::lexer::{Lexed, Token, is_name, next_token};

/// How deep expressions may stand inside each other, a chain of `.name` counted like brackets. What is made of
/// them is walked by recursion.
pub(super) const MAX_DEPTH: usize = 64;

/// A name and its place.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// An expression; places in bytes of the text it stands in.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) start: usize,
    pub(super) end: usize,
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

/// Why a text is no expression.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) message: String,
    pub(super) note: Option<&'static str>,
}

/// What the language has, for everything it does not have.
const SUBSET: &str = "an expression has names, integers, strings, [lists], {maps}, `.member`, `[0]`, and the functions of \
                      dates; nothing else of JavaScript";

/// Words that begin an expression of JavaScript.
const KEYWORDS: [&str; 9] = ["new", "typeof", "await", "async", "function", "void", "delete", "yield", "class"];

/// Reads what stands between `start` and `end` of `text`, all of it.
pub(super) fn parse(text: &str, start: usize, end: usize) -> Result<Raw, Fault> {
    let text = text.get(..end).unwrap_or("");
    let mut parser = Parser { text, next: next_token(text, start), behind: start };
    if parser.next.token == Token::End {
        let message = "there is no expression between `${` and `}`";
        return Err(Fault { code: "empty-expression", start, end, message: message.to_owned(), note: None });
    }
    let read = parser.expression(0)?;
    if parser.next.token == Token::End { Ok(read) } else { Err(parser.unexpected("the end of the expression")) }
}

struct Parser<'a> {
    text: &'a str,
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

    fn expect(&mut self, symbol: char, what: &str) -> Result<(), Fault> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn fault(&self, code: &'static str, message: String) -> Fault {
        Fault { code, start: self.next.start, end: self.next.end, message, note: None }
    }

    /// What is wrong with the next token where `wanted` should be.
    fn unexpected(&self, wanted: &str) -> Fault {
        let source = self.text.get(self.next.start..self.next.end).unwrap_or("");
        match &self.next.token {
            Token::Foreign(what) => self.foreign(what),
            // After an operand the sign is an operator.
            Token::Int(_) if source.starts_with('-') => self.foreign("an operator (`-`)"),
            Token::Bad(message) => self.fault("bad-expression", (*message).to_owned()),
            Token::End => {
                let message = format!("the expression ends where {wanted} should be");
                Fault { start: self.behind, end: self.behind, ..self.fault("bad-expression", message) }
            }
            Token::Int(_) | Token::Str(_) | Token::Name(_) | Token::Symbol(_) => {
                self.fault("bad-expression", format!("expected {wanted}, not `{source}`"))
            }
        }
    }

    fn foreign(&self, what: &str) -> Fault {
        Fault { note: Some(SUBSET), ..self.fault("not-in-language", format!("{what} is not part of this language")) }
    }

    fn too_deep(&self) -> Fault {
        self.fault("nested-too-deep", format!("the expression is nested deeper than {MAX_DEPTH} levels"))
    }

    /// Puts a node together; `inside` are its parts.
    fn node(&self, start: usize, kind: RawKind, inside: usize) -> Result<Raw, Fault> {
        let depth = inside + 1;
        if depth > MAX_DEPTH { Err(self.too_deep()) } else { Ok(Raw { start, end: self.behind, kind, depth }) }
    }

    fn expression(&mut self, level: usize) -> Result<Raw, Fault> {
        if level > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let mut read = self.primary(level)?;
        loop {
            let (start, depth) = (read.start, read.depth);
            if self.take('.') {
                let Token::Name(name) = self.next.token else {
                    return Err(self.unexpected("a name behind `.`"));
                };
                let name = Named { name: name.to_owned(), start: self.next.start, end: self.next.end };
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
                    return Err(Fault { note: fault.note.or(Some(note)), ..fault });
                };
                self.advance();
                self.expect(']', "`]`")?;
                read = self.node(start, RawKind::Index(Box::new(read), index), depth)?;
            } else {
                return Ok(read);
            }
        }
    }

    fn primary(&mut self, level: usize) -> Result<Raw, Fault> {
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
            // A function of other languages; nothing here stands in brackets of its own.
            Token::Symbol('(') => {
                let mut fault = self.fault("not-in-language", "brackets are not part of this language".to_owned());
                if self.text[start..].contains("=>") {
                    fault.message = "an arrow function (`=>`) is not part of this language".to_owned();
                }
                Err(Fault { note: Some(SUBSET), ..fault })
            }
            Token::Name(name) => {
                let named = Named { name: name.to_owned(), start, end: self.next.end };
                self.advance();
                if KEYWORDS.contains(&name) && matches!(self.next.token, Token::Name(_)) {
                    let message = format!("`{name}` is not part of this language");
                    let fault = Fault { start, end: named.end, ..self.fault("not-in-language", message) };
                    return Err(Fault { note: Some(SUBSET), ..fault });
                }
                if self.take('(') {
                    let (arguments, inside) = self.expressions(')', level)?;
                    self.node(start, RawKind::Call(named, arguments), inside)
                } else {
                    self.node(start, RawKind::Name(named.name), 0)
                }
            }
            Token::Symbol(_) | Token::End | Token::Foreign(_) | Token::Bad(_) => Err(self.unexpected("a value")),
        }
    }

    /// Expressions with commas between them up to `close`, and the depth of the deepest.
    fn expressions(&mut self, close: char, level: usize) -> Result<(Vec<Raw>, usize), Fault> {
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
    fn members(&mut self, level: usize) -> Result<(Vec<(Named, Raw)>, usize), Fault> {
        let mut members = Vec::new();
        let mut depth = 0;
        while !self.take('}') {
            let (start, end) = (self.next.start, self.next.end);
            let (name, is_bare) = match self.next.token.clone() {
                Token::Name(name) => (name.to_owned(), true),
                Token::Str(name) => (name, false),
                Token::Int(_) | Token::Symbol(_) | Token::End | Token::Foreign(_) | Token::Bad(_) => {
                    return Err(self.unexpected("a key"));
                }
            };
            self.advance();
            let named = Named { name: name.clone(), start, end };
            let value = if self.take(':') {
                self.expression(level + 1)?
            } else if is_bare && is_name(&name) && !matches!(self.next.token, Token::Symbol('.' | '(' | '[')) {
                self.node(start, RawKind::Name(name), 0)?
            } else {
                return Err(self.unexpected("`:` and a value behind the key"));
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
