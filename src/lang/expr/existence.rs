//! Conditions that say whether something is there: `there are no $rooms`, `we have an $email`, `no $phone was given`,
//! `neither $a nor $b` (docs/language.md, "Expressions").

use crate::expr::comparisons::operator_of;
use crate::expr::lexer::Token;
use crate::expr::parser::{COMPARISON, ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind, Test};

/// What such a condition begins with, and what it says of a variable: that it has a value, or that there are items in it.
const BEGINNINGS: [(&str, Test); 8] = [
    ("there is", Test::Provided),
    ("there was", Test::Provided),
    ("there are", Test::Empty),
    ("there were", Test::Empty),
    ("we have", Test::Provided),
    ("we know", Test::Provided),
    ("you have", Test::Provided),
    ("you know", Test::Provided),
];

const GIVEN: [&str; 6] = ["given", "provided", "entered", "known", "set", "found"];

impl Parser<'_> {
    /// Reads one, or nothing.
    pub(super) fn parse_existence(&mut self, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let mark = self.mark();
        let may_be = ["there", "we", "you", "no", "neither"].iter().any(|word| self.at_word(word));
        let found = if may_be && self.in_sentence() { self.existence(depth).ok().flatten() } else { None };
        if found.is_none() && may_be {
            self.reset(mark);
        }
        Ok(found)
    }

    fn existence(&mut self, depth: usize) -> Result<Option<Parsed>, ExprError> {
        if self.eat_word("neither") {
            let Some(left) = self.variable()? else { return Ok(None) };
            let right = if self.eat_word("nor") { self.variable()? } else { None };
            let Some(right) = right else { return Ok(None) };
            let (left, right) = (self.negate(left)?, self.negate(right)?);
            return self.combine(Op::And, left, right).map(Some);
        }
        if self.eat_word("no") {
            let Some(subject) = self.variable()? else { return Ok(None) };
            let is_given = ["is", "was", "has been"].iter().any(|words| self.eat_phrase(words))
                && GIVEN.iter().any(|word| self.eat_word(word));
            let _ = self.eat_word("yet");
            return if is_given { self.test(subject, Test::Provided, true).map(Some) } else { Ok(None) };
        }
        let begun = BEGINNINGS.iter().find(|(words, _)| self.eat_phrase(words));
        let (test, contracted) = match begun {
            Some((_, test)) => (*test, false),
            None => {
                // `there aren't any $rooms`
                let verb = if self.eat_word("there") { self.at_negation() } else { None };
                let test = match verb {
                    Some("is" | "was") => Test::Provided,
                    Some("are" | "were") => Test::Empty,
                    _ => return Ok(None),
                };
                self.advance();
                (test, true)
            }
        };
        let _ = ["still", "already", "now", "also"].iter().any(|word| self.eat_word(word));
        if !contracted && let Some((operator, number)) = self.number_of_items(depth)? {
            let Some(subject) = self.inside()? else { return Ok(None) };
            let length = self.length_of(subject)?;
            return self.combine(operator, length, number).map(Some);
        }
        let negated = contracted || self.eat_word("no") || self.eat_word("not");
        let _ = ["a", "an", "any", "some", "the"].iter().any(|word| self.eat_word(word));
        // `there are no items in $cart`
        let counts = test == Test::Empty && self.eat_items().is_ok();
        let Some(subject) = (if counts { self.inside()? } else { self.variable()? }) else { return Ok(None) };
        let _ = ["yet", "left", "now", "already"].iter().any(|word| self.eat_word(word));
        self.test(subject, test, negated != (test == Test::Empty)).map(Some)
    }

    /// `in $cart`.
    fn inside(&mut self) -> Result<Option<Parsed>, ExprError> {
        if self.eat_word("in") || self.eat_word("on") { self.variable() } else { Ok(None) }
    }

    pub(super) fn variable(&mut self) -> Result<Option<Parsed>, ExprError> {
        let start = self.next.start;
        let Token::Reference(reference) = self.next.token.clone() else { return Ok(None) };
        self.advance();
        self.node(ExprKind::Reference(reference), self.span(start, self.end), 1).map(Some)
    }

    fn test(&mut self, subject: Parsed, test: Test, negated: bool) -> Result<Parsed, ExprError> {
        let (span, height) = (subject.expr.span.to(self.span(self.end, self.end)), subject.height + 1);
        self.node(ExprKind::Test { subject: Box::new(subject.expr), test, negated }, span, height)
    }

    /// `10 <= $x <= 20`: what was compared is compared with one more, in the same direction.
    pub(super) fn parse_chained(&mut self, left: &Parsed, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let ExprKind::Binary(before, _, middle) = &left.expr.kind else { return Ok(None) };
        let Token::Symbol(symbol) = self.next.token else { return Ok(None) };
        let Some(operator) = operator_of(symbol) else { return Ok(None) };
        let rises = |operator: Op| matches!(operator, Op::Less | Op::LessOrEqual);
        let falls = |operator: Op| matches!(operator, Op::Greater | Op::GreaterOrEqual);
        if !(rises(*before) && rises(operator) || falls(*before) && falls(operator)) {
            return Ok(None);
        }
        self.advance();
        let middle: Expr = (**middle).clone();
        let right = self.binary(COMPARISON, depth + 1)?;
        let second = self.combine(operator, Parsed { expr: middle, height: left.height }, right)?;
        self.combine(Op::And, left.clone(), second).map(Some)
    }
}
