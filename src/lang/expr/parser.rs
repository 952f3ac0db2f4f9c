//! Text to expression: precedence climbing over the tokens of `lexer` (spec `language.md`, "Expressions").

use std::sync::Arc;

use crate::expr::lexer::{Lexed, Token, next_token, read_number};
use crate::expr::tree::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::span::{FileId, Span};
use crate::value::Value;

/// How deep expressions may be nested. Every operator of a chain counts: the tree of `1 + 1 + 1` is as deep as
/// it is long, and whoever walks it does so by recursion.
pub const MAX_DEPTH: usize = 100;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// Where reading stopped.
    pub span: Span,
    /// What was expected there.
    pub message: String,
}

/// What is said of an expression that is nested too deep.
pub(crate) fn too_deep_message() -> String {
    format!("expression is nested deeper than {MAX_DEPTH} levels; split it into several lines")
}

impl ExprError {
    /// Whether it would be an expression, were it not so deep.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.message == too_deep_message()
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As a value: texts stand in quotes.
    Value,
    /// As a condition in a sentence: `=` compares, and a text may stand without quotes after `is`.
    Sentence,
}

/// Reads the whole of `text` as one expression, a value. `offset` is the place of `text` in `file`; all spans are in
/// the file. The error tells the first place that does not fit.
pub fn parse(text: &str, file: FileId, offset: usize) -> Result<Expr, ExprError> {
    parse_as(Style::Value, text, file, offset)
}

/// Reads the whole of `text` as a condition in a sentence, where `=` compares and a text needs no quotes after `is`.
///
/// # Errors
/// As [`parse`].
pub fn parse_condition(text: &str, file: FileId, offset: usize) -> Result<Expr, ExprError> {
    parse_as(Style::Sentence, text, file, offset)
}

/// Reads the whole of `text` as one expression, as [`parse`] does.
pub(crate) fn parse_as(style: Style, text: &str, file: FileId, offset: usize) -> Result<Expr, ExprError> {
    let mut parser = Parser::new(style, text, file, offset);
    let expr = parser.binary(0, 0)?.expr;
    // A sentence may end in a full stop.
    if parser.next.token == Token::End || text[parser.end..].trim() == "." {
        Ok(expr)
    } else {
        Err(parser.error("expected an operator or the end"))
    }
}

/// Reads the longest expression at the beginning of `text` and gives it with its length in bytes.
pub(crate) fn parse_prefix(style: Style, text: &str, file: FileId, offset: usize) -> Result<(Expr, usize), ExprError> {
    let mut parser = Parser::new(style, text, file, offset);
    let expr = parser.binary(0, 0)?.expr;
    Ok((expr, parser.end))
}

/// Reads the longest sum, product or value at the beginning of `text`, as [`parse_prefix`] does: `in` ends it.
pub(crate) fn parse_operand(text: &str, file: FileId, offset: usize) -> Result<(Expr, usize), ExprError> {
    let mut parser = Parser::new(Style::Value, text, file, offset);
    let expr = parser.binary(COMPARISON, 0)?.expr;
    Ok((expr, parser.end))
}

/// The arguments of a call, each with its name if it has one.
pub(crate) type Arguments = Vec<(Option<Arc<str>>, Expr)>;

/// Reads what stands between the brackets of a call, `text` beginning after the `(`: expressions, each with a
/// `name=` in front if it has one. Gives them with the length read, the `)` included.
pub(crate) fn parse_arguments(text: &str, file: FileId, offset: usize) -> Result<(Arguments, usize), ExprError> {
    let mut parser = Parser::new(Style::Value, text, file, offset);
    let mut arguments = Vec::new();
    parser.items(")", |parser| {
        arguments.push((parser.argument_name(), parser.binary(0, 0)?.expr));
        Ok(())
    })?;
    Ok((arguments, parser.end))
}

/// Only booleans are conditions. `$a is "x" or "y"` is English for something else than it says here.
pub(crate) fn expect_condition(expr: &Expr) -> Result<(), ExprError> {
    let never = match &expr.kind {
        ExprKind::Literal(value) => !matches!(value, Value::Bool(_)),
        ExprKind::List(_) | ExprKind::Map(_) | ExprKind::Text(_) | ExprKind::Range(..) | ExprKind::Length(_) => true,
        ExprKind::Unary(operator, _) => *operator != UnaryOperator::Not,
        ExprKind::Binary(operator, ..) => operator.is_arithmetic(),
        ExprKind::Reference(_) | ExprKind::Test { .. } => false,
    };
    if never {
        let message = "this is not a condition; `and`, `or` and `not` need comparisons, such as `$x is 3`".to_owned();
        return Err(ExprError { span: expr.span, message });
    }
    Ok(())
}

