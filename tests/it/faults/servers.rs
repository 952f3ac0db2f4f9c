//! Servers that refuse, are busy, are broken or say nothing.

use serde_json::json;

use crate::faults::{Desk, server};
use crate::http_server::Answer;

fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({"error": {"message": message, "type": "some_error"}}))
}

/// Failures that asking again does not heal: one request, exit 1, and what to do.
#[test]
fn refused() {
    let quota = json!({"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}});
    let cases = [
        ("401", error(401, "Incorrect API key"), &["401 Unauthorized: Incorrect API key", "set OPENAI_API_KEY"]),
        (
            "429 without credit",
            Answer::json(429, &quota),
            &["exceeded your current quota", "check the plan and the billing"],
        ),
        (
            "numeric code",
            Answer::json(400, &json!({"error": {"code": 400, "message": "no such field"}})),
            &["400 Bad Request: no such field", "check --model and the configured fields"],
        ),
        ("404", error(404, "no such model"), &["404 Not Found: no such model", "check --model, and --base-url"]),
    ];
    for (name, answer, words) in cases {
        let server = server(vec![answer]);
        let ran = Desk::new().run(&server, "");
        ran.check_failed(name, words);
        ran.check_told(name, &["error[model]: desk.md:8, line 01 of Main: ", "playhouse sessions show desk"]);
        assert_eq!(server.requests().len(), 1, "{name}");
    }
}

/// A key that is not accepted is not shown either, also where the server repeats it.
#[test]
fn key_not_accepted() {
    let server = server(vec![error(401, "Incorrect API key provided: sk-secret-4711.")]);
    let desk = Desk { key: Some("sk-secret-4711"), ..Desk::new() };
    let ran = desk.run(&server, "");
    ran.check_failed("401", &["the key was not accepted: check OPENAI_API_KEY, and that it belongs to --base-url"]);
    assert!(!ran.stderr.contains("4711"), "{}", ran.stderr);
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-secret-4711"));
    assert_eq!(server.requests().len(), 1);
}

/// Failures that asking again heals: two requests, and everything is done once.
#[test]
fn asked_again() {
    let code = |code: u16| json!({"error": {"code": code, "message": "busy upstream"}});
    let cases = [
        ("429", error(429, "slow down").header("retry-after", "1"), "429 Too Many Requests: slow down"),
        ("429 in milliseconds", error(429, "slow down").header("retry-after-ms", "3"), "429 Too Many Requests"),
        ("500", error(500, "oops"), "500 Internal Server Error: oops"),
        ("503", Answer::body(503, "text/html", "<html><h1>Busy</h1></html>"), "503 Service Unavailable"),
        ("numeric code with status 200", Answer::json(200, &code(502)), "busy upstream"),
        ("numeric code with status 429", Answer::json(429, &code(429)), "429 Too Many Requests: busy upstream"),
    ];
    for (name, answer, words) in cases {
        let server = server(vec![answer]);
        let ran = Desk::new().run(&server, "");
        ran.check_whole(name);
        ran.check_told(name, &["the model's reply failed: ", words, "; trying again (attempt 2)\n"]);
        assert_eq!(server.requests().len(), 2, "{name}");
        assert_eq!(server.requests()[0].body, server.requests()[1].body, "{name}");
    }
}

/// A server that stays broken: the limit of attempts, exit 1, and the session can be gone on with.
#[test]
fn broken_for_long() {
    for (name, answer) in
        [("500", error(500, "oops")), ("503", error(503, "busy")), ("cut", Answer::deltas(&[]).cut_after_pieces(0))]
    {
        let desk = Desk::new();
        let broken = server(vec![answer; 4]);
        let ran = desk.run(&broken, "");
        ran.check_failed(name, &["no answer after 4 attempts", "to continue: playhouse"]);
        assert_eq!(broken.requests().len(), 4, "{name}");
        assert_eq!(ran.n_events("retry"), 3, "{name}");
        let healed = server(Vec::new());
        desk.run(&healed, "").check_whole(name);
        assert_eq!(healed.requests().len(), 1, "{name}");
    }
}

/// Nothing ever comes: the read time-out ends each attempt.
#[test]
fn silent() {
    let desk = Desk::with_config("read_timeout = 0.1\n[limits]\nmax_retries = 1\n");
    let server = server(vec![Answer::silence(), Answer::silence()]);
    let ran = desk.run(&server, "");
    ran.check_failed("silent", &["no answer after 2 attempts", "sent nothing for 0.1 s", "to continue: playhouse"]);
    assert_eq!(server.requests().len(), 2);
    // The connections were given up, not left open.
    assert!(server.wait_for_closed_blocking(2).iter().all(|closed| closed.during_answer));
}

/// The same in the middle of a reply: what had come is done, and nothing of it twice.
#[test]
fn silent_in_a_reply() {
    let desk = Desk::with_config("read_timeout = 0.1\n");
    for n_pieces in [1, 20, 40] {
        let first = crate::faults::reply(&crate::faults::ideal()).cut_after_pieces(n_pieces).hang();
        let server = server(vec![first]);
        let ran = desk.run_url(&server.url(), &["--session", &format!("s{n_pieces}")], "");
        std::fs::remove_file(desk.path("calls.log")).unwrap();
        ran.check_whole("silent");
        ran.check_told("silent", &["sent nothing for 0.1 s; trying again (attempt 2)"]);
        assert_eq!(server.requests().len(), 2);
    }
}

/// No server at all.
#[test]
fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let ran = Desk::new().run_url(&url, &[], "");
    ran.check_failed("nobody", &["no connection to http://127.0.0.1", "check --base-url, and that the server runs"]);
}
