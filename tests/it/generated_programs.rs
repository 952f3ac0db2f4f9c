//! Programs at random, the same every time, for the properties that hold for any: one kind does everything with
//! secrets, the other makes values, calls, news and conversations of every size. What a model writes and what tools
//! answer is made up with them.

use std::fmt::Write as _;

use fastrand::Rng;
use playhouse::lang::SourceText;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::settings::{Barrier, OnUserMessage, Replan, Settings};

/// A program and what surrounds it.
pub(crate) struct Generated {
    pub(crate) files: Vec<SourceText>,
    pub(crate) arguments: Map,
    pub(crate) settings: Settings,
    /// Contents of secrets: nobody may see any of these.
    pub(crate) secrets: Vec<String>,
    pub(crate) kind: Kind,
}

/// What a program is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Secrets,
    Sizes,
}

/// The tools of both kinds, as test cases write them.
pub(crate) const TOOLS: [&str; 6] = [
    "Send(what, more = 1)",
    "Fetch(id = 1) read_only",
    "Confirm(what) ask",
    "Pay(sum) sum:user+code",
    "llm_generate(prompt) read_only",
    "Odd(what) read_only schema:{}",
];

/// Names that are declared secret.
pub(crate) const SECRET_NAMES: [&str; 4] = ["pin", "pins", "card", "code"];
const PLAIN_NAMES: [&str; 6] = ["x", "y", "z", "a", "t", "total"];
/// Values that are there from the start.
const SECRETS: [&str; 8] =
    ["$pin", "$pins", "$card", "$code", "[$pin, $card]", "$card.code", "{\"code\": $pin, \"list\": $pins}", "$pins[0]"];
const LABELS: [&str; 16] = [
    "01", "02", "03", "04", "05", "06", "01.01", "02.01", "02.02", "03.01", "01>01", "02>01", "03>02", "01>03",
    "02.01>01", "99",
];

fn pick<'a>(random: &mut Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

/// Makes the program of this kind.
pub(crate) fn generate(kind: Kind, random: &mut Rng) -> Generated {
    match kind {
        Kind::Secrets => secrets(random),
        Kind::Sizes => sizes(random),
    }
}

/// Something that is found wherever it is shown: nothing else looks like it.
fn content(random: &mut Rng, secrets: &mut Vec<String>) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ0123456789";
    let mut word =
        |n: usize| -> String { (0..n).map(|_| char::from(LETTERS[random.usize(..LETTERS.len())])).collect() };
    let (first, last) = (word(9), word(8));
    secrets.push(first.clone());
    // Some have signs that JSON writes in another way.
    let between = ["", "", "", "\"", "\n", " {$x} "][random.usize(..6)];
    if between.is_empty() {
        return first;
    }
    secrets.push(last.clone());
    format!("{first}{between}{last}")
}

/// A secret value of some shape.
pub(crate) fn secret_value(random: &mut Rng, secrets: &mut Vec<String>, depth: usize) -> Value {
    match random.u8(..if depth == 0 { 3 } else { 7 }) {
        0 | 1 => Value::from(content(random, secrets)),
        2 => {
            let number = random.i64(100_000_000_000..999_999_999_999);
            secrets.push(number.to_string());
            Value::Int(number)
        }
        3 | 4 => {
            let n = random.usize(1..=3);
            Value::list((0..n).map(|_| secret_value(random, secrets, depth - 1)).collect())
        }
        _ => secret_map(random, secrets, depth),
    }
}

fn secret_map(random: &mut Rng, secrets: &mut Vec<String>, depth: usize) -> Value {
    let mut map = Map::new();
    map.insert("code".into(), secret_value(random, secrets, depth - 1));
    map.insert("list".into(), Value::list(vec![secret_value(random, secrets, depth - 1)]));
    // Keys are contents as well.
    map.insert(content(random, secrets).into(), Value::Int(1));
    Value::map(map)
}

