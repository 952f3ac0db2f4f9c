//! A node's part in the engine: what it has, whom it tells, and what it hands in.

use std::sync::{Arc, OnceLock, Weak};

use dashmap::DashMap;
use playhouse_vm::protocol::Timestamp;
use secrecy::SecretString;
use tokio::sync::{broadcast, oneshot, watch};

use crate::engine::colleagues::{Colleagues, News};
use crate::engine::ingress::{Ingress, Wait};
use crate::engine::log_state::LogState;
use crate::engine::tokens::KnownTokens;
use crate::engine::wire::{Closing, Delivery, Visited, Watching};
use crate::journal::JournalError;
use crate::journal::record::RecordBody;
use crate::ledger::Served;
use crate::residents::Residents;
use crate::residents::dispatch::{Added, Receipted, Visit};
use crate::residents::error::ResidentError;
use crate::session::{Receipt, SendError, SessionError};
use crate::tasks;
use crate::text::unique;

/// So long a node is told of what is added to a session without asking again, in milliseconds.
const WATCH: i64 = 600_000;

/// So many batches of records may wait for whoever follows a session.
const BATCHES: usize = 256;

/// So many more sessions are followed before it is looked which nobody follows any more.
const MANY: usize = 64;

/// The options of a node.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The engine's door for calls: `http://HOST:8080`.
    pub ingress: String,
    /// The address at which the other nodes reach this one: `http://10.0.0.7:7171`.
    pub node: Arc<str>,
    /// The secret that the nodes share.
    pub secret: SecretString,
    /// How many bytes of records a session may have: [`ROOM`](crate::engine::wire::ROOM) is what the engine's own
    /// limit leaves.
    pub room: u64,
}

/// A node's part in it.
pub struct Engine {
    pub(super) room: u64,
    pub(super) ingress: Ingress,
    pub(super) node: Arc<str>,
    pub(super) colleagues: Colleagues,
    pub(super) residents: OnceLock<Weak<Residents>>,
    /// Who follows which session here.
    pub(super) followers: DashMap<Arc<str>, broadcast::Sender<Added>>,
    /// Who waits for what comes of a delivery.
    pub(super) waiting: DashMap<Arc<str>, oneshot::Sender<Receipted>>,
    /// The visits that this node is about.
    pub(super) visiting: DashMap<Arc<str>, Visiting>,
    /// Visits under way: another attempt of one of them at the same node waits for it.
    pub(super) running: DashMap<Arc<str>, Running>,
    /// The journals that this node has.
    pub(super) owned: DashMap<Arc<str>, Owned>,
    pub(super) tokens: KnownTokens,
}

/// How a visit under way ends.
pub(super) type Running = watch::Receiver<Option<Result<Visited, String>>>;

/// What a visit is about.
pub(super) struct Visiting {
    pub(super) delivery: Arc<str>,
    pub(super) reply_to: Option<Arc<str>>,
}

/// A journal that this node has.
#[derive(Clone, Copy)]
pub(super) struct Owned {
    pub(super) epoch: u64,
    /// The number of the first record that its visit could have added.
    pub(super) first: u64,
}

impl Engine {
    /// Makes a node, after checking that the engine is there.
    ///
    /// # Errors
    /// An address cannot be used, or the engine cannot be reached.
    pub async fn join(options: EngineOptions) -> Result<Arc<Engine>, JournalError> {
        let EngineOptions { ingress: address, node, secret, room } = options;
        let wrong = |why: String| {
            JournalError::unavailable(address.clone(), "use", why, "give an address such as http://127.0.0.1:8080")
        };
        let engine = Engine {
            room,
            ingress: Ingress::at(&address).map_err(wrong)?,
            node: node.trim_end_matches('/').into(),
            colleagues: Colleagues::with(secret).map_err(wrong)?,
            residents: OnceLock::new(),
            followers: DashMap::new(),
            waiting: DashMap::new(),
            visiting: DashMap::new(),
            running: DashMap::new(),
            owned: DashMap::new(),
            tokens: KnownTokens::default(),
        };
        engine.ingress.is_there().await?;
        Ok(Arc::new(engine))
    }

