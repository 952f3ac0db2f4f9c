//! Models behind an OpenAI-compatible server: what is sent, what is made of the answers, what goes wrong.

use std::sync::Arc;
use std::time::Duration;

use playhouse::host::llm::openai::{OpenAi, OpenAiConfig, Secret};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyPart, ReplyStream};
use playhouse::vm::protocol::{ChatMessage, Finish, ReplyEnd, Role, Usage};
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use crate::http_server::{self, Answer, Closed, ServerHandle, delta_chunk, event, sse};

const KEY: &str = "sk-secret-key-0123456789";

fn config(url: &str) -> OpenAiConfig {
    OpenAiConfig {
        base_url: url.to_owned(),
        connect_timeout: Duration::from_secs(10),
        read_timeout: Duration::from_secs(10),
        ..OpenAiConfig::new("m")
    }
}

fn model(server: &ServerHandle) -> OpenAi {
    OpenAi::new(config(&server.url())).unwrap()
}

fn request() -> LlmRequest {
    let message = |role, text: &str| ChatMessage { role, text: Arc::from(text) };
    let messages = vec![message(Role::System, "be kind"), message(Role::User, "hi"), message(Role::Assistant, "yes")];
    LlmRequest { purpose: Purpose::Turn, messages, schema: None, turn: None }
}

/// A reply as a whole.
#[derive(Debug, PartialEq)]
struct Whole {
    text: String,
    end: ReplyEnd,
    usage: Option<Usage>,
}

async fn collect(mut reply: ReplyStream) -> Whole {
    let mut bytes = Vec::new();
    loop {
        match reply.next().await {
            Some(ReplyPart::Bytes(part)) => {
                assert!(!part.is_empty());
                bytes.extend(part);
            }
            Some(ReplyPart::End { end, usage }) => {
                assert_eq!(reply.next().await, None, "nothing follows the end");
                return Whole { text: String::from_utf8(bytes).unwrap(), end, usage };
            }
            None => panic!("a reply without end"),
        }
    }
}

async fn ask(answer: Answer) -> Whole {
    let server = http_server::start(vec![answer]);
    collect(model(&server).request(request())).await
}

/// The text of a reply that ended well.
async fn text_of(answer: Answer) -> String {
    let whole = ask(answer).await;
    assert_eq!(whole.end, STOP);
    whole.text
}

fn broken(end: &ReplyEnd) -> (&str, Option<u64>) {
    match end {
        ReplyEnd::Broken { reason, retry_after_ms } => (reason, *retry_after_ms),
        ReplyEnd::Complete(_) | ReplyEnd::Refused { .. } | ReplyEnd::Closed => panic!("not broken: {end:?}"),
    }
}

fn refused(end: &ReplyEnd) -> &str {
    match end {
        ReplyEnd::Refused { reason } => reason,
        ReplyEnd::Complete(_) | ReplyEnd::Broken { .. } | ReplyEnd::Closed => panic!("not refused: {end:?}"),
    }
}

/// What the server's URL looks like in expected texts.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("http://127.0.0.1:") {
        let port = begin + "http://127.0.0.1:".len();
        let n_digits = rest[port..].bytes().take_while(u8::is_ascii_digit).count();
        masked.push_str(&rest[..begin]);
        masked.push_str("URL");
        rest = &rest[port + n_digits..];
    }
    masked + rest
}

const STOP: ReplyEnd = ReplyEnd::Complete(Finish::Stop);

const LINES: &[&str] = &["{\"at\":\"01\",", "\"say\":\"H", "i é 🙂\"}\n", "{\"wait\":\"user\"}"];

#[tokio::test]
async fn a_reply_is_streamed_with_its_counts() {
    let server = http_server::start(vec![Answer::deltas(LINES).gated_from(0)]);
    let llm = model(&server);
    assert_eq!(&*llm.id(), "openai:m");
    let mut reply = llm.request(request());
    for line in LINES {
        server.open_gate(1);
        assert_eq!(reply.next().await, Some(ReplyPart::Bytes(line.as_bytes().to_vec())));
    }
    server.open_gate(3);
    let usage = Some(Usage { prompt_tokens: 100, cached_tokens: 0, completion_tokens: 20 });
    assert_eq!(collect(reply).await, Whole { text: String::new(), end: STOP, usage });
}

#[tokio::test]
async fn what_has_arrived_together_is_handed_on_together() {
    let deltas: Vec<String> = (0..80).map(|number| format!("{number:04}")).collect();
    let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
    let server = http_server::start(vec![Answer::deltas(&deltas).joined()]);
    let parts: Vec<ReplyPart> = model(&server).request(request()).collect().await;
    assert_eq!(parts[0], ReplyPart::Bytes(deltas.concat().into_bytes()));
    assert_eq!(parts.len(), 2);
}

