//! What is written in the place of what, in several files.

use std::collections::{BTreeMap, HashMap};

use gen_lsp_types::{TextEdit, WorkspaceEdit};

use crate::serve::lsp::documents::{Columns, Text, uri_of};
use crate::serve::lsp::programs::Loaded;
use crate::span::{FileId, SourceFile, Span};

/// What is written in files, by their names.
#[derive(Default)]
pub(super) struct Edits(BTreeMap<String, (SourceFile, BTreeMap<Span, String>)>);

impl Edits {
    /// In a file this is written in the place of that.
    pub(super) fn add(&mut self, source: &SourceFile, span: Span, written: String) {
        // The number of a file is its program's business.
        let place = Span { file: FileId::default(), ..span };
        let (_, edits) = self.0.entry(source.name.to_string()).or_insert_with(|| (source.clone(), BTreeMap::new()));
        edits.insert(place, written);
    }

    /// Whether nothing is written.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files as they are with it.
    pub(super) fn texts(&self) -> HashMap<String, String> {
        let text = |(name, (source, edits)): (&String, &(SourceFile, BTreeMap<Span, String>))| {
            let (mut text, mut from) = (String::new(), 0);
            for (span, written) in edits {
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

    /// The same for an editor.
    pub(super) fn in_workspace(&self, columns: Columns) -> WorkspaceEdit {
        let of_file = |(name, (source, edits)): (&String, &(SourceFile, BTreeMap<Span, String>))| {
            let range = |span| Text::of(source).range(span, columns);
            let edits = edits.iter().map(|(span, new)| TextEdit { range: range(*span), new_text: new.clone() });
            Some((uri_of(name)?, edits.collect()))
        };
        let changes = Some(self.0.iter().filter_map(of_file).collect());
        WorkspaceEdit { changes, document_changes: None, change_annotations: None }
    }
}
