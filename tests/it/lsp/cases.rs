//! Tests, trigger tables and plans in an editor; the layout of files.

use serde_json::{Value as Json, json};

use super::{Editor, desk};
use crate::run::Run;

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n- When $order is \"lost\"\n\n### Steps\n\n\
                       - Ask the user for $order\n- Find($order)\n";

const TOOLS: &str = r#"{"Find": {"description": "Finds an order", "args": ["order"], "required": ["order"],
    "responses": [{"return": {"state": "sent"}}]}}"#;

const TEST: &str = "# Found\n\n- program: desk.md\n- tools: tools.json\n\n## Model\n\n- 01: order = \"4\"\n- 07: yes\n\n\
                    ## Expect\n\n- never Find(order: \"5\")\n- never Lose\n";

const TABLE: &str = "# Fires\n\n- program: desk.md\n- tools: tools.json\n\n## Lost\n\n| update | fires |\n|---|---|\n\
                     | $order = \"lost\" | Main:T2 |\n| $order = \"x\" | Man:T2 |\n";

fn with_tests() -> Run {
    let run = Run::new().file("desk.md", PROGRAM).file("tools.json", TOOLS);
    run.file("desk.test.md", TEST).file("desk.triggers.md", TABLE)
}

fn names(symbols: &Json) -> Vec<&str> {
    symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect()
}

/// What `test` would refuse is found while it is written, and with the texts that are open.
#[test]
fn tests_are_held_against_their_program() {
    let mut editor = Editor::start(with_tests(), &["utf-8"]);
    editor.open("desk.test.md");
    let found = ["8:2 unknown-line", "13:8 unknown-callee"].map(str::to_owned).to_vec();
    assert_eq!(editor.findings("desk.test.md"), (json!(1), found.clone()));
    // A line more in the program, which nobody has saved.
    editor.open("desk.md");
    let more: String = (0..5).map(|_| "- Say \"x\"\n").collect();
    editor.edit("desk.md", 2, [(13, 0), (13, 0)], &more);
    assert_eq!(editor.findings("desk.test.md"), (json!(1), found[1..].to_vec()));
    editor.edit("desk.test.md", 2, [(13, 8), (13, 12)], "Find");
    assert_eq!(editor.findings("desk.test.md"), (json!(2), Vec::new()));
    // A program with an error is none, and one that is not there, either.
    editor.edit("desk.md", 3, [(0, 0), (0, 0)], "!import nothing.md\n\n");
    assert_eq!(editor.findings("desk.test.md").1, ["2:11 program"]);
    editor.edit("desk.test.md", 3, [(2, 11), (2, 15)], "dusk");
    assert_eq!(editor.findings("desk.test.md").1, ["2:11 program"]);
    // What is no test is told with its place.
    editor.edit("desk.test.md", 4, [(5, 0), (5, 8)], "## Modul");
    assert_eq!(editor.findings("desk.test.md").1, ["2:11 program", "5:0 unknown-heading"]);
    let uri = editor.uri("desk.test.md");
    editor.tell("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    assert_eq!(editor.findings("desk.test.md"), (Json::Null, Vec::new()));
    editor.end();
}

#[test]
fn names_in_tests_are_those_of_the_program() {
    let mut editor = Editor::start(with_tests(), &["utf-8"]);
    editor.open("desk.triggers.md");
    assert_eq!(editor.findings("desk.triggers.md"), (json!(1), vec!["10:17 unknown-trigger".to_owned()]));
    editor.open("desk.test.md");
    let program = editor.uri("desk.md");
    let defined = |editor: &mut Editor, name: &str, at| {
        let found = editor.ask_at("textDocument/definition", name, at);
        (found[0]["uri"].as_str().unwrap_or_default().to_owned(), found[0]["range"]["start"]["line"].clone())
    };
    assert_eq!(defined(&mut editor, "desk.test.md", (2, 12)), (program.clone(), json!(0)));
    assert_eq!(defined(&mut editor, "desk.test.md", (7, 3)), (program.clone(), json!(11)));
    assert_eq!(defined(&mut editor, "desk.triggers.md", (9, 21)), (program, json!(7)));
    let hover = editor.ask_at("textDocument/hover", "desk.test.md", (7, 3));
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("**Main:01** "), "{hover}");
    let hover = editor.ask_at("textDocument/hover", "desk.test.md", (12, 9));
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("tool `Find($order"), "{hover}");
    let symbols = editor.ask_at("textDocument/documentSymbol", "desk.test.md", (0, 0));
    assert_eq!((names(&symbols), names(&symbols[0]["children"])), (vec!["Found"], vec!["Model", "Expect"]));
    let symbols = editor.ask_at("textDocument/documentSymbol", "desk.triggers.md", (0, 0));
    assert_eq!(names(&symbols[0]["children"][0]["children"]), ["$order = \"lost\"", "$order = \"x\""]);
    editor.end();
}

