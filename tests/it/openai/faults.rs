//! What goes wrong behind an OpenAI-compatible server, as seen through the model.

use std::time::Duration;

use playhouse::host::llm::openai::{OpenAi, OpenAiConfig, Secret};
use playhouse::host::llm::{Llm, ReplyPart};
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use super::{KEY, LINES, STOP, Whole, ask, broken, collect, config, masked, model, refused, request, text_of};
use crate::http_server::{self, Answer, Closed, ServerHandle, event, sse};

#[tokio::test]
async fn refusals_name_status_message_and_next_step() {
    let told = async |status: u16, body: Value| {
        let whole = ask(Answer::json(status, &body)).await;
        assert_eq!(whole.text, "");
        masked(refused(&whole.end))
    };
    let error = |message: &str, kind: &str, code: Value| json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    assert_eq!(
        told(401, error("You didn't provide an API key.", "invalid_request_error", Value::Null)).await,
        "URL/v1 answered 401 Unauthorized: You didn't provide an API key.; set OPENAI_API_KEY"
    );
    assert_eq!(
        told(404, error("The model `m` does not exist", "invalid_request_error", json!("model_not_found"))).await,
        "URL/v1 answered 404 Not Found: The model `m` does not exist; check --model, and --base-url (it ends before \
         /chat/completions, most often in /v1)"
    );
    // A numeric code, which async-openai itself cannot read.
    assert_eq!(
        told(400, error("temperature is not supported", "BadRequestError", json!(400))).await,
        "URL/v1 answered 400 Bad Request: temperature is not supported; check --model and the configured fields \
         (temperature, max_tokens, constrain, extra body)"
    );
    assert_eq!(
        told(400, error("too long", "invalid_request_error", json!("context_length_exceeded"))).await,
        "URL/v1 answered 400 Bad Request: too long; the conversation is too long for this model: set `context_tokens`"
    );
    assert_eq!(
        told(429, error("You exceeded your current quota", "insufficient_quota", json!("insufficient_quota"))).await,
        "URL/v1 answered 429 Too Many Requests: You exceeded your current quota; check the plan and the billing of the \
         account, or use another key"
    );
    // Other shapes of errors.
    for body in [
        json!({"object": "error", "message": "no", "code": 403}),
        json!({"detail": "no"}),
        json!({"error": "no"}),
        json!([{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}]),
    ] {
        assert_eq!(told(403, body).await, "URL/v1 answered 403 Forbidden: no; set OPENAI_API_KEY");
    }
    let with_key = async |status: u16| {
        let server = http_server::start(vec![Answer::body(status, "text/plain", "")]);
        let config = OpenAiConfig { api_key: Some(Secret::new(KEY)), ..config(&server.url()) };
        masked(refused(&collect(OpenAi::new(config).unwrap().request(request())).await.end))
    };
    assert_eq!(
        with_key(401).await,
        "URL/v1 answered 401 Unauthorized; the key was not accepted: check OPENAI_API_KEY, and that it belongs to \
         --base-url"
    );
    assert_eq!(with_key(403).await, "URL/v1 answered 403 Forbidden; check that this key may use the model (--model)");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = http_server::start(vec![Answer::body(307, "text/plain", "").header("location", "http://evil/v1")]);
    let whole = collect(model(&server).request(request())).await;
    assert_eq!(
        masked(refused(&whole.end)),
        "URL/v1 answered 307 Temporary Redirect; it points to http://evil/v1: set --base-url to where it moved"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn web_pages_are_shortened() {
    let page = format!("<html><head><title>502  Bad\nGateway</title></head><body>{}</body></html>", "x ".repeat(5_000));
    let whole = ask(Answer::body(502, "text/html", &page)).await;
    assert_eq!(masked(broken(&whole.end).0), "URL/v1 answered 502 Bad Gateway: 502 Bad Gateway");
    let untitled = format!("<p>upstream {}</p><br>gone", "x ".repeat(5_000));
    let whole = ask(Answer::body(503, "text/html", &untitled)).await;
    let reason = broken(&whole.end).0;
    assert!(reason.contains("503 Service Unavailable: upstream x x") && reason.ends_with("x x gone"), "{reason}");
    assert!(reason.len() < 600, "{}", reason.len());
    let whole = ask(Answer::body(200, "text/html; charset=utf-8", "<title>Welcome</title>")).await;
    assert_eq!(
        masked(refused(&whole.end)),
        "URL/v1 answers with a web page (Welcome), not with a reply; check --base-url"
    );
}

#[tokio::test]
async fn transient_failures_are_asked_once_and_tell_how_long_to_wait() {
    let error = |message: &str| json!({"error": {"message": message, "type": "server_error", "code": null}});
    for (status, name) in [
        (408, "Request Timeout"),
        (409, "Conflict"),
        (429, "Too Many Requests"),
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
        (529, "<unknown status code>"),
    ] {
        let server = http_server::start(vec![Answer::json(status, &error("busy")), Answer::deltas(&["a"])]);
        let llm = model(&server);
        let whole = collect(llm.request(request())).await;
        assert_eq!(masked(broken(&whole.end).0), format!("URL/v1 answered {status} {name}: busy"));
        assert_eq!(broken(&whole.end).1, None);
        assert_eq!(server.requests().len(), 1, "no hidden retries");
        assert_eq!(collect(llm.request(request())).await.text, "a");
        assert_eq!(server.n_connections(), 1, "the connection of a failure is used again");
    }
    let wait = async |headers: &[(&str, &str)]| {
        let answer = Answer::json(429, &error("slow down"));
        let answer = headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value));
        broken(&ask(answer).await.end).1
    };
    let date = ("date", "Sun, 06 Nov 1994 08:49:00 GMT");
    assert_eq!(wait(&[("retry-after", "2")]).await, Some(2_000));
    assert_eq!(wait(&[("retry-after", "0.5")]).await, Some(500));
    assert_eq!(wait(&[("retry-after-ms", "1234"), ("retry-after", "9")]).await, Some(1_234));
    assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date]).await, Some(37_000));
    assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT"), date]).await, Some(0));
    assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]).await, None);
    assert_eq!(wait(&[("retry-after", "soon")]).await, None);
}

