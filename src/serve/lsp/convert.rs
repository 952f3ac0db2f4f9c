//! Plain answers in the protocol's words.

use gen_lsp_types::{
    Code, CompletionItem, CompletionItemKind, CompletionItemTextEdit, Diagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, DocumentSymbol, Location, Message, SymbolKind, TextEdit,
};
use playhouse_ide::complete::{Proposal, ProposalKind};
use playhouse_ide::outline::{Entry, EntryKind};

use crate::diagnostic::{self, Severity};
use crate::serve::lsp::documents::{Columns, Text, uri_of};
use crate::serve::lsp::programs::Loaded;
use crate::span::Span;

/// What is found in texts that are never come to, or used: editors show them pale.
const UNNECESSARY: [&str; 2] = ["unreachable", "unused"];

/// A place in a program.
pub(super) fn location(program: &Loaded, span: Span, columns: Columns) -> Option<Location> {
    let file = program.view.program().sources.get(span.file)?;
    Some(Location { uri: uri_of(&file.name)?, range: program.text(span.file)?.range(span, columns) })
}

/// A finding.
pub(super) fn finding(program: &Loaded, found: &diagnostic::Diagnostic, columns: Columns) -> Option<Diagnostic> {
    let range = program.text(found.span.file)?.range(found.span, columns);
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
        let location = location(program, note.span?, columns)?;
        Some(DiagnosticRelatedInformation { location, message: note.message.clone() })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    let is_unnecessary = UNNECESSARY.iter().any(|part| found.code.contains(part));
    Some(Diagnostic {
        range,
        severity: Some(severity),
        code: Some(Code::String(found.code.to_owned())),
        code_description: None,
        source: Some("playhouse".to_owned()),
        message: Message::String(message),
        tags: is_unnecessary.then(|| vec![DiagnosticTag::Unnecessary]),
        related_information: (!related.is_empty()).then_some(related),
        data: None,
    })
}

/// An entry of an outline.
#[expect(deprecated, reason = "the field must be named, and is never set")]
pub(super) fn symbol(entry: &Entry, text: &Text, columns: Columns) -> DocumentSymbol {
    let kind = match entry.kind {
        EntryKind::Agent => SymbolKind::Class,
        EntryKind::Playbook => SymbolKind::Function,
        EntryKind::Trigger => SymbolKind::Event,
        EntryKind::Line => SymbolKind::Field,
    };
    let children: Vec<DocumentSymbol> = entry.children.iter().map(|child| symbol(child, text, columns)).collect();
    DocumentSymbol {
        name: entry.name.clone(),
        detail: (!entry.detail.is_empty()).then(|| entry.detail.clone()),
        kind,
        tags: None,
        deprecated: None,
        range: text.range(entry.span, columns),
        selection_range: text.range(entry.title, columns),
        children: (!children.is_empty()).then_some(children),
    }
}

/// A proposal.
pub(super) fn completion(proposal: Proposal, text: &Text, columns: Columns) -> CompletionItem {
    let kind = match proposal.kind {
        ProposalKind::Variable => CompletionItemKind::Variable,
        ProposalKind::Playbook => CompletionItemKind::Function,
        ProposalKind::Tool => CompletionItemKind::Method,
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
