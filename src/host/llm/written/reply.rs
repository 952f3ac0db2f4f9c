//! Bullets, a program and a turn as data to the trace lines of one reply.

use std::sync::Arc;

use playhouse_lang::files::test_file::{Bullet, LineName, What};
use playhouse_lang::program::flow_graph::{EdgeKind, Node};
use playhouse_lang::program::{Arm, CallSite, Loop, Playbook, Returned, Step, StepId, StepKind, Target};
use playhouse_lang::value::{Map, Value};
use serde_json::{Value as Json, json};

use crate::llm::TurnAsData;
use crate::text::one_line;

use super::lines::is_meant;

/// Stands for a value in an example.
const BLANK: &str = "…";

/// A request that no bullet answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// What is asked about: `OrderStatus:02`; of a playbook without lines its name.
    pub place: String,
    /// The line's words; none: there are no lines.
    pub words: Option<String>,
    /// Why nothing answers.
    pub why: Why,
    /// So many bullets fit that stand before the one that does not.
    pub n_before: usize,
    /// What an author could write.
    pub examples: Vec<Bullet>,
    /// What was wrong with the reply before, if that is why the machine asks.
    pub problem: Option<Arc<str>>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No bullet is left.
    Over,
    /// The next bullet is about something else.
    Elsewhere,
    /// The next bullet is about it, and does not fit: `yes` where there is no condition.
    Unfit,
}

/// The reply to a turn, as JSON Lines, and how many of the `bullets`, which are those not used yet, it takes: at least one.
///
/// # Errors
/// The first of them does not answer.
pub fn reply(turn: &TurnAsData, bullets: &[&Bullet]) -> Result<(String, usize), Unanswered> {
    let mut writer =
        Writer { turn, playbook: turn.program.playbook(turn.data.playbook), bullets, n_used: 0, written: Vec::new() };
    match turn.data.pointer {
        Some(pointer) => writer.write_from(pointer)?,
        None => writer.write_goal()?,
    }
    let text = writer.written.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Ok((text, writer.n_used))
}

struct Writer<'a> {
    turn: &'a TurnAsData,
    playbook: &'a Playbook,
    bullets: &'a [&'a Bullet],
    n_used: usize,
    written: Vec<Json>,
}

/// How a line is left.
enum Left {
    /// The reply is over.
    Over,
    /// It has been decided where it leads.
    Decided(Node),
    /// It is done.
    Done(Node),
}