#[tokio::test]
async fn errors_inside_the_stream_end_the_reply() {
    let told = async |error: Value| {
        let mut events = sse(&["half"], None, None);
        events.insert(1, event(&json!({"error": error, "choices": [{"delta": {}, "finish_reason": "error"}]})));
        let whole = ask(Answer::events(events)).await;
        assert_eq!(whole.text, "half");
        whole.end
    };
    let overloaded = told(json!({"message": "Overloaded", "type": "overloaded_error", "code": null})).await;
    let expected = "the server reports an error in the stream (overloaded_error): Overloaded";
    assert_eq!(broken(&overloaded), (expected, None));
    let upstream = told(json!({"code": 502, "message": "upstream died"})).await;
    assert_eq!(broken(&upstream), ("the server reports an error in the stream (502): upstream died", None));
    assert_eq!(broken(&told(json!("gone")).await).0, "the server reports an error in the stream: gone");
    for lasting in [
        json!({"code": 400, "message": "x"}),
        json!({"type": "insufficient_quota", "message": "x"}),
        json!({"code": "context_length_exceeded", "message": "x"}),
    ] {
        refused(&told(lasting).await);
    }
    // With status 200 and no stream at all.
    let whole = ask(Answer::json(200, &json!({"error": {"code": 429, "message": "slow down"}}))).await;
    assert_eq!(broken(&whole.end).0, "the server reports an error in the stream (429): slow down");
    // Behind a complete reply it does no harm.
    let mut events = sse(&["a"], Some("stop"), None);
    events.insert(2, event(&json!({"error": {"message": "late"}})));
    assert_eq!(text_of(Answer::events(events)).await, "a");
}

