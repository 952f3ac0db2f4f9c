//! Programs to explanations and diagnostics.

use std::collections::BTreeSet;

use playhouse::diagnostic::spelling::Spelling;
use playhouse::diagnostic::{Severity, render};
use playhouse::lang::analysis::Analysis;
use playhouse::lang::analysis::explain::explain;
use playhouse::lang::analysis::inlining::{INLINE_LINES, NotInlined};
use playhouse::lang::analysis::tail_calls::NoTailCall;
use playhouse::lang::expr;
use playhouse::lang::program::flow_graph::Node;
use playhouse::lang::program::{
    CallName, Mode, Parameter, Playbook, PlaybookId, Program, Signature, StepId, TriggerKind, Type,
};
use playhouse::lang::{ImportRequest, LoadOptions, Loaded, SourceText, load, trigger_examples};

use playhouse::span::FileId;

use crate::golden;
use crate::heap::bytes_allocated;
use crate::made_up::made_up;

pub(crate) fn load_case(name: &str, text: &str) -> Loaded {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/lang");
    let mut read = |request: &ImportRequest<'_>| {
        let name = resolve(request);
        let text = std::fs::read_to_string(folder.join(&name)).map_err(|_| "there is no such file".to_owned())?;
        Ok(SourceText { name, text })
    };
    let root = SourceText { name: name.to_owned(), text: text.to_owned() };
    load(vec![root], &mut read, &LoadOptions::default())
}

