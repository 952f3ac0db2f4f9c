//! Triggers of time: `Every …`, `Every day at …` and `After … of silence` (spec `triggers.md`).

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use playhouse_lang::program::{Days, TriggerId, TriggerKind};

use crate::dataflow::date;
use crate::machine::stack::Stack;
use crate::protocol::{TimerId, Timestamp};
use crate::triggers::request::WatcherRequest;

/// The timers of all triggers of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(Vec<TriggerTimer>);

/// A trigger's timer.
#[derive(Clone, Debug)]
struct TriggerTimer {
    timer: TimerId,
    trigger: TriggerId,
    /// When it runs out; none: it does not run (somebody must speak first).
    due: Option<Timestamp>,
    beat: Beat,
}

/// When a timer runs out, and again.
#[derive(Clone, Copy, Debug)]
enum Beat {
    /// So many milliseconds after the session's beginning, and after each beat.
    Period(u64),
    /// So many milliseconds after the last utterance.
    Silence(u64),
    /// At this minute of these days.
    Clock(Days, u16),
}

impl Timers {
    /// Starts those that do not run: the session begins, or its program is another one. Their numbers go on from the
    /// last timer's.
    pub(super) fn start(&mut self, stack: &Stack, mut last_timer: u64, requests: &mut Vec<WatcherRequest>) {
        let (program, now) = (&stack.program, stack.now);
        for &trigger in program.agents.iter().flat_map(|agent| &agent.triggers.timers) {
            if self.0.iter().any(|running| running.trigger == trigger) {
                continue;
            }
            let beat = match program.trigger(trigger).kind {
                TriggerKind::Every { period_ms } => Beat::Period(period_ms.max(1)),
                TriggerKind::Silence { after_ms } => Beat::Silence(after_ms),
                TriggerKind::Clock { days, minute } => Beat::Clock(days, minute),
                TriggerKind::Beginning
                | TriggerKind::Ending
                | TriggerKind::BeforeCall(_)
                | TriggerKind::AfterCall(_)
                | TriggerKind::CallFails(_)
                | TriggerKind::Signal(_)
                | TriggerKind::Command(_)
                | TriggerKind::Condition(_)
                | TriggerKind::Changes(_)
                | TriggerKind::Semantic
                | TriggerKind::Gone(_) => continue,
            };
            last_timer += 1;
            let mut running = TriggerTimer { timer: TimerId(last_timer), trigger, due: None, beat };
            requests.push(running.start(beat.after(now, stack), now));
            self.0.push(running);
        }
    }

    /// Somebody has spoken: silence begins anew.
    pub(super) fn restart_silence(&mut self, now: Timestamp, requests: &mut Vec<WatcherRequest>) {
        for running in &mut self.0 {
            if let Beat::Silence(ms) = running.beat {
                requests.push(running.start(later(now, ms), now));
            }
        }
    }

    /// A timer has run out; answers whose it is, if it is a trigger's that ran.
    pub(super) fn run_out(
        &mut self,
        timer: TimerId,
        stack: &Stack,
        requests: &mut Vec<WatcherRequest>,
    ) -> Option<TriggerId> {
        let now = stack.now;
        let running = self.0.iter_mut().find(|running| running.timer == timer)?;
        let due = running.due?;
        match running.beat {
            Beat::Silence(_) => running.due = None,
            // Missed beats are not made up for.
            Beat::Period(ms) => {
                let period = i64::try_from(ms).unwrap_or(i64::MAX);
                let n_missed = (now.0 - due.0).max(0) / period;
                let next = due.0.saturating_add(period.saturating_mul(n_missed + 1));
                requests.push(running.start(Timestamp(next), now));
            }
            // A timer may run out a little early.
            Beat::Clock(..) => requests.push(running.start(running.beat.after(now.max(due), stack), now)),
        }
        Some(running.trigger)
    }

    /// After a restart the timers go on; one that has run out meanwhile fires once.
    pub(super) fn reopen(&mut self, now: Timestamp, requests: &mut Vec<WatcherRequest>) {
        for running in &mut self.0 {
            if let Some(due) = running.due {
                requests.push(running.start(due.max(now), now));
                running.due = Some(due);
            }
        }
    }

    /// Takes the timers over to other triggers; those of triggers that are gone are forgotten.
    pub(super) fn map(&mut self, trigger: impl Fn(TriggerId) -> Option<TriggerId>) {
        self.0.retain_mut(|running| trigger(running.trigger).map(|id| running.trigger = id).is_some());
    }
}

impl Beat {
    /// When it comes next.
    fn after(self, now: Timestamp, stack: &Stack) -> Timestamp {
        match self {
            Beat::Period(ms) | Beat::Silence(ms) => later(now, ms),
            Beat::Clock(days, minute) => next_time(days, minute, now, &stack.settings.zone),
        }
    }
}

/// The next time that the clock of this zone shows `minute` on one of `days`. A time that the clock skips in spring comes
/// an hour later, one that it shows twice in autumn comes once.
fn next_time(days: Days, minute: u16, now: Timestamp, zone: &str) -> Timestamp {
    const DAYS_AHEAD: i64 = 8;
    let zone = date::zone(zone).unwrap_or(TimeZone::UTC);
    let today = jiff::Timestamp::from_millisecond(now.0).map(|now| now.to_zoned(zone.clone()).date());
    let time = i8::try_from(minute / 60).ok().zip(i8::try_from(minute % 60).ok());
    let next = today.ok().zip(time).and_then(|(today, (hour, minute))| {
        let dates = (0..DAYS_AHEAD).filter_map(|n_days| today.checked_add(n_days.days()).ok());
        let of_week = |date: &Date| u8::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
        let times = dates.filter(|date| days.has(of_week(date))).filter_map(|date| {
            let time = date.at(hour, minute, 0, 0).to_zoned(zone.clone()).ok()?;
            Some(Timestamp(time.timestamp().as_millisecond()))
        });
        times.into_iter().find(|time| *time > now)
    });
    // Outside of the calendar: never.
    next.unwrap_or(Timestamp(i64::MAX))
}

impl TriggerTimer {
    fn start(&mut self, due: Timestamp, now: Timestamp) -> WatcherRequest {
        self.due = Some(due);
        WatcherRequest::StartTimer {
            timer: self.timer,
            after_ms: u64::try_from(due.0.saturating_sub(now.0)).unwrap_or(0),
        }
    }
}

fn later(time: Timestamp, ms: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}
