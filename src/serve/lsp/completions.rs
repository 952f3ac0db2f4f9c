//! What can be written at a place: of the program by [`playhouse_ide`], and the files beside it.

use std::path::Path;

use gen_lsp_types::{CompletionItem, TextDocumentPositionParams};
use playhouse_ide::complete::{Proposal, ProposalKind};

use crate::host::library;
use crate::host::program::beside;
use crate::lang::kind::{case_of, is_markdown};
use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::convert::completion;
use crate::span::{FileId, Span};

/// What is said where a path can stand, and which files it can name.
const PATHS: [(&str, IsNamed); 3] = [
    ("!import ", is_markdown),
    ("- program: ", |name| is_program(name) && case_of(name).is_none()),
    ("- tools: ", |name| name.ends_with(".json")),
];

type IsNamed = fn(&str) -> bool;

impl Answers<'_> {
    /// What can be written there.
    pub(super) fn completions(self, at: &TextDocumentPositionParams) -> Vec<CompletionItem> {
        let Some((name, document)) = self.documents.at(&at.text_document.uri) else { return Vec::new() };
        let (text, case) = (document.text(), self.cases.get(&name));
        let Some(offset) = text.offset(at.position, self.columns()) else { return Vec::new() };
        let here = self.here(&at.text_document.uri);
        let proposals = if case.is_none() && here.is_none() {
            Vec::new()
        } else if let Some(paths) = paths(&name, text.as_str(), offset) {
            paths
        } else if let Some(case) = case {
            let view = case.program().map(|program| &program.view);
            view.map(|view| view.complete_case(&name, text.as_str(), offset)).unwrap_or_default()
        } else {
            here.map(|here| here.program.view.complete(here.file, text.as_str(), offset)).unwrap_or_default()
        };
        proposals.into_iter().map(|proposal| completion(proposal, text, self.columns())).collect()
    }
}

fn is_program(name: &str) -> bool {
    is_markdown(name) || [".json", ".yaml", ".yml"].iter().any(|ending| name.ends_with(ending))
}

/// The files and folders that the path which is being typed can go on with; none: no path is being typed. Hidden ones are
/// left out until a dot is typed.
fn paths(name: &str, text: &str, offset: usize) -> Option<Vec<Proposal>> {
    let line = text.get(..offset)?.rsplit('\n').next()?;
    let (typed, is_wanted) = PATHS.iter().find_map(|(key, is_wanted)| Some((line.strip_prefix(key)?, is_wanted)))?;
    let begun = typed.rfind('/').map_or(typed, |slash| &typed[slash + 1..]);
    let folder = &typed[..typed.len() - begun.len()];
    let whole = Span::new(FileId(0), offset - typed.len(), offset);
    let mut found = Vec::new();
    if line.starts_with("!import ") {
        let file = |file: &library::LibraryFile| Proposal {
            kind: ProposalKind::File,
            text: file.path.to_owned(),
            detail: file.summary.to_owned(),
            span: whole,
        };
        found.extend(library::FILES.iter().map(file));
    }
    let entries = std::fs::read_dir(beside(name, if folder.is_empty() { "." } else { folder })).into_iter().flatten();
    for entry in entries.flatten() {
        let Ok(file) = entry.file_name().into_string() else { continue };
        let is_folder = entry.path().is_dir();
        let is_hidden = file.starts_with('.') && !begun.starts_with('.');
        let is_itself = entry.path() == *Path::new(name);
        if !is_hidden && !is_itself && (is_folder || is_wanted(&file)) {
            let text = format!("{folder}{file}{}", if is_folder { "/" } else { "" });
            found.push(Proposal { kind: ProposalKind::File, text, detail: String::new(), span: whole });
        }
    }
    found.sort_by(|one, other| one.text.cmp(&other.text));
    Some(found)
}
