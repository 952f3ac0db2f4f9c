//! Files that name each other, and questions about whole files.

use serde_json::{Value as Json, json};

use super::{DESK, Editor, desk};
use crate::run::Run;

const TEST: &str = "# Paid\n\n- program: desk.md\n\n## Model\n\n- 01: order = \"4\"\n";

/// An editor with the whole folder open.
fn in_folder(run: Run) -> Editor {
    Editor::start_with(run, json!({"folder": true, "commands": ["playhouse.showCallers"]}))
}

/// A part is judged in the program that imports it, though nobody has opened that.
#[test]
fn a_part_belongs_to_the_program_of_its_folder() {
    let part = "## Refund($order)\n\n### Steps\n\n- $fee = Fee($order)\n- Return 3\n";
    let run = desk().file("refunds.md", part).file("notes/README.md", "# Notes\n\n[refunds](../refunds.md)\n");
    let mut editor = in_folder(run.file("fees.md", "## Fee($order)\n\n### Steps\n\n- Return 1\n"));
    editor.open("refunds.md");
    assert_eq!(editor.findings("refunds.md").1, ["4:9 unknown-callee"]);
    let lenses = editor.ask_at("textDocument/codeLens", "refunds.md", (0, 0));
    assert_eq!(lenses[0]["command"]["title"], "1 caller", "{lenses}");
    // The program imports what it lacked, and says so on the disk.
    let more = editor.run.read("desk.md").replace("!import refunds.md", "!import refunds.md\n!import fees.md");
    std::fs::write(editor.run.folder().join("desk.md"), more).unwrap();
    let uri = editor.uri("desk.md");
    editor.tell("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": uri, "type": 2}]}));
    assert_eq!(editor.findings("refunds.md").1, Vec::<String>::new());
    // Nobody imports it any more: it is a program by itself.
    std::fs::remove_file(editor.run.folder().join("desk.md")).unwrap();
    editor.tell("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": uri, "type": 3}]}));
    assert_ne!(editor.findings("refunds.md").1, Vec::<String>::new());
    editor.end();
}

/// Text of the edits by file, `line:character text`.
fn edits(editor: &Editor, answer: &Json, name: &str) -> Vec<String> {
    let edits = answer["changes"][editor.uri(name)].as_array().cloned().unwrap_or_default();
    let shown = |edit: &Json| {
        let start = &edit["range"]["start"];
        format!("{}:{} {}", start["line"], start["character"], edit["newText"].as_str().unwrap())
    };
    edits.iter().map(shown).collect()
}

#[test]
fn what_names_a_file_goes_with_it() {
    let front =
        "---\nimport: [parts/fees.md, \"./refunds.md\"]\n---\n\n# Shop\n\n## Main\n\n### Steps\n\n- Say \"x\"\n";
    let run = desk().file("desk.test.md", TEST).file("shop.md", front);
    let run = run.file("parts/fees.md", "## Fee\n\n!import ../refunds.md\n\n### Steps\n\n- Return 1\n");
    let mut editor = in_folder(run);
    let renamed = |editor: &mut Editor, old: &str, new: &str| {
        let files = json!({"files": [{"oldUri": editor.uri(old), "newUri": editor.uri(new)}]});
        editor.ask("workspace/willRenameFiles", files)
    };
    let answer = renamed(&mut editor, "refunds.md", "money/back.md");
    assert_eq!(edits(&editor, &answer, "desk.md"), ["2:8 money/back.md"]);
    assert_eq!(edits(&editor, &answer, "shop.md"), ["1:25 money/back.md"]);
    assert_eq!(edits(&editor, &answer, "parts/fees.md"), ["2:8 ../money/back.md"]);
    // A program that moves names what stays, and its test names it.
    let answer = renamed(&mut editor, "desk.md", "parts/desk.md");
    assert_eq!(edits(&editor, &answer, "desk.md"), ["2:8 ../refunds.md"]);
    assert_eq!(edits(&editor, &answer, "desk.test.md"), ["2:11 parts/desk.md"]);
    // A folder, with what is in it; what is not saved yet counts.
    editor.open("shop.md");
    editor.edit("shop.md", 2, [(0, 0), (0, 0)], "");
    let answer = renamed(&mut editor, "parts", "old/parts");
    assert_eq!(edits(&editor, &answer, "shop.md"), ["1:9 old/parts/fees.md"]);
    assert_eq!(edits(&editor, &answer, "parts/fees.md"), ["2:8 ../../refunds.md"]);
    assert_eq!(renamed(&mut editor, "nothing.md", "else.md"), Json::Null);
    editor.end();
}

