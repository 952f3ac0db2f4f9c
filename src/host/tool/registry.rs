//! The tools of a process by name, and the one way to call them: arguments checked, time limited, panics caught.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt;
use indexmap::IndexMap;
use playhouse_lang::Fields;
use playhouse_lang::value::{Map, Value};
use playhouse_vm::protocol::{CallOutcome, EffectClass, EndedCall, StartCall, ToolSignature};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cassette::take::Take;
use crate::llm::Llm;
use crate::otel::context::TraceParent;
use crate::secrets::Secrets;
use crate::text::panic_text;
use crate::tool::arguments::describe_faults;
use crate::tool::policy::Policies;
use crate::tool::recorded;
use crate::tool::{ArgumentFault, BegunCall, CallContext, Tool, ToolOutcome};

/// News of a running call that may wait to be read; what does not fit is dropped.
const PROGRESS: usize = 8;

/// How often a call that could not be made is made again, if nobody has said otherwise.
const RETRIES: u32 = 2;

/// Why a tool is not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddToolError {
    /// Its name is taken.
    #[error("there are two tools named `{0}`; rename or leave out one of them")]
    Duplicate(Arc<str>),
    /// It panics when it is asked what it is.
    #[error("a tool cannot describe itself because of a bug in it: {0}; leave it out and report the bug")]
    Broken(String),
}

/// The tools there are. Sessions share it; tools may come and go while they run (servers do that).
#[derive(Default)]
pub struct Registry {
    tools: RwLock<Tools>,
    policies: Policies,
    /// The run that keeps what comes of calls, or says it.
    take: OnceLock<Arc<Take>>,
    /// Counts the changes; sessions watch it.
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Tools {
    entries: IndexMap<Arc<str>, Arc<Entry>>,
    /// What is there and is none of them ([`Registry::others`]).
    others: Vec<Arc<str>>,
    /// All signatures: one list for all sessions.
    signatures: OnceLock<Arc<[ToolSignature]>>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    signature: ToolSignature,
    timeout: Duration,
    retries: u32,
    /// Permits of calls that run at a time.
    room: Option<Arc<Semaphore>>,
}

/// A tool as it is kept, with its name; none: the policies deny it.
type Permitted = Option<(Arc<str>, Arc<Entry>)>;

impl Registry {
    /// No tools, and nothing decided about them.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// No tools; `policies` hold for all that are added.
    pub fn with_policies(policies: Policies) -> Registry {
        Registry { policies, ..Registry::default() }
    }

    /// Adds a tool; one that the policies deny is left out.
    ///
    /// # Errors
    /// Its name is taken, or it panics.
    pub fn add(&self, tool: Arc<dyn Tool>) -> Result<(), AddToolError> {
        let Some((name, entry)) = self.entry(tool)? else { return Ok(()) };
        self.change(|tools| match tools.entry(name) {
            indexmap::map::Entry::Occupied(taken) => Err(AddToolError::Duplicate(taken.key().clone())),
            indexmap::map::Entry::Vacant(place) => {
                place.insert(entry);
                Ok(())
            }
        })
    }

    /// Adds a tool in place of the one that has its name, if there is one (a canned tool hides the real one).
    ///
    /// # Errors
    /// It panics.
    pub fn replace(&self, tool: Arc<dyn Tool>) -> Result<(), AddToolError> {
        if let Some((name, entry)) = self.entry(tool)? {
            self.change(|tools| tools.insert(name, entry));
        }
        Ok(())
    }

    /// Keeps tools of these names for skills ([`ToolSignature::is_for_skills`]).
    pub fn keep_for_skills(&self, names: &[&str]) {
        self.change(|tools| {
            for name in names {
                if let Some(entry) = tools.get_mut(*name) {
                    Arc::make_mut(entry).signature.is_for_skills = true;
                }
            }
        });
    }

