//! One table of a file, line by line: head, ruler, rows.

use super::cell::{fires, given, is_ruler, split_cells, updates};
use super::table::TriggerCase;
use crate::diagnostic::Diagnostic;
use crate::serve::cli::machinery::test_file::item::Wrong;
use crate::serve::cli::machinery::test_file::lines::{Line, finding};
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
pub(super) fn read_table(file: FileId, lines: &[Line<'_>], findings: &mut Vec<Diagnostic>) -> Vec<TriggerCase> {
    let [head, rest @ ..] = lines else { return Vec::new() };
    let columns = match read_head(*head) {
        Ok(columns) => columns,
        Err(wrong) => {
            findings.push(finding(file, *head, wrong.code, wrong.message, wrong.next));
            return Vec::new();
        }
    };
    let [ruler, rows @ ..] = rest else {
        findings.push(no_ruler(file, *head));
        return Vec::new();
    };
    if !split_cells(ruler.raw).is_some_and(|cells| cells.len() == columns.len() && is_ruler(&cells)) {
        findings.push(no_ruler(file, *ruler));
        return Vec::new();
    }
    if rows.is_empty() {
        findings.push(finding(file, *head, "empty-table", "the table has no rows", "add a case, or remove the table"));
    }
    let mut cases = Vec::with_capacity(rows.len());
    for &line in rows {
        match read_row(file, line, &columns) {
            Ok(case) => cases.push(case),
            Err(wrong) => findings.push(finding(file, line, wrong.code, wrong.message, wrong.next)),
        }
    }
    cases
}

fn no_ruler(file: FileId, line: Line<'_>) -> Diagnostic {
    let next = "write `| --- | --- |` below the names of the columns, as often as there are columns";
    finding(file, line, "no-ruler", "the line below a table's head is missing", next)
}

fn read_head(line: Line<'_>) -> Result<Vec<Column>, Wrong> {
    let wrong = |message: String, next: &str| Wrong { code: "bad-columns", message, next: next.to_owned() };
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
    Wrong { code: "bad-row", message: "this line of a table does not end with `|`".to_owned(), next: next.to_owned() }
}

fn read_row(file: FileId, line: Line<'_>, columns: &[Column]) -> Result<TriggerCase, Wrong> {
    let cells = split_cells(line.raw).ok_or_else(no_bar)?;
    if cells.len() != columns.len() {
        let message = format!("this row has {} cells, and the table has {} columns", cells.len(), columns.len());
        let next = "write one cell per column; a bar inside a cell is written `\\|`".to_owned();
        return Err(Wrong { code: "bad-row", message, next });
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
