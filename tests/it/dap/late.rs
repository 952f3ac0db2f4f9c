//! A client that reads late.

use std::io::{Read, Write};

use playhouse::serve::dap::framing::{Frames, framed};
use serde_json::{Value as Json, json};

use crate::run::Run;

/// More than pipes and queues hold on both sides together.
const REQUESTS: u64 = 20_000;

#[test]
fn a_client_that_reads_late_gets_every_answer_in_order() {
    let mut adapter = Run::new().line("debug").spawn();
    let (mut stdin, mut stdout) = (adapter.stdin.take().unwrap(), adapter.stdout.take().unwrap());
    let (begun, has_begun) = std::sync::mpsc::channel();
    let writing = std::thread::spawn(move || {
        for seq in 1..=REQUESTS {
            let request = json!({"seq": seq, "type": "request", "command": format!("nothing {seq}"), "arguments": {}});
            stdin.write_all(&framed(request.to_string().as_bytes())).unwrap();
            if seq == 2_000 {
                begun.send(()).unwrap();
            }
        }
        // The end of what it says is not the end of what it wants to hear.
        stdin
    });
    has_begun.recv().unwrap();
    let (mut frames, mut bytes, mut answered) = (Frames::new(), vec![0; 1 << 16], 0);
    while answered < REQUESTS {
        let n = stdout.read(&mut bytes).unwrap();
        assert!(n > 0, "the end after {answered} answers");
        frames.push(&bytes[..n]);
        while let Some(message) = frames.next_message().unwrap() {
            let message: Json = serde_json::from_slice(&message).unwrap();
            if message["type"] == "response" {
                answered += 1;
                assert_eq!(message["request_seq"], answered);
            }
        }
    }
    drop(writing.join().unwrap());
    assert!(adapter.wait().unwrap().success());
}
