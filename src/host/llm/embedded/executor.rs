//! The guided executor: it walks the lines of one playbook along the control-flow graph and writes the turn
//! protocol. What is exact is the interpreter's: at an explicit line a reply ends.
//!
//! A reply is a function of the turn as data and of what the executor has written before in the same chat session.

use std::sync::Arc;

use playhouse_lang::expr::Expr;
use playhouse_lang::expr::template::{Part, scan_text};
use playhouse_lang::program::flow_graph::{EdgeKind, Node};
use playhouse_lang::program::{Agent, Arm, Mode, Playbook, Step, StepId, StepKind, Target, Type};
use playhouse_lang::value::Value;
use playhouse_vm::protocol::{ChatMessage, Finish, ReplyEnd, USER_MESSAGE};
use serde_json::json;

use crate::llm::TurnAsData;

use super::earlier::{Earlier, OwnLine};
use super::english::{name_words, one_line, strip, strip_any, without_end};
use super::judge::judge;
use super::phrases::{self, Instead};
use super::scope::Scope;
use super::wording::{Values, enumerated, literal_json};

/// Lines that one reply walks over at most; a loop that asks for nothing goes on in the next.
const MAX_LINES: usize = 100;

/// So many bytes of a refused trace line stand in the problem that tells of it.
const REFUSED_BYTES: usize = 200;

/// What the executor has to say to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its reply, as JSON Lines.
    pub lines: String,
    /// Why it does not go on after these lines, for the author: something that must be done is beyond it.
    pub refusal: Option<String>,
}

impl Written {
    /// How the reply ends.
    pub fn end(&self) -> ReplyEnd {
        let refused = |reason: &String| ReplyEnd::Refused { reason: reason.as_str().into() };
        self.refusal.as_ref().map_or(ReplyEnd::Complete(Finish::Stop), refused)
    }
}

/// The reply to a turn. `messages` are those of the turn's request: of them only what the executor has written itself is
/// read.
pub fn reply(turn: &TurnAsData, messages: &[ChatMessage]) -> Written {
    let mut executor = Executor::new(turn, messages);
    executor.run();
    executor.drop_refused();
    let mut lines = executor.written.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    // What a refusal comes after is complete.
    lines.extend(executor.refusal.as_ref().map(|_| '\n'));
    Written { lines, refusal: executor.refusal }
}

/// What follows a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This is executed next.
    Go(Node),
    /// The line is done; what follows it is the graph's matter.
    Done,
    /// The reply ends here.
    Over,
}

pub(super) struct Executor<'a> {
    pub(super) turn: &'a TurnAsData,
    pub(super) playbook: &'a Playbook,
    pub(super) agent: &'a Agent,
    pub(super) scope: Scope,
    /// The user's words that this turn brings, until a line has used them.
    pub(super) words: Option<Arc<str>>,
    pub(super) earlier: Earlier,
    written: Vec<serde_json::Value>,
    refusal: Option<String>,
    /// Something was wrong with the last reply: the pointer's line is not tried in the same way again.
    pub(super) is_careful: bool,
}

