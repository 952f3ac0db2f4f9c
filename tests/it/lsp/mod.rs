//! `playhouse lsp`, the real binary over pipes.

mod cases;
mod files;

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

use lsp_server::{Message, Notification, Request, RequestId, Response};
use serde_json::{Value as Json, json};

use crate::run::Run;

/// An editor.
struct Editor {
    run: Run,
    server: Child,
    answers: BufReader<ChildStdout>,
    n_asked: i32,
    /// What came while something else was waited for.
    heard: Vec<Notification>,
    /// What the server asked.
    asked_of_us: Vec<Json>,
}

impl Editor {
    /// Starts it; `encodings` are those that it offers.
    fn start(run: Run, encodings: &[&str]) -> Editor {
        Editor::start_as(run, encodings, Json::Null)
    }

    fn start_with(run: Run, options: Json) -> Editor {
        Editor::start_as(run, &["utf-8"], options)
    }

    fn start_as(run: Run, encodings: &[&str], options: Json) -> Editor {
        Editor::start_that_can(run, json!({"general": {"positionEncodings": encodings}}), options)
    }

    fn start_that_can(run: Run, capabilities: Json, options: Json) -> Editor {
        let is_utf8 = capabilities.to_string().contains("utf-8");
        let can_register = capabilities["textDocument"]["formatting"]["dynamicRegistration"] == true;
        let run = run.args(["lsp"]);
        let mut server = run.spawn_with(Stdio::piped());
        let answers = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Editor { run, server, answers, n_asked: 0, heard: Vec::new(), asked_of_us: Vec::new() };
        // A folder only where the options say so.
        let folder = options["folder"].as_bool().map(|_| format!("file://{}", editor.run.folder().display()));
        let folders = folder.map(|uri| vec![json!({"uri": uri, "name": "desk"})]);
        let asked = json!({"processId": null, "rootUri": null, "workspaceFolders": folders,
            "initializationOptions": options, "capabilities": capabilities});
        let answer = editor.ask("initialize", asked);
        let expected = if is_utf8 { "utf-8" } else { "utf-16" };
        assert_eq!(answer["capabilities"]["positionEncoding"], expected);
        assert_eq!(answer["capabilities"]["documentFormattingProvider"] == true, !can_register);
        editor.tell("initialized", json!({}));
        editor
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.run.folder().join(name).display())
    }

    fn send(&mut self, message: &Message) {
        message.write(self.server.stdin.as_mut().unwrap()).unwrap();
    }

    fn tell(&mut self, method: &str, params: Json) {
        self.send(&Message::Notification(Notification::new(method.to_owned(), params)));
    }

    fn answer(&mut self, method: &str, params: Json) -> Response {
        self.n_asked += 1;
        let id = RequestId::from(self.n_asked);
        self.send(&Message::Request(Request::new(id.clone(), method.to_owned(), params)));
        loop {
            match Message::read(&mut self.answers).unwrap().expect("an answer") {
                Message::Response(response) if response.id == id => return response,
                Message::Notification(notification) => self.heard.push(notification),
                Message::Request(request) => self.asked_of_us.push(serde_json::to_value(request).unwrap()),
                other @ Message::Response(_) => panic!("{other:?}"),
            }
        }
    }

    fn ask(&mut self, method: &str, params: Json) -> Json {
        serde_json::to_value(self.answer(method, params)).unwrap()["result"].clone()
    }

    fn ask_at(&mut self, method: &str, name: &str, (line, character): (u32, u32)) -> Json {
        let uri = self.uri(name);
        self.ask(
            method,
            json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character},
            "context": {"includeDeclaration": true, "triggerKind": 1, "isRetrigger": false}}),
        )
    }

    fn open(&mut self, name: &str) {
        let (uri, text) = (self.uri(name), self.run.read(name));
        let document = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn edit(&mut self, name: &str, version: i32, [start, end]: [(u32, u32); 2], text: &str) {
        let place = |(line, character): (u32, u32)| json!({"line": line, "character": character});
        let change = json!({"range": {"start": place(start), "end": place(end)}, "text": text});
        let uri = self.uri(name);
        self.tell(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}),
        );
    }

    /// What is found in a file, as far as it was told before the next answer: `3:2 unknown-name error`.
    fn findings(&mut self, name: &str) -> (Json, Vec<String>) {
        // An answer comes after what was told before it.
        self.ask_at("textDocument/hover", name, (0, 0));
        let uri = self.uri(name);
        let of_file =
            |heard: &&Notification| heard.method == "textDocument/publishDiagnostics" && heard.params["uri"] == *uri;
        let last = self.heard.iter().rev().find(of_file).map_or(Json::Null, |heard| heard.params.clone());
        let shown = |found: &Json| {
            let start = &found["range"]["start"];
            format!("{}:{} {}", start["line"], start["character"], found["code"].as_str().unwrap())
        };
        let found = last["diagnostics"].as_array().map_or_else(Vec::new, |all| all.iter().map(shown).collect());
        (last["version"].clone(), found)
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Json::Null), Json::Null);
        self.tell("exit", Json::Null);
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
    }
}

