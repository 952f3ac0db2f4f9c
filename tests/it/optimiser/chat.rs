//! What a model can know of its playbook: read from the messages of a request and from nothing else.

use std::collections::HashMap;

use playhouse::vm::protocol::{ChatMessage, Role};

use crate::optimiser::tree::Action;

/// One line of the listing.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// It is marked `=`: the interpreter's.
    pub(crate) is_marked: bool,
    pub(crate) action: Action,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// The outermost lines of the playbook that is shown under this line, which calls it.
    pub(crate) inlined: Vec<usize>,
    /// Of these: the line that calls.
    pub(crate) caller: Option<usize>,
}

/// The chat session of one frame.
pub(crate) struct Chat {
    pub(crate) rows: Vec<Row>,
    /// The row after `GO ON FROM`.
    pub(crate) pointer: usize,
    /// What was written and took effect, in order, with how many user messages stood before it.
    applied: Vec<(serde_json::Value, usize)>,
    /// For each user message the labels of the lines that the interpreter has done, and results, as written.
    done: Vec<Vec<String>>,
    pub(crate) results: Vec<String>,
}

impl Chat {
    /// Reads the messages of a request; `meanings` tells what each line means.
    pub(crate) fn read(messages: &[ChatMessage], meanings: &HashMap<String, Action>) -> Chat {
        let mut chat =
            Chat { rows: Vec::new(), pointer: 0, applied: Vec::new(), done: Vec::new(), results: Vec::new() };
        let mut listing = Vec::new();
        let mut go_on = "";
        for message in messages {
            match message.role {
                Role::System => {}
                Role::Assistant => {
                    let lines = message.text.lines().map(|line| serde_json::from_str(line).unwrap());
                    chat.applied.extend(lines.map(|line| (line, chat.done.len())));
                }
                Role::User => {
                    let mut done = Vec::new();
                    chat.results.clear();
                    let mut block = "";
                    for line in message.text.lines() {
                        let word = line.split(' ').next().unwrap_or("");
                        if word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()) {
                            block = word;
                            if let Some(label) = line.strip_prefix("GO ON FROM ") {
                                go_on = label;
                            }
                        } else if block == "PLAYBOOK" {
                            listing.push(line);
                        } else if block == "DONE" {
                            done.push(line.split(' ').next().unwrap_or("").to_owned());
                        } else if block == "RESULTS" {
                            chat.results.push(line.to_owned());
                        }
                    }
                    chat.done.push(done);
                }
            }
        }
        for line in listing {
            chat.add_row(line, meanings);
        }
        let pointer = chat.rows.iter().position(|row| row.label == go_on);
        chat.pointer = pointer.unwrap_or_else(|| panic!("no line {go_on} in the listing"));
        chat
    }

    fn add_row(&mut self, line: &str, meanings: &HashMap<String, Action>) {
        let Some((label, text)) = line.trim().split_once(' ') else { return };
        let (label, is_marked) = label.strip_suffix('=').map_or((label, false), |label| (label, true));
        let label = label.strip_suffix('!').unwrap_or(label);
        if !label.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let action = meanings.get(text).unwrap_or_else(|| panic!("nobody wrote the line: {text}")).clone();
        let index = self.rows.len();
        let find = |label: &str| self.rows.iter().position(|row| row.label == label);
        let (around, local) = label.rsplit_once('>').map_or(("", label), |(around, local)| (around, local));
        let (parent, caller) = match local.rsplit_once('.') {
            Some(_) => (label.rsplit_once('.').and_then(|(parent, _)| find(parent)), None),
            None => (None, find(around)),
        };
        if let Some(parent) = parent {
            self.rows[parent].children.push(index);
        }
        if let Some(caller) = caller {
            self.rows[caller].inlined.push(index);
        }
        let row = Row {
            label: label.to_owned(),
            is_marked,
            action,
            parent,
            children: Vec::new(),
            inlined: Vec::new(),
            caller,
        };
        self.rows.push(row);
    }

    /// How many actions of the pointer's line have taken effect since it was reached.
    pub(crate) fn n_done(&self) -> usize {
        let label = &self.rows[self.pointer].label;
        let mut n_done = 0;
        let mut place = self.done.len();
        for (line, n_before) in self.applied.iter().rev() {
            if *n_before != place {
                // Did the interpreter begin another round of a loop around the line between the two?
                place = *n_before;
                if self.began_round(place, label) {
                    break;
                }
            }
            if line["at"] != **label || is_bare(line) {
                break;
            }
            n_done += usize::from(line["wait"] != "calls");
        }
        n_done
    }

    /// Whether the message behind the reply with this place tells of a round that the reply did not begin itself.
    fn began_round(&self, place: usize, label: &str) -> bool {
        let Some(done) = self.done.get(place) else { return false };
        let reply = self.applied.iter().filter(|(_, n_before)| *n_before == place);
        self.rows.iter().filter(|row| row.is_loop() && is_inside(label, &row.label)).any(|row| {
            let n_told = done.iter().filter(|done| **done == row.label).count();
            let n_written = reply.clone().filter(|(line, _)| line["at"] == *row.label).count();
            n_told > n_written
        })
    }

    /// How many rounds of the model's own loop have been begun, and whether its last word is that of the header.
    pub(crate) fn rounds(&self, header: usize) -> (usize, bool) {
        let label = &self.rows[header].label;
        let mut n_rounds = 0;
        for (line, _) in self.applied.iter().rev() {
            let at = line["at"].as_str().unwrap_or("");
            if at == label {
                n_rounds += usize::from(line.get("wait").is_none());
            } else if !is_inside(at, label) {
                break;
            }
        }
        let is_last = self.applied.last().is_some_and(|(line, _)| line["at"] == **label && line.get("wait").is_none());
        (n_rounds, is_last)
    }

    /// The value of the last result.
    pub(crate) fn last_result(&self) -> serde_json::Value {
        let line = self.results.last().expect("a call has a result");
        let (_, value) = line.rsplit_once(" -> ").unwrap_or_else(|| panic!("{line}"));
        serde_json::from_str(value).unwrap()
    }

    /// The row that follows `row` when that is done.
    pub(crate) fn behind(&self, row: usize) -> Behind {
        let this = &self.rows[row];
        let follows = |other: &usize| *other > row && self.rows[*other].action != Action::Otherwise;
        if let Some(next) = self.siblings(row).into_iter().find(|other| follows(other)) {
            return Behind::Row(next);
        }
        match (this.parent, this.caller) {
            (Some(parent), _) if self.rows[parent].is_loop() => Behind::Row(parent),
            (Some(parent), _) => self.behind(parent),
            (None, Some(caller)) => Behind::Leave(caller),
            (None, None) => Behind::End,
        }
    }

    /// Where a branch leads whose condition is false.
    pub(crate) fn else_of(&self, row: usize) -> Behind {
        let next = self.siblings(row).into_iter().find(|other| *other > row);
        match next {
            Some(next) if self.rows[next].action == Action::Otherwise => Behind::Row(next),
            Some(_) | None => self.behind(row),
        }
    }

    /// The line that calls the playbook which `row` belongs to, if that is shown inside another.
    pub(crate) fn caller_of(&self, row: usize) -> Option<usize> {
        let root = std::iter::successors(Some(row), |&row| self.rows[row].parent).last();
        root.and_then(|root| self.rows[root].caller)
    }

    fn siblings(&self, row: usize) -> Vec<usize> {
        let this = &self.rows[row];
        let is_sibling = |other: &Row| other.parent == this.parent && other.caller == this.caller;
        (0..self.rows.len()).filter(|&other| is_sibling(&self.rows[other])).collect()
    }
}

/// What follows a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Behind {
    Row(usize),
    /// The end of the playbook shown under this line.
    Leave(usize),
    End,
}

impl Row {
    pub(crate) fn is_loop(&self) -> bool {
        matches!(self.action, Action::ForEach { .. } | Action::Repeat(_) | Action::While(_))
    }

    pub(crate) fn is_header(&self) -> bool {
        self.is_loop() || matches!(self.action, Action::If { .. } | Action::Otherwise)
    }
}

fn is_inside(label: &str, around: &str) -> bool {
    label.strip_prefix(around).is_some_and(|rest| rest.starts_with(['.', '>']))
}

fn is_bare(line: &serde_json::Value) -> bool {
    line.as_object().is_some_and(|line| line.len() == 1)
}
