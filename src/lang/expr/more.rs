//! Several things said of one variable: `is more than 3 and less than 5`, `contains "a" or ends in "b"`, `is empty or 0`.

use crate::expr::comparisons::Says::{self, Compares, Tests, TestsNot};
use crate::expr::comparisons::{ACTION_VERBS, AFTER_IS};
use crate::expr::lexer::{Token, next_token};
use crate::expr::parser::{ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind, Test, UnaryOperator};
use crate::value::Value;

impl Parser<'_> {
    /// `neither "a" nor "b"`: what is compared with several, denied.
    pub(super) fn say_neither(&mut self, left: Parsed, says: Says, depth: usize) -> Result<Parsed, ExprError> {
        self.joint = "nor";
        let compared = self.say(left, says, true, depth);
        self.joint = "or";
        compared
    }

    /// `is more than 3 and less than 5`: the second is said of the same `subject`.
    pub(super) fn and_degree(
        &mut self,
        subject: Parsed,
        compared: Parsed,
        negated: bool,
        depth: usize,
    ) -> Result<Parsed, ExprError> {
        let mark = self.mark();
        let is_both = self.eat_word("and") || self.eat_word("but");
        if !is_both && !self.eat_word("or") {
            return Ok(compared);
        }
        let joint = if is_both { Op::And } else { Op::Or };
        let Some(operator) = self.eat_degree().filter(|_| !negated) else {
            self.reset(mark);
            return Ok(compared);
        };
        let second = self.say(subject, Compares(operator), false, depth)?;
        let counts = |said: &Parsed| matches!(&said.expr.kind, ExprKind::Binary(_, left, _) if matches!(left.kind, ExprKind::Length(_)));
        // `longer than 3 and shorter than 10 characters` counts letters both times.
        if counts(&compared) != counts(&second) {
            return Err(self.error("say both times what is counted"));
        }
        self.combine(joint, compared, second)
    }

    /// `is empty or 0`, `is missing or empty`: `tested`, or one more way to have nothing that is said of `subject`.
    pub(super) fn or_nothing(&mut self, subject: Parsed, tested: Parsed) -> Result<Parsed, ExprError> {
        let mark = self.mark();
        self.advance();
        let nothing = AFTER_IS.iter().find_map(|(words, says)| match says {
            Tests(Test::Empty) if self.eat_phrase(words) => Some((Test::Empty, false)),
            TestsNot(test) if self.eat_phrase(words) => Some((*test, true)),
            Compares(_) | Says::Between | Says::Reaches | Tests(_) | TestsNot(_) | Says::IsNoneOf | Says::Is(_) => None,
        });
        if let Some((test, negated)) = nothing {
            let span = tested.expr.span.to(self.span(self.end, self.end));
            let kind = ExprKind::Test { subject: Box::new(subject.expr), test, negated };
            let second = self.node(kind, span, subject.height + 1)?;
            return self.combine(Op::Or, tested, second);
        }
        let is_zero = matches!(self.next.token, Token::Number(Value::Int(0))) || self.at_word("zero");
        let (start, end) = (self.next.start, self.next.end);
        if is_zero {
            self.advance();
            let is_over = matches!(self.next.token, Token::End | Token::Bad(_) | Token::Symbol("," | ":" | ")"))
                || self.at_one_of("then and or but")
                || self.at_one_of(ACTION_VERBS);
            if is_over {
                let zero = self.node(ExprKind::Literal(Value::Int(0)), self.span(start, end), 1)?;
                let second = self.combine(Op::Equal, subject, zero)?;
                return self.combine(Op::Or, tested, second);
            }
        }
        self.reset(mark);
        Ok(tested)
    }

    /// `contains "a" or ends in "b"`, joined by what binds more tightly than `power`: the second is said of the same subject.
    pub(super) fn say_more(&mut self, compared: &Parsed, power: u8, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let Some((joint @ (Op::And | Op::Or), joint_power)) = self.peek_operator().filter(|_| self.in_sentence())
        else {
            return Ok(None);
        };
        let mark = self.mark();
        self.advance();
        // `is set and not empty`; `and not $vip` is another condition.
        let after = next_token(self.text, self.next.end);
        let first_of = |phrase: &str| phrase.split(' ').next().is_some_and(|first| self.is_word(&after, first));
        let denies = self.at_word("not") && AFTER_IS.iter().any(|(words, _)| first_of(words));
        let goes_on = joint_power > power && (denies || self.at_comparison()) && !self.at_word("in");
        let Some(subject) = subject_of(&compared.expr).filter(|_| goes_on) else {
            self.reset(mark);
            return Ok(None);
        };
        let subject = Parsed { expr: subject.clone(), height: 1 };
        let second = if denies {
            self.advance();
            self.after_is(subject, true, depth + 1)?
        } else {
            let second = self.comparison(subject, depth + 1)?;
            second.map_err(|_| self.error("expected a comparison"))?
        };
        let first = compared.clone();
        let joined = self.combine(joint, first, second)?;
        // Whether the `and` joins the last one or all of them, only the author knows.
        if joint == Op::Or && (self.at_word("and") || self.at_word("but")) {
            return Err(self.error("write brackets, or a whole comparison on both sides of `and`"));
        }
        Ok(Some(joined))
    }
}

/// What a comparison says something of, if that is a variable. Of what is counted it may be the variable or its length.
fn subject_of(compared: &Expr) -> Option<&Expr> {
    let kind = &compared.kind;
    if let ExprKind::Unary(UnaryOperator::Not, inner) | ExprKind::Binary(Op::And | Op::Or, inner, _) = kind {
        return subject_of(inner);
    }
    let (ExprKind::Test { subject, .. } | ExprKind::Binary(_, subject, _)) = kind else { return None };
    let plain = if let ExprKind::Unary(UnaryOperator::Lowercase, text) = &subject.kind { text } else { subject };
    matches!(plain.kind, ExprKind::Reference(_)).then_some(plain)
}