fn secrets(random: &mut Rng) -> Generated {
    let mut secrets = Vec::new();
    let mut arguments = Map::new();
    let mut declared = String::from("---\nvariables:\n  total: {type: int, value: 3}\n");
    for name in SECRET_NAMES {
        let (ty, value) = match name {
            "pin" => ("str", Value::from(content(random, &mut secrets))),
            "pins" => (
                "list",
                Value::list(vec![secret_value(random, &mut secrets, 1), secret_value(random, &mut secrets, 0)]),
            ),
            "card" => ("dict", secret_map(random, &mut secrets, 2)),
            _ => ("any", secret_value(random, &mut secrets, 2)),
        };
        let ty = if ty == "any" { String::new() } else { format!("type: {ty} | None, ") };
        if random.u8(..5) == 0 {
            // In the program's own text.
            let _ = writeln!(declared, "  {name}: {{{ty}value: {value}, secret: true}}");
        } else {
            let _ = writeln!(declared, "  {name}: {{{ty}secret: true}}");
            if random.u8(..8) > 0 {
                arguments.insert(name.into(), value);
            }
        }
    }
    let mut writer = Writer { random, text: declared + "---\n# Desk\n\nHandles keys.\n" };
    writer.playbook("Main", "### Triggers\n- At the beginning\n", 5);
    for heading in ["Sub($a)", "Deal($pin, $x = 3)", "Note($card: dict) -> str", "Short($code)"] {
        if writer.random.bool() {
            let most = if heading.starts_with("Short") { 2 } else { 4 };
            writer.playbook(heading, "", most);
        }
    }
    for (n, name) in ["Watch", "Look($pin)", "See($call = 1)"].iter().enumerate() {
        if writer.random.u8(..3) > 0 {
            let trigger = writer.trigger(n);
            writer.playbook(name, &format!("### Triggers\n- {trigger}\n"), 2);
        }
    }
    writer.text += "## Goal($x = 1)\nFind out what the $pin is for.\n";
    writer.text += "# Clerk\n## Do($v)\npublic: true\n### Steps\n- $w = $v\n- Think about $v\n- Return [$v, $w]\n";
    let text = std::mem::take(&mut writer.text);
    let mut files = vec![SourceText { name: "keys.md".into(), text }];
    if random.u8(..4) == 0 {
        files.push(plan(random));
    }
    let mut settings = settings(random);
    settings.max_replans = random.u32(..2);
    settings.replan = if random.bool() { Replan::Resume } else { Replan::Restart };
    Generated { files, arguments, settings, secrets, kind: Kind::Secrets }
}

fn settings(random: &mut Rng) -> Settings {
    Settings {
        budget: 60,
        max_session_turns: random.u32(1..6),
        turns: 40,
        inline_lines: [0, 5, 5][random.usize(..3)],
        explicit_lines: random.u8(..10) > 0,
        tail_calls: random.u8(..10) > 0,
        early_start: random.bool(),
        resume_fresh: random.u8(..4) == 0,
        classifier_first: random.bool(),
        barrier: if random.bool() { Barrier::All } else { Barrier::Effects },
        on_user_message: [OnUserMessage::Queue, OnUserMessage::Interrupt, OnUserMessage::Rollback][random.usize(..3)],
        shown_value_bytes: [40, 300, 2_000][random.usize(..3)],
        ..Settings::default()
    }
}

/// A plan that does something with its parameter `x`; every language has its own.
fn plan(random: &mut Rng) -> SourceText {
    let (name, text) = [
        (
            "Plan.jmp.json",
            r#"[{"seq_no":0,"type":"assign","parameters":{"a":["${x}", {"b":"${x}"}]}},
               {"seq_no":1,"type":"calling","parameters":{"tool":"Send","params":{"what":"${a}"},"output_vars":["u"]}},
               {"seq_no":2,"type":"assign","parameters":{"final_answer":"got ${x} ${a} ${u}"}}]"#,
        ),
        (
            "Plan.jmp.json",
            r#"[{"seq_no":0,"type":"jmp","parameters":{"condition_prompt":"Is ${x} odd?","jump_if_true":1,"jump_if_false":1}},
               {"seq_no":1,"type":"assign","parameters":{"final_answer":"${x}"}}]"#,
        ),
        (
            "Plan.jmp.json",
            r#"[{"seq_no":0,"type":"calling","parameters":{"tool":"Sub","params":{"a":"${x}"},"output_vars":"u"}},
               {"seq_no":1,"type":"calling","parameters":{"tool":"llm_generate","params":{"prompt":"${x}"},"output_vars":"v"}},
               {"seq_no":2,"type":"calling","parameters":{"tool":"Nope","params":{"what":"${u}"}}},
               {"seq_no":3,"type":"assign","parameters":{"final_answer":"${u}"}}]"#,
        ),
        (
            "Plan.branch.json",
            r#"[{"seq_no":0,"type":"assign","parameters":{"value":"about {{x}}","var_name":"a"}},
               {"seq_no":1,"type":"condition","parameters":{"prompt":"Is it so?","context":{"var":"a"},"true_branch":[],"false_branch":[]}},
               {"seq_no":2,"type":"assign","parameters":{"value":{"var":"x"},"var_name":"final_answer"}}]"#,
        ),
        ("Plan.yaml", "x:\nnote: \"Leave ${x} at ${x.code}.\"\nsent:\n  Send:\n    what: ${note}\nresult: ${sent}\n"),
        ("Plan.yaml", "x:\nsent:\n  Send:\n    what: ${x.nothing}\nresult: \"${x} ${sent.nothing}\"\n"),
        ("Plan.yaml", "x:\nsent:\n  Fetch:\n    id: ${x}\nresult: \"${x} ${sent[0]} ${x.plus(2, days)}\"\n"),
    ][random.usize(..7)];
    SourceText { name: name.into(), text: text.into() }
}

