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

/// Reads the whole of `text` as one expression. `offset` is the place of `text` in `file`; all spans are in
/// the file. The error tells the first place that does not fit.
pub fn parse(text: &str, file: FileId, offset: usize) -> Result<Expr, ExprError> {
    let mut parser = Parser::new(text, file, offset);
    let expr = parser.binary(0, 0)?.expr;
    // A sentence may end in a full stop.
    if parser.next.token == Token::End || text[parser.end..].trim() == "." {
        Ok(expr)
    } else {
        Err(parser.error("expected an operator or the end"))
    }
}

/// Reads the longest expression at the beginning of `text` and gives it with its length in bytes.
pub(crate) fn parse_prefix(text: &str, file: FileId, offset: usize) -> Result<(Expr, usize), ExprError> {
    let mut parser = Parser::new(text, file, offset);
    let expr = parser.binary(0, 0)?.expr;
    Ok((expr, parser.end))
}

/// The arguments of a call, each with its name if it has one.
pub(crate) type Arguments = Vec<(Option<Arc<str>>, Expr)>;

/// Reads what stands between the brackets of a call, `text` beginning after the `(`: expressions, each with a
/// `name=` in front if it has one. Gives them with the length read, the `)` included.
pub(crate) fn parse_arguments(text: &str, file: FileId, offset: usize) -> Result<(Arguments, usize), ExprError> {
    let mut parser = Parser::new(text, file, offset);
    let mut arguments = Vec::new();
    while !parser.eat_symbol(")") {
        let name = parser.argument_name();
        arguments.push((name, parser.binary(0, 0)?.expr));
        if !parser.eat_symbol(",") && parser.next.token != Token::Symbol(")") {
            return Err(parser.error("expected `,` or `)`"));
        }
    }
    Ok((arguments, parser.end))
}

/// Only booleans are conditions. `$a is "x" or "y"` is English for something else than it says here.
fn expect_condition(expr: &Expr) -> Result<(), ExprError> {
    let never = match &expr.kind {
        ExprKind::Literal(value) => !matches!(value, Value::Bool(_)),
        ExprKind::List(_) | ExprKind::Map(_) | ExprKind::Length(_) => true,
        ExprKind::Unary(operator, _) => *operator == UnaryOperator::Negate,
        ExprKind::Binary(operator, ..) => operator.is_arithmetic(),
        ExprKind::Reference(_) | ExprKind::Test { .. } => false,
    };
    if never {
        let message = "this is no condition; `and`, `or` and `not` need comparisons, such as `$x is 3`".to_owned();
        return Err(ExprError { span: expr.span, message });
    }
    Ok(())
}

/// An expression and the height of its tree.
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
}

/// How tightly operators bind: `or`, `and`, `not`, comparisons, sums, products, signs.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
pub(super) const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGN: u8 = 7;

