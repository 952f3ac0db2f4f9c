//! A session: one task owns one machine, one enum of inputs wakes it, nothing is locked.
//!
//! The order is sacred (spec `execution.md`, "The machine is pure"): the task calls `advance` until the machine is
//! blocked or finished and performs what it says; only then is *one* event recorded and handled. What is recorded is
//! flushed before anything that comes of it leaves the session.

mod act;

mod branch;

mod calls;

mod handle;

mod input;

mod listeners;

mod present;

mod report;

mod still;

mod task;

mod traced;

mod turns;

mod wanted;

mod world;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use playhouse_vm::protocol::{Event, NewProgram, Outcome, Timestamp};
use playhouse_vm::{Begin, Machine};
use tokio::sync::{mpsc, watch};

use crate::classify::questions::Questions;
use crate::debug::control::Attached;
use crate::debug::stepping::Reason;
use crate::events::make::EventMaker;
use crate::journal::record::{Record, RecordBody};
use crate::journal::tail::TailBuffer;
use crate::journal::{Durability, Journal, JournalError, JournalErrorKind};
use crate::program::ProgramText;
use crate::replay::messages::MessageIds;
use crate::replay::start::{begun, program_changed};
use crate::replay::{Follower, Stop, on_replay_thread, replay};
use crate::session::calls::Calls;
use crate::session::task::Task;
use crate::session::traced::Tracing;
use crate::session::turns::{Schemas, Turns};
use crate::tasks;

pub use crate::replay::error::SessionError;
pub use crate::replay::start::Start;
pub use crate::session::handle::{EndResult, Ending, SendError, SessionGone, SessionHandle};
pub use crate::session::input::{Deed, Receipt, Refusal};
pub use crate::session::listeners::{Interest, Notice, Subscription};
pub use crate::session::present::Present;
pub use crate::session::traced::spans_of;
pub use crate::session::wanted::{Wanted, approval};
pub use crate::session::world::{SessionOptions, World};

/// How many inputs may wait. Senders wait when it is full; a session takes them between any two events.
const INBOX: usize = 16;

/// A session that has begun or been read from its journal, and is not running yet.
pub struct Session {
    task: Box<Task>,
    handle: SessionHandle,
}

/// A session that is kept: its journal is held, and its records are read.
pub struct Kept {
    journal: TailBuffer,
    records: Vec<Record>,
}

impl Kept {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read(journal: Box<dyn Journal>) -> Result<Kept, SessionError> {
        let mut journal = TailBuffer::new(journal);
        let records = journal.records(false).await?;
        Ok(Kept { journal, records })
    }

    /// All its records; secrets are in them: show [`Record::shown`] only.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Begins it, if nothing but its beginning is written, and nobody has heard of anything: all that it does is told.
    ///
    /// # Errors
    /// As for [`Kept::take_up`].
    pub fn begin(self, world: World) -> Result<Session, SessionError> {
        let Kept { journal, records } = self;
        let follower = Follower::begin(&records, Some(&world.options.programs))?;
        let Follower { session: id, machine, maker, time, tools: known, .. } = follower;
        let (tools, tracing) = (world.tools.signatures(), Tracing::of_kept(&world.options.traces, &records)?);
        let mut session = Session::new(world, journal, machine, maker, (id, time, false));
        session.task.tracing = tracing;
        session.task.pending.extend((tools != known).then_some(Event::SignaturesChanged { tools }));
        Ok(session)
    }

    /// Goes on with it: replays it and appends `Reopened`, unless it only waits for a person or the program had ended. With a text the session goes on
    /// with that, from the last line that still exists, and `ProgramChanged` is appended in its place; one whose program
    /// has ended stays as it is. Takes as long as the machine needs for all events, on a thread for that; nothing is asked
    /// or called again.
    ///
    /// # Errors
    /// The records hold no session or do not fit this program's version, or the text has an error: then nothing has
    /// happened to the session.
    pub async fn take_up(self, world: World, text: Option<ProgramText>) -> Result<Session, SessionError> {
        let Kept { mut journal, records } = self;
        let tools = world.tools.signatures();
        let traces = world.options.traces.clone();
        let pieces = if traces.sink.is_some() { Some(journal.pieces().await?) } else { None };
        let (world, tools, changed, replayed, tracing) = on_replay_thread(move || {
            let signatures = || tools.iter().map(|tool| tool.signature.clone()).collect();
            let changed =
                text.map(|text| world.options.programs.load(&text, signatures()).map(|program| (text, program)));
            let changed = changed.transpose().map_err(SessionError::Change)?;
            let replayed = replay(&records, Some(world.witnesses()))?;
            let tracing = Tracing::of_kept(&traces, pieces.as_ref().unwrap_or(&records))?;
            Ok((world, tools, changed, replayed, tracing))
        })
        .await?;
        let id = replayed.session.clone();
        let mut session = Session::new(world, journal, replayed.machine, replayed.maker, (id, replayed.time, true));
        let task = &mut session.task;
        (task.n_directives, task.is_blocked, task.tracing) = (replayed.n_directives, true, tracing);
        task.messages = replayed.messages;
        match &replayed.stop {
            // A model that could not be reached may answer now.
            Stop::Finished(Outcome::Failed(fault)) if fault.kind.can_go_on() || changed.is_some() => {}
            Stop::Finished(_) => {
                task.stands = vec![Reason::Over];
                return Ok(session);
            }
            Stop::Blocked(_) => {}
        }
        task.owes_waiting = true;
        if let Some((text, program)) = changed {
            let changed = program_changed(&text, &program, &tools, true);
            let event = Event::ProgramChanged { program: NewProgram(program), tools, reopened: true };
            task.recorded(RecordBody::ProgramChanged(Box::new(changed)), event);
            return Ok(session);
        }
        // One that only waits for a person is as it was: that it was looked at leaves no record.
        if replayed.is_at_work {
            task.pending.push_back(Event::Reopened);
        }
        if tools != replayed.tools {
            task.pending.push_back(Event::SignaturesChanged { tools });
        }
        Ok(session)
    }
}

