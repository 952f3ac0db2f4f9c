//! Questions of an editor, answered from the programs as they are now. What is not open, or lies outside, has an empty
//! answer.

use std::collections::HashMap;

use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CodeActionResponse, CompletionItem, Contents, DocumentHighlight,
    DocumentHighlightKind, DocumentSymbol, Hover, InlayHint, InlayHintParams, Label, Location, MarkupContent,
    MarkupKind, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use playhouse_ide::occurrences::{Occurrence, Role};

use crate::serve::lsp::convert::{completion, finding, location, symbol};
use crate::serve::lsp::documents::{Columns, Documents, Text};
use crate::serve::lsp::programs::{Loaded, Programs};
use crate::span::FileId;

/// What questions are answered from.
#[derive(Clone, Copy)]
pub(super) struct Answers<'a> {
    pub(super) documents: &'a Documents,
    pub(super) programs: &'a Programs,
    pub(super) columns: Columns,
}

/// Where a question is asked.
struct Here<'a> {
    program: &'a Loaded,
    file: FileId,
    text: &'a Text,
}

impl<'a> Answers<'a> {
    /// The first program of a text.
    fn here(self, uri: &Uri) -> Option<Here<'a>> {
        let (name, document) = self.documents.at(uri)?;
        let (program, file) = self.programs.of(&name).next()?;
        Some(Here { program, file, text: &document.text })
    }

    fn place(self, at: &TextDocumentPositionParams) -> Option<(Here<'a>, usize)> {
        let here = self.here(&at.text_document.uri)?;
        let offset = here.text.offset(at.position, self.columns)?;
        Some((here, offset))
    }

    /// What stands there, in words.
    pub(super) fn hover(self, at: &TextDocumentPositionParams) -> Option<Hover> {
        let (here, offset) = self.place(at)?;
        let hover = here.program.view.hover(here.file, offset)?;
        let contents = Contents::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: hover.text });
        Some(Hover { contents, range: Some(here.text.range(hover.span, self.columns)) })
    }

    /// Where what the name means comes from: its title or declaration, else where it is set.
    pub(super) fn definitions(self, at: &TextDocumentPositionParams) -> Vec<Location> {
        let is_definition = |place: &&Occurrence| place.role == Role::Definition;
        let found = self.places(at, &is_definition);
        if found.is_empty() { self.places(at, &|place| place.role == Role::Write) } else { found }
    }

    /// Every place of what the name means.
    pub(super) fn references(self, at: &TextDocumentPositionParams, with_definitions: bool) -> Vec<Location> {
        self.places(at, &|place| with_definitions || place.role != Role::Definition)
    }

    fn places(self, at: &TextDocumentPositionParams, is_wanted: &dyn Fn(&&Occurrence) -> bool) -> Vec<Location> {
        let Some((here, offset)) = self.place(at) else { return Vec::new() };
        let Some(name) = here.program.view.name_at(here.file, offset) else { return Vec::new() };
        let places = here.program.view.places(&name.symbol).filter(is_wanted);
        places.filter_map(|place| location(here.program, place.span, self.columns)).collect()
    }

    /// The places of it in the same text.
    pub(super) fn highlights(self, at: &TextDocumentPositionParams) -> Vec<DocumentHighlight> {
        let Some((here, offset)) = self.place(at) else { return Vec::new() };
        let Some(name) = here.program.view.name_at(here.file, offset) else { return Vec::new() };
        let places = here.program.view.places(&name.symbol).filter(|place| place.span.file == here.file);
        let highlight = |place: &Occurrence| DocumentHighlight {
            range: here.text.range(place.span, self.columns),
            kind: Some(match place.role {
                Role::Definition | Role::Write => DocumentHighlightKind::Write,
                Role::Use => DocumentHighlightKind::Read,
            }),
        };
        places.map(highlight).collect()
    }

    /// The outline of a text.
    pub(super) fn symbols(self, uri: &Uri) -> Vec<DocumentSymbol> {
        let Some(here) = self.here(uri) else { return Vec::new() };
        let outline = here.program.view.outline(here.file);
        outline.iter().map(|entry| symbol(entry, here.text, self.columns)).collect()
    }

    /// Line ids.
    pub(super) fn hints(self, asked: &InlayHintParams) -> Vec<InlayHint> {
        let Some(here) = self.here(&asked.text_document.uri) else { return Vec::new() };
        let place = |position| here.text.offset(position, self.columns);
        let start = place(asked.range.start).unwrap_or(0);
        let end = place(asked.range.end).unwrap_or(here.text.as_str().len());
        let hints = here.program.view.hints(here.file, start..end.saturating_add(1));
        let hint = |hint: playhouse_ide::outline::Hint| InlayHint {
            position: here.text.position(hint.at, self.columns),
            label: Label::String(hint.text),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: Some(true),
            data: None,
        };
        hints.into_iter().map(hint).collect()
    }

    /// What can be written there.
    pub(super) fn completions(self, at: &TextDocumentPositionParams) -> Vec<CompletionItem> {
        let Some((here, offset)) = self.place(at) else { return Vec::new() };
        let proposals = here.program.view.complete(here.file, here.text.as_str(), offset);
        proposals.into_iter().map(|proposal| completion(proposal, here.text, self.columns)).collect()
    }

    /// The mends of what was found in a range.
    pub(super) fn actions(self, asked: &CodeActionParams) -> Vec<CodeActionResponse> {
        let uri = &asked.text_document.uri;
        let Some(here) = self.here(uri) else { return Vec::new() };
        let place = |position| here.text.offset(position, self.columns);
        let (Some(start), Some(end)) = (place(asked.range.start), place(asked.range.end)) else { return Vec::new() };
        let touches = |found: &&crate::diagnostic::Diagnostic| {
            let range = found.span.range();
            found.span.file == here.file && range.start <= end && start <= range.end
        };
        let action = |found: &crate::diagnostic::Diagnostic| {
            let fix = found.fix.as_ref().filter(|fix| fix.span.file == here.file)?;
            let edit = TextEdit { range: here.text.range(fix.span, self.columns), new_text: fix.replacement.clone() };
            let edit = WorkspaceEdit {
                changes: Some(HashMap::from([(uri.clone(), vec![edit])])),
                document_changes: None,
                change_annotations: None,
            };
            Some(CodeActionResponse::CodeAction(CodeAction {
                title: fix.message.clone(),
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: finding(here.program, found, self.columns).map(|found| vec![found]),
                is_preferred: Some(true),
                edit: Some(edit),
                ..CodeAction::default()
            }))
        };
        here.program.view.findings().iter().filter(touches).filter_map(action).collect()
    }

    /// What was found in a file, by all programs that reach it, each finding once.
    pub(super) fn findings(self, name: &str) -> Vec<gen_lsp_types::Diagnostic> {
        let mut all = Vec::new();
        for (program, file) in self.programs.of(name) {
            let own = program.view.findings().iter().filter(|found| found.span.file == file);
            for found in own.filter_map(|found| finding(program, found, self.columns)) {
                if !all.contains(&found) {
                    all.push(found);
                }
            }
        }
        all
    }
}
