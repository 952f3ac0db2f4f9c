//! What one connection knows: the program, its breakpoints, what the client has been shown; and which request is
//! answered how.

mod look;
mod speech;
mod start;
mod steps;
mod values;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;

use crate::host::debug::breakpoint::Exceptions;
use crate::host::debug::control::{DebugNotice, Stopped};
use crate::host::debuggee::{Backward, DebugError, Debuggee, Forward, Launcher};
use crate::host::session::{Notice, Session, SessionHandle, Subscription, Wanted};
use crate::serve::dap::breakpoints::Breakpoints;
use crate::serve::dap::door::{Door, Subject};
use crate::serve::dap::outbox::{Outbox, arguments};
use crate::serve::dap::relay::First;
use crate::serve::dap::sources::{Counting, Texts};
use crate::serve::dap::variables::Lists;
use crate::serve::dap::wire::{InitializeArguments, LaunchArguments, Refusal, RefusalKind, Request, Where};
use crate::serve::show::unjudged::Unjudged;
use crate::serve::show::{lost, merge};

/// The one thread of a session.
const THREAD: i64 = 1;

/// What becomes of a connection after a request.
pub(crate) enum Flow {
    /// It goes on.
    GoOn,
    /// It ends.
    End,
    /// It is handed on.
    Relay(TcpStream, First),
}

/// What happens between requests.
pub(crate) enum Happened {
    /// The program has said something, or waits.
    Said(Notice),
    /// The debugger has something to tell.
    Told(DebugNotice),
}

/// What one connection knows.
pub(crate) struct Adapter {
    pub(crate) outbox: Outbox,
    door: Arc<dyn Door>,
    /// What the client has said of itself; none: nothing yet.
    client: Option<InitializeArguments>,
    /// The message in which it did.
    initialize: (i64, Vec<u8>),
    /// How the program was launched, for another time.
    launch: Option<LaunchArguments>,
    breakpoints: Breakpoints,
    exceptions: Exceptions,
    program: Option<Opened>,
    lists: Lists,
    /// A further message for the client after the answer.
    is_ready: bool,
}

/// A program that is debugged, or is about to be.
struct Opened {
    subject: Subject,
    texts: Texts,
    /// Until the client has set its breakpoints.
    waits: Option<Waits>,
    live: Option<Live>,
    stops_on_entry: bool,
    is_launched: bool,
    /// What the user says first.
    messages: VecDeque<String>,
    /// What is to be said of it at its end, if it is a test.
    verdict: Option<BoxFuture<'static, Result<(), String>>>,
    closing: Option<BoxFuture<'static, ()>>,
}

/// A program that does not run yet, or is not listened to.
enum Waits {
    Launch(Box<Session>, Arc<dyn Launcher>),
    Attach(SessionHandle),
}

/// A program that is debugged.
struct Live {
    debuggee: Debuggee,
    speech: Subscription,
    /// Why it stands still, if it does.
    stopped: Option<Stopped>,
    /// A request has said already that it goes on.
    is_going: bool,
    has_ended: bool,
    wanted: Option<Wanted>,
    /// What a person is asked for the call that waits.
    question: Option<Arc<str>>,
    unjudged: Unjudged,
    /// The utterance that is being said.
    open: Option<u64>,
}

impl Adapter {
    /// Nothing is known yet.
    pub(crate) fn new(door: Arc<dyn Door>, outbox: Outbox) -> Adapter {
        Adapter {
            outbox,
            door,
            client: None,
            initialize: (0, Vec::new()),
            launch: None,
            breakpoints: Breakpoints::default(),
            exceptions: Exceptions::default(),
            program: None,
            lists: Lists::default(),
            is_ready: false,
        }
    }

    /// Answers a request; `bytes` is its message.
    pub(crate) async fn answer(&mut self, request: Request, bytes: Vec<u8>) -> Flow {
        let mut flow = Flow::GoOn;
        let answer = match &*request.command {
            "initialize" => self.initialize(&request, bytes),
            _ if self.client.is_none() => {
                Err(RefusalKind::State.told(format!("{} comes before initialize; begin with that", request.command)))
            }
            "attach" => match self.attach(&request, bytes).await {
                // The other process answers.
                Ok(Some((other, first))) => return Flow::Relay(other, first),
                attached => attached.map(|_| Json::Null),
            },
            "disconnect" => {
                flow = Flow::End;
                self.disconnect(&request).await
            }
            _ => self.perform(&request).await,
        };
        self.outbox.respond(&request, answer);
        if std::mem::take(&mut self.is_ready) {
            self.outbox.event("initialized", Json::Null);
        }
        flow
    }

