//! Questions about tests and trigger tables, and the layout of all that is ours.

use std::collections::BTreeSet;

use gen_lsp_types::{
    Contents, Diagnostic, DocumentSymbol, Hover, Location, MarkupContent, MarkupKind, Range,
    TextDocumentPositionParams, TextEdit, Uri,
};

use crate::host::program::beside;
use crate::lang::files::case_file::mention::{Mention, MentionKind};
use crate::lang::format::format_file;
use crate::lang::kind::{Kind, plan_of};
use crate::lang::source::skill::folder_of;
use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::cases::Case;
use crate::serve::lsp::convert::{finding, line_edits, location, symbol};
use crate::serve::lsp::documents::{Document, uri_of};
use crate::span::Span;

/// A name in a test or table.
pub(super) struct Mentioned<'a> {
    /// What the document is called.
    name: String,
    case: &'a Case,
    document: &'a Document,
    mention: &'a Mention,
}

impl<'a> Answers<'a> {
    /// What a test or table names at a position.
    pub(super) fn mentioned(self, at: &TextDocumentPositionParams) -> Option<Mentioned<'a>> {
        let (name, document) = self.documents.at(&at.text_document.uri)?;
        let case = self.cases.get(&name)?;
        let mention = case.mention_at(document.text().offset(at.position, self.columns())?)?;
        Some(Mentioned { name, case, document, mention })
    }

    /// What it means, in words.
    pub(super) fn mention_hover(self, mentioned: Mentioned<'_>) -> Option<Hover> {
        let Mentioned { case, document, mention, .. } = mentioned;
        let value = case.program()?.view.mention_text(&mention.kind)?;
        let contents = Contents::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: Some(document.text().range(mention.span, self.columns())) })
    }

    /// Where it comes from: the file, or a place of the program.
    pub(super) fn mention_definitions(self, mentioned: Mentioned<'_>) -> Vec<Location> {
        let Mentioned { name, case, mention, .. } = mentioned;
        if let MentionKind::Program(path) | MentionKind::Tools(path) = &mention.kind {
            let uri = uri_of(&beside(&name, path).to_string_lossy());
            return uri.map(|uri| Location { uri, range: Range::default() }).into_iter().collect();
        }
        let Some(program) = case.program() else { return Vec::new() };
        let places = program.view.mentioned(&mention.kind).into_iter();
        places.filter_map(|span| location(program, span, self.columns())).collect()
    }

    /// The outline of a test or table; none: it is neither.
    pub(super) fn case_symbols(self, uri: &Uri) -> Option<Vec<DocumentSymbol>> {
        let (name, document) = self.documents.at(uri)?;
        let outline = self.cases.get(&name)?.outline(document.text().as_str());
        Some(outline.iter().map(|entry| symbol(entry, document.text(), self.columns())).collect())
    }

    /// What was found in a test or table; none: it is neither.
    pub(super) fn case_findings(self, name: &str) -> Option<Vec<Diagnostic>> {
        let (case, document) = (self.cases.get(name)?, self.documents.get(name)?);
        let place = |span: Span| {
            Some(Location { uri: document.uri.clone(), range: document.text().range(span, self.columns()) })
        };
        Some(case.findings().iter().filter_map(|found| finding(&place, found)).collect())
    }

    /// The edits that bring a text into its layout, line by line, so that the cursor stays where it is; of a range those that
    /// touch it. None: it is not ours, or would not be the same any more.
    pub(super) fn formatted(self, uri: &Uri, range: Option<Range>) -> Option<Vec<TextEdit>> {
        let (name, document) = self.documents.at(uri)?;
        let kind = self.layout_of(&name)?;
        let written = format_file(kind, document.text().as_str()).ok()?;
        let mut edits = line_edits(document.text(), &written, self.columns());
        if let Some(Range { start, end }) = range {
            // An edit ends at the beginning of the line below.
            edits.retain(|edit| {
                edit.range.start.line <= end.line && start.line < edit.range.end.line.max(edit.range.start.line + 1)
            });
        }
        Some(edits)
    }

    /// The open files whose layout is known, by their paths.
    pub(super) fn formattable(self) -> BTreeSet<String> {
        self.documents.names().filter(|name| self.layout_of(name).is_some()).cloned().collect()
    }

    /// By which rules a text is laid out; none: it is not ours.
    fn layout_of(self, name: &str) -> Option<Kind> {
        let of_program = || self.programs.of(name).next().map(|_| plan_of(name).unwrap_or(Kind::Playbook));
        // Other people's texts stay as they are.
        if folder_of(name).is_some() {
            return None;
        }
        self.cases.get(name).map(Case::kind).or_else(of_program)
    }
}
