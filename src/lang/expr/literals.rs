//! The literals of expressions: numbers, dates, quoted texts with references in them, words that stand for a value, lists
//! and maps.

use std::sync::Arc;

use crate::expr::lexer::{Lexed, Token, next_token, number_word, read_number, scan_thousands};
use crate::expr::names::continues_name;
use crate::expr::parser::{ExprError, Parsed, Parser};
use crate::expr::template::{Part, scan_text};
use crate::expr::tree::{BinaryOperator, Expr, ExprKind};
use crate::value::{MONTHS, Value, is_date};

impl Parser<'_> {
    /// A number; outside of brackets `20,000` is one.
    pub(super) fn number(&mut self) -> Result<Parsed, ExprError> {
        let (start, mut end) = (self.next.start, self.next.end);
        let is_grouped =
            self.n_brackets == 0 && self.word().len() <= 3 && self.word().bytes().all(|b| b.is_ascii_digit());
        let n_more = if is_grouped { scan_thousands(&self.text[end..]) } else { 0 };
        end += n_more;
        // A fraction after the thousands: `20,000.50`.
        if n_more > 0 && self.text[end..].starts_with('.') {
            let n_digits = self.text[end + 1..].bytes().take_while(u8::is_ascii_digit).count();
            end += if n_digits > 0 { n_digits + 1 } else { 0 };
        }
        if let Some(date) = self.date_in_words()? {
            return Ok(date);
        }
        let Some(mut value) = read_number(&self.text[start..end].replace(',', "")) else {
            return Err(self.error("number is too large"));
        };
        // More than `20k`; the text `4K` by itself may be anything.
        let rest = &self.text[end..];
        let is_thousands = self.in_degree && self.in_sentence() && rest.starts_with(['k', 'K']);
        if is_thousands && !rest[1..].starts_with(continues_name) {
            end += 1;
            if let Value::Int(number) = value {
                value = number.checked_mul(1000).map_or(Value::Float(number as f64 * 1000.0), Value::Int);
            } else if let Value::Float(number) = value {
                value = Value::Float(number * 1000.0);
            }
        }
        self.reset((next_token(self.text, end), end));
        let number = self.node(ExprKind::Literal(value), self.span(start, end), 1)?;
        // `75% of $policy.value`
        if self.at_percent() {
            let mark = self.mark();
            self.advance();
            if self.eat_word("of")
                && let Some(whole) = self.variable()?
            {
                let hundred = self.node(ExprKind::Literal(Value::Int(100)), whole.expr.span, 1)?;
                let product = self.combine(BinaryOperator::Multiply, whole, number)?;
                let mut part = self.combine(BinaryOperator::Divide, product, hundred)?;
                part.expr.span = self.span(start, self.end);
                return Ok(part);
            }
            self.reset(mark);
        }
        Ok(number)
    }

    /// `half of $rounds`, `twice $price`.
    pub(super) fn part_of(&mut self) -> Result<Option<Parsed>, ExprError> {
        const PARTS: [(&str, BinaryOperator); 3] = [
            ("half of", BinaryOperator::Divide),
            ("half", BinaryOperator::Divide),
            ("twice", BinaryOperator::Multiply),
        ];
        if !self.in_sentence() || !self.at_one_of("half twice") {
            return Ok(None);
        }
        let (mark, start) = (self.mark(), self.next.start);
        let part = PARTS.iter().find(|(words, _)| self.eat_phrase(words));
        let Some((_, operator)) = part else { return Ok(None) };
        let _ = self.eat_word("the");
        let Some(whole) = self.variable()? else {
            self.reset(mark);
            return Ok(None);
        };
        let two = self.node(ExprKind::Literal(Value::Int(2)), whole.expr.span, 1)?;
        let mut part = self.combine(*operator, whole, two)?;
        part.expr.span = self.span(start, self.end);
        Ok(Some(part))
    }

    /// `1 May 2026`, `June 1, 2026`, where something is compared with it as earlier or later.
    pub(super) fn date_in_words(&mut self) -> Result<Option<Parsed>, ExprError> {
        let start = self.next.start;
        let is_wanted = self.in_degree && self.in_sentence();
        let Some((date, length)) = is_wanted.then(|| read_date(&self.text[start..])).flatten() else { return Ok(None) };
        let end = start + length;
        self.reset((next_token(self.text, end), end));
        self.node(ExprKind::Literal(Value::from(date)), self.span(start, end), 1).map(Some)
    }

    pub(super) fn list(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        self.advance();
        let (mut items, mut height) = (Vec::new(), 0);
        self.items("]", |parser| {
            let item = parser.binary(0, depth + 1)?;
            height = height.max(item.height);
            items.push(item.expr);
            Ok(())
        })?;
        self.node(ExprKind::List(items), self.span(start, self.end), height + 1)
    }

    pub(super) fn map(&mut self, depth: usize) -> Result<Parsed, ExprError> {
        let start = self.next.start;
        self.advance();
        let (mut members, mut height) = (Vec::new(), 0);
        self.items("}", |parser| {
            let Token::Str(key) = parser.next.token.clone() else {
                return Err(parser.error("expected a key in quotes"));
            };
            parser.advance();
            if !parser.eat_symbol(":") {
                return Err(parser.error("expected `:` after the key"));
            }
            let value = parser.binary(0, depth + 1)?;
            height = height.max(value.height);
            members.push((key, value.expr));
            Ok(())
        })?;
        self.node(ExprKind::Map(members), self.span(start, self.end), height + 1)
    }

    /// A quoted text; `{$name}` in it stands for a value.
    pub(super) fn text_of(&self, text: Arc<str>) -> ExprKind {
        if !text.contains("{$") {
            return ExprKind::Literal(Value::Str(text));
        }
        let span = self.span(self.next.start, self.next.end);
        let mut pieces: Vec<Expr> = Vec::new();
        for part in scan_text(&text) {
            let kind = match part {
                Part::Reference { reference, braced: true, .. } => ExprKind::Reference(reference),
                Part::Reference { source: text, .. } | Part::Text(text) => ExprKind::Literal(Value::from(text)),
            };
            pieces.push(Expr { kind, span });
        }
        match &pieces[..] {
            [Expr { kind: kind @ ExprKind::Literal(_), .. }] => kind.clone(),
            _ => ExprKind::Text(pieces),
        }
    }

    pub(super) fn word_literal(&self) -> Result<Value, ExprError> {
        let word = &self.text[self.next.start..self.next.end];
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" | "none" => Ok(Value::Null),
            "yes" | "no" => Err(self.error("`yes` and `no` can only follow `is`")),
            word => number_word(word)
                .map(Value::Int)
                .ok_or_else(|| self.error("expected a value; write a variable with `$`, text in quotes")),
        }
    }
}

