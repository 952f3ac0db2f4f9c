//! A program that runs by itself, and debuggers that come and go.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;

use serde_json::json;

use crate::dap::client::Client;
use crate::run::Run;

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n- $n = 1\n\
                       - Ask the user for $name:str\n- $n = $n + 1\n- Say \"{$n} for {$name}\"\n- Return $n\n";

const SCRIPT: &str = "{\"reply\": \"{\\\"at\\\":\\\"02\\\",\\\"say\\\":\\\"Who?\\\",\\\"wait\\\":\\\"user\\\"}\"}\n\
                      {\"reply\": \"{\\\"at\\\":\\\"02\\\",\\\"set\\\":{\\\"name\\\":\\\"Ann\\\"}}\"}\n";

/// The program, waiting for its user, and where it can be attached to.
fn running() -> (Run, Child, String) {
    let run = Run::new().program(PROGRAM).script(SCRIPT);
    let mut child = run.beside().line("run program.md --model script:script.jsonl --debug-listen 127.0.0.1:0").spawn();
    let mut line = String::new();
    // Standard error is read to its end, or the program could not write there.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !line.contains("can attach at ") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "no address");
    }
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    let mut said = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"Who?\n");
    (run, child, address)
}

fn attached(run: &Run, address: &str) -> Client {
    let mut client = Client::start(run.beside().line("debug"));
    client.ask("initialize", json!({}));
    client.ask("attach", json!({"address": address}));
    client
}

#[test]
fn a_debugger_comes_stops_the_program_and_goes() {
    let (run, mut child, address) = running();
    let mut client = attached(&run, &address);
    client.wait("initialized");
    let breakpoint = json!({"source": {"path": "FOLDER/program.md"}, "breakpoints": [{"line": 13}]});
    client.ask("setBreakpoints", breakpoint);
    client.ask("configurationDone", json!({}));
    child.stdin.as_mut().unwrap().write_all(b"Ann\n").unwrap();
    client.wait("stopped");
    let stack = client.ask("stackTrace", json!({"threadId": 1}));
    assert_eq!(stack["stackFrames"][0]["line"], 13);
    assert_eq!(client.ask("evaluate", json!({"expression": "$n", "context": "watch"}))["result"], "1");
    client.ask("disconnect", json!({}));
    let log = client.end();
    assert!(log.contains("the program waits for the user") && !log.contains("terminated"), "{log}");
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((said.as_str(), child.wait().unwrap().code()), ("2 for Ann\n", Some(0)));
}

#[test]
fn a_second_debugger_takes_over_and_hears_the_end() {
    let (run, mut child, address) = running();
    let mut first = attached(&run, &address);
    first.ask("configurationDone", json!({}));
    let mut second = attached(&run, &address);
    second.ask("configurationDone", json!({}));
    first.wait("terminated");
    assert!(first.end().contains("another debugger has attached"));
    child.stdin.as_mut().unwrap().write_all(b"Ann\n").unwrap();
    second.wait("exited");
    second.wait("terminated");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = second.end();
    assert!(log.contains("* exited {\"exitCode\":0}") && log.contains("2 for Ann"), "{log}");
}

#[test]
fn an_address_that_cannot_be_listened_at_is_told() {
    let run = Run::new().program(PROGRAM).script(SCRIPT);
    let words = "run program.md --model script:script.jsonl --debug-listen 192.0.2.1:1";
    run.line(words).code(2).stderr_contains("--debug-listen 192.0.2.1:1: cannot listen");
}
