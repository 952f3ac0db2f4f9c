//! The comparisons of expressions, most of them in English (spec `language.md`, "Expressions"): tables of what can
//! stand after the left side. A form is read only if it can mean nothing else.

use crate::expr::comparisons::Says::{self, Compares, Tests, TestsNot};
use crate::expr::comparisons::{
    AFTER_IS, ANY_CASE, CALL_ENDS, COMPARATIVES, DEGREES, HAS_BEEN, ITEMS, LAST_CALL, VERBS, is_one_of, operator_of,
};
use crate::expr::lexer::{Token, next_token, number_word};
use crate::expr::measures::{is_age, is_number};
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
        let is_sign = |symbol| operator_of(symbol).is_some() && (symbol != "=" || self.in_sentence());
        matches!(self.next.token, Token::Symbol(symbol) if is_sign(symbol))
            || ["is", "are", "be", "was", "were", "becomes", "has", "have", "does", "do"]
                .iter()
                .any(|word| self.at_word(word))
            || self.at_negation().is_some()
            || VERBS.iter().any(|(verb, base, _)| self.at_first_of(verb) || (self.is_plural && self.at_first_of(base)))
    }

    /// The verb in `isn't`, `doesn't`, ….
    pub(super) fn at_negation(&self) -> Option<&'static str> {
        let Token::Word = self.next.token else { return None };
        let word = Some(&self.text[self.next.start..self.next.end]).filter(|word| word.contains(['\'', '’']))?;
        let word = word.to_ascii_lowercase().replace('’', "'");
        let verb = word.strip_suffix("n't")?;
        ["is", "are", "was", "were", "has", "have", "does", "do", "did"].into_iter().find(|known| *known == verb)
    }

    /// Reads what is said of `left`, if anything is.
    pub(super) fn comparison(&mut self, left: Parsed, depth: usize) -> Result<Result<Parsed, Parsed>, ExprError> {
        if !self.at_comparison() && !self.at_word("not") {
            return Ok(Err(left));
        }
        (self.says_older, self.says_longer) = (false, false);
        if let Token::Symbol(symbol) = self.next.token {
            let Some(operator) = operator_of(symbol) else { return Ok(Err(left)) };
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
                let auxiliaries = ["is", "are", "be", "was", "were", "becomes", "has", "have", "does", "do", "did"];
                (auxiliaries.into_iter().find(|word| self.eat_word(word)), false)
            }
        };
        let negated = contracted || (verb.is_some() && (self.eat_phrase("not") || self.eat_phrase("no longer")));
        match verb {
            Some("is" | "are" | "be" | "was" | "were" | "becomes") => self.after_is(left, negated, depth).map(Ok),
            Some("has" | "have") => self.after_has(left, negated, depth).map(Ok),
            Some(_) if !negated => Err(self.error("expected `not` after `does`")),
            verb => {
                // After several variables `say` begins what is done as likely as not.
                let is_plural = self.is_plural && !self.at_word("say");
                if negated && self.eat_phrase("have") {
                    return self.after_has(left, true, depth).map(Ok);
                }
                let Some(row) = VERBS.iter().find(|(singular, base, _)| {
                    (verb.is_none() && self.eat_phrase(singular))
                        || ((verb.is_some() || is_plural) && self.eat_phrase(base))
                }) else {
                    return if verb.is_some() {
                        Err(self.error("expected `contain`, `equal`, `start with` or the like after `does not`"))
                    } else {
                        Ok(Err(left))
                    };
                };
                if !negated && matches!(row.2, Compares(_)) && self.eat_phrase("neither") {
                    return self.say_neither(left, row.2, depth).map(Ok);
                }
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
        if let Some(operator) = self.eat_degree() {
            let subject = left.clone();
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
        if !negated && self.eat_phrase("neither") {
            return self.say_neither(left, Compares(Op::Equal), depth);
        }
        // `only` says nothing more of a number.
        let after = next_token(self.text, self.next.end);
        let is_number =
            matches!(after.token, Token::Number(_)) || number_word(&self.text[after.start..after.end]).is_some();
        if !negated && is_number {
            let _ = self.eat_word("only") || self.eat_word("just");
        }
        self.say(left, Compares(Op::Equal), negated, depth)
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
            let says = if self.at_word("reached") { Says::Reaches } else { Compares(Op::Greater) };
            self.advance();
            return self.say(left, says, negated, depth);
        }
        if self.eat_phrase("nothing in it") {
            return self.say(left, Tests(Test::Empty), negated, depth);
        }
        let _ = self.eat_phrase("any");
        self.count_items(left, negated, depth)
    }

    /// `more than 3 items`, and `items` alone.
    fn count_items(&mut self, left: Parsed, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        if self.eat_one_of(ITEMS) {
            return self.say(left, Tests(Test::Empty), !negated, depth);
        }
        let Some((operator, number)) = self.number_of_items(depth)? else {
            return Err(self.error("expected `more than`, `at least`, … and a number of items after `has`"));
        };
        let length = self.length_of(left)?;
        let counted = self.combine(operator, length, number)?;
        if negated { self.negate(counted) } else { Ok(counted) }
    }

    pub(super) fn eat_items(&mut self) -> Result<(), ExprError> {
        let found = self.eat_one_of(ITEMS);
        found.then_some(()).ok_or_else(|| self.error("expected `items` after the number"))
    }

    /// `at least`, `more than`, `less than or equal to`, ….
    pub(super) fn eat_degree(&mut self) -> Option<Op> {
        self.says_older = self.at_one_of("older younger");
        self.says_longer = self.at_one_of("longer shorter");
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
        let mark = self.mark();
        if !self.eat_word("or") {
            return None;
        }
        let found = COMPARATIVES.iter().find(|(words, _)| self.eat_phrase(words));
        if found.is_none() {
            self.reset(mark);
        }
        found.map(|(_, operator)| or_the_same(*operator))
    }

    /// Joins `left` with what is said of it, which is still to be read.
    pub(super) fn say(&mut self, left: Parsed, says: Says, negated: bool, depth: usize) -> Result<Parsed, ExprError> {
        let compared = match says {
            Tests(test) | TestsNot(test) => {
                let span = left.expr.span.to(self.span(self.end, self.end));
                let negated = negated != matches!(says, TestsNot(_));
                let is_nothing = negated == (test == Test::Provided);
                let again = (is_nothing && self.in_sentence() && self.at_word("or")).then(|| left.expr.clone());
                let height = left.height + 1;
                let tested = self.node(ExprKind::Test { subject: Box::new(left.expr), test, negated }, span, height)?;
                return match again {
                    Some(expr) => self.or_nothing(Parsed { expr, height: left.height }, tested),
                    None => Ok(tested),
                };
            }
            Says::Is(truth) => {
                let start = self.text[..self.end].trim_end_matches(char::is_alphabetic).len();
                let right = Expr { kind: ExprKind::Literal(Value::Bool(truth)), span: self.span(start, self.end) };
                let operator = if negated { Op::NotEqual } else { Op::Equal };
                return self.combine(operator, left, Parsed { expr: right, height: 1 });
            }
            Says::Between => {
                let years = is_age(&left.expr);
                let low = self.binary(COMPARISON, depth + 1)?;
                self.eat_unit_of(&low.expr, years)?;
                if !self.eat_word("and") && !self.eat_word("to") {
                    return Err(self.error("expected `and` and the larger number after `between`"));
                }
                let high = self.binary(COMPARISON, depth + 1)?;
                self.eat_unit_of(&high.expr, years)?;
                self.eat_inclusive();
                let again = left.clone();
                let least = self.combine(Op::GreaterOrEqual, left, low)?;
                let most = self.combine(Op::LessOrEqual, again, high)?;
                self.combine(Op::And, least, most)?
            }
            Compares(operator @ (Op::Contains | Op::StartsWith | Op::EndsWith | Op::Says)) => {
                let mark = self.mark();
                let is_named =
                    ["the word", "the words", "the text", "the phrase"].iter().any(|words| self.eat_phrase(words));
                // `contains the text of the law` names none.
                if is_named && !matches!(self.next.token, Token::Str(_)) {
                    self.reset(mark);
                }
                let right = self.right_side(operator, depth)?;
                let any_case = self.eat_any_case() || std::mem::take(&mut self.any_case);
                // It is in any case as it is.
                let any_case = any_case && operator != Op::Says;
                let left = if any_case { lowercase(left) } else { left };
                self.any_of(operator, left, right, any_case)?
            }
            Says::IsNoneOf => return self.say(left, Compares(Op::In), !negated, depth),
            Says::Reaches => {
                let operator = self.reached()?;
                return self.say(left, Compares(operator), negated, depth);
            }
            Compares(operator) => {
                let was_degree = std::mem::replace(&mut self.in_degree, is_order(operator));
                let right = self.right_side(operator, depth);
                self.in_degree = was_degree;
                let right = right?;
                let years = is_age(&left.expr);
                self.eat_unit_of(&right.expr, years)?;
                let degree = if operator == Op::Equal { self.eat_or_degree() } else { None };
                // `200 or more euros`.
                if degree.is_some() {
                    self.eat_unit_of(&right.expr, years)?;
                }
                let is_number = is_number(&right.expr);
                if degree.is_some() && self.any_case {
                    return Err(self.error("words have no order; compare with a number, a date or a time"));
                }
                let left = if is_number && self.eat_length() { self.length_of(left)? } else { left };
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

fn is_order(operator: Op) -> bool {
    matches!(operator, Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual)
}

fn or_the_same(operator: Op) -> Op {
    if operator == Op::Greater { Op::GreaterOrEqual } else { Op::LessOrEqual }
}
