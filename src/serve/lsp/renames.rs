//! Every place of a name, and another name there: in programs, and in their tests and trigger tables.

use gen_lsp_types::{
    Location, PrepareRenamePlaceholder, PrepareRenameResult, TextDocumentPositionParams, WorkspaceEdit,
};
use playhouse_ide::case_names::CaseText;
use playhouse_ide::occurrences::{Occurrence, Role, Symbol};

use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::cases::cases_of;
use crate::serve::lsp::convert::location;
use crate::serve::lsp::documents::{Document, Text, uri_of};
use crate::serve::lsp::edits::Edits;
use crate::serve::lsp::programs::Loaded;
use crate::span::{FileId, SourceFile, Span};

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
        let named = self.named_in_case(at)?;
        Some((named.program, named.symbol))
    }

    /// The name there that can be another one.
    pub(super) fn renamable(self, at: &TextDocumentPositionParams) -> Result<Option<PrepareRenameResult>, String> {
        let (text, written, span) = if let Some((here, offset)) = self.place(at) {
            let name = here.program.view.renamable(here.file, offset)?;
            (here.text, here.program.view.program().sources.text(name.span), name.span)
        } else {
            let Some(named) = self.named_in_case(at) else { return Ok(None) };
            let (view, place) = (&named.program.view, named.place()?);
            view.renamable(place.file, place.range().start)?;
            let text = named.document.text();
            let span = view.span_in_case(&named.case, named.offset).ok_or(NO_NAME)?;
            (text, text.as_str().get(span.range()).unwrap_or_default(), span)
        };
        Ok(Some(PrepareRenameResult::PrepareRenamePlaceholder(PrepareRenamePlaceholder {
            range: text.range(span, self.columns()),
            placeholder: written.to_owned(),
        })))
    }

    /// Another name, if it is proved of all programs with this text, or of the program of a test or table, and of the tests
    /// and tables of these, that nothing else changes.
    pub(super) fn rename(self, at: &TextDocumentPositionParams, new: &str) -> Result<Option<WorkspaceEdit>, String> {
        let Some((name, _)) = self.documents.at(&at.text_document.uri) else { return Ok(None) };
        let mut places: Vec<(&Loaded, FileId, usize)> = Vec::new();
        for (program, file) in self.programs.of(&name) {
            let offset = program.text(file).and_then(|text| text.offset(at.position, self.columns()));
            places.extend(offset.map(|offset| (program, file, offset)));
        }
        if places.is_empty() {
            let Some(named) = self.named_in_case(at) else { return Ok(None) };
            let (program, place) = (named.program, named.place()?);
            // The file where the name comes from may belong to more programs than that of the test.
            let file = program.view.program().sources.get(place.file).map_or("", |source| &source.name);
            let others = self.programs.of(file).filter(|(other, _)| !other.is_same(program));
            places.push((program, place.file, place.range().start));
            places.extend(others.map(|(other, file)| (other, file, place.range().start)));
        }
        // In all programs together.
        let mut all = Edits::default();
        let mut renamings = Vec::new();
        for (program, file, offset) in places {
            let view = &program.view;
            let renaming = view.rename(file, offset, new)?;
            all.add_to_program(program, &renaming.edits);
            if self.editor.asks_about_changes {
                all.ask_in_program(program, view.mentions(&renaming));
            }
            let cases = cases_of(program, self.documents, self.workspace);
            for case in &cases {
                let edits = view.rename_in_case(&renaming, case).into_iter();
                edits.for_each(|(span, written)| all.add(case.source(), span, written));
            }
            renamings.push((program, renaming, cases));
        }
        let edited = all.texts();
        for (program, renaming, cases) in &renamings {
            let after = program.with_texts(&edited, self.documents).ok_or("the program can no longer be read")?;
            program.view.prove(renaming, &after)?;
            for case in cases {
                let SourceFile { name, text, .. } = case.source();
                let written = CaseText::read(name, edited.get(&**name).map_or(text, |text| text));
                let written = written.ok_or_else(|| format!("{name} can no longer be read"))?;
                program.view.prove_case(renaming, case, (&after, &written))?;
            }
        }
        Ok(Some(all.in_workspace(self.columns())))
    }

    /// The test or table, and the program's thing that is named there.
    fn named_in_case(self, at: &TextDocumentPositionParams) -> Option<NamedInCase<'a>> {
        let (name, document) = self.documents.at(&at.text_document.uri)?;
        let program = self.cases.get(&name)?.program()?;
        let offset = document.text().offset(at.position, self.columns())?;
        let case = CaseText::read(&name, document.text().as_str())?;
        let symbol = program.view.symbol_in_case(&case, offset)?;
        Some(NamedInCase { program, document, case, offset, symbol })
    }
}

const NO_NAME: &str = "there is no name here";

/// A name in a test or table.
struct NamedInCase<'a> {
    program: &'a Loaded,
    document: &'a Document,
    case: CaseText,
    offset: usize,
    symbol: Symbol,
}

impl NamedInCase<'_> {
    /// A place of it in the program.
    fn place(&self) -> Result<Span, String> {
        let places: Vec<&Occurrence> = self.program.view.places(&self.symbol).collect();
        let defined = places.iter().find(|place| place.role == Role::Definition);
        let place = defined.or(places.first()).ok_or(NO_NAME)?;
        Ok(place.span)
    }
}
