//! A session's events from a mark on, to the byte (spec `serving.md`, section 4), and what comes of what somebody does.
//!
//! Who attaches is subscribed first; then the records are walked, which gives all events that follow from them with
//! their marks; then comes what the subscription has, from the last mark on. So nothing is lost and nothing comes twice,
//! whatever process tells of it and however the pieces of a reply were joined since.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::events::{Mark, PublicBody, PublicEvent};
use crate::journal::JournalErrorKind;
use crate::journal::record::Record;
use crate::ledger::Served;
use crate::replay::on_replay_thread;
use crate::residents::Residents;
use crate::residents::dispatch::{Dispatch, Visit};
use crate::residents::error::ResidentError;
use crate::residents::standing::State;
use crate::session::{Deed, Interest, Notice, Receipt, SendError, SessionGone, SessionHandle, Subscription};
use crate::tasks;
use crate::travel::{Retelling, whole_history};

/// So many events of a session may wait for a slow reader; then nothing more comes, and the reader comes back with its
/// mark.
const QUEUE: usize = 1024;

/// So often a session that has gone to rest just then is opened for what somebody does.
const ATTEMPTS: usize = 8;

/// After so long a log that could not be read is read again.
const AGAIN: Duration = Duration::from_millis(250);

/// After so long a log is looked at of which nothing is heard, then after twice as long, and so on: what another server
/// tells of it may be lost.
const LOOK: Duration = Duration::from_secs(5);
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// After so long a quiet session is followed afresh: servers tell each other for a time only.
const AFRESH: Duration = Duration::from_secs(300);

/// What somebody hears of a session.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An event that lies after the mark; of a piece of speech the part that does.
    Event(Arc<PublicEvent>),
    /// The mark is not known here: all comes again.
    Reset,
    /// This process is about to end; another one may go on with the session.
    Bye,
}

/// How long somebody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until the program is over.
    Over,
    /// Until it waits for a person, too.
    Waiting,
}

impl Residents {
    /// All events after a mark, then those that come. Nothing more comes once that is over, and also where the reader is
    /// too slow: it comes back with the last mark that it has.
    pub fn listen(self: &Arc<Self>, served: Served, after: Option<Mark>, until: Until) -> mpsc::Receiver<Heard> {
        self.follow(served, after, until, None)
    }

    /// Does something to a session on behalf of somebody; it is opened where it rests. What is done is in the journal
    /// then.
    ///
    /// # Errors
    /// Nothing was done: the session is over, its inbox stays full, what is done does not fit what was done before, or as
    /// for [`Residents::handle`].
    pub async fn deliver(
        self: &Arc<Self>,
        served: &Served,
        by: &Arc<str>,
        deed: Deed,
    ) -> Result<Receipt, ResidentError> {
        Ok(self.act(served, by, deed, false).await?.0)
    }

    /// The same, and what comes of it, until the session waits for a person. Of what was done before, the same comes as
    /// came then.
    ///
    /// # Errors
    /// As for [`Residents::deliver`].
    pub async fn say(
        self: &Arc<Self>,
        served: &Served,
        by: &Arc<str>,
        deed: Deed,
    ) -> Result<(Receipt, mpsc::Receiver<Heard>), ResidentError> {
        let (receipt, subscription) = self.act(served, by, deed, true).await?;
        let live = subscription.filter(|_| !receipt.is_repeated);
        Ok((receipt, self.follow(served.clone(), Some(receipt.mark), Until::Waiting, live)))
    }

    /// `listens`: from before it is done, so that nothing is missed, and no past need be walked.
    async fn act(
        self: &Arc<Self>,
        served: &Served,
        by: &Arc<str>,
        deed: Deed,
        listens: bool,
    ) -> Result<(Receipt, Option<Subscription>), ResidentError> {
        let mut n = 0;
        let goes_on = matches!(deed, Deed::Message { .. } | Deed::Signal(_));
        if goes_on && !self.sessions().get(&served.session).is_some_and(|handle| handle.is_busy()) {
            self.check_room()?;
        }
        if let Some(dispatch) = &self.dispatch {
            // It may be handed in twice, to the server that has the session and then to all.
            let visit = Visit::Do(Box::new(deed.named().record(Some(by.clone()))));
            let receipt = dispatch.hand_in(served.session.clone(), visit, served.held_by.clone()).await?;
            return Ok((receipt, None));
        }
        loop {
            n += 1;
            let handle = self.door(served).await?.on_behalf_of(by.clone());
            let interest = Interest::Everything { capacity: QUEUE };
            let subscription = if listens { handle.subscribe(interest).await.ok() } else { None };
            match handle.deliver(deed.clone()).await {
                // It went to rest just then.
                Err(SendError::Gone(_)) if n < ATTEMPTS => {}
                done => return Ok((done?, subscription)),
            }
        }
    }

    /// The door to a session that is not over.
    async fn door(self: &Arc<Self>, served: &Served) -> Result<SessionHandle, ResidentError> {
        self.check_open()?;
        if self.sessions().get(&served.session).is_none_or(|handle| handle.has_ended()) {
            let (standing, is_live) = self.standing(served).await?;
            if standing.is_over_for_good() && !is_live {
                return Err(SendError::from(SessionGone).into());
            }
        }
        self.handle(&served.session).await
    }