impl<'a> Writer<'a> {
    /// Decides as long as bullets do, and does what they say about the next line.
    fn write_from(&mut self, pointer: StepId) -> Result<(), Unanswered> {
        let playbook = self.playbook;
        let mut line = playbook.step(pointer);
        // Every round but the last leaves a line for one that has not been decided yet.
        for _ in 0..=playbook.steps.len() {
            let left = match leads_on(line) {
                _ if self.is_next(Some(line.id)) => self.write_line(line)?,
                Some(kind) => {
                    self.name(line);
                    Left::Decided(playbook.flow.follow(line.id, kind))
                }
                None if self.n_used == 0 => return Err(self.unanswered(Some(line))),
                // The next reply is about this line.
                None => {
                    self.name(line);
                    Left::Over
                }
            };
            let (node, is_done) = match left {
                Left::Over => return Ok(()),
                Left::Decided(node) => (node, false),
                Left::Done(node) => (node, true),
            };
            let Node::Step(next) = node else {
                if playbook.returns.is_none_or(|ty| ty.accepts(&Value::Null)) {
                    self.write(line, json!({ "return": null }));
                }
                return Ok(());
            };
            line = playbook.step(next);
            if is_done || line.explicit {
                self.name(line);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does what the bullets say about a line: at least one does.
    fn write_line(&mut self, line: &Step) -> Result<Left, Unanswered> {
        let mut done = Done::default();
        while let Some(what) =
            self.next(Some(line.id)).filter(|what| !done.is_over && !self.is_again(&done, line, what))
        {
            // What comes of calls is known before the next bullet.
            if done.has_called && !matches!(what, What::Calls { .. }) {
                self.write(line, json!({ "wait": "calls" }));
                return Ok(Left::Over);
            }
            if let What::Yes | What::No = what {
                let Some(kind) = way(line, *what == What::Yes) else {
                    return Err(Unanswered { why: Why::Unfit, ..self.unanswered(Some(line)) });
                };
                self.n_used += 1;
                self.name(line);
                return Ok(Left::Decided(self.playbook.flow.follow(line.id, kind)));
            }
            self.n_used += 1;
            self.write(line, trace(what, line.call()));
            if let What::Returns(_) | What::Waits = what {
                return Ok(Left::Over);
            }
            done.add(what);
        }
        if done.asks(line) {
            self.write(line, json!({ "wait": "user" }));
            return Ok(Left::Over);
        }
        if let StepKind::Loop(Loop::ForEach { variable, .. }) = &line.kind
            && done.set.contains(&variable.name)
        {
            return Ok(Left::Decided(self.playbook.flow.follow(line.id, EdgeKind::Then)));
        }
        Ok(if done.is_all(line, self.turn) { Left::Done(self.follow(line)) } else { Left::Over })
    }

    /// Whether a bullet is for the next time that the line is asked about: it says once more what was done already. Only a
    /// line in free words, of which nothing tells how often it is come to, may call twice.
    fn is_again(&self, done: &Done, line: &Step, what: &What) -> bool {
        let is_loop = |id: &StepId| matches!(self.playbook.step(*id).kind, StepKind::Loop(_));
        let is_in_loop =
            || std::iter::successors(line.parent, |&id| self.playbook.step(id).parent).any(|id| is_loop(&id));
        match what {
            What::Sets(values) => values.keys().any(|name| done.set.contains(name)),
            What::Says(_) => done.has_said,
            What::Calls { .. } => done.has_called && (!line.is_free() || is_in_loop()),
            What::Yes | What::No | What::Done | What::Waits | What::Skips(_) | What::Returns(_) => false,
        }
    }

    /// A playbook without lines: what the bullets say about it, up to calls.
    fn write_goal(&mut self) -> Result<(), Unanswered> {
        if self.next(None).is_none() {
            return Err(self.unanswered(None));
        }
        let mut last: Option<&What> = None;
        while let Some(what) = self.next(None) {
            if let (Some(What::Calls { .. }), false) = (last, matches!(what, What::Calls { .. })) {
                break;
            }
            if let What::Yes | What::No | What::Skips(_) = what {
                return Err(Unanswered { why: Why::Unfit, ..self.unanswered(None) });
            }
            self.n_used += 1;
            self.written.push(trace(what, None));
            last = Some(what);
            if let What::Returns(_) | What::Waits = what {
                return Ok(());
            }
        }
        // Nothing else says that it goes on.
        match last {
            Some(What::Calls { .. }) => self.written.push(json!({ "wait": "calls" })),
            Some(What::Says(_)) => self.written.push(json!({ "wait": "user" })),
            Some(What::Done) => self.written.push(json!({ "return": null })),
            _ => {}
        }
        Ok(())
    }

    /// What the next bullet says, if it is about this line.
    fn next(&self, line: Option<StepId>) -> Option<&'a What> {
        let bullet = self.bullets.get(self.n_used)?;
        is_meant(self.turn, &bullet.line, line).then_some(&bullet.what)
    }

    fn is_next(&self, line: Option<StepId>) -> bool {
        self.next(line).is_some()
    }

    /// Where a line leads that is done: of several ways the one that the next bullet is on.
    fn follow(&self, line: &Step) -> Node {
        let flow = &self.playbook.flow;
        let is_next = |node: &Node| node.step().is_some_and(|step| self.is_next(Some(step)));
        let mut ways = flow.successors(line.id).iter().map(|edge| edge.to);
        ways.find(is_next).unwrap_or_else(|| flow.follow(line.id, EdgeKind::Next))
    }

    /// Moves the pointer to a line and does nothing there.
    fn name(&mut self, line: &Step) {
        self.write(line, json!({}));
    }

    fn write(&mut self, line: &Step, action: Json) {
        self.written.push(self.turn.trace_line(line, action));
    }

    fn unanswered(&self, line: Option<&Step>) -> Unanswered {
        let name = || self.playbook.name.to_string();
        let examples = line.map_or_else(|| vec![What::Says(BLANK.into())], |line| self.examples(line));
        let line_name = line.map_or_else(|| LineName::Goal(name()), |line| LineName::Id(self.turn.label(line)));
        let bullet = |what| Bullet { line: line_name.clone(), what };
        Unanswered {
            place: place(self.turn, line),
            words: line.map(|line| one_line(&line.text)),
            n_before: self.n_used,
            why: if self.bullets.len() > self.n_used { Why::Elsewhere } else { Why::Over },
            examples: examples.into_iter().map(bullet).collect(),
            problem: self.turn.data.problem.clone(),
        }
    }

    /// What an author could write for a line.
    fn examples(&self, line: &Step) -> Vec<What> {
        let blank = Value::str(BLANK);
        let values = line.kind.targets().iter().map(|target| (target.name.clone(), blank.clone())).collect::<Map>();
        let has_spoken = self.turn.data.user.is_some();
        vec![match &line.kind {
            StepKind::Branch { .. } | StepKind::Loop(_) => return vec![What::Yes, What::No],
            StepKind::Ask { .. } if has_spoken && values.is_empty() => What::Done,
            StepKind::Ask { .. } if has_spoken => What::Sets(values),
            StepKind::Ask { .. } | StepKind::Say { .. } => What::Says(BLANK.into()),
            StepKind::Assign { .. } => What::Sets(values),
            StepKind::Call(site) | StepKind::Return(Returned::Call(site)) => {
                What::Calls { name: site.callee.clone(), arguments: Map::new() }
            }
            StepKind::Return(_) => What::Returns(blank),
            StepKind::Free | StepKind::End | StepKind::Break | StepKind::Continue | StepKind::Gone(_) => What::Done,
        }]
    }
}

pub(super) fn place(turn: &TurnAsData, line: Option<&Step>) -> String {
    let name = &turn.program.playbook(turn.data.playbook).name;
    line.map_or_else(|| name.to_string(), |line| format!("{name}:{}", turn.label(line)))
}

/// What has been done about a line.
#[derive(Default)]
struct Done {
    set: Vec<Arc<str>>,
    has_called: bool,
    has_said: bool,
    /// Nothing came after what was said.
    said_last: bool,
    is_skipped: bool,
    /// Nothing comes after it.
    is_over: bool,
}

impl Done {
    fn add(&mut self, what: &What) {
        self.said_last = matches!(what, What::Says(_));
        self.has_said |= self.said_last;
        self.is_over |= matches!(what, What::Skips(_) | What::Done);
        self.has_called |= matches!(what, What::Calls { .. });
        self.is_skipped |= matches!(what, What::Skips(_));
        if let What::Sets(values) = what {
            self.set.extend(values.keys().cloned());
        }
    }

    /// Whether the user has been asked something, so that the answer comes next.
    fn asks(&self, line: &Step) -> bool {
        let StepKind::Ask { targets } = &line.kind else { return false };
        let is_open = targets.is_empty() || targets.iter().any(|target| !self.set.contains(&target.name));
        self.said_last && is_open
    }

    /// Whether nothing is left to do at the line.
    fn is_all(&self, line: &Step, turn: &TurnAsData) -> bool {
        let is_there = |name: &Arc<str>| turn.data.variables.iter().any(|(known, _)| known == name);
        let has_set =
            || line.kind.targets().iter().all(|Target { name, .. }| self.set.contains(name) || is_there(name));
        let is_done = match &line.kind {
            StepKind::Ask { .. } | StepKind::Assign { .. } => has_set(),
            StepKind::Call(_) => self.has_called,
            StepKind::Branch { .. } | StepKind::Loop(_) | StepKind::Return(_) | StepKind::End => false,
            StepKind::Say { .. } | StepKind::Free | StepKind::Break | StepKind::Continue | StepKind::Gone(_) => true,
        };
        self.is_skipped || (is_done && (line.due_call.is_none() || self.has_called))
    }
}

/// The way from a line at which nobody decides anything.
fn leads_on(line: &Step) -> Option<EdgeKind> {
    match &line.kind {
        StepKind::Branch { arm: Arm::Else, .. } => Some(EdgeKind::Then),
        StepKind::Break | StepKind::Continue | StepKind::Gone(_) => Some(EdgeKind::Next),
        StepKind::Branch { .. }
        | StepKind::Loop(_)
        | StepKind::Return(_)
        | StepKind::End
        | StepKind::Call(_)
        | StepKind::Assign { .. }
        | StepKind::Ask { .. }
        | StepKind::Say { .. }
        | StepKind::Free => None,
    }
}

/// The way from a line whose condition holds or not; none: it has no condition.
fn way(line: &Step, holds: bool) -> Option<EdgeKind> {
    let goes_in = match &line.kind {
        StepKind::Branch { .. } => holds,
        StepKind::Loop(Loop::Until { .. }) => !holds,
        StepKind::Loop(_) => holds,
        StepKind::Return(_)
        | StepKind::End
        | StepKind::Break
        | StepKind::Continue
        | StepKind::Call(_)
        | StepKind::Assign { .. }
        | StepKind::Ask { .. }
        | StepKind::Say { .. }
        | StepKind::Free
        | StepKind::Gone(_) => return None,
    };
    Some(if goes_in { EdgeKind::Then } else { EdgeKind::Else })
}

/// An action as it stands in a trace line; `site` is the line's own call, whose variable gets the result.
fn trace(what: &What, site: Option<&CallSite>) -> Json {
    match what {
        What::Sets(values) => json!({ "set": values }),
        What::Says(text) => json!({ "say": text }),
        What::Calls { name, arguments } => {
            let mut call = json!({ "call": name, "args": arguments });
            if let Some(result) = site.and_then(|site| site.result.as_ref()) {
                call["as"] = json!(result.name);
            }
            call
        }
        What::Waits => json!({ "wait": "user" }),
        What::Skips(reason) => json!({ "skip": reason }),
        What::Returns(value) => json!({ "return": value }),
        What::Done | What::Yes | What::No => json!({}),
    }
}
