//! Secrets are not in the log, whatever libraries write there.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::run::Run;

const SECRET: &str = "hush-4711-hush";

/// Answers one request and gives what it was asked.
fn serve_once(listener: TcpListener) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = String::new();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            if line.is_empty() {
                break;
            }
            asked.push_str(&line);
            asked.push('\n');
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").unwrap();
        asked
    })
}

#[test]
fn a_key_in_a_header_is_sent_and_logged_by_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = serve_once(listener);
    let program = format!(
        "---\nresources:\n  - type: http\n    config:\n      hosts: [\"127.0.0.1:{port}\"]\n      networks: [127.0.0.0/8]\n      \
         headers: {{X-Key: {{from_env: DESK_KEY}}}}\n---\n\n# A\n\n## Main\n\n### Steps\n\n- $page = \
         HttpGet(\"http://127.0.0.1:{port}/\")\n- Say \"{{$page.body}}\"\n"
    );
    let done = Run::new()
        .program(&program)
        .file("none.json", "[]")
        .variable("DESK_KEY", SECRET)
        .variable("PLAYHOUSE_LOG", "trace")
        .line("run program.md --model script:none.json --journal s.jsonl --events events.jsonl")
        .code(0);
    assert_eq!(done.stdout, "ok\n");
    assert!(server.join().unwrap().contains(SECRET), "the key is needed");
    assert!(done.stderr.contains("TRACE hyper_util"), "libraries log, too: {}", done.stderr);
    for (name, text) in
        [("log", &done.stderr), ("journal", &done.read("s.jsonl")), ("events", &done.read("events.jsonl"))]
    {
        assert!(!text.contains(SECRET), "{name}: {text}");
    }
}