/// The imported path relative to the folder of all cases.
fn resolve(request: &ImportRequest<'_>) -> String {
    let mut parts: Vec<&str> = request.from.split('/').collect();
    parts.pop();
    for part in request.path.split('/') {
        if part == ".." {
            parts.pop();
        } else if part != "." {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[test]
fn programs() {
    golden::check("lang", &["md", "pb"], |name, text| {
        let loaded = load_case(name, text);
        let diagnostics = render(&loaded.diagnostics, &loaded.program.sources, false);
        format!("{}\n{diagnostics}", explain(&loaded.program))
    });
}

#[test]
fn older_programs_load_without_errors() {
    for (name, path) in golden::cases("lang/older", &["md", "pb"]) {
        let loaded = load_case(&format!("older/{name}"), &std::fs::read_to_string(path).unwrap());
        let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{name}: {}", render(&loaded.diagnostics, &loaded.program.sources, false));
    }
}

#[test]
fn expressions() {
    golden::check("lang/expressions", &["txt"], |_, table| {
        let rows = table.lines().map(|source| match expr::parse(source, FileId(0), 0) {
            Ok(read) => format!("{source}\n    = {read}\n"),
            Err(error) => {
                let marker = " ".repeat(source[..error.span.start as usize].chars().count());
                format!("{source}\n{marker}^ {}\n", error.message)
            }
        });
        rows.collect()
    });
}

/// The machine asks this at every pop.
#[test]
fn names_from_follows_graph_and_calls() {
    let text = "# A\n## Main\n### Steps\n- $a = 1\n- Show $b\n- Helper($c)\n- Return $d\n\
                ## Helper($p)\n### Triggers\n- When $t > 3\n### Steps\n- Use $q\n- Return $p\n";
    let program = load_case("names.md", text).program;
    let (main, analysis) = (program.playbooks[0].id, Analysis::new(&program));
    let names = |from: Node| -> String {
        "abcdpqtx".chars().filter(|name| analysis.names_from(main, from).contains(&name.to_string().into())).collect()
    };
    let step = |label: &str| Node::Step(program.playbook(main).find_step(label).unwrap());
    assert_eq!(names(step("01")), "abcdpqt");
    assert_eq!(names(step("03")), "cdpqt");
    assert_eq!(names(step("04")), "d");
    assert_eq!(names(Node::End), "");
    assert!(analysis.names_from(main, step("03")).has_free_line(), "the helper has a free line");
    assert!(!analysis.names_from(main, step("04")).has_free_line());
}

#[test]
fn tools_are_known_and_an_open_world_only_warns() {
    let text = "# A\n## Main\n### Steps\n- $x = Search(\"a\", 3)\n- Serch(1)\n- Search\n- Return $x\n";
    let parameter = |name: &str, default| Parameter {
        name: name.into(),
        ty: Type::ANY,
        default,
        description: "".into(),
        span: None,
    };
    let tool = Signature {
        name: "Search".into(),
        parameters: vec![parameter("query", None), parameter("limit", Some(3.into()))],
        returns: Type::ANY,
        summary: "Searches.".into(),
    };
    for (open_world, severity) in [(false, Severity::Error), (true, Severity::Warning)] {
        let root = SourceText { name: "a.md".to_owned(), text: text.to_owned() };
        let options = LoadOptions { tools: std::slice::from_ref(&tool), open_world, ..LoadOptions::default() };
        let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &options);
        let [unknown] = &loaded.diagnostics[..] else { panic!("{:?}", loaded.diagnostics) };
        assert_eq!((unknown.code, unknown.severity), ("unknown-callee", severity));
        assert_eq!(unknown.fix.as_ref().unwrap().replacement, "Search");
    }
}

/// The triggers of a case, each with its text.
fn trigger_kinds(name: &str) -> Vec<(String, TriggerKind)> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/lang/triggers").join(name);
    let program = load_case(name, &std::fs::read_to_string(path).unwrap()).program;
    let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
    triggers.map(|trigger| (trigger.text.to_string(), trigger.kind.clone())).collect()
}

/// What is in doubt costs a model call and fires on what its author meant; the other way round is worse.
#[test]
fn near_misses_are_left_to_the_classifier() {
    let near_misses = trigger_kinds("near_misses.md");
    for (text, kind) in &near_misses {
        assert_eq!(*kind, TriggerKind::Semantic, "{text}");
    }
    let mut certain = trigger_kinds("conditions.md");
    certain.extend(trigger_kinds("events.md"));
    for (text, kind) in &certain {
        assert_ne!(*kind, TriggerKind::Semantic, "{text}");
    }
    let n_texts = near_misses.len() + certain.len();
    assert!(n_texts >= 120 && near_misses.len() * 3 >= n_texts, "{} of {n_texts}", near_misses.len());
}

/// Whatever can make a trigger in words true is an update that it waits for; most others are not.
#[test]
fn triggers_in_words_wait_for_what_can_make_them_true() {
    let rows: [(&str, &[&str]); 18] = [
        ("When the user is angry", &["user_message"]),
        ("When somebody wants to cancel the order", &["user_message"]),
        ("When they sound tired or bored", &["user_message"]),
        ("When the order is late", &["order"]),
        ("When any of the orders looks odd", &["order"]),
        ("When the delivery address is abroad", &["delivery_address"]),
        ("When $order looks odd", &["order"]),
        ("When $order costs more than the budget allows and the user is angry", &["order", "user_message"]),
        ("When the user is angry and the order is late", &["user_message", "order"]),
        ("When the order is late, or the user is angry", &["order", "user_message"]),
        ("When the order is not what the guest asked for", &["order", "user_message"]),
        ("When the guest's order is late", &["order"]),
        ("When the total is higher than the budget", &["total", "budget"]),
        ("When the order is late but the delivery address is near", &["order", "delivery_address"]),
        ("When the user is angry and the weather is bad", &["user_message", "order", "total"]),
        ("When something is odd", &["user_message", "order", "total", "budget"]),
        ("When it is time for a break", &["user_message", "order", "total", "budget"]),
        ("When nobody seems to be there any more", &["user_message", "order"]),
    ];
    let triggers: String = rows.iter().map(|(text, _)| format!("- {text}\n")).collect();
    let steps = "### Steps\n- Note $order, $total, $budget and $delivery_address\n";
    let program = load_case("a.md", &format!("# A\n## B\n### Triggers\n{triggers}{steps}")).program;
    let mut n_spared = 0;
    for ((text, needed), trigger) in rows.iter().zip(&program.playbooks[0].triggers) {
        assert_eq!(trigger.kind, TriggerKind::Semantic, "{text}");
        for name in *needed {
            assert!(trigger.is_concerned(name), "{text}: missed with ${name}");
        }
        let all = ["user_message", "order", "total", "budget", "delivery_address"];
        n_spared += all.iter().filter(|name| !needed.contains(name) && !trigger.is_concerned(name)).count();
    }
    assert!(n_spared >= 45, "only {n_spared} updates are spared");
}

/// Who reads the table of wordings learns from the examples.
#[test]
fn examples_beside_wordings_are_read() {
    let examples: Vec<&str> = trigger_examples().collect();
    let triggers: String = examples.iter().map(|example| format!("- {example}\n")).collect();
    let text = format!("# A\n## B\n### Triggers\n{triggers}## Save\n### Steps\n- Return\n");
    let program = load_case("a.md", &text).program;
    assert!(examples.len() > 20 && program.playbooks[0].triggers.len() == examples.len());
    for trigger in &program.playbooks[0].triggers {
        assert_ne!(trigger.kind, TriggerKind::Semantic, "{}", trigger.text);
    }
}

/// Whoever follows the advice must get what was promised.
#[test]
fn suggested_wordings_are_conditions() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/lang/triggers");
    let mut n_suggested = 0;
    for name in ["diagnostics.md", "near_misses.md"] {
        let loaded = load_case(name, &std::fs::read_to_string(path.join(name)).unwrap());
        let found = loaded.diagnostics.iter().filter(|found| found.code == "semantic-could-be-condition");
        for wording in found.filter_map(|found| Some(&found.fix.as_ref()?.replacement)) {
            let program = load_case("a.md", &format!("# A\n## B\n### Triggers\n- {wording}\n")).program;
            let kind = &program.playbooks[0].triggers[0].kind;
            assert!(matches!(kind, TriggerKind::Condition(_) | TriggerKind::Changes(_)), "{wording}: {kind:?}");
            n_suggested += 1;
        }
    }
    assert!(n_suggested > 3, "only {n_suggested}");
}