#[test]
fn what_a_file_names_can_be_followed() {
    let mut editor = in_folder(desk().file("desk.test.md", TEST).file("README.md", "# Desk\n\n[import](desk.md)\n"));
    for name in ["desk.md", "desk.test.md", "README.md"] {
        editor.open(name);
    }
    let links = editor.ask_at("textDocument/documentLink", "desk.md", (0, 0));
    let range = json!({"start": {"line": 2, "character": 8}, "end": {"line": 2, "character": 18}});
    assert_eq!(links, json!([{"range": range, "target": editor.uri("refunds.md")}]));
    let links = editor.ask_at("textDocument/documentLink", "desk.test.md", (0, 0));
    assert_eq!(links[0]["target"], editor.uri("desk.md"));
    assert_eq!(editor.ask_at("textDocument/documentLink", "README.md", (0, 0)), json!([]));
    editor.end();
}

/// What comes with the program is opened as a file that nobody can change, and is still what it is.
#[test]
fn the_library_can_be_read() {
    let desk = "# Desk\n\n!import playhouse:confirm\n\n## Main\n\n### Steps\n\n- Confirm(\"Go?\")\n";
    let mut editor = Editor::start(Run::new().file("desk.md", desk), &["utf-8"]);
    editor.open("desk.md");
    let definition = editor.ask_at("textDocument/definition", "desk.md", (8, 4));
    let links = editor.ask_at("textDocument/documentLink", "desk.md", (0, 0));
    assert_eq!(links[0]["target"], definition[0]["uri"]);
    let path = definition[0]["uri"].as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("## Confirm("), "{text}");
    assert!(std::fs::metadata(&path).unwrap().permissions().readonly());
    let document = json!({"uri": definition[0]["uri"], "languageId": "markdown", "version": 1, "text": text});
    editor.tell("textDocument/didOpen", json!({"textDocument": document}));
    let asked = json!({"textDocument": {"uri": definition[0]["uri"]}, "position": definition[0]["range"]["start"],
        "context": {"includeDeclaration": false}});
    let references = editor.ask("textDocument/references", asked);
    assert_eq!(references[0]["uri"], editor.uri("desk.md"), "{references}");
    editor.end();
}

#[test]
fn a_selection_grows() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let uri = editor.uri("desk.md");
    let asked = json!({"textDocument": {"uri": uri}, "positions": [{"line": 13, "character": 11}]});
    let answer = editor.ask("textDocument/selectionRange", asked);
    let mut at = &answer[0];
    let mut lines = Vec::new();
    while !at.is_null() {
        let (start, end) = (&at["range"]["start"], &at["range"]["end"]);
        lines.push(format!("{}:{}-{}:{}", start["line"], start["character"], end["line"], end["character"]));
        at = &at["parent"];
    }
    // The name, the line, the playbook, the agent with all of it, the text.
    assert_eq!(lines, ["13:9-13:15", "13:2-13:23", "4:0-15:0", "0:2-15:0", "0:0-15:0"]);
    editor.end();
}

#[test]
fn a_program_is_told_and_drawn() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let uri = editor.uri("desk.md");
    let mut ask = |method: &str, more: Json| {
        let mut asked = json!({"textDocument": {"uri": uri}});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::to_value(editor.answer(method, asked)).unwrap()
    };
    let told = ask("playhouse/explain", json!({}))["result"]["text"].clone();
    let command = desk().args(["check", "--explain", "desk.md"]).done();
    assert!(command.stdout.starts_with(told.as_str().unwrap()), "{told}\n{}", command.stdout);
    let graph = ask("playhouse/graph", json!({}))["result"]["text"].clone();
    assert!(graph.as_str().unwrap().starts_with("flowchart"), "{graph}");
    let graph = ask("playhouse/graph", json!({"format": "svg", "flow": "Main"}))["result"]["text"].clone();
    assert!(graph.as_str().unwrap().starts_with("<svg"), "{graph}");
    let refused = ask("playhouse/graph", json!({"flow": "Man"}));
    assert_eq!(refused["error"]["message"], "there is no playbook `Man`; did you mean `Main`?");
    let refused = ask("playhouse/graph", json!({"format": "png"}));
    assert_eq!(refused["error"]["code"], -32602);
    editor.end();
}

