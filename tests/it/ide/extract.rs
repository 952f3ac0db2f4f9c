//! Lines that become a playbook of their own.

use std::ops::Range;

use playhouse::lang::SourceText;
use playhouse_ide::View;
use playhouse_ide::extract::Extraction;

use crate::golden;

/// The files with what an extraction writes, if it is proved.
fn extracted(files: &[SourceText], view: &View, extraction: &Extraction) -> Result<Vec<SourceText>, String> {
    let mut edited = files.to_vec();
    for (span, new) in extraction.edits.iter().rev() {
        let name = &view.program().sources.get(span.file).unwrap().name;
        let edited = edited.iter_mut().find(|file| *file.name == **name).unwrap();
        edited.text.replace_range(span.range(), new);
    }
    view.prove_extraction(extraction, &super::view(&edited))?;
    Ok(edited)
}

pub(super) fn told(files: &[SourceText], view: &View, name: &str, range: &Range<usize>) -> String {
    let lines = view.program().sources.get(view.file(name).unwrap()).unwrap();
    let (first, last) = (lines.lines.line_column(range.start).0, lines.lines.line_column(range.end).0);
    let said = match view.extraction(view.file(name).unwrap(), range.clone()) {
        None => "nothing to extract\n".to_owned(),
        Some(Err(why)) => format!("cannot be extracted: {why}\n"),
        Some(Ok(extraction)) => match extracted(files, view, &extraction) {
            Err(why) => format!("is not extracted: {why}\n"),
            Ok(_) => {
                let written = extraction.edits.iter().flat_map(|(_, written)| written.lines());
                written.fold("extracted\n".to_owned(), |told, line| told + "    " + line + "\n")
            }
        },
    };
    format!("\n{name}:{first}-{last}: {said}")
}

/// Whatever lines are taken out of any program: no panic, and most that can be written are proved.
#[test]
fn lines_of_any_program_can_be_extracted() {
    let (mut n_proved, mut n_refused) = (0, 0);
    for (name, path) in golden::cases("lang", &["md"]) {
        let files = [SourceText { name: name.clone(), text: std::fs::read_to_string(path).unwrap() }];
        let view = super::view(&files);
        let file = view.file(&name).unwrap();
        let lines: Vec<_> = view.playbooks(file).flat_map(|playbook| &playbook.steps).map(|line| line.span).collect();
        for (first, last) in lines.iter().zip(lines.iter().skip(1)) {
            let range = first.range().start..last.range().end;
            let Some(Ok(extraction)) = view.extraction(file, range) else { continue };
            match extracted(&files, &view, &extraction) {
                Ok(_) => n_proved += 1,
                // With two playbooks a program begins otherwise than with one.
                Err(why) if why.contains("At the beginning") => {}
                Err(_) => n_refused += 1,
            }
        }
    }
    assert!(n_proved > 3 * n_refused && n_proved > 100, "{n_proved}, {n_refused} refused");
}
