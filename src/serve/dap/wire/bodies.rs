//! What answers and events hold, as far as several of them have it in common or a client sends it back. Everything else
//! is written where it is told.

use serde::{Deserialize, Serialize};

/// A text: by its path, or by a number with which it can be asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Source {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_reference: Option<i64>,
    /// Where a text that is in no file is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
}

/// A place as the client counts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Where {
    pub(crate) source: Source,
    pub(crate) line: i64,
    #[serde(flatten)]
    pub(crate) columns: Columns,
}

/// Where in its line a place begins, and where it ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Columns {
    pub(crate) column: i64,
    pub(crate) end_line: i64,
    pub(crate) end_column: i64,
}

/// A place that a breakpoint can be at. Columns are told to who has asked with a column: to others VS Code would draw a
/// second breakpoint inside of the line.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct BreakpointLocation {
    pub(crate) line: i64,
    #[serde(flatten)]
    pub(crate) columns: Option<Columns>,
}

impl BreakpointLocation {
    /// As it is told to a client that has asked with or without a column.
    pub(crate) fn of(place: &Where, with_columns: bool) -> BreakpointLocation {
        BreakpointLocation { line: place.line, columns: with_columns.then_some(place.columns) }
    }
}

/// A breakpoint as it was set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Breakpoint {
    pub(crate) id: u64,
    pub(crate) verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    #[serde(flatten)]
    pub(crate) location: Option<BreakpointLocation>,
    /// `failed`, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}
