//! Triggers of time: `Every …` and `After … of silence` (spec `triggers.md`).

use playhouse_lang::program::{Program, TriggerId, TriggerKind};

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
    /// Counted from the last utterance if it is of silence, else from the session's beginning.
    ms: u64,
    is_of_silence: bool,
}

impl Timers {
    /// Starts those that do not run: the session begins, or its program is another one. Their numbers go on from the
    /// last timer's.
    pub(super) fn start(
        &mut self,
        program: &Program,
        now: Timestamp,
        mut last_timer: u64,
        requests: &mut Vec<WatcherRequest>,
    ) {
        for &trigger in program.agents.iter().flat_map(|agent| &agent.triggers.timers) {
            if self.0.iter().any(|running| running.trigger == trigger) {
                continue;
            }
            let (ms, is_of_silence) = match program.trigger(trigger).kind {
                TriggerKind::Every { period_ms } => (period_ms.max(1), false),
                TriggerKind::Silence { after_ms } => (after_ms, true),
                TriggerKind::Beginning
                | TriggerKind::BeforeCall(_)
                | TriggerKind::AfterCall(_)
                | TriggerKind::CallFails(_)
                | TriggerKind::Signal(_)
                | TriggerKind::Condition(_)
                | TriggerKind::Changes(_)
                | TriggerKind::Semantic => continue,
            };
            last_timer += 1;
            let mut running = TriggerTimer { timer: TimerId(last_timer), trigger, due: None, ms, is_of_silence };
            requests.push(running.start(later(now, ms), now));
            self.0.push(running);
        }
    }

    /// Somebody has spoken: silence begins anew.
    pub(super) fn restart_silence(&mut self, now: Timestamp, requests: &mut Vec<WatcherRequest>) {
        for running in self.0.iter_mut().filter(|running| running.is_of_silence) {
            requests.push(running.start(later(now, running.ms), now));
        }
    }

    /// A timer has run out; answers whose it is, if it is a trigger's that ran.
    pub(super) fn run_out(
        &mut self,
        timer: TimerId,
        now: Timestamp,
        requests: &mut Vec<WatcherRequest>,
    ) -> Option<TriggerId> {
        let running = self.0.iter_mut().find(|running| running.timer == timer)?;
        let due = running.due?;
        if running.is_of_silence {
            running.due = None;
        } else {
            // Missed beats are not made up for.
            let period = i64::try_from(running.ms).unwrap_or(i64::MAX);
            let n_missed = (now.0 - due.0).max(0) / period;
            let next = due.0.saturating_add(period.saturating_mul(n_missed + 1));
            requests.push(running.start(Timestamp(next), now));
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

impl TriggerTimer {
    fn start(&mut self, due: Timestamp, now: Timestamp) -> WatcherRequest {
        self.due = Some(due);
        WatcherRequest::StartTimer { timer: self.timer, after_ms: u64::try_from(due.0 - now.0).unwrap_or(0) }
    }
}

fn later(time: Timestamp, ms: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}
