//! How often (spec `serving.md`, section 6).

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use dashmap::DashMap;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::serve::http::access::caller::{Caller, Role};
use crate::serve::http::problem::Problem;

/// Requests of a token in a minute, whatever they want.
const REQUESTS: u32 = 3_000;
/// Messages of a token, and of a visitor.
const MESSAGES: [u32; 2] = [300, 30];
/// Streams of a token, and of a visitor.
const STREAMS: [usize; 2] = [32, 2];
/// Sessions of a visitor.
pub(crate) const VISITOR_SESSIONS: usize = 20;
/// New visitors, and wrong tokens, of an address in a minute.
const STRANGERS: u32 = 10;

/// What is counted. It is forgotten with the process.
pub(crate) struct Limits {
    requests: PerMinute<Arc<str>>,
    messages: [PerMinute<Arc<str>>; 2],
    visitors: PerMinute<IpAddr>,
    wrong_tokens: PerMinute<IpAddr>,
    streams: Arc<DashMap<Arc<str>, usize>>,
}

/// So many in a minute for each key.
struct PerMinute<K: Clone + Eq + Hash> {
    limit: u32,
    what: &'static str,
    limiter: DefaultKeyedRateLimiter<K>,
}

impl<K: Clone + Eq + Hash> PerMinute<K> {
    fn new(limit: u32, what: &'static str) -> PerMinute<K> {
        let quota = Quota::per_minute(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN));
        PerMinute { limit, what, limiter: RateLimiter::keyed(quota) }
    }

    fn count(&self, key: &K) -> Result<(), Problem> {
        self.limiter.check_key(key).map_err(|until| {
            let seconds = until.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            let PerMinute { limit, what, .. } = self;
            Problem::too_many(format!("the limit is {limit} {what} per minute; try again in {seconds} s"), seconds)
        })
    }
}

/// A stream that is counted as long as this lives.
pub(crate) struct Counted {
    streams: Arc<DashMap<Arc<str>, usize>>,
    name: Arc<str>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.streams.remove_if_mut(&self.name, |_, count| {
            *count -= 1;
            *count == 0
        });
    }
}

impl Limits {
    pub(super) fn new() -> Limits {
        Limits {
            requests: PerMinute::new(REQUESTS, "requests"),
            messages: MESSAGES.map(|n| PerMinute::new(n, "messages")),
            visitors: PerMinute::new(STRANGERS, "new visitors"),
            wrong_tokens: PerMinute::new(STRANGERS, "wrong tokens"),
            streams: Arc::default(),
        }
    }

    /// Somebody asks for something.
    pub(super) fn request(&self, caller: &Caller) -> Result<(), Problem> {
        self.requests.count(&caller.name)
    }

    /// Somebody says something.
    pub(super) fn message(&self, caller: &Caller) -> Result<(), Problem> {
        self.messages[usize::from(caller.role == Role::Visitor)].count(&caller.name)
    }

    /// Somebody wants to be a visitor.
    pub(super) fn visitor(&self, from: IpAddr) -> Result<(), Problem> {
        self.visitors.count(&from)
    }

    /// Somebody has come with a token that is none.
    pub(super) fn wrong_token(&self, from: IpAddr) -> Result<(), Problem> {
        self.wrong_tokens.count(&from)
    }

    /// Somebody listens.
    pub(super) fn stream(&self, caller: &Caller) -> Result<Counted, Problem> {
        let limit = STREAMS[usize::from(caller.role == Role::Visitor)];
        let mut count = self.streams.entry(caller.name.clone()).or_default();
        if *count >= limit {
            return Err(Problem::too_many(format!("{limit} streams are open with this token; close one"), 1));
        }
        *count += 1;
        Ok(Counted { streams: self.streams.clone(), name: caller.name.clone() })
    }

    /// Forgets those of whom nothing is to be counted any more.
    pub(super) fn tidy(&self) {
        self.requests.limiter.retain_recent();
        self.messages.iter().for_each(|messages| messages.limiter.retain_recent());
        self.visitors.limiter.retain_recent();
        self.wrong_tokens.limiter.retain_recent();
    }
}
