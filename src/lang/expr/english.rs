//! The comparisons of expressions, most of them in English (spec `language.md`, "Expressions"). A form is read
//! here only if it can mean nothing else.

use crate::expr::lexer::{Lexed, Token, next_token};
use crate::expr::parser::{COMPARISON, ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator, Expr, ExprKind, Test};
use crate::value::Value;

/// A comparison as the author wrote it, before its right side is read.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    Operator {
        operator: BinaryOperator,
        negated: bool,
    },
    Test {
        test: Test,
        negated: bool,
    },
    Truth {
        value: bool,
        negated: bool,
    },
    /// `has more than 3 items`.
    Count {
        operator: BinaryOperator,
    },
}

/// How many variables one `are` is said of; a bound for hostile texts only.
const MAX_SUBJECTS: usize = 16;

/// Verbs with one meaning.
const VERBS: [(&str, BinaryOperator); 5] = [
    ("in", BinaryOperator::In),
    ("contains", BinaryOperator::Contains),
    ("equals", BinaryOperator::Equal),
    ("exceeds", BinaryOperator::Greater),
    ("reaches", BinaryOperator::GreaterOrEqual),
];

/// Adverbs that stand after `is` and compare with what follows.
const ADVERBS: [(&str, BinaryOperator); 4] = [
    ("over", BinaryOperator::Greater),
    ("above", BinaryOperator::Greater),
    ("below", BinaryOperator::Less),
    ("under", BinaryOperator::Less),
];

/// What `compared` says, said of `subject`; none if that would copy more than a reference or a constant.
fn with_subject(compared: &Expr, subject: Expr) -> Option<Expr> {
    let span = compared.span;
    if let ExprKind::Test { test, negated, .. } = compared.kind {
        return Some(Expr { kind: ExprKind::Test { subject: Box::new(subject), test, negated }, span });
    }
    let ExprKind::Binary(operator, _, right) = &compared.kind else { return None };
    let is_small = matches!(right.kind, ExprKind::Reference(_)) || right.as_constant().is_some();
    is_small.then(|| Expr { kind: ExprKind::Binary(*operator, Box::new(subject), right.clone()), span })
}

