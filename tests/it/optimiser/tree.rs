//! The sub-language in which programs are generated: a tree of lines, each of which means one thing and can be
//! written in several ways. What is written in words the interpreter cannot read; the model looks it up.

use std::collections::HashMap;
use std::fmt::Write;

/// A number; none: null, what a playbook without `Return` gives.
pub(crate) type Number = Option<i64>;

/// The smallest piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    Int(i64),
    Name(String),
}

/// What a line computes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Just(Term),
    Sum(Term, Term),
    Less(Term, i64),
    Remainder(Term, i64),
}

/// What a line decides on: a comparison with a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) is_more: bool,
    pub(crate) bound: i64,
}

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Callee {
    Tool(&'static str),
    /// By its position in the program.
    Playbook(usize),
}

/// A call with its arguments in the order of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) result: Option<String>,
}

/// What a line means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Set { target: String, value: Expr },
    Say { tag: String, names: Vec<String> },
    Ask { target: String },
    Call(Call),
    Return(Expr),
    ReturnCall(Call),
    If { condition: Condition, then: Option<Box<Action>> },
    Otherwise,
    ForEach { variable: String, items: Vec<i64> },
    Repeat(usize),
    While(Condition),
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// The interpreter reads all of it.
    Exact,
    /// The interpreter reads what kind of line it is, and its values or its condition are in words.
    Half,
    /// The interpreter reads nothing.
    Words,
}

/// A line and those nested under it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) action: Action,
    pub(crate) style: Style,
    pub(crate) children: Vec<Line>,
}

/// When a playbook is called without a line that calls it. The names are declared ones.
#[derive(Clone, Debug)]
pub(crate) enum Trigger {
    More(String, i64),
    Changes(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Playbook {
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) lines: Vec<Line>,
}

/// A program; it begins with its first playbook.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) playbooks: Vec<Playbook>,
    /// Declared variables; each begins with 0.
    pub(crate) declared: Vec<String>,
}

/// Tools, with how many arguments they take and whether they only read.
pub(crate) const TOOLS: [(&str, usize, bool); 3] = [("Probe", 2, false), ("Record", 1, false), ("Peek", 1, true)];

/// What a tool answers: a function of its name and arguments.
pub(crate) fn answer(tool: &str, arguments: &[i64]) -> i64 {
    let seed = tool.bytes().fold(7_i64, |sum, byte| (sum * 31 + i64::from(byte)) % 1_009);
    arguments.iter().fold(seed, |sum, argument| (sum * 17 + argument.rem_euclid(1_009)) % 1_009) % 9
}

impl Term {
    pub(crate) fn name(&self) -> Option<&str> {
        if let Term::Name(name) = self { Some(name) } else { None }
    }

    fn write(&self) -> String {
        match self {
            Term::Int(int) => int.to_string(),
            Term::Name(name) => format!("${name}"),
        }
    }
}

impl Expr {
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Expr::Just(term) | Expr::Less(term, _) | Expr::Remainder(term, _) => term.name().into_iter().collect(),
            Expr::Sum(left, right) => left.name().into_iter().chain(right.name()).collect(),
        }
    }

    /// Its value; none if a name has none, or null.
    pub(crate) fn value(&self, read: &mut dyn FnMut(&str) -> Option<Number>) -> Option<i64> {
        let mut term = |term: &Term| match term {
            Term::Int(int) => Some(*int),
            Term::Name(name) => read(name)?,
        };
        Some(match self {
            Expr::Just(only) => term(only)?,
            Expr::Sum(left, right) => {
                let left = term(left)?;
                left + term(right)?
            }
            Expr::Less(from, n) => term(from)? - n,
            Expr::Remainder(of, n) => term(of)?.rem_euclid(*n),
        })
    }

    fn exact(&self) -> String {
        match self {
            Expr::Just(term) => term.write(),
            Expr::Sum(left, right) => format!("{} + {}", left.write(), right.write()),
            Expr::Less(from, n) => format!("{} - {n}", from.write()),
            Expr::Remainder(of, n) => format!("{} % {n}", of.write()),
        }
    }

    fn words(&self) -> String {
        match self {
            Expr::Just(Term::Int(int)) => format!("the number {int}"),
            Expr::Just(term) => format!("the same as {}", term.write()),
            Expr::Sum(left, right) => format!("the sum of {} and {}", left.write(), right.write()),
            Expr::Less(from, n) => format!("what is {n} less than {}", from.write()),
            Expr::Remainder(of, n) => format!("the remainder of {} by {n}", of.write()),
        }
    }
}