/// What a test calls by a name of the program goes with that: tests that are open, as they are there, and those beside the
/// program that name it as theirs.
#[test]
fn a_name_is_changed_in_tests_and_tables() {
    let program = PROGRAM.replace("Find($order)", "Look up $order");
    let program = format!("{program}\n## Look up($order)\n\n### Steps\n\n- Return $order\n");
    let test = "# A\n\n- program: desk.md\n\n## Model\n\n- 01: order = \"4\"\n- \"Look up $order\": calls LookUp(order: \"$order\")\n";
    let other = test.replace("desk.md", "other.md");
    let run = Run::new().file("desk.md", &program).file("other.md", &program);
    let run = run.file("desk.test.md", test).file("other.test.md", &other).file("desk.triggers.md", TABLE);
    let mut editor = Editor::start(run.file("open.test.md", &other), &["utf-8"]);
    editor.open("desk.md");
    editor.open("open.test.md");
    editor.edit("open.test.md", 2, [(2, 11), (2, 16)], "desk");
    let uri = editor.uri("desk.md");
    let found = editor.ask_at("textDocument/references", "desk.md", (14, 5));
    let names = |found: &Json| {
        let place = |place: &Json| {
            let name = place["uri"].as_str().unwrap().rsplit('/').next().unwrap();
            format!("{name}:{}:{}", place["range"]["start"]["line"], place["range"]["start"]["character"])
        };
        found.as_array().unwrap().iter().map(place).collect::<Vec<_>>()
    };
    let expected = [
        "desk.md:12:2",
        "desk.md:14:3",
        "desk.test.md:7:3",
        "desk.test.md:7:26",
        "open.test.md:7:3",
        "open.test.md:7:26",
    ];
    assert_eq!(names(&found), expected);
    // From a test the same.
    assert_eq!(names(&editor.ask_at("textDocument/references", "open.test.md", (7, 28))), expected);
    let renamed = |editor: &mut Editor, line: u32, character: u32, new: &str| {
        let position = json!({"line": line, "character": character});
        let asked = json!({"textDocument": {"uri": uri}, "position": position, "newName": new});
        serde_json::to_value(editor.answer("textDocument/rename", asked)).unwrap()
    };
    let texts = |editor: &Editor, answer: &Json, name: &str| {
        let edits = answer["result"]["changes"][editor.uri(name)].as_array().cloned().unwrap_or_default();
        edits.iter().map(|edit| edit["newText"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let answer = renamed(&mut editor, 14, 5, "Track down");
    for name in ["desk.test.md", "open.test.md"] {
        assert_eq!(texts(&editor, &answer, name), ["Track down", "TrackDown"], "{answer}");
    }
    assert_eq!(texts(&editor, &answer, "desk.md"), ["Track down", "Track down"]);
    // Of the other program nothing changes.
    assert_eq!(answer["result"]["changes"].as_object().unwrap().len(), 3);
    // `$order` of the table may be that of either playbook.
    let answer = renamed(&mut editor, 11, 20, "number");
    assert_eq!(texts(&editor, &answer, "desk.test.md"), ["number", "$number", "$number"], "{answer}");
    // A name that is cut off in a test would mean no line any more.
    editor.edit("open.test.md", 3, [(7, 3), (7, 17)], "Look");
    let refused = renamed(&mut editor, 14, 5, "Track down")["error"]["message"].as_str().unwrap().to_owned();
    assert!(refused.ends_with("open.test.md:8:3: this would read differently: \"Look\""), "{refused}");
    editor.end();
}

/// A plan that is open is a program, as `check` has it.
#[test]
fn plans_are_judged_as_programs() {
    let plan = "[\n  {\"type\": \"jmp\", \"seq_no\": 0, \"parameters\": {\"target\": 9}}\n]\n";
    let mut editor = Editor::start(Run::new().file("loop.jmp.json", plan), &["utf-8"]);
    editor.open("loop.jmp.json");
    let (version, found) = editor.findings("loop.jmp.json");
    assert_eq!(version, json!(1));
    assert!(!found.is_empty());
    editor.end();
}

/// Makes the edits of an answer in a text of lines.
fn edited(text: &str, edits: &Json) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for edit in edits.as_array().unwrap().iter().rev() {
        let line = |end: &str| {
            assert_eq!(edit["range"][end]["character"], 0, "whole lines are changed: {edit}");
            usize::try_from(edit["range"][end]["line"].as_u64().unwrap()).unwrap()
        };
        lines.splice(line("start")..line("end"), [edit["newText"].as_str().unwrap().to_owned()]);
    }
    lines.concat()
}

#[test]
fn what_is_ours_is_brought_into_its_layout() {
    let plan = "{\"a\":\n1}\n";
    let readme = "# Widgets\n\n*  one\n*  two\n";
    let run =
        desk().file("README.md", readme).file("odd.md", "# Desk\n## Main\n### Steps\n\n\n- Say \"x\"\n\n- Say \"y\"\n");
    let run = run.file("desk.triggers.md", TABLE).file("bad.test.md", "# No program\n");
    let mut editor = Editor::start(run.file("a.jmp.json", plan), &["utf-8"]);
    let asked = |editor: &mut Editor, name: &str| {
        editor.open(name);
        let options = json!({"tabSize": 4, "insertSpaces": true});
        let uri = editor.uri(name);
        editor.ask("textDocument/formatting", json!({"textDocument": {"uri": uri}, "options": options}))
    };
    let edits = asked(&mut editor, "odd.md");
    let written = "# Desk\n\n## Main\n\n### Steps\n\n- Say \"x\"\n- Say \"y\"\n";
    assert_eq!(edited(&editor.run.read("odd.md"), &edits), written);
    // What is as it should be stays, and lines that are, too.
    assert_eq!(asked(&mut editor, "desk.md"), json!([]));
    let edits = asked(&mut editor, "desk.triggers.md");
    // The head and the last row; the row between them is as wide as it should be.
    assert_eq!(edits.as_array().unwrap().len(), 2, "{edits}");
    let aligned = edited(TABLE, &edits);
    assert!(aligned.contains("| $order = \"x\"    | Man:T2  |\n"), "{aligned}");
    // What cannot be read is left alone, and so is what is not ours.
    for name in ["bad.test.md", "README.md"] {
        assert_eq!(asked(&mut editor, name), Json::Null, "{name}");
    }
    let edits = asked(&mut editor, "a.jmp.json");
    assert_eq!(edited(plan, &edits), "{\n  \"a\": 1\n}\n");
    editor.end();
}

/// Two formatters of one file are a plague: an editor that can is told of which files we are one.
#[test]
fn the_layout_is_offered_for_what_is_ours_only() {
    let mut editor = Editor::start(desk().file("README.md", "# Widgets\n"), &["utf-8"]);
    editor.open("README.md");
    editor.end();
    let capabilities = json!({"general": {"positionEncodings": ["utf-8"]},
        "textDocument": {"formatting": {"dynamicRegistration": true}}});
    let mut editor = Editor::start_that_can(desk().file("README.md", "# Widgets\n"), capabilities, Json::Null);
    editor.open("README.md");
    assert_eq!(editor.findings("README.md"), (Json::Null, Vec::new()));
    assert_eq!(editor.asked_of_us, Vec::<Json>::new());
    editor.open("desk.md");
    assert_eq!(editor.findings("desk.md").1, Vec::<String>::new());
    editor.open("refunds.md");
    assert_eq!(editor.findings("refunds.md").1, Vec::<String>::new());
    let patterns = |asked: &Json| {
        let options = &asked["params"]["registrations"][0]["registerOptions"]["documentSelector"];
        let patterns = options.as_array().into_iter().flatten();
        let name = |pattern: &Json| pattern["pattern"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        patterns.map(name).collect::<Vec<_>>().join(" ")
    };
    let told =
        editor.asked_of_us.iter().map(|asked| format!("{} {}", asked["method"].as_str().unwrap(), patterns(asked)));
    let wanted = [
        "client/registerCapability desk.md",
        "client/unregisterCapability ",
        "client/registerCapability desk.md refunds.md",
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
    editor.end();
}
