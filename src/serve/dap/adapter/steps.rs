//! Breakpoints, steps forwards and backwards, and where the program stops.

use serde_json::Value as Json;

use crate::host::debug::control::{DebugNotice, Stopped};
use crate::host::debug::stepping::Reason;
use crate::host::debuggee::{Backward, Forward};
use crate::host::session::Interest;
use crate::serve::dap::adapter::{Adapter, THREAD, refused};
use crate::serve::dap::breakpoints::{data_id, data_id_anywhere, exceptions};
use crate::serve::dap::outbox::{arguments, body};
use crate::serve::dap::stack::frame_of;
use crate::serve::dap::wire::{
    BreakpointLocation, BreakpointLocationsArguments, BreakpointLocationsBody, BreakpointsBody, ContinueBody,
    ContinuedBody, DataBreakpointInfoArguments, DataBreakpointInfoBody, ExceptionInfoBody, FrameArguments,
    InvalidatedBody, Refusal, RefusalKind, Request, SetBreakpointsArguments, SetDataBreakpointsArguments,
    SetExceptionBreakpointsArguments, SetFunctionBreakpointsArguments, StoppedBody,
};

impl Adapter {
    pub(super) async fn set_breakpoints(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: SetBreakpointsArguments = arguments(request)?;
        let opened = self.program.as_ref().ok_or_else(super::no_program)?;
        let breakpoints = self.breakpoints.set_lines(wanted.source, wanted.breakpoints, &opened.texts);
        self.renew_breakpoints().await;
        body(BreakpointsBody { breakpoints })
    }

    pub(super) async fn set_function_breakpoints(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: SetFunctionBreakpointsArguments = arguments(request)?;
        let opened = self.program.as_ref().ok_or_else(super::no_program)?;
        let breakpoints = self.breakpoints.set_functions(wanted.breakpoints, &opened.subject.program);
        self.renew_breakpoints().await;
        body(BreakpointsBody { breakpoints })
    }

    pub(super) async fn set_data_breakpoints(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: SetDataBreakpointsArguments = arguments(request)?;
        let breakpoints = self.breakpoints.set_data(wanted.breakpoints);
        self.renew_breakpoints().await;
        body(BreakpointsBody { breakpoints })
    }

    async fn renew_breakpoints(&mut self) {
        let is_debugged = !self.launch.as_ref().is_some_and(|launch| launch.no_debug);
        let Some(opened) = self.program.as_mut().filter(|_| is_debugged) else { return };
        let all = self.breakpoints.all(&opened.texts, &opened.subject.program);
        if let Some(live) = &mut opened.live {
            live.debuggee.set_breakpoints(all).await;
        }
    }

    pub(super) async fn set_exception_breakpoints(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: SetExceptionBreakpointsArguments = arguments(request)?;
        self.exceptions = exceptions(&wanted.filters);
        let is_debugged = !self.launch.as_ref().is_some_and(|launch| launch.no_debug);
        let live = self.program.as_mut().filter(|_| is_debugged).and_then(|opened| opened.live.as_mut());
        if let Some(live) = live {
            live.debuggee.set_exceptions(self.exceptions).await;
        }
        Ok(Json::Null)
    }

    pub(super) async fn data_breakpoint_info(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: DataBreakpointInfoArguments = arguments(request)?;
        let none = |why: &str| DataBreakpointInfoBody {
            data_id: None,
            description: format!("{}: {why}", wanted.name),
            access_types: Vec::new(),
        };
        let some = |data_id, description| DataBreakpointInfoBody {
            data_id: Some(data_id),
            description,
            access_types: vec!["write"],
        };
        let Some(reference) = wanted.variables_reference.filter(|reference| *reference > 0) else {
            let name = wanted.name.trim().trim_start_matches('$');
            let is_name = !name.is_empty() && crate::lang::expr::scan_name(name) == name.len();
            return body(match is_name {
                true => some(data_id_anywhere(name), format!("${name}, wherever it is set")),
                false => none("only a whole variable can be watched"),
            });
        };
        let view = self.view().await?;
        body(match self.lists.owner(&view, reference, &wanted.name) {
            Ok((owner, _)) if owner.path.is_empty() => {
                let at = match owner.frame.and_then(|id| view.stack.iter().find(|frame| frame.id == id)) {
                    Some(frame) => format!("of this call of {}", crate::serve::show::frame_name(frame)),
                    None => format!("of {}", owner.agent),
                };
                some(data_id(&owner), format!("${} {at}", owner.name))
            }
            Ok(_) => none("only a whole variable can be watched, and its parts with it"),
            Err(_) => none("it is no variable"),
        })
    }

    pub(super) fn breakpoint_locations(&self, request: &Request) -> Result<Json, Refusal> {
        let wanted: BreakpointLocationsArguments = arguments(request)?;
        let texts = &self.opened()?.texts;
        let counting = texts.counting();
        let file = texts.file_of(&wanted.source).ok_or_else(|| {
            Refusal::new(RefusalKind::Gone, "this is none of the program's files, so that it cannot stop there")
        })?;
        let lines = counting.our_line(wanted.line)..=counting.our_line(wanted.end_line.unwrap_or(wanted.line));
        let found = texts.places.on_lines(file, lines).filter_map(|place| texts.range(place.range));
        let breakpoints = found.map(|place| BreakpointLocation {
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
        });
        body(BreakpointLocationsBody { breakpoints: breakpoints.collect() })
    }