impl Condition {
    pub(crate) fn holds(&self, value: i64) -> bool {
        if self.is_more { value > self.bound } else { value < self.bound }
    }

    fn exact(&self) -> String {
        format!("${} {} {}", self.name, if self.is_more { ">" } else { "<" }, self.bound)
    }

    fn words(&self) -> String {
        format!("${} looks {} than {}", self.name, if self.is_more { "bigger" } else { "smaller" }, self.bound)
    }
}

impl Call {
    fn write(&self, program: &Program, style: Style) -> String {
        let arguments = |write: &dyn Fn(&Expr) -> String| self.arguments.iter().map(write).collect::<Vec<_>>();
        let callee = program.callee_name(&self.callee);
        match style {
            Style::Exact => format!("{callee}({})", arguments(&Expr::exact).join(", ")),
            Style::Half => format!("{callee}({})", arguments(&Expr::words).join(", ")),
            Style::Words if self.arguments.is_empty() => format!("Let `{callee}` do its work"),
            Style::Words => format!("Let `{callee}` work with {}", arguments(&Expr::words).join(" and with ")),
        }
    }
}

impl Program {
    pub(crate) fn callee_name<'a>(&'a self, callee: &'a Callee) -> &'a str {
        match callee {
            Callee::Tool(name) => name,
            Callee::Playbook(index) => &self.playbooks[*index].name,
        }
    }

    /// The names of a callee's parameters.
    pub(crate) fn parameters(&self, callee: &Callee) -> Vec<String> {
        match callee {
            Callee::Tool(name) => {
                let n = TOOLS.iter().find(|(tool, ..)| tool == name).map_or(0, |(_, n, _)| *n);
                ["first", "second"][..n].iter().map(|name| (*name).to_owned()).collect()
            }
            Callee::Playbook(index) => self.playbooks[*index].parameters.clone(),
        }
    }

    /// A line as it stands in the program.
    pub(crate) fn text(&self, action: &Action, style: Style) -> String {
        match action {
            Action::Set { target, value } => match style {
                Style::Exact => format!("${target} = {}", value.exact()),
                Style::Half => format!("Set ${target} to {}", value.words()),
                Style::Words => format!("Work out {} for ${target}", value.words()),
            },
            Action::Say { tag, names } => match style {
                Style::Exact => format!("Say \"{}\"", write_speech(tag, names, &|name| format!("{{${name}}}"))),
                Style::Half => format!("Tell the user {}", write_speech(tag, names, &|name| format!("${name}"))),
                Style::Words => format!("Mention {}", write_speech(tag, names, &|name| format!("${name}"))),
            },
            Action::Ask { target } => format!("Ask the user for ${target}"),
            Action::Call(call) => {
                let text = call.write(self, style);
                match (&call.result, style) {
                    (Some(result), Style::Exact | Style::Half) => format!("${result} = {text}"),
                    (Some(result), Style::Words) => format!("{text}; ${result} is the answer"),
                    (None, _) => text,
                }
            }
            Action::Return(value) if style == Style::Exact => format!("Return {}", value.exact()),
            Action::Return(value) => format!("Return {}", value.words()),
            Action::ReturnCall(call) if style == Style::Words => {
                format!("{} and give back what it gives", call.write(self, style))
            }
            Action::ReturnCall(call) => format!("Return {}", call.write(self, style)),
            Action::If { condition, then } => {
                let condition = if style == Style::Exact { condition.exact() } else { condition.words() };
                match then {
                    Some(then) => format!("If {condition}, {}", self.text_after_condition(then)),
                    None => format!("If {condition}"),
                }
            }
            Action::Otherwise => "Otherwise".to_owned(),
            Action::ForEach { variable, items } => {
                let items: Vec<String> = items.iter().map(i64::to_string).collect();
                format!("For each ${variable} in [{}]", items.join(", "))
            }
            Action::Repeat(n) => format!("Repeat {n} times"),
            Action::While(condition) if style == Style::Exact => format!("While {}", condition.exact()),
            Action::While(condition) => format!("As long as {}", condition.words()),
        }
    }

