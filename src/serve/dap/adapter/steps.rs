//! Breakpoints, steps forwards and backwards, and where the program stops.

use serde_json::{Value as Json, json};

use crate::host::debug::control::{DebugNotice, Stopped};
use crate::host::debug::stepping::Reason;
use crate::host::debuggee::{Backward, Forward};
use crate::host::session::Interest;
use crate::serve::dap::adapter::{Adapter, THREAD};
use crate::serve::dap::breakpoints::{data_id, data_id_anywhere, exceptions};
use crate::serve::dap::stack::frame_of;
use crate::serve::dap::wire::{
    Breakpoint, BreakpointLocation, BreakpointLocationsArguments, DataBreakpoint, DataBreakpointInfoArguments,
    FrameArguments, FunctionBreakpoint, Refusal, RefusalKind, SetArguments, SetExceptionBreakpointsArguments,
    SourceBreakpoint,
};
use crate::serve::show::merge;

impl Adapter {
    pub(super) async fn set_breakpoints(&mut self, wanted: SetArguments<SourceBreakpoint>) -> Result<Json, Refusal> {
        let opened = self.program.as_ref().ok_or_else(super::no_program)?;
        let breakpoints = self.breakpoints.set_lines(wanted.source, wanted.breakpoints, &opened.texts);
        Ok(self.renewed(&breakpoints).await)
    }

    pub(super) async fn set_function_breakpoints(
        &mut self,
        wanted: SetArguments<FunctionBreakpoint>,
    ) -> Result<Json, Refusal> {
        let opened = self.program.as_ref().ok_or_else(super::no_program)?;
        let breakpoints = self.breakpoints.set_functions(wanted.breakpoints, &opened.subject.program);
        Ok(self.renewed(&breakpoints).await)
    }

    pub(super) async fn set_data_breakpoints(&mut self, wanted: SetArguments<DataBreakpoint>) -> Result<Json, Refusal> {
        let breakpoints = self.breakpoints.set_data(wanted.breakpoints);
        Ok(self.renewed(&breakpoints).await)
    }

    /// The program hears of the breakpoints, and the client what has become of those that it has set.
    async fn renewed(&mut self, set: &[Breakpoint]) -> Json {
        if self.is_debugged()
            && let Some(opened) = &mut self.program
            && let Some(live) = &mut opened.live
        {
            live.debuggee.set_breakpoints(self.breakpoints.all(&opened.texts, &opened.subject.program)).await;
        }
        json!({"breakpoints": set})
    }

    pub(super) async fn set_exception_breakpoints(
        &mut self,
        wanted: SetExceptionBreakpointsArguments,
    ) -> Result<Json, Refusal> {
        self.exceptions = exceptions(&wanted.filters);
        let exceptions = self.exceptions;
        if self.is_debugged()
            && let Ok(live) = self.live()
        {
            live.debuggee.set_exceptions(exceptions).await;
        }
        Ok(Json::Null)
    }

    pub(super) async fn data_breakpoint_info(&mut self, wanted: DataBreakpointInfoArguments) -> Result<Json, Refusal> {
        let none =
            |why: &str| json!({"dataId": null, "description": format!("{}: {why}", wanted.name), "accessTypes": []});
        let some = |data_id: String, description: String| json!({"dataId": data_id, "description": description, "accessTypes": ["write"]});
        let Some(reference) = wanted.variables_reference.filter(|reference| *reference > 0) else {
            let name = wanted.name.trim().trim_start_matches('$');
            let is_name = !name.is_empty() && crate::lang::expr::scan_name(name) == name.len();
            return Ok(match is_name {
                true => some(data_id_anywhere(name), format!("${name}, wherever it is set")),
                false => none("only a whole variable can be watched"),
            });
        };
        let view = self.view().await?;
        Ok(match self.lists.owner(&view, reference, &wanted.name) {
            Ok((owner, _)) if owner.path.is_empty() => {
                let at = match owner.frame.and_then(|id| view.stack.iter().find(|frame| frame.id == id)) {
                    Some(frame) => format!("of this call of {}", crate::serve::show::frame_name(frame)),
                    None => format!("of {}", owner.agent),
                };
                some(data_id(&owner), format!("${} {at}", owner.name))
            }
            Ok(_) => none("only a whole variable can be watched, and its parts with it"),
            Err(_) => none("it is not a variable"),
        })
    }

    pub(super) fn breakpoint_locations(&self, wanted: BreakpointLocationsArguments) -> Result<Json, Refusal> {
        let texts = &self.opened()?.texts;
        let counting = texts.counting();
        let file = texts
            .file_of(&wanted.source)
            .ok_or_else(|| RefusalKind::Gone.told("this is not one of the program's files, so it cannot stop there"))?;
        let lines = counting.our_line(wanted.line)..=counting.our_line(wanted.end_line.unwrap_or(wanted.line));
        let found = texts.places.on_lines(file, lines).filter_map(|place| texts.range(place.range));
        let with_columns = wanted.column.or(wanted.end_column).is_some();
        let breakpoints: Vec<_> = found.map(|place| BreakpointLocation::of(&place, with_columns)).collect();
        Ok(json!({"breakpoints": breakpoints}))
    }

    pub(super) async fn go(&mut self, forward: Forward) -> Result<Json, Refusal> {
        self.live()?.debuggee.go(forward).await?;
        self.goes();
        match forward {
            Forward::Continue => Ok(json!({"allThreadsContinued": true})),
            Forward::Into | Forward::Over | Forward::Out => Ok(Json::Null),
        }
    }

    pub(super) async fn back(&mut self, backward: Backward) -> Result<Json, Refusal> {
        self.live()?.debuggee.back(backward).await?;
        self.goes();
        Ok(Json::Null)
    }

