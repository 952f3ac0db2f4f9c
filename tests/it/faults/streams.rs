//! Streams that break, stop, or are none.

use serde_json::json;

use crate::faults::{Desk, LINES, ideal, last_words, pieces, reply, rest, server};
use crate::http_server::{Answer, event, sse};

/// The events of the ideal reply, its first `n` deltas.
fn first_deltas(n: usize) -> Vec<Vec<u8>> {
    let pieces = pieces(&ideal(), 4);
    let mut events = sse(&pieces.iter().map(String::as_str).take(n).collect::<Vec<_>>(), None, None);
    events.pop();
    events
}

/// The first deltas of the ideal reply and what follows them instead of the rest.
fn then(n: usize, more: &[&[u8]]) -> Answer {
    let mut events = first_deltas(n);
    events.extend(more.iter().map(|event| event.to_vec()));
    Answer::events(events)
}

/// Before, in and behind each of the lines.
const PLACES: [usize; 6] = [0, 5, 10, 17, 22, 33];

/// Whatever ends a stream too early: what came stays done, the rest is asked for.
#[test]
fn ended_early() {
    let in_stream = event(&json!({"error": {"message": "overloaded", "type": "server_error", "code": 503}}));
    let numeric = event(&json!({"error": {"message": "upstream is gone", "code": 502}}));
    let done: &[u8] = b"data: [DONE]\n\n";
    let malformed: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":oops}}]}\n\n";
    for n in PLACES {
        let cases = [
            ("an error object", then(n, &[&in_stream, done]), "overloaded"),
            ("a numeric error code", then(n, &[&numeric]), "upstream is gone"),
            ("malformed SSE", then(n, &[malformed, done]), "a piece of the stream is not JSON"),
            ("no finish_reason", then(n, &[done]), "the stream ended without a finish_reason"),
            ("no finish_reason, no [DONE]", then(n, &[]), "the stream ended without a finish_reason"),
            ("reset", then(n, &[]).reset(), "the connection to "),
        ];
        for (name, answer, words) in cases {
            let name = format!("{name} after {n} deltas");
            let server = server(vec![answer]);
            let ran = Desk::new().run(&server, "");
            ran.check_whole(&name);
            ran.check_told(&name, &["the model's reply failed: ", words, "; trying again (attempt 2)\n"]);
            assert_eq!(server.requests().len(), 2, "{name}");
        }
    }
}

/// The connection is dropped after every delta of the turn.
#[test]
fn dropped_after_every_delta() {
    let n_deltas = pieces(&ideal(), 4).len();
    assert!(n_deltas > 45, "{n_deltas}");
    // Two cores, two halves.
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for n in (half..=n_deltas).step_by(2) {
                    let name = format!("cut after {n} of {n_deltas} deltas");
                    let server = server(vec![then(n, &[]).cut_after_pieces(n)]);
                    let ran = Desk::new().run(&server, "");
                    ran.check_whole(&name);
                    // Once the yield has come nothing is left to ask for.
                    let came = pieces(&ideal(), 4)[..n].concat();
                    let n_requests = if came.contains(LINES[3]) { 1 } else { 2 };
                    assert_eq!(server.requests().len(), n_requests, "{name}");
                    let n_retries = ran.n_events("retry");
                    assert_eq!(n_retries, n_requests - 1, "{name}");
                }
            });
        }
    });
}

/// Every reply breaks a little later than the one before: still nothing twice.
#[test]
fn dropped_again_and_again() {
    let served = std::sync::atomic::AtomicUsize::new(0);
    let server = crate::http_server::start_with(move |request| {
        let n_served = served.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let text: String = rest(request).iter().map(|line| format!("{line}\n")).collect();
        let answer = reply(&text);
        if n_served < 8 { answer.cut_after_pieces(17 + n_served % 3) } else { answer }
    });
    let ran = Desk::new().run(&server, "");
    ran.check_whole("again and again");
    assert!(server.requests().len() > 2, "{}", server.requests().len());
}

