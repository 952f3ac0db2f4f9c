//! What is said of several variables at once: `$a, $b and $c are provided` (spec `language.md`, "Expressions").

use crate::expr::comparisons::{MAX_JOINED, QUANTIFIERS, SAME, is_one_of};
use crate::expr::lexer::{Lexed, Token, next_token};
use crate::expr::parser::{ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind, UnaryOperator};

/// What `compared` says, said of `subject`; none if that would copy more than a reference or a constant.
fn with_subject(compared: &Expr, subject: &Expr) -> Option<Expr> {
    let again = |inner: &Expr| with_subject(inner, subject).map(Box::new);
    let kind = if let ExprKind::Test { test, negated, .. } = &compared.kind {
        ExprKind::Test { subject: Box::new(subject.clone()), test: *test, negated: *negated }
    } else if let ExprKind::Unary(UnaryOperator::Not, inner) = &compared.kind {
        ExprKind::Unary(UnaryOperator::Not, again(inner)?)
    } else {
        let ExprKind::Binary(operator, left, right) = &compared.kind else { return None };
        if matches!(operator, Op::And | Op::Or) {
            ExprKind::Binary(*operator, again(left)?, again(right)?)
        } else {
            let plain = if let ExprKind::Unary(UnaryOperator::Lowercase, text) = &right.kind { text } else { right };
            let is_small = matches!(plain.kind, ExprKind::Reference(_)) || plain.as_constant().is_some();
            let left = is_small.then(|| in_place_of(left, subject)).flatten()?;
            ExprKind::Binary(*operator, Box::new(left), right.clone())
        }
    };
    Some(Expr { kind, span: compared.span })
}

/// `subject` as the variable on the left side of a comparison is compared: as it is, its length, or in any case.
fn in_place_of(left: &Expr, subject: &Expr) -> Option<Expr> {
    let again = |inner: &Expr| in_place_of(inner, subject).map(Box::new);
    let kind = if let ExprKind::Length(inner) = &left.kind {
        ExprKind::Length(again(inner)?)
    } else if let ExprKind::Unary(operator, inner) = &left.kind {
        ExprKind::Unary(*operator, again(inner)?)
    } else {
        return matches!(left.kind, ExprKind::Reference(_)).then(|| subject.clone());
    };
    Some(Expr { kind, span: subject.span })
}

/// Several variables in front of what is said of them.
struct Subjects {
    variables: Vec<Expr>,
    /// What joins what is said of each, and whether each is denied.
    joint: Op,
    denied: bool,
    /// What stands after them, and where they end.
    after: (Lexed, usize),
}

impl Parser<'_> {
    /// `$a, $b and $c are …`: each of them is; with `or`: any of them; `neither $a nor $b …`. `None` if it does not begin so.
    pub(super) fn parse_plural_subjects(&mut self, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let Some(found) = self.scan_subjects() else { return Ok(None) };
        let mark = self.mark();
        self.reset(found.after);
        let Some(subject) = found.variables.first().cloned() else { return Ok(None) };
        let subject = Parsed { expr: subject, height: 1 };
        let first = if self.eat_word("are") || self.eat_word("is") {
            let _ = self.eat_word("both") || self.eat_word("all");
            if self.at_word("not") {
                return Err(self.error("say for each variable separately what it is not"));
            }
            if let [first, second] = &found.variables[..]
                && let Some((_, same)) = SAME.iter().find(|(words, _)| self.eat_phrase(words))
            {
                let side = |expr: &Expr| Parsed { expr: expr.clone(), height: 1 };
                let same = self.combine(*same, side(first), side(second))?;
                return if found.denied { self.negate(same) } else { Ok(same) }.map(Some);
            }
            self.after_is(subject, false, depth)?
        } else {
            let after = next_token(self.text, self.next.end);
            if self.at_negation().is_some() || self.is_word(&after, "not") || self.is_word(&after, "no") {
                return Err(self.error("say for each variable separately what it is not"));
            }
            self.is_plural = true;
            let said = self.comparison(subject, depth);
            self.is_plural = false;
            let Ok(said) = said? else {
                // `neither $a nor $b` by itself.
                self.reset(mark);
                return Ok(None);
            };
            said
        };
        let (pattern, height) = (first.expr.clone(), first.height);
        let mut joined = if found.denied { self.negate(first)? } else { first };
        for subject in &found.variables[1..] {
            let Some(expr) = with_subject(&pattern, subject) else {
                return Err(self.error("say for each variable separately what it is"));
            };
            let said = Parsed { expr, height };
            let said = if found.denied { self.negate(said)? } else { said };
            joined = self.combine(found.joint, joined, said)?;
        }
        Ok(Some(joined))
    }

    pub(super) fn is_word(&self, lexed: &Lexed, word: &str) -> bool {
        lexed.token == Token::Word && self.text[lexed.start..lexed.end].eq_ignore_ascii_case(word)
    }

    /// The variables in front of what is said of all of them, two at least. Consumes nothing.
    fn scan_subjects(&self) -> Option<Subjects> {
        let mut at = self.next.clone();
        let may_be = at.token == Token::Word;
        let quantifier = QUANTIFIERS.iter().filter(|_| may_be).find_map(|(words, joints, joint, denied)| {
            let mut after = self.next.end;
            let fits = words.split(' ').enumerate().all(|(index, word)| {
                if index == 0 {
                    return self.at_word(word);
                }
                let next = next_token(self.text, after);
                after = next.end;
                self.is_word(&next, word)
            });
            fits.then(|| (next_token(self.text, after), *joints, *joint, *denied))
        });
        // What gives a value is read as ever.
        let quantifier = quantifier.filter(|_| self.in_sentence() || self.at_word("both") || self.at_word("either"));
        if let Some((after, ..)) = &quantifier {
            at = after.clone();
        }
        let (mut variables, mut joint) = (Vec::new(), None);
        while variables.len() < MAX_JOINED {
            let Token::Reference(reference) = at.token else { return None };
            variables.push(Expr { kind: ExprKind::Reference(reference), span: self.span(at.start, at.end) });
            let end = at.end;
            at = next_token(self.text, at.end);
            // `$a or $b is missing`: either of them; `$a and $b is …` may be anything.
            let is_plain_end =
                self.is_word(&at, "are") || (self.is_word(&at, "is") && joint == Some(Op::Or) && self.in_sentence());
            if let Some((_, _, joint, denied)) = quantifier.as_ref().filter(|_| self.in_sentence()) {
                let goes_on =
                    at.token == Token::Symbol(",") || ["and", "or", "nor"].iter().any(|word| self.is_word(&at, word));
                if !goes_on && variables.len() > 1 {
                    return Some(Subjects { variables, joint: *joint, denied: *denied, after: (at, end) });
                }
            } else if is_plain_end {
                return Some(Subjects { variables, joint: joint?, denied: false, after: (at, end) });
            }
            let has_comma = at.token == Token::Symbol(",");
            if has_comma {
                at = next_token(self.text, at.end);
            }
            let word = ["and", "or", "nor"].into_iter().find(|word| self.is_word(&at, word));
            let Some(word) = word else {
                if has_comma {
                    continue;
                }
                return None;
            };
            if quantifier.as_ref().is_some_and(|(_, joints, ..)| !is_one_of(joints, word)) {
                return None;
            }
            let joins = if word == "and" { Op::And } else { Op::Or };
            if (word == "nor" && quantifier.is_none()) || joint.is_some_and(|joint| joint != joins) {
                return None;
            }
            joint = Some(joins);
            at = next_token(self.text, at.end);
        }
        None
    }
}