impl<'a> Parser<'a> {
    fn new(text: &'a str, file: FileId, offset: usize) -> Self {
        Parser { text, file, offset, next: next_token(text, 0), end: 0 }
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

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.next.token, Token::Symbol(next) if next == symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.next.token == Token::Word && self.text[self.next.start..self.next.end].eq_ignore_ascii_case(word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
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
        (equals.token == Token::Symbol("=")).then(|| {
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

    pub(super) fn negate(&self, operand: Parsed) -> Result<Parsed, ExprError> {
        let (span, height) = (operand.expr.span, operand.height + 1);
        self.node(ExprKind::Unary(UnaryOperator::Not, Box::new(operand.expr)), span, height)
    }

    pub(super) fn binary(&mut self, power: u8, depth: usize) -> Result<Parsed, ExprError> {
        if depth > MAX_DEPTH {
            return Err(ExprError { span: self.span(self.next.start, self.next.end), message: too_deep_message() });
        }
        let plural = if power < COMPARISON { self.parse_plural_subjects(depth)? } else { None };
        let mut left = match plural {
            Some(compared) => compared,
            None => self.unary(depth)?,
        };
        loop {
            if let Some((operator, operator_power)) = self.peek_operator() {
                if operator_power <= power {
                    return Ok(left);
                }
                self.advance();
                let right = self.binary(operator_power, depth + 1)?;
                left = self.combine(operator, left, right)?;
            } else if power < COMPARISON {
                let Some(comparison) = self.eat_comparison()? else { return Ok(left) };
                left = self.compare(left, comparison, depth)?;
                if self.at_comparison() {
                    return Err(self.error("comparisons can't be chained; join two with `and`"));
                }
            } else {
                return Ok(left);
            }
        }
    }

    fn peek_operator(&self) -> Option<(BinaryOperator, u8)> {
        if let Token::Symbol(symbol) = self.next.token {
            return match symbol {
                "+" => Some((BinaryOperator::Add, SUM)),
                "-" => Some((BinaryOperator::Subtract, SUM)),
                "*" => Some((BinaryOperator::Multiply, PRODUCT)),
                "/" => Some((BinaryOperator::Divide, PRODUCT)),
                "%" => Some((BinaryOperator::Remainder, PRODUCT)),
                _ => None,
            };
        }
        if self.at_word("and") {
            Some((BinaryOperator::And, AND))
        } else if self.at_word("or") {
            Some((BinaryOperator::Or, OR))
        } else {
            None
        }
    }

    fn unary(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        if self.eat_word("not") {
            let operand = self.binary(NOT, depth + 1)?;
            expect_condition(&operand.expr)?;
            let span = self.span(start, start).to(operand.expr.span);
            let height = operand.height + 1;
            return self.node(ExprKind::Unary(UnaryOperator::Not, Box::new(operand.expr)), span, height);
        }
        if self.at_word("length") {
            self.advance();
            if !self.eat_word("of") {
                return Err(self.error("expected `of` after `length`"));
            }
            let operand = self.binary(SIGN, depth + 1)?;
            let span = self.span(start, start).to(operand.expr.span);
            return self.node(ExprKind::Length(Box::new(operand.expr)), span, operand.height + 1);
        }
        if self.eat_symbol("-") {
            // A sign directly before digits belongs to the literal, or the smallest integer could not be written.
            if let Token::Number(_) = self.next.token
                && let Some(value) = read_number(&format!("-{}", &self.text[self.next.start..self.next.end]))
            {
                self.advance();
                return self.node(ExprKind::Literal(value), self.span(start, self.end), 1);
            }
            let operand = self.binary(SIGN, depth + 1)?;
            let span = self.span(start, start).to(operand.expr.span);
            let height = operand.height + 1;
            return self.node(ExprKind::Unary(UnaryOperator::Negate, Box::new(operand.expr)), span, height);
        }
        self.primary(depth)
    }

    fn primary(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        let kind = match self.next.token.clone() {
            Token::Number(value) => ExprKind::Literal(value),
            Token::Str(text) => ExprKind::Literal(Value::Str(text)),
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

    fn word_literal(&self) -> Result<Value, ExprError> {
        let word = &self.text[self.next.start..self.next.end];
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" | "none" => Ok(Value::Null),
            "yes" | "no" => Err(self.error("`yes` and `no` stand only after `is`")),
            _ => Err(self.error("expected a value; write a variable with `$`, text in quotes")),
        }
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

    fn list(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        self.advance();
        let (mut items, mut height) = (Vec::new(), 0);
        while !self.eat_symbol("]") {
            let item = self.binary(0, depth + 1)?;
            height = height.max(item.height);
            items.push(item.expr);
            if !self.eat_symbol(",") && self.next.token != Token::Symbol("]") {
                return Err(self.error("expected `,` or `]`"));
            }
        }
        self.node(ExprKind::List(items), self.span(start, self.end), height + 1)
    }

    fn map(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        self.advance();
        let (mut members, mut height) = (Vec::new(), 0);
        while !self.eat_symbol("}") {
            let Token::Str(key) = self.next.token.clone() else { return Err(self.error("expected a key in quotes")) };
            self.advance();
            if !self.eat_symbol(":") {
                return Err(self.error("expected `:` after the key"));
            }
            let value = self.binary(0, depth + 1)?;
            height = height.max(value.height);
            members.push((key, value.expr));
            if !self.eat_symbol(",") && self.next.token != Token::Symbol("}") {
                return Err(self.error("expected `,` or `}`"));
            }
        }
        self.node(ExprKind::Map(members), self.span(start, self.end), height + 1)
    }
}