/// The token limit in mid-sentence: the next reply goes on in the same utterance.
#[test]
fn length() {
    for n in PLACES {
        let pieces = pieces(&ideal(), 4);
        let first: Vec<&str> = pieces.iter().map(String::as_str).take(n).collect();
        let server = server(vec![Answer::events(sse(&first, Some("length"), Some((100, 20))))]);
        let name = format!("length after {n} deltas");
        let ran = Desk::new().run(&server, "");
        // Where the limit leaves nothing or half a line, that is told as any half line is; nothing is retried.
        ran.check_whole(&name);
        assert_eq!(server.requests().len(), 2, "{name}");
        assert_eq!(ran.n_events("retry"), 0, "{name}");
    }
    // In mid-sentence the request quotes what was said.
    let (before, _) = ideal().split_once(" is yours").map(|(before, _)| (before.to_owned(), ())).unwrap();
    let server = server(vec![Answer::events(sse(&[before.as_str()], Some("length"), None))]);
    Desk::new().run(&server, "").check_whole("mid-sentence");
    let requests = server.requests();
    let told = last_words(&requests[1]);
    assert!(told.contains(r#"you were saying "Schön: \"7\"": go on in mid-sentence"#), "{told}");
    assert!(told.contains("GO ON FROM 02"), "{told}");
}

/// 10 MB on one line: of the stream, of the reply, in speech and outside of it.
#[test]
fn ten_megabytes() {
    let long = "All work and no play. ".repeat(10_000_000 / 22);
    let once = |text: &str| Answer::events(sse(&[text], Some("stop"), None));
    // Not spoken: the reply is cut, the model is told, nothing is lost.
    for (name, text) in [
        ("a value", format!("{}\n{{\"at\":\"01\",\"set\":{{\"number\":\"{long}\"}}}}\n", LINES_BEFORE)),
        ("prose", format!("{}\n{long}", LINES_BEFORE)),
        ("no quote", format!("{}\n{{\"at\":\"01\",\"{long}", LINES_BEFORE)),
    ] {
        let server = server(vec![once(&text)]);
        let ran = Desk::new().run(&server, "");
        ran.check_whole(name);
        assert_eq!(server.requests().len(), 2, "{name}");
        assert_eq!(ran.n_events("repair"), 1, "{name}");
        let requests = server.requests();
        let told = last_words(&requests[1]);
        assert!(told.contains("PROBLEM") && told.len() < 2_000, "{name}: {}", told.len());
    }
    // A line of the stream that is none, and longer than any should be.
    let mut events = first_deltas(5);
    events.push(b"data: ".to_vec());
    events.push(vec![b'x'; 17 << 20]);
    let server = server(vec![Answer::events(events)]);
    let ran = Desk::new().run(&server, "");
    ran.check_whole("a line of 17 MiB");
    ran.check_told("a line of 17 MiB", &["sent a line of more than 16 MiB"]);
    assert_eq!(server.requests().len(), 2);
}

/// What stands before the long line.
const LINES_BEFORE: &str = r#"{"at":"01","set":{"number":7}}"#;

/// 10 MB of speech in one string: it is said up to the limit of a reply, and not again.
#[test]
fn ten_megabytes_of_speech() {
    let long = "All work and no play. ".repeat(10_000_000 / 22);
    let text = format!("{LINES_BEFORE}\n{{\"at\":\"02\",\"say\":\"{long}\"}}\n");
    let answers = vec![
        Answer::events(sse(&[&text], Some("stop"), None)),
        reply(
            "{\"at\":\"02\",\"say\":\"Enough.\"}\n{\"at\":\"03\",\"skip\":\"enough\"}\n{\"at\":\"04\",\"return\":null}\n",
        ),
    ];
    let server = server(answers);
    let ran = Desk::new().run(&server, "");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(server.requests().len(), 2);
    let said = ran.stdout.strip_suffix("\nEnough.\n").expect("what came stands there once");
    assert!(long.starts_with(said) && (1 << 19..=1 << 20).contains(&said.len()), "{}", said.len());
}
