//! Programs at random, the same every time: calls up to six deep, tail calls of all forms, playbooks that can be
//! shown inside their callers and some that just cannot, loops, triggers, and few names that mean different
//! variables in different frames.

use fastrand::Rng;

use crate::optimiser::tree::{
    Action, Call, Callee, Condition, Expr, Line, Playbook, Program, Style, TOOLS, Term, Trigger,
};

/// What the user answers, in order.
pub(crate) const N_ANSWERS: usize = 12;

/// Names that the first playbook sets before anything else, so that every frame finds them somewhere.
const COMMON: [&str; 4] = ["a", "b", "c", "d"];
/// Names that only a playbook which has returned has set: they are among the others.
const LEFT_BEHIND: [&str; 2] = ["h", "k"];
const DECLARED: [&str; 3] = ["g1", "g2", "g3"];

/// What a playbook is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Main,
    /// Sets names that join the others.
    Setup,
    Ordinary,
    /// At most five lines, no call of a playbook, no loop, `Return` only at the end.
    Short,
    /// Short but for one thing.
    AlmostShort,
    /// Calls itself as its last act, with a counter.
    TailRecursive,
    /// Calls itself and goes on with the result.
    Recursive,
    Triggered,
}

struct Generator {
    random: Rng,
    has_triggers: bool,
    roles: Vec<Role>,
    parameters: Vec<Vec<String>>,
    n_tags: usize,
    n_counters: usize,
}

/// What lines of a playbook can use.
struct Around {
    playbook: usize,
    readable: Vec<String>,
    /// Playbooks that may be called.
    callees: Vec<usize>,
    nesting: usize,
}

/// Makes a program.
pub(crate) fn generate(random: &mut Rng, has_triggers: bool) -> Program {
    let mut generator = Generator {
        random: Rng::with_seed(random.u64(..)),
        has_triggers: has_triggers && random.u8(..3) > 0,
        roles: Vec::new(),
        parameters: Vec::new(),
        n_tags: 0,
        n_counters: 0,
    };
    generator.program()
}

impl Generator {
    fn program(&mut self) -> Program {
        self.roles = vec![Role::Main];
        if self.random.bool() {
            self.roles.push(Role::Setup);
        }
        for _ in 0..self.random.usize(1..=6) {
            let role = match self.random.u8(..10) {
                0..=2 => Role::Ordinary,
                3..=5 => Role::Short,
                6 => Role::AlmostShort,
                7 | 8 => Role::TailRecursive,
                _ => Role::Recursive,
            };
            self.roles.push(role);
        }
        if self.has_triggers {
            let n = self.random.usize(1..=2);
            self.roles.extend(std::iter::repeat_n(Role::Triggered, n));
        }
        self.parameters = (0..self.roles.len()).map(|index| self.make_parameters(self.roles[index])).collect();
        let playbooks = (0..self.roles.len()).map(|index| self.playbook(index)).collect();
        Program { playbooks, declared: DECLARED.iter().map(|name| (*name).to_owned()).collect() }
    }

    fn make_parameters(&mut self, role: Role) -> Vec<String> {
        let counter = matches!(role, Role::TailRecursive | Role::Recursive).then(|| "n".to_owned());
        let n = match role {
            Role::Main | Role::Setup | Role::Triggered => 0,
            Role::Ordinary | Role::Short | Role::AlmostShort | Role::TailRecursive | Role::Recursive => {
                self.random.usize(..=2)
            }
        };
        // Parameters often have the names of the callers' variables.
        let mut names = vec!["a".to_owned(), "b".to_owned(), "p".to_owned(), "q".to_owned()];
        self.random.shuffle(&mut names);
        counter.into_iter().chain(names.into_iter().take(n)).collect()
    }

