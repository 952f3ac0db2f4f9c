//! Programs to explanations and diagnostics.

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::explain::explain;
use playhouse::lang::expr;
use playhouse::lang::flow_graph::Node;
use playhouse::lang::program::{Parameter, Signature, Type};
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
        (0..300).map(|n| format!("{}- Level {n}\n", "  ".repeat(n))).fold(head.to_owned(), |all, line| all + &line),
    ];
    for text in texts {
        let loaded = load_case("hostile.md", &text);
        let shown = render(&loaded.diagnostics[..loaded.diagnostics.len().min(10)], &loaded.program.sources, false);
        assert!(shown.len() < 1_000_000);
    }
}
