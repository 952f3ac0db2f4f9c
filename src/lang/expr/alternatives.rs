//! What a comparison compares with: a value, several joined by `or`, and in a sentence texts without quotes
//! (spec `language.md`, "Expressions").

use crate::diagnostic::wording::one_line;
use crate::expr::comparisons::{
    ACTION_VERBS, COMPARATIVES, JUDGEMENTS, MAX_JOINED, MAX_TEXT_WORDS, MOMENTS, NO_TEXT, PREDICATES, is_one_of,
};
use crate::expr::english::lowercase;
use crate::expr::lexer::{Lexed, Token, next_token, number_word};
use crate::expr::parser::{COMPARISON, ExprError, Parsed, Parser};
use crate::expr::tree::{BinaryOperator as Op, Expr, ExprKind};
use crate::value::Value;

impl Parser<'_> {
    /// What a comparison compares with: a value, in a sentence also words without quotes, and several joined by `or`.
    pub(super) fn right_side(&mut self, operator: Op, depth: usize) -> Result<Parsed, ExprError> {
        self.listed = false;
        self.any_case = false;
        let contains = matches!(operator, Op::Contains | Op::StartsWith | Op::EndsWith | Op::Says);
        let lists = contains || matches!(operator, Op::Equal | Op::NotEqual | Op::In);
        if operator == Op::Equal || operator == Op::In {
            let _ = self.eat_word("either");
        }
        // What somebody says stands in quotes: `When $player says quit` tells what they want.
        let takes_text = lists && operator != Op::Says;
        let Some(first) = self.alternative(takes_text, lists && !contains)? else {
            return self.binary(COMPARISON, depth + 1);
        };
        // `"P1"/"P2"` divides nothing.
        let is_text = matches!(first.expr.kind, ExprKind::Literal(Value::Str(_)));
        let goes_on = matches!(self.next.token, Token::Symbol("+" | "-" | "*"))
            || (!is_text && matches!(self.next.token, Token::Symbol("/")))
            || (matches!(self.next.token, Token::Symbol("%")) && !self.at_percent());
        if !lists || goes_on {
            return self.climb(first, COMPARISON, depth);
        }
        let mut items = vec![first];
        while items.len() < MAX_JOINED {
            let (mark, any_case) = (self.mark(), self.any_case);
            if self.at_or_degree() {
                break;
            }
            let comma = self.eat_symbol(",");
            let joint = self.joint;
            let or = self.eat_word(joint)
                || (is_text && self.eat_symbol("/"))
                || (operator == Op::In && !comma && self.eat_word("and"));
            if !comma && !or {
                break;
            }
            let acts = comma && !or && self.at_one_of(ACTION_VERBS);
            match self.alternative(takes_text, lists && !contains)? {
                // `"a" or $b`, `"a", say "b"`: what follows is something else. A comma joins only what an `or` ends.
                Some(item) if !acts && !self.at_comparison() && (or || operator == Op::In || self.or_follows()) => {
                    items.push(item);
                }
                _ => {
                    self.reset(mark);
                    self.any_case = any_case;
                    break;
                }
            }
        }
        if items.len() == 1 {
            return Ok(items.remove(0));
        }
        self.listed = true;
        let span = items[0].expr.span.to(items[items.len() - 1].expr.span);
        let items: Vec<Expr> = items.into_iter().map(|item| item.expr).collect();
        self.node(ExprKind::List(items), span, 2)
    }

    /// `contains "a" or "b"`: one of them is enough.
    pub(super) fn any_of(
        &mut self,
        operator: Op,
        left: Parsed,
        right: Parsed,
        any_case: bool,
    ) -> Result<Parsed, ExprError> {
        let cased = |side: Parsed| if any_case { lowercase(side) } else { side };
        let ExprKind::List(items) = &right.expr.kind else { return self.combine(operator, left, cased(right)) };
        if !self.listed {
            return self.combine(operator, left, cased(right));
        }
        let mut whole: Option<Parsed> = None;
        for item in items {
            let one = self.combine(operator, left.clone(), cased(Parsed { expr: item.clone(), height: 1 }))?;
            whole = Some(match whole {
                Some(before) => self.combine(Op::Or, before, one)?,
                None => one,
            });
        }
        whole.ok_or_else(|| self.error("expected text"))
    }

    /// Whether an `or` joins what comes, after a comma and more texts at most.
    fn or_follows(&self) -> bool {
        let mut at = self.next.clone();
        for _ in 0..MAX_JOINED * MAX_TEXT_WORDS {
            let is_or = at.token == Token::Word && self.text[at.start..at.end].eq_ignore_ascii_case("or");
            if is_or {
                return true;
            }
            let is_text = matches!(at.token, Token::Symbol(",") | Token::Str(_) | Token::Number(_));
            if !(is_text || at.token == Token::Word && self.bare_text_at(&at, true).is_some()) {
                return false;
            }
            at = next_token(self.text, at.end);
        }
        false
    }

    /// A text or number, in quotes or not, that may be one of several.
    fn alternative(&mut self, takes_text: bool, judges: bool) -> Result<Option<Parsed>, ExprError> {
        let start = self.next.start;
        let value = if self.next.token == Token::Word {
            if let Some(number) = number_word(self.word()) {
                Value::Int(number)
            } else {
                let Some(end) = self.bare_text_at(&self.next, judges).filter(|_| takes_text && self.in_sentence())
                else {
                    return Ok(None);
                };
                while self.next.start < end {
                    self.advance();
                }
                self.any_case = true;
                let kind = ExprKind::Literal(Value::from(one_line(&self.text[start..end])));
                return self.node(kind, self.span(start, end), 1).map(Some);
            }
        } else if let Token::Number(_) = self.next.token {
            return self.number().map(Some);
        } else {
            let Token::Str(text) = self.next.token.clone() else { return Ok(None) };
            if text.contains("{$") {
                return Ok(None);
            }
            Value::Str(text)
        };
        self.advance();
        self.node(ExprKind::Literal(value), self.span(start, self.end), 1).map(Some)
    }

    /// Where the words without quotes end that begin at `from`, if they can be a text: up to a mark, a joint or the end.
    /// Where it may be a judgement (`judges`), words that judge are no text.
    fn bare_text_at(&self, from: &Lexed, judges: bool) -> Option<usize> {
        let (mut at, mut end) = (from.clone(), None);
        for n_words in 0..=MAX_TEXT_WORDS {
            let word = &self.text[at.start..at.end];
            let known = |list: &str| is_one_of(list, word);
            let is_over = match at.token {
                Token::Word => {
                    known("and or nor then but ignoring regardless whatever") || (n_words > 0 && known(ACTION_VERBS))
                }
                Token::End | Token::Symbol("," | ":" | ")" | "-") => true,
                Token::Bad(_) => matches!(word, ";" | "." | "—" | "–" | "?" | "!" | "→" | "&"),
                Token::Reference(_) | Token::Number(_) | Token::Str(_) | Token::Symbol(_) => return None,
            };
            if is_over || n_words == MAX_TEXT_WORDS {
                return end.filter(|_| is_over);
            }
            let literal = known("true false null none");
            // `grade is A` is no article.
            let is_letter = word.len() == 1 && word != "I" && word.chars().all(char::is_uppercase);
            let judged = judges && known(JUDGEMENTS);
            // `is later` compares with something that is left out.
            let compares = n_words == 0 && COMPARATIVES.iter().any(|(known, _)| word.eq_ignore_ascii_case(known));
            let is_typo = compares || n_words == 0 && PREDICATES.like(&word.to_lowercase()).next().is_some();
            if at.token != Token::Word
                || literal
                || (known(NO_TEXT) && !is_letter)
                || known(MOMENTS)
                || judged
                || is_typo
            {
                return None;
            }
            end = Some(at.end);
            at = next_token(self.text, at.end);
            // `in-progress` is one word.
            while at.token == Token::Symbol("-") && Some(at.start) == end {
                let part = next_token(self.text, at.end);
                if part.token != Token::Word || part.start != at.end {
                    break;
                }
                end = Some(part.end);
                at = next_token(self.text, part.end);
            }
        }
        None
    }
}

/// A text without quotes, if `text` is one: a state or kind, as after `is`.
pub(crate) fn bare_text(text: &str) -> Option<String> {
    let parser = Parser::new(crate::expr::parser::Style::Sentence, text, crate::span::FileId(0), 0);
    let is_value = ["yes", "no", "true", "false", "null", "none"].iter().any(|word| parser.at_word(word));
    // `Set $priority to high` judges nothing.
    let end = parser.bare_text_at(&parser.next, false).filter(|&end| end == text.len() && !is_value)?;
    let is_number = number_word(text).is_some();
    (!is_number).then(|| one_line(&text[..end]))
}