const DESK: &str = "# Desk é\n\n!import refunds.md\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                    - Ask the user for $order\n- $sum = Refund($order)\n- Say \"🙂 {$sum}\"\n";

const REFUNDS: &str = "## Refund($order)\n\n### Steps\n\n- Return 3\n";

fn desk() -> Run {
    Run::new().file("desk.md", DESK).file("refunds.md", REFUNDS)
}

#[test]
fn findings_come_while_something_is_typed() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    assert_eq!(editor.findings("desk.md"), (json!(1), Vec::new()));
    // `Refund($order)` becomes `Refund($order, 7)`.
    editor.edit("desk.md", 2, [(13, 22), (13, 22)], ", 7");
    let (version, found) = editor.findings("desk.md");
    assert_eq!((version, found.len()), (json!(2), 1), "{found:?}");
    assert!(found[0].starts_with("13:"), "{found:?}");
    editor.edit("desk.md", 3, [(13, 22), (13, 25)], "");
    assert_eq!(editor.findings("desk.md"), (json!(3), Vec::new()));
    editor.end();
}

/// What was found is told once, also of a file that nobody has open; and a text that nobody has saved is none that lacks
/// anything.
#[test]
fn what_was_told_is_not_told_again() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    for version in 2..5 {
        editor.edit("desk.md", version, [(14, 7), (14, 7)], "x");
        editor.findings("desk.md");
    }
    let uri = editor.uri("refunds.md");
    let told = editor.heard.iter().filter(|heard| heard.params["uri"] == *uri);
    assert_eq!(told.count(), 1);
    let (uri, text) = (editor.uri("new.md"), "# New\n\n## Main\n\n### Steps\n\n- Say \"x\"\n- Find()\n");
    let document = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": text});
    editor.tell("textDocument/didOpen", json!({"textDocument": document}));
    assert_eq!(editor.findings("new.md").1, ["7:2 unknown-callee"]);
    editor.end();
}

/// Each mend by itself, and all at once where that is asked for.
#[test]
fn what_was_found_can_be_mended() {
    let text = DESK
        .replace("Refund(", "Refnd(")
        .replace("- Say", "- If $sum is more then 3, say \"x\"\n- Lookup($sum)\n- Say");
    let mut editor = Editor::start(desk().file("odd.md", &text), &["utf-8"]);
    editor.open("odd.md");
    let uri = editor.uri("odd.md");
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 16, "character": 0}});
    let mut actions = |only: Json| -> Vec<(String, Vec<String>)> {
        let context = json!({"diagnostics": [], "only": only});
        let asked = json!({"textDocument": {"uri": uri}, "range": range, "context": context});
        let answer = editor.ask("textDocument/codeAction", asked);
        let action = |action: &Json| {
            let edits = action["edit"]["changes"][&uri].as_array().unwrap();
            let written = edits.iter().map(|edit| edit["newText"].as_str().unwrap().to_owned()).collect();
            (action["title"].as_str().unwrap().to_owned(), written)
        };
        answer.as_array().unwrap().iter().map(action).collect()
    };
    let one = |title: &str, written: &str| (title.to_owned(), vec![written.to_owned()]);
    let mends = [one("call `Refund`", "Refund"), one("write `more than`", " more than ")];
    let playbooks = [
        one("write a playbook `Refnd`", "\n## Refnd($order)\n\n### Steps\n- Return\n"),
        one("write a playbook `Lookup`", "\n## Lookup($sum)\n\n### Steps\n- Return\n"),
    ];
    let quick = vec![mends[0].clone(), playbooks[0].clone(), mends[1].clone(), playbooks[1].clone()];
    assert_eq!(actions(Json::Null), quick);
    assert_eq!(actions(json!(["quickfix"])), quick);
    let all = vec!["Refund".to_owned(), " more than ".to_owned()];
    assert_eq!(actions(json!(["source"])), [("apply all fixes in this file".to_owned(), all)]);
    assert_eq!(actions(json!(["refactor"])), []);
    editor.end();
}