#[test]
fn a_part_is_brought_into_its_layout() {
    let text = "# Desk\n## Main\n### Steps\n\n\n- Say \"x\"\n\n- Say \"y\"\n";
    let mut editor = Editor::start(Run::new().file("odd.md", text), &["utf-8"]);
    editor.open("odd.md");
    let uri = editor.uri("odd.md");
    let range = json!({"start": {"line": 5, "character": 0}, "end": {"line": 7, "character": 3}});
    let options = json!({"tabSize": 4, "insertSpaces": true});
    let asked = json!({"textDocument": {"uri": uri}, "range": range, "options": options});
    let edits = editor.ask("textDocument/rangeFormatting", asked);
    // The empty line between the two; the headings stay as they are.
    let line = json!({"start": {"line": 6, "character": 0}, "end": {"line": 7, "character": 0}});
    assert_eq!(edits, json!([{"range": line, "newText": ""}]));
    editor.end();
}

/// The labels of what can be written there.
fn proposals(editor: &mut Editor, name: &str, at: (u32, u32)) -> Vec<String> {
    let answer = editor.ask_at("textDocument/completion", name, at);
    answer.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn paths_are_proposed() {
    let run = desk().file("desk.test.md", TEST).file("tools.json", "{}").file("parts/fees.md", "# Fees\n");
    let mut editor = in_folder(run);
    editor.open("desk.md");
    editor.open("desk.test.md");
    let found = proposals(&mut editor, "desk.md", (2, 10));
    assert_eq!(found[..4], ["desk.test.md", "parts/", "playhouse:confirm", "playhouse:form"], "{found:?}");
    assert_eq!(found.last().unwrap(), "refunds.md");
    editor.edit("desk.md", 2, [(2, 8), (2, 18)], "parts/f");
    assert!(proposals(&mut editor, "desk.md", (2, 15)).contains(&"parts/fees.md".to_owned()));
    assert_eq!(proposals(&mut editor, "desk.test.md", (2, 11)), ["desk.md", "parts/", "refunds.md", "tools.json"]);
    editor.edit("desk.test.md", 2, [(3, 0), (3, 0)], "- tools: \n");
    assert_eq!(proposals(&mut editor, "desk.test.md", (3, 9)), ["parts/", "tools.json"]);
    editor.end();
}

/// What nobody has opened is found by its name, too.
#[test]
fn symbols_of_the_whole_folder() {
    let shop = "# Shop\n\n## Buy a thing\n\n### Steps\n\n- Say \"x\"\n";
    let mut editor = in_folder(desk().file("shop.md", shop).file("README.md", "# Buy\n\n## Buy it\n"));
    let symbols = editor.ask("workspace/symbol", json!({"query": "buy"}));
    assert_eq!((&symbols[0]["name"], symbols.as_array().unwrap().len()), (&json!("BuyAThing"), 1), "{symbols}");
    assert_eq!(symbols[0]["location"]["uri"], editor.uri("shop.md"));
    editor.end();
}

#[test]
fn a_playbook_says_how_many_tests_name_it() {
    let run = desk().file("desk.test.md", &format!("{TEST}\n## Expect\n\n- never Refund(order: \"4\")\n"));
    let mut editor = Editor::start_with(run, json!({"commands": ["playhouse.showTests"]}));
    editor.open("desk.md");
    editor.open("refunds.md");
    let lenses = editor.ask_at("textDocument/codeLens", "refunds.md", (0, 0));
    assert_eq!(lenses[0]["command"]["title"], "1 test", "{lenses}");
    assert_eq!(editor.ask_at("textDocument/codeLens", "desk.md", (0, 0)), json!([]));
    editor.end();
}

#[test]
fn only_wanted_hints_are_shown() {
    let program = DESK.replace("Refund($order)", "Refund(4)").replace("for $order", "for $order:str");
    let shown = |options: Json| {
        let mut editor = Editor::start_with(desk().file("desk.md", &program), options);
        editor.open("desk.md");
        let uri = editor.uri("desk.md");
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}});
        let hints = editor.ask("textDocument/inlayHint", json!({"textDocument": {"uri": uri}, "range": range}));
        editor.end();
        hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(json!({})), ["01", "=02", "order=", "=03"]);
    assert_eq!(shown(json!({"hints": ["parameters"]})), ["order="]);
    assert_eq!(shown(json!({"hints": []})), Vec::<String>::new());
}

