//! A run: what its session is told, and where it begins and ends.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::host::events::{Mark, PublicBody, PublicEvent};
use crate::host::ledger::Served;
use crate::host::ledger::answers::{KeptAnswer, RowId};
use crate::host::session::{Deed, Receipt};
use crate::host::travel::history;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::agui::input::{Interrupt, NO_ANSWER, Resume, Wanted};
use crate::serve::http::answers::follow::Follow;
use crate::serve::http::answers::key::Key;
use crate::serve::http::answers::live::Ending;
use crate::serve::http::problem::{Pointed, Problem};
use crate::serve::http::server::Server;

/// A run that somebody wants.
pub(super) struct Run {
    pub(super) server: Arc<Server>,
    pub(super) caller: Caller,
    pub(super) served: Served,
    /// The session begins with it.
    pub(super) is_new: bool,
    pub(super) wanted: Wanted,
}

/// A run that has begun.
pub(super) struct Begun {
    /// What lies after this belongs to it.
    pub(super) began: Mark,
    /// Where the session stood when it was told what the run answers.
    asked: Mark,
    /// Where it is known to end.
    until: Option<Mark>,
    /// Its row, where how it ends is still to be kept.
    row: Option<RowId>,
    /// The messages wait for the first stop.
    is_before_messages: bool,
}

impl Begun {
    /// It was begun before.
    fn again(kept: &KeptAnswer) -> Begun {
        let until = kept.answer.ended.as_ref().map(|(mark, _)| *mark);
        let row = until.is_none().then(|| kept.row.clone());
        Begun { began: kept.answer.began, asked: kept.answer.asked, until, row, is_before_messages: false }
    }
}

impl Run {
    /// By which the same run is known again.
    fn key(&self) -> Key {
        let interrupt = self.wanted.resume.as_ref().map(|resume| resume.interrupt.id()).unwrap_or_default();
        let parts = ["agui", &self.served.session, &self.wanted.run, &self.wanted.last, &interrupt];
        Key::of(parts)
    }

    /// Tells the session what the run is about. The same run is told nothing again.
    pub(super) async fn begin(&self) -> Result<Begun, Problem> {
        let Run { server, served, is_new, wanted, .. } = self;
        let ledger = server.residents.ledger();
        let key = Key::of([&*served.session]);
        let _lock = server.answers.lock(key).await;
        if let Some(kept) = ledger.answers(self.key().bytes()).await?.first() {
            return Ok(Begun::again(kept));
        }
        if !wanted.is_whole {
            let detail =
                "the last message must be from the user, or there must be a `resume`: that is what the program answers";
            return Err(Problem::bad("there is nothing new to answer", vec![Pointed::new("/messages", detail)]));
        }
        let is_before_messages = !wanted.messages.is_empty() && (*is_new || wanted.resume.is_some());
        if let Some(resume) = &wanted.resume {
            self.resume(resume).await?;
            let began = resume.interrupt.mark;
            return self.keep(Begun { began, asked: began, until: None, row: None, is_before_messages }).await;
        }
        if *is_new || wanted.messages.is_empty() {
            let begun = Begun { began: Mark::START, asked: Mark::START, until: None, row: None, is_before_messages };
            return self.keep(begun).await;
        }
        let last = ledger.answer(served.session.clone(), None).await?;
        let (standing, _) = server.residents.standing(served).await?;
        let Receipt { mark: asked, is_repeated } = self.deliver().await?;
        // It tells all that this thread has not heard yet.
        let began = match &last {
            Some(kept) if is_repeated && kept.answer.asked == asked => return Ok(Begun::again(kept)),
            None => Mark::START,
            Some(kept) => kept.answer.ended.as_ref().map_or(asked, |(mark, _)| (*mark).min(asked)),
        };
        // What is asked about a call comes before all messages.
        let until = standing.asked.filter(|_| !is_repeated).map(|_| standing.mark);
        self.keep(Begun { began, asked, until, row: None, is_before_messages }).await
    }

