//! What was read of a reply, as work that is left to do.

use std::sync::Arc;

use playhouse_lang::value::Value;

use crate::reply::{Action, Reading, TraceLine};
use crate::turn::history::as_json_line;
use crate::turn::state::{Todo, Turn};

impl Todo {
    /// Whether it ends the turn.
    pub(crate) fn is_yield(&self) -> bool {
        matches!(self, Todo::Act(Action::Wait(_) | Action::Return(_) | Action::End(_)))
    }
}

impl Turn {
    /// The next of what was read.
    pub(crate) fn next_reading(&mut self) -> Option<Reading> {
        self.horizon = self.horizon.saturating_sub(1);
        self.readings.pop_front()
    }

    /// The variables that held lines will set, as far as they had been read when the classifier last answered and
    /// nothing ends the turn before.
    pub(crate) fn sets_ahead(&self) -> Vec<(&Arc<str>, &Value)> {
        let mut sets = Vec::new();
        for reading in self.readings.iter().take(self.horizon) {
            match reading {
                Reading::Line(line) => {
                    for action in &line.actions {
                        match action {
                            Action::Set(members) => sets.extend(members.iter()),
                            Action::Wait(_) | Action::Return(_) | Action::End(_) => return sets,
                            Action::Say(_) | Action::Call { .. } | Action::Think(_) => {}
                        }
                    }
                }
                Reading::Fault(_) => return sets,
                Reading::SayBegan { .. }
                | Reading::SayText(_)
                | Reading::SayEnded
                | Reading::Prose { .. }
                | Reading::Think { .. }
                | Reading::Ignored { .. } => {}
            }
        }
        sets
    }

    /// Whether something was heard of an utterance that is not complete.
    pub(crate) fn has_spoken(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.utterance.text.len() > speech.n_before)
    }

    /// A new line is in hand.
    pub(crate) fn begin_line(&mut self, at: Option<Arc<str>>) {
        self.line_start = self.applied.len();
        self.line_at = at;
        self.line_said = None;
        self.line_source = None;
        self.is_line_over = false;
        self.is_line_applied = false;
        self.n_lines += 1;
    }

    /// What a line wants done, in the order written.
    pub(crate) fn plan(&mut self, line: TraceLine) {
        if !line.streamed_say {
            self.begin_line(line.at.clone());
        }
        self.line_source = Some(line.source.clone());
        let said_at = line.streamed_say && line.at_index == 0;
        let skip = usize::from(line.streamed_say);
        let applied = Todo::Applied { source: as_json_line(&line), end: line.span.end };
        let mut at = line.at.filter(|_| !said_at);
        let mut applied = Some(applied);
        for (index, action) in line.actions.into_iter().enumerate() {
            if index == line.at_index {
                self.todo.extend(at.take().map(Todo::At));
            }
            if index < skip {
                continue;
            }
            // A yield ends the turn, so the line must have been noted before it.
            if matches!(action, Action::Wait(_) | Action::Return(_) | Action::End(_)) {
                self.todo.extend(applied.take());
            }
            self.todo.push_back(Todo::Act(action));
        }
        self.todo.extend(at.map(Todo::At));
        self.todo.extend(applied);
    }
}