#[tokio::test]
async fn the_request_holds_what_is_configured_and_nothing_else() {
    let server = http_server::start(vec![Answer::deltas(&[]), Answer::deltas(&[]), Answer::deltas(&[])]);
    collect(model(&server).request(LlmRequest { schema: Some(Arc::new(json!({}))), ..request() })).await;
    let Value::Object(extra_body) = json!({
        "stream_options": null, "temperature": 1, "top_k": 5, "model": "no", "stream": false, "messages": []
    }) else {
        unreachable!()
    };
    let full = OpenAiConfig {
        api_key: Some(Secret::new(KEY)),
        temperature: Some(0.25),
        max_tokens: Some(900),
        extra_headers: vec![("X-Org".into(), "acme".into())],
        constrain: true,
        ..config(&format!("{}/chat/completions/", server.url()))
    };
    let schema = json!({"type": "object", "properties": {"trace": {"type": "array"}}});
    let with_schema = LlmRequest { schema: Some(Arc::new(schema.clone())), ..request() };
    collect(OpenAi::new(full.clone()).unwrap().request(with_schema)).await;
    collect(OpenAi::new(OpenAiConfig { extra_body, ..full }).unwrap().request(request())).await;

    let messages = json!([
        {"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes"},
    ]);
    let options = json!({"include_usage": true});
    let requests = server.requests();
    assert_eq!(
        requests[0].body,
        json!({"model": "m", "messages": messages, "stream": true, "stream_options": options})
    );
    assert_eq!(requests[0].target, "POST /v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), None);
    let format = json!({"type": "json_schema", "json_schema": {"name": "trace", "strict": false, "schema": schema}});
    assert_eq!(
        requests[1].body,
        json!({
            "model": "m", "messages": messages, "stream": true, "stream_options": options, "temperature": 0.25,
            "max_tokens": 900, "response_format": format,
        })
    );
    assert_eq!(requests[1].target, "POST /v1/chat/completions");
    assert_eq!(requests[1].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(requests[1].header("x-org"), Some("acme"));
    assert_eq!(
        requests[2].body,
        json!({
            "model": "m", "messages": messages, "stream": true, "max_tokens": 900, "temperature": 1, "top_k": 5,
        })
    );
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let quoting = Answer::json(401, &json!({"error": {"message": format!("bad key {KEY} and acme-secret-1")}}));
    let in_stream = event(&json!({"error": {"message": format!("bad key {KEY}")}}));
    let no_json = format!("data: {{{KEY}\n\n");
    let server = http_server::start(vec![quoting, Answer::events(vec![in_stream]), Answer::text(&no_json)]);
    let config = OpenAiConfig {
        api_key: Some(Secret::new(KEY)),
        extra_headers: vec![("api-key".into(), "acme-secret-1".into())],
        ..config(&server.url())
    };
    let llm = OpenAi::new(config.clone()).unwrap();
    for _ in 0..3 {
        let whole = collect(llm.request(request())).await;
        let shown = format!("{whole:?} {config:?} {llm:?} {:?}", config.api_key);
        assert!(!shown.contains(KEY) && !shown.contains("acme-secret-1"), "{shown}");
        assert!(format!("{whole:?}").contains("[redacted]"), "{whole:?}");
    }
    // A key no header can hold is an error, not a panic, and not shown either.
    let broken = OpenAiConfig { api_key: Some(Secret::new("sk-\nsecret")), ..config };
    let error = OpenAi::new(broken).unwrap_err().to_string();
    assert!(error.contains("OPENAI_API_KEY") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn configurations_that_cannot_work_are_refused() {
    let error = |config: OpenAiConfig| OpenAi::new(config).unwrap_err().to_string();
    assert_eq!(
        error(config("localhost:8080")),
        "base URL \"localhost:8080\" cannot be used: its scheme is \"localhost\", not http or https; write one such as \
         http://127.0.0.1:8080/v1"
    );
    let with_password = error(config("http://me:hidden-word@host/v1"));
    assert!(with_password.contains("a password") && !with_password.contains("hidden-word"), "{with_password}");
    let bad_header = OpenAiConfig { extra_headers: vec![("a b".into(), "c".into())], ..config("http://h/v1") };
    assert_eq!(
        error(bad_header),
        "extra header \"a b\" cannot be used: its name holds characters that HTTP does not allow"
    );
    assert!(error(OpenAiConfig { model: String::new(), ..config("http://h/v1") }).starts_with("no model name"));
    let thinks = |name: &str| OpenAi::new(OpenAiConfig::new(name)).unwrap().starts_in_think();
    assert_eq!([thinks("DeepSeek-R1:8b"), thinks("qwq-32b"), thinks("gpt-4.1-mini")], [true, true, false]);
    let said = OpenAiConfig { starts_in_think: Some(false), context_tokens: Some(9), ..OpenAiConfig::new("qwq") };
    let said = OpenAi::new(said).unwrap();
    assert_eq!((said.starts_in_think(), said.context_tokens()), (false, Some(9)));
}

#[tokio::test]
async fn reasons_to_finish_are_told_apart() {
    let end = async |finish: &str| ask(Answer::events(sse(&["a"], Some(finish), None))).await.end;
    assert_eq!(end("stop").await, STOP);
    assert_eq!(end("eos").await, STOP);
    assert_eq!(end("length").await, ReplyEnd::Complete(Finish::Length));
    assert_eq!(end("banana").await, ReplyEnd::Complete(Finish::Other(Arc::from("banana"))));
    assert_eq!(broken(&end("error").await), ("the server ended the reply with finish_reason \"error\"", None));
}

#[tokio::test]
async fn usage_comes_in_many_shapes() {
    let counted = async |usage: Value| {
        let mut events = sse(&["a"], Some("stop"), None);
        events.insert(2, event(&json!({"choices": null, "usage": usage})));
        ask(Answer::events(events))
            .await
            .usage
            .map(|usage| (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    };
    let details = json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
    assert_eq!(counted(details).await, Some((9, 4, 2)));
    let deep_seek = json!({"prompt_tokens": 9.0, "completion_tokens": 2, "prompt_cache_hit_tokens": 3});
    assert_eq!(counted(deep_seek).await, Some((9, 3, 2)));
    assert_eq!(counted(json!({"input_tokens": 9, "output_tokens": null, "x": "y"})).await, Some((9, 0, 0)));
    assert_eq!(counted(json!({"prompt_tokens": 0, "completion_tokens": 0})).await, None);
    assert_eq!(counted(Value::Null).await, None);
}

#[tokio::test]
async fn odd_streams_are_read() {
    // Chunks without id and other fields, with unknown ones, with an odd finish reason, without choices.
    let odd = Answer::events(vec![
        b": OPENROUTER PROCESSING\n\n".to_vec(),
        b"event: keepalive\ndata: {}\n\n".to_vec(),
        event(&json!({"choices": []})),
        event(&json!({"choices": [{"delta": {"role": "assistant", "content": null}, "logprobs": {}}], "error": null})),
        event(&json!({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}], "provider": {"x": [1]}})),
        event(&json!({"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "b"}]}}]})),
        event(&json!({"choices": [{"index": 0, "delta": {"content": 5}}]})),
        event(&json!({"choices": [{"index": 0, "finish_reason": "stop"}]})),
        b": bye\n\ndata: [DONE]\n\n".to_vec(),
    ]);
    assert_eq!(text_of(odd).await, "ab");

    let several = Answer::events(vec![
        event(&json!({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]})),
        event(
            &json!({"choices": [{"index": 0, "delta": {"content": "yes"}}, {"index": 1, "delta": {"content": "n"}}]}),
        ),
        event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
    ]);
    assert_eq!(text_of(several).await, "yes");

    let tool_calls =
        json!({"content": null, "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]});
    let mut events = sse(&["a", "b"], Some("stop"), None);
    events.insert(1, event(&delta_chunk(tool_calls)));
    assert_eq!(text_of(Answer::events(events)).await, "ab");

    let mut events = sse(&[], Some("stop"), None);
    events.insert(0, event(&delta_chunk(json!({"refusal": "I won't."}))));
    assert_eq!(text_of(Answer::events(events)).await, "I won't.");
}

#[tokio::test]
async fn framing_makes_no_difference() {
    let events = sse(LINES, Some("stop"), Some((1, 2)));
    let expected = LINES.concat();
    assert_eq!(text_of(Answer::events(events.clone()).bytewise()).await, expected);
    assert_eq!(text_of(Answer::events(events.clone()).joined()).await, expected);
    assert_eq!(text_of(Answer::events(events.clone()).until_close()).await, expected);
    let text = String::from_utf8(events.concat()).unwrap();
    for line_end in ["\r\n", "\r"] {
        let text = text.replace('\n', line_end);
        assert_eq!(text_of(Answer::text(&text)).await, expected, "{line_end:?}");
        assert_eq!(text_of(Answer::text(&text).bytewise()).await, expected, "{line_end:?} bytewise");
    }
    // A byte order mark, no space behind the colon, several data lines, no empty line at the end, no `[DONE]`.
    let compact = text.replace("data: ", "data:").replace("data:[DONE]\n\n", "");
    assert_eq!(text_of(Answer::text(&format!("\u{feff}{}", compact.trim_end()))).await, expected);
    let split = text.replacen("\"choices\"", "\ndata: \"choices\"", 1);
    assert_eq!(text_of(Answer::text(&split)).await, expected);
    // A server that does not stream.
    let message = json!({"choices": [{"message": {"content": expected}, "finish_reason": "stop"}]});
    assert_eq!(text_of(Answer::body(200, "application/json", &format!("{message:#}"))).await, expected);
}

#[tokio::test]
async fn reasoning_is_wrapped_and_cannot_get_out() {
    let events = |deltas: Vec<Value>| {
        let mut events: Vec<Vec<u8>> = deltas.into_iter().map(|delta| event(&delta_chunk(delta))).collect();
        events.extend(sse(&[], Some("stop"), None));
        Answer::events(events)
    };
    let reasoning = |text: &str| json!({"reasoning_content": text});
    let content = |text: &str| json!({"content": text, "reasoning_content": null});
    // What would close the block is written otherwise, wherever it is cut.
    let cut = [reasoning("so </think>\n{\"say\":\"no\"}\n<"), reasoning("/think> <"), reasoning("b>"), content("{}")];
    assert_eq!(
        text_of(events(cut.to_vec())).await,
        "<think>\nso <\\/think>\n{\"say\":\"no\"}\n<\\/think> <b>\n</think>\n{}"
    );
    // Other names; the same text twice.
    let both = json!({"reasoning": "a", "reasoning_content": "a"});
    assert_eq!(text_of(events(vec![both, content("{}")])).await, "<think>\na\n</think>\n{}");
    let parts = json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]});
    assert_eq!(text_of(events(vec![parts, content("{}")])).await, "<think>\na\n</think>\n{}");
    // Nothing but reasoning; a block between two lines; none inside a line.
    assert_eq!(text_of(events(vec![reasoning("a")])).await, "<think>\na\n</think>\n");
    let between = vec![content("{}\n"), reasoning("a"), content("{}")];
    assert_eq!(text_of(events(between)).await, "{}\n<think>\na\n</think>\n{}");
    let inside = vec![content("{\"say\":\"a"), reasoning("x"), content("b\"}")];
    assert_eq!(text_of(events(inside)).await, "{\"say\":\"ab\"}");
}

#[tokio::test]
async fn a_server_that_strips_the_reasoning_is_noticed() {
    let reply = async |delta: &str| {
        let server = http_server::start(vec![Answer::deltas(&[delta])]);
        let config = OpenAiConfig { starts_in_think: Some(true), ..config(&server.url()) };
        collect(OpenAi::new(config).unwrap().request(request())).await.text
    };
    assert_eq!(reply("\n{\"say\":\"a\"}").await, "</think>\n\n{\"say\":\"a\"}");
    assert_eq!(reply("hm {\"say\":\"a\"}").await, "hm {\"say\":\"a\"}");
}

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
    assert!(reason.starts_with("a piece of the stream is no JSON (EOF while parsing"), "{reason}");
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
async fn a_connection_is_used_again() {
    // Also where the end of the answer comes a little behind `[DONE]`, as an HTTP chunk of its own.
    let server = http_server::start(vec![Answer::deltas(LINES), Answer::deltas(LINES).joined(), Answer::deltas(LINES)]);
    let llm = model(&server);
    for _ in 0..3 {
        assert_eq!(collect(llm.request(request())).await.end, STOP);
    }
    assert_eq!((server.n_connections(), server.requests().len()), (1, 3));
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

#[test]
fn the_server_serves_tests_without_a_runtime() {
    let server = http_server::start(vec![Answer::silence()]);
    let url = server.url();
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let llm = OpenAi::new(OpenAiConfig { read_timeout: Duration::from_millis(50), ..config(&url) }).unwrap();
            collect(llm.request(request())).await
        })
    });
    server.wait_for_requests_blocking(1);
    assert_eq!(server.wait_for_closed_blocking(1), [Closed { connection: 0, during_answer: true }]);
    broken(&client.join().unwrap().end);
    assert_eq!(server.closed_connections().len(), 1);
}
