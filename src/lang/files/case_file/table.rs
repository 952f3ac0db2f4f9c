//! Tables in files of cases, line by line: head, ruler, rows.

use strum::VariantArray;

use crate::files::case_file::item::{Wrong, wrong};
use crate::files::case_file::lines::{Line, Reader};

/// The columns that a table can have.
pub trait Column: Copy + PartialEq + Into<&'static str> + VariantArray + 'static {
    /// What is told of them when one is wrong.
    const HELP: &'static str;

    /// Whether a table must have it.
    fn is_needed(self) -> bool;
}

/// One row: as many cells as the table has columns.
pub struct Row<'t, C> {
    /// Its line.
    pub line: Line<'t>,
    /// What stands in each column.
    pub cells: Vec<(C, Cell<'t>)>,
}

/// What stands in one column of a row, trimmed.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'t> {
    /// As it is written.
    pub written: &'t str,
}

impl Cell<'_> {
    /// Its text: `\|` is read as `|`.
    pub fn text(self) -> String {
        self.written.replace("\\|", "|")
    }
}

impl Reader {
    /// Reads the lines of one table, which begin with `|`.
    pub fn table<'t, C: Column>(&mut self, lines: &[Line<'t>]) -> Vec<Row<'t, C>> {
        let [head, rest @ ..] = lines else { return Vec::new() };
        let Some(columns) = self.accept(*head, read_head(*head)) else { return Vec::new() };
        let is_ruler =
            |line: &Line<'_>| cells_of(line.raw).is_some_and(|cells| cells.len() == columns.len() && is_ruler(&cells));
        let rows = match rest {
            [ruler, rows @ ..] if is_ruler(ruler) => rows,
            _ => {
                let next = "write `| --- | --- |` below the names of the columns, with a `---` for each";
                let line = rest.first().unwrap_or(head);
                self.report(*line, "no-ruler", "the line below a table's head is missing", next);
                return Vec::new();
            }
        };
        if rows.is_empty() {
            self.report(*head, "empty-table", "the table has no rows", "add a row, or remove the table");
        }
        rows.iter().filter_map(|&line| self.accept(line, read_row(line, &columns))).collect()
    }
}

fn read_head<C: Column>(line: Line<'_>) -> Result<Vec<C>, Wrong> {
    let wrong = |message: String, next: &str| wrong("bad-columns", message, next);
    let cells = cells_of(line.raw).ok_or_else(no_bar)?;
    let mut columns = Vec::with_capacity(cells.len());
    for cell in cells.into_iter().map(|written| Cell { written }.text()) {
        let Some(column) = C::VARIANTS.iter().find(|column| name(**column) == cell) else {
            return Err(wrong(format!("there is no column `{cell}`"), C::HELP));
        };
        if columns.contains(column) {
            return Err(wrong(format!("the column `{cell}` appears twice"), "remove one of them"));
        }
        columns.push(*column);
    }
    match C::VARIANTS.iter().find(|column| column.is_needed() && !columns.contains(column)) {
        Some(missing) => Err(wrong(format!("the column `{}` is missing", name(*missing)), C::HELP)),
        None => Ok(columns),
    }
}

fn read_row<'t, C: Column>(line: Line<'t>, columns: &[C]) -> Result<Row<'t, C>, Wrong> {
    let cells = cells_of(line.raw).ok_or_else(no_bar)?;
    if cells.len() != columns.len() {
        let message = format!("this row has {} cells, and the table has {} columns", cells.len(), columns.len());
        return Err(wrong("bad-row", message, "write one cell per column, and `\\|` for a bar inside a cell"));
    }
    let cells = cells.into_iter().map(|written| Cell { written });
    Ok(Row { line, cells: columns.iter().copied().zip(cells).collect() })
}

fn no_bar() -> Wrong {
    let next = "begin and end every line of a table with `|`, and write `\\|` for a bar inside a cell";
    wrong("bad-row", "this line of a table does not end with `|`", next)
}

/// What stands in the head above a column.
fn name<C: Column>(column: C) -> &'static str {
    column.into()
}

/// The cells of a table's line, which begins and ends with `|`: trimmed, as they are written. None: it does not.
fn cells_of(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let (mut cells, mut start) = (Vec::new(), 0);
    let bars = inside.match_indices('|').map(|(at, _)| at).chain([inside.len()]);
    for at in bars {
        if !inside[..at].ends_with('\\') {
            cells.push(inside[start..at].trim());
            start = at + 1;
        }
    }
    // A bar with a backslash before it ends no line.
    (start > inside.len()).then_some(cells)
}

/// The lines of a table with their columns below each other; none: it is no table as it should be.
pub fn aligned(lines: &[Line<'_>]) -> Option<Vec<String>> {
    let rows = lines.iter().map(|line| cells_of(line.raw)).collect::<Option<Vec<_>>>()?;
    let n_columns = rows.first()?.len();
    if rows.iter().any(|row| row.len() != n_columns) {
        return None;
    }
    let length = |cell: &str| cell.chars().count();
    let width = |column: usize| {
        let words = rows.iter().enumerate().filter(|(index, row)| *index != 1 || !is_ruler(row));
        words.map(|(_, row)| length(row[column])).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let written = rows.iter().enumerate().map(|(index, row)| {
        let is_ruler = index == 1 && is_ruler(row);
        let cells = row.iter().zip(&widths).map(|(cell, &width)| {
            let (first, last) = (cell.starts_with(':'), cell.ends_with(':'));
            match is_ruler {
                true if first && last => format!(":{}:", "-".repeat(width - 2)),
                true if first => format!(":{}", "-".repeat(width - 1)),
                true if last => format!("{}:", "-".repeat(width - 1)),
                true => "-".repeat(width),
                false => format!("{cell}{}", " ".repeat(width - length(cell))),
            }
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    });
    Some(written.collect())
}

/// Whether these are the cells of the line between a table's head and its rows.
fn is_ruler(cells: &[&str]) -> bool {
    let is_rule = |cell: &&str| {
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    cells.iter().all(is_rule)
}
