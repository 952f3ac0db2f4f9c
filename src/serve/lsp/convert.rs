//! Plain answers in the protocol's words.

use diffy::{DiffOptions, Hunk, Line};
use gen_lsp_types::{
    CallHierarchyItem, Code, CompletionItem, CompletionItemKind, CompletionItemTextEdit, Diagnostic,
    DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, DocumentSymbol, Location, Message, Range,
    SemanticToken, SymbolKind, TextEdit,
};
use playhouse_ide::complete::{Proposal, ProposalKind};
use playhouse_ide::outline::{Entry, EntryKind};
use playhouse_ide::tokens::{Modifiers, Token};

use crate::diagnostic::{self, Severity};
use crate::serve::lsp::documents::{Columns, Text, uri_of};
use crate::serve::lsp::programs::Loaded;
use crate::span::Span;

/// What is found in texts that are never come to, or used: editors show them pale.
const UNNECESSARY: [&str; 2] = ["unreachable", "unused"];

/// The names of [`playhouse_ide::tokens::TokenKind`]s, as the protocol has them, in the order of their numbers.
pub(super) const TOKEN_KINDS: [&str; 6] = ["keyword", "variable", "parameter", "function", "method", "class"];

/// The names of [`Modifiers`], in the order of their bits; the last four are our own.
pub(super) const TOKEN_MODIFIERS: [&str; 6] =
    ["declaration", "modification", "explicit", "byModel", "secret", "unknown"];

/// A place in a program.
pub(super) fn location(program: &Loaded, span: Span, columns: Columns) -> Option<Location> {
    let file = program.view.program().sources.get(span.file)?;
    Some(Location { uri: uri_of(&file.name)?, range: program.text(span.file)?.range(span, columns) })
}

