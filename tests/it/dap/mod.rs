//! The debug adapter: the real binary, as a client sees it. A case is files, a command line and what the client sends;
//! the golden file is all that comes.

mod accept;
mod attach;

mod client;
mod late;

pub(crate) mod framing;

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::dap::client::Client;
use crate::golden;
use crate::run::Run;

#[test]
fn cases() {
    golden::check("dap", &["txt"], |_, text| play(text));
}

/// Sections `--- NAME` are files; `--- arguments` is the command line behind `playhouse debug`, `--- client` what the
/// client does, line by line.
fn play(text: &str) -> String {
    let (mut run, mut arguments, mut lines) = (Run::new(), String::new(), Vec::new());
    for section in text.split("--- ").skip(1) {
        let (name, body) = section.split_once('\n').unwrap();
        match name.trim() {
            "arguments" => arguments = body.trim().to_owned(),
            "client" => lines = body.lines().filter(|line| !line.trim().is_empty()).collect(),
            file => run = run.file(file, body),
        }
    }
    let mut client = Client::start(run.line("debug").line(&arguments));
    for line in &lines {
        writeln!(client.log, "> {line}").unwrap();
        act(&mut client, line);
    }
    client.end()
}

fn act(client: &mut Client, line: &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "wait" => client.wait(rest),
        "raw" => client.send_raw(rest),
        "stack" => {
            let body = client.ask("stackTrace", json!({"threadId": 1}));
            let frames = body["stackFrames"].as_array().cloned().unwrap_or_default();
            for frame in frames {
                let place = match frame["source"]["name"].as_str() {
                    Some(name) => format!(
                        " {name} {}:{}-{}:{}",
                        frame["line"], frame["column"], frame["endLine"], frame["endColumn"]
                    ),
                    None => String::new(),
                };
                let hint = frame["presentationHint"].as_str().map_or(String::new(), |hint| format!(" ({hint})"));
                writeln!(client.log, "  {} {}{place}{hint}", frame["id"], frame["name"].as_str().unwrap()).unwrap();
            }
        }
        "scopes" => {
            for scope in scopes(client, rest.parse().unwrap_or(0)) {
                let n = scope["namedVariables"].as_u64().or(scope["indexedVariables"].as_u64()).unwrap_or(0);
                writeln!(client.log, "  {} {n}", scope["name"].as_str().unwrap()).unwrap();
            }
        }
        // `open 0 Own / $order / lines`: the way into the lists of a frame.
        "open" => {
            let (frame, way) = rest.split_once(' ').unwrap();
            let mut way = way.split(" / ");
            let name = way.next().unwrap();
            let scope = scopes(client, frame.parse().unwrap()).into_iter().find(|scope| scope["name"] == name);
            let mut reference = scope.unwrap_or_else(|| panic!("{line}: no such scope"))["variablesReference"].clone();
            for step in way {
                let found = variables(client, &reference).into_iter().find(|variable| variable["name"] == step);
                reference = found.unwrap_or_else(|| panic!("{line}: no {step}"))["variablesReference"].clone();
            }
            client.last_list = reference.clone();
            for variable in variables(client, &reference) {
                let of = |key: &str| variable[key].as_str().unwrap_or_default().to_owned();
                let is_list = if variable["variablesReference"] == 0 { "" } else { " …" };
                writeln!(client.log, "  {} = {} ({}){is_list}", of("name"), of("value"), of("type")).unwrap();
            }
        }
        command => {
            // What was opened last, where its number is wanted.
            let arguments = rest.replace("LIST", &client.last_list.to_string());
            let arguments = if arguments.is_empty() { Json::Null } else { serde_json::from_str(&arguments).unwrap() };
            client.request(command, arguments);
        }
    }
}

fn scopes(client: &mut Client, frame: usize) -> Vec<Json> {
    let stack = client.ask("stackTrace", json!({"threadId": 1}));
    let body = client.ask("scopes", json!({"frameId": stack["stackFrames"][frame]["id"]}));
    body["scopes"].as_array().cloned().unwrap_or_default()
}

fn variables(client: &mut Client, reference: &Json) -> Vec<Json> {
    let body = client.ask("variables", json!({"variablesReference": reference}));
    body["variables"].as_array().cloned().unwrap_or_default()
}
