//! Triggers of time: `Every …` and `After … of silence` (spec `triggers.md`).

use crate::triggers::watch::Beat;
use crate::triggers::watch::TriggerTimer;
use std::sync::Arc;

use playhouse_lang::program::TriggerKind;

use crate::machine::state::Machine;
use crate::protocol::{Effect, Ruling, TimerId, Timestamp, Update};
use crate::triggers::watch::Match;

impl Machine {
    /// Starts the timers of all triggers that do not run: the session begins, or its program is another one.
    pub(crate) fn start_trigger_timers(&mut self) {
        let program = self.program.clone();
        for &trigger in program.agents.iter().flat_map(|agent| &agent.triggers.timers) {
            if self.watcher.timers.iter().any(|running| running.trigger == trigger) {
                continue;
            }
            let beat = match program.trigger(trigger).kind {
                TriggerKind::Every { period_ms } => Beat::Every(period_ms.max(1)),
                TriggerKind::Silence { after_ms } => Beat::Silence(after_ms),
                TriggerKind::Beginning
                | TriggerKind::BeforeCall(_)
                | TriggerKind::AfterCall(_)
                | TriggerKind::CallFails(_)
                | TriggerKind::Condition(_)
                | TriggerKind::Changes(_)
                | TriggerKind::Semantic => continue,
            };
            let timer = self.next_timer();
            self.watcher.timers.push(TriggerTimer { timer, trigger, due: None, beat });
            let (Beat::Every(ms) | Beat::Silence(ms)) = beat;
            self.start_trigger_timer(self.watcher.timers.len() - 1, later(self.now, ms));
        }
    }

    fn start_trigger_timer(&mut self, index: usize, due: Timestamp) {
        let running = &mut self.watcher.timers[index];
        running.due = Some(due);
        let timer = running.timer;
        let after_ms = u64::try_from(due.0 - self.now.0).unwrap_or(0);
        self.emit(Effect::StartTimer { timer, after_ms, is_background: true });
    }

    /// Somebody has spoken: silence begins anew.
    pub(crate) fn restart_silence(&mut self) {
        for index in 0..self.watcher.timers.len() {
            if let Beat::Silence(ms) = self.watcher.timers[index].beat {
                self.start_trigger_timer(index, later(self.now, ms));
            }
        }
    }

    /// A timer has run out; answers whether it is a trigger's.
    pub(crate) fn trigger_timer_fired(&mut self, timer: TimerId) -> bool {
        let Some(index) = self.watcher.timers.iter().position(|running| running.timer == timer) else { return false };
        let TriggerTimer { trigger, due, beat, .. } = self.watcher.timers[index];
        let Some(due) = due else { return true };
        match beat {
            Beat::Every(ms) => {
                // Missed beats are not made up for.
                let period = i64::try_from(ms).unwrap_or(i64::MAX);
                let n_missed = (self.now.0 - due.0).max(0) / period;
                let next = due.0.saturating_add(period.saturating_mul(n_missed + 1));
                self.start_trigger_timer(index, Timestamp(next));
            }
            Beat::Silence(_) => self.watcher.timers[index].due = None,
        }
        if self.frames.is_empty() || self.outcome.is_some() {
            return true;
        }
        let nothing: Arc<[Update]> = [].into();
        let ruling = self.why_not(trigger).unwrap_or(Ruling::Match);
        let fires = ruling == Ruling::Match;
        self.evaluated(trigger, ruling, &nothing);
        if fires {
            self.activate(trigger, &nothing);
            let found = Match::new(self.counters.updates, trigger, None);
            // A reply in progress is not worth throwing away for the clock.
            self.core_mut().watch.later.push(found);
        }
        true
    }

    /// After a restart the timers go on; one that has run out meanwhile fires once.
    pub(crate) fn reopen_trigger_timers(&mut self) {
        for index in 0..self.watcher.timers.len() {
            if let Some(due) = self.watcher.timers[index].due {
                self.start_trigger_timer(index, due.max(self.now));
                self.watcher.timers[index].due = Some(due);
            }
        }
    }
}

fn later(time: Timestamp, ms: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}