/// Writes lines that do anything with anything.
struct Writer<'r> {
    random: &'r mut Rng,
    text: String,
}

impl Writer<'_> {
    fn playbook(&mut self, heading: &str, head: &str, most: usize) {
        let _ = write!(self.text, "## {heading}\n{head}### Steps\n");
        if heading == "Main" {
            // Most of what is done later then has something to work on.
            for name in PLAIN_NAMES {
                if self.random.u8(..3) > 0 {
                    let n = self.random.usize(..SECRETS.len());
                    let _ = writeln!(self.text, "- ${name} = {}", SECRETS[n]);
                }
            }
        }
        for _ in 0..self.random.usize(1..=most) {
            self.line(0);
        }
        if self.random.bool() {
            let value = self.value(1);
            let _ = writeln!(self.text, "- Return {value}");
        }
    }

    fn name(&mut self) -> &'static str {
        let n = self.random.usize(..10);
        if n < 4 { SECRET_NAMES[n] } else { PLAIN_NAMES[n - 4] }
    }

    fn reference(&mut self) -> String {
        let path =
            ["", "", "", "", "[0]", ".code", ".list[0]", ".nothing", "[7]", ".code.deep"][self.random.usize(..10)];
        format!("${}{path}", self.name())
    }

    fn value(&mut self, depth: usize) -> String {
        match self.random.u8(..if depth == 0 { 6 } else { 14 }) {
            0..=4 | 8 => self.reference(),
            5 => pick(self.random, &["3", "\"a\"", "[]", "[1, 2]", "true", "2.5"]).to_owned(),
            6 => format!("[{}, {}]", self.value(depth - 1), self.value(depth - 1)),
            7 => format!("{{\"k\": {}}}", self.value(depth - 1)),
            9 => {
                let sign = pick(self.random, &["+", "+", "-", "*", "/", "%"]);
                format!("{} {sign} {}", self.value(depth - 1), self.value(depth - 1))
            }
            10 => format!("length of {}", self.reference()),
            11 => format!("-{}", self.reference()),
            12 => format!("({})", self.condition()),
            _ => format!("{} + 1", self.reference()),
        }
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.value(0), self.value(0));
        match self.random.u8(..14) {
            0 => format!("{left} > 3"),
            1 => format!("{left} is not more than {right}"),
            2 | 3 => format!("{left} == {right}"),
            4 => format!("{left} in [1, {right}]"),
            5 => format!("{left} contains {right}"),
            6 => format!("{left} is not empty"),
            7 | 8 => format!("{left} is provided"),
            9 => format!("not {left}"),
            10 | 11 => format!("{left} is not \"x\""),
            12 => format!("{left} != 1 and {right} != 2"),
            _ => left,
        }
    }

    fn call(&mut self) -> String {
        let (first, second) = (self.value(1), self.value(0));
        match self.random.u8(..15) {
            0 | 1 => format!("Send({first})"),
            2 => format!("Send({first}, more={second})"),
            3 => format!("Fetch({first})"),
            4 => "Fetch()".to_owned(),
            5 => format!("Confirm({first})"),
            6 => format!("Pay({first})"),
            7 => format!("llm_generate({first})"),
            8 => format!("Odd(what={first})"),
            9 | 10 => format!("Sub({first})"),
            11 => format!("Deal({first}, x={second})"),
            12 => format!("Note({first})"),
            13 => pick(self.random, &["Short($x)", "Short($pin)", "Goal($card)", "Plan(x=$pin)", "Plan(x=$card)"])
                .to_owned(),
            _ => format!("Clerk.Do({first})"),
        }
    }

    fn indented(&mut self, nesting: usize, line: &str) {
        let _ = writeln!(self.text, "{}- {line}", "  ".repeat(nesting));
    }

    fn line(&mut self, nesting: usize) {
        let name = self.name();
        let nests = nesting < 2;
        let line = match self.random.u8(..22) {
            0..=3 => format!("${name} = {}", self.value(2)),
            4 => format!("${name}:int = {}", self.value(1)),
            5 if nests => {
                let condition = self.condition();
                self.indented(nesting, &format!("If {condition}"));
                self.line(nesting + 1);
                if self.random.bool() {
                    self.indented(nesting, "Otherwise");
                    self.line(nesting + 1);
                }
                return;
            }
            6 => format!("If {}, return {}", self.condition(), self.value(1)),
            7 => format!("If {}, say \"so {{{}}}\"", self.condition(), self.reference()),
            8..=10 if nests => {
                let ty = pick(self.random, &["", "", "", ":int"]);
                let header = match self.random.u8(..6) {
                    0..=3 => format!("For each ${name}{ty} in {}", self.value(1)),
                    4 => format!("Repeat {} times", self.value(0)),
                    _ => format!("While {}", self.condition()),
                };
                self.indented(nesting, &header);
                for _ in 0..self.random.usize(1..=2) {
                    self.line(nesting + 1);
                }
                return;
            }
            11 | 12 => {
                let (first, second) = (self.reference(), self.reference());
                format!("Say \"it is {{{first}}} and {second}.\"")
            }
            13 | 14 => self.call(),
            15 | 16 => format!("${name} = {}", self.call()),
            17 => format!("Return {}", self.call()),
            18 => format!("Ask the user for ${name}"),
            19 => format!("Tell the user about {}", self.reference()),
            _ => format!("Think about ${name}"),
        };
        self.indented(nesting, &line);
    }

    fn trigger(&mut self, n: usize) -> String {
        if n == 2 {
            return pick(
                self.random,
                &["Before calling Send", "After calling Fetch", "When Send fails", "After calling Sub"],
            )
            .to_owned();
        }
        let name = self.name();
        match self.random.u8(..7) {
            0 => format!("When ${name} > 3"),
            1 => format!("When {}", self.condition()),
            2 => format!("When ${name} changes"),
            3 => format!("When ${name} sounds odd"),
            4 => "When the user is in a hurry".to_owned(),
            5 => "Every 10 seconds".to_owned(),
            _ => format!("When ${name}.code is \"x\""),
        }
    }
}

