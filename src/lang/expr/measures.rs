//! Numbers that count or measure something: units, money, percents, ages, numbers of items.

use crate::expr::comparisons::{AGES, ITEMS, MONEY, UNITS, YEARS, is_one_of};
use crate::expr::lexer::{Token, next_token, number_word};
use crate::expr::parser::{COMPARISON, ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind};
use crate::value::{PathStep, Value};

impl Parser<'_> {
    /// `more than 3 items`, `exactly 3 items`, `3 or more items`, if it begins so.
    pub(super) fn number_of_items(&mut self, depth: usize) -> Result<Option<(Op, Parsed)>, ExprError> {
        let degree = self.eat_degree();
        let is_number = |parser: &Self| {
            matches!(parser.next.token, Token::Number(_))
                || (parser.next.token == Token::Word && number_word(parser.word()).is_some())
        };
        if degree.is_none() && !self.eat_phrase("exactly") && !is_number(self) {
            return Ok(None);
        }
        let number = self.binary(COMPARISON, depth + 1)?;
        let operator = degree.or_else(|| self.eat_or_degree()).unwrap_or(Op::Equal);
        self.eat_items()?;
        Ok(Some((operator, number)))
    }

    pub(super) fn length_of(&self, counted: Parsed) -> Result<Parsed, ExprError> {
        self.wrap(counted.expr.span, counted, ExprKind::Length)
    }

    /// What says that a number counts letters or items: `longer than 10 characters`, `10 characters long`.
    pub(super) fn eat_length(&mut self) -> bool {
        if !self.at_one_of(ITEMS) {
            return false;
        }
        let mark = self.mark();
        let counts =
            self.eat_one_of(ITEMS) && (self.eat_word("long") || self.eat_phrase("in length") || self.says_longer);
        if !counts {
            self.reset(mark);
        }
        counts
    }

    /// Which way a number comes to what it reaches: down to 0, and else up.
    pub(super) fn reached(&self) -> Result<Op, ExprError> {
        let next = &self.next.token;
        if *next == Token::Symbol("-") {
            return Err(self.error("say whether it rises or falls: `rises to`, `falls to`"));
        }
        if matches!(next, Token::Str(text) if !text.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(self.error("a text is not reached; write `is`"));
        }
        let is_zero = *next == Token::Number(Value::Int(0)) || number_word(self.word()) == Some(0);
        Ok(if is_zero { Op::LessOrEqual } else { Op::GreaterOrEqual })
    }

    /// `between 3 and 5 (inclusive)`.
    pub(super) fn eat_inclusive(&mut self) {
        let mark = self.mark();
        let is_open = self.eat_symbol("(");
        let _ = is_open || self.eat_symbol(",");
        if !self.in_sentence() || !self.eat_word("inclusive") || (is_open && !self.eat_symbol(")")) {
            self.reset(mark);
        }
    }

    /// What is counted or measured, which changes nothing: `20 euros`, `50%`, `18 years old`. An age is an error, but in
    /// years where an age is compared (`years`).
    pub(super) fn eat_unit_of(&mut self, number: &Expr, years: bool) -> Result<(), ExprError> {
        if !is_number(number) {
            return Ok(());
        }
        if self.at_percent() || self.at_money() {
            self.advance();
            return Ok(());
        }
        let counts_age = self.at_one_of(AGES) && !(years && self.at_one_of(YEARS));
        if self.eat_one_of(UNITS) || (counts_age && self.eat_one_of(AGES)) {
            let is_age = counts_age && (self.at_word("old") || self.says_older);
            if is_age || self.at_word("ago") {
                return Err(self.error("an age is not computed; compare a date with a date"));
            }
            let _ = self.eat_word("old");
        }
        Ok(())
    }

    /// Whether a `%` comes that measures: in a sentence, with nothing after it that could be divided by.
    pub(super) fn at_percent(&self) -> bool {
        let after = || next_token(self.text, self.next.end).token;
        self.in_sentence()
            && matches!(self.next.token, Token::Symbol("%"))
            && !matches!(after(), Token::Number(_) | Token::Reference(_) | Token::Symbol("("))
    }

    /// Whether a sign of money comes: `200 €`, `€200`.
    pub(super) fn at_money(&self) -> bool {
        self.in_sentence() && matches!(self.next.token, Token::Bad(_)) && is_one_of(MONEY, self.word())
    }
}

pub(super) fn is_number(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Int(_) | Value::Float(_)))
}

/// Whether its name says that it is an age: `$age`, `$guest_age`, `$user.age`.
pub(super) fn is_age(expr: &Expr) -> bool {
    let ExprKind::Reference(reference) = &expr.kind else { return false };
    let member =
        reference.path.iter().rev().find_map(|step| if let PathStep::Member(name) = step { Some(name) } else { None });
    let name = member.unwrap_or(&reference.name);
    name.eq_ignore_ascii_case("age") || name.ends_with("_age") || name.ends_with("Age") || name.starts_with("age_")
}