    /// What stands after a condition on the same line.
    fn text_after_condition(&self, then: &Action) -> String {
        self.text(then, Style::Exact).replacen("Return", "return", 1)
    }

    /// The lines that a line is in the listing, with how each is written and what it means: what stands after a
    /// condition is a line of its own there.
    pub(crate) fn listed(&self, line: &Line) -> Vec<(String, Style, Action)> {
        let one = |action: Action| (self.text(&action, line.style), line.style, action);
        if let Action::If { condition, then: Some(then) } = &line.action {
            let condition = one(Action::If { condition: condition.clone(), then: None });
            return vec![condition, (self.text_after_condition(then), Style::Exact, (**then).clone())];
        }
        vec![one(line.action.clone())]
    }

    /// The program as an author writes it.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("---\nvariables:\n");
        for name in &self.declared {
            let _ = writeln!(text, "  {name}: 0");
        }
        text.push_str("---\n# Generated\n");
        for (index, playbook) in self.playbooks.iter().enumerate() {
            let parameters: Vec<String> = playbook.parameters.iter().map(|name| format!("${name}")).collect();
            let _ = writeln!(text, "\n## {}({})", playbook.name, parameters.join(", "));
            let trigger = match &playbook.trigger {
                _ if index == 0 => Some("At the beginning".to_owned()),
                Some(Trigger::More(name, bound)) => Some(format!("When ${name} > {bound}")),
                Some(Trigger::Changes(name)) => Some(format!("When ${name} changes")),
                None => None,
            };
            if let Some(trigger) = trigger {
                let _ = writeln!(text, "### Triggers\n- {trigger}");
            }
            text.push_str("### Steps\n");
            self.write_lines(&playbook.lines, 0, &mut text);
        }
        text
    }

    fn write_lines(&self, lines: &[Line], depth: usize, text: &mut String) {
        for line in lines {
            let _ = writeln!(text, "{}- {}", "  ".repeat(depth), self.text(&line.action, line.style));
            self.write_lines(&line.children, depth + 1, text);
        }
    }

    /// What each line of the listing means, by its text.
    pub(crate) fn meanings(&self) -> HashMap<String, Action> {
        fn add(program: &Program, lines: &[Line], meanings: &mut HashMap<String, Action>) {
            for line in lines {
                for (text, _, action) in program.listed(line) {
                    let before = meanings.insert(text.clone(), action.clone());
                    assert!(before.is_none_or(|before| before == action), "two meanings of: {text}");
                }
                add(program, &line.children, meanings);
            }
        }
        let mut meanings = HashMap::new();
        self.playbooks.iter().for_each(|playbook| add(self, &playbook.lines, &mut meanings));
        meanings
    }

    /// All lines with their playbooks, in document order.
    pub(crate) fn all_lines(&self) -> Vec<(usize, &Line)> {
        fn add<'a>(playbook: usize, lines: &'a [Line], all: &mut Vec<(usize, &'a Line)>) {
            for line in lines {
                all.push((playbook, line));
                add(playbook, &line.children, all);
            }
        }
        let mut all = Vec::new();
        for (index, playbook) in self.playbooks.iter().enumerate() {
            add(index, &playbook.lines, &mut all);
        }
        all
    }

    /// Whether a change of a variable can call a playbook.
    pub(crate) fn has_triggers(&self) -> bool {
        self.playbooks.iter().any(|playbook| playbook.trigger.is_some())
    }
}

/// What is said: a word that nothing else says, and values.
pub(crate) fn write_speech(tag: &str, names: &[String], write: &dyn Fn(&str) -> String) -> String {
    names.iter().fold(tag.to_owned(), |text, name| format!("{text} {}", write(name)))
}
