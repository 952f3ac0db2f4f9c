//! What is said of several variables at once: `$a, $b and $c are provided` (spec `language.md`, "Expressions").

use crate::expr::comparisons::{MAX_JOINED, SAME};
use crate::expr::english::lowercase;
use crate::expr::lexer::{Lexed, Token, next_token};
use crate::expr::parser::{ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind, UnaryOperator};

/// What `compared` says, said of `subject`; none if that would copy more than a reference or a constant.
fn with_subject(compared: &Expr, subject: Expr) -> Option<Expr> {
    let span = compared.span;
    if let ExprKind::Test { test, negated, .. } = compared.kind {
        return Some(Expr { kind: ExprKind::Test { subject: Box::new(subject), test, negated }, span });
    }
    let ExprKind::Binary(operator, _, right) = &compared.kind else { return None };
    let (plain, subject) = if let ExprKind::Unary(UnaryOperator::Lowercase, text) = &right.kind {
        (&**text, lowercase(Parsed { expr: subject, height: 1 }).expr)
    } else {
        (&**right, subject)
    };
    let is_small = matches!(plain.kind, ExprKind::Reference(_)) || plain.as_constant().is_some();
    is_small.then(|| Expr { kind: ExprKind::Binary(*operator, Box::new(subject), right.clone()), span })
}

impl Parser<'_> {
    /// `$a, $b and $c are …`: each of them is; with `or`: any of them. `None` if it does not begin so.
    pub(super) fn parse_plural_subjects(&mut self, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let Some((subjects, operator)) = self.scan_subjects() else { return Ok(None) };
        while !self.eat_word("are") && !self.eat_word("is") {
            self.advance();
        }
        let _ = self.eat_word("both") || self.eat_word("all");
        if self.at_word("not") {
            return Err(self.error("say for each variable separately what it is not"));
        }
        if let [first, second] = &subjects[..]
            && let Some((_, same)) = SAME.iter().find(|(words, _)| self.eat_phrase(words))
        {
            let side = |expr: &Expr| Parsed { expr: expr.clone(), height: 1 };
            return self.combine(*same, side(first), side(second)).map(Some);
        }
        let mut subjects = subjects.into_iter();
        let Some(subject) = subjects.next() else { return Ok(None) };
        let first = self.after_is(Parsed { expr: subject, height: 1 }, false, depth)?;
        let (pattern, height) = (first.expr.clone(), first.height);
        let mut joined = first;
        for subject in subjects {
            let Some(expr) = with_subject(&pattern, subject) else {
                return Err(self.error("say for each variable separately what it is"));
            };
            joined = self.combine(operator, joined, Parsed { expr, height })?;
        }
        Ok(Some(joined))
    }

    /// The variables in front of an `are`, two at least, and what joins them. Consumes nothing.
    fn scan_subjects(&self) -> Option<(Vec<Expr>, Op)> {
        let is_word = |lexed: &Lexed, word: &str| {
            lexed.token == Token::Word && self.text[lexed.start..lexed.end].eq_ignore_ascii_case(word)
        };
        let mut at = self.next.clone();
        if is_word(&at, "both") || is_word(&at, "either") {
            at = next_token(self.text, at.end);
        }
        let (mut subjects, mut joint) = (Vec::new(), None);
        while subjects.len() < MAX_JOINED {
            let Token::Reference(reference) = at.token else { return None };
            subjects.push(Expr { kind: ExprKind::Reference(reference), span: self.span(at.start, at.end) });
            at = next_token(self.text, at.end);
            // `$a or $b is missing`: either of them; `$a and $b is …` may be anything.
            if is_word(&at, "are") || (is_word(&at, "is") && joint == Some(Op::Or) && self.in_sentence()) {
                return Some((subjects, joint?));
            }
            let has_comma = at.token == Token::Symbol(",");
            if has_comma {
                at = next_token(self.text, at.end);
            }
            let joins = if is_word(&at, "and") {
                Op::And
            } else if is_word(&at, "or") {
                Op::Or
            } else if has_comma {
                continue;
            } else {
                return None;
            };
            if joint.is_some_and(|joint| joint != joins) {
                return None;
            }
            joint = Some(joins);
            at = next_token(self.text, at.end);
        }
        None
    }
}