/// An expression and the height of its tree.
#[derive(Clone)]
pub(super) struct Parsed {
    pub(super) expr: Expr,
    pub(super) height: usize,
}

/// Precedence climbing over one token of look-ahead.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    file: FileId,
    offset: usize,
    /// The token not yet consumed.
    pub(super) next: Lexed,
    /// Where the last consumed token ended.
    pub(super) end: usize,
    style: Style,
    /// How many lists, maps and arguments are open: a comma between digits ends a number there.
    pub(super) n_brackets: usize,
    /// Whether the right side that was read last lists several.
    pub(super) listed: bool,
    /// Whether it has a text without quotes, which is compared in any case.
    pub(super) any_case: bool,
    /// Whether the degree that was read last is an age (`older than`), or a length (`longer than`).
    pub(super) says_older: bool,
    pub(super) says_longer: bool,
    /// Whether more or less than what comes is asked for: `20k` is a number there.
    pub(super) in_degree: bool,
    /// Whether the verb that comes is said of several variables: `both $a and $b contain "x"`.
    pub(super) is_plural: bool,
    /// What joins several there.
    pub(super) joint: &'static str,
}

/// How tightly operators bind: `or`, `and`, `not`, comparisons, sums, products, signs.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
pub(super) const COMPARISON: u8 = 4;

/// Operators in words.
const WORD_OPERATORS: [(&str, BinaryOperator, u8); 5] = [
    ("plus", BinaryOperator::Add, SUM),
    ("minus", BinaryOperator::Subtract, SUM),
    ("divided", BinaryOperator::Divide, PRODUCT),
    ("multiplied", BinaryOperator::Multiply, PRODUCT),
    ("times", BinaryOperator::Multiply, PRODUCT),
];
/// What turns a whole condition round, as `not` does.
const NOT_THE_CASE: [&str; 3] = ["it is not the case that", "it is not true that", "it isn't true that"];

const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGN: u8 = 7;

impl<'a> Parser<'a> {
    pub(super) fn new(style: Style, text: &'a str, file: FileId, offset: usize) -> Self {
        let next = next_token(text, 0);
        Parser {
            text,
            file,
            offset,
            next,
            end: 0,
            style,
            n_brackets: 0,
            listed: false,
            any_case: false,
            says_older: false,
            says_longer: false,
            in_degree: false,
            is_plural: false,
            joint: "or",
        }
    }

    pub(super) fn in_sentence(&self) -> bool {
        self.style == Style::Sentence
    }

    /// The place where reading stands, to come back to.
    pub(super) fn mark(&self) -> (Lexed, usize) {
        (self.next.clone(), self.end)
    }

    pub(super) fn reset(&mut self, (next, end): (Lexed, usize)) {
        (self.next, self.end) = (next, end);
    }