/// Words of triggers in any order: always some trigger, its places inside the file, and honest advice.
/// What such texts have led to once.
#[test]
fn unfinished_comparisons_are_read() {
    for words in ["the count $x is at least 5 or", "$x is at most 5 or", "$x has 5 or", "$x is at least 5 or more or"] {
        let text = format!("# A\n\n## Main\n\n### Triggers\n\n- When {words}\n\n### Steps\n\n- Say \"x\"\n");
        let root = SourceText { name: "a.md".to_owned(), text };
        let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &LoadOptions::default());
        assert_eq!(loaded.program.playbooks[0].triggers.len(), 1, "{words}");
    }
}

#[test]
fn any_words_make_some_trigger() {
    const WORDS: [&str; 64] = [
        "When",
        "If",
        "Once",
        "Every",
        "After",
        "Before",
        "calling",
        "is called",
        "returns",
        "fails",
        "an error",
        "$x",
        "$y",
        "$z.a[0]",
        "$x, $y",
        "and",
        "or",
        "not",
        "is",
        "are",
        "becomes",
        "has",
        "does not",
        "more than",
        "at least",
        "at most",
        "less than",
        "or equal to",
        "over",
        "below",
        "exceeds",
        "reaches",
        "equals",
        "one of",
        "in",
        "contains",
        "empty",
        "provided",
        "set",
        "missing",
        "yes",
        "3",
        "items",
        "times",
        "\"lost\"",
        "[1, 2]",
        "changes",
        "the value of",
        "either",
        "the user",
        "has provided",
        "of silence",
        "30 seconds",
        "ten minutes",
        "hour",
        "B",
        "A.B",
        "B($x)",
        "`",
        "(",
        ")",
        ",",
        ".",
        "é",
    ];
    made_up!(3_000, 16).for_each(|bytes: &[u8]| {
        let words: Vec<&str> = bytes.iter().map(|byte| WORDS[*byte as usize % WORDS.len()]).collect();
        let load_trigger = |trigger: &str| load_case("a.md", &format!("# A\n## B\n### Triggers\n- {trigger}\n"));
        let loaded = load_trigger(&format!("When {}", words.join(" ")));
        explain(&loaded.program);
        render(&loaded.diagnostics, &loaded.program.sources, false);
        let file = loaded.program.sources.get(FileId(0)).unwrap();
        for trigger in loaded.program.playbooks.iter().flat_map(|playbook| &playbook.triggers) {
            if let TriggerKind::Condition(condition) = &trigger.kind {
                // What a person does is said in words that are no expression.
                let words = &file.text[condition.span.range()];
                match expr::parse_condition(words, FileId(0), 0) {
                    Ok(read) => assert_eq!(read.to_string(), condition.to_string(), "{}", trigger.text),
                    Err(_) => assert!(words.starts_with("the user"), "{}", trigger.text),
                }
            }
        }
        for note in loaded.diagnostics.iter().flat_map(|found| &found.notes) {
            let advice = note.message.strip_prefix("write `").and_then(|rest| rest.split_once('`'));
            let Some((wording, _)) = advice else { continue };
            let kind = &load_trigger(wording).program.playbooks[0].triggers[0].kind;
            assert!(matches!(kind, TriggerKind::Condition(_) | TriggerKind::Changes(_)), "{wording}: {kind:?}");
        }
    });
}