/// Lines become a playbook of their own; why they cannot is told to editors that show it.
#[test]
fn lines_are_made_a_playbook() {
    for shows in [true, false] {
        let capabilities = json!({"general": {"positionEncodings": ["utf-8"]},
            "textDocument": {"codeAction": {"disabledSupport": shows}}});
        let mut editor = Editor::start_that_can(desk(), capabilities, Json::Null);
        let mut actions = |name: &str, [start, end]: [u32; 2]| {
            editor.open(name);
            let uri = editor.uri(name);
            let range = json!({"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}});
            let context = json!({"diagnostics": [], "only": ["refactor.extract"]});
            let answer = editor.ask(
                "textDocument/codeAction",
                json!({"textDocument": {"uri": uri}, "range": range, "context": context}),
            );
            (answer[0].clone(), answer[0]["edit"]["changes"][uri].clone())
        };
        let (action, edits) = actions("desk.md", [13, 14]);
        assert_eq!((&action["title"], &action["kind"]), (&json!("Extract playbook"), &json!("refactor.extract")));
        let written: Vec<&str> =
            edits.as_array().unwrap().iter().map(|edit| edit["newText"].as_str().unwrap()).collect();
        let playbook = "\n## Extracted($order)\n\n### Steps\n\n- $sum = Refund($order)\n- Return $sum\n";
        assert_eq!(written, ["- $sum = Extracted($order)\n", playbook]);
        assert_eq!(actions("desk.md", [12, 12]).0, Json::Null);
        let text = "# A\n\n## Main\n\n### Steps\n\n- $a = 1\n- $b = 2\n- Return $a + $b\n";
        let uri = editor.uri("new.md");
        let document = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": text});
        editor.tell("textDocument/didOpen", json!({"textDocument": document}));
        let range = json!({"start": {"line": 6, "character": 0}, "end": {"line": 8, "character": 0}});
        let asked = json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
        let answer = editor.ask("textDocument/codeAction", asked);
        let why = json!({"reason": "`$a`, `$b` are set here and read later, and a playbook returns one value"});
        assert_eq!(answer[0]["disabled"], if shows { why } else { Json::Null }, "{answer}");
        editor.end();
    }
}

/// A text that is open counts in all programs that reach it, saved or not.
#[test]
fn an_import_that_is_edited_is_judged_in_its_program() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    editor.open("refunds.md");
    editor.edit("refunds.md", 2, [(0, 10), (0, 16)], "$order, $much");
    let (_, found) = editor.findings("desk.md");
    assert_eq!(found.len(), 1, "{found:?}");
    // Closed without being saved, the file counts again.
    let uri = editor.uri("refunds.md");
    editor.tell("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    assert_eq!(editor.findings("desk.md").1, Vec::<String>::new());
    editor.end();
}

#[test]
fn names_are_found_over_files() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let refunds = editor.uri("refunds.md");
    let definition = editor.ask_at("textDocument/definition", "desk.md", (13, 11));
    assert_eq!(definition[0]["uri"], refunds, "{definition}");
    assert_eq!(
        definition[0]["range"],
        json!({"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 9}})
    );
    assert_eq!(editor.ask_at("textDocument/references", "desk.md", (13, 11)).as_array().unwrap().len(), 2);
    let hover = editor.ask_at("textDocument/hover", "desk.md", (13, 11));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("Refund($order)"), "{hover}");
    let symbols = editor.ask_at("textDocument/documentSymbol", "desk.md", (0, 0));
    assert_eq!(symbols[0]["children"][0]["name"], "Main", "{symbols}");
    let completions = editor.ask_at("textDocument/completion", "desk.md", (13, 18));
    assert_eq!(completions[0]["label"], "$order", "{completions}");
    editor.end();
}

/// Columns are bytes or units of UTF-16, as the editor wants: behind `🙂` they differ.
#[test]
fn columns_are_counted_as_the_editor_counts() {
    for (encodings, column) in [(&["utf-8", "utf-16"][..], 14), (&["utf-16"], 12), (&[], 12)] {
        let mut editor = Editor::start(desk(), encodings);
        editor.open("desk.md");
        let places = editor.ask_at("textDocument/documentHighlight", "desk.md", (13, 3));
        let range = &places[1]["range"];
        assert_eq!(
            (&range["start"]["line"], &range["start"]["character"]),
            (&json!(14), &json!(column - 1)),
            "{places}"
        );
        editor.edit("desk.md", 2, [(14, column), (14, column + 3)], "order");
        assert_eq!(
            editor.ask_at("textDocument/documentHighlight", "desk.md", (14, column)).as_array().unwrap().len(),
            3
        );
        editor.end();
    }
}

#[test]
fn a_name_is_changed_in_all_files() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let [desk, refunds] = ["desk.md", "refunds.md"].map(|name| editor.uri(name));
    let asked = |new: &str, line: u32| json!({"textDocument": {"uri": desk}, "position": {"line": line, "character": 11}, "newName": new});
    let edit = editor.ask("textDocument/rename", asked("Pay money back", 13));
    let texts = |uri: &str| {
        let edits = edit["changes"][uri].as_array().unwrap();
        edits.iter().map(|edit| edit["newText"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((texts(&desk), texts(&refunds)), (vec!["PayMoneyBack".to_owned()], vec!["Pay money back".to_owned()]));
    let prepared = editor.ask_at("textDocument/prepareRename", "desk.md", (13, 11));
    assert_eq!(prepared["placeholder"], "Refund");
    let refused = serde_json::to_value(editor.answer("textDocument/rename", asked("Main", 13))).unwrap();
    assert_eq!(refused["error"]["message"], "`Main` is the name of something else here");
    editor.end();
}

#[test]
fn a_playbook_has_callers_lenses_and_colours() {
    let desk = desk();
    let mut editor = Editor::start_with(desk, json!({"commands": ["playhouse.run", "playhouse.showCallers"]}));
    editor.open("desk.md");
    editor.open("refunds.md");
    let item = editor.ask_at("textDocument/prepareCallHierarchy", "refunds.md", (0, 5));
    let callers = editor.ask("callHierarchy/incomingCalls", json!({"item": item[0]}));
    assert_eq!(callers[0]["from"]["name"], "Main", "{callers}");
    let callees = editor.ask("callHierarchy/outgoingCalls", json!({"item": callers[0]["from"]}));
    assert_eq!(callees[0]["to"]["name"], "Refund", "{callees}");
    let lenses = editor.ask_at("textDocument/codeLens", "refunds.md", (0, 0));
    let titles: Vec<&str> =
        lenses.as_array().unwrap().iter().map(|lens| lens["command"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["run", "1 caller"]);
    let lenses = editor.ask_at("textDocument/codeLens", "desk.md", (0, 0));
    // A trigger is a caller, too.
    assert_eq!(lenses[1]["command"]["title"], "1 caller (1 trigger)", "{lenses}");
    let tokens = editor.ask_at("textDocument/semanticTokens/full", "refunds.md", (0, 0));
    // `Refund` is a declared function, `$order` a declared parameter, `Return` the word of an explicit line.
    assert_eq!(tokens["data"], json!([0, 3, 6, 3, 1, 0, 7, 6, 2, 1, 4, 2, 6, 0, 4]));
    let folds = editor.ask_at("textDocument/foldingRange", "refunds.md", (0, 0));
    assert_eq!(folds, json!([{"startLine": 0, "endLine": 4}]));
    let signature = editor.ask_at("textDocument/signatureHelp", "desk.md", (13, 18));
    assert_eq!(signature["signatures"][0]["label"], "Refund($order)");
    let symbols = editor.ask("workspace/symbol", json!({"query": "refu"}));
    assert_eq!((&symbols[0]["name"], symbols.as_array().unwrap().len()), (&json!("Refund"), 1), "{symbols}");
    editor.end();
}

/// Which tools there are is what `check` knows: by the files and what is configured beside them, as they were saved.
#[test]
fn tools_are_those_that_check_knows() {
    let program =
        "# Desk\n\n## Main\n\n### Steps\n\n- LoadFile(\"a.txt\")\n- LoadFiel(\"a.txt\")\n- GetPrice(\"sencha\")\n";
    let run = Run::new()
        .file("desk.md", program)
        .file("playhouse.toml", "canned_tools = [\"tools.json\"]\n")
        .file("tools.json", r#"{"GetPrice": {"args": ["tea"], "responses": [{"return": 1}]}}"#);
    let mut editor = Editor::start(run, &["utf-8"]);
    editor.open("desk.md");
    assert_eq!(editor.findings("desk.md").1, ["7:2 unknown-callee"]);
    let hover = editor.ask_at("textDocument/hover", "desk.md", (6, 4));
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("tool `LoadFile($path: str"), "{hover}");
    editor.end();
}

/// A text in Markdown that is no playbook gets nothing at all, until it is one.
#[test]
fn a_foreign_text_gets_nothing() {
    let readme = "# Widgets\n\n## Usage\n\n- Tell the user $name\n- If you like, call `make`\n";
    let mut editor = Editor::start(Run::new().file("README.md", readme), &["utf-8"]);
    editor.open("README.md");
    assert_eq!(editor.findings("README.md"), (Json::Null, Vec::new()));
    assert_eq!(editor.ask_at("textDocument/documentSymbol", "README.md", (0, 0)), json!([]));
    editor.edit("README.md", 2, [(4, 0), (4, 0)], "### Steps\n\n- Ask the user for $name\n");
    assert_eq!(editor.findings("README.md"), (json!(2), Vec::new()));
    assert_ne!(editor.ask_at("textDocument/documentSymbol", "README.md", (0, 0)), json!([]));
    editor.end();
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    let long = format!("## Main\n\n### Steps\n\n- Say \"{}\"\n", "x".repeat(4 << 20));
    let mut editor = Editor::start(Run::new().file("long.md", &long), &["utf-8"]);
    editor.open("long.md");
    let (_, found) = editor.findings("long.md");
    assert_eq!(found, ["0:0 too-long"]);
    editor.end();
}

/// What is wrong is answered, and loses nothing.
#[test]
fn bad_input() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let answer = editor.answer("textDocument/nothing", json!({}));
    assert_eq!(serde_json::to_value(answer).unwrap()["error"]["code"], -32601);
    let answer = editor.answer("textDocument/hover", json!({"position": 3}));
    assert_eq!(serde_json::to_value(answer).unwrap()["error"]["code"], -32602);
    // Not open, or outside: empty.
    assert_eq!(editor.ask_at("textDocument/hover", "refunds.md", (0, 4)), Json::Null);
    assert_eq!(editor.ask_at("textDocument/hover", "desk.md", (99, 0)), Json::Null);
    // An edit outside of the text: it is not what the editor shows until that sends the whole.
    editor.edit("desk.md", 2, [(99, 0), (99, 1)], "x");
    assert_eq!(editor.ask_at("textDocument/hover", "desk.md", (13, 11)), Json::Null);
    let uri = editor.uri("desk.md");
    let whole = json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": DESK}]});
    editor.tell("textDocument/didChange", whole);
    assert_ne!(editor.ask_at("textDocument/hover", "desk.md", (13, 11)), Json::Null);
    editor.end();
}

/// Several messages that come together, with the end among them.
#[test]
fn the_end_comes_with_what_was_before_it() {
    let mut editor = Editor::start(desk(), &["utf-8"]);
    editor.open("desk.md");
    let mut sent = Vec::new();
    for (id, method) in [(90, "textDocument/hover"), (91, "shutdown"), (92, "textDocument/hover")] {
        Message::Request(Request::new(RequestId::from(id), method.to_owned(), Json::Null)).write(&mut sent).unwrap();
    }
    Message::Notification(Notification::new("exit".to_owned(), Json::Null)).write(&mut sent).unwrap();
    editor.server.stdin.as_mut().unwrap().write_all(&sent).unwrap();
    let mut codes = Vec::new();
    while let Some(message) = Message::read(&mut editor.answers).unwrap() {
        if let Message::Response(response) = message {
            codes.push(serde_json::to_value(response).unwrap()["error"]["code"].clone());
        }
    }
    assert_eq!(codes, [json!(-32602), Json::Null, json!(-32600)]);
    assert_eq!(editor.server.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_no_protocol_ends_with_a_line_on_standard_error() {
    for (sent, code) in [("", 0), ("Content-Length: 3\r\n\r\n{]}", 1), ("hello\r\n\r\n", 1)] {
        let mut server = Run::new().args(["lsp"]).spawn_with(Stdio::piped());
        server.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
        assert_eq!(server.wait().unwrap().code(), Some(code), "{sent:?}");
        let mut said = String::new();
        server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(code == 0 || said.starts_with("error: "), "{sent:?}: {said}");
    }
}
