//! The literals of expressions: numbers, quoted texts with references in them, words that stand for a value.

use std::sync::Arc;

use crate::expr::lexer::{next_token, number_word, read_number, scan_thousands};
use crate::expr::parser::{ExprError, Parsed, Parser};
use crate::expr::template::{Part, scan_text};
use crate::expr::tree::{Expr, ExprKind};
use crate::value::Value;

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
        let Some(value) = read_number(&self.text[start..end].replace(',', "")) else {
            return Err(self.error("number is too large"));
        };
        self.reset((next_token(self.text, end), end));
        self.node(ExprKind::Literal(value), self.span(start, end), 1)
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
