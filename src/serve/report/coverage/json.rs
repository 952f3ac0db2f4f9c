//! Coverage for programs. A public interface: fields are added, never changed or removed.

use serde_json::{Map, Value as Json, json};

use crate::host::coverage::{Line, Part, Way};
use crate::serve::report::coverage::reported::Reported;

/// All parts with their lines and triggers, and the totals.
pub fn json(reported: Reported<'_>) -> Json {
    let parts = reported.tests.parts();
    json!({
        "parts": parts.iter().map(|part| part_json(reported, part)).collect::<Vec<_>>(),
        "totals": reported.tests.totals(),
    })
}

fn part_json(reported: Reported<'_>, part: &Part) -> Json {
    let line = |line: &Line| {
        let mut told = line_json(line);
        if let Some(n_sessions) = reported.n_sessions(part, line) {
            told["sessions"] = n_sessions.into();
        }
        told
    };
    json!({
        "name": part.name,
        "kind": part.kind.to_string(),
        "file": part.file,
        "line": part.at,
        "entered": part.n,
        "lines": part.lines.iter().map(line).collect::<Vec<_>>(),
        "triggers": part.triggers.iter().map(line_json).collect::<Vec<_>>(),
        "totals": part.totals(),
    })
}

fn line_json(line: &Line) -> Json {
    let named = |(way, n): &(Way, u64)| (way.to_string().replace(' ', "_"), Json::from(*n));
    json!({
        "id": line.label,
        "text": line.words,
        "line": line.at,
        "reached": line.n,
        "ways": line.ways.iter().map(named).collect::<Map<_, _>>(),
    })
}
