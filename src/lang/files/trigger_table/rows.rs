//! One table of a file: its rows as cases.

use super::cell::{fires, given, updates};
use super::table::TriggerCase;
use crate::files::case_file::item::Wrong;
use crate::files::case_file::lines::{Line, Reader};
use crate::files::case_file::table::{self, Row};
use crate::span::FileId;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Given,
    Update,
    Fires,
    Note,
}

impl table::Column for Column {
    const ALL: &'static [Column] = &[Column::Given, Column::Update, Column::Fires, Column::Note];
    const HELP: &'static str = "columns are `given`, `update`, `fires` and `note`; `update` and `fires` must be there";

    fn name(self) -> &'static str {
        match self {
            Column::Given => "given",
            Column::Update => "update",
            Column::Fires => "fires",
            Column::Note => "note",
        }
    }

    fn is_needed(self) -> bool {
        matches!(self, Column::Update | Column::Fires)
    }
}

/// Reads the lines of one table, which begin with `|`.
pub(super) fn read_table(reader: &mut Reader, lines: &[Line<'_>]) -> Vec<TriggerCase> {
    let file = reader.file;
    let rows = reader.table(lines);
    rows.iter().filter_map(|row| reader.accept(row.line, read_row(file, row))).collect()
}

fn read_row(file: FileId, row: &Row<'_, Column>) -> Result<TriggerCase, Wrong> {
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
            Column::Given => case.given = given(cell)?,
            Column::Update => case.updates = updates(cell)?,
            Column::Fires => case.fires = fires(cell)?,
            Column::Note => cell.clone_into(&mut case.note),
        }
    }
    Ok(case)
}