    /// Puts `tools` into the place of all whose names begin with `prefix`: a server has others now.
    ///
    /// # Errors
    /// The first tool that panics or whose name another tool has, which stays; the rest is added.
    pub fn replace_all(&self, prefix: &str, tools: Vec<Arc<dyn Tool>>) -> Result<(), AddToolError> {
        let entries: Vec<_> = tools.into_iter().filter_map(|tool| self.entry(tool).transpose()).collect();
        self.change(|tools| {
            tools.retain(|name, _| !name.starts_with(prefix));
            let mut added = Ok(());
            for entry in entries {
                added = added.and(match entry {
                    Ok((name, _)) if tools.contains_key(&name) => Err(AddToolError::Duplicate(name)),
                    Ok((name, entry)) => {
                        tools.insert(name, entry);
                        Ok(())
                    }
                    Err(error) => Err(error),
                });
            }
            added
        })
    }

    /// Calls are recorded, or answered as they were: for one session. Tools that only the recording knows are added.
    ///
    /// # Errors
    /// A tool of the same name has come in the meantime.
    pub fn record(&self, take: Arc<Take>) -> Result<(), AddToolError> {
        for tool in &take.cassette().tools {
            if take.is_replay() && self.find(&tool.signature.name).is_none() {
                self.add(Arc::new(recorded::Absent(tool.clone())))?;
            }
        }
        // There is one run.
        let _ = self.take.set(take);
        Ok(())
    }

    /// The tools whose calls are recorded, as they say of themselves.
    pub fn recorded(&self) -> Vec<ToolSignature> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let recorded = tools.entries.values().filter(|entry| entry.tool.is_recorded());
        recorded.filter_map(|entry| guarded(|| entry.tool.signature()).ok()).collect()
    }