/// A finding; `place` gives the places of its spans.
pub(super) fn finding(place: &dyn Fn(Span) -> Option<Location>, found: &diagnostic::Diagnostic) -> Option<Diagnostic> {
    let range = place(found.span)?.range;
    let severity = match found.severity {
        Severity::Error => DiagnosticSeverity::Error,
        Severity::Warning => DiagnosticSeverity::Warning,
        Severity::Note => DiagnosticSeverity::Information,
    };
    // What belongs to no place is advice, and stands below the message.
    let mut message = found.message.clone();
    let advice = found.notes.iter().filter(|note| note.span.is_none()).map(|note| note.message.as_str());
    advice.for_each(|advice| message.push_str(&format!("\n{advice}")));
    let related = found.notes.iter().filter_map(|note| {
        let location = place(note.span?)?;
        Some(DiagnosticRelatedInformation { location, message: note.message.clone() })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    let is_unnecessary = UNNECESSARY.iter().any(|part| found.code.contains(part));
    Some(Diagnostic {
        range,
        severity: Some(severity),
        code: Some(Code::String(found.code.to_owned())),
        source: Some("playhouse".to_owned()),
        message: Message::String(message),
        tags: is_unnecessary.then(|| vec![DiagnosticTag::Unnecessary]),
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    })
}

/// An entry of an outline.
#[expect(deprecated, reason = "the field must be named, and is never set")]
pub(super) fn symbol(entry: &Entry, text: Text<'_>, columns: Columns) -> DocumentSymbol {
    let children: Vec<DocumentSymbol> = entry.children.iter().map(|child| symbol(child, text, columns)).collect();
    DocumentSymbol {
        name: entry.name.clone(),
        detail: (!entry.detail.is_empty()).then(|| entry.detail.clone()),
        kind: symbol_kind(entry.kind),
        tags: None,
        deprecated: None,
        range: text.range(entry.span, columns),
        selection_range: text.range(entry.title, columns),
        children: (!children.is_empty()).then_some(children),
    }
}

/// What kind of symbol it is.
pub(super) fn symbol_kind(kind: EntryKind) -> SymbolKind {
    match kind {
        EntryKind::Agent => SymbolKind::Class,
        EntryKind::Playbook => SymbolKind::Function,
        EntryKind::Trigger => SymbolKind::Event,
        EntryKind::Line | EntryKind::Case => SymbolKind::Field,
        EntryKind::Test => SymbolKind::Module,
        EntryKind::Section => SymbolKind::Namespace,
    }
}

/// Coloured places, each told by where it lies after the one before it.
pub(super) fn tokens(tokens: &[Token], text: Text<'_>, columns: Columns) -> Vec<SemanticToken> {
    let mut last = (0, 0);
    let place = |token: &Token| {
        let range = text.range(token.span, columns);
        let (line, start) = (range.start.line, range.start.character);
        let is_same_line = line == last.0;
        let told = SemanticToken {
            delta_line: line - last.0,
            delta_start: if is_same_line { start - last.1 } else { start },
            length: range.end.character.saturating_sub(start),
            token_type: token.kind as u32,
            token_modifiers_bitset: bits(token.modifiers),
        };
        last = (line, start);
        told
    };
    tokens.iter().map(place).collect()
}

fn bits(modifiers: Modifiers) -> u32 {
    let Modifiers { is_declaration, is_modification, is_explicit, is_by_model, is_secret, is_unknown } = modifiers;
    let bits = [is_declaration, is_modification, is_explicit, is_by_model, is_secret, is_unknown];
    bits.into_iter().enumerate().map(|(bit, is_set)| u32::from(is_set) << bit).sum()
}

/// Somebody in a hierarchy of calls.
pub(super) fn hierarchy_item(
    program: &Loaded,
    name: String,
    kind: EntryKind,
    [whole, title]: [Span; 2],
    columns: Columns,
) -> Option<CallHierarchyItem> {
    let place = location(program, whole, columns)?;
    let (kind, selected) = (symbol_kind(kind), location(program, title, columns)?.range);
    Some(CallHierarchyItem::new(name, kind, None, None, place.uri, place.range, selected, None))
}

/// A proposal.
pub(super) fn completion(proposal: Proposal, text: Text<'_>, columns: Columns) -> CompletionItem {
    let kind = match proposal.kind {
        ProposalKind::Variable => CompletionItemKind::Variable,
        ProposalKind::Member | ProposalKind::Key => CompletionItemKind::Property,
        ProposalKind::Value => CompletionItemKind::Value,
        ProposalKind::Wording => CompletionItemKind::Snippet,
        ProposalKind::Heading => CompletionItemKind::Keyword,
        ProposalKind::Playbook => CompletionItemKind::Function,
        ProposalKind::Tool => CompletionItemKind::Method,
        ProposalKind::Line => CompletionItemKind::Event,
        ProposalKind::File => CompletionItemKind::File,
    };
    let edit = TextEdit { range: text.range(proposal.span, columns), new_text: proposal.text.clone() };
    CompletionItem {
        label: proposal.text,
        kind: Some(kind),
        detail: (!proposal.detail.is_empty()).then_some(proposal.detail),
        text_edit: Some(CompletionItemTextEdit::TextEdit(edit)),
        ..CompletionItem::default()
    }
}

/// The edits that make `written` of a text: the lines that differ.
pub(super) fn line_edits(text: Text<'_>, written: &str, columns: Columns) -> Vec<TextEdit> {
    let mut starts = vec![0];
    starts.extend(text.as_str().split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    }));
    let edit = |hunk: &Hunk<'_, str>| {
        let old = hunk.old_range();
        // Lines count from one; but where none goes, it is the line before.
        let from = if old.is_empty() { old.start() } else { old.start() - 1 };
        let (start, end) = (starts[from], starts[from + old.len()]);
        let inserted = hunk.lines().iter().map(|line| match line {
            Line::Insert(line) => *line,
            Line::Context(_) | Line::Delete(_) => "",
        });
        let range = Range { start: text.position(start, columns), end: text.position(end, columns) };
        TextEdit { range, new_text: inserted.collect() }
    };
    DiffOptions::new().set_context_len(0).create_patch(text.as_str(), written).hunks().iter().map(edit).collect()
}
