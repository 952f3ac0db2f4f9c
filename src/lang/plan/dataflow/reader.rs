//! Texts of a document to templates: what is collected while its aliases are read.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::plan::dataflow::expr::parse;
use crate::plan::dataflow::lexer::{Token, is_name, next_token};
use crate::plan::dataflow::mend::Mended;
use crate::plan::dataflow::resolve::{Names, Resolver};
use crate::plan::dataflow::template::{Piece, pieces};
use crate::plan::dataflow::types::{AliasId, Template, TemplatePart};
use crate::plan::dataflow::yaml::Places;
use crate::plan::node::{NodeId, PlanNode};
use crate::source::yaml::{Scalar, Style};
use crate::span::{FileId, Span};

/// Reads aliases, one after the other.
pub(super) struct Reader<'a> {
    pub(super) file: FileId,
    pub(super) mended: &'a Mended,
    pub(super) names: &'a Names<'a>,
    /// All places so far.
    pub(super) nodes: Vec<PlanNode>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// What the texts of the current alias name, with repetitions.
    pub(super) needs: Vec<AliasId>,
    /// What is wrong with its expressions.
    pub(super) faults: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Notes another place in the plan.
    pub(super) fn node(&mut self, label: Arc<str>, span: Span) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(PlanNode { label, span });
        id
    }

    /// The text of a scalar, which stands at `span`, with the expressions in it.
    pub(super) fn template(&mut self, scalar: &Scalar, span: Span) -> Template {
        self.check_dashes(scalar);
        let mut pieces = pieces(&scalar.text);
        // What ends a block scalar is part of its form, not of what was meant.
        if scalar.style == Style::Block {
            let is_blank = |piece: &Piece| match piece {
                Piece::Text(from, to) => scalar.text[*from..*to].trim().is_empty(),
                Piece::Expression(..) | Piece::Unclosed(_) => false,
            };
            if pieces.iter().filter(|piece| !is_blank(piece)).count() == 1 && pieces.iter().any(is_expression) {
                pieces.retain(is_expression);
            }
        }
        let places = if pieces.iter().all(|piece| matches!(piece, Piece::Text(..))) {
            None
        } else {
            Some(scalar.places(self.mended, self.file))
        };
        let part = |piece| match (piece, &places) {
            (Piece::Text(from, to), _) => TemplatePart::Text(scalar.text[from..to].into()),
            (Piece::Expression(from, to), Some(places)) => self.expression(&scalar.text, (from, to), places),
            (Piece::Unclosed(open), Some(places)) => {
                let span = places.span(open, open + 2);
                let fault = Diagnostic::error("unclosed-expression", span, "this `${` is never closed");
                self.faults.push(fault.with_note("add the `}`; if there is one, a string before it is not closed"));
                TemplatePart::Text(scalar.text[open..].into())
            }
            (Piece::Expression(..) | Piece::Unclosed(_), None) => TemplatePart::Text("".into()),
        };
        Template { span, parts: pieces.into_iter().map(part).collect() }
    }

    /// `-value`: text to YAML, but a list was probably meant.
    fn check_dashes(&mut self, scalar: &Scalar) {
        let lines = scalar.dashes(self.mended);
        let is_number = |line: &str| line[1..].starts_with(|next: char| next.is_ascii_digit() || next == '.');
        let Some((first, _)) = lines.first().filter(|(_, line)| lines.len() > 1 || !is_number(line)) else { return };
        let span = Span::new(self.file, self.mended.original(*first), self.mended.original(first + 1));
        let message = if lines.len() > 1 {
            "without a space after `-`, these lines are one text, not a list"
        } else {
            "without a space after `-`, this is text, not a list"
        };
        let warning = Diagnostic::warning("dash-without-space", span, message);
        self.diagnostics.push(warning.with_fix("put a space after each `-`", span, "- "));
    }

    /// Reads one expression; what can't be read is kept as text, which nobody will see.
    fn expression(&mut self, text: &str, (from, to): (usize, usize), places: &Places) -> TemplatePart {
        let Reader { names, faults, needs, .. } = self;
        let read = match parse(text, from, to, places) {
            Ok(raw) => Resolver { names, diagnostics: faults, needs }.resolve(&raw),
            Err(fault) => {
                mentioned(&text[from..to], names, needs);
                faults.push(*fault);
                None
            }
        };
        read.map_or_else(|| TemplatePart::Text(text[from..to].into()), TemplatePart::Expr)
    }
}

fn is_expression(piece: &Piece) -> bool {
    matches!(piece, Piece::Expression(..))
}

/// Adds the aliases whose names stand in what is no expression: it was meant to be made of them.
fn mentioned(text: &str, names: &Names<'_>, needs: &mut Vec<AliasId>) {
    let mut position = 0;
    loop {
        let lexed = next_token(text, position);
        match lexed.token {
            Token::Name(name) if is_name(name) => needs.extend(names.aliases.get(name)),
            Token::End => return,
            Token::Name(_) | Token::Int(_) | Token::Str(_) | Token::Symbol(_) | Token::Foreign | Token::Bad(_) => {}
        }
        position = lexed.end;
    }
}