    /// What the client has been shown is not so any more, and it knows that.
    fn goes(&mut self) {
        self.lists.clear();
        if let Ok(live) = self.live() {
            live.stopped = None;
            live.is_going = !live.debuggee.stands_still();
        }
    }

    pub(super) async fn pause(&mut self) -> Result<Json, Refusal> {
        self.live()?.debuggee.pause().await?;
        Ok(Json::Null)
    }

    pub(super) async fn restart_frame(&mut self, wanted: FrameArguments) -> Result<Json, Refusal> {
        let view = self.view().await?;
        let frame = frame_of(&view, wanted.frame_id)?;
        self.live()?.debuggee.restart_frame(frame).await?;
        Ok(Json::Null)
    }

    /// The debugger tells something.
    pub(super) async fn note(&mut self, notice: DebugNotice) {
        match notice {
            DebugNotice::Stopped(stopped) => self.stopped(stopped),
            DebugNotice::Continued => {
                let Ok(live) = self.live() else { return };
                live.stopped = None;
                if !std::mem::take(&mut live.is_going) {
                    self.lists.clear();
                    self.outbox.event("continued", json!({"threadId": THREAD, "allThreadsContinued": true}));
                }
            }
            DebugNotice::Forked(id) => {
                let Ok(live) = self.live() else { return };
                // One that has ended already says so by itself.
                if let Ok(speech) = live.debuggee.handle().subscribe(Interest::Speech).await {
                    live.speech = speech;
                }
                (live.wanted, live.question, live.open) = (None, None, None);
                self.lists.clear();
                self.remark(&format!(
                    "the past was changed: what follows is another session, {id}; the one before is kept as it was\n"
                ));
                self.invalidated(&["all"]);
            }
            DebugNotice::Log(log) => {
                let place = match self.view().await {
                    Ok(view) => self.opened().ok().and_then(|o| o.texts.place(log.place.location, &view.written_plans)),
                    Err(_) => None,
                };
                self.output("console", &format!("{}\n", log.text), place);
            }
            DebugNotice::Ended => self.ended().await,
        }
    }

    /// What the client shows may be another by now.
    pub(super) fn invalidated(&mut self, areas: &[&'static str]) {
        if self.client.as_ref().is_some_and(|client| client.supports_invalidated_event) {
            self.outbox.event("invalidated", json!({"areas": areas}));
        }
    }

    fn stopped(&mut self, stopped: Stopped) {
        self.lists.clear();
        let Ok(live) = self.live() else { return };
        let past = live.debuggee.past().map_or(String::new(), |point| format!(", in the past, at {point}"));
        live.is_going = false;
        let id = |reason: &Reason| {
            if let Reason::Line(id) | Reason::Function(id) | Reason::Data(id, _) = reason { Some(id.0) } else { None }
        };
        let ids: Vec<u64> = stopped.reasons.iter().filter_map(id).collect();
        let (reason, description, exception) =
            stopped.reasons.first().map_or(("pause", "Paused".to_owned(), None), told);
        live.stopped = Some(stopped);
        let mut body = json!({"reason": reason, "description": format!("{description}{past}")});
        if let Some((_, text)) = exception {
            body["text"] = text.into();
        }
        merge(&mut body, json!({"threadId": THREAD, "allThreadsStopped": true}));
        if !ids.is_empty() {
            body["hitBreakpointIds"] = ids.into();
        }
        self.outbox.event("stopped", body);
    }

    pub(super) fn exception_info(&mut self) -> Result<Json, Refusal> {
        let reasons = self.live()?.stopped.iter().flat_map(|stopped| &stopped.reasons);
        let Some((id, description)) = reasons.into_iter().find_map(|reason| told(reason).2) else {
            let text = "the program has not stopped because of a fault or a trigger";
            return Err(RefusalKind::State.told(text));
        };
        Ok(json!({"exceptionId": id, "description": description, "breakMode": "always"}))
    }
}

/// A reason as the protocol names it, in words, and of an exception its kind and what there is to say about it.
fn told(reason: &Reason) -> (&'static str, String, Option<(String, String)>) {
    let plain = |reason: &'static str, words: &str| (reason, format!("Paused {words}").trim_end().to_owned(), None);
    let exception = |words: &str, kind: &str, text: String| {
        ("exception", format!("Paused on {words}"), Some((kind.to_owned(), text)))
    };
    match reason {
        Reason::Entry => plain("entry", "on entry"),
        Reason::Step => plain("step", "after a step"),
        Reason::Pause => plain("pause", ""),
        Reason::Line(_) => plain("breakpoint", "on breakpoint"),
        Reason::Function(_) => plain("function breakpoint", "on function breakpoint"),
        Reason::Data(_, name) => plain("data breakpoint", &format!("because ${name} was set")),
        Reason::Fault(kind, message) => exception(&format!("fault {kind}"), kind, message.clone()),
        Reason::Matched(trigger) => {
            exception("a trigger's match", "triggerMatched", format!("trigger {trigger} has matched"))
        }
        Reason::Evaluated(trigger, ruling) => {
            let text = format!("trigger {trigger} was evaluated: {ruling}");
            exception("a trigger's evaluation", "triggerEvaluated", text)
        }
        Reason::Restart => plain("restart", "where the frame starts again"),
        Reason::Forked => plain("goto", "where the past was changed"),
        Reason::Over => plain("pause", "where the session ended"),
        Reason::Present => plain("pause", "where the past ends: continuing goes beyond it"),
        Reason::Beginning => plain("entry", "at the beginning of the session"),
    }
}
