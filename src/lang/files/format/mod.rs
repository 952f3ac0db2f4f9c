//! The one layout of files that people write (spec `editors.md`, section 6). Words are the author's: what is settled is
//! marks, bullets, indentation and blank lines. Pure.

mod items;
mod json;
mod playbook;
pub mod proof;
pub(crate) mod writer;
mod yaml;

use crate::files::format::proof::proved;
use crate::files::kind::Kind;
use crate::files::test_file::TestFile;
use crate::files::trigger_table::TriggerTable;
use crate::plan::read_plan;
use crate::span::FileId;

pub use crate::files::format::playbook::format_playbook;
use crate::files::format::proof::Untouched;
pub use crate::files::format::writer::{has_carriage_returns, with_line_breaks};

/// Formats a file of this kind.
///
/// # Errors
/// Why the text is left as it is.
pub fn format_file(kind: Kind, text: &str) -> Result<String, Untouched> {
    let test = |text: &str| TestFile::parse(FileId(0), text).map_err(|found| Untouched::unread(text, &found));
    let table = |text: &str| TriggerTable::parse(FileId(0), text).map_err(|found| Untouched::unread(text, &found));
    let same = |old: &str, is_same: bool| if is_same { Ok(()) } else { Err(Untouched::differs(old, 0)) };
    match kind {
        Kind::Playbook => format_playbook(text),
        Kind::JsonPlan => format_json_plan(text),
        Kind::YamlPlan => format_yaml_plan(text),
        Kind::Test => proved(
            text,
            |text| Ok(test(text)?.render()),
            |old, new| same(old, test(old)?.without_lines() == test(new)?.without_lines()),
        ),
        Kind::Triggers => proved(
            text,
            |text| table(text).map(|_| TriggerTable::align(text)),
            |old, new| same(old, format!("{:-?}", table(old)?) == format!("{:-?}", table(new)?)),
        ),
    }
}

/// Formats a JSON plan: an item a line, two spaces a level; order and numbers stay as they are written.
///
/// # Errors
/// Why the text is left as it is.
pub fn format_json_plan(text: &str) -> Result<String, Untouched> {
    proved(text, json::write, |old, new| same_plan("plan.json", old, new))
}

/// Formats a dataflow plan: white space at the ends of lines and of the file.
///
/// # Errors
/// Why the text is left as it is.
pub fn format_yaml_plan(text: &str) -> Result<String, Untouched> {
    proved(text, |text| Ok(yaml::write(text)), |old, new| same_plan("plan.yaml", old, new))
}

fn same_plan(name: &str, old: &str, new: &str) -> Result<(), Untouched> {
    let read = |text| {
        let (plan, findings) = read_plan(FileId(0), name, text);
        plan.map(|plan| format!("{plan:-?}")).ok_or(findings)
    };
    match (read(old), read(new)) {
        (Ok(plan), Ok(other)) if plan == other => Ok(()),
        // A document that is no plan yet says where its texts are all the same.
        (Err(findings), Err(others))
            if yaml::is_document(old) && format!("{findings:-?}") == format!("{others:-?}") =>
        {
            Ok(())
        }
        (Err(findings), _) => Err(Untouched::unread(old, &findings)),
        (Ok(_), _) => Err(Untouched::differs(old, 0)),
    }
}
