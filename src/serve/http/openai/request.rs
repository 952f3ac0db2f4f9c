//! A request: which session answers it, what that is told, and what is kept of the answer.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::host::events::Mark;
use crate::host::ledger::Served;
use crate::host::ledger::answers::{Answer, KeptAnswer, RowId};
use crate::host::residents::Beginning;
use crate::host::residents::fork::Forking;
use crate::host::residents::standing::State;
use crate::host::serve_options::FirstMessage;
use crate::host::session::{Deed, SendError, SessionGone, approval};
use crate::host::tasks;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::answers::follow::Follow;
use crate::serve::http::answers::key::Key;
use crate::serve::http::answers::live::{Ending, Hearing, Live, Piece, Start, Started, tell, tell_end, tell_start};
use crate::serve::http::openai::history::{CHAT_LABEL, Since, chat_id, chat_of, choose, fits_chat, message_id};
use crate::serve::http::openai::wire::{Conversation, is_retry};
use crate::serve::http::problem::Problem;
use crate::serve::http::relay::Unplaced;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{A_COLLEAGUE, check_text};
use crate::vm::protocol::CallId;

/// A request that comes again later than this, in milliseconds, is another one, where nothing but its words says which
/// conversation it belongs to.
const RETRIES_WITHIN: i64 = 10 * 60_000;

/// What a client wants.
pub(super) struct Request {
    pub(super) program: Arc<str>,
    pub(super) conversation: Conversation,
    pub(super) place: Place,
    /// All that was said before.
    pub(super) history: Key,
    /// The client's id of the conversation.
    pub(super) chat: Option<String>,
    /// It was sent before.
    pub(super) is_retry: bool,
    /// Nobody waits for the answer.
    pub(super) in_background: bool,
    /// Another process has passed it on.
    pub(super) is_relayed: bool,
}

/// Where the conversation goes on.
pub(super) enum Place {
    /// Where its history says.
    History,
    /// After an answer.
    After(Box<KeptAnswer>),
    /// At a session's end.
    In(Box<Served>),
}

impl Request {
    /// One whose client waits for the answer.
    pub(super) fn of(
        incoming: &Unplaced,
        program: Arc<str>,
        conversation: Conversation,
        (place, history): (Place, Key),
        metadata: Option<&Json>,
    ) -> Request {
        let headers = incoming.headers();
        Request {
            program,
            conversation,
            place,
            history,
            chat: chat_id(headers, metadata),
            is_retry: is_retry(headers),
            in_background: false,
            is_relayed: incoming.is_relayed(),
        }
    }
}

impl Place {
    /// The session that is named, where one is.
    pub(super) fn served(&self) -> Option<&Served> {
        match self {
            Place::History => None,
            Place::After(kept) => Some(&kept.served),
            Place::In(served) => Some(served),
        }
    }
}

/// Who answers.
enum Way {
    /// The same request was sent before.
    Join(Box<KeptAnswer>),
    /// This session, with what it says after a mark; so many of the new messages it has heard already.
    Go(Box<Served>, Mark, usize),
    /// A new session.
    New,
}

impl Way {
    fn session(&self) -> Option<&Arc<str>> {
        match self {
            Way::Join(kept) => Some(&kept.served.session),
            Way::Go(served, ..) => Some(&served.session),
            Way::New => None,
        }
    }
}

/// An answer that is being given. However it goes, whoever listens hears an end.
struct Giving {
    server: Arc<Server>,
    caller: Caller,
    request: Request,
    /// The history that the request leads to.
    key: Key,
    /// By which the same request joins it.
    name: Key,
    live: Live,
}

impl Drop for Giving {
    fn drop(&mut self) {
        self.server.answers.leave(self.name);
        tell_end(&self.live, Err(Problem::internal("the answer was lost; please report this")));
    }
}

impl Server {
    /// The answer to a request.
    pub(super) fn answer(self: &Arc<Self>, caller: &Caller, request: Request) -> Result<Hearing, Problem> {
        self.residents.check_open()?;
        for text in &request.conversation.after {
            check_text(text)?;
        }
        self.limits.message(caller)?;
        let key = request.history.then(&request.conversation.after);
        let name = key.then(request.chat.as_deref());
        let (hearing, live) = self.answers.join(name);
        if let Some(live) = live {
            let giving = Giving { server: self.clone(), caller: caller.clone(), request, key, name, live };
            tasks::spawn(giving.run());
        }
        Ok(hearing)
    }

    /// An answer that was kept, again.
    pub(super) fn again(self: &Arc<Self>, caller: &Caller, kept: KeptAnswer) -> (Hearing, Started) {
        let live = Live::default();
        let (hearing, started) = (Hearing::of(&live), started(&kept.answer, &kept.served));
        let (server, caller) = (self.clone(), caller.clone());
        tasks::spawn(async move {
            let ending = retell(&server, &caller, &kept, &live).await;
            tell_end(&live, ending);
        });
        (hearing, started)
    }
}