    fn playbook(&mut self, index: usize) -> Playbook {
        let role = self.roles[index];
        let has_setup = self.roles.get(1) == Some(&Role::Setup);
        let mut readable: Vec<String> = self.parameters[index].iter().filter(|name| *name != "n").cloned().collect();
        readable.extend(COMMON.iter().chain(&DECLARED).map(|name| (*name).to_owned()));
        if has_setup && role != Role::Setup {
            readable.extend(LEFT_BEHIND.iter().map(|name| (*name).to_owned()));
        }
        let callees = (index + 1..self.roles.len())
            .filter(|&callee| !matches!(self.roles[callee], Role::Triggered | Role::Setup))
            .filter(|_| !matches!(role, Role::Short | Role::Setup))
            .collect();
        let mut around = Around { playbook: index, readable, callees, nesting: 0 };
        let trigger = (role == Role::Triggered).then(|| {
            let name = self.pick(&DECLARED).to_owned();
            if self.random.bool() { Trigger::More(name, self.random.i64(1..5)) } else { Trigger::Changes(name) }
        });
        let lines = match role {
            Role::Main => self.main(&mut around),
            Role::Setup => LEFT_BEHIND.iter().map(|name| self.first_value(name)).collect(),
            Role::Ordinary | Role::Triggered => {
                let n = self.random.usize(1..=3);
                let mut lines = self.lines(&around, n);
                lines.extend(self.ending(&around));
                lines
            }
            Role::Short => self.short(&around),
            Role::AlmostShort => {
                let mut lines = self.short(&around);
                match self.random.u8(..3) {
                    0 => lines.insert(0, self.loop_line(&around)),
                    1 => {
                        let then = Action::Return(self.expr(&around));
                        lines.insert(0, self.conditional(&around, then));
                    }
                    _ => {
                        while lines.len() < 6 {
                            lines.insert(0, self.simple_line(&around));
                        }
                    }
                }
                lines
            }
            Role::TailRecursive => self.tail_recursive(&around),
            Role::Recursive => self.recursive(&around),
        };
        let name = format!("{}{index}", if trigger.is_some() { "Watch" } else { "Part" });
        Playbook { name, parameters: self.parameters[index].clone(), trigger, lines }
    }

    fn main(&mut self, around: &mut Around) -> Vec<Line> {
        let mut lines: Vec<Line> = COMMON.iter().map(|name| self.first_value(name)).collect();
        if self.roles.get(1) == Some(&Role::Setup) {
            let call = Call { callee: Callee::Playbook(1), arguments: Vec::new(), result: None };
            lines.push(self.line(Action::Call(call)));
        }
        let n = self.random.usize(2..=5);
        lines.extend(self.lines(around, n));
        lines.extend(self.ending(around));
        lines
    }

    fn short(&mut self, around: &Around) -> Vec<Line> {
        let n = self.random.usize(1..=4);
        let mut lines: Vec<Line> = (0..n).map(|_| self.simple_line(around)).collect();
        if self.random.bool() {
            let action = Action::Return(self.expr(around));
            lines.push(self.line(action));
        }
        lines
    }

    fn tail_recursive(&mut self, around: &Around) -> Vec<Line> {
        let n = self.random.usize(..=2);
        let mut lines: Vec<Line> = (0..n).map(|_| self.simple_line(around)).collect();
        let condition = Condition { name: "n".to_owned(), is_more: true, bound: 0 };
        let mut call = self.call(around, around.playbook, None);
        call.arguments[0] = Expr::Less(Term::Name("n".to_owned()), 1);
        let style = if self.random.bool() { Style::Exact } else { Style::Half };
        let finish = Action::Return(self.expr(around));
        match self.random.u8(..4) {
            0 => {
                let then = Some(Box::new(Action::ReturnCall(call)));
                lines.push(Line { action: Action::If { condition, then }, style, children: Vec::new() });
                lines.push(self.line(finish));
            }
            1 => {
                let then = Some(Box::new(Action::Call(call)));
                lines.push(Line { action: Action::If { condition, then }, style, children: Vec::new() });
            }
            2 => {
                let children = self.tail_call(around, call);
                lines.push(Line { action: Action::If { condition, then: None }, style, children });
                let children = vec![self.line(finish)];
                let style = if style == Style::Exact { Style::Exact } else { Style::Half };
                lines.push(Line { action: Action::Otherwise, style, children });
            }
            _ => {
                let done = Condition { name: "n".to_owned(), is_more: false, bound: 1 };
                let children = vec![self.line(finish)];
                lines.push(Line { action: Action::If { condition: done, then: None }, style, children });
                lines.extend(self.tail_call(around, call));
            }
        }
        lines
    }

    fn recursive(&mut self, around: &Around) -> Vec<Line> {
        let condition = Condition { name: "n".to_owned(), is_more: false, bound: 1 };
        let style = if self.random.bool() { Style::Exact } else { Style::Half };
        let then = Action::Return(self.expr(around));
        let children = vec![self.line(then)];
        let mut lines = vec![Line { action: Action::If { condition, then: None }, style, children }];
        let result = self.pick(&["a", "b", "r"]).to_owned();
        let mut call = self.call(around, around.playbook, Some(result.clone()));
        call.arguments[0] = Expr::Less(Term::Name("n".to_owned()), 1);
        lines.push(self.simple_line(around));
        lines.push(self.line(Action::Call(call)));
        let sum = Expr::Sum(Term::Name(result), Term::Name("n".to_owned()));
        lines.push(self.line(Action::Return(sum)));
        lines
    }