impl Session {
    /// Begins a new session, whose first record is flushed before anybody hears of it. The journal must be empty.
    ///
    /// # Errors
    /// The journal holds a session already.
    pub fn start(world: World, journal: Box<dyn Journal>, start: Start) -> Result<Session, SessionError> {
        let mut journal = TailBuffer::new(journal);
        if !journal.is_empty() {
            return Err(JournalError::new(journal.location(), JournalErrorKind::Exists).into());
        }
        let time = world.clock.now();
        let tools = world.tools.signatures();
        let traces = world.options.traces.clone();
        let begun = begun(&start, &world.llm.id(), &world.classifier.id(), &tools, traces.parent);
        let tracing = Tracing::of_new(&traces, time, &begun, &start.program);
        journal.append(time, RecordBody::Begun(Box::new(begun)), false);
        let Start { id, program, text: _, settings, entry, arguments, given: _ } = start;
        let machine = Machine::begin(Begin { program, settings, tools, entry, arguments, time });
        let maker = EventMaker::new(id.clone(), machine.program().clone());
        let mut session = Session::new(world, journal, machine, maker, (id, time, false));
        session.task.tracing = tracing;
        Ok(session)
    }

    /// Writes its first record and runs nothing: whoever opens the journal next begins it.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn write_beginning(mut self) -> Result<(), SessionError> {
        self.task.journal.flush(Durability::PowerCut).await?;
        self.task.journal.close().await;
        Ok(())
    }

    /// Goes on with the session a journal holds, with its own text ([`Kept::take_up`]).
    ///
    /// # Errors
    /// The journal cannot be read, holds no session, or does not fit this program's version.
    pub async fn resume(world: World, journal: Box<dyn Journal>) -> Result<Session, SessionError> {
        Kept::read(journal).await?.take_up(world, None).await
    }

    fn new(
        world: World,
        journal: TailBuffer,
        machine: Machine,
        maker: EventMaker,
        (id, time, is_resumed): (Arc<str>, Timestamp, bool),
    ) -> Session {
        let message_bytes = world.options.message_bytes;
        let (inbox_sender, inbox) = mpsc::channel(INBOX);
        let (end_sender, end) = watch::channel(None);
        let mut tool_changes = world.tools.changes();
        // What has changed since the signatures were read is seen at once.
        tool_changes.mark_changed();
        let is_busy = Arc::new(AtomicBool::new(true));
        let task = Box::new(Task {
            id: id.clone(),
            machine,
            maker,
            journal,
            since: world.clock.now(),
            world,
            inbox,
            end: end_sender,
            listeners: Vec::new(),
            turns: Turns::default(),
            schemas: Schemas::default(),
            calls: Calls::default(),
            questions: Questions::default(),
            tool_changes,
            timers: Vec::new(),
            pending: VecDeque::new(),
            time,
            is_resumed,
            owes_waiting: false,
            abandoned: false,
            leaves: false,
            debug: None,
            n_directives: 0,
            is_blocked: false,
            stands: Vec::new(),
            idle_since: None,
            is_busy: is_busy.clone(),
            messages: MessageIds::default(),
            deferred: VecDeque::new(),
            tracing: Tracing::Off,
            sleep: None,
        });
        Session { task, handle: SessionHandle { id, inbox: inbox_sender, end, message_bytes, is_busy, by: None } }
    }

    /// The door to the session.
    pub fn handle(&self) -> SessionHandle {
        self.handle.clone()
    }

    /// Listens from the first event on.
    pub fn subscribe(&mut self, interest: Interest) -> Subscription {
        let (publisher, subscription) = listeners::Publisher::open(interest);
        self.task.listeners.push(publisher);
        subscription
    }

    /// Lets a debugger stop it from its first line on.
    pub(crate) fn attach(&mut self, attached: Attached) {
        if self.task.is_resumed && attached.debugger.is_at_entry() {
            self.task.stands.push(Reason::Entry);
        }
        self.task.debug = Some(Box::new(attached));
    }

    /// Runs the session as a task of its own.
    pub fn spawn(self) -> SessionHandle {
        let handle = self.handle();
        tasks::spawn(self.run());
        handle
    }

    /// Runs the session until it ends ([`SessionHandle::outcome`] tells how).
    pub async fn run(self) {
        self.run_in(()).await;
    }

    /// The same, in a place that is free before anybody hears of the end.
    pub(crate) async fn run_in<T>(self, place: T) {
        let Session { task, handle } = self;
        // Only other people's handles keep a session alive.
        drop(handle);
        task.run(place).await;
    }
}
