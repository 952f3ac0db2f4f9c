//! How a debugging session begins and ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::net::TcpStream;

use crate::host::debug::stepping::Debugger;
use crate::host::debuggee::Debuggee;
use crate::host::session::{Ending, Interest, Wanted};
use crate::serve::dap::adapter::{Adapter, Live, Opened, THREAD, Waits};
use crate::serve::dap::breakpoints::{FILTERS, exceptions};
use crate::serve::dap::outbox::arguments;
use crate::serve::dap::relay::First;
use crate::serve::dap::sources::Texts;
use crate::serve::dap::wire::{
    AttachArguments, DisconnectArguments, InitializeArguments, LaunchArguments, Refusal, RefusalKind, Request,
    RestartArguments,
};
use crate::serve::dap::{Reached, Subject};
use crate::serve::show::unjudged::Unjudged;
use crate::vm::protocol::Outcome;
use crate::vm::protocol::fault::FaultKind;

/// A task that has let its debugger go tells its outcome at once, if it has one.
const OUTCOME_WITHIN: Duration = Duration::from_millis(500);

impl Adapter {
    pub(super) fn initialize(&mut self, request: &Request, bytes: Vec<u8>) -> Result<Json, Refusal> {
        let client: InitializeArguments = arguments(request)?;
        if client.path_format != "path" {
            let text = format!("pathFormat {:?} is not understood here; send paths", client.path_format);
            return Err(RefusalKind::Arguments.told(text));
        }
        if self.client.is_some() {
            return Err(RefusalKind::State.told("initialize was already answered; send it once"));
        }
        self.client = Some(client);
        self.initialize = (request.seq, bytes);
        // Until the client chooses, what is on by default.
        let default: Vec<String> =
            FILTERS.iter().filter(|(.., default)| *default).map(|(filter, ..)| (*filter).to_owned()).collect();
        self.exceptions = exceptions(&default);
        let filters = FILTERS.map(|(filter, label, description, default)| {
            json!({"filter": filter, "label": label, "description": description, "default": default})
        });
        // Everything that is not named we cannot.
        Ok(json!({
            "supportsConfigurationDoneRequest": true,
            "supportsFunctionBreakpoints": true,
            "supportsConditionalBreakpoints": true,
            "supportsHitConditionalBreakpoints": true,
            "supportsLogPoints": true,
            "supportsDataBreakpoints": true,
            "supportsEvaluateForHovers": true,
            "supportsStepBack": true,
            "supportsSetVariable": true,
            "supportsSetExpression": true,
            "supportsRestartFrame": true,
            "supportsRestartRequest": true,
            "supportsCompletionsRequest": true,
            "completionTriggerCharacters": ["$", "/"],
            "supportsExceptionInfoRequest": true,
            "supportsValueFormattingOptions": false,
            "supportTerminateDebuggee": true,
            "supportsTerminateRequest": true,
            "supportsDelayedStackTraceLoading": true,
            "supportsLoadedSourcesRequest": true,
            "supportsBreakpointLocationsRequest": true,
            "supportsClipboardContext": true,
            "supportsCancelRequest": true,
            "exceptionBreakpointFilters": filters,
        }))
    }

    pub(super) async fn launch(&mut self, arguments: LaunchArguments) -> Result<Json, Refusal> {
        self.must_be_free()?;
        self.open(arguments, false).await?;
        self.is_ready = true;
        Ok(Json::Null)
    }

    fn must_be_free(&self) -> Result<(), Refusal> {
        match &self.program {
            Some(_) => Err(RefusalKind::State.told("a program is already being debugged here; use another connection")),
            None => Ok(()),
        }
    }

    async fn open(&mut self, arguments: LaunchArguments, is_again: bool) -> Result<(), Refusal> {
        let launched = self.door.launch(arguments.clone(), is_again).await;
        let launched = launched.map_err(|text| RefusalKind::Program.told(text))?;
        for remark in &launched.remarks {
            self.remark(&format!("{remark}\n"));
        }
        for warning in &launched.warnings {
            self.output("important", &format!("warning: {warning}\n"), None);
        }
        let waits = Waits::Launch(Box::new(launched.session), launched.launcher);
        self.program = Some(Opened {
            is_launched: true,
            messages: arguments.messages.iter().cloned().collect(),
            verdict: launched.verdict,
            closing: Some(launched.closing),
            ..self.opens(launched.subject, waits, arguments.stop_on_entry)
        });
        self.launch = Some(arguments);
        Ok(())
    }

