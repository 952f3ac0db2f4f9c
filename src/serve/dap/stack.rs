//! The stack as a client gets it.

use serde_json::{Value as Json, json};

use crate::serve::dap::sources::Texts;
use crate::serve::dap::wire::{Refusal, RefusalKind};
use crate::serve::show::{count, frame_name, merge};
use crate::vm::protocol::FrameId;
use crate::vm::protocol::view::View;

/// The frames, the one that is executed first. Callers that were left out (tail calls) are a word between frames.
pub(crate) fn frames(view: &View, texts: &Texts) -> Vec<Json> {
    let mut frames = Vec::new();
    for frame in view.stack.iter().rev() {
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        let id = i64::try_from(frame.id.0).unwrap_or(i64::MAX);
        let mut told = json!({"id": id, "name": format!("{}{inlined}", frame_name(frame)), "line": 0, "column": 0});
        if let Some(place) = texts.place(frame.location, &view.written_plans) {
            merge(&mut told, json!(place));
        }
        told["canRestart"] = true.into();
        frames.push(told);
        if frame.n_elided > 0 {
            let name = format!("{} left out that would only return (tail calls)", count(frame.n_elided, "caller"));
            frames.push(json!({
                "id": -id, "name": name, "line": 0, "column": 0, "canRestart": false, "presentationHint": "label",
            }));
        }
    }
    frames
}

/// The frame that a client means by this number.
pub(crate) fn frame_of(view: &View, id: i64) -> Result<FrameId, Refusal> {
    let id = FrameId(id.unsigned_abs());
    let gone = "this frame is no longer on the stack; request the stack again";
    view.stack.iter().any(|frame| frame.id == id).then_some(id).ok_or_else(|| RefusalKind::Gone.told(gone))
}
