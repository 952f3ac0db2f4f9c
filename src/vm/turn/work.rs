//! What was read of a reply, as work that is left to do.

use std::sync::Arc;

use playhouse_lang::value::Value;

use crate::protocol::{Finish, ReplyEnd, Usage};
use crate::reply::{Action, ReadEnd, Reading, TraceLine};
use crate::turn::history::{append_line, as_json_line, say_line};
use crate::turn::state::{Todo, Turn};

impl Todo {
    /// Whether it ends the turn.
    pub(super) fn is_yield(&self) -> bool {
        matches!(self, Todo::Act(action) if action.is_yield())
    }
}

impl Turn {
    /// More of the reply has come.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        // The same memory, so that a chunk costs no allocation.
        let mut readings = std::mem::take(&mut self.readings).into();
        self.reader.push(bytes, &mut readings);
        self.readings = readings.into();
    }

    /// No more of it will come.
    pub(super) fn finish_reading(&mut self, end: ReplyEnd, usage: Option<Usage>) {
        let read_end = match &end {
            ReplyEnd::Complete(Finish::Length)
            | ReplyEnd::Broken { .. }
            | ReplyEnd::Refused { .. }
            | ReplyEnd::Closed => ReadEnd::Cut,
            ReplyEnd::Complete(_) => ReadEnd::Complete,
        };
        let mut readings = std::mem::take(&mut self.readings).into();
        self.reader.finish(read_end, &mut readings);
        self.readings = readings.into();
        self.ended = Some((end, usage));
    }

    /// The next of what was read.
    pub(super) fn next_reading(&mut self) -> Option<Reading> {
        self.horizon = self.horizon.saturating_sub(1);
        self.readings.pop_front()
    }

    /// The variables that held lines will set, as far as they had been read when the classifier last answered and
    /// nothing ends the turn before.
    pub(super) fn sets_ahead(&self) -> Vec<(Arc<str>, Value)> {
        let mut sets = Vec::new();
        for reading in self.readings.iter().take(self.horizon) {
            if let Reading::Fault(_) = reading {
                return sets;
            }
            let Reading::Line(line) = reading else { continue };
            for action in &line.actions {
                if let Action::Set(members) = action {
                    sets.extend(members.clone());
                } else if action.is_yield() {
                    return sets;
                }
            }
        }
        sets
    }

    pub(super) fn todo_first(&mut self, todo: Todo) {
        self.todo.push_front(todo);
    }

    /// The line in hand does not take effect after all; what it has said stays said.
    pub(super) fn drop_line(&mut self) {
        self.applied.truncate(self.line_start);
        if let Some(said) = self.line_said.take() {
            let line = say_line(self.line_at.as_ref(), &said);
            append_line(&mut self.applied, &line);
        }
    }

    /// Whether something was heard of an utterance that is not complete.
    pub(super) fn has_spoken(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| speech.utterance.text.len() > speech.n_before)
    }

    /// A new line is in hand.
    pub(super) fn begin_line(&mut self, at: Option<Arc<str>>) {
        self.line_start = self.applied.len();
        self.line_at = at;
        self.line_said = None;
        self.line_source = None;
        self.is_line_over = false;
        self.is_line_applied = false;
        self.n_lines += 1;
    }

    /// What a line wants done, in the order written.
    pub(super) fn plan(&mut self, line: TraceLine) {
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