impl Parser<'_> {
    pub(super) fn at_comparison(&self) -> bool {
        matches!(self.next.token, Token::Symbol("==" | "!=" | "<" | "<=" | ">" | ">="))
            || ["is", "are", "becomes", "has", "does"].iter().any(|word| self.at_word(word))
            || VERBS.iter().any(|(verb, _)| self.at_word(verb))
    }

    /// Consumes a comparison operator, if there is one.
    pub(super) fn eat_comparison(&mut self) -> Result<Option<Comparison>, ExprError> {
        let plain = |operator| Ok(Some(Comparison::Operator { operator, negated: false }));
        if let Token::Symbol(symbol) = self.next.token {
            let operator = match symbol {
                "==" => BinaryOperator::Equal,
                "!=" => BinaryOperator::NotEqual,
                "<" => BinaryOperator::Less,
                "<=" => BinaryOperator::LessOrEqual,
                ">" => BinaryOperator::Greater,
                ">=" => BinaryOperator::GreaterOrEqual,
                _ => return Ok(None),
            };
            self.advance();
            return plain(operator);
        }
        if let Some((_, operator)) = VERBS.iter().find(|(verb, _)| self.at_word(verb)) {
            self.advance();
            return plain(*operator);
        }
        if self.eat_word("not") {
            if self.eat_word("in") {
                return Ok(Some(Comparison::Operator { operator: BinaryOperator::In, negated: true }));
            }
            return Err(self.error("expected `in` after `not`"));
        }
        if self.eat_word("does") {
            if !self.eat_word("not") {
                return Err(self.error("expected `not` after `does`"));
            }
            // The verb as it stands after `does not`.
            let is_verb = |(verb, _): &&(&str, BinaryOperator)| verb.strip_suffix('s').is_some_and(|v| self.at_word(v));
            let Some((_, operator)) = VERBS.iter().find(is_verb) else {
                return Err(self.error("expected `contain`, `equal` or `exceed` after `does not`"));
            };
            self.advance();
            return Ok(Some(Comparison::Operator { operator: *operator, negated: true }));
        }
        if self.eat_word("has") {
            return self.count_comparison().map(Some);
        }
        if self.eat_is() { self.english_comparison().map(Some) } else { Ok(None) }
    }

    fn eat_is(&mut self) -> bool {
        self.eat_word("is") || self.eat_word("are") || self.eat_word("becomes")
    }

    /// What can follow `has`, up to the number.
    fn count_comparison(&mut self) -> Result<Comparison, ExprError> {
        if self.eat_word("exactly") {
            return Ok(Comparison::Count { operator: BinaryOperator::Equal });
        }
        if let Some(operator) = self.eat_degree()? {
            return Ok(Comparison::Count { operator });
        }
        Err(self.error("expected `more than`, `at least`, … and a number of items after `has`"))
    }

    /// `at least`, `more than`, `less than or equal to`, ….
    fn eat_degree(&mut self) -> Result<Option<BinaryOperator>, ExprError> {
        if self.eat_word("at") {
            if self.eat_word("least") {
                return Ok(Some(BinaryOperator::GreaterOrEqual));
            }
            if self.eat_word("most") {
                return Ok(Some(BinaryOperator::LessOrEqual));
            }
            return Err(self.error("expected `least` or `most` after `at`"));
        }
        let more = self.at_word("more") || self.at_word("greater");
        if !more && !self.at_word("less") && !self.at_word("fewer") {
            return Ok(None);
        }
        self.advance();
        if !self.eat_word("than") {
            return Err(self.error("expected `than`"));
        }
        if self.eat_word("or") {
            if !self.eat_word("equal") || !self.eat_word("to") {
                return Err(self.error("expected `equal to` after `or`"));
            }
            return Ok(Some(if more { BinaryOperator::GreaterOrEqual } else { BinaryOperator::LessOrEqual }));
        }
        Ok(Some(if more { BinaryOperator::Greater } else { BinaryOperator::Less }))
    }

    /// What can follow `is`.
    fn english_comparison(&mut self) -> Result<Comparison, ExprError> {
        let negated = self.eat_word("not");
        let operator = |operator| Ok(Comparison::Operator { operator, negated });
        if self.eat_word("empty") {
            return Ok(Comparison::Test { test: Test::Empty, negated });
        }
        if self.eat_word("provided") || self.eat_word("set") {
            return Ok(Comparison::Test { test: Test::Provided, negated });
        }
        if self.eat_word("missing") {
            return Ok(Comparison::Test { test: Test::Provided, negated: !negated });
        }
        if self.at_word("yes") || self.at_word("no") {
            let value = self.at_word("yes");
            self.advance();
            return Ok(Comparison::Truth { value, negated });
        }
        if self.eat_word("in") {
            return operator(BinaryOperator::In);
        }
        if self.eat_word("one") {
            return if self.eat_word("of") { operator(BinaryOperator::In) } else { Err(self.error("expected `of`")) };
        }
        if let Some(degree) = self.eat_degree()? {
            return operator(degree);
        }
        if let Some((_, adverb)) = ADVERBS.iter().find(|(adverb, _)| self.at_word(adverb)) {
            self.advance();
            return operator(*adverb);
        }
        if self.eat_word("equal") && !self.eat_word("to") {
            return Err(self.error("expected `to` after `equal`"));
        }
        // `is not e` has an operator of its own; the other negations are a `not` around the comparison.
        let operator = if negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
        Ok(Comparison::Operator { operator, negated: false })
    }

    pub(super) fn compare(&mut self, left: Parsed, comparison: Comparison, depth: usize) -> Result<Parsed, ExprError> {
        match comparison {
            Comparison::Operator { operator, negated } => {
                let right = self.binary(COMPARISON, depth + 1)?;
                let compared = self.combine(operator, left, right)?;
                if negated { self.negate(compared) } else { Ok(compared) }
            }
            Comparison::Test { test, negated } => {
                let span = left.expr.span.to(self.span(self.end, self.end));
                let kind = ExprKind::Test { subject: Box::new(left.expr), test, negated };
                self.node(kind, span, left.height + 1)
            }
            Comparison::Count { operator } => {
                let right = self.binary(COMPARISON, depth + 1)?;
                if !["items", "item", "elements", "entries"].iter().any(|word| self.eat_word(word)) {
                    return Err(self.error("expected `items` after the number"));
                }
                let (span, height) = (left.expr.span, left.height + 1);
                let length = self.node(ExprKind::Length(Box::new(left.expr)), span, height)?;
                self.combine(operator, length, right)
            }
            Comparison::Truth { value, negated } => {
                let start = self.text[..self.end].trim_end_matches(char::is_alphabetic).len();
                let right = Expr { kind: ExprKind::Literal(Value::Bool(value)), span: self.span(start, self.end) };
                let operator = if negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
                self.combine(operator, left, Parsed { expr: right, height: 1 })
            }
        }
    }

    /// `$a, $b and $c are …`: each of them is; with `or`: any of them. `None` if it does not begin so.
    pub(super) fn parse_plural_subjects(&mut self, depth: usize) -> Result<Option<Parsed>, ExprError> {
        let Some((subjects, operator)) = self.scan_subjects() else { return Ok(None) };
        while !self.eat_word("are") {
            self.advance();
        }
        if self.at_word("not") {
            return Err(self.error("say of each variable by itself what it is not"));
        }
        let comparison = self.english_comparison()?;
        let mut subjects = subjects.into_iter();
        let Some(subject) = subjects.next() else { return Ok(None) };
        let first = self.compare(Parsed { expr: subject, height: 1 }, comparison, depth)?;
        let (pattern, height) = (first.expr.clone(), first.height);
        let mut joined = first;
        for subject in subjects {
            let Some(expr) = with_subject(&pattern, subject) else {
                return Err(self.error("say of each variable by itself what it is"));
            };
            joined = self.combine(operator, joined, Parsed { expr, height })?;
        }
        Ok(Some(joined))
    }

    /// The variables in front of an `are`, two at least, and what joins them. Consumes nothing.
    fn scan_subjects(&self) -> Option<(Vec<Expr>, BinaryOperator)> {
        let is_word = |lexed: &Lexed, word: &str| {
            lexed.token == Token::Word && self.text[lexed.start..lexed.end].eq_ignore_ascii_case(word)
        };
        let mut at = self.next.clone();
        let (mut subjects, mut joint) = (Vec::new(), None);
        while subjects.len() < MAX_SUBJECTS {
            let Token::Reference(reference) = at.token else { return None };
            subjects.push(Expr { kind: ExprKind::Reference(reference), span: self.span(at.start, at.end) });
            at = next_token(self.text, at.end);
            if is_word(&at, "are") {
                return Some((subjects, joint?));
            }
            let has_comma = at.token == Token::Symbol(",");
            if has_comma {
                at = next_token(self.text, at.end);
            }
            let joins = if is_word(&at, "and") {
                BinaryOperator::And
            } else if is_word(&at, "or") {
                BinaryOperator::Or
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