    /// A call as the last act, in each of the forms that need nothing afterwards.
    fn tail_call(&mut self, around: &Around, call: Call) -> Vec<Line> {
        let _ = around;
        match self.random.u8(..4) {
            0 => vec![self.line(Action::Call(call))],
            1 | 2 => vec![self.line(Action::ReturnCall(call))],
            _ => {
                let result = self.pick(&["r", "s", "c"]).to_owned();
                let style = if self.random.bool() || call.arguments.is_empty() { Style::Exact } else { Style::Half };
                let action = Action::Call(Call { result: Some(result.clone()), ..call });
                let value = Action::Return(Expr::Just(Term::Name(result)));
                vec![
                    Line { action, style, children: Vec::new() },
                    Line { action: value, style: Style::Exact, children: Vec::new() },
                ]
            }
        }
    }

    fn ending(&mut self, around: &Around) -> Vec<Line> {
        let Some(callee) = self.callee(around) else {
            let value = self.expr(around);
            return if self.random.bool() { vec![self.line(Action::Return(value))] } else { Vec::new() };
        };
        let call = self.call(around, callee, None);
        match self.random.u8(..6) {
            0 => {
                let value = self.expr(around);
                vec![self.line(Action::Return(value))]
            }
            1 => Vec::new(),
            2 => {
                let branch = self.conditional(around, Action::ReturnCall(call));
                let value = self.expr(around);
                vec![branch, self.line(Action::Return(value))]
            }
            3 => {
                let condition = self.condition(around);
                let style = if self.random.bool() { Style::Exact } else { Style::Half };
                let children = self.tail_call(around, call);
                let branch = Line { action: Action::If { condition, then: None }, style, children };
                let children = self.lines(&Around { nesting: 2, ..around.like() }, 1);
                vec![branch, Line { action: Action::Otherwise, style, children }]
            }
            _ => self.tail_call(around, call),
        }
    }

    fn conditional(&mut self, around: &Around, then: Action) -> Line {
        let condition = self.condition(around);
        let style = if self.random.bool() { Style::Exact } else { Style::Half };
        Line { action: Action::If { condition, then: Some(Box::new(then)) }, style, children: Vec::new() }
    }

    fn lines(&mut self, around: &Around, n: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for _ in 0..n {
            match self.random.u8(..10) {
                0..=3 => lines.push(self.simple_line(around)),
                4..=6 => match self.callee(around) {
                    Some(callee) => {
                        let result = self.random.bool().then(|| self.target(around));
                        let call = self.call(around, callee, result);
                        lines.push(self.line(Action::Call(call)));
                    }
                    None => lines.push(self.simple_line(around)),
                },
                7 | 8 if around.nesting < 2 => {
                    let inside = Around { nesting: around.nesting + 1, ..around.like() };
                    let condition = self.condition(around);
                    let style = if self.random.bool() { Style::Exact } else { Style::Half };
                    let n_inside = self.random.usize(1..=2);
                    let children = self.lines(&inside, n_inside);
                    lines.push(Line { action: Action::If { condition, then: None }, style, children });
                    if self.random.bool() {
                        let children = self.lines(&inside, 1);
                        lines.push(Line { action: Action::Otherwise, style, children });
                    }
                }
                9 if around.nesting < 2 => {
                    let line = self.loop_line(around);
                    if let Action::While(condition) = &line.action {
                        let target = condition.name.clone();
                        let value = Expr::Just(Term::Int(0));
                        let style = if self.random.bool() { Style::Exact } else { Style::Half };
                        lines.push(Line { action: Action::Set { target, value }, style, children: Vec::new() });
                    }
                    lines.push(line);
                }
                _ => lines.push(self.simple_line(around)),
            }
        }
        lines
    }

    fn loop_line(&mut self, around: &Around) -> Line {
        let mut inside = Around { nesting: around.nesting + 1, ..around.like() };
        let kind = if self.roles[around.playbook] == Role::AlmostShort { 0 } else { self.random.u8(..3) };
        let n = self.random.usize(1..=2);
        match kind {
            0 => {
                let variable = self.pick(&["i", "j", "c", "p"]).to_owned();
                inside.readable.push(variable.clone());
                inside.readable.push(variable.clone());
                let items = (0..self.random.usize(..=3)).map(|_| self.random.i64(0..9)).collect();
                let children = self.lines(&inside, n);
                Line { action: Action::ForEach { variable, items }, style: Style::Exact, children }
            }
            1 => {
                let children = self.lines(&inside, n);
                Line { action: Action::Repeat(self.random.usize(..=3)), style: Style::Exact, children }
            }
            _ => {
                self.n_counters += 1;
                let name = format!("w{}", self.n_counters);
                let mut children = self.lines(&inside, n);
                let value = Expr::Sum(Term::Name(name.clone()), Term::Int(1));
                children.push(self.line(Action::Set { target: name.clone(), value }));
                let bound = self.random.i64(1..=3);
                let condition = Condition { name, is_more: false, bound };
                let style = if self.random.bool() { Style::Exact } else { Style::Half };
                Line { action: Action::While(condition), style, children }
            }
        }
    }

