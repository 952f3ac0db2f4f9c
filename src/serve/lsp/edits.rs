//! What is written in the place of what, in several files.

use std::collections::{BTreeMap, HashMap};

use gen_lsp_types::{
    AnnotatedTextEdit, ChangeAnnotation, DocumentChange, Edit, OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit, TextDocumentIdentifier, TextEdit, WorkspaceEdit,
};

use crate::serve::lsp::documents::{Columns, Text, uri_of};
use crate::serve::lsp::programs::Loaded;
use crate::span::{FileId, SourceFile, Span};

/// Under this name an editor asks whether what nobody can prove is meant.
const UNSURE: &str = "mentions";

/// What is written in a file.
struct FileEdits {
    source: SourceFile,
    sure: BTreeMap<Span, String>,
    /// Only if somebody says yes.
    unsure: BTreeMap<Span, String>,
}

/// What is written in files, by their names.
#[derive(Default)]
pub(super) struct Edits(BTreeMap<String, FileEdits>);

impl Edits {
    /// In a file this is written in the place of that.
    pub(super) fn add(&mut self, source: &SourceFile, span: Span, written: String) {
        self.file(source).sure.insert(place(span), written);
    }

    fn file(&mut self, source: &SourceFile) -> &mut FileEdits {
        self.0.entry(source.name.to_string()).or_insert_with(|| FileEdits {
            source: source.clone(),
            sure: BTreeMap::new(),
            unsure: BTreeMap::new(),
        })
    }

    /// Whether nothing is written.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files as they are with all that is sure.
    pub(super) fn texts(&self) -> HashMap<String, String> {
        let text = |(name, FileEdits { source, sure, .. }): (&String, &FileEdits)| {
            let (mut text, mut from) = (String::new(), 0);
            for (span, written) in sure {
                text.push_str(source.text.get(from..span.range().start).unwrap_or_default());
                text.push_str(written);
                from = span.range().end;
            }
            text.push_str(source.text.get(from..).unwrap_or_default());
            (name.clone(), text)
        };
        self.0.iter().map(text).collect()
    }

    /// In the files of a program.
    pub(super) fn add_to_program(&mut self, program: &Loaded, edits: &[(Span, String)]) {
        for (span, written) in edits {
            let source = program.view.program().sources.get(span.file);
            source.into_iter().for_each(|source| self.add(source, *span, written.clone()));
        }
    }

    /// The same, if somebody says yes.
    pub(super) fn ask_in_program(&mut self, program: &Loaded, edits: Vec<(Span, String)>) {
        for (span, written) in edits {
            let source = program.view.program().sources.get(span.file);
            source.map(|source| self.file(source).unsure.insert(place(span), written));
        }
    }

    /// The same for an editor.
    pub(super) fn in_workspace(&self, columns: Columns) -> WorkspaceEdit {
        if self.0.values().any(|file| !file.unsure.is_empty()) {
            return self.with_questions(columns);
        }
        let of_file = |(name, file): (&String, &FileEdits)| Some((uri_of(name)?, file.edits(&file.sure, columns)));
        let changes = Some(self.0.iter().filter_map(of_file).collect());
        WorkspaceEdit { changes, document_changes: None, change_annotations: None }
    }

    fn with_questions(&self, columns: Columns) -> WorkspaceEdit {
        let of_file = |(name, file): (&String, &FileEdits)| -> Option<DocumentChange> {
            let identifier = TextDocumentIdentifier { uri: uri_of(name)? };
            let text_document =
                OptionalVersionedTextDocumentIdentifier { version: None, text_document_identifier: identifier };
            let sure = file.edits(&file.sure, columns).into_iter().map(Edit::TextEdit);
            let unsure = file.edits(&file.unsure, columns).into_iter().map(|text_edit| {
                Edit::AnnotatedTextEdit(AnnotatedTextEdit { annotation_id: UNSURE.to_owned(), text_edit })
            });
            Some(TextDocumentEdit { text_document, edits: sure.chain(unsure).collect() }.into())
        };
        let annotation = ChangeAnnotation {
            label: "mentions in words".to_owned(),
            needs_confirmation: Some(true),
            description: Some("the interpreter does not read these: check whether they mean this name".to_owned()),
        };
        WorkspaceEdit {
            changes: None,
            document_changes: Some(self.0.iter().filter_map(of_file).collect()),
            change_annotations: Some(HashMap::from([(UNSURE.to_owned(), annotation)])),
        }
    }
}

impl FileEdits {
    fn edits(&self, edits: &BTreeMap<Span, String>, columns: Columns) -> Vec<TextEdit> {
        let range = |span| Text::of(&self.source).range(span, columns);
        edits.iter().map(|(span, new)| TextEdit { range: range(*span), new_text: new.clone() }).collect()
    }
}

/// The number of a file is its program's business.
fn place(span: Span) -> Span {
    Span { file: FileId::default(), ..span }
}