    fn follow(
        self: &Arc<Self>,
        served: Served,
        heard: Option<Mark>,
        until: Until,
        live: Option<Subscription>,
    ) -> mpsc::Receiver<Heard> {
        let (sender, receiver) = mpsc::channel(16);
        let feed = Feed { residents: self.clone(), served, until, sender, heard };
        tasks::spawn(feed.run(live));
        receiver
    }
}

/// One reader's.
struct Feed {
    residents: Arc<Residents>,
    served: Served,
    until: Until,
    sender: mpsc::Sender<Heard>,
    /// The last mark that the reader knows.
    heard: Option<Mark>,
}

/// Why nothing more comes.
enum End {
    /// All is told.
    Done,
    /// The reader has gone, or is too slow.
    Gone,
    /// The session's task has ended, and another may go on with it.
    Task,
}

impl Feed {
    async fn run(mut self, mut live: Option<Subscription>) {
        let mut n_failed = 0;
        loop {
            // In boxes that are there only as long: what opens a session is large, and feeds are many.
            let dispatch = self.residents.dispatch.clone();
            let end = match (&dispatch, live.take()) {
                (Some(dispatch), _) => Box::pin(self.tell_log(&**dispatch)).await,
                (None, Some(subscription)) => Ok(self.tell_live(subscription).await),
                (None, None) => match Box::pin(self.attach()).await {
                    Ok(Ok(subscription)) => Ok(self.tell_live(subscription).await),
                    Ok(Err(end)) => Ok(end),
                    Err(error) => Err(error),
                },
            };
            match end {
                Ok(End::Done | End::Gone) => return,
                // No more sessions are opened: another process may go on with it.
                Ok(End::Task) | Err(_) if self.residents.draining.is_cancelled() => {
                    let _ = self.sender.send(Heard::Bye).await;
                    return;
                }
                Ok(End::Task) => n_failed = 0,
                Err(error) if dispatch.is_some() && n_failed < ATTEMPTS => {
                    tracing::debug!(session = &*self.served.session, %error, "the session is followed again");
                    n_failed += 1;
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => {
                    // Whoever reads comes back and is told.
                    tracing::warn!(session = &*self.served.session, %error, "the session cannot be followed");
                    return;
                }
            }
        }
    }

    /// Tells what follows from the records of a session that some server has, as they come.
    async fn tell_log(&mut self, dispatch: &dyn Dispatch) -> Result<End, ResidentError> {
        let (residents, id) = (self.residents.clone(), self.served.session.clone());
        let draining = &residents.draining;
        // First, so that nothing is missed that comes while it is read. A visit that is under way already was begun for
        // somebody else, who is told of it.
        let stays = self.until == Until::Over || self.served.held_by.is_some();
        let mut added = dispatch.follow(id.clone(), stays).await?;
        let mut past = match self.read_log().await? {
            Ok(past) => past,
            Err(end) => return Ok(end),
        };
        let (since, mut look) = (Instant::now(), LOOK);
        let mut next = past.as_ref().map_or(1, Retelling::next_seq);
        loop {
            let records = tokio::select! {
                biased;
                () = self.sender.closed() => return Ok(End::Gone),
                () = draining.cancelled() => return Ok(End::Task),
                added = timeout(look, added.recv()) => match added {
                    Ok(Ok(records)) => records,
                    // Too much came at once, or what is added is not told any more.
                    Ok(Err(_)) => return Ok(End::Task),
                    Err(_) if since.elapsed() > AFRESH => return Ok(End::Task),
                    // What was told may be lost on its way.
                    Err(_) => {
                        let read = residents.store.read(&id, next).try_collect::<Vec<_>>().await;
                        match read {
                            Err(error) if matches!(error.kind, JournalErrorKind::NoSession(_)) => [].into(),
                            read => read?.into(),
                        }
                    }
                },
            };
            if records.is_empty() {
                // Nobody says anything: the machine that follows costs memory, and is there again when somebody does.
                (past, look) = (None, (look * 2).min(LONGEST_LOOK));
                continue;
            }
            look = LOOK;
            for (index, record) in records.iter().enumerate() {
                let after = records.get(index + 1);
                let events = match &mut past {
                    Some(past) => past.add(record, after)?,
                    None if record.seq == 1 => {
                        let (begun, events) = Retelling::begin(record, after, &residents.program_cache())?;
                        past = Some(begun);
                        events
                    }
                    None => return Ok(End::Task),
                };
                next = record.seq + 1;
                for event in events {
                    if let Some(end) = self.tell(Arc::new(event)).await {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Tells all that follows from the records that there are, of a session that may go on; none: it has not begun.
    async fn read_log(&mut self) -> Result<Result<Option<Retelling>, End>, ResidentError> {
        let (residents, id) = (self.residents.clone(), self.served.session.clone());
        let records: Vec<Record> = match residents.store.read(&id, 1).try_collect().await {
            Err(error) if matches!(error.kind, JournalErrorKind::NoSession(_)) => Vec::new(),
            records => records?,
        };
        let Some(first) = records.first().cloned() else { return Ok(Ok(None)) };
        let (programs, walk) = (residents.program_cache(), residents.walk().await?);
        let (past, events) = on_replay_thread(move || {
            let (mut past, mut events) = Retelling::begin(&first, records.get(1), &programs)?;
            for (index, record) in records.iter().enumerate().skip(1) {
                events.extend(past.add(record, records.get(index + 1))?);
            }
            Ok((past, events))
        })
        .await?;
        drop(walk);
        if self.heard.is_some_and(|mark| mark > past.mark()) {
            self.heard = None;
            if self.sender.send(Heard::Reset).await.is_err() {
                return Ok(Err(End::Gone));
            }
        }
        for event in events {
            if let Some(end) = self.tell(Arc::new(event)).await {
                return Ok(Err(end));
            }
        }
        Ok(if past.is_over() { Err(End::Done) } else { Ok(Some(past)) })
    }

    /// Tells all events after `heard` that have been.
    async fn attach(&mut self) -> Result<Result<Subscription, End>, ResidentError> {
        let id = self.served.session.clone();
        let residents = self.residents.clone();
        let served = residents.find(&id).await?;
        let (standing, is_live) = residents.standing(&served).await?;
        let mut subscription = None;
        let records = match standing.state.is_over() && !is_live {
            true => residents.records(&id).await?,
            false => {
                let handle = residents.handle(&id).await?;
                let Ok(subscribed) = handle.subscribe(Interest::Everything { capacity: QUEUE }).await else {
                    return Ok(Err(End::Task));
                };
                subscription = Some(subscribed);
                match handle.records().await {
                    Ok(records) => records?,
                    Err(_) => return Ok(Err(End::Task)),
                }
            }
        };
        let walk = residents.walk().await?;
        let past = on_replay_thread(move || whole_history(&records)).await?;
        drop(walk);
        let last = past.iter().rev().find_map(|step| step.event.mark).unwrap_or(Mark::START);
        if self.heard.is_some_and(|mark| mark > last) {
            self.heard = None;
            if self.sender.send(Heard::Reset).await.is_err() {
                return Ok(Err(End::Gone));
            }
        }
        let n_steps = past.len();
        for (index, step) in past.into_iter().enumerate() {
            let has_failed = matches!(step.event.body, PublicBody::Failed { .. });
            match self.tell(Arc::new(step.event)).await {
                // A failure after which somebody has taken it up again.
                Some(End::Done) if has_failed && self.until == Until::Over && index + 1 < n_steps => {}
                Some(end) => return Ok(Err(end)),
                None => {}
            }
        }
        self.heard = Some(self.heard.map_or(last, |mark| mark.max(last)));
        Ok(subscription.ok_or(End::Done))
    }

    async fn tell_live(&mut self, mut subscription: Subscription) -> End {
        let residents = self.residents.clone();
        let draining = &residents.draining;
        loop {
            // A reply may come to its end before the process does.
            if draining.is_cancelled() && !self.is_speaking().await {
                return End::Task;
            }
            let notice = tokio::select! {
                biased;
                () = self.sender.closed() => return End::Gone,
                notice = subscription.next() => notice,
                () = draining.cancelled(), if !draining.is_cancelled() => continue,
            };
            match notice {
                None => return End::Task,
                Some(Notice::Missed(_)) => return End::Gone,
                Some(Notice::Event(event)) => {
                    if let Some(end) = self.tell(event).await {
                        return end;
                    }
                }
            }
        }
    }

    async fn is_speaking(&self) -> bool {
        let standing = Box::pin(self.residents.standing(&self.served)).await;
        standing.is_ok_and(|(standing, _)| standing.state == State::Speaking)
    }

    /// Tells an event, if the reader does not know it; of a piece of speech the part that it does not.
    async fn tell(&mut self, mut event: Arc<PublicEvent>) -> Option<End> {
        if let (Some(mark), Some(after)) = (event.mark, self.heard) {
            if mark <= after {
                return None;
            }
            if mark.n == after.n
                && let PublicBody::SaidDelta { text, .. } = &mut Arc::make_mut(&mut event).body
            {
                let begins = mark.bytes.saturating_sub(text.len() as u64);
                let known = usize::try_from(after.bytes.saturating_sub(begins)).unwrap_or(usize::MAX);
                if let Some(rest) = text.get(known..) {
                    *text = rest.to_owned();
                }
            }
        }
        if let Some(mark) = event.mark {
            self.heard = Some(mark);
        }
        let is_over = matches!(event.body, PublicBody::Finished { .. } | PublicBody::Failed { .. });
        let is_waiting = matches!(&event.body, PublicBody::Waiting { on } if on.is_for_person());
        if self.sender.send(Heard::Event(event)).await.is_err() {
            return Some(End::Gone);
        }
        (is_over || (is_waiting && self.until == Until::Waiting)).then_some(End::Done)
    }
}