#[test]
fn triggers_on_tools_name_them() {
    let tool =
        Signature { name: "mail.send".into(), parameters: Vec::new(), returns: Type::ANY, summary: "Sends.".into() };
    let text =
        "# A\n## B\n### Triggers\n- Before calling mail.send\n- When `mail.send` fails\n- After calling mail.sent\n";
    let root = SourceText { name: "a.md".to_owned(), text: text.to_owned() };
    let options = LoadOptions { tools: std::slice::from_ref(&tool), ..LoadOptions::default() };
    let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &options);
    let watched = || CallName { name: "mail.send".into(), playbook: None };
    let kinds: Vec<TriggerKind> =
        loaded.program.playbooks[0].triggers.iter().map(|trigger| trigger.kind.clone()).collect();
    let expected = [TriggerKind::BeforeCall(watched()), TriggerKind::CallFails(Some(watched())), TriggerKind::Semantic];
    assert_eq!(kinds, expected);
    let unknown = loaded.diagnostics.iter().find(|found| found.code == "unknown-trigger-call").unwrap();
    assert_eq!(unknown.fix.as_ref().unwrap().replacement, "mail.send");
}

/// The machine asks at every update, so what it gets has to be the triggers concerned and no others.
#[test]
fn triggers_are_found_by_what_concerns_them() {
    let text = "# A\n## B\n### Triggers\n- When $x > 3\n- When $x or $y changes\n- When $y looks odd\n\
                - When it is time for tea\n- Every hour\n- After calling B\n- At the beginning\n\
                - When $z is \"$x\"\n- When $z is odd and $z is old\n# C\n## D\n### Triggers\n- When $x > 4\n";
    let program = load_case("index.md", text).program;
    let index = &program.agents[0].triggers;
    let shown = |ids: &[playhouse::lang::program::TriggerId]| {
        ids.iter().map(|id| program.trigger(*id).id.index + 1).collect::<Vec<_>>()
    };
    assert_eq!(shown(index.naming("x")), [1, 2], "a quoted `$x` is no variable, another agent's is another");
    assert_eq!(shown(index.naming("y")), [2, 3]);
    assert_eq!(shown(index.naming("z")), [8, 9], "each once");
    assert_eq!(shown(index.naming("none")), [0; 0]);
    let others = (shown(&index.at_turn_end), shown(&index.timers), shown(&index.calls));
    assert_eq!(others, (vec![4], vec![5], vec![6]));
    assert_eq!(shown(index.naming("user_message")), [4], "a message may be what it is about");
    assert_eq!(program.agents[1].triggers.naming("x").len(), 1);
}