    async fn perform(&mut self, request: &Request) -> Result<Json, Refusal> {
        match &*request.command {
            "launch" => self.launch(arguments(request)?).await,
            "configurationDone" => self.configuration_done().await,
            "restart" => self.restart(arguments(request)?).await,
            "terminate" => self.terminate().await,
            "setBreakpoints" => self.set_breakpoints(arguments(request)?).await,
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments(request)?).await,
            "setDataBreakpoints" => self.set_data_breakpoints(arguments(request)?).await,
            "dataBreakpointInfo" => self.data_breakpoint_info(arguments(request)?).await,
            "setExceptionBreakpoints" => self.set_exception_breakpoints(arguments(request)?).await,
            "exceptionInfo" => self.exception_info(),
            "breakpointLocations" => self.breakpoint_locations(arguments(request)?),
            "continue" => self.go(Forward::Continue).await,
            "next" => self.go(Forward::Over).await,
            "stepIn" => self.go(Forward::Into).await,
            "stepOut" => self.go(Forward::Out).await,
            "stepBack" => self.back(Backward::Step).await,
            "reverseContinue" => self.back(Backward::Continue).await,
            "pause" => self.pause().await,
            "restartFrame" => self.restart_frame(arguments(request)?).await,
            "threads" => self.threads(),
            "stackTrace" => self.stack_trace(arguments(request)?).await,
            "scopes" => self.scopes(arguments(request)?).await,
            "variables" => self.variables(arguments(request)?).await,
            "source" => self.source(arguments(request)?).await,
            "loadedSources" => self.loaded_sources().await,
            "evaluate" => self.evaluate(arguments(request)?).await,
            "setVariable" => self.set_variable(arguments(request)?).await,
            "setExpression" => self.set_expression(arguments(request)?).await,
            "completions" => self.completions(arguments(request)?).await,
            // A request that was still waiting has been taken away already.
            "cancel" => Ok(Json::Null),
            other => Err(RefusalKind::Unknown.told(format!(
                "this debugger does not know the request {other:?}; its capabilities say what it can do"
            ))),
        }
    }

    /// What happens next, whatever the client does. May be dropped while it waits: nothing is lost.
    pub(crate) async fn happened(&mut self) -> Happened {
        let live = self.program.as_mut().and_then(|opened| opened.live.as_mut()).filter(|live| !live.has_ended);
        let Some(live) = live else { return std::future::pending().await };
        tokio::select! {
            // What was said before the program stopped comes before that it has.
            biased;
            Some(notice) = live.speech.next() => Happened::Said(notice),
            Some(notice) = live.debuggee.next() => Happened::Told(notice),
            else => std::future::pending().await,
        }
    }

    /// Tells the client what has happened.
    pub(crate) async fn tell(&mut self, happened: Happened) {
        match happened {
            Happened::Said(Notice::Event(event)) => self.hear(&event).await,
            Happened::Said(Notice::Missed(n_events)) => self.remark(&format!("{}\n", lost(n_events))),
            Happened::Told(notice) => self.note(notice).await,
        }
    }

    /// The client has gone: what it launched ends, what it attached to goes on.
    pub(crate) async fn leave(&mut self) {
        self.let_go(None).await;
    }

    /// A word of ours, as it is.
    pub(crate) fn remark(&mut self, text: &str) {
        self.output("console", text, None);
    }

    fn output(&mut self, category: &'static str, text: &str, place: Option<Where>) {
        let mut body = json!({"category": category, "output": text});
        if let Some(Where { source, line, columns }) = place {
            merge(&mut body, json!({"source": source, "line": line, "column": columns.column}));
        }
        self.outbox.event("output", body);
    }

    /// Whether breakpoints count.
    fn is_debugged(&self) -> bool {
        !self.launch.as_ref().is_some_and(|launch| launch.no_debug)
    }

    fn counting(&self) -> Counting {
        Counting::of(&self.client.clone().unwrap_or_default())
    }

    /// The program.
    fn opened(&self) -> Result<&Opened, Refusal> {
        self.program.as_ref().ok_or_else(no_program)
    }

    /// The program, while it is debugged.
    fn live(&mut self) -> Result<&mut Live, Refusal> {
        let live = self.program.as_mut().ok_or_else(no_program)?.live.as_mut();
        live.ok_or_else(|| {
            RefusalKind::State.told("the program has not begun; send configurationDone, which lets it begin")
        })
    }
}

fn no_program() -> Refusal {
    RefusalKind::State.told("there is no program yet; send launch or attach first")
}

impl From<DebugError> for Refusal {
    fn from(error: DebugError) -> Refusal {
        RefusalKind::State.told(error)
    }
}
