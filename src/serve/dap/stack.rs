//! The stack as a client gets it.

use crate::serve::dap::sources::Texts;
use crate::serve::dap::wire::StackFrame;
use crate::serve::show::{count, frame_name};
use crate::vm::protocol::FrameId;
use crate::vm::protocol::view::View;

/// The frames, the one that is executed first. Callers that were left out (tail calls) are a word between frames.
pub(crate) fn frames(view: &View, texts: &Texts) -> Vec<StackFrame> {
    let mut frames = Vec::new();
    for frame in view.stack.iter().rev() {
        let inlined = if frame.inlined { " (inlined)" } else { "" };
        let place = texts.place(frame.location, &view.written_plans);
        let id = i64::try_from(frame.id.0).unwrap_or(i64::MAX);
        frames.push(StackFrame {
            id,
            name: format!("{}{inlined}", frame_name(frame)),
            line: place.as_ref().map_or(0, |place| place.line),
            column: place.as_ref().map_or(0, |place| place.column),
            end_line: place.as_ref().map(|place| place.end_line),
            end_column: place.as_ref().map(|place| place.end_column),
            source: place.map(|place| place.source),
            can_restart: Some(true),
            presentation_hint: None,
        });
        if frame.n_elided > 0 {
            let n = count(frame.n_elided as usize, "caller");
            frames.push(StackFrame {
                id: -id,
                name: format!("{n} left out that would only return (tail calls)"),
                source: None,
                line: 0,
                column: 0,
                end_line: None,
                end_column: None,
                can_restart: Some(false),
                presentation_hint: Some("label"),
            });
        }
    }
    frames
}

/// The frame that a client means by this number.
pub(crate) fn frame_of(view: &View, id: i64) -> Option<FrameId> {
    let id = FrameId(id.unsigned_abs());
    view.stack.iter().any(|frame| frame.id == id).then_some(id)
}