    /// Keeps that it has begun. A run whose messages are still to be given is known by them.
    async fn keep(&self, begun: Begun) -> Result<Begun, Problem> {
        if begun.is_before_messages {
            return Ok(begun);
        }
        let Begun { began, asked, until, .. } = begun;
        let ended = until.map(|mark| (mark, String::new()));
        let row = self.server.keep_answer(&self.served, self.key(), (began, asked), ended).await?;
        Ok(Begun { row: until.is_none().then_some(row), ..begun })
    }

    /// Gives the session what the user says: where it stood at the last message.
    async fn deliver(&self) -> Result<Receipt, Problem> {
        let mut last = Receipt { mark: Mark::START, is_repeated: true };
        for (id, text) in &self.wanted.messages {
            let deed = Deed::Message { text: text.as_str().into(), id: Some(id.as_str().into()) };
            last = self.server.residents.deliver(&self.served, &self.caller.name, deed).await?;
        }
        Ok(last)
    }

    /// Gives the session the answer to its question, if the caller may answer, and nobody has.
    async fn resume(&self, Resume { interrupt, answer }: &Resume) -> Result<(), Problem> {
        let Run { server, caller, served, .. } = self;
        let Interrupt { call, mark } = *interrupt;
        let found = server.residents.past(&served.session, move |timeline| {
            let (mut was_asked, mut is_answered) = (false, false);
            for step in history(&timeline, timeline.end())? {
                #[expect(clippy::wildcard_enum_match_arm, reason = "what else happens is neither question nor answer")]
                match step.event.body {
                    PublicBody::ApprovalAsked { call: asked, .. } if asked == call.0 => {
                        was_asked |= step.event.mark <= Some(mark);
                    }
                    PublicBody::ApprovalGiven { call: given, .. } if given == call.0 => {
                        is_answered |= step.event.mark > Some(mark);
                    }
                    _ => {}
                }
            }
            Ok((was_asked, is_answered))
        });
        let at = |field: &str, detail: &str| vec![Pointed::new(format!("/resume/0/{field}"), detail)];
        let (was_asked, is_answered) = found.await?;
        let (standing, _) = server.residents.standing(served).await?;
        if !was_asked || mark > standing.mark {
            let detail = "find it in `outcome.interrupts` of the last RUN_FINISHED";
            return Err(
                Problem::unprocessable("the session has asked nothing under this id").at(at("interruptId", detail))
            );
        }
        let open = standing.asked.filter(|asked| !is_answered && asked.call == call.0);
        if open.is_none_or(|asked| !server.may_answer(caller, asked.by_tool)) {
            // It hears what comes of somebody else's answer.
            return Ok(());
        }
        let Some(answer) = answer.clone() else {
            return Err(Problem::unprocessable("the question is not answered").at(at("payload", NO_ANSWER)));
        };
        server.residents.deliver(served, &caller.name, Deed::Approve(call, answer)).await?;
        Ok(())
    }

    /// Follows it to where the session stops, and keeps where that is.
    pub(super) async fn go_on(
        self,
        begun: Begun,
        events: UnboundedSender<Arc<PublicEvent>>,
    ) -> Result<Ending, Problem> {
        let Begun { began, mut asked, until, mut row, is_before_messages } = begun;
        let mut follow = Follow::new((&self.server, &self.caller), &self.served, began, None).telling(events);
        if is_before_messages {
            let stopped = follow.go_on(asked, None).await?;
            let (standing, _) = self.server.residents.standing(&self.served).await?;
            if !stopped.state.is_over() {
                asked = self.deliver().await?.mark;
            }
            // What is asked about a call comes before all messages; and they may have been taken long ago.
            let is_end = stopped.state.is_over() || standing.asked.is_some() || asked < stopped.mark;
            let until = is_end.then_some(stopped.mark);
            row = self.keep(Begun { began, asked, until, row, is_before_messages: false }).await?.row;
            if is_end {
                return Ok(stopped);
            }
        }
        match row {
            Some(row) => follow.finish(asked, until, row).await,
            None => follow.go_on(asked, until).await,
        }
    }
}