    pub(super) fn residents(&self) -> Option<Arc<Residents>> {
        self.residents.get().and_then(Weak::upgrade)
    }

    pub(super) async fn state_of(&self, session: &str) -> Result<LogState, JournalError> {
        self.ingress.call(("Log", session, "state"), None::<&()>, None, Wait::Briefly).await
    }

    pub(super) async fn close(&self, session: &str, closing: Closing) -> Result<Option<Served>, JournalError> {
        self.owned.remove_if(session, |_, owned| owned.epoch == closing.epoch);
        self.ingress.call(("Log", session, "close"), Some(&closing), None, Wait::Briefly).await
    }

    /// Tells a node something, which may be this one.
    pub(super) fn tell(&self, node: &Arc<str>, news: News) {
        if *node != self.node {
            return self.colleagues.tell(node, news);
        }
        match news {
            News::Added(session, records) => self.added(&session, records),
            News::Receipt(delivery, receipt) => self.receipted(&delivery, receipt),
        }
    }

    pub(super) fn added(&self, session: &str, records: Added) {
        let follower = self.followers.get(session).map(|follower| follower.clone());
        if follower.is_some_and(|follower| follower.send(records).is_err()) {
            self.followers.remove_if(session, |_, follower| follower.receiver_count() == 0);
        }
    }

    pub(super) fn receipted(&self, delivery: &str, receipt: Receipted) {
        if let Some((_, waiting)) = self.waiting.remove(delivery) {
            // Whoever waited may have gone.
            let _ = waiting.send(receipt);
        }
    }

    pub(super) async fn hand_in(
        self: Arc<Self>,
        session: Arc<str>,
        visit: Visit,
        held_by: Option<Arc<str>>,
    ) -> Result<Receipt, ResidentError> {
        if let (Some(node), Visit::Do(body)) = (held_by, &visit)
            && let Some(receipt) = self.do_at(&node, &session, body).await
        {
            return receipt.into();
        }
        let id = unique();
        let (sender, receipt) = oneshot::channel();
        self.waiting.insert(id.clone(), sender);
        let delivery = Delivery { id: id.clone(), visit, reply_to: Some(self.node.clone()) };
        // A task of its own: its connection is of use again, also where nobody waits for the end of the visit.
        let call = tasks::spawn(async move {
            let (deliver, wait) = (("Session", &*session, "deliver"), Wait::AsLongAsItTakes);
            let visited = self.ingress.call(deliver, Some(&delivery), Some(&id), wait).await;
            self.waiting.remove(&id);
            visited.map(|visited: Visited| visited.receipt)
        });
        // What comes first: the node that has the visit says that it is done, or the visit has ended.
        let visited = tokio::select! {
            Ok(receipt) = receipt => receipt,
            visited = call => visited.map_err(|_| SessionError::Vanished)??,
        };
        visited.into()
    }

    /// Has the node do it that has the session at this moment; none: it has it no more.
    async fn do_at(&self, node: &Arc<str>, session: &str, wanted: &RecordBody) -> Option<Receipted> {
        let receipt = match *node == self.node {
            true => self.residents()?.do_here(session, wanted.clone()).await.into(),
            false => self.colleagues.ask(node, session, wanted).await.ok()?,
        };
        (!matches!(receipt, Receipted::Refused(SendError::Gone(_)))).then_some(receipt)
    }

    pub(super) async fn follow(
        self: Arc<Self>,
        session: Arc<str>,
        stays: bool,
    ) -> Result<broadcast::Receiver<Added>, ResidentError> {
        // Those that nobody listens to any more go now and then.
        if self.followers.len() % MANY == MANY - 1 {
            self.followers.retain(|_, follower| follower.receiver_count() > 0);
        }
        let follower = self.followers.entry(session.clone());
        let added = follower.or_insert_with(|| broadcast::channel(BATCHES).0).subscribe();
        if stays {
            let now = self.residents().map_or(Timestamp(0), |residents| residents.now()).0;
            let watching = Watching { node: self.node.clone(), now, until: now.saturating_add(WATCH) };
            let watch = self.ingress.call(("Log", &session, "watch"), Some(&watching), None, Wait::Briefly);
            let _: bool = watch.await?;
        }
        Ok(added)
    }
}