/// What a model writes that is asked to go on from a line: it knows the names and nothing else.
pub(crate) fn reply(kind: Kind, random: &mut Rng, here: Option<&str>) -> String {
    let n = random.usize(1..5);
    let mut text = String::new();
    for _ in 0..n {
        let at = match (random.u8(..8), here) {
            (0, _) | (1..=5, None) => String::new(),
            (1..=5, Some(here)) => format!("\"at\":\"{here}\","),
            _ => format!("\"at\":\"{}\",", pick(random, &LABELS)),
        };
        let act = match kind {
            Kind::Secrets => secret_act(random),
            Kind::Sizes => sized_act(random),
        };
        let _ = writeln!(text, "{{{at}{act}}}");
    }
    // On to the next line, more often than anything else.
    if let (Some(here), 0..=4) = (here, random.u8(..8)) {
        let _ = writeln!(text, "{{\"at\":\"{}\"}}", following(here));
    }
    text += pick(random, &["", "", "{\"wait\":\"user\"}\n", "{\"wait\":\"calls\"}\n", "prose\n", "{\"say\":\"cut $pi"]);
    text
}

/// The label that comes after another, if there is such a line: `03` after `02`, `02.02` after `02.01`.
fn following(label: &str) -> String {
    let start = label.rfind(['.', '>']).map_or(0, |at| at + 1);
    let number: u32 = label[start..].parse().unwrap_or(0);
    format!("{}{:02}", &label[..start], number + 1)
}

