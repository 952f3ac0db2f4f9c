//! Every place of a name, and another name there: in programs, and in their tests and trigger tables.

use gen_lsp_types::{
    Location, PrepareRenamePlaceholder, PrepareRenameResult, TextDocumentPositionParams, WorkspaceEdit,
};
use playhouse_ide::case_names::CaseText;
use playhouse_ide::occurrences::{Role, Symbol};

use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::cases::cases_of;
use crate::serve::lsp::convert::location;
use crate::serve::lsp::documents::{Text, uri_of};
use crate::serve::lsp::edits::Edits;
use crate::serve::lsp::programs::Loaded;
use crate::span::SourceFile;

impl<'a> Answers<'a> {
    /// Every place of what the name means, also in tests and trigger tables.
    pub(super) fn references(self, at: &TextDocumentPositionParams, with_definitions: bool) -> Vec<Location> {
        let Some((program, symbol)) = self.symbol_at(at) else { return Vec::new() };
        let places = program.view.places(&symbol).filter(|place| with_definitions || place.role != Role::Definition);
        let places = places.filter_map(|place| location(program, place.span, self.columns()));
        let mut found: Vec<Location> = places.collect();
        for case in cases_of(program, self.documents, self.workspace) {
            let places = program.view.places_in_case(&symbol, &case);
            let text = Text::of(case.source());
            let location =
                |span| Some(Location { uri: uri_of(&case.source().name)?, range: text.range(span, self.columns()) });
            found.extend(places.into_iter().filter_map(location));
        }
        found
    }

    /// What is named there, in a program or one of its tests and tables.
    fn symbol_at(self, at: &TextDocumentPositionParams) -> Option<(&'a Loaded, Symbol)> {
        if let Some((here, offset)) = self.place(at) {
            return Some((here.program, here.program.view.name_at(here.file, offset)?.symbol.clone()));
        }
        let (name, document) = self.documents.at(&at.text_document.uri)?;
        let program = self.cases.get(&name)?.program()?;
        let offset = document.text().offset(at.position, self.columns())?;
        let case = CaseText::read(&name, document.text().as_str())?;
        Some((program, program.view.symbol_in_case(&case, offset)?))
    }

    /// The name there that can be another one.
    pub(super) fn renamable(self, at: &TextDocumentPositionParams) -> Result<Option<PrepareRenameResult>, String> {
        let Some((here, offset)) = self.place(at) else { return Ok(None) };
        let name = here.program.view.renamable(here.file, offset)?;
        let written = here.program.view.program().sources.text(name.span);
        Ok(Some(PrepareRenameResult::PrepareRenamePlaceholder(PrepareRenamePlaceholder {
            range: here.text.range(name.span, self.columns()),
            placeholder: written.to_owned(),
        })))
    }

    /// Another name, if it is proved of all programs with this text, and of their tests and tables, that nothing else
    /// changes.
    pub(super) fn rename(self, at: &TextDocumentPositionParams, new: &str) -> Result<Option<WorkspaceEdit>, String> {
        let Some((name, _)) = self.documents.at(&at.text_document.uri) else { return Ok(None) };
        // In all programs together.
        let mut all = Edits::default();
        let mut renamings = Vec::new();
        for (program, file) in self.programs.of(&name) {
            let view = &program.view;
            let Some(offset) = program.text(file).and_then(|text| text.offset(at.position, self.columns())) else {
                continue;
            };
            let renaming = view.rename(file, offset, new)?;
            all.add_to_program(program, &renaming.edits);
            let cases = cases_of(program, self.documents, self.workspace);
            for case in &cases {
                let edits = view.rename_in_case(&renaming, case).into_iter();
                edits.for_each(|(span, written)| all.add(case.source(), span, written));
            }
            renamings.push((program, renaming, cases));
        }
        let edited = all.texts();
        for (program, renaming, cases) in &renamings {
            let after = program.with_texts(&edited, self.documents).ok_or("the program cannot be read any more")?;
            program.view.prove(renaming, &after)?;
            for case in cases {
                let SourceFile { name, text, .. } = case.source();
                let written = CaseText::read(name, edited.get(&**name).map_or(text, |text| text));
                let written = written.ok_or_else(|| format!("{name} cannot be read any more"))?;
                program.view.prove_case(renaming, case, (&after, &written))?;
            }
        }
        Ok(Some(all.in_workspace(self.columns())))
    }
}
