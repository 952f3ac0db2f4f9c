//! What a client looks at: threads, frames, scopes, variables, texts.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::serve::dap::adapter::{Adapter, THREAD, Waits};
use crate::serve::dap::stack::{frame_of, frames};
use crate::serve::dap::wire::{
    FrameArguments, Refusal, RefusalKind, SourceArguments, StackTraceArguments, VariablesArguments,
};
use crate::vm::protocol::view::View;

impl Adapter {
    /// The program's state where it stands; while it runs, as it is between two events.
    pub(super) async fn view(&mut self) -> Result<Arc<View>, Refusal> {
        let live = self.live()?;
        live.debuggee.view().await.map_err(|error| RefusalKind::Program.told(error))
    }

    pub(super) fn threads(&self) -> Result<Json, Refusal> {
        let thread = self.program.as_ref().map(|opened| {
            let id = match (&opened.live, &opened.waits) {
                (Some(live), _) => live.debuggee.handle().id().to_string(),
                (None, Some(Waits::Attach(handle))) => handle.id().to_string(),
                (None, Some(Waits::Launch(session, _))) => session.handle().id().to_string(),
                (None, None) => String::new(),
            };
            json!({"id": THREAD, "name": format!("{} ({id})", opened.subject.program.name())})
        });
        Ok(json!({"threads": thread.into_iter().collect::<Vec<_>>()}))
    }

    pub(super) async fn stack_trace(&mut self, wanted: StackTraceArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        let all = frames(&view, &self.opened()?.texts);
        let total_frames = all.len();
        let levels = if wanted.levels == 0 { usize::MAX } else { wanted.levels };
        let frames: Vec<Json> = all.into_iter().skip(wanted.start_frame).take(levels).collect();
        Ok(json!({"stackFrames": frames, "totalFrames": total_frames}))
    }

    pub(super) async fn scopes(&mut self, wanted: FrameArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        // A word about callers that were left out has nothing in it.
        if wanted.frame_id < 0 {
            return Ok(json!({"scopes": []}));
        }
        let frame = frame_of(&view, wanted.frame_id)?;
        Ok(json!({"scopes": self.lists.scopes(&view, frame)}))
    }

    pub(super) async fn variables(&mut self, wanted: VariablesArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        Ok(json!({"variables": self.lists.rows(&view, &wanted)?}))
    }

    pub(super) async fn source(&mut self, wanted: SourceArguments) -> Result<Json, Refusal> {
        let inside = wanted.source.as_ref().and_then(|source| source.source_reference);
        let reference = inside.filter(|reference| *reference > 0).unwrap_or(wanted.source_reference);
        let view = self.view().await.ok();
        let written = view.as_ref().map(|view| &view.written_plans[..]).unwrap_or_default();
        let texts = &self.opened()?.texts;
        let by_path = || {
            let file = texts.file_of(wanted.source.as_ref()?)?;
            Some(self.opened().ok()?.subject.program.sources.get(file)?.text.to_string())
        };
        let found = if reference > 0 { texts.text(reference, written) } else { by_path() };
        let content = found.ok_or_else(|| RefusalKind::Gone.told("the program has no such text"))?;
        Ok(json!({"content": content, "mimeType": "text/markdown"}))
    }

    pub(super) async fn loaded_sources(&mut self) -> Result<Json, Refusal> {
        let view = self.view().await.ok();
        let written = view.as_ref().map(|view| &view.written_plans[..]).unwrap_or_default();
        Ok(json!({"sources": self.opened()?.texts.sources(written)}))
    }
}