fn secret_act(random: &mut Rng) -> String {
    let mut writer = Writer { random, text: String::new() };
    let (name, one, two) = (writer.name(), writer.reference(), writer.reference());
    let callee = pick(
        writer.random,
        &["Send", "Fetch", "Sub", "Deal", "Note", "Pay", "llm_generate", "Nope", "Clerk.Do", "Plan", "Goal"],
    );
    let parameter = pick(writer.random, &["what", "a", "pin", "prompt", "x", "sum", "v"]);
    match writer.random.u8(..14) {
        0 | 1 => format!("\"set\":{{\"{name}\":\"{one}\"}}"),
        2 => format!("\"set\":{{\"{name}\":\"<{{{one}}}> and {{{two}}}\"}}"),
        3 => format!("\"set\":{{\"{name}\":[\"{one}\",{{\"k\":\"{two}\"}}],\"y\":7}}"),
        4 | 5 => format!("\"say\":\"It is {{{one}}}, {two} or ${name}.\""),
        6 => format!("\"call\":\"{callee}\",\"args\":{{\"{parameter}\":\"{one}\"}},\"as\":\"{name}\""),
        7 => format!("\"call\":\"{callee}\",\"args\":[\"{one}\"]"),
        8 => format!("\"call\":\"{callee}\",\"args\":[\"{one}\",\"{two}\",\"{one}\"]"),
        9 => format!("\"return\":\"{one}\""),
        10 => format!("\"return\":{{\"k\":\"{one}\"}}"),
        11 if writer.random.u8(..4) == 0 => format!("\"end\":\"because of {{{one}}}\""),
        11 | 12 => "\"think\":\"hm\"".to_owned(),
        _ => format!("\"set\":{{\"total\":\"{one}\"}}"),
    }
}

/// A text or list of about so many bytes.
pub(crate) fn sized_value(random: &mut Rng, n_bytes: usize) -> Value {
    let words = || Value::from("lorem ipsum ".repeat(n_bytes / 12 + 1));
    match random.u8(..5) {
        0 | 1 => words(),
        2 => Value::list((0..n_bytes / 8).map(|n| Value::Int(i64::try_from(1_000_000 + n).unwrap_or(0))).collect()),
        3 => Value::map((0..n_bytes / 20).map(|n| (format!("key{n}").into(), Value::Int(7))).collect()),
        _ => Value::list(vec![words(), words()]),
    }
}

fn sizes(random: &mut Rng) -> Generated {
    let mut settings = settings(random);
    settings.shown_value_bytes = [100, 300, 2_000][random.usize(..3)];
    settings.context_tokens = [1_000, 2_000, 8_000][random.usize(..3)];
    settings.value_bytes = [5_000, 40_000][random.usize(..2)];
    settings.conversation = [1, 10, 30][random.usize(..3)];
    settings.max_session_turns = random.u32(1..20);
    settings.budget = 400;
    let mut writer = Writer { random, text: "# Desk\n\nHandles much.\n".to_owned() };
    writer.sized_playbook("Main", "### Triggers\n- At the beginning\n", 6);
    for (heading, head) in [
        ("Sub($a)", ""),
        ("Short($a)", ""),
        ("Beat", "### Triggers\n- Every 1 second\n"),
        ("Quiet", "### Triggers\n- After 5 seconds of silence\n"),
        ("Change", "### Triggers\n- When $t changes\n- When $x is more than 3\n"),
        ("Odd", "### Triggers\n- When $t sounds odd\n- When the user is in a hurry\n- When $x and $y look odd\n"),
        ("Call", "### Triggers\n- After calling Fetch\n- When Send fails\n"),
    ] {
        if writer.random.bool() {
            let most = if heading.starts_with("Short") { 2 } else { 4 };
            writer.sized_playbook(heading, head, most);
        }
    }
    writer.text += "## Goal($x = 1)\nFind out what is wanted.\n";
    let text = std::mem::take(&mut writer.text);
    let files = vec![SourceText { name: "much.md".into(), text }];
    Generated { files, arguments: Map::new(), settings, secrets: Vec::new(), kind: Kind::Sizes }
}