    pub(super) async fn go(&mut self, request: &Request) -> Result<Json, Refusal> {
        let forward = match &*request.command {
            "next" => Forward::Over,
            "stepIn" => Forward::Into,
            "stepOut" => Forward::Out,
            _ => Forward::Continue,
        };
        let live = self.live()?;
        live.debuggee.go(forward).await.map_err(|error| refused(RefusalKind::State, &error))?;
        self.goes();
        match forward {
            Forward::Continue => body(ContinueBody { all_threads_continued: true }),
            Forward::Into | Forward::Over | Forward::Out => Ok(Json::Null),
        }
    }

    pub(super) async fn back(&mut self, request: &Request) -> Result<Json, Refusal> {
        let backward = if request.command == "stepBack" { Backward::Step } else { Backward::Continue };
        let live = self.live()?;
        live.debuggee.back(backward).await.map_err(|error| refused(RefusalKind::State, &error))?;
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
        let live = self.live()?;
        live.debuggee.pause().await.map_err(|error| refused(RefusalKind::State, &error))?;
        Ok(Json::Null)
    }

    pub(super) async fn restart_frame(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: FrameArguments = arguments(request)?;
        let view = self.view().await?;
        let frame = frame_of(&view, wanted.frame_id).ok_or_else(super::look::no_frame)?;
        let live = self.live()?;
        live.debuggee.restart_frame(frame).await.map_err(|error| refused(RefusalKind::State, &error))?;
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
                    self.outbox.event("continued", ContinuedBody { thread_id: THREAD, all_threads_continued: true });
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
            self.outbox.event("invalidated", InvalidatedBody { areas: areas.to_vec() });
        }
    }

    fn stopped(&mut self, stopped: Stopped) {
        self.lists.clear();
        let Ok(live) = self.live() else { return };
        let past = live.debuggee.past().map_or(String::new(), |point| format!(", in the past, at {point}"));
        live.is_going = false;
        let ids = stopped.reasons.iter().filter_map(|reason| match reason {
            Reason::Line(id) | Reason::Function(id) | Reason::Data(id, _) => Some(id.0),
            Reason::Entry
            | Reason::Step
            | Reason::Pause
            | Reason::Fault(..)
            | Reason::Matched(_)
            | Reason::Evaluated(..)
            | Reason::Restart
            | Reason::Forked
            | Reason::Over
            | Reason::Present
            | Reason::Beginning => None,
        });
        let hit_breakpoint_ids = ids.collect();
        let (reason, description, text) = stopped.reasons.first().map_or(("pause", "Paused".to_owned(), None), told);
        live.stopped = Some(stopped);
        self.stopped_event(StoppedBody {
            reason,
            description: format!("{description}{past}"),
            text,
            thread_id: THREAD,
            all_threads_stopped: true,
            hit_breakpoint_ids,
        });
    }

    pub(super) fn exception_info(&mut self) -> Result<Json, Refusal> {
        let reasons = self.live()?.stopped.as_ref().map(|stopped| &stopped.reasons[..]).unwrap_or_default();
        let found = reasons.iter().find_map(|reason| match reason {
            Reason::Fault(kind, message) => Some((kind.clone(), message.clone())),
            Reason::Matched(trigger) => Some(("triggerMatched".to_owned(), format!("trigger {trigger} has matched"))),
            Reason::Evaluated(trigger, ruling) => {
                Some(("triggerEvaluated".to_owned(), format!("trigger {trigger} was evaluated: {ruling}")))
            }
            Reason::Entry
            | Reason::Step
            | Reason::Pause
            | Reason::Line(_)
            | Reason::Function(_)
            | Reason::Data(..)
            | Reason::Restart
            | Reason::Forked
            | Reason::Over
            | Reason::Present
            | Reason::Beginning => None,
        });
        let Some((exception_id, description)) = found else {
            return Err(Refusal::new(
                RefusalKind::State,
                "the program has not stopped because of a fault or a trigger",
            ));
        };
        body(ExceptionInfoBody { exception_id, description, break_mode: "always" })
    }
}

/// A reason as the protocol names it, in words, and what there is to say about it.
fn told(reason: &Reason) -> (&'static str, String, Option<String>) {
    match reason {
        Reason::Entry => ("entry", "Paused on entry".to_owned(), None),
        Reason::Step => ("step", "Paused after a step".to_owned(), None),
        Reason::Pause => ("pause", "Paused".to_owned(), None),
        Reason::Line(_) => ("breakpoint", "Paused on breakpoint".to_owned(), None),
        Reason::Function(_) => ("function breakpoint", "Paused on function breakpoint".to_owned(), None),
        Reason::Data(_, name) => ("data breakpoint", format!("Paused because ${name} was set"), None),
        Reason::Fault(kind, message) => ("exception", format!("Paused on fault {kind}"), Some(message.clone())),
        Reason::Matched(trigger) => {
            ("exception", "Paused on a trigger's match".to_owned(), Some(format!("trigger {trigger} has matched")))
        }
        Reason::Evaluated(trigger, ruling) => {
            let text = format!("trigger {trigger} was evaluated: {ruling}");
            ("exception", "Paused on a trigger's evaluation".to_owned(), Some(text))
        }
        Reason::Restart => ("restart", "Paused where the frame begins anew".to_owned(), None),
        Reason::Forked => ("goto", "Paused where the past was changed".to_owned(), None),
        Reason::Over => ("pause", "Paused where the session ended".to_owned(), None),
        Reason::Present => ("pause", "Paused where the past ends: to go on is to go beyond it".to_owned(), None),
        Reason::Beginning => ("entry", "Paused at the beginning of the session".to_owned(), None),
    }
}