    /// What is to be relayed, if the program is in another process.
    pub(super) async fn attach(
        &mut self,
        request: &Request,
        bytes: Vec<u8>,
    ) -> Result<Option<(TcpStream, First)>, Refusal> {
        self.must_be_free()?;
        let arguments: AttachArguments = arguments(request)?;
        let reached = self.door.attach(&arguments).map_err(|text| RefusalKind::Program.told(text))?;
        let running = match reached {
            Reached::Here(running) => running,
            Reached::At(address) => {
                let other = TcpStream::connect(&address).await.map_err(|cause| {
                    let text = format!(
                        "{address}: cannot connect: {cause}; is a program running there, as in `playhouse run FILE \
                         --debug-listen {address}`?"
                    );
                    RefusalKind::Program.told(text)
                })?;
                let (initialize_seq, initialize) = std::mem::take(&mut self.initialize);
                return Ok(Some((other, First { initialize, initialize_seq, attach: bytes })));
            }
        };
        self.program = Some(self.opens(running.subject, Waits::Attach(running.handle), arguments.stop_on_entry));
        self.is_ready = true;
        Ok(None)
    }

    /// A program that was not launched from here.
    fn opens(&self, subject: Subject, waits: Waits, stops_on_entry: bool) -> Opened {
        Opened {
            texts: Texts::new(subject.program.clone(), self.counting()),
            subject,
            waits: Some(waits),
            live: None,
            stops_on_entry,
            is_launched: false,
            messages: VecDeque::new(),
            verdict: None,
            closing: None,
        }
    }

    pub(super) async fn configuration_done(&mut self) -> Result<Json, Refusal> {
        let is_debugged = self.is_debugged();
        let opened = self.program.as_mut().ok_or_else(super::no_program)?;
        let Some(waits) = opened.waits.take() else { return Ok(Json::Null) };
        let mut debugger = Debugger::new();
        if is_debugged {
            debugger.set_breakpoints(self.breakpoints.all(&opened.texts, &opened.subject.program));
            debugger.set_exceptions(self.exceptions);
        }
        let program = opened.subject.program.clone();
        let (debuggee, speech) = match waits {
            Waits::Launch(mut session, launcher) => {
                if opened.stops_on_entry && is_debugged {
                    debugger.go_to_entry();
                }
                let speech = session.subscribe(Interest::Speech);
                (Debuggee::launch(*session, debugger, launcher), speech)
            }
            Waits::Attach(handle) => {
                let gone = |_| RefusalKind::Program.told("the program has ended in the meantime");
                let speech = handle.subscribe(Interest::Speech).await.map_err(gone)?;
                let debuggee = Debuggee::attach(handle, debugger).await;
                (debuggee.map_err(|error| RefusalKind::Program.told(error))?, speech)
            }
        };
        let (is_launched, stops_on_entry) = (opened.is_launched, opened.stops_on_entry);
        let name = program.name().to_string();
        opened.live = Some(Live {
            debuggee,
            speech,
            stopped: None,
            is_going: false,
            has_ended: false,
            wanted: None,
            question: None,
            unjudged: Unjudged::default(),
            open: None,
        });
        let start_method = if is_launched { "launch" } else { "attach" };
        self.outbox.event("process", json!({"name": name, "isLocalProcess": true, "startMethod": start_method}));
        self.outbox.event("thread", json!({"reason": "started", "threadId": THREAD}));
        if !is_launched {
            self.catch_up().await;
            if stops_on_entry {
                self.pause().await?;
            }
        }
        Ok(Json::Null)
    }

    /// What a program that runs already has told before anybody listened: whom it waits for.
    async fn catch_up(&mut self) {
        let Ok(live) = self.live() else { return };
        let Ok(view) = live.debuggee.view().await else { return };
        let Some(wanted) = view.wait.as_ref().and_then(Wanted::of) else { return };
        if let Wanted::Approval(call) = wanted {
            live.question = view.question_about(call).cloned();
        }
        self.want(wanted).await;
    }