/// Tells a kept answer: as it was, or, where it has not come to its end, as it comes.
async fn retell(server: &Arc<Server>, caller: &Caller, kept: &KeptAnswer, live: &Live) -> Result<Ending, Problem> {
    let KeptAnswer { row, answer, served, .. } = kept;
    tell_start(live, Start::Here(started(answer, served)));
    let Some((mark, reply)) = &answer.ended else {
        let follow = Follow::new((server, caller), served, answer.began, Some(live)).in_background();
        return follow.finish(answer.asked, None, row.clone()).await;
    };
    if !reply.is_empty() {
        tell(live, Piece::Speech(reply.clone()));
    }
    let mut follow = Follow::new((server, caller), served, answer.began, None);
    let ending = follow.go_on(answer.asked, Some(*mark)).await?;
    Ok(Ending { mark: *mark, ..ending })
}

/// The labels of a session whose client has this id for it.
fn labels_of(chat: &str) -> String {
    json!({ CHAT_LABEL: chat }).to_string()
}

pub(super) fn started(answer: &Answer, served: &Served) -> Started {
    Started { served: served.clone(), began: answer.began, created: answer.created.0 / 1_000 }
}

impl Giving {
    async fn run(self) {
        let ending = self.give().await;
        // Before anybody hears the end: the same request is another one from now on.
        self.server.answers.leave(self.name);
        tell_end(&self.live, ending);
    }

    async fn give(&self) -> Result<Ending, Problem> {
        let Giving { server, caller, live, .. } = self;
        let lock = server.answers.lock(self.request.history).await;
        let way = self.find().await?;
        if let Some(session) = way.session()
            && !self.request.is_relayed
            && server.residents.other_holder(session).await.is_some()
        {
            tell_start(live, Start::Elsewhere(session.clone()));
            return Err(Problem::conflict(format!("another process has session {session}; ask again")));
        }
        match way {
            Way::Join(kept) => {
                drop(lock);
                retell(server, caller, &kept, live).await
            }
            Way::Go(served, began, n_heard) => {
                let mut follow = self.follow(&served, began);
                let (standing, _) = server.residents.standing(&served).await?;
                if standing.state.is_over() && standing.mark > began {
                    // It has come to its end since; what it has said is still to be told.
                    let ending = follow.go_on(Mark::START, Some(standing.mark)).await?;
                    if !follow.speech.is_empty() {
                        let ended = Some((ending.mark, follow.speech));
                        server.keep_answer(&served, self.key, (began, Mark::START), ended).await?;
                        tell_start(live, Start::Here(self.begun(&served, began)));
                        return Ok(ending);
                    }
                }
                let (asked, is_answered) = self.deliver(&served, &self.request.conversation.after[n_heard..]).await?;
                tell_start(live, Start::Here(self.begun(&served, began)));
                if is_answered {
                    follow.say(None, A_COLLEAGUE);
                    follow.mark = asked;
                }
                let row = server.keep_answer(&served, self.key, (began, asked), None).await?;
                drop(lock);
                self.finish(follow, (asked, is_answered), row).await
            }
            Way::New => {
                // Nobody else knows of it.
                drop(lock);
                self.begin().await
            }
        }
    }

    /// A new session, and what it answers to the first message.
    async fn begin(&self) -> Result<Ending, Problem> {
        let Giving { server, caller, request, key, live, .. } = self;
        let labels = request.chat.as_deref().map_or_else(|| "{}".to_owned(), labels_of);
        let (program, owner) = (request.program.clone(), caller.name.clone());
        let beginning = Beginning { program, owner, labels, ..Beginning::default() };
        let (served, _) = server.residents.begin(beginning).await?;
        tell_start(live, Start::Here(self.begun(&served, Mark::START)));
        let opens = usize::from(server.options.openai.first_message == FirstMessage::Open);
        let texts = request.conversation.after.get(opens..).unwrap_or_default();
        let mut follow = self.follow(&served, Mark::START);
        if texts.is_empty() {
            let row = server.keep_answer(&served, *key, (Mark::START, Mark::START), None).await?;
            return self.finish(follow, (Mark::START, false), row).await;
        }
        let opened = follow.go_on(Mark::START, None).await?;
        if opened.state.is_over() {
            server.keep_answer(&served, *key, (Mark::START, Mark::START), Some((opened.mark, follow.speech))).await?;
            return Ok(opened);
        }
        if request.chat.is_some() {
            // Where it goes another way if its first message becomes another one.
            let ended = Some((opened.mark, follow.speech.clone()));
            server.keep_answer(&served, request.history, (Mark::START, Mark::START), ended).await?;
        }
        let (asked, is_answered) = self.deliver(&served, texts).await?;
        let row = server.keep_answer(&served, *key, (Mark::START, asked), None).await?;
        self.finish(follow, (asked, is_answered), row).await
    }

    fn begun(&self, served: &Served, began: Mark) -> Started {
        Started { served: served.clone(), began, created: self.server.residents.now().0 / 1_000 }
    }

    fn follow<'a>(&'a self, served: &'a Served, began: Mark) -> Follow<'a> {
        let follow = Follow::new((&self.server, &self.caller), served, began, Some(&self.live));
        if self.request.in_background { follow.in_background() } else { follow }
    }