    /// A line that calls no playbook and has none nested under it.
    fn simple_line(&mut self, around: &Around) -> Line {
        let action = match self.random.u8(..12) {
            0..=3 => Action::Set { target: self.target(around), value: self.expr(around) },
            4..=7 => {
                self.n_tags += 1;
                let n = self.random.usize(..=2);
                let names = (0..n).map(|_| self.name(around)).collect();
                Action::Say { tag: format!("m{}", self.n_tags), names }
            }
            8 => Action::Ask { target: self.target(around) },
            _ => {
                let (name, n, is_reading) = TOOLS[self.random.usize(..TOOLS.len())];
                let arguments = (0..n).map(|_| self.expr(around)).collect();
                let result = (self.random.u8(..3) > 0).then(|| self.target(around));
                // A tool that only reads runs beside the lines behind it, and a trigger's playbook that these lines
                // call may run before the result is taken: then its order is nobody's promise.
                let result = result.filter(|_| !(is_reading && self.has_triggers));
                Action::Call(Call { callee: Callee::Tool(name), arguments, result })
            }
        };
        self.line(action)
    }

    /// The first value of a name: nothing reads it before.
    fn first_value(&mut self, name: &str) -> Line {
        let value = Expr::Just(Term::Int(self.random.i64(0..9)));
        let style = if self.random.bool() { Style::Exact } else { Style::Half };
        Line { action: Action::Set { target: name.to_owned(), value }, style, children: Vec::new() }
    }

    /// A line without nested ones, written in a way that there is for it.
    fn line(&mut self, action: Action) -> Line {
        let wanted = match self.random.u8(..10) {
            0..=2 => Style::Exact,
            3..=6 => Style::Half,
            _ => Style::Words,
        };
        let style = match (&action, wanted) {
            (Action::Ask { .. }, _) => Style::Half,
            (Action::Return(_), Style::Words) => Style::Half,
            (Action::Call(call) | Action::ReturnCall(call), Style::Half) if call.arguments.is_empty() => Style::Exact,
            (_, wanted) => wanted,
        };
        Line { action, style, children: Vec::new() }
    }

    fn callee(&mut self, around: &Around) -> Option<usize> {
        let n = around.callees.len();
        (n > 0).then(|| around.callees[self.random.usize(..n)])
    }

    fn call(&mut self, around: &Around, callee: usize, result: Option<String>) -> Call {
        let parameters = self.parameters[callee].clone();
        let arguments = parameters.iter().map(|name| match name.as_str() {
            "n" => Expr::Just(Term::Int(self.random.i64(1..=4))),
            _ => self.expr(around),
        });
        Call { callee: Callee::Playbook(callee), arguments: arguments.collect(), result }
    }

    fn condition(&mut self, around: &Around) -> Condition {
        Condition { name: self.name(around), is_more: self.random.bool(), bound: self.random.i64(1..9) }
    }

    fn expr(&mut self, around: &Around) -> Expr {
        let term = Term::Name(self.name(around));
        match self.random.u8(..6) {
            0 => Expr::Just(term),
            1 => Expr::Just(Term::Int(self.random.i64(0..9))),
            2 => Expr::Sum(term, Term::Int(self.random.i64(1..4))),
            3 => Expr::Sum(term, Term::Name(self.name(around))),
            4 => Expr::Less(term, self.random.i64(1..4)),
            _ => Expr::Remainder(term, self.random.i64(2..6)),
        }
    }

    fn name(&mut self, around: &Around) -> String {
        around.readable[self.random.usize(..around.readable.len())].clone()
    }

    /// A name to give a value to.
    fn target(&mut self, around: &Around) -> String {
        if self.has_triggers && self.random.u8(..3) == 0 {
            return self.pick(&DECLARED).to_owned();
        }
        let own: Vec<String> =
            around.readable.iter().filter(|name| !matches!(name.as_str(), "i" | "j")).cloned().collect();
        match self.random.u8(..6) {
            0 => "r".to_owned(),
            1 => self.pick(&LEFT_BEHIND).to_owned(),
            _ => own[self.random.usize(..own.len())].clone(),
        }
    }

    fn pick<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.random.usize(..names.len())]
    }
}

impl Around {
    fn like(&self) -> Around {
        Around {
            playbook: self.playbook,
            readable: self.readable.clone(),
            callees: self.callees.clone(),
            nesting: self.nesting,
        }
    }
}