/// In a test, and where the editor can ask about it also in words.
#[test]
fn a_name_is_changed_from_a_test_and_in_words() {
    let run = desk().file("desk.test.md", &format!("{TEST}\n## Expect\n\n- never Refund(order: \"4\")\n"));
    let run = run
        .file("refunds.md", "## Refund($order)\n\nA Refund is money, a Refunding is not.\n\n### Steps\n\n- Return 3\n");
    let edit = json!({"documentChanges": true, "changeAnnotationSupport": {"groupsOnLabel": true}});
    let capabilities =
        |edit: &Json| json!({"general": {"positionEncodings": ["utf-8"]}, "workspace": {"workspaceEdit": edit}});
    let mut editor = Editor::start_that_can(run, capabilities(&edit), Json::Null);
    editor.open("desk.test.md");
    let prepared = editor.ask_at("textDocument/prepareRename", "desk.test.md", (10, 9));
    assert_eq!(prepared["placeholder"], "Refund", "{prepared}");
    let uri = editor.uri("desk.test.md");
    let asked = json!({"textDocument": {"uri": uri}, "position": {"line": 10, "character": 9}, "newName": "Pay back"});
    let answer = editor.ask("textDocument/rename", asked);
    let mut shown: Vec<String> = Vec::new();
    for change in answer["documentChanges"].as_array().unwrap() {
        let name = change["textDocument"]["uri"].as_str().unwrap().rsplit('/').next().unwrap();
        for edit in change["edits"].as_array().unwrap() {
            let (line, new) = (&edit["range"]["start"]["line"], edit["newText"].as_str().unwrap());
            shown.push(format!("{name}:{line} {new}{}", edit["annotationId"].as_str().map_or("", |_| " ?")));
        }
    }
    shown.sort();
    assert_eq!(
        shown,
        ["desk.md:13 PayBack", "desk.test.md:10 PayBack", "refunds.md:0 Pay back", "refunds.md:2 PayBack ?"]
    );
    assert_eq!(answer["changeAnnotations"]["mentions"]["needsConfirmation"], true);
    let nothing = editor.ask_at("textDocument/prepareRename", "desk.test.md", (0, 3));
    assert_eq!(nothing, Json::Null);
    editor.end();
}

/// An action that takes long is worked out when it is chosen.
#[test]
fn a_chosen_action_is_proved_then() {
    let resolve = json!({"codeAction": {"resolveSupport": {"properties": ["edit"]}}});
    let capabilities = json!({"general": {"positionEncodings": ["utf-8"]}, "textDocument": resolve});
    let mut editor = Editor::start_that_can(desk(), capabilities, Json::Null);
    editor.open("desk.md");
    let uri = editor.uri("desk.md");
    let range = json!({"start": {"line": 13, "character": 0}, "end": {"line": 15, "character": 0}});
    let context = json!({"diagnostics": [], "only": ["refactor.extract"]});
    let asked = json!({"textDocument": {"uri": uri}, "range": range, "context": context});
    let actions = editor.ask("textDocument/codeAction", asked);
    assert_eq!((&actions[0]["title"], &actions[0]["edit"]), (&json!("Extract playbook"), &Json::Null), "{actions}");
    let chosen = editor.ask("codeAction/resolve", actions[0].clone());
    assert!(chosen["edit"]["changes"][&uri].is_array(), "{chosen}");
    // The lines have gone meanwhile.
    editor.edit("desk.md", 2, [(4, 0), (15, 0)], "");
    let refused = serde_json::to_value(editor.answer("codeAction/resolve", actions[0].clone())).unwrap();
    assert!(refused["error"]["message"].is_string(), "{refused}");
    editor.end();
}
