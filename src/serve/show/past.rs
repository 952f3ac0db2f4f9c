//! A session's past as JSON. A public interface: fields are added, never changed or removed.

use serde_json::{Value as Json, json};

use crate::host::travel::{Difference, Step, Timeline, VariableDifference};

/// A step: its point is what `--to` and `fork --at` take, the event is as in `--events`.
pub(crate) fn step_json(step: &Step) -> Json {
    json!({"point": step.point.to_string(), "event": step.event})
}

/// How two sessions differ.
pub(crate) fn difference_json(ids: [&str; 2], sides: &[Timeline; 2], difference: &Difference) -> Json {
    let side = |index: usize| {
        let then: Vec<Json> = difference.then[index].iter().map(step_json).collect();
        // The points are those after the last step that is the same, and of the end.
        let (same_up_to, end) = (difference.same_up_to[index].to_string(), sides[index].end().to_string());
        json!({"session": ids[index], "same_up_to": same_up_to, "end": end, "then": then})
    };
    let variables = difference.variables.iter().map(|VariableDifference { place, name, values: [a, b] }| {
        // Null: there is none.
        json!({"place": place, "name": name, "a": a, "b": b})
    });
    let variables: Vec<Json> = variables.collect();
    json!({"same": difference.n_same, "a": side(0), "b": side(1), "variables": variables})
}