    /// The text of the next token.
    pub(super) fn word(&self) -> &'a str {
        &self.text[self.next.start..self.next.end]
    }

    pub(super) fn error(&self, message: &str) -> ExprError {
        let message = if let Token::Bad(why) = self.next.token { why } else { message };
        ExprError { span: self.span(self.next.start, self.next.end), message: message.to_owned() }
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, self.offset + start, self.offset + end)
    }

    pub(super) fn advance(&mut self) {
        self.end = self.next.end;
        self.next = next_token(self.text, self.next.end);
    }

    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.next.token, Token::Symbol(next) if next == symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.next.token, Token::Word) && self.text[self.next.start..self.next.end].eq_ignore_ascii_case(word)
    }

    /// Whether the next word is the first of `phrase`.
    pub(super) fn at_first_of(&self, phrase: &str) -> bool {
        let length = self.next.end - self.next.start;
        let is_over = matches!(phrase.as_bytes().get(length), None | Some(b' '));
        is_over && phrase.get(..length).is_some_and(|first| self.at_word(first))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes the words of `phrase`, one space between them, if all of them come.
    pub(super) fn eat_phrase(&mut self, phrase: &str) -> bool {
        if !self.at_first_of(phrase) {
            return false;
        }
        let mark = self.mark();
        self.advance();
        let found = phrase.split(' ').skip(1).all(|word| match word {
            "/" => self.eat_symbol("/"),
            word => word.split('-').all(|part| {
                let _ = self.eat_symbol("-");
                self.eat_word(part)
            }),
        });
        if !found {
            self.reset(mark);
        }
        found
    }

    /// What `read` reads, again and again with commas between, up to the bracket that closes it.
    pub(super) fn items(
        &mut self,
        close: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<(), ExprError>,
    ) -> Result<(), ExprError> {
        self.n_brackets += 1;
        while !self.eat_symbol(close) {
            read(self)?;
            if !self.eat_symbol(",") && self.next.token != Token::Symbol(close) {
                return Err(self.error(&format!("expected `,` or `{close}`")));
            }
        }
        self.n_brackets -= 1;
        Ok(())
    }

    /// `name=` or `$name=` in front of an argument; `==` is a comparison.
    fn argument_name(&mut self) -> Option<Arc<str>> {
        let name: Arc<str> = match &self.next.token {
            Token::Word => self.text[self.next.start..self.next.end].into(),
            Token::Reference(reference) if reference.path.is_empty() => reference.name.clone(),
            Token::Reference(_) | Token::Number(_) | Token::Str(_) | Token::Symbol(_) | Token::End | Token::Bad(_) => {
                return None;
            }
        };
        let equals = next_token(self.text, self.next.end);
        matches!(equals.token, Token::Symbol("=" | ":")).then(|| {
            self.advance();
            self.advance();
            name
        })
    }

    pub(super) fn node(&self, kind: ExprKind, span: Span, height: usize) -> Result<Parsed, ExprError> {
        if height > MAX_DEPTH {
            return Err(ExprError { span, message: too_deep_message() });
        }
        Ok(Parsed { expr: Expr { kind, span }, height })
    }

    pub(super) fn combine(&self, operator: BinaryOperator, left: Parsed, right: Parsed) -> Result<Parsed, ExprError> {
        if let BinaryOperator::And | BinaryOperator::Or = operator {
            expect_condition(&left.expr)?;
            expect_condition(&right.expr)?;
        }
        let span = left.expr.span.to(right.expr.span);
        let height = left.height.max(right.height) + 1;
        self.node(ExprKind::Binary(operator, Box::new(left.expr), Box::new(right.expr)), span, height)
    }

    /// What `kind` makes of one operand; it begins at `from`.
    pub(super) fn wrap(
        &self,
        from: Span,
        operand: Parsed,
        kind: impl FnOnce(Box<Expr>) -> ExprKind,
    ) -> Result<Parsed, ExprError> {
        let span = from.to(operand.expr.span);
        self.node(kind(Box::new(operand.expr)), span, operand.height + 1)
    }

    pub(super) fn negate(&self, operand: Parsed) -> Result<Parsed, ExprError> {
        self.wrap(operand.expr.span, operand, |operand| ExprKind::Unary(UnaryOperator::Not, operand))
    }

    pub(super) fn binary(&mut self, power: u8, depth: usize) -> Result<Parsed, ExprError> {
        if depth > MAX_DEPTH {
            return Err(ExprError { span: self.span(self.next.start, self.next.end), message: too_deep_message() });
        }
        let plural = if power < COMPARISON { self.parse_plural_subjects(depth)? } else { None };
        let failed = if power < COMPARISON && plural.is_none() { self.parse_last_call()? } else { None };
        let said = plural.or(failed);
        let said = if power < COMPARISON && said.is_none() { self.parse_existence(depth)? } else { said };
        let left = match said {
            Some(said) => said,
            None => self.unary(depth)?,
        };
        self.climb(left, power, depth)
    }

    /// What is joined with `left` by operators that bind more tightly than `power`.
    pub(super) fn climb(&mut self, mut left: Parsed, power: u8, depth: usize) -> Result<Parsed, ExprError> {
        loop {
            if let Some((operator, operator_power)) = self.peek_operator() {
                if operator_power <= power {
                    return Ok(left);
                }
                let is_divided = self.at_word("divided") || self.at_word("multiplied");
                self.advance();
                if is_divided && !self.eat_word("by") {
                    return Err(self.error("expected `by`"));
                }
                let right = self.binary(operator_power, depth + 1)?;
                left = self.combine(operator, left, right)?;
            } else if power < COMPARISON {
                left = match self.comparison(left, depth)? {
                    Ok(compared) => compared,
                    Err(left) => return Ok(left),
                };
                if let Some(chained) = self.parse_chained(&left, depth)? {
                    left = chained;
                }
                while let Some(joined) = self.say_more(&left, power, depth)? {
                    left = joined;
                }
                if self.at_comparison() {
                    return Err(self.error("comparisons can't be chained; join two with `and`"));
                }
            } else {
                return Ok(left);
            }
        }
    }

    pub(super) fn peek_operator(&self) -> Option<(BinaryOperator, u8)> {
        if let Token::Symbol(symbol) = self.next.token {
            return match symbol {
                "&&" => Some((BinaryOperator::And, AND)),
                "||" => Some((BinaryOperator::Or, OR)),
                "+" => Some((BinaryOperator::Add, SUM)),
                "-" => Some((BinaryOperator::Subtract, SUM)),
                "*" => Some((BinaryOperator::Multiply, PRODUCT)),
                "/" => Some((BinaryOperator::Divide, PRODUCT)),
                "%" if !self.at_percent() => Some((BinaryOperator::Remainder, PRODUCT)),
                _ => None,
            };
        }
        if let Some((word, operator, power)) = WORD_OPERATORS.iter().find(|(word, ..)| self.at_word(word)) {
            // `3 times` alone counts rounds.
            let after = || next_token(self.text, self.next.end).token;
            let is_factor = *word != "times" || matches!(after(), Token::Number(_) | Token::Reference(_));
            return is_factor.then_some((*operator, *power));
        }
        if self.at_word("and") || (self.at_word("but") && self.in_sentence()) {
            Some((BinaryOperator::And, AND))
        } else if self.at_word("or") {
            Some((BinaryOperator::Or, OR))
        } else {
            None
        }
    }

    fn unary(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        if ["the value of", "the list", "the text", "the variable", "the"].iter().any(|words| self.eat_phrase(words))
            && !matches!(self.next.token, Token::Reference(_) | Token::Word)
        {
            return Err(self.error("expected a variable after `the`"));
        }
        let start = self.span(self.next.start, self.next.start);
        if self.in_sentence() && NOT_THE_CASE.iter().any(|words| self.eat_phrase(words)) {
            let operand = self.binary(NOT, depth + 1)?;
            if self.peek_operator().is_some() {
                return Err(self.error("write brackets around what is not the case"));
            }
            expect_condition(&operand.expr)?;
            return self.negate(operand);
        }
        if self.eat_word("not") {
            let operand = self.binary(NOT, depth + 1)?;
            expect_condition(&operand.expr)?;
            return self.wrap(start, operand, |operand| ExprKind::Unary(UnaryOperator::Not, operand));
        }
        if self.at_word("length") || self.at_word("number") {
            let counts = self.at_word("number");
            self.advance();
            let items = ["of items in", "of entries in", "of elements in"].iter().any(|words| self.eat_phrase(words));
            // The number of `$attempts` is that number, not its length.
            if !items && (counts || !self.eat_word("of")) {
                return Err(self.error("expected `of` after `length`, `of items in` after `number`"));
            }
            let operand = self.binary(SIGN, depth + 1)?;
            return self.wrap(start, operand, ExprKind::Length);
        }
        if self.eat_phrase("lower case of") {
            let operand = self.binary(SIGN, depth + 1)?;
            return self.wrap(start, operand, |operand| ExprKind::Unary(UnaryOperator::Lowercase, operand));
        }
        if self.eat_symbol("-") {
            // A sign directly before digits belongs to the literal, or the smallest integer could not be written.
            if let Token::Number(_) = self.next.token
                && let Some(value) = read_number(&format!("-{}", &self.text[self.next.start..self.next.end]))
            {
                self.advance();
                return self.node(ExprKind::Literal(value), start.to(self.span(self.end, self.end)), 1);
            }
            let operand = self.binary(SIGN, depth + 1)?;
            return self.wrap(start, operand, |operand| ExprKind::Unary(UnaryOperator::Negate, operand));
        }
        self.primary(depth)
    }

    fn primary(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        if self.at_money() && matches!(next_token(self.text, self.next.end).token, Token::Number(_)) {
            self.advance();
        }
        let part = self.part_of()?;
        if let Some(special) = if part.is_some() { part } else { self.date_in_words()? } {
            return Ok(special);
        }
        let start = self.next.start;
        let kind = match self.next.token.clone() {
            Token::Number(_) => return self.number(),
            Token::Str(text) => self.text_of(text),
            Token::Reference(reference) => ExprKind::Reference(reference),
            Token::Word => ExprKind::Literal(self.word_literal()?),
            Token::Symbol("(") => return self.group(depth),
            Token::Symbol("[") => return self.list(depth),
            Token::Symbol("{") => return self.map(depth),
            Token::Symbol(_) | Token::End | Token::Bad(_) => return Err(self.error("expected a value")),
        };
        self.advance();
        self.node(kind, self.span(start, self.end), 1)
    }

    fn group(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        self.advance();
        let mut inner = self.binary(0, depth + 1)?;
        if !self.eat_symbol(")") {
            return Err(self.error("expected `)`"));
        }
        inner.expr.span = self.span(start, self.end);
        Ok(inner)
    }
}