/// `check --explain` does not tell these: on most lines they are no news.
#[test]
fn plain_reasons_against_tail_calls_and_inlining() {
    let text = "# A\n## Main\n### Steps\n- Helper()\n- Say \"x\"\n- Return Tool(1)\n\
                ## Helper\n### Steps\n- Return\n## Goal\nReach it.\n1. Helper()\n";
    let program = load_case("reasons.md", text).program;
    let line = |program: &Program, playbook: usize, index: u32, inline_lines| {
        let (id, step) = (program.playbooks[playbook].id, StepId(index));
        let analysis = Analysis::new(program);
        (analysis.tail_call(id, step).err(), analysis.inlining(id, step, inline_lines).err())
    };
    assert_eq!(line(&program, 0, 0, INLINE_LINES), (Some(NoTailCall::GoesOn), None));
    assert_eq!(line(&program, 0, 0, 0), (Some(NoTailCall::GoesOn), Some(NotInlined::Off)));
    let no_call = (Some(NoTailCall::NotACall), Some(NotInlined::NotACall));
    assert_eq!(line(&program, 0, 1, INLINE_LINES), no_call);
    assert_eq!(line(&program, 0, 99, INLINE_LINES), no_call);
    let tool = (Some(NoTailCall::CallOfTool), Some(NotInlined::NotACall));
    assert_eq!(line(&program, 0, 2, INLINE_LINES), tool);
    assert_eq!(line(&program, 2, 0, INLINE_LINES), no_call, "in goal mode items are no lines");
    let kept = NoTailCall::ResultKept("x".into()).to_string();
    assert_eq!(kept, "its result is kept in $x, not returned");
    assert_eq!(NotInlined::TooLong { lines: 7 }.to_string(), "it has 7 lines");
}