impl<'a> Executor<'a> {
    fn new(turn: &'a TurnAsData, messages: &[ChatMessage]) -> Executor<'a> {
        let program = &turn.program;
        let playbook = program.playbook(turn.data.playbook);
        Executor {
            turn,
            playbook,
            agent: program.agent(playbook.agent),
            scope: Scope::new(&turn.data.variables),
            words: turn.data.user.clone(),
            earlier: Earlier::of(messages),
            written: Vec::new(),
            refusal: None,
            is_careful: turn.data.problem.is_some(),
        }
    }

    fn run(&mut self) {
        let Some(mut step) = self.turn.data.pointer.filter(|_| self.playbook.mode == Mode::Steps) else {
            return self.refuse(phrases::NO_GOAL);
        };
        for _ in 0..MAX_LINES {
            let next = match self.line(step) {
                Next::Go(next) => next,
                Next::Done => self.follow(step),
                Next::Over => return,
            };
            self.is_careful = false;
            match next {
                Node::End => return self.return_nothing(step),
                Node::Step(next) if self.playbook.step(next).explicit => {
                    return self.name(next);
                }
                Node::Step(next) => step = next,
            }
        }
        self.name(step);
    }

    /// A trace line that was refused is not written again: what cannot be done is given up.
    fn drop_refused(&mut self) {
        let Some(problem) = self.turn.data.problem.clone() else { return };
        let is_refused = |line: &serde_json::Value| {
            let text = line.to_string();
            problem.contains(&text[..text.floor_char_boundary(REFUSED_BYTES)])
        };
        let (Some(index), Some(pointer)) = (self.written.iter().position(is_refused), self.turn.data.pointer) else {
            return;
        };
        self.written.truncate(index);
        self.refuse_at(self.playbook.step(pointer), phrases::NO_OTHER_WAY);
    }

    /// Executes one line.
    fn line(&mut self, step: StepId) -> Next {
        let line = self.playbook.step(step);
        let n_written = self.written.len();
        let text = one_line(&line.text);
        let next = self.act(line, &text);
        let is_pointer = self.turn.data.pointer == Some(step);
        // What lies on the way is named, so that the machine takes the same way.
        if self.written.len() == n_written && !is_pointer && next != Next::Over {
            self.name(step);
        }
        next
    }

    /// Does what a line was read as; `text` are its words.
    fn act(&mut self, line: &Step, text: &str) -> Next {
        match &line.kind {
            StepKind::Branch { arm, condition } => {
                let holds = match condition {
                    Some(condition) => match self.holds_exactly(line, condition) {
                        Ok(holds) => holds,
                        Err(over) => return over,
                    },
                    None if *arm == Arm::Else => true,
                    None => self.holds(line, condition_of(text)),
                };
                self.name(line.id);
                Next::Go(self.edge(line.id, if holds { EdgeKind::Then } else { EdgeKind::Else }))
            }
            StepKind::Loop(header) => self.act_loop(line, header, text),
            StepKind::Return(returned) => self.act_return(line, returned, text),
            StepKind::End => {
                self.write(line, json!({ "end": true }));
                Next::Over
            }
            StepKind::Call(site) => self.act_call(line, site, text),
            StepKind::Assign { target, value } => self.act_assign(line, target, value.as_ref(), text),
            StepKind::Ask { targets } => self.act_ask(line, targets, text),
            StepKind::Say { literal: Some(_) } if self.turn.data.is_said && self.turn.data.pointer == Some(line.id) => {
                Next::Done
            }
            StepKind::Say { literal: Some(literal) } => {
                let is_there = |part| match part {
                    Part::Reference { reference, braced: true, .. } => self.scope.told(&reference).is_some(),
                    Part::Reference { .. } | Part::Text(_) => true,
                };
                if !scan_text(literal).into_iter().all(is_there) {
                    return self.leave_out(line);
                }
                self.write(line, json!({ "say": &**literal }));
                Next::Done
            }
            StepKind::Say { literal: None } => self.act_say(line, text),
            // The interpreter leaves a loop by itself; what is left to the model is where the graph leads.
            StepKind::Break | StepKind::Continue | StepKind::Gone(_) => {
                self.name(line.id);
                Next::Go(self.edge(line.id, EdgeKind::Next))
            }
            StepKind::Free => self.act_free(line, text),
        }
    }

    /// Whether a condition in words holds; one that nobody here can judge does not, and that is told once.
    pub(super) fn holds(&mut self, line: &Step, condition: &str) -> bool {
        let judged = judge(condition, &self.scope, self.last_words().as_deref());
        judged.unwrap_or_else(|| self.counts_as_false(line))
    }

    /// Whether an exact condition holds; where it is neither true nor false the reply is over: what is not known must not
    /// pass for a no, for it may guard something.
    pub(super) fn holds_exactly(&mut self, line: &Step, condition: &Expr) -> Result<bool, Next> {
        let why = match self.scope.eval(condition) {
            Ok(Value::Bool(truth)) => return Ok(truth),
            Ok(value) => phrases::no_truth(value.kind()),
            Err(fault) => fault.to_string(),
        };
        let why = self.missing(line).unwrap_or(why);
        Err(self.stop(line, Some(why)))
    }

    /// Tells that nobody here can judge a condition.
    pub(super) fn counts_as_false(&mut self, line: &Step) -> bool {
        self.admit(line, phrases::cannot(Instead::NotSo));
        false
    }

    /// That variables which a line reads are not there, if that is so.
    pub(super) fn missing(&self, line: &Step) -> Option<String> {
        let is_there = |name: &str| self.scope.value(name).is_some();
        let names: Vec<String> =
            line.reads.iter().filter(|name| !is_there(name)).map(|name| name_words(name)).collect();
        (!names.is_empty()).then(|| phrases::missing(&enumerated(&names, ", ")))
    }

    /// What the user said last.
    pub(super) fn last_words(&self) -> Option<Arc<str>> {
        let message = || match self.scope.value(USER_MESSAGE) {
            Some(Value::Str(text)) => Some(text.clone()),
            _ => None,
        };
        self.turn.data.user.clone().or_else(message)
    }

    /// Whether the user's words answer what was asked at a line in an earlier reply.
    pub(super) fn is_answered(&self, line: &Step) -> bool {
        let is_pointer = self.turn.data.pointer == Some(line.id);
        // At a line that only waits the interpreter may have waited by itself.
        let only_waits = strip(&line.text, "wait").is_some();
        let is_first = self.earlier.is_empty() || only_waits;
        is_pointer && self.words.is_some() && (is_first || self.earlier.waits_at(&self.turn.label(line)))
    }

    /// The type that a variable must have.
    pub(super) fn type_of(&self, target: &Target) -> Type {
        self.playbook.type_of(self.agent, &target.name).unwrap_or(target.ty)
    }

    /// Where an edge leads.
    pub(super) fn edge(&self, step: StepId, kind: EdgeKind) -> Node {
        let edges = self.playbook.flow.successors(step);
        let wanted = edges
            .iter()
            .find(|edge| edge.kind == kind)
            .or_else(|| edges.iter().find(|edge| edge.kind == EdgeKind::Next));
        wanted.or(edges.first()).map_or(Node::End, |edge| edge.to)
    }

    /// What follows a line that is done: the lines nested under it, else the next.
    pub(super) fn follow(&self, step: StepId) -> Node {
        self.playbook.flow.successors(step).first().map_or(Node::End, |edge| edge.to)
    }

    /// Writes a trace line about a line.
    pub(super) fn write(&mut self, line: &Step, action: serde_json::Value) {
        let written = self.turn.trace_line(line, action);
        self.earlier.add(OwnLine::read(&written));
        self.written.push(written);
    }

    /// Moves the pointer to a line and does nothing there.
    pub(super) fn name(&mut self, step: StepId) {
        let playbook = self.playbook;
        self.write(playbook.step(step), json!({}));
    }

    /// Says a sentence.
    pub(super) fn say(&mut self, line: &Step, text: &str) {
        self.write(line, json!({ "say": text }));
    }

    /// Tells once, as the reason for leaving a line out, what cannot be done.
    pub(super) fn admit(&mut self, line: &Step, reason: &str) {
        if !self.earlier.has_skipped(&self.turn.label(line), reason) {
            self.write(line, json!({ "skip": reason }));
        }
    }

    /// The reply ends here: the program must not go on with this model.
    pub(super) fn refuse(&mut self, reason: &str) {
        self.refusal = Some(format!("{reason}; {}", phrases::CHOOSE));
    }

    /// The same, at a line that must be done; `missing`: what it lacks.
    pub(super) fn stop(&mut self, line: &Step, missing: Option<String>) -> Next {
        let reason = missing.map(|missing| phrases::stuck(&missing));
        self.refuse_at(line, reason.as_deref().unwrap_or(phrases::cannot(Instead::Stop)))
    }

    /// The same, at a line, for this reason.
    pub(super) fn refuse_at(&mut self, line: &Step, reason: &str) -> Next {
        self.name(line.id);
        self.refuse(reason);
        Next::Over
    }

    /// Gives a variable a value that is put in as it is.
    pub(super) fn set(&mut self, line: &Step, target: &Target, value: Value) {
        let written = literal_json(&value);
        self.set_written(line, target, value, written);
    }

    /// Gives a variable a value, written as a reference or as it is.
    pub(super) fn set_written(&mut self, line: &Step, target: &Target, value: Value, written: serde_json::Value) {
        self.write(line, json!({ "set": { &*target.name: written } }));
        self.scope.set(&target.name, value);
    }

    /// After the last line.
    fn return_nothing(&mut self, step: StepId) {
        let playbook = self.playbook;
        let line = playbook.step(step);
        match playbook.returns.is_some_and(|ty| !ty.accepts(&Value::Null)) {
            true => self.give_up(line),
            false => {
                self.write(line, json!({ "return": null }));
                Next::Over
            }
        };
    }

    /// Ends the playbook where it cannot be gone on with, with a value that says that there is none; where its type has no
    /// such value the program cannot go on.
    pub(super) fn give_up(&mut self, line: &Step) -> Next {
        let nothing = nothing_of(self.playbook.returns.unwrap_or(Type::ANY)).filter(|_| !self.is_careful);
        let Some(value) = nothing else { return self.refuse_at(line, phrases::NO_VALUE) };
        self.write(line, json!({ "return": literal_json(&value) }));
        Next::Over
    }
}

/// A value of a type that says that there is none.
pub(super) fn nothing_of(ty: Type) -> Option<Value> {
    let nothings =
        [Value::Null, Value::str(""), Value::list(Vec::new()), Value::map(playhouse_lang::value::Map::new())];
    nothings.into_iter().find(|value| ty.accepts(value))
}

/// The condition of a branch's words.
fn condition_of(text: &str) -> &str {
    const HEADS: &str = "else if|elif|elseif|otherwise if|otherwise, if|if|otherwise|else";
    let rest = without_end(strip_any(text, HEADS).unwrap_or(text).trim_start_matches([',', ' ']));
    without_end(rest.strip_suffix(" then").unwrap_or(rest))
}