#[tokio::test]
async fn malformed_streams_break_the_reply() {
    let mut events = sse(&["half"], None, None);
    events.insert(1, b"data: {\"choices\": [\n\n".to_vec());
    let whole = ask(Answer::events(events)).await;
    assert_eq!(whole.text, "half");
    let reason = broken(&whole.end).0;
    assert!(reason.starts_with("a piece of the stream is not JSON (EOF while parsing"), "{reason}");
    assert!(reason.ends_with(": {\"choices\": ["), "{reason}");

    let not_text = Answer::events(vec![b"data: \xff\xfe\n\n".to_vec()]);
    let reason = masked(broken(&ask(not_text).await.end).0);
    assert!(reason.starts_with("the stream is malformed"), "{reason}");

    for text in ["", "hello", "data: [DONE]\n\n", "data: {}\n\n"] {
        let whole = ask(Answer::text(text)).await;
        assert_eq!(broken(&whole.end), ("the stream ended without a finish_reason", None), "{text:?}");
    }
    let whole = ask(Answer::body(200, "application/json", "{nonsense")).await;
    assert!(masked(broken(&whole.end).0).starts_with("URL/v1 sent no JSON: "), "{whole:?}");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_broken() {
    // Cleanly, with and without `[DONE]`.
    let mut events = sse(LINES, None, None);
    assert_eq!(broken(&ask(Answer::events(events.clone())).await.end).0, "the stream ended without a finish_reason");
    events.pop();
    assert_eq!(broken(&ask(Answer::events(events)).await.end).0, "the stream ended without a finish_reason");
    // Uncleanly, after every delta, by close and by reset.
    for n_deltas in 0..=LINES.len() {
        for answer in
            [Answer::deltas(LINES).cut_after_pieces(n_deltas), Answer::deltas(LINES).cut_after_pieces(n_deltas).reset()]
        {
            let whole = ask(answer).await;
            let expected = LINES[..n_deltas].concat();
            // A reset may overtake what was sent before it.
            assert!(expected.starts_with(&whole.text), "{whole:?}");
            let reason = masked(broken(&whole.end).0);
            assert!(reason.starts_with("the connection to URL/v1 broke: "), "{reason}");
        }
    }
    // Inside an event: what was complete counts.
    let whole = ask(Answer::deltas(LINES).cut_after_bytes(sse(LINES, None, None)[0].len() + 9)).await;
    assert_eq!(whole.text, LINES[0]);
    broken(&whole.end);
    // After the finish reason the reply is whole.
    let whole = ask(Answer::deltas(LINES).cut_after_pieces(LINES.len() + 1)).await;
    assert_eq!(whole, Whole { text: LINES.concat(), end: STOP, usage: None });
}

#[tokio::test]
async fn silence_is_not_waited_for_without_end() {
    let hasty = |server: &ServerHandle| {
        let config = OpenAiConfig { read_timeout: Duration::from_millis(50), ..config(&server.url()) };
        OpenAi::new(config).unwrap()
    };
    let server =
        http_server::start(vec![Answer::silence(), Answer::events(sse(LINES, None, None)).cut_after_pieces(2).hang()]);
    let whole = collect(hasty(&server).request(request())).await;
    assert_eq!(masked(broken(&whole.end).0), "URL/v1 sent nothing for 0.05 s");
    let whole = collect(hasty(&server).request(request())).await;
    assert_eq!(masked(broken(&whole.end).0), "URL/v1 sent nothing for 0.05 s");
    assert_eq!(whole.text, LINES[..2].concat());
    server.wait_for_closed(2).await;
    // Nor for counts that never come.
    let counts = Answer::deltas(LINES).cut_after_pieces(LINES.len() + 1).hang();
    let server = http_server::start(vec![counts]);
    assert_eq!(
        collect(hasty(&server).request(request())).await,
        Whole { text: LINES.concat(), end: STOP, usage: None }
    );
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let whole = collect(OpenAi::new(config(&url)).unwrap().request(request())).await;
    let reason = masked(broken(&whole.end).0);
    assert!(reason.starts_with("no connection to URL/v1: "), "{reason}");
    assert!(reason.contains("refused") && reason.ends_with("; check --base-url, and that the server runs"), "{reason}");
    // A label of more than 63 characters is not found by any resolver, and asked of none.
    let url = format!("http://{}.invalid/v1", "x".repeat(64));
    let whole = collect(OpenAi::new(config(&url)).unwrap().request(request())).await;
    let reason = broken(&whole.end).0;
    assert!(reason.starts_with(&format!("the host of {url} is not found: ")), "{reason}");
}

#[tokio::test]
async fn dropping_a_reply_closes_its_connection() {
    check_dropping().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_reply_closes_its_connection_from_any_thread() {
    check_dropping().await;
}

async fn check_dropping() {
    // While it streams, while it is idle, before its first byte.
    let answers = vec![
        Answer::deltas(LINES).gated_from(2),
        Answer::events(sse(LINES, None, None)).cut_after_pieces(1).hang(),
        Answer::silence(),
    ];
    let server = http_server::start(answers);
    let llm = model(&server);
    for connection in 0..2 {
        let mut reply = llm.request(request());
        assert!(matches!(reply.next().await, Some(ReplyPart::Bytes(_))));
        drop(reply);
        let closed = server.wait_for_closed(connection + 1).await;
        assert_eq!(closed[connection], Closed { connection, during_answer: true });
    }
    let mut reply = llm.request(request());
    tokio::select! {
        _ = reply.next() => panic!("nothing was sent"),
        () = server.wait_for_requests(3) => {}
    }
    drop(reply);
    assert_eq!(server.wait_for_closed(3).await.len(), 3);
}

#[tokio::test]
async fn a_long_line_is_read_and_an_endless_one_is_not() {
    let long = "x".repeat(10 * 1024 * 1024);
    let whole = ask(Answer::deltas(&[&long])).await;
    assert_eq!((whole.text.len(), whole.end), (long.len(), STOP));
    let endless = Answer::events(vec![vec![b'x'; 1024 * 1024]; 17]).hang();
    let server = http_server::start(vec![endless]);
    let whole = collect(model(&server).request(request())).await;
    assert_eq!(masked(broken(&whole.end).0), "URL/v1 sent a line of more than 16 MiB");
    server.wait_for_closed(1).await;
}
