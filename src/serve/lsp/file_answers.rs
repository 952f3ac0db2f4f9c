//! Questions about whole files: what they name, where they move, and what `check --explain` and `graph` say of them.

use std::path::PathBuf;

use gen_lsp_types::{DocumentLink, FileRename, Position, Range, SelectionRange, Uri, WorkspaceEdit};
use serde::Deserialize;

use crate::host::graph::{GraphFormat, chart};
use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::documents::uri_of;
use crate::serve::lsp::edits::Edits;
use crate::serve::lsp::programs::Loaded;
use crate::serve::lsp::workspace::{Link, links};

/// What `playhouse/explain` and `playhouse/graph` ask: about the first program that a text belongs to.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AboutProgram {
    text_document: About,
    /// As what a graph is written: `mermaid` if it is not said, `dot`, `svg`, `json`.
    #[serde(default)]
    format: GraphFormat,
    /// The playbook whose lines a graph shows; all that there is if none is named.
    flow: Option<String>,
}

#[derive(Debug, Deserialize)]
struct About {
    uri: Uri,
}

impl<'a> Answers<'a> {
    /// The files that a text names.
    pub(super) fn links(self, uri: &Uri) -> Vec<DocumentLink> {
        let Some((name, document)) = self.documents.at(uri) else { return Vec::new() };
        let text = document.text();
        let links = if self.is_ours(&name) { links(&name, text.as_str()) } else { Vec::new() };
        let link = |link: Link| DocumentLink {
            range: text.range(link.span, self.columns()),
            target: uri_of(&link.target().to_string_lossy()),
            ..DocumentLink::default()
        };
        links.into_iter().map(link).collect()
    }

    /// What can be selected around each position, from the inside to the outside; at most the whole text.
    pub(super) fn selections(self, uri: &Uri, positions: &[Position]) -> Vec<SelectionRange> {
        let Some((_, document)) = self.documents.at(uri) else { return Vec::new() };
        let text = document.text();
        let end = text.position(text.as_str().len(), self.columns());
        let whole = SelectionRange { range: Range { start: Position::default(), end }, parent: None };
        let select = |position: &Position| {
            let offset = text.offset(*position, self.columns());
            let around = self.here(uri).zip(offset).map(|(here, offset)| here.program.view.around(here.file, offset));
            around.unwrap_or_default().into_iter().fold(whole.clone(), |outer, span| SelectionRange {
                range: text.range(span, self.columns()),
                parent: Some(Box::new(outer)),
            })
        };
        positions.iter().map(select).collect()
    }

    /// What is to be written elsewhere when files or folders are called otherwise.
    pub(super) fn moved(self, files: &[FileRename]) -> Option<WorkspaceEdit> {
        let paths = |file: &FileRename| -> Option<(PathBuf, PathBuf)> {
            Some((file.old_uri.to_file_path().ok()?, file.new_uri.to_file_path().ok()?))
        };
        let moves: Vec<(PathBuf, PathBuf)> = files.iter().filter_map(paths).collect();
        let mut edits = Edits::default();
        let moved = self.workspace.moved(&moves, self.documents);
        moved.into_iter().for_each(|(source, span, path)| edits.add(&source, span, path));
        (!edits.is_empty()).then(|| edits.in_workspace(self.columns()))
    }

    /// A program as `check --explain` tells it.
    pub(super) fn explained(self, asked: &AboutProgram) -> Result<String, String> {
        Ok(self.asked(asked)?.view.explain())
    }

    /// A program as `graph` draws it.
    pub(super) fn drawn(self, asked: &AboutProgram) -> Result<String, String> {
        let chart = chart(self.asked(asked)?.view.program(), asked.flow.as_deref())?;
        Ok(asked.format.write(&chart))
    }

    fn asked(self, asked: &AboutProgram) -> Result<&'a Loaded, String> {
        let here = self.here(&asked.text_document.uri).map(|here| here.program);
        here.ok_or_else(|| "this text does not belong to an open program".to_owned())
    }
}
