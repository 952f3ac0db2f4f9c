//! The only clock. Everything that wants to know the time is handed a [`Clock`]; delays go through `tokio::time`,
//! so that a test's paused clock moves both.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::tz::TimeZone;
use playhouse_vm::protocol::Timestamp;
use tokio::time::Instant;

/// What time it is, and where.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// The local time zone.
    fn zone(&self) -> TimeZone;
}

/// The computer's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    // The one place where the computer is asked for the time (DESIGN.md, invariant 8).
    #[allow(clippy::disallowed_methods)]
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_millisecond())
    }

    fn zone(&self) -> TimeZone {
        TimeZone::system()
    }
}

/// A clock that begins at a given time and then moves with `tokio::time`: under tokio's paused clock it stands
/// still until a test advances it.
#[derive(Clone, Debug)]
pub struct TestClock {
    start: Timestamp,
    /// None: it stands still.
    began: Option<Instant>,
    /// Milliseconds that a test has let pass.
    passed: Arc<AtomicI64>,
    zone: TimeZone,
}

impl TestClock {
    /// A clock that shows `start` now, in UTC.
    pub fn new(start: Timestamp) -> TestClock {
        TestClock { start, began: Some(Instant::now()), passed: Arc::default(), zone: TimeZone::UTC }
    }

    /// One that stands still but for what is let pass: what happens at one moment does so however long it takes.
    pub fn still(start: Timestamp) -> TestClock {
        TestClock { began: None, ..TestClock::new(start) }
    }

    /// The same clock in another zone.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> TestClock {
        TestClock { zone, ..self }
    }

    /// Lets so many milliseconds pass at once, for all clones; who sleeps does not hear of it.
    pub fn pass(&self, ms: i64) {
        self.passed.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let ran = self.began.map_or(0, |began| began.elapsed().as_millis());
        let passed = i64::try_from(ran).unwrap_or(i64::MAX);
        Timestamp(self.start.0.saturating_add(passed).saturating_add(self.passed.load(Ordering::Relaxed)))
    }

    fn zone(&self) -> TimeZone {
        self.zone.clone()
    }
}

/// The time as ISO 8601 text with the zone's offset, to the second: `2026-11-21T14:48:05-08:00`; `Z` for UTC.
pub fn iso_text(time: Timestamp, zone: &TimeZone) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(time.0) else {
        return "an impossible time".to_owned();
    };
    if *zone == TimeZone::UTC {
        return instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    }
    instant.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
