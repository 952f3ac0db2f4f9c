//! The door to a program that is debugged: it runs, stands still, or stands in its past.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use playhouse_lang::plan::PlanLanguage;
use playhouse_lang::program::Program;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::Tracked;
use playhouse_vm::protocol::view::View;
use playhouse_vm::protocol::{FrameId, Place, Progress};
use tokio::sync::{mpsc, oneshot};

use crate::debug::breakpoint::{Breakpoint, Exceptions, expression};
use crate::debug::control::{Attached, Command, DebugNotice, Stopped, notices};
use crate::debug::stepping::{Debugger, Mode, Reason};
use crate::journal::record::Record;
use crate::journal::{Journal, JournalError};
use crate::session::SessionHandle;
use crate::session::{Session, SessionError, SessionGone, World};
use crate::tasks;
use crate::travel::{self, Changes, Edit, Moment, Point, Timeline};

/// Why a debugger cannot do what is wanted.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    /// The program has ended.
    #[error(transparent)]
    Gone(#[from] SessionGone),
    /// Its past cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It makes no sense here, or the text is wrong; whole sentences.
    #[error("{0}")]
    Refused(String),
}

/// What a fork of a session needs: a world of its own, for scripted models begin anew, and a journal.
pub struct Ground {
    /// Model, classifier, tools, clock.
    pub world: World,
    /// An empty journal.
    pub journal: Box<dyn Journal>,
    /// The new session's id.
    pub id: Arc<str>,
}

/// Makes the ground for a fork.
pub trait Launcher: Send + Sync {
    /// A world and a journal for another session with the same program.
    ///
    /// # Errors
    /// In words: there can be none.
    fn ground(&self) -> BoxFuture<'_, Result<Ground, String>>;
}

/// How far a person wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// To the next thing that a breakpoint stands at.
    Continue,
    /// To the next line, in whatever frame.
    Into,
    /// To the next line of this frame, or where it has returned to.
    Over,
    /// To where this frame returns to.
    Out,
}

/// How far a person wants to go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backward {
    /// To the last thing that a breakpoint stands at.
    Continue,
    /// To the line before this one, in this frame or one below.
    Step,
}

/// Where the program is.
#[derive(Debug)]
enum Standing {
    /// It runs, or has ended.
    Runs,
    /// It stands still at the end of its journal.
    Present(Option<Place>),
    /// An earlier point is looked at, while the program itself stands still.
    Past(Box<Moment>),
}

/// A program that is debugged.
pub struct Debuggee {
    handle: SessionHandle,
    notices: mpsc::Receiver<DebugNotice>,
    /// What has happened in the past, and has not been told yet.
    told: VecDeque<DebugNotice>,
    /// What stops a walk through the past.
    debugger: Debugger,
    standing: Standing,
    timeline: Option<Timeline>,
    /// The last point of the program, as far as it has come.
    present: Point,
    launcher: Option<Arc<dyn Launcher>>,
    has_ended: bool,
}

impl Debuggee {
    /// Begins to debug a session from its first line on, and lets it run. The debugger says where it stops first
    /// ([`Debugger::go_to_entry`]).
    pub fn launch(mut session: Session, debugger: Debugger, launcher: Arc<dyn Launcher>) -> Debuggee {
        let (sender, notices) = notices();
        session.attach(Attached { debugger: debugger.clone(), notices: sender });
        Debuggee::new(session.spawn(), notices, debugger, Some(launcher))
    }

    /// Begins to debug a session that runs. Its past cannot be changed from here: others talk with it.
    ///
    /// # Errors
    /// It has ended.
    pub async fn attach(handle: SessionHandle, debugger: Debugger) -> Result<Debuggee, DebugError> {
        let (sender, notices) = notices();
        let attached = Attached { debugger: debugger.clone(), notices: sender };
        handle.debug(Command::Attach(Box::new(attached))).await?;
        Ok(Debuggee::new(handle, notices, debugger, None))
    }

    fn new(
        handle: SessionHandle,
        notices: mpsc::Receiver<DebugNotice>,
        debugger: Debugger,
        launcher: Option<Arc<dyn Launcher>>,
    ) -> Debuggee {
        Debuggee {
            handle,
            notices,
            told: VecDeque::new(),
            debugger,
            standing: Standing::Runs,
            timeline: None,
            present: Point::START,
            launcher,
            has_ended: false,
        }
    }

    /// The session: another one after [`DebugNotice::Forked`].
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// The program.
    ///
    /// # Errors
    /// It has ended.
    pub async fn program(&self) -> Result<Arc<Program>, DebugError> {
        if let Standing::Past(moment) = &self.standing {
            return Ok(moment.machine.program().clone());
        }
        let (sender, answer) = oneshot::channel();
        self.handle.debug(Command::Program(sender)).await?;
        Ok(answer.await.map_err(|_| SessionGone)?)
    }

