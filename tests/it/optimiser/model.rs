//! A careful model of the sub-language: reads the messages of a turn, knows what each line means, and writes the
//! turn protocol. It does one thing per line, leaves lines marked `=` to the interpreter, and stops where it
//! needs to know what came of something.

use std::collections::{BTreeSet, HashMap};

use fastrand::Rng;
use playhouse::value::Value;
use playhouse::vm::protocol::StartTurn;
use serde_json::json;

use crate::optimiser::chat::{Behind, Chat};
use crate::optimiser::evaluate::{question, write_number};
use crate::optimiser::tree::{Action, Call, Callee, Condition, Expr, Number, Program, Term, write_speech};

/// What it knows of a program.
pub(crate) struct Model<'a> {
    program: &'a Program,
    meanings: HashMap<String, Action>,
    /// It writes references, guesses outcomes and ends replies in all the ways that are allowed.
    random: Rng,
}

/// What the writing of one reply knows.
struct Turn {
    chat: Chat,
    /// The values that are known now; a name that is missing is not.
    values: HashMap<String, Number>,
    /// Results that are on their way.
    pending: BTreeSet<String>,
    /// Inside an inlined playbook: the caller's values, and the names that were written since.
    outside: Option<(HashMap<String, Number>, BTreeSet<String>)>,
    user: Option<i64>,
    lines: Vec<String>,
    /// The row that the last line written is about, if it did something there.
    last_row: Option<usize>,
    /// The way to the next line was decided by the model: it must be named.
    must_name: bool,
    /// Rounds begun of the model's own loops.
    rounds: HashMap<usize, usize>,
}

/// What writing a line came to.
enum Next {
    Go(Behind),
    Stop,
}

