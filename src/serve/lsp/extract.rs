//! Lines made a playbook of their own, in all programs that have them.

use std::ops::Range;

use gen_lsp_types::{CodeAction, CodeActionDisabled, CodeActionKind};
use playhouse_ide::extract::Extraction;
use serde::{Deserialize, Serialize};

use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::edits::Edits;
use crate::serve::lsp::programs::Loaded;

/// What an action remembers until it is chosen: the lines of the file, in bytes.
#[derive(Debug, Deserialize, Serialize)]
struct Chosen {
    file: String,
    start: usize,
    end: usize,
}

impl<'a> Answers<'a> {
    /// A playbook of the lines in a range of a text, in bytes; none: there are no whole lines, or nothing that can be told.
    /// Where the editor asks for it later, what is written is proved when it is chosen.
    pub(super) fn extraction(self, name: &str, range: &Range<usize>) -> Option<CodeAction> {
        let action = CodeAction {
            title: "Extract playbook".to_owned(),
            kind: Some(CodeActionKind::RefactorExtract),
            ..CodeAction::default()
        };
        let extracted = self.extractions(name, range)?;
        if self.editor.resolves_actions && extracted.is_ok() {
            let chosen = Chosen { file: name.to_owned(), start: range.start, end: range.end };
            return Some(CodeAction { data: serde_json::to_value(chosen).ok(), ..action });
        }
        match extracted.and_then(|extractions| self.proved(&extractions)) {
            Ok(edits) => Some(CodeAction { edit: Some(edits.in_workspace(self.columns())), ..action }),
            Err(reason) if self.editor.shows_disabled => {
                Some(CodeAction { disabled: Some(CodeActionDisabled { reason }), ..action })
            }
            Err(_) => None,
        }
    }

    /// The action with what it writes, now that it is chosen.
    pub(super) fn chosen(self, action: CodeAction) -> Result<CodeAction, String> {
        let Some(data) = action.data.clone() else { return Ok(action) };
        let Chosen { file, start, end } = serde_json::from_value(data).map_err(|error| error.to_string())?;
        let extracted = self.extractions(&file, &(start..end)).ok_or("these lines no longer exist")?;
        let edits = self.proved(&extracted?)?;
        Ok(CodeAction { edit: Some(edits.in_workspace(self.columns())), ..action })
    }

    fn extractions(self, name: &str, range: &Range<usize>) -> Option<Result<Vec<(&'a Loaded, Extraction)>, String>> {
        let programs = self.programs.of(name);
        let extraction = |(program, file): (&'a Loaded, _)| {
            let extraction = program.view.extraction(file, range.clone())?;
            Some(extraction.map(|extraction| (program, extraction)))
        };
        programs.map(extraction).collect::<Option<Result<_, _>>>()
    }

    fn proved(self, extractions: &[(&Loaded, Extraction)]) -> Result<Edits, String> {
        let mut all = Edits::default();
        for (program, extraction) in extractions {
            all.add_to_program(program, &extraction.edits);
        }
        let edited = all.texts();
        for (program, extraction) in extractions {
            let after = program.with_texts(&edited, self.documents).ok_or("the program can no longer be read")?;
            program.view.prove_extraction(extraction, &after)?;
        }
        Ok(all)
    }
}
