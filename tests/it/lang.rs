//! Programs to explanations and diagnostics.

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::explain::explain;
use playhouse::lang::expr;
use playhouse::lang::flow_graph::Node;
use playhouse::lang::inlining::{INLINE_LINES, NotInlined};
use playhouse::lang::program::{CallName, Parameter, Program, Signature, StepId, TriggerKind, Type};
use playhouse::lang::tail_calls::NoTailCall;
use playhouse::lang::{ImportRequest, LoadOptions, Loaded, SourceText, load};

use playhouse::span::FileId;

use crate::golden;

fn load_case(name: &str, text: &str) -> Loaded {
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
    golden::check("lang", &["txt"], |_, table| {
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

/// The machine asks this at every pop, so the answers have to be right and shared.
#[test]
fn names_from_follows_graph_and_calls() {
    let text = "# A\n## Main\n### Steps\n- $a = 1\n- Show $b\n- Helper($c)\n- Return $d\n\
                ## Helper($p)\n### Triggers\n- When $t > 3\n### Steps\n- Use $q\n- Return $p\n";
    let program = load_case("names.md", text).program;
    let main = program.playbooks[0].id;
    let names = |from: Node| program.names_from(main, from).names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let step = |label: &str| Node::Step(program.playbook(main).find_step(label).unwrap());
    assert_eq!(names(step("01")), ["a", "b", "c", "d", "p", "q", "t"]);
    assert_eq!(names(step("03")), ["c", "d", "p", "q", "t"]);
    assert_eq!(names(step("04")), ["d"]);
    assert_eq!(names(Node::End), [""; 0]);
    assert!(program.names_from(main, step("03")).free, "the helper has a free line");
    assert!(!program.names_from(main, step("04")).free);
    assert!(std::sync::Arc::ptr_eq(&program.names_from(main, step("04")), &program.names_from(main, step("04"))));
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
        let options = LoadOptions { tools: std::slice::from_ref(&tool), open_world };
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

/// Whoever follows the advice must get what was promised.
#[test]
fn suggested_wordings_are_conditions() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/lang/triggers");
    let mut n_suggested = 0;
    for name in ["diagnostics.md", "near_misses.md"] {
        let loaded = load_case(name, &std::fs::read_to_string(path.join(name)).unwrap());
        let notes = loaded.diagnostics.iter().filter(|found| found.code == "semantic-could-be-condition");
        for note in notes.flat_map(|found| &found.notes) {
            let Some((wording, _)) = note.message.strip_prefix("write `").and_then(|rest| rest.split_once('`')) else {
                continue;
            };
            let program = load_case("a.md", &format!("# A\n## B\n### Triggers\n- {wording}\n")).program;
            let kind = &program.playbooks[0].triggers[0].kind;
            assert!(matches!(kind, TriggerKind::Condition(_) | TriggerKind::Changes(_)), "{wording}: {kind:?}");
            n_suggested += 1;
        }
    }
    assert!(n_suggested > 20, "only {n_suggested}");
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
    bolero::check!().with_iterations(3_000).with_max_len(16).for_each(|bytes: &[u8]| {
        let words: Vec<&str> = bytes.iter().map(|byte| WORDS[*byte as usize % WORDS.len()]).collect();
        let load_trigger = |trigger: &str| load_case("a.md", &format!("# A\n## B\n### Triggers\n- {trigger}\n"));
        let loaded = load_trigger(&format!("When {}", words.join(" ")));
        explain(&loaded.program);
        render(&loaded.diagnostics, &loaded.program.sources, false);
        let file = loaded.program.sources.get(FileId(0)).unwrap();
        for trigger in loaded.program.playbooks.iter().flat_map(|playbook| &playbook.triggers) {
            if let TriggerKind::Condition(condition) = &trigger.kind {
                let read = expr::parse(&file.text[condition.span.range()], FileId(0), 0).unwrap();
                assert_eq!(read.to_string(), condition.to_string(), "{}", trigger.text);
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
    let options = LoadOptions { tools: std::slice::from_ref(&tool), open_world: false };
    let loaded = load(vec![root], &mut |_| Err("none".to_owned()), &options);
    let watched = || CallName { name: "mail.send".into(), playbook: None };
    let kinds: Vec<TriggerKind> =
        loaded.program.playbooks[0].triggers.iter().map(|trigger| trigger.kind.clone()).collect();
    let expected = [TriggerKind::BeforeCall(watched()), TriggerKind::CallFails(watched()), TriggerKind::Semantic];
    assert_eq!(kinds, expected);
    let unknown = loaded.diagnostics.iter().find(|found| found.code == "unknown-trigger-call").unwrap();
    assert_eq!(unknown.fix.as_ref().unwrap().replacement, "mail.send");
}

/// The machine asks at every update, so what it gets has to be the triggers concerned and no others.
#[test]
fn triggers_are_found_by_what_concerns_them() {
    let text = "# A\n## B\n### Triggers\n- When $x > 3\n- When $x or $y changes\n- When $y looks odd\n\
                - When the user is angry\n- Every hour\n- After calling B\n- At the beginning\n\
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
    assert_eq!((shown(&index.ambient), shown(&index.timers), shown(&index.calls)), (vec![4], vec![5], vec![6]));
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
        (program.tail_call(id, step).err(), program.inlining(id, step, inline_lines).err())
    };
    assert_eq!(line(&program, 0, 0, INLINE_LINES), (Some(NoTailCall::GoesOn), None));
    assert_eq!(line(&program, 0, 0, 0), (Some(NoTailCall::GoesOn), Some(NotInlined::Off)));
    let no_call = (Some(NoTailCall::NotACall), Some(NotInlined::NotACall));
    assert_eq!(line(&program, 0, 1, INLINE_LINES), no_call);
    assert_eq!(line(&program, 0, 99, INLINE_LINES), no_call);
    let tool = (Some(NoTailCall::CallOfTool), Some(NotInlined::NotACall));
    assert_eq!(line(&program, 0, 2, INLINE_LINES), tool);
    assert_eq!(line(&program, 2, 0, INLINE_LINES), no_call, "in goal mode items are no lines");
    let shown = [
        NoTailCall::GoesOn.to_string(),
        NoTailCall::NotACall.to_string(),
        NoTailCall::CallOfTool.to_string(),
        NotInlined::Off.to_string(),
        NotInlined::NotACall.to_string(),
    ];
    assert_eq!(
        shown,
        [
            "other lines can follow",
            "the line is not a call as a whole",
            "a tool is called, not a playbook",
            "inlining is off",
            "the line is no call of a playbook",
        ]
    );
}

/// Whatever is slow here is slow for everybody who opens such a file.
#[test]
fn hostile_texts_take_no_more_than_linear_time_or_stack() {
    let long = |piece: &str, n: usize| piece.repeat(n);
    let head = "# A\n## Main\n### Steps\n";
    let texts = [
        format!("{head}{}", long("- + ", 25_000)),
        format!("{head}- {}", long("> ", 50_000)),
        format!("{head}- $x = {}", long("(", 50_000)),
        format!("{head}- $x = {}", long("1 + ", 50_000)),
        format!("{head}- If {}", long("$a, ", 25_000)),
        format!("{head}- {}", long("$a:list[", 15_000)),
        format!("{head}- Ask user for {}", long("$a ", 30_000)),
        format!("{head}- {}", long("word ", 20_000)),
        format!("{head}- Say {}", long("\"", 50_000)),
        format!("{head}- Foo({}", long("[", 50_000)),
        format!("# A\n## Main({}", long("$a: list[", 12_000)),
        format!("# A\n{}", long("metadata:\n", 10_000)),
        format!("---\n{}\n---\n# A", long("[", 50_000)),
        format!("{head}{}", long("- If $a > 1\n- Else if $a > 2\n", 5_000)),
        format!("{head}{}", (0..10_000).map(|n| format!("- $x{n} = $x{}\n", n / 2)).collect::<String>()),
        format!("{head}{}", (0..3_000).map(|n| format!("- Go back to step {n} with $x\n")).collect::<String>()),
        format!("# A\n## B\n### Triggers\n- When {}", long("$a and ", 10_000)),
        format!("# A\n## B\n### Triggers\n- When {}$a are set", long("$a, ", 10_000)),
        format!("# A\n## B\n### Triggers\n- When {}", long("$a and $b are (", 10_000)),
        format!("# A\n## B\n### Triggers\n- When {}", long("provided $a, ", 10_000)),
        format!("# A\n## B\n### Triggers\n- When {}", (0..15_000).map(|n| format!("$a{n}, ")).collect::<String>()),
        format!("# A\n## B\n### Triggers\n{}", long("- When $a goes over 3 times\n", 5_000)),
        (0..3_000).fold("# A\n".to_owned(), |all, n| {
            format!("{all}## P{n}($a{n})\n### Steps\n- P{}($a{n})\n", (n + 1) % 3_000)
        }),
        (0..300).map(|n| format!("{}- Level {n}\n", "  ".repeat(n))).fold(head.to_owned(), |all, line| all + &line),
    ];
    for text in texts {
        let loaded = load_case("hostile.md", &text);
        let shown = render(&loaded.diagnostics[..loaded.diagnostics.len().min(10)], &loaded.program.sources, false);
        assert!(shown.len() < 1_000_000);
    }
}
