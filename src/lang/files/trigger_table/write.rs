//! A trigger table's canonical text: columns below each other.

use crate::files::case_file::lines::{Fence, Line, lines};
use crate::files::case_file::table::aligned;
use crate::files::format::writer::{has_carriage_returns, with_line_breaks};

/// The text with its tables aligned; everything else stays as it is.
pub(super) fn write(text: &str) -> String {
    let (mut written, mut table, mut fence) = (String::new(), Vec::new(), Fence::default());
    for line in lines(text) {
        if !fence.holds(line) && line.raw.trim_start().starts_with('|') {
            table.push(line);
            continue;
        }
        write_table(&mut written, &mut table);
        written.push_str(line.raw);
        written.push('\n');
    }
    write_table(&mut written, &mut table);
    written.truncate(written.trim_end().len());
    written.push('\n');
    with_line_breaks(written, has_carriage_returns(text))
}

fn write_table(written: &mut String, table: &mut Vec<Line<'_>>) {
    let as_written = |table: &[Line<'_>]| table.iter().map(|line| line.raw.to_owned()).collect();
    for row in aligned(table).unwrap_or_else(|| as_written(table)) {
        written.push_str(&row);
        written.push('\n');
    }
    table.clear();
}