impl Writer<'_> {
    fn sized_playbook(&mut self, heading: &str, head: &str, most: usize) {
        let _ = write!(self.text, "## {heading}\n{head}### Steps\n");
        for _ in 0..self.random.usize(1..=most) {
            self.sized_line(0);
        }
        let end =
            pick(self.random, &["Return $t", "Return $a", "Return 1", "Think about $t and $x", "Ask the user for $y"]);
        self.indented(0, end);
    }

    fn sized_line(&mut self, nesting: usize) {
        let name = pick(self.random, &["a", "t", "x", "y", "z"]);
        let other = pick(self.random, &["a", "t", "x", "y", "z"]);
        let n_rounds = [2, 5, 15, 40][self.random.usize(..4)];
        match self.random.u8(..18) {
            0 | 1 => {
                let value = sized_value(self.random, 200);
                self.indented(nesting, &format!("${name} = {value}"));
                // The value doubles with each round.
                let n_rounds = self.random.usize(1..=7);
                self.indented(nesting, &format!("Repeat {n_rounds} times"));
                self.indented(nesting + 1, &format!("${name} = ${name} + ${name}"));
            }
            2..=4 if nesting == 0 => {
                self.indented(0, &format!("Repeat {n_rounds} times"));
                self.sized_line(1);
                self.sized_line(1);
            }
            5 if nesting == 0 => {
                self.indented(0, &format!("For each ${name} in [${other}, 1, 2, ${other}]"));
                self.sized_line(1);
            }
            6 | 7 => self.indented(nesting, &format!("${name} = Fetch(${other})")),
            8 => self.indented(nesting, "Fetch()"),
            9 => self.indented(nesting, &format!("Send(${name}, more=${other})")),
            10 => self.indented(nesting, &format!("Say \"so: {{${name}}}\"")),
            11 => self.indented(nesting, &format!("${name} = Sub(${other})")),
            12 => self.indented(nesting, &format!("${name} = Short(${other})")),
            13 => {
                for n in 0..12 {
                    self.indented(nesting, &format!("$v{n} = ${name}"));
                }
            }
            14 => self.indented(nesting, &format!("If ${name} contains 3, say \"it is in {{${other}}}\"")),
            15 => self.indented(nesting, &format!("Tell the user what ${name} is about")),
            16 => self.indented(nesting, &format!("Ask the user for ${name}")),
            _ => self.indented(nesting, &format!("Think about ${name}, ${other} and $v3")),
        }
    }
}

fn sized_act(random: &mut Rng) -> String {
    let words = "many words of a model ".repeat([1, 5, 40][random.usize(..3)]);
    let (name, other) = (pick(random, &["a", "t", "x", "y", "z"]), pick(random, &["a", "t", "x", "y", "z"]));
    let n = random.usize(..1_000);
    match random.u8(..14) {
        0 => format!("\"set\":{{\"{name}\":\"{words}\"}}"),
        1 => format!("\"set\":{{\"{name}\":\"${other}\",\"t\":\"{n} {words}\",\"x\":{n},\"y\":\"${other}\"}}"),
        2 => format!("\"set\":{{\"{name}\":[\"${other}\",\"${other}\",\"${other}\"]}}"),
        3 => format!("\"set\":{{\"w{n}\":\"{words}\"}}"),
        4 | 5 => format!("\"say\":\"{words} {{${name}}} ${other}\""),
        6 => format!("\"call\":\"Fetch\",\"args\":[\"${name}\"],\"as\":\"{other}\""),
        7 => format!("\"call\":\"Send\",\"args\":{{\"what\":\"{{${name}}}{words}\"}}"),
        8 => format!("\"call\":\"Sub\",\"args\":[\"${name}\"],\"as\":\"{other}\""),
        9 => format!("\"call\":\"Nope{n}\",\"args\":[\"{words}\"]"),
        10 => format!("\"return\":\"${name}\""),
        11 => format!("\"think\":\"{words}\""),
        12 => format!("\"{words}\":3"),
        _ => format!("\"wait\":\"timer:PT{n}S\""),
    }
}