/// Whatever is slow here is slow for everybody who opens such a file: twice the text is twice the work.
#[test]
fn hostile_texts_take_no_more_than_linear_work_or_stack() {
    fn numbered(n: usize, line: impl Fn(usize) -> String) -> String {
        (0..n).map(line).collect()
    }
    const HEAD: &str = "# A\n## Main\n### Steps\n";
    const TRIGGER: &str = "# A\n## B\n### Triggers\n- When ";
    type Text = fn(usize) -> String;
    // What is written n times over, and how large n may be.
    let texts: &[(usize, Text)] = &[
        (25_000, |n| format!("{HEAD}{}", "- + ".repeat(n))),
        (50_000, |n| format!("{HEAD}- {}", "> ".repeat(n))),
        (50_000, |n| format!("{HEAD}- $x = {}", "(".repeat(n))),
        (50_000, |n| format!("{HEAD}- $x = {}", "1 + ".repeat(n))),
        (25_000, |n| format!("{HEAD}- If {}", "$a, ".repeat(n))),
        (15_000, |n| format!("{HEAD}- {}", "$a:list[".repeat(n))),
        (30_000, |n| format!("{HEAD}- Ask user for {}", "$a ".repeat(n))),
        (20_000, |n| format!("{HEAD}- {}", "word ".repeat(n))),
        (50_000, |n| format!("{HEAD}- Say {}", "\"".repeat(n))),
        (50_000, |n| format!("{HEAD}- Foo({}", "[".repeat(n))),
        (12_000, |n| format!("# A\n## Main({}", "$a: list[".repeat(n))),
        (10_000, |n| format!("# A\n{}", "metadata:\n".repeat(n))),
        (50_000, |n| format!("---\n{}\n---\n# A", "[".repeat(n))),
        (5_000, |n| format!("{HEAD}{}", "- If $a > 1\n- Else if $a > 2\n".repeat(n))),
        (10_000, |n| format!("{HEAD}{}", numbered(n, |n| format!("- $x{n} = $x{}\n", n / 2)))),
        (3_000, |n| format!("{HEAD}{}", numbered(n, |n| format!("- Go back to step {n} with $x\n")))),
        (10_000, |n| format!("{TRIGGER}{}", "$a and ".repeat(n))),
        (10_000, |n| format!("{TRIGGER}{}$a are set", "$a, ".repeat(n))),
        (10_000, |n| format!("{TRIGGER}{}", "$a and $b are (".repeat(n))),
        (10_000, |n| format!("{TRIGGER}{}", "provided $a, ".repeat(n))),
        (15_000, |n| format!("{TRIGGER}{}", numbered(n, |n| format!("$a{n}, ")))),
        (5_000, |n| format!("# A\n## B\n### Triggers\n{}", "- When $a goes over 3 times\n".repeat(n))),
        (3_000, |n| {
            format!("# A\n{}", numbered(n, |at| format!("## P{at}($a{at})\n### Steps\n- P{}($a{at})\n", (at + 1) % n)))
        }),
        (300, |n| format!("{HEAD}{}", numbered(n, |n| format!("{}- Level {n}\n", "  ".repeat(n))))),
    ];
    for (number, (n, text)) in texts.iter().enumerate() {
        let work = |n: usize| {
            let text = text(n);
            let n_bytes = bytes_allocated(|| {
                let loaded = load_case("hostile.md", &text);
                render(&loaded.diagnostics[..loaded.diagnostics.len().min(10)], &loaded.program.sources, false);
            });
            (n_bytes as f64, text.len() as f64)
        };
        let ((half, half_text), (whole, whole_text)) = (work(n / 2), work(*n));
        let (growth, text_growth) = (whole / half, whole_text / half_text);
        assert!(growth < 1.25 * text_growth, "text {number} is {text_growth:.2} times as long, the work {growth:.2}");
    }
}

/// Thousands of misspelt names cost no more than a bound, and all are found all the same.
#[test]
fn bug_2_13_suggestions_have_a_bound() {
    let n = 700;
    let playbooks = |head: &str| (0..n).map(|n| format!("## {head}{n}\npublic: true\n### Steps\n- Return\n")).collect();
    let calls: String = (0..n).map(|n| format!("- Chekc{n}()\n")).collect();
    let (own, of_others): (String, String) = (playbooks("Check"), playbooks("Other"));
    let agents: String = (0..n).map(|n| format!("# Agent{n}\n## Do\n### Steps\n- Ask Agent{n} for $x\n")).collect();
    for others in ["", &own, &format!("# B\n{of_others}{own}"), &agents] {
        let loaded = load_case("many.md", &format!("# A\n## Main\n### Steps\n- Chekc()\n{calls}{others}## Check\n"));
        let unknown: Vec<_> = loaded.diagnostics.iter().filter(|found| found.code == "unknown-callee").collect();
        assert_eq!(unknown.len(), n + 1);
        let n_suggested = unknown.iter().filter(|found| found.fix.is_some()).count();
        assert!(n_suggested < n, "{n_suggested} suggestions");
    }
    let work = |n: usize| {
        let spelling = Spelling::default();
        let names: Vec<String> = (0..n).map(|n| format!("Playbook{n}")).collect();
        assert_eq!(spelling.nearest("Plaibook1", names.iter()), names.get(1));
        names.iter().rev().for_each(|name| {
            spelling.nearest(name, names.iter());
        });
        spelling.work()
    };
    assert!(work(100) < work(200), "at first it grows");
    assert_eq!(work(4_000), work(8_000), "then it does not");
}

