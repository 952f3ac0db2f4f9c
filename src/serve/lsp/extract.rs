//! Lines made a playbook of their own, in all programs that have them.

use std::ops::Range;

use gen_lsp_types::{CodeAction, CodeActionDisabled, CodeActionKind};

use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::edits::Edits;

impl Answers<'_> {
    /// A playbook of the lines in a range of a text, in bytes; none: there are no whole lines, or nothing that can be told.
    pub(super) fn extraction(self, name: &str, range: &Range<usize>) -> Option<CodeAction> {
        let action = CodeAction {
            title: "Extract playbook".to_owned(),
            kind: Some(CodeActionKind::RefactorExtract),
            ..CodeAction::default()
        };
        match self.extracted(name, range)? {
            Ok(edits) => Some(CodeAction { edit: Some(edits.in_workspace(self.columns())), ..action }),
            Err(reason) if self.editor.shows_disabled => {
                Some(CodeAction { disabled: Some(CodeActionDisabled { reason }), ..action })
            }
            Err(_) => None,
        }
    }

    fn extracted(self, name: &str, range: &Range<usize>) -> Option<Result<Edits, String>> {
        let mut all = Edits::default();
        let mut extractions = Vec::new();
        for (program, file) in self.programs.of(name) {
            match program.view.extraction(file, range.clone())? {
                Ok(extraction) => {
                    all.add_to_program(program, &extraction.edits);
                    extractions.push((program, extraction));
                }
                Err(why) => return Some(Err(why)),
            }
        }
        let edited = all.texts();
        let mut proofs = extractions.iter().map(|(program, extraction)| {
            let after = program.with_texts(&edited, self.documents).ok_or("the program cannot be read any more")?;
            program.view.prove_extraction(extraction, &after)
        });
        Some(proofs.try_for_each(|proof| proof).map(|()| all))
    }
}