    /// The tool named `name`.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.find(name).map(|entry| entry.tool.clone())
    }

    /// All signatures, in the order the tools were added.
    pub fn signatures(&self) -> Arc<[ToolSignature]> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let collect = || tools.entries.values().map(|entry| entry.signature.clone()).collect();
        tools.signatures.get_or_init(collect).clone()
    }

    /// The fields of what the tools give back, as far as they are declared.
    pub fn fields(&self) -> Fields {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let declared = |entry: &Entry| guarded(|| entry.tool.fields()).ok().flatten();
        tools.entries.iter().filter_map(|(name, entry)| Some((name.clone(), declared(entry)?))).collect()
    }

    /// What rules for tools may name besides: tools that the policies deny, and what [`Registry::expect`] was told of.
    pub fn others(&self) -> Vec<Arc<str>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).others.clone()
    }

    /// There may be tools of this name, or with this beginning before a `*`, that are not among these.
    pub fn expect(&self, pattern: Arc<str>) {
        self.tools.write().unwrap_or_else(PoisonError::into_inner).others.push(pattern);
    }

    /// Tells when [`Registry::signatures`] are others.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Tells a tool of a call that began before this process did.
    pub fn replayed(&self, session: &str, call: &StartCall, llm: &dyn Llm) {
        let Some(entry) = self.find(&call.name) else { return };
        let tell = || {
            entry.tool.begun(session, call);
            entry.tool.replayed(call, llm);
        };
        if let Err(cause) = guarded(tell) {
            // What came of the call stands in the journal.
            tracing::error!(tool = &*call.name, "a tool panicked when it was told of an earlier call: {cause}");
        }
    }

    /// Begins a call of a session that has this model; `trace` is the span that it is a part of. Whatever goes wrong with
    /// it is its outcome.
    pub fn begin(
        &self,
        session: &Arc<str>,
        call: &StartCall,
        cancel: CancellationToken,
        llm: Option<Arc<dyn Llm>>,
        trace: Option<TraceParent>,
    ) -> BegunCall {
        let (sender, progress) = mpsc::channel(PROGRESS);
        let context = CallContext {
            session: session.clone(),
            call_id: format!("{session}/{}", call.call.0).into(),
            // Until it begins.
            deadline: Instant::now(),
            cancel,
            progress: sender,
            ask: call.answers.last().map(|(_, answer)| answer.clone()),
            answers: call.answers.clone(),
            llm,
            trace,
            skill: call.skill.as_deref().and_then(|file| Path::new(file).parent()).map(Arc::from),
        };
        let live = || self.begin_live(call, context, progress);
        let Some(take) = self.take.get() else { return live() };
        let is_recorded = self.find(&call.name).is_none_or(|entry| entry.tool.is_recorded());
        recorded::begin(take, call, take.has_tools() && is_recorded, live)
    }

    fn begin_live(&self, call: &StartCall, context: CallContext, progress: mpsc::Receiver<Value>) -> BegunCall {
        let refused = |text: String| async move { failed(text) }.boxed();
        let hidden = hidden(call);
        let Some(entry) = self.find(&call.name) else {
            let outcome = refused(format!("there is no tool named `{}` now", call.name));
            return BegunCall { outcome, progress, hidden };
        };
        // Both run on the session's own task.
        let checked = guarded(|| {
            let arguments = entry.tool.check(call.argument_map())?;
            entry.tool.begun(&context.session, call);
            Ok::<_, Vec<ArgumentFault>>(arguments)
        });
        let checked = checked
            .map_err(|cause| describe_panic(&call.name, &cause))
            .and_then(|checked| checked.map_err(|faults| describe_faults(&entry.signature.signature, &faults)));
        let arguments = match checked {
            Ok(arguments) => arguments,
            // A tool may put what it was sent into what it says of it.
            Err(fault) => return BegunCall { outcome: refused(hidden.mask(&fault).into_owned()), progress, hidden },
        };
        let secrets = hidden.clone();
        let is_secret = call.is_result_secret;
        let outcome = async move { masked(entry.make(context, arguments).await, &secrets, is_secret) };
        BegunCall { outcome: outcome.boxed(), progress, hidden }
    }

    fn find(&self, name: &str) -> Option<Arc<Entry>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).entries.get(name).cloned()
    }

    fn entry(&self, tool: Arc<dyn Tool>) -> Result<Permitted, AddToolError> {
        let told = guarded(|| (tool.signature(), tool.timeout(), tool.concurrency()));
        let (mut signature, timeout, concurrency) = told.map_err(AddToolError::Broken)?;
        let name = signature.signature.name.clone();
        if !self.policies.list.permits(&name) {
            self.expect(name);
            return Ok(None);
        }
        let ruling = self.policies.of(&name);
        ruling.apply(&mut signature);
        let room = ruling.concurrency().or(concurrency);
        let entry = Entry {
            timeout: ruling.timeout().unwrap_or(timeout),
            retries: ruling.retries().unwrap_or(RETRIES),
            room: room.map(|n_calls| Arc::new(Semaphore::new(n_calls.clamp(1, Semaphore::MAX_PERMITS)))),
            tool,
            signature,
        };
        Ok(Some((name, Arc::new(entry))))
    }

    fn change<T>(&self, change: impl FnOnce(&mut IndexMap<Arc<str>, Arc<Entry>>) -> T) -> T {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut tools.entries);
        tools.signatures = OnceLock::new();
        drop(tools);
        self.version.send_modify(|version| *version += 1);
        changed
    }
}

