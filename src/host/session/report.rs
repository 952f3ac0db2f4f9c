//! What is told of a session's task: how it stands, and how it has ended.

use std::sync::Arc;

use playhouse_vm::protocol::{Outcome, Usage};

use crate::events::Summary;
use crate::session::handle::Ending;
use crate::session::present::Present;
use crate::session::task::Task;
use crate::summary::SkippedWire;

impl Task {
    pub(super) fn present(&self) -> Present {
        let view = Arc::new(self.machine.view());
        let counters = &view.counters;
        let usage = Usage {
            prompt_tokens: counters.prompt_tokens,
            cached_tokens: counters.cached_tokens,
            completion_tokens: counters.completion_tokens,
        };
        let cost = self.world.options.prices.cost(&self.world.llm.id(), &usage);
        let program = self.machine.program().clone();
        let due = self.timers.iter().map(|timer| timer.at).min();
        Present { view, program, mark: self.maker.mark(), time: self.time, cost, due }
    }

    pub(super) fn ending(&mut self, outcome: Option<Outcome>) -> Ending {
        let present = self.present();
        let view = &present.view;
        let word = match (&outcome, &view.wait) {
            (Some(Outcome::Done { .. }), _) => "finished",
            (Some(Outcome::Failed(_)), _) => "failed",
            (None, Some(wait)) if wait.is_for_person() => "waiting",
            (None, _) => "stopped",
        };
        let wall_ms = u64::try_from(self.world.clock.now().0 - self.since.0).unwrap_or(0);
        let cancellations = self.turns.cancellations();
        let summary = Summary {
            cost: present.cost,
            cancels: cancellations.n,
            cancel_us: cancellations.mean_us(),
            cancel_max_us: cancellations.longest_us(),
            skipped: SkippedWire::of(view),
            ..Summary::new(&view.counters, word, wall_ms)
        };
        tracing::info!(session = &*self.id, outcome = word, turns = summary.turns, "the session's task ends");
        let mut left_over = self.world.llm.left_over();
        left_over.extend(self.world.classifier.left_over());
        let Present { view, program, mark, time, cost: _, due } = present;
        Ending { outcome, view, program, mark, time, summary, left_over, due }
    }
}