/// A date with its month as a word and its year, at the beginning of `text`: as `2026-05-01`, and its length.
pub(crate) fn read_date(text: &str) -> Option<(String, usize)> {
    let tokens = || {
        let mut at = next_token(text, 0);
        std::iter::from_fn(move || {
            let next = next_token(text, at.end);
            Some(std::mem::replace(&mut at, next))
        })
    };
    let word = |lexed: &Lexed| text[lexed.start..lexed.end].to_lowercase();
    // `1st` is a number and a word to the lexer; a comma stands before the year.
    let is_filler = |lexed: &Lexed| matches!(word(lexed).as_str(), "st" | "nd" | "rd" | "th" | "of" | ",");
    let mut parts = tokens().filter(|lexed| !is_filler(lexed)).take(3);
    let (first, second, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = |lexed: &Lexed| {
        let name = word(lexed);
        let is_it = |known: &&str| *known == name || (name.len() >= 3 && known.starts_with(&name));
        MONTHS.iter().position(is_it).filter(|_| lexed.token == Token::Word)
    };
    let number = |lexed: &Lexed| if let Token::Number(Value::Int(number)) = lexed.token { Some(number) } else { None };
    let (day, month) = match month(&first) {
        Some(month) => (number(&second)?, month),
        None => (number(&first)?, month(&second)?),
    };
    let date = format!("{:04}-{:02}-{day:02}", number(&year)?, month + 1);
    (is_date(&date) && year.end - year.start == 4).then_some((date, year.end))
}