impl Entry {
    /// One call: waits for room, then makes it, again if it could not be made and that is safe.
    async fn make(&self, mut context: CallContext, arguments: Map) -> EndedCall {
        let name = &self.signature.signature.name;
        let _permit = match &self.room {
            Some(room) => tokio::select! {
                permit = room.clone().acquire_owned() => permit.ok(),
                () = context.cancel.cancelled() => return failed(format!("`{name}` was cancelled")),
            },
            None => None,
        };
        // Waiting for others is not the call's own time.
        context.deadline = Instant::now() + self.timeout;
        let deadline = context.deadline;
        let cancel = context.cancel.clone();
        let attempts = async {
            let mut n_tried = 0;
            loop {
                let (context, arguments) = (context.clone(), arguments.clone());
                let call = async { self.tool.call(context, arguments).await };
                let outcome = AssertUnwindSafe(call).catch_unwind().await;
                n_tried += 1;
                match outcome {
                    Ok(ToolOutcome::Unavailable(cause)) if self.may_repeat() && n_tried <= self.retries => {
                        tracing::warn!(tool = &**name, attempt = n_tried, "a call could not be made: {cause}");
                        tokio::time::sleep(pause(n_tried)).await;
                    }
                    Ok(outcome) => return call_outcome(outcome),
                    Err(panic) => return failed(describe_panic(name, &panic_text(&*panic))),
                }
            }
        };
        match tokio::time::timeout_at(deadline, attempts).await {
            Ok(ended) => ended,
            Err(_) => {
                cancel.cancel();
                tracing::warn!(tool = &**name, timeout = ?self.timeout, "a tool gave no answer in time");
                failed(format!("`{name}` gave no answer within {} s", self.timeout.as_secs_f64()))
            }
        }
    }

    fn may_repeat(&self) -> bool {
        matches!(self.signature.effect, EffectClass::ReadOnly | EffectClass::Idempotent)
    }
}

/// The secret values among the arguments of a call. A tool may send back what it was sent, and its outcome is kept in
/// the journal and shown to models.
fn hidden(call: &StartCall) -> Arc<Secrets> {
    let secrets = Secrets::new();
    let secret = call.arguments.iter().filter(|(_, argument)| argument.is_secret());
    secret.for_each(|(_, argument)| secrets.add_value(argument.value()));
    Arc::new(secrets)
}

/// What a tool answers, without the secrets it was sent; all of it secret where its result is to be.
fn masked((outcome, usage): EndedCall, secrets: &Secrets, is_secret: bool) -> EndedCall {
    let outcome = match outcome {
        CallOutcome::Value { value, secret: _ } if is_secret => CallOutcome::Value { value, secret: true },
        CallOutcome::Value { value, secret: false } => {
            CallOutcome::Value { value: secrets.mask_value(value), secret: false }
        }
        CallOutcome::Error(text) => CallOutcome::Error(secrets.mask(&text).into()),
        CallOutcome::Needs { question, takes_no } => {
            CallOutcome::Needs { question: secrets.mask(&question).into(), takes_no }
        }
        whole @ (CallOutcome::Value { secret: true, .. } | CallOutcome::Interrupted) => whole,
    };
    (outcome, usage)
}

/// How long to wait after a failed attempt, the first of which is 1: 0.2 s, 0.4 s, … up to 5 s, and up to a quarter
/// more, so that calls which failed together do not come back together.
pub(crate) fn pause(n_tried: u32) -> Duration {
    let ms = (100_u64 << n_tried.min(6)).min(5_000);
    Duration::from_millis(ms + fastrand::u64(0..=ms / 4))
}

fn call_outcome(outcome: ToolOutcome) -> EndedCall {
    match outcome {
        ToolOutcome::Value(value) => (CallOutcome::Value { value, secret: false }, None),
        ToolOutcome::Secret(value) => (CallOutcome::Value { value, secret: true }, None),
        ToolOutcome::Written { text, usage } => (CallOutcome::Value { value: Value::from(text), secret: false }, usage),
        ToolOutcome::Error(text) | ToolOutcome::Unavailable(text) => failed(text),
        ToolOutcome::Needs(question) => (CallOutcome::Needs { question: question.into(), takes_no: false }, None),
        ToolOutcome::Asks(question) => (CallOutcome::Needs { question: question.into(), takes_no: true }, None),
    }
}

/// A tool's own code; its panic in words. (What state the tool is in after one is its own affair.)
fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_text(&*panic))
}

fn describe_panic(name: &str, cause: &str) -> String {
    tracing::error!(tool = name, "a tool panicked: {cause}");
    format!("`{name}` failed because of a bug in it: {cause}")
}

fn failed(text: String) -> EndedCall {
    (CallOutcome::Error(text.into()), None)
}
