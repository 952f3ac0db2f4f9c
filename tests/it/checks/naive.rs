//! The monitors against a naive evaluator: every form, on many traces that are the same every time. The evaluator is
//! written from the definitions (spec `evaluate.md`, section 3): for each binding, over all pairs of events, in square
//! time.

use std::sync::Arc;

use fastrand::Rng;
use playhouse::host::checks::{Checks, Verdict, verify};
use playhouse::host::events::{PublicBody, PublicEvent};
use playhouse::host::travel::Run;
use playhouse::lang::program::Program;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::fault::FaultKind;
use playhouse::vm::protocol::{CallKind, Origin, Timestamp, ToolSignature, TurnKind};

use crate::checks::checks;
use crate::declared_tool::tool;
use crate::world_parts::read_program;

/// Traces in the usual run; [`crate::seeded`] has more.
const N_TRACES: u64 = 2_000;

/// Values of arguments, and so of `$x` and `$y`.
const VALUES: [i64; 3] = [1, 2, 3];

/// What happens.
#[derive(Clone, Debug, PartialEq)]
enum Happens {
    Turn {
        id: u64,
        untaken: Vec<u64>,
    },
    Call {
        id: u64,
        tool: char,
        arguments: [i64; 2],
        written_in: Option<u64>,
    },
    /// `None`: it failed.
    Ends {
        id: u64,
        result: Option<i64>,
    },
    Says(&'static str),
    User(&'static str),
    Sets(i64),
    Finished,
    Failed,
}

/// A variable or a value, or nothing that is compared.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Any,
    Is(i64),
    Named(char),
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Made,
    Returns(i64),
    Fails,
}

#[derive(Clone, Copy, Debug)]
enum Atom {
    Call(char, [Argument; 2], Outcome),
    Says(&'static str),
    User(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Happens(Atom),
    Never(Atom),
    Times(Atom, usize),
    AtMost(usize, Atom, Option<char>),
    OnlyAfter(Atom, Atom),
    Knowing(Atom, Atom),
    OnlyIf(Atom, i64),
    After(Atom, Option<Atom>, Atom),
    Followed(Atom, Atom, Option<usize>),
    AtEnd(i64),
    Turns(usize),
}

/// What the definitions come to; broken with which event, where they tell.
#[derive(Debug, PartialEq)]
enum Naive {
    Holds,
    Broken(Option<usize>),
    Open,
}

/// A binding: the values of `$x` and `$y`.
type Binding = [i64; 2];

impl Atom {
    fn names(&self) -> Vec<char> {
        let Atom::Call(_, arguments, _) = self else { return Vec::new() };
        arguments
            .iter()
            .filter_map(|argument| if let Argument::Named(name) = argument { Some(*name) } else { None })
            .collect()
    }

    fn text(&self) -> String {
        match self {
            Atom::Says(text) => format!("says /{text}/"),
            Atom::User(text) => format!("user says /{text}/"),
            Atom::Call(tool, arguments, outcome) => {
                let texts = ["id", "n"].into_iter().zip(arguments).filter_map(|(name, argument)| match argument {
                    Argument::Any => None,
                    Argument::Is(value) => Some(format!("{name}: {value}")),
                    Argument::Named(variable) => Some(format!("{name}: ${variable}")),
                });
                let arguments = texts.collect::<Vec<_>>().join(", ");
                let outcome = match outcome {
                    Outcome::Made => String::new(),
                    Outcome::Returns(value) => format!(" returns {value}"),
                    Outcome::Fails => " fails".to_owned(),
                };
                format!("{tool}({arguments}){outcome}")
            }
        }
    }

    /// Whether an event is this, under a binding; `ends`: of a call its end, however.
    fn is(&self, trace: &[Happens], at: usize, binding: Binding, ends: bool) -> bool {
        let (tool, wanted, outcome) = match (self, &trace[at]) {
            (Atom::Says(text), Happens::Says(said)) | (Atom::User(text), Happens::User(said)) => {
                return said.contains(text);
            }
            (Atom::Call(tool, wanted, outcome), Happens::Call { .. } | Happens::Ends { .. }) => (tool, wanted, outcome),
            _ => return false,
        };
        let (id, ended) = if let Happens::Call { id, .. } = &trace[at] {
            (*id, None)
        } else if let Happens::Ends { id, result } = &trace[at] {
            (*id, Some(*result))
        } else {
            return false;
        };
        let is_moment = match (outcome, ended) {
            (Outcome::Made, None) => !ends,
            (Outcome::Made, Some(_)) => ends,
            (Outcome::Returns(value), Some(result)) => result == Some(*value),
            (Outcome::Fails, Some(result)) => result.is_none(),
            (Outcome::Returns(_) | Outcome::Fails, None) => false,
        };
        let made = trace.iter().find_map(|other| {
            let Happens::Call { id: of, tool, arguments, .. } = other else { return None };
            (*of == id).then_some((*tool, *arguments))
        });
        let Some((called, given)) = made else { return false };
        let fits = |(wanted, given): (&Argument, i64)| match wanted {
            Argument::Any => true,
            Argument::Is(value) => *value == given,
            Argument::Named(name) => binding[usize::from(*name == 'y')] == given,
        };
        is_moment && called == *tool && wanted.iter().zip(given).all(fits)
    }
}

impl Form {
    fn text(&self) -> String {
        match self {
            Form::Happens(atom) => atom.text(),
            Form::Never(atom) => format!("never {}", atom.text()),
            Form::Times(atom, n) => format!("{} {n} times", atom.text()),
            Form::AtMost(n, atom, None) => format!("at most {n} {}", atom.text()),
            Form::AtMost(n, atom, Some(per)) => format!("at most {n} {} per ${per}", atom.text()),
            Form::OnlyAfter(a, b) => format!("{} only after {}", a.text(), b.text()),
            Form::Knowing(a, b) => format!("{} only knowing {}", a.text(), b.text()),
            Form::OnlyIf(atom, value) => format!("{} only if $v is {value}", atom.text()),
            Form::After(a, None, b) => format!("after {} never {}", a.text(), b.text()),
            Form::After(a, Some(c), b) => format!("after {} until {} never {}", a.text(), c.text(), b.text()),
            Form::Followed(a, b, None) => format!("{} is followed by {}", a.text(), b.text()),
            Form::Followed(a, b, Some(n)) => format!("{} is followed by {} within {n} turns", a.text(), b.text()),
            Form::AtEnd(value) => format!("$v is {value}"),
            Form::Turns(n) => format!("turns at most {n}"),
        }
    }

    /// What it comes to by the definitions.
    fn judge(&self, trace: &[Happens]) -> Naive {
        let is_over = trace.iter().any(|event| matches!(event, Happens::Finished | Happens::Failed));
        let missing = |is_missing: bool| match (is_missing, is_over) {
            (false, _) => Naive::Holds,
            (true, true) => Naive::Broken(None),
            (true, false) => Naive::Open,
        };
        let all: Vec<Binding> = VALUES.iter().flat_map(|x| VALUES.map(|y| [*x, y])).collect();
        let n = trace.len();
        // The first event with which some binding is broken.
        let first = |is_broken: &dyn Fn(Binding, usize) -> bool| {
            (0..n).find(|at| all.iter().any(|binding| is_broken(*binding, *at)))
        };
        let safety = |is_broken: &dyn Fn(Binding, usize) -> bool| match first(is_broken) {
            Some(at) => Naive::Broken(Some(at)),
            None => Naive::Holds,
        };
        let is = |atom: &Atom, at: usize, binding: Binding| atom.is(trace, at, binding, false);
        let n_before = |atom: &Atom, at: usize, binding: Binding| (0..=at).filter(|i| is(atom, *i, binding)).count();
        let set = |at: usize| {
            trace[..at].iter().rev().find_map(|event| if let Happens::Sets(v) = event { Some(*v) } else { None })
        };
        let n_turns = |from: usize, to: usize| {
            trace[from + 1..=to].iter().filter(|event| matches!(event, Happens::Turn { .. })).count()
        };
        match self {
            Form::Happens(atom) => missing(!all.iter().any(|b| (0..n).any(|at| is(atom, at, *b)))),
            Form::Never(atom) => safety(&|b, at| is(atom, at, b)),
            Form::AtMost(most, atom, None) => safety(&|b, at| is(atom, at, b) && n_before(atom, at, b) > *most),
            Form::AtMost(most, atom, Some(per)) => safety(&|b, at| {
                // Of all bindings with this value of the one name.
                let slot = usize::from(*per == 'y');
                let like: Vec<&Binding> = all.iter().filter(|other| other[slot] == b[slot]).collect();
                let count = (0..=at).filter(|i| like.iter().any(|b| is(atom, *i, **b))).count();
                is(atom, at, b) && count > *most
            }),
            Form::Times(atom, times) => match first(&|b, at| is(atom, at, b) && n_before(atom, at, b) > *times) {
                Some(at) => Naive::Broken(Some(at)),
                None => {
                    // Without names there is one binding; with names those that occur.
                    let is_few = |b: &Binding| n > 0 && n_before(atom, n - 1, *b) < *times;
                    let occurs = |b: &&Binding| atom.names().is_empty() || (0..n).any(|at| is(atom, at, **b));
                    missing(all.iter().filter(occurs).any(is_few))
                }
            },
            Form::OnlyAfter(a, b) => safety(&|s, at| is(a, at, s) && !(0..at).any(|j| is(b, j, s))),
            Form::Knowing(a, b) => safety(&|s, at| {
                let Happens::Call { written_in, .. } = &trace[at] else { return false };
                let knows = |j: usize| {
                    let Happens::Ends { id, .. } = &trace[j] else { return false };
                    let took = |event: &Happens, turn: u64| matches!(event, Happens::Turn { id: of, untaken } if *of == turn && !untaken.contains(id));
                    // The turn that wrote it began after the result was taken.
                    written_in.is_none_or(|turn| trace[j + 1..].iter().any(|event| took(event, turn)))
                };
                is(a, at, s) && !(0..at).any(|j| b.is(trace, j, s, true) && knows(j))
            }),
            Form::OnlyIf(atom, value) => safety(&|s, at| is(atom, at, s) && set(at) != Some(*value)),
            Form::After(a, until, b) => safety(&|s, j| {
                let is_ended = |i: usize| until.is_some_and(|c| (i + 1..j).any(|m| is(&c, m, s)));
                is(b, j, s) && (0..j).any(|i| is(a, i, s) && !is_ended(i))
            }),
            Form::Followed(a, b, within) => {
                let in_time = |i: usize, j: usize| within.is_none_or(|n| n_turns(i, j) <= n);
                let is_late = |i: usize, at: usize| within.is_some_and(|n| n_turns(i, at) > n);
                let open = |s: &Binding, i: usize| is(a, i, *s) && !(i + 1..n).any(|j| is(b, j, *s) && in_time(i, j));
                let late = (0..n).find(|at| all.iter().any(|s| (0..*at).any(|i| open(s, i) && is_late(i, *at))));
                match late {
                    Some(at) => Naive::Broken(Some(at)),
                    None => missing(all.iter().any(|s| (0..n).any(|i| open(s, i)))),
                }
            }
            Form::AtEnd(value) => missing(set(n) != Some(*value)),
            Form::Turns(most) => safety(&|_, at| {
                matches!(trace[at], Happens::Turn { .. }) && n_turns(0, at) + usize::from(is_turn(&trace[0])) > *most
            }),
        }
    }
}

fn is_turn(event: &Happens) -> bool {
    matches!(event, Happens::Turn { .. })
}

fn atom(random: &mut Rng, names: &[char]) -> Atom {
    match random.u8(0..10) {
        0 if names.is_empty() => Atom::Says("no"),
        1 if names.is_empty() => Atom::User("yes"),
        _ => {
            let mut argument = || match random.u8(0..5) {
                0 => Argument::Is(VALUES[random.usize(..3)]),
                1 | 2 if !names.is_empty() => Argument::Named(names[random.usize(..names.len())]),
                _ => Argument::Any,
            };
            let arguments = [argument(), argument()];
            let outcome = match random.u8(0..6) {
                0 => Outcome::Returns(random.i64(0..2)),
                1 => Outcome::Fails,
                _ => Outcome::Made,
            };
            Atom::Call(random.char('A'..='C'), arguments, outcome)
        }
    }
}

/// An atom that only a moment of a call can be.
fn made(atom: Atom) -> Atom {
    match atom {
        Atom::Call(tool, arguments, _) => Atom::Call(tool, arguments, Outcome::Made),
        Atom::Says(_) | Atom::User(_) => Atom::Call('A', [Argument::Any; 2], Outcome::Made),
    }
}

fn known(atom: Atom) -> Atom {
    if let Atom::Call(..) = atom { atom } else { Atom::Call('B', [Argument::Any; 2], Outcome::Made) }
}

fn form(random: &mut Rng) -> Form {
    let names: &[char] = [&[][..], &['x'], &['x', 'y']][random.usize(..3)];
    let first = atom(random, names);
    let bound = first.names();
    let second = atom(random, &bound);
    match random.u8(0..12) {
        0 => Form::Happens(first),
        1 => Form::Never(first),
        2 => Form::Times(first, random.usize(0..4)),
        3 => Form::AtMost(random.usize(0..3), first, random.choice(&bound).copied()),
        4 | 5 => Form::OnlyAfter(first, second),
        6 => {
            let first = made(first);
            Form::Knowing(first, known(atom(random, &first.names())))
        }
        7 => Form::OnlyIf(first, random.i64(0..3)),
        8 | 9 => {
            let never = atom(random, names);
            let both: Vec<char> = bound.iter().copied().chain(never.names()).collect();
            let until = random.bool().then(|| atom(random, &both));
            Form::After(first, until, never)
        }
        10 => Form::Followed(first, second, random.bool().then(|| random.usize(0..4))),
        _ => match random.bool() {
            true => Form::AtEnd(random.i64(0..3)),
            false => Form::Turns(random.usize(0..4)),
        },
    }
}

fn trace(random: &mut Rng) -> Vec<Happens> {
    let (mut trace, mut turn, mut calls, mut running) = (Vec::new(), None, 0, Vec::new());
    let mut ended: Vec<u64> = Vec::new();
    for _ in 0..random.usize(1..25) {
        trace.push(match random.u8(0..12) {
            0 | 1 => {
                turn = Some(turn.map_or(1, |turn| turn + 1));
                // Most results have been taken when a turn begins.
                let untaken = ended.iter().copied().filter(|_| random.u8(0..5) == 0).collect();
                Happens::Turn { id: turn.unwrap(), untaken }
            }
            2..=5 => {
                calls += 1;
                running.push(calls);
                let arguments = [VALUES[random.usize(..3)], VALUES[random.usize(..3)]];
                let written_in = turn.filter(|_| random.u8(0..3) > 0);
                Happens::Call { id: calls, tool: random.char('A'..='C'), arguments, written_in }
            }
            6..=8 if !running.is_empty() => {
                let id = running.remove(random.usize(..running.len()));
                ended.push(id);
                Happens::Ends { id, result: random.bool().then(|| random.i64(0..2)) }
            }
            9 => Happens::Says(["no, never", "well"][random.usize(..2)]),
            10 => Happens::User(["yes please", "what"][random.usize(..2)]),
            _ => Happens::Sets(random.i64(0..3)),
        });
    }
    match random.u8(0..4) {
        0 => trace.push(Happens::Finished),
        1 => trace.push(Happens::Failed),
        _ => {}
    }
    trace
}

fn event(happens: &Happens) -> PublicEvent {
    let mut turn = None;
    let body = match happens {
        Happens::Turn { id, untaken } => {
            turn = Some(*id);
            PublicBody::TurnStarted { kind: TurnKind::Start, messages: 1, prompt_tokens: 1, untaken: untaken.clone() }
        }
        Happens::Call { id, tool, arguments, written_in } => {
            let arguments =
                ["id", "n"].into_iter().zip(arguments).map(|(name, value)| (name.into(), Value::Int(*value)));
            PublicBody::CallQueued {
                call: *id,
                callable: tool.to_string().into(),
                kind: CallKind::Tool,
                args: Value::map(arguments.collect::<Map>()),
                written_in: *written_in,
            }
        }
        Happens::Ends { id, result } => PublicBody::CallFinished {
            call: *id,
            callable: "".into(),
            kind: CallKind::Tool,
            result: result.map(Value::Int),
            error: result.is_none().then(|| "no".into()),
            ms: 0,
        },
        Happens::Says(text) => PublicBody::Said { text: (*text).into() },
        Happens::User(text) => PublicBody::UserMessage { text: (*text).into() },
        Happens::Sets(value) => PublicBody::VariableSet {
            variable: "v".into(),
            value: Value::Int(*value),
            old: None,
            is_local: true,
            origin: Origin::CODE,
        },
        Happens::Finished => PublicBody::Finished { value: Value::Null },
        Happens::Failed => PublicBody::Failed { fault: FaultKind::Limit, message: "".into() },
    };
    PublicEvent {
        seq: 1,
        mark: None,
        time: Timestamp::default(),
        session: "s".into(),
        name: body.name(),
        agent: None,
        playbook: None,
        plan: None,
        line: None,
        depth: None,
        turn,
        body,
    }
}

fn run(program: &Arc<Program>, trace: &[Happens]) -> Run {
    Run::listened("s".into(), program.clone(), trace.iter().map(event).collect())
}

fn tools() -> Vec<ToolSignature> {
    ["A(id, n)", "B(id, n)", "C(id, n)"].map(tool).into()
}

fn program(tools: &[ToolSignature]) -> Arc<Program> {
    read_program("# P\n## Main\n### Steps\n- Say \"Hello\"\n", tools)
}

/// The monitor of one form on one trace, and the definitions.
fn compare(program: &Arc<Program>, checks: &Checks, form: &Form, trace: &[Happens]) {
    let verified = verify(checks, &run(program, trace)).remove(0);
    let (expected, found) = (form.judge(trace), verified.verdict);
    let is_same = match (&expected, &found) {
        (Naive::Holds, Verdict::Holds) | (Naive::Open, Verdict::Open { .. }) => true,
        (Naive::Broken(at), Verdict::Broken(breach)) => at.is_none_or(|at| at == breach.event),
        _ => false,
    };
    assert!(is_same, "{}\n{trace:#?}\nby the definitions {expected:?}, and the monitor says {found:?}", form.text());
}

/// So many traces, each with a check of its own; answers how often which verdict came.
pub(crate) fn monitors_are_right(n_traces: u64) -> [u64; 3] {
    let tools = tools();
    let program = program(&tools);
    let mut counts = [0; 3];
    for seed in 0..n_traces {
        let mut random = Rng::with_seed(seed);
        let (form, trace) = (form(&mut random), trace(&mut random));
        let checks = checks(&form.text(), &program, &tools).unwrap_or_else(|findings| panic!("{findings}"));
        compare(&program, &checks, &form, &trace);
        counts[match form.judge(&trace) {
            Naive::Holds => 0,
            Naive::Broken(_) => 1,
            Naive::Open => 2,
        }] += 1;
    }
    counts
}

#[test]
fn monitors_agree_with_the_definitions() {
    let counts = monitors_are_right(N_TRACES);
    // Each verdict is tried often enough to mean something.
    assert!(counts.iter().all(|count| *count > N_TRACES / 50), "{counts:?}");
}

#[test]
fn of_too_many_bindings_nothing_is_said() {
    let tools = tools();
    let program = program(&tools);
    let checks = checks("A($x) only after B($x)", &program, &tools).unwrap();
    let calls = |n: i64| -> Vec<Happens> {
        let call = |id: i64| Happens::Call { id: id as u64, tool: 'B', arguments: [id, 0], written_in: None };
        (0..n).map(call).collect()
    };
    assert_eq!(verify(&checks, &run(&program, &calls(10_000)))[0].verdict, Verdict::Holds);
    let found = &verify(&checks, &run(&program, &calls(10_001)))[0].verdict;
    assert_eq!(*found, Verdict::Undecided { why: "it is about more than 10000 values".to_owned() });
}
