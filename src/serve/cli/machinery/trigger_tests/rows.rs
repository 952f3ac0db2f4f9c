//! One table of a file, line by line: head, ruler, rows.

use super::cell::{fires, given, is_ruler, split_cells, updates};
use super::table::TriggerCase;
use crate::serve::cli::machinery::test_file::item::{Wrong, wrong};
use crate::serve::cli::machinery::test_file::lines::{Line, Reader};
use crate::span::FileId;

/// The columns there are, in words.
const COLUMNS: &str = "columns are `given`, `update`, `fires` and `note`; `update` and `fires` must be there";

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Given,
    Update,
    Fires,
    Note,
}

impl Column {
    const ALL: [Column; 4] = [Column::Given, Column::Update, Column::Fires, Column::Note];

    fn name(self) -> &'static str {
        match self {
            Column::Given => "given",
            Column::Update => "update",
            Column::Fires => "fires",
            Column::Note => "note",
        }
    }
}

/// Reads the lines of one table, which begin with `|`.
pub(super) fn read_table(reader: &mut Reader, lines: &[Line<'_>]) -> Vec<TriggerCase> {
    let [head, rest @ ..] = lines else { return Vec::new() };
    let Some(columns) = reader.accept(*head, read_head(*head)) else { return Vec::new() };
    let is_ruler =
        |line: &Line<'_>| split_cells(line.raw).is_some_and(|cells| cells.len() == columns.len() && is_ruler(&cells));
    let rows = match rest {
        [ruler, rows @ ..] if is_ruler(ruler) => rows,
        _ => {
            let next = "write `| --- | --- |` below the names of the columns, as often as there are columns";
            let line = rest.first().unwrap_or(head);
            reader.report(*line, "no-ruler", "the line below a table's head is missing", next);
            return Vec::new();
        }
    };
    if rows.is_empty() {
        reader.report(*head, "empty-table", "the table has no rows", "add a case, or remove the table");
    }
    let file = reader.file;
    rows.iter().filter_map(|&line| reader.accept(line, read_row(file, line, &columns))).collect()
}

fn read_head(line: Line<'_>) -> Result<Vec<Column>, Wrong> {
    let wrong = |message: String, next: &str| wrong("bad-columns", message, next);
    let cells = split_cells(line.raw).ok_or_else(no_bar)?;
    let mut columns = Vec::with_capacity(cells.len());
    for cell in &cells {
        let Some(column) = Column::ALL.into_iter().find(|column| column.name() == cell) else {
            return Err(wrong(format!("there is no column `{cell}`"), COLUMNS));
        };
        if columns.contains(&column) {
            return Err(wrong(format!("the column `{cell}` stands there twice"), "leave one of them out"));
        }
        columns.push(column);
    }
    match [Column::Update, Column::Fires].into_iter().find(|column| !columns.contains(column)) {
        Some(missing) => Err(wrong(format!("the column `{}` is missing", missing.name()), COLUMNS)),
        None => Ok(columns),
    }
}

fn no_bar() -> Wrong {
    let next = "begin and end every line of a table with `|`; a bar inside a cell is written `\\|`";
    wrong("bad-row", "this line of a table does not end with `|`", next)
}

fn read_row(file: FileId, line: Line<'_>, columns: &[Column]) -> Result<TriggerCase, Wrong> {
    let cells = split_cells(line.raw).ok_or_else(no_bar)?;
    if cells.len() != columns.len() {
        let message = format!("this row has {} cells, and the table has {} columns", cells.len(), columns.len());
        return Err(wrong("bad-row", message, "write one cell per column; a bar inside a cell is written `\\|`"));
    }
    let mut case = TriggerCase {
        line: line.number,
        span: line.span(file),
        given: Vec::new(),
        updates: Vec::new(),
        fires: Vec::new(),
        note: String::new(),
    };
    for (column, cell) in columns.iter().zip(&cells) {
        match column {
            Column::Given => case.given = given(cell)?,
            Column::Update => case.updates = updates(cell)?,
            Column::Fires => case.fires = fires(cell)?,
            Column::Note => cell.clone_into(&mut case.note),
        }
    }
    Ok(case)
}