    /// Follows an answer to its end, and keeps how it ended.
    async fn finish(
        &self,
        mut follow: Follow<'_>,
        (asked, is_answered): (Mark, bool),
        row: RowId,
    ) -> Result<Ending, Problem> {
        let ending = if is_answered { follow.end(State::Approval, None) } else { follow.go_on(asked, None).await? };
        self.server.residents.ledger().end_answer(row, ending.mark, follow.speech).await?;
        Ok(ending)
    }

    /// Gives a session what the user says: where it stood then, and whether all that can be answered is that somebody else
    /// is asked.
    async fn deliver(&self, served: &Served, texts: &[String]) -> Result<(Mark, bool), Problem> {
        let Giving { server, caller, .. } = self;
        let text = texts.join("\n\n");
        let (standing, is_live) = server.residents.standing(served).await?;
        if standing.state.is_over() && !is_live {
            return Err(SendError::from(SessionGone).into());
        }
        let asked = standing.asked.as_ref();
        let deed = match asked.filter(|asked| server.may_answer(caller, asked.by_tool)) {
            Some(asked) => Deed::Approve(CallId(asked.call), approval(&text)),
            None => Deed::Message { text: text.into(), id: Some(message_id(self.key)) },
        };
        let waits_for_others = asked.is_some() && matches!(deed, Deed::Message { .. });
        let receipt = server.residents.deliver(served, &caller.name, deed).await?;
        Ok((receipt.mark, waits_for_others))
    }

    /// Who answers.
    async fn find(&self) -> Result<Way, Problem> {
        let Giving { server, request, key, .. } = self;
        let Request { conversation, chat, place, .. } = request;
        let chat = chat.as_deref();
        let is_known = conversation.reply.is_some() || chat.is_some() || !matches!(place, Place::History);
        let is_recent = |kept: &KeptAnswer| server.residents.now().0 - kept.answer.created.0 < RETRIES_WITHIN;
        let is_same = |kept: &KeptAnswer| {
            let is_running = kept.answer.ended.is_none();
            kept.is_last && fits_chat(kept, chat) && (is_running || request.is_retry) && (is_known || is_recent(kept))
        };
        if let Some(kept) = server.residents.ledger().answers(key.bytes()).await?.into_iter().find(is_same) {
            return Ok(Way::Join(Box::new(kept)));
        }
        match place {
            Place::After(kept) => self.go_on(kept, 0).await,
            Place::In(served) => {
                let (standing, _) = server.residents.standing(served).await?;
                Ok(Way::Go(served.clone(), standing.mark, 0))
            }
            Place::History => {
                // Messages that have got no answer may have been heard all the same; nothing that was said tells no
                // conversation from another.
                let most = if is_known { conversation.after.len().saturating_sub(1) } else { 0 };
                for n_heard in (0..=most).rev() {
                    let history = request.history.then(&conversation.after[..n_heard]);
                    let mut kept = server.residents.ledger().answers(history.bytes()).await?;
                    if conversation.before.is_empty() {
                        kept.retain(|kept| chat.is_some() && chat_of(&kept.served).as_deref() == chat);
                    }
                    let reply = conversation.reply.as_deref().filter(|_| n_heard == 0);
                    if let Some(kept) = choose(kept, reply, chat) {
                        return self.go_on(&kept, n_heard).await;
                    }
                }
                Ok(Way::New)
            }
        }
    }

    /// Goes on after an answer: in its session, or, where that has gone on since, in one that leaves it there.
    async fn go_on(&self, kept: &KeptAnswer, n_heard: usize) -> Result<Way, Problem> {
        let Giving { server, caller, request, .. } = self;
        let served = &kept.served;
        let mark = match &kept.answer.ended {
            Some((mark, _)) => *mark,
            // Its user has more to say before it has come to its end.
            None if kept.is_last => {
                let (standing, _) = server.residents.standing(served).await?;
                return Ok(Way::Go(Box::new(served.clone()), standing.mark, n_heard));
            }
            None => {
                let follow = Follow::new((server, caller), served, kept.answer.began, None);
                follow.finish(kept.answer.asked, None, kept.row.clone()).await?.mark
            }
        };
        // Of the first answer nothing was heard, if that is what is asked for again.
        let began = if request.conversation.reply.is_none() && matches!(request.place, Place::History) {
            kept.answer.began
        } else {
            mark
        };
        match server.since(kept, mark).await? {
            Since::Nothing => Ok(Way::Go(Box::new(served.clone()), began, n_heard)),
            Since::More { at, effect } => {
                server.check_branch(&served.session, effect.as_deref())?;
                let forking = Forking {
                    at: at.into(),
                    edits: Box::new(|_, _| Ok(Vec::new())),
                    id: None,
                    program: None,
                    owner: served.owner.clone(),
                    labels: request.chat.as_deref().map_or_else(|| served.labels.clone(), labels_of),
                };
                Ok(Way::Go(Box::new(server.residents.fork(served, forking).await?), began, n_heard))
            }
        }
    }
}
