//! The comparisons of expressions, most of them in English (spec `language.md`, "Expressions"): tables of what can
//! stand after the left side. A form is read only if it can mean nothing else.

use crate::expr::comparisons::Says::{self, Compares, Tests, TestsNot};
use crate::expr::comparisons::{
    AFTER_IS, AGES, ANY_CASE, CALL_ENDS, COMPARATIVES, DEGREES, HAS_BEEN, ITEMS, LAST_CALL, MONEY, UNITS, VERBS,
    is_one_of,
};
use crate::expr::lexer::{Token, next_token};
use crate::expr::names::LAST_CALL_FAILED;
use crate::expr::parser::{COMPARISON, ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind, Test, UnaryOperator};
use crate::value::{Reference, Value};

pub(super) fn lowercase(side: Parsed) -> Parsed {
    if let ExprKind::Unary(UnaryOperator::Lowercase, _) = side.expr.kind {
        return side;
    }
    let span = side.expr.span;
    let kind = ExprKind::Unary(UnaryOperator::Lowercase, Box::new(side.expr));
    Parsed { expr: Expr { kind, span }, height: side.height + 1 }
}

impl Parser<'_> {
    pub(super) fn at_one_of(&self, list: &str) -> bool {
        self.next.token == Token::Word && is_one_of(list, self.word())
    }

    pub(super) fn eat_one_of(&mut self, list: &str) -> bool {
        let found = self.at_one_of(list);
        if found {
            self.advance();
        }
        found
    }

    /// Whether a comparison goes on here.
    pub(super) fn at_comparison(&self) -> bool {
        let is_sign = |symbol| {
            matches!(symbol, "==" | "!=" | "<>" | "≠" | "<" | "<=" | "≤" | ">" | ">=" | "≥")
                || (symbol == "=" && self.in_sentence())
        };
        matches!(self.next.token, Token::Symbol(symbol) if is_sign(symbol))
            || ["is", "are", "was", "were", "becomes", "has", "have", "does", "do"]
                .iter()
                .any(|word| self.at_word(word))
            || self.at_negation().is_some()
            || VERBS.iter().any(|(verb, ..)| self.at_first_of(verb))
    }

    /// The verb in `isn't`, `doesn't`, ….
    fn at_negation(&self) -> Option<&'static str> {
        let Token::Word = self.next.token else { return None };
        let word = self.text[self.next.start..self.next.end].to_ascii_lowercase().replace('’', "'");
        let verb = word.strip_suffix("n't")?;
        ["is", "are", "was", "were", "has", "have", "does", "do", "did"].into_iter().find(|known| *known == verb)
    }

    /// Reads what is said of `left`, if anything is.
    pub(super) fn comparison(&mut self, left: Parsed, depth: usize) -> Result<Result<Parsed, Parsed>, ExprError> {
        if !self.at_comparison() && !self.at_word("not") {
            return Ok(Err(left));
        }
        if let Token::Symbol(symbol) = self.next.token {
            let operator = match symbol {
                "==" | "=" | "===" => Op::Equal,
                "!=" | "<>" | "≠" => Op::NotEqual,
                "<" => Op::Less,
                "<=" | "≤" => Op::LessOrEqual,
                ">" => Op::Greater,
                ">=" | "≥" => Op::GreaterOrEqual,
                _ => return Ok(Err(left)),
            };
            self.advance();
            return self.say(left, Compares(operator), false, depth).map(Ok);
        }
        if self.eat_word("not") {
            if self.eat_word("in") {
                return self.say(left, Compares(Op::In), true, depth).map(Ok);
            }
            return Err(self.error("expected `in` after `not`"));
        }
        let (verb, contracted) = match self.at_negation() {
            Some(verb) => {
                self.advance();
                (Some(verb), true)
            }
            None => {
                let auxiliaries = ["is", "are", "was", "were", "becomes", "has", "have", "does", "do", "did"];
                (auxiliaries.into_iter().find(|word| self.eat_word(word)), false)
            }
        };
        let negated = contracted || (verb.is_some() && (self.eat_phrase("not") || self.eat_phrase("no longer")));
        match verb {
            Some("is" | "are" | "was" | "were" | "becomes") => self.after_is(left, negated, depth).map(Ok),
            Some("has" | "have") => self.after_has(left, negated, depth).map(Ok),
            Some(_) if !negated => Err(self.error("expected `not` after `does`")),
            verb => {
                let form = |(singular, base, _): &(&'static str, &'static str, Says)| {
                    if verb.is_some() { *base } else { *singular }
                };
                if negated && self.eat_phrase("have") {
                    return self.after_has(left, true, depth).map(Ok);
                }
                let Some(row) = VERBS.iter().find(|row| self.eat_phrase(form(row))) else {
                    return if verb.is_some() {
                        Err(self.error("expected `contain`, `equal`, `start with` or the like after `does not`"))
                    } else {
                        Ok(Err(left))
                    };
                };
                let negated = negated != (row.2 == Compares(Op::Contains) && self.eat_phrase("no"));
                self.say(left, row.2, negated, depth).map(Ok)
            }
        }
    }

    pub(super) fn after_is(&mut self, left: Parsed, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        let _ = ["now", "currently", "already", "still"].iter().any(|word| self.eat_word(word));
        if self.eat_phrase("set to") {
            return self.say(left, Compares(Op::Equal), negated, depth);
        }
        let (is_length, before) = (self.at_word("longer") || self.at_word("shorter"), self.mark());
        if let Some(operator) = self.eat_degree() {
            let right = self.mark();
            let subject = Parsed { expr: left.expr.clone(), height: left.height };
            if is_length && self.binary(COMPARISON, depth + 1).is_ok() && self.eat_items().is_ok() {
                self.reset(before);
                return self.count_items(left, negated, depth);
            }
            self.reset(right);
            let compared = self.say(left, Compares(operator), negated, depth)?;
            return self.and_degree(subject, compared, negated, depth);
        }
        if let Some((_, says)) = AFTER_IS.iter().find(|(words, _)| self.eat_phrase(words)) {
            return self.say(left, *says, negated, depth);
        }
        let is_text = matches!(next_token(self.text, self.next.end).token, Token::Str(_));
        if self.at_word("on") && is_text {
            self.advance();
        }
        if self.eat_phrase("neither") {
            self.joint = "nor";
            let compared = self.say(left, Compares(Op::Equal), !negated, depth);
            self.joint = "or";
            return compared;
        }
        self.say(left, Compares(Op::Equal), negated, depth)
    }

    /// `is more than 3 and less than 5`: the second is said of the same `subject`.
    fn and_degree(
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
        self.combine(joint, compared, second)
    }

    fn after_has(&mut self, left: Parsed, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        if self.eat_phrase("been") {
            return if HAS_BEEN.iter().any(|words| self.eat_phrase(words)) {
                self.say(left, Tests(Test::Provided), negated, depth)
            } else {
                Err(self.error("expected `provided` or `set` after `has been`"))
            };
        }
        if self.eat_phrase("no") || (negated && self.eat_phrase("any")) {
            self.eat_items()?;
            return self.say(left, Tests(Test::Empty), false, depth);
        }
        if matches!(self.next.token, Token::Str(_)) {
            return self.say(left, Compares(Op::Contains), negated, depth);
        }
        if ["reached", "exceeded"].iter().any(|verb| self.at_word(verb)) {
            let operator = if self.at_word("reached") { Op::GreaterOrEqual } else { Op::Greater };
            self.advance();
            return self.say(left, Compares(operator), negated, depth);
        }
        if self.eat_phrase("nothing in it") {
            return self.say(left, Tests(Test::Empty), negated, depth);
        }
        let _ = self.eat_phrase("any");
        self.count_items(left, negated, depth)
    }

    /// `more than 3 items`, and `items` alone.
    fn count_items(&mut self, left: Parsed, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        let operator = match self.eat_degree() {
            Some(operator) => operator,
            None if self.eat_phrase("exactly") || matches!(self.next.token, Token::Number(_)) => Op::Equal,
            None if self.at_one_of(ITEMS) => {
                self.eat_items()?;
                return self.say(left, Tests(Test::Empty), !negated, depth);
            }
            None => return Err(self.error("expected `more than`, `at least`, … and a number of items after `has`")),
        };
        let right = self.binary(COMPARISON, depth + 1)?;
        self.eat_items()?;
        let (span, height) = (left.expr.span, left.height + 1);
        let length = self.node(ExprKind::Length(Box::new(left.expr)), span, height)?;
        let counted = self.combine(operator, length, right)?;
        if negated { self.negate(counted) } else { Ok(counted) }
    }

    pub(super) fn eat_items(&mut self) -> Result<(), ExprError> {
        let found = self.eat_one_of(ITEMS);
        found.then_some(()).ok_or_else(|| self.error("expected `items` after the number"))
    }

    /// `at least`, `more than`, `less than or equal to`, ….
    pub(super) fn eat_degree(&mut self) -> Option<Op> {
        self.says_older = ["older", "younger"].iter().any(|word| self.at_word(word));
        if let Some((words, operator)) = COMPARATIVES.iter().find(|(words, _)| self.at_word(words)) {
            let than = format!("{words} than");
            if self.eat_phrase(&than) {
                let or_equal = self.eat_phrase("or equal to");
                return Some(if or_equal { or_the_same(*operator) } else { *operator });
            }
        }
        DEGREES.iter().find(|(words, _)| self.eat_phrase(words)).map(|(_, operator)| *operator)
    }

    pub(super) fn at_or_degree(&self) -> bool {
        let degree = next_token(self.text, self.next.end);
        let is = |(words, _): &(&str, Op)| self.text[degree.start..degree.end].eq_ignore_ascii_case(words);
        self.at_word("or") && COMPARATIVES.iter().any(is)
    }

    /// `3 or more`, `3 or less`.
    pub(super) fn eat_or_degree(&mut self) -> Option<Op> {
        COMPARATIVES
            .iter()
            .find(|(words, _)| self.eat_phrase(&format!("or {words}")))
            .map(|(_, operator)| or_the_same(*operator))
    }

    /// Joins `left` with what is said of it, which is still to be read.
    fn say(&mut self, left: Parsed, says: Says, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        let compared = match says {
            Tests(test) | TestsNot(test) => {
                let span = left.expr.span.to(self.span(self.end, self.end));
                let negated = negated != matches!(says, TestsNot(_));
                let kind = ExprKind::Test { subject: Box::new(left.expr), test, negated };
                return self.node(kind, span, left.height + 1);
            }
            Says::Is(truth) => {
                let start = self.text[..self.end].trim_end_matches(char::is_alphabetic).len();
                let right = Expr { kind: ExprKind::Literal(Value::Bool(truth)), span: self.span(start, self.end) };
                let operator = if negated { Op::NotEqual } else { Op::Equal };
                return self.combine(operator, left, Parsed { expr: right, height: 1 });
            }
            Says::Between => {
                let low = self.binary(COMPARISON, depth + 1)?;
                if !self.eat_word("and") && !self.eat_word("to") {
                    return Err(self.error("expected `and` and the larger number after `between`"));
                }
                let high = self.binary(COMPARISON, depth + 1)?;
                let again = Parsed { expr: left.expr.clone(), height: left.height };
                let least = self.combine(Op::GreaterOrEqual, left, low)?;
                let most = self.combine(Op::LessOrEqual, again, high)?;
                self.combine(Op::And, least, most)?
            }
            Compares(operator @ (Op::Contains | Op::StartsWith | Op::EndsWith | Op::Says)) => {
                let right = self.right_side(operator, depth)?;
                let any_case = self.eat_any_case() || std::mem::take(&mut self.any_case);
                // It is in any case as it is.
                let any_case = any_case && operator != Op::Says;
                let left = if any_case { lowercase(left) } else { left };
                self.any_of(operator, left, right, any_case)?
            }
            Compares(operator) => {
                let right = self.right_side(operator, depth)?;
                let is_number = matches!(right.expr.kind, ExprKind::Literal(Value::Int(_) | Value::Float(_)));
                if is_number {
                    self.eat_unit()?;
                }
                let degree = if operator == Op::Equal { self.eat_or_degree() } else { None };
                // `200 or more euros`.
                if is_number && degree.is_some() {
                    self.eat_unit()?;
                }
                let operator = degree.unwrap_or(operator);
                // What lists several is one of them.
                let operator = if operator == Op::Equal && self.listed { Op::In } else { operator };
                let any_case = self.eat_any_case() || std::mem::take(&mut self.any_case);
                let (left, right) = if any_case { (lowercase(left), lowercase(right)) } else { (left, right) };
                // `is not e` has an operator of its own; the other negations are a `not` around the comparison.
                if negated && operator == Op::Equal {
                    return self.combine(Op::NotEqual, left, right);
                }
                self.combine(operator, left, right)?
            }
        };
        if negated { self.negate(compared) } else { Ok(compared) }
    }

    /// Whether a `%` comes that measures: in a sentence, with nothing after it that could be divided by.
    pub(super) fn at_percent(&self) -> bool {
        let after = || next_token(self.text, self.next.end).token;
        self.in_sentence()
            && matches!(self.next.token, Token::Symbol("%"))
            && !matches!(after(), Token::Number(_) | Token::Reference(_) | Token::Symbol("("))
    }

    /// What is counted or measured, which changes nothing: `20 euros`, `50%`, `18 years old`. An age in days is an error.
    fn eat_unit(&mut self) -> Result<(), ExprError> {
        if self.at_percent() || self.at_money() {
            self.advance();
            return Ok(());
        }
        let counts_age = self.at_one_of(AGES);
        if self.eat_one_of(UNITS) || (counts_age && self.eat_one_of(AGES)) {
            let is_age = counts_age && (self.at_word("old") || self.says_older);
            if is_age || self.at_word("ago") {
                return Err(self.error("an age is not computed; compare a date with a date"));
            }
            let _ = self.eat_word("old");
        }
        Ok(())
    }

    /// Whether a sign of money comes: `200 €`, `€200`.
    pub(super) fn at_money(&self) -> bool {
        self.in_sentence() && matches!(self.next.token, Token::Bad(_)) && is_one_of(MONEY, self.word())
    }

    /// `ignoring case`, with or without a comma in front of it.
    pub(super) fn eat_any_case(&mut self) -> bool {
        let mark = self.mark();
        let _ = self.eat_symbol(",");
        let found = ANY_CASE.iter().any(|words| self.eat_phrase(words));
        if !found {
            self.reset(mark);
        }
        found
    }

    /// `the last call failed`, `the call worked`.
    pub(super) fn parse_last_call(&mut self) -> Result<Option<Parsed>, ExprError> {
        let (mark, start) = (self.mark(), self.next.start);
        if !self.in_sentence() || !LAST_CALL.iter().any(|words| self.eat_phrase(words)) {
            return Ok(None);
        }
        let Some((_, failed)) = CALL_ENDS.iter().find(|(words, _)| self.eat_phrase(words)) else {
            self.reset(mark);
            return Ok(None);
        };
        let reference = Reference { name: LAST_CALL_FAILED.into(), path: Vec::new() };
        let said = self.node(ExprKind::Reference(reference), self.span(start, self.end), 1)?;
        if *failed {
            return Ok(Some(said));
        }
        let kind = ExprKind::Unary(UnaryOperator::Not, Box::new(said.expr));
        self.node(kind, self.span(start, self.end), 2).map(Some)
    }
}

fn or_the_same(operator: Op) -> Op {
    if operator == Op::Greater { Op::GreaterOrEqual } else { Op::LessOrEqual }
}