/// What is kept of the names grows with the lines, and not with lines times names.
#[test]
fn bug_2_14_reachable_names_take_little_memory() {
    let lines = |line: &str, n: usize| -> String {
        (0..n).map(|n| line.replace("{n}", &n.to_string()).replace("{next}", &(n + 1).to_string())).collect()
    };
    let foo = "## Foo($x)\n### Steps\n- $y = $x\n- Return $y\n";
    let shapes = [
        ("", "- $v{n} = Foo({n})\n", ""),
        ("", "- If $a{n} > 1\n  - Say \"{$b{n}}\"\n  - $c{n} = Foo({n})\n- Else\n  - Say \"{$d{n}}\"\n", ""),
        ("- If $x\n  - Say \"a\"\n", "- Else if $a{n}\n  - $b{n} = Foo({n})\n  - $c{n} = $b{n}\n", ""),
        ("- While $x\n", "  - $a{n} = $b{n}\n", ""),
        ("", "- Think about $a{n} and go back to step {n}\n", ""),
        ("- P0()\n", "", "## P{n}($a{n})\n### Steps\n- $b{n} = P{next}($c{n})\n- Return $b{n}\n"),
    ];
    for (first, line, playbook) in shapes {
        let kept = |n: usize| {
            let (lines, playbooks) = (lines(line, n), lines(playbook, n));
            let program =
                load_case("many.md", &format!("# A\n## Main\n### Steps\n{first}{lines}{playbooks}{foo}")).program;
            let analysis = Analysis::new(&program);
            let main = program.playbooks[0].id;
            analysis.names_from(main, program.playbooks[0].flow.entry);
            program.playbooks[0].steps.iter().for_each(|step| drop(analysis.tail_call(main, step.id)));
            analysis.n_kept()
        };
        let (some, twice) = (kept(400), kept(800));
        assert!(twice <= 2 * some + 8 && twice < 8 * 800 * 3, "{some} and {twice} for {line}{playbook}");
    }
}

/// The names that can be reached are those that a search finds, line by line and call by call.
#[test]
fn reachable_names_are_those_that_a_search_finds() {
    for (name, path) in golden::cases("lang", &["md", "pb"]) {
        let program = load_case(&name, &std::fs::read_to_string(path).unwrap()).program;
        let analysis = Analysis::new(&program);
        let mentioned = |playbook: &Playbook| playbook.own.iter().chain(&playbook.outer).cloned().collect::<Vec<_>>();
        let all: BTreeSet<_> = program.playbooks.iter().flat_map(mentioned).collect();
        for playbook in program.playbooks.iter().filter(|playbook| playbook.mode == Mode::Steps) {
            for step in &playbook.steps {
                let reached = playbook.flow.reachable_from(Node::Step(step.id));
                let lines: Vec<_> = playbook.steps.iter().filter(|step| reached[step.id.0 as usize]).collect();
                let mut called: Vec<PlaybookId> = lines.iter().filter_map(|step| step.call()?.playbook).collect();
                let mut found: BTreeSet<_> =
                    lines.iter().flat_map(|step| step.reads.iter().chain(&step.writes)).cloned().collect();
                let mut seen = BTreeSet::new();
                while let Some(callee) = called.pop() {
                    let body = program.playbook(callee);
                    found.extend(mentioned(body));
                    let callees = body.steps.iter().filter_map(|step| step.call()?.playbook);
                    called.extend(callees.filter(|callee| seen.insert(*callee)));
                }
                let names = analysis.names_from(playbook.id, Node::Step(step.id));
                let wrong = all.iter().find(|name| names.contains(name) != found.contains(*name));
                let calls_plans = lines.iter().filter_map(|step| step.call()).any(|call| call.playbook.is_none());
                assert!(wrong.is_none() || calls_plans, "{name}, {}: {wrong:?}", step.label);
            }
        }
    }
}
