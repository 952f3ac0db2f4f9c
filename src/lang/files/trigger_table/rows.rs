//! One table of a file: its rows as cases.

use super::cell::{fires, given, updates};
use super::table::{FiredName, TriggerCase};
use crate::files::case_file::item::Wrong;
use crate::files::case_file::lines::{Line, Reader};
use crate::files::case_file::mention::{Mention, MentionKind};
use crate::files::case_file::names::assigned;
use crate::files::case_file::table::{self, Row};
use crate::span::FileId;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
enum Column {
    Given,
    Update,
    Fires,
    Note,
}

impl table::Column for Column {
    const HELP: &'static str = "columns are `given`, `update`, `fires` and `note`; `update` and `fires` are required";

    fn is_needed(self) -> bool {
        matches!(self, Column::Update | Column::Fires)
    }
}

/// Reads the lines of one table, which begin with `|`.
pub(super) fn read_table(reader: &mut Reader, lines: &[Line<'_>]) -> Vec<TriggerCase> {
    let rows = reader.table(lines);
    rows.iter().filter_map(|row| read_row(reader, row)).collect()
}

fn read_row(reader: &mut Reader, row: &Row<'_, Column>) -> Option<TriggerCase> {
    let line = row.line;
    let case = reader.accept(line, read_case(reader.file, row))?;
    let fired = case.fires.iter().map(|FiredName { name, span, .. }| (*span, MentionKind::Trigger(name.clone())));
    reader.mentions.extend(fired.map(|(span, kind)| Mention { span, kind }));
    for (_, cell) in row.cells.iter().filter(|(column, _)| matches!(column, Column::Given | Column::Update)) {
        reader.mention_all(line, assigned(cell.written));
    }
    Some(case)
}

fn read_case(file: FileId, row: &Row<'_, Column>) -> Result<TriggerCase, Wrong> {
    let mut case = TriggerCase {
        line: row.line.number,
        span: row.line.span(file),
        given: Vec::new(),
        updates: Vec::new(),
        fires: Vec::new(),
        note: String::new(),
    };
    for (column, cell) in &row.cells {
        match column {
            Column::Given => case.given = given(&cell.text())?,
            Column::Update => case.updates = updates(&cell.text())?,
            Column::Fires => {
                // No name has a bar in it.
                let fired = |name: &str| FiredName {
                    name: name.to_owned(),
                    span: row.line.span_of(file, name),
                    is_skill: false,
                };
                case.fires = fires(cell.written)?.into_iter().map(fired).collect();
            }
            Column::Note => case.note = cell.text(),
        }
    }
    Ok(case)
}
