//! How often (spec `serving.md`, section 6).

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    requests: DefaultKeyedRateLimiter<Arc<str>>,
    messages: [DefaultKeyedRateLimiter<Arc<str>>; 2],
    visitors: DefaultKeyedRateLimiter<IpAddr>,
    wrong_tokens: DefaultKeyedRateLimiter<IpAddr>,
    streams: Arc<DashMap<Arc<str>, Arc<AtomicUsize>>>,
}

/// A stream that is counted as long as this lives.
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn per_minute(n: u32) -> Quota {
    Quota::per_minute(NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN))
}

impl Limits {
    pub(super) fn new() -> Limits {
        Limits {
            requests: RateLimiter::keyed(per_minute(REQUESTS)),
            messages: MESSAGES.map(|n| RateLimiter::keyed(per_minute(n))),
            visitors: RateLimiter::keyed(per_minute(STRANGERS)),
            wrong_tokens: RateLimiter::keyed(per_minute(STRANGERS)),
            streams: Arc::default(),
        }
    }

    /// Somebody asks for something.
    pub(super) fn request(&self, caller: &Caller) -> Result<(), Problem> {
        let refused = self.requests.check_key(&caller.name).err();
        refused.map_or(Ok(()), |until| {
            Err(too_often("requests", REQUESTS, until.wait_time_from(DefaultClock::default().now())))
        })
    }

    /// Somebody says something.
    pub(super) fn message(&self, caller: &Caller) -> Result<(), Problem> {
        let index = usize::from(caller.role == Role::Visitor);
        let refused = self.messages[index].check_key(&caller.name).err();
        refused.map_or(Ok(()), |until| {
            Err(too_often("messages", MESSAGES[index], until.wait_time_from(DefaultClock::default().now())))
        })
    }

    /// Somebody wants to be a visitor.
    pub(super) fn visitor(&self, from: IpAddr) -> Result<(), Problem> {
        let refused = self.visitors.check_key(&from).err();
        refused.map_or(Ok(()), |until| {
            Err(too_often("new visitors", STRANGERS, until.wait_time_from(DefaultClock::default().now())))
        })
    }

    /// Somebody has come with a token that is none.
    pub(super) fn wrong_token(&self, from: IpAddr) -> Result<(), Problem> {
        let refused = self.wrong_tokens.check_key(&from).err();
        refused.map_or(Ok(()), |until| {
            Err(too_often("wrong tokens", STRANGERS, until.wait_time_from(DefaultClock::default().now())))
        })
    }

    /// Somebody listens.
    pub(super) fn stream(&self, caller: &Caller) -> Result<Counted, Problem> {
        let limit = STREAMS[usize::from(caller.role == Role::Visitor)];
        let count = self.streams.entry(caller.name.clone()).or_default().clone();
        let counted = Counted(count.clone());
        match count.fetch_add(1, Ordering::Relaxed) < limit {
            true => Ok(counted),
            // `counted` takes it back.
            false => Err(Problem::too_many(format!("{limit} streams are open with this token; close one"), 1)),
        }
    }

    /// Forgets those of whom nothing is to be counted any more.
    pub(super) fn tidy(&self) {
        self.requests.retain_recent();
        self.messages.iter().for_each(|messages| messages.retain_recent());
        self.visitors.retain_recent();
        self.wrong_tokens.retain_recent();
        self.streams.retain(|_, count| count.load(Ordering::Relaxed) > 0);
    }
}

fn too_often(what: &str, limit: u32, wait: std::time::Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    Problem::too_many(format!("{limit} {what} are taken in a minute; try again in {seconds} s"), seconds)
}