impl<'a> Model<'a> {
    pub(crate) fn new(program: &'a Program, random: Rng) -> Model<'a> {
        Model { program, meanings: program.meanings(), random }
    }

    /// The reply to a request.
    pub(crate) fn reply(&mut self, start: &StartTurn) -> String {
        let chat = Chat::read(&start.messages, &self.meanings);
        let mut values = HashMap::new();
        for (name, value) in &start.data.variables {
            let number = match value {
                Value::Int(int) => Some(*int),
                Value::Null => None,
                Value::Bool(_) | Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => continue,
            };
            values.entry(name.to_string()).or_insert(number);
        }
        let user = start.data.user.as_ref().and_then(|text| text.parse().ok());
        let n_done = chat.n_done();
        let pointer = chat.pointer;
        let mut turn = Turn {
            chat,
            values,
            pending: BTreeSet::new(),
            outside: None,
            user,
            lines: Vec::new(),
            last_row: None,
            must_name: false,
            rounds: HashMap::new(),
        };
        let mut next = self.act(&mut turn, pointer, n_done);
        let mut last = pointer;
        loop {
            next = match next {
                Next::Stop => break,
                Next::Go(Behind::Row(row)) => {
                    last = row;
                    if turn.chat.rows[row].is_marked { self.pass(&mut turn, row) } else { self.act(&mut turn, row, 0) }
                }
                Next::Go(Behind::Leave(caller)) => self.leave(&mut turn, caller, last, None),
                Next::Go(Behind::End) => {
                    self.finish(&mut turn, last);
                    break;
                }
            };
            assert!(turn.lines.len() < 900, "a reply without end");
        }
        turn.lines.join("\n")
    }

    /// The playbook is over behind `last`.
    fn finish(&mut self, turn: &mut Turn, last: usize) {
        let is_obvious = turn.last_row == Some(last) && !turn.chat.rows[last].is_header();
        if !(is_obvious && self.random.bool()) {
            turn.write(last, "return", json!(null));
        }
    }

    /// The end of the playbook that is shown under `caller`, which gives it `value` if that is known.
    fn leave(&mut self, turn: &mut Turn, caller: usize, last: usize, value: Option<Number>) -> Next {
        let behind = turn.chat.behind(caller);
        if let Some((values, written)) = turn.outside.take() {
            turn.values = values;
            written.iter().for_each(|name| {
                turn.values.remove(name);
            });
        } else {
            // It was entered in an earlier reply: the caller's view is not known before the next.
            turn.values.clear();
        }
        if let Action::Call(Call { result: Some(result), .. }) = &turn.chat.rows[caller].action {
            match value {
                Some(value) => turn.values.insert(result.clone(), value),
                None => turn.values.remove(result),
            };
        }
        turn.must_name = false;
        if let Behind::End | Behind::Leave(_) = behind {
            if value.is_none() || turn.lines.is_empty() {
                self.finish(turn, last);
            }
            return Next::Stop;
        }
        Next::Go(behind)
    }

    /// A line that is the interpreter's: go on behind it, or stop to learn what came of it. What does something is
    /// named, for a reply cannot jump over it.
    fn pass(&mut self, turn: &mut Turn, row: usize) -> Next {
        let line = turn.chat.rows[row].clone();
        let is_daring = self.random.bool();
        match &line.action {
            Action::Call(call) if matches!(call.callee, Callee::Playbook(_)) && !line.inlined.is_empty() => {
                let arguments: Option<Vec<i64>> = call.arguments.iter().map(|value| turn.compute(value)).collect();
                match arguments {
                    Some(arguments) if self.random.u8(..4) > 0 => {
                        if self.random.bool() {
                            turn.name(row);
                        }
                        turn.enter(&self.program.parameters(&call.callee), &arguments);
                        turn.must_name = false;
                        Next::Go(Behind::Row(line.inlined[0]))
                    }
                    _ => self.stop_at(turn, row),
                }
            }
            Action::Say { .. } if is_daring => self.name_and_pass(turn, row),
            Action::Set { target, value } if is_daring => {
                let computed = turn.compute(value).filter(|_| !turn.pending.contains(target));
                turn.give(target, computed.map(Some));
                self.name_and_pass(turn, row)
            }
            Action::Call(call) if is_daring && matches!(call.callee, Callee::Tool(_)) && !self.awaits(call) => {
                if let Some(result) = &call.result {
                    turn.give(result, None);
                    turn.pending.insert(result.clone());
                }
                self.name_and_pass(turn, row)
            }
            Action::If { condition, .. } => match turn.judge(condition).filter(|_| is_daring) {
                Some(true) => self.pass_to(turn, row, Behind::Row(line.children[0])),
                Some(false) => {
                    let next = turn.chat.else_of(row);
                    self.pass_to(turn, row, next)
                }
                None => self.stop_at(turn, row),
            },
            Action::Otherwise => self.pass_to(turn, row, Behind::Row(line.children[0])),
            Action::While(condition) => {
                let holds = turn.judge(condition).filter(|_| is_daring);
                let Some(holds) = holds else { return self.stop_at(turn, row) };
                turn.name(row);
                Next::Go(if holds { Behind::Row(line.children[0]) } else { turn.chat.behind(row) })
            }
            Action::Return(value) if turn.chat.caller_of(row).is_some() => {
                let caller = turn.chat.caller_of(row).unwrap_or(row);
                let behind = turn.chat.behind(caller);
                if behind == Behind::End || !is_daring {
                    return self.stop_at(turn, row);
                }
                if turn.must_name || self.random.bool() {
                    turn.name(row);
                }
                let computed = turn.compute(value);
                self.leave(turn, caller, row, computed.map(Some))
            }
            Action::Say { .. }
            | Action::Set { .. }
            | Action::Call(_)
            | Action::Ask { .. }
            | Action::Return(_)
            | Action::ReturnCall(_)
            | Action::ForEach { .. }
            | Action::Repeat(_) => self.stop_at(turn, row),
        }
    }

    fn name_and_pass(&mut self, turn: &mut Turn, row: usize) -> Next {
        turn.must_name = true;
        let next = turn.chat.behind(row);
        self.pass_to(turn, row, next)
    }

    fn pass_to(&mut self, turn: &mut Turn, row: usize, next: Behind) -> Next {
        // The last line of a playbook or of a loop is named, or nobody would know that it was reached: an `at` to
        // an earlier line goes back and passes nothing.
        let is_last = !matches!(next, Behind::Row(next) if next > row);
        if turn.must_name || is_last || self.random.bool() {
            turn.name(row);
        }
        turn.must_name = false;
        match next {
            Behind::End => Next::Stop,
            Behind::Row(_) | Behind::Leave(_) => Next::Go(next),
        }
    }

    /// Ends the reply at a line without doing it.
    fn stop_at(&mut self, turn: &mut Turn, row: usize) -> Next {
        let line = &turn.chat.rows[row];
        let is_next = line.is_marked && turn.last_row.is_some_and(|last| !turn.chat.rows[last].is_header());
        match self.random.u8(..3) {
            0 if is_next && !turn.must_name => {}
            1 if line.is_marked => turn.name(row),
            _ => turn.write(row, "wait", json!("calls")),
        }
        Next::Stop
    }

    /// A line that is the model's, of which `n_done` actions have been done.
    fn act(&mut self, turn: &mut Turn, row: usize, n_done: usize) -> Next {
        let line = turn.chat.rows[row].clone();
        if line.is_marked {
            // Only behind a line that is done the pointer can stand on one of the interpreter's.
            return self.pass(turn, row);
        }
        let behind = turn.chat.behind(row);
        let next = match &line.action {
            Action::If { condition, .. } => {
                let Some(holds) = turn.judge(condition) else { return self.stop_at(turn, row) };
                if turn.must_name || self.random.u8(..4) == 0 {
                    turn.name(row);
                }
                if holds { Behind::Row(line.children[0]) } else { turn.chat.else_of(row) }
            }
            Action::Otherwise => Behind::Row(line.children[0]),
            Action::While(condition) => {
                let Some(holds) = turn.judge(condition) else { return self.stop_at(turn, row) };
                turn.name(row);
                if holds { Behind::Row(line.children[0]) } else { behind }
            }
            Action::ForEach { .. } | Action::Repeat(_) => {
                let (told, is_begun) = turn.chat.rounds(row);
                let is_first_word = turn.lines.is_empty();
                let round = *turn.rounds.get(&row).unwrap_or(&told);
                if is_first_word && is_begun {
                    // It was cut at the header of a round.
                    turn.rounds.insert(row, round);
                    Behind::Row(line.children[0])
                } else {
                    return self.begin_round(turn, row, round);
                }
            }
            Action::Set { .. }
            | Action::Say { .. }
            | Action::Ask { .. }
            | Action::Call(_)
            | Action::Return(_)
            | Action::ReturnCall(_) => return self.action(turn, row, &line.action, n_done, behind),
        };
        turn.must_name = true;
        Next::Go(next)
    }

    fn begin_round(&mut self, turn: &mut Turn, row: usize, round: usize) -> Next {
        let line = turn.chat.rows[row].clone();
        let mut n_rounds = 0;
        if let Action::ForEach { items, .. } = &line.action {
            n_rounds = items.len();
        } else if let Action::Repeat(n) = line.action {
            n_rounds = n;
        }
        if round >= n_rounds {
            if turn.must_name {
                turn.name(row);
            }
            turn.must_name = true;
            turn.rounds.insert(row, 0);
            return Next::Go(turn.chat.behind(row));
        }
        turn.must_name = true;
        if let Action::ForEach { variable, items } = &line.action {
            turn.write(row, "set", json!({ variable: items[round] }));
            turn.give(variable, Some(Some(items[round])));
        } else {
            turn.name(row);
        }
        turn.rounds.insert(row, round + 1);
        Next::Go(Behind::Row(line.children[0]))
    }

    /// One action on the model's line `row`.
    fn action(&mut self, turn: &mut Turn, row: usize, action: &Action, n_done: usize, behind: Behind) -> Next {
        match (action, n_done) {
            (Action::Set { target, value }, 0) => {
                let Some(computed) = turn.compute(value).filter(|_| !turn.pending.contains(target)) else {
                    return self.stop_at(turn, row);
                };
                let written = self.write_value(value, computed);
                turn.write(row, "set", json!({ target: written }));
                turn.give(target, Some(Some(computed)));
            }
            (Action::Say { tag, names }, 0) => {
                let is_reference: Vec<bool> = names.iter().map(|_| self.random.bool()).collect();
                let write = |name: &str| {
                    let index = names.iter().position(|other| other == name).unwrap_or(0);
                    match turn.values.get(name) {
                        Some(value) if !is_reference[index] => write_number(*value),
                        _ => format!("{{${name}}}"),
                    }
                };
                let text = write_speech(tag, names, &write);
                turn.write(row, "say", json!(text));
            }
            (Action::Ask { target }, 0) => {
                if turn.pending.contains(target) {
                    return self.stop_at(turn, row);
                }
                turn.write(row, "say", json!(question(target)));
                if self.random.bool() {
                    turn.write(row, "wait", json!("user"));
                }
                return Next::Stop;
            }
            (Action::Ask { .. }, 1) if turn.user.is_none() => {
                turn.write(row, "wait", json!("user"));
                return Next::Stop;
            }
            (Action::Ask { target }, 1 | 2) => {
                let answer = turn.user.take().unwrap_or_else(|| panic!("no answer for {target}"));
                turn.write(row, "set", json!({ target: answer }));
                turn.give(target, Some(Some(answer)));
            }
            (Action::Call(call), 0) => {
                if !self.write_call(turn, row, call) {
                    return self.stop_at(turn, row);
                }
                let is_awaited = self.awaits(call);
                match call.callee {
                    Callee::Tool(_) if !is_awaited && self.random.bool() => {
                        if let Some(result) = &call.result {
                            turn.give(result, None);
                            turn.pending.insert(result.clone());
                        }
                    }
                    Callee::Tool(_) | Callee::Playbook(_) => {
                        turn.write(row, "wait", json!("calls"));
                        return Next::Stop;
                    }
                }
            }
            (Action::Return(value), 0) => {
                let name = if let Expr::Just(Term::Name(name)) = value { Some(name) } else { None };
                let known = match name {
                    Some(name) => turn.values.get(name).copied(),
                    None => turn.compute(value).map(Some),
                };
                let Some(known) = known else { return self.stop_at(turn, row) };
                let written = match name.filter(|_| self.random.bool()) {
                    Some(name) => json!(format!("${name}")),
                    None => json!(known),
                };
                turn.write(row, "return", written);
                if let Some(caller) = turn.chat.caller_of(row) {
                    return self.leave(turn, caller, row, Some(known));
                }
                return Next::Stop;
            }
            (Action::ReturnCall(call), 0) => {
                if !self.write_call(turn, row, call) {
                    return self.stop_at(turn, row);
                }
                turn.write(row, "wait", json!("calls"));
                return Next::Stop;
            }
            (Action::ReturnCall(_), _) => {
                turn.write(row, "return", turn.chat.last_result());
                return Next::Stop;
            }
            // What was to be done has been done.
            (Action::Set { .. } | Action::Say { .. } | Action::Ask { .. } | Action::Call(_), _) => {}
            (other, _) => panic!("{other:?} is no action"),
        }
        turn.must_name = false;
        Next::Go(behind)
    }

    /// Whether it waits for a tool's result before it goes on, because somebody may look at the variable that it
    /// knows nothing of: a playbook that a trigger calls.
    fn awaits(&self, call: &Call) -> bool {
        call.result.is_some() && self.program.has_triggers()
    }

    /// Queues a call, unless something of it is not known.
    fn write_call(&mut self, turn: &mut Turn, row: usize, call: &Call) -> bool {
        let computed: Option<Vec<i64>> = call.arguments.iter().map(|value| turn.compute(value)).collect();
        let Some(computed) = computed else { return false };
        // Two results for one name would come in the order of the calls, but what lies between would see neither.
        if call.result.as_ref().is_some_and(|result| turn.pending.contains(result)) {
            return false;
        }
        let written: Vec<serde_json::Value> =
            call.arguments.iter().zip(computed).map(|(value, computed)| self.write_value(value, computed)).collect();
        let arguments = if self.random.bool() {
            json!(written)
        } else {
            let names = self.program.parameters(&call.callee);
            names.into_iter().zip(written).collect::<serde_json::Map<_, _>>().into()
        };
        let mut line = json!({ "at": turn.chat.rows[row].label, "call": self.program.callee_name(&call.callee) });
        line["args"] = arguments;
        if let Some(result) = &call.result {
            line["as"] = json!(result);
        }
        turn.push(row, line);
        true
    }

    /// A value, or the reference that stands for it.
    fn write_value(&mut self, value: &Expr, computed: i64) -> serde_json::Value {
        match value {
            Expr::Just(Term::Name(name)) if self.random.bool() => json!(format!("${name}")),
            Expr::Just(_) | Expr::Sum(..) | Expr::Less(..) | Expr::Remainder(..) => json!(computed),
        }
    }
}

impl Turn {
    fn compute(&self, value: &Expr) -> Option<i64> {
        value.value(&mut |name| self.values.get(name).copied())
    }

    fn judge(&self, condition: &Condition) -> Option<bool> {
        let value = (*self.values.get(&condition.name)?)?;
        Some(condition.holds(value))
    }

    /// A name gets a value, which may not be known.
    fn give(&mut self, name: &str, value: Option<Number>) {
        match value {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        };
        if let Some((_, written)) = &mut self.outside {
            written.insert(name.to_owned());
        }
    }

    /// Goes into a playbook that is shown under the line which calls it.
    fn enter(&mut self, parameters: &[String], arguments: &[i64]) {
        self.outside = Some((self.values.clone(), BTreeSet::new()));
        for (name, value) in parameters.iter().zip(arguments) {
            self.values.insert(name.clone(), Some(*value));
        }
    }

    fn write(&mut self, row: usize, key: &str, value: serde_json::Value) {
        self.push(row, json!({ "at": self.chat.rows[row].label, key: value }));
    }

    fn push(&mut self, row: usize, line: serde_json::Value) {
        self.lines.push(line.to_string());
        self.last_row = Some(row);
    }

    /// Writes a line's `at` and nothing else.
    fn name(&mut self, row: usize) {
        self.lines.push(json!({ "at": self.chat.rows[row].label }).to_string());
        self.last_row = None;
    }
}