    /// The next thing to be told; none after [`DebugNotice::Ended`]. May be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Option<DebugNotice> {
        if let Some(notice) = self.told.pop_front() {
            return Some(notice);
        }
        if self.has_ended {
            return None;
        }
        let Some(notice) = self.notices.recv().await else {
            self.has_ended = true;
            self.standing = Standing::Runs;
            return Some(DebugNotice::Ended);
        };
        match &notice {
            DebugNotice::Stopped(stopped) => self.standing = Standing::Present(stopped.place),
            DebugNotice::Continued => self.standing = Standing::Runs,
            DebugNotice::Forked(_) | DebugNotice::Log(_) | DebugNotice::Ended => {}
        }
        Some(notice)
    }

    /// Whether the program stands still, in the present or in the past.
    pub fn stands_still(&self) -> bool {
        !matches!(self.standing, Standing::Runs)
    }

    /// The point in the past that is looked at; none: the program runs, or stands in the present.
    pub fn past(&self) -> Option<Point> {
        match &self.standing {
            Standing::Past(moment) => Some(moment.point),
            Standing::Runs | Standing::Present(_) => None,
        }
    }

    /// Stops at these from now on; going back, too. What the program itself has ended is no error.
    pub async fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>) {
        self.debugger.set_breakpoints(breakpoints.clone());
        // A program that has ended stops nowhere.
        let _ = self.handle.debug(Command::Breakpoints(breakpoints)).await;
    }

    /// Stops at these from now on, too.
    pub async fn set_exceptions(&mut self, exceptions: Exceptions) {
        self.debugger.set_exceptions(exceptions);
        // As above.
        let _ = self.handle.debug(Command::Exceptions(exceptions)).await;
    }

    /// Lets the program stand still as soon as it can: while it waits, at once. In the past it does already.
    ///
    /// # Errors
    /// It has ended.
    pub async fn pause(&self) -> Result<(), DebugError> {
        Ok(self.handle.debug(Command::Pause).await?)
    }

    /// Goes on. In the past, everything happens again as it did, and the program stands still at the latest where it
    /// really does: what comes after that has not happened yet.
    ///
    /// # Errors
    /// The program runs, or has ended; its past cannot be read.
    pub async fn go(&mut self, forward: Forward) -> Result<(), DebugError> {
        let place = self.place()?;
        let mode = match (forward, place) {
            (Forward::Continue, _) | (Forward::Out, None) => Mode::Run,
            (Forward::Into, _) | (Forward::Over, None) => Mode::Into,
            (Forward::Over, Some(place)) => Mode::Over { frame: place.frame, depth: place.depth },
            (Forward::Out, Some(place)) => Mode::Out { depth: place.depth },
        };
        if let (Standing::Past(moment), Some(timeline)) = (&self.standing, &self.timeline) {
            let mut walker = self.debugger.for_past();
            walker.go(mode);
            let mut found = None;
            timeline.walk(moment.point, self.present, &mut |machine, point, progress| {
                let reasons = walker.observe(machine, progress).reasons;
                if reasons.is_empty() {
                    return ControlFlow::Continue(());
                }
                found = Some((point, reasons));
                ControlFlow::Break(())
            })?;
            let (point, reasons) = found.unwrap_or((self.present, vec![Reason::Present]));
            return self.stand_at(point, reasons);
        }
        self.standing = Standing::Runs;
        Ok(self.handle.debug(Command::Go(mode)).await?)
    }

    /// Goes back. Nothing is undone: the program stands where it stood, and its past is looked at.
    ///
    /// # Errors
    /// The program runs, or has ended; its past cannot be read.
    pub async fn back(&mut self, backward: Backward) -> Result<(), DebugError> {
        let place = self.place()?;
        let here = self.remember().await?;
        let Some(timeline) = &self.timeline else { return Ok(()) };
        let mut walker = self.debugger.for_past();
        let mut found = None;
        for (from, to) in timeline.segments(here)? {
            walker.go(Mode::Run);
            timeline.walk(from, to, &mut |machine, point, progress| {
                if point >= here {
                    return ControlFlow::Break(());
                }
                let reasons = match backward {
                    Backward::Continue => walker.observe(machine, progress).reasons,
                    Backward::Step => {
                        let is_step = matches!(progress, Progress::Reached(line) if is_beside(*line, place));
                        if is_step { vec![Reason::Step] } else { Vec::new() }
                    }
                };
                if !reasons.is_empty() {
                    found = Some((point, reasons));
                }
                ControlFlow::Continue(())
            })?;
            if found.is_some() {
                break;
            }
        }
        let found = match found {
            Some(found) => found,
            None => (first_line(timeline, here, |_| true)?.unwrap_or(here), vec![Reason::Beginning]),
        };
        self.stand_at(found.0, found.1)
    }

    /// The program's state, where it stands; while it runs, between two events; its last one when it has ended.
    ///
    /// # Errors
    /// Our own infrastructure failed.
    pub async fn view(&self) -> Result<Arc<View>, Arc<SessionError>> {
        match &self.standing {
            Standing::Past(moment) => Ok(Arc::new(moment.machine.view())),
            Standing::Runs | Standing::Present(_) => self.handle.view().await,
        }
    }

    /// All records up to where the program stands, for [`crate::why`]. Secrets are in them: show
    /// [`Record::shown`] only.
    ///
    /// # Errors
    /// The program has ended, or its journal cannot be read.
    pub async fn records(&self) -> Result<Vec<Record>, DebugError> {
        if let (Standing::Past(moment), Some(timeline)) = (&self.standing, &self.timeline) {
            let n = usize::try_from(moment.point.seq).unwrap_or(usize::MAX);
            return Ok(timeline.records().iter().take(n).cloned().collect());
        }
        Ok(self.handle.records().await??)
    }

    /// The value of an expression in a frame's sight; no frame: in the top one's.
    ///
    /// # Errors
    /// The text is no expression, or has no value here: in words. The program has ended.
    pub async fn evaluate(&self, frame: Option<FrameId>, text: &str) -> Result<Tracked, DebugError> {
        let expr = expression(text).map_err(DebugError::Refused)?;
        let value = match &self.standing {
            Standing::Past(moment) => moment.machine.evaluate(frame, &expr),
            Standing::Runs | Standing::Present(_) => {
                let (sender, answer) = oneshot::channel();
                self.handle.debug(Command::Evaluate(frame, expr, sender)).await?;
                answer.await.map_err(|_| SessionGone)?
            }
        };
        value.map_err(|fault| DebugError::Refused(fault.to_string()))
    }

    /// Sets a variable of a frame to the value of an expression, here and now; no frame: one of the others of the top
    /// frame's agent. See [`Debuggee::set`].
    ///
    /// # Errors
    /// The same, and the text has no value: in words.
    pub async fn assign(&mut self, frame: Option<FrameId>, name: &str, text: &str) -> Result<Tracked, DebugError> {
        self.place()?;
        let value = self.evaluate(frame, text).await?;
        self.set(frame, name, value.value().clone()).await?;
        Ok(value)
    }

    /// Sets a variable of a frame, here and now; no frame: one of the others of the top frame's agent. In the past this
    /// makes a fork, which stands still at the same point ([`DebugNotice::Forked`], then [`DebugNotice::Stopped`]).
    ///
    /// # Errors
    /// The program does not stand still, the frame is not there, the past cannot be changed from here: in words.
    pub async fn set(&mut self, frame: Option<FrameId>, name: &str, value: Value) -> Result<(), DebugError> {
        self.place()?;
        let name = name.trim().trim_start_matches('$');
        let view = self.view().await.map_err(|error| DebugError::Refused(error.to_string()))?;
        let of_frame = frame.map(|id| view.stack.iter().find(|known| known.id == id));
        match of_frame {
            Some(None) => return Err(DebugError::Refused("this frame is no longer on the stack".to_owned())),
            Some(Some(known))
                if known.language.is_some() && !known.variables.iter().any(|kept| *kept.name == *name) =>
            {
                return Err(DebugError::Refused(format!("{} has no variable {name} that could be set", known.name)));
            }
            Some(Some(known)) if known.language == Some(PlanLanguage::Dataflow) => {
                return Err(DebugError::Refused(format!(
                    "what {} has computed follows from its text and its calls and cannot be set; change the plan",
                    known.name
                )));
            }
            Some(Some(_)) | None => {}
        }
        let edit = Edit { frame, name: name.into(), value };
        if self.past().is_some() {
            self.fork(vec![edit], Reason::Forked).await?;
        } else {
            self.handle.edit(frame, edit.name, edit.value).await?;
        }
        Ok(())
    }

    /// Begins a frame anew: a fork from its first line on, which stands still there.
    ///
    /// # Errors
    /// The program does not stand still; the frame has no line; the past cannot be changed from here.
    pub async fn restart_frame(&mut self, frame: FrameId) -> Result<(), DebugError> {
        self.place()?;
        let here = self.remember().await?;
        let Some(timeline) = &self.timeline else { return Ok(()) };
        let Some(point) = first_line(timeline, here, |line| line.frame == frame)? else {
            return Err(DebugError::Refused("this frame has not begun yet, so it cannot start again".to_owned()));
        };
        self.standing = Standing::Past(Box::new(timeline.at(point)?));
        self.fork(Vec::new(), Reason::Restart).await
    }

    /// Lets the program go on without a debugger.
    pub async fn detach(self) {
        // One that has ended needs none.
        let _ = self.handle.debug(Command::Detach).await;
    }

    /// Goes on as another session, with the past up to the point that is looked at, and `edits` there. The session
    /// that was debugged is stopped; it can be resumed.
    async fn fork(&mut self, edits: Vec<Edit>, reason: Reason) -> Result<(), DebugError> {
        let (Standing::Past(moment), Some(timeline)) = (&self.standing, &self.timeline) else {
            return Err(DebugError::Refused("there is no past to continue from".to_owned()));
        };
        let Some(launcher) = self.launcher.clone() else {
            return Err(DebugError::Refused(format!(
                "the past of a program that others talk with cannot be changed; make a fork with `playhouse sessions \
                 fork {} --at {}`, and debug that",
                self.handle.id(),
                moment.point
            )));
        };
        let ground = launcher.ground().await.map_err(DebugError::Refused)?;
        let changes = Changes { edits, records: Vec::new() };
        let fork = travel::fork(timeline, moment.point, &changes, ground.id.clone())?;
        let (sender, notices) = notices();
        let attached = Attached { debugger: self.debugger.clone(), notices: sender };
        let session = Session::branch(ground.world, ground.journal, fork, attached, reason).await?;
        self.handle.stop().await;
        self.told.push_back(DebugNotice::Forked(ground.id));
        self.handle = session.spawn();
        self.notices = notices;
        self.standing = Standing::Runs;
        self.timeline = None;
        Ok(())
    }

    /// Where the program stands.
    fn place(&self) -> Result<Option<Place>, DebugError> {
        match &self.standing {
            Standing::Runs if self.has_ended => Err(DebugError::Gone(SessionGone)),
            Standing::Runs => Err(DebugError::Refused("the program runs; pause it first".to_owned())),
            Standing::Present(place) => Ok(*place),
            Standing::Past(moment) => Ok(moment.machine.place()),
        }
    }

    /// Brings the timeline up to date and gives the point at which the program stands.
    async fn remember(&mut self) -> Result<Point, DebugError> {
        if let Standing::Past(moment) = &self.standing {
            return Ok(moment.point);
        }
        let (sender, answer) = oneshot::channel();
        self.handle.debug(Command::Past(sender)).await?;
        let (records, directive) = answer.await.map_err(|_| SessionGone)??;
        let old = self.timeline.take();
        // As long as the machine needs for all that is new.
        let renewed = tasks::on_thread(move || match old {
            Some(mut timeline) => {
                let renewed = timeline.renew(records);
                (Some(timeline), renewed)
            }
            None => match Timeline::new(records) {
                Ok(timeline) => (Some(timeline), Ok(())),
                Err(error) => (None, Err(error)),
            },
        });
        let (timeline, renewed) = renewed.await.map_err(|_| SessionError::Vanished)?;
        let end = timeline.as_ref().map_or(Point::START, Timeline::end);
        self.timeline = timeline;
        renewed?;
        self.present = directive.map_or(end, |directive| Point::new(end.seq, directive));
        Ok(self.present)
    }

    /// Stands still at a point of the past, or in the present if it is that.
    fn stand_at(&mut self, point: Point, reasons: Vec<Reason>) -> Result<(), DebugError> {
        let Some(timeline) = &self.timeline else { return Ok(()) };
        let moment = timeline.at(point)?;
        let place = moment.machine.place();
        let is_past = point < self.present;
        self.standing = if is_past { Standing::Past(Box::new(moment)) } else { Standing::Present(place) };
        self.told.push_back(DebugNotice::Stopped(Stopped { reasons, place, is_past }));
        Ok(())
    }
}

/// Whether a line is where a step back from `place` ends: in its frame, in one below, or in one whose place it took.
fn is_beside(line: Place, place: Option<Place>) -> bool {
    place.is_none_or(|place| line.frame == place.frame || line.depth <= place.depth)
}

/// The first such line that the session reached, before a point.
fn first_line(
    timeline: &Timeline,
    before: Point,
    is_it: impl Fn(Place) -> bool,
) -> Result<Option<Point>, SessionError> {
    let mut found = None;
    timeline.walk(timeline.start(), before, &mut |_, point, progress| {
        if !matches!(progress, Progress::Reached(line) if is_it(*line)) {
            return ControlFlow::Continue(());
        }
        found = Some(point);
        ControlFlow::Break(())
    })?;
    Ok(found)
}