    pub(super) async fn restart(&mut self, again: RestartArguments) -> Result<Json, Refusal> {
        let Some(launch) = again.arguments.or_else(|| self.launch.clone()) else {
            let text = "only a program that was launched from here can be restarted; this one was attached to";
            return Err(RefusalKind::State.told(text));
        };
        self.let_go(Some(true)).await;
        self.open(launch, true).await?;
        // Its text may be another one.
        if let Some(opened) = &self.program {
            for breakpoint in self.breakpoints.answers(&opened.texts, &opened.subject.program) {
                self.outbox.event("breakpoint", json!({"reason": "changed", "breakpoint": breakpoint}));
            }
        }
        self.configuration_done().await
    }

    pub(super) async fn terminate(&mut self) -> Result<Json, Refusal> {
        let live = self.live()?;
        // Its end is told when it has come.
        live.debuggee.handle().stop().await;
        Ok(Json::Null)
    }

    pub(super) async fn disconnect(&mut self, request: &Request) -> Result<Json, Refusal> {
        let wanted: DisconnectArguments = arguments(request).unwrap_or_default();
        self.let_go(wanted.terminate_debuggee).await;
        Ok(Json::Null)
    }

    /// Ends the program, or lets it go on without a debugger. None: as it began.
    pub(super) async fn let_go(&mut self, terminates: Option<bool>) {
        let Some(opened) = self.program.take() else { return };
        self.lists.clear();
        // One that has not begun never will, and whoever listens to it hears that.
        drop(opened.waits);
        if let Some(live) = opened.live {
            // What was launched here cannot go on without this process.
            if opened.is_launched || terminates == Some(true) {
                let handle = live.debuggee.handle().clone();
                handle.stop().await;
                // It is kept in its journal; how it ended is nobody's matter any more.
                let _ = handle.outcome().await;
            } else if !live.has_ended {
                // Where another debugger has taken over, that one is not to be sent away.
                live.debuggee.detach().await;
            }
        }
        if let Some(closing) = opened.closing {
            closing.await;
        }
    }

    /// The program has ended.
    pub(super) async fn ended(&mut self) {
        let Some(opened) = &mut self.program else { return };
        let Some(live) = opened.live.as_mut().filter(|live| !live.has_ended) else { return };
        live.has_ended = true;
        live.stopped = None;
        let is_plan = opened.subject.is_plan;
        // A task that is over says how it ended; one that is not has another debugger by now.
        let outcome = tokio::time::timeout(OUTCOME_WITHIN, live.debuggee.handle().outcome()).await;
        let Ok(ending) = outcome else {
            self.output("important", "another debugger has attached to the program; this one is detached\n", None);
            self.outbox.event("terminated", Json::Null);
            return;
        };
        let verdict = match opened.verdict.take() {
            Some(verdict) => Some(verdict.await),
            None => None,
        };
        let (exit_code, last) = match (verdict, &ending) {
            // However the program has ended: the test says whether it should.
            (Some(Ok(())), _) => (0, Some(("console", "the test passes\n".to_owned()))),
            (Some(Err(why)), _) => (1, Some(("important", why))),
            (None, Ok(ending)) => match &ending.outcome {
                Some(Outcome::Done { value }) => {
                    let value = (is_plan && !value.is_secret()).then(|| format!("{}\n", value.value().to_text()));
                    (0, value.map(|value| ("stdout", value)))
                }
                Some(Outcome::Failed(fault)) => (if fault.kind == FaultKind::Begin { 2 } else { 1 }, None),
                None => (3, Some(("console", "the session is kept, and can be resumed\n".to_owned()))),
            },
            (None, Err(error)) => (1, Some(("important", format!("error: {error}\n")))),
        };
        if let Some((category, text)) = last {
            self.output(category, &text, None);
        }
        // A program that was stopped may still use what is left.
        let is_told = |ending: &&Arc<Ending>| ending.outcome.is_some();
        let left_over = ending.iter().filter(is_told).flat_map(|ending| &ending.left_over);
        let (mut exit_code, left_over) = (exit_code, left_over.cloned().collect::<Vec<_>>());
        for left in left_over {
            let mark = if left.is_failure { "error" } else { "warning" };
            if left.is_failure {
                exit_code = 1;
            }
            self.output("important", &format!("{mark}: {}\n", left.message), None);
        }
        self.outbox.event("thread", json!({"reason": "exited", "threadId": THREAD}));
        self.outbox.event("exited", json!({"exitCode": exit_code}));
        self.outbox.event("terminated", Json::Null);
    }
}
