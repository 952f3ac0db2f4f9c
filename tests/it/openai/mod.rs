//! Models behind an OpenAI-compatible server: what is sent, and what is made of good answers.

mod faults;

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
    // More than is handed on at once, and less than the client reads at once: the rest may come later.
    let deltas: Vec<String> = (0..40).map(|number| format!("{number:04}")).collect();
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
async fn a_connection_is_used_again() {
    let mut late_end = sse(LINES, Some("stop"), None);
    late_end.push(b": the end\n\n".to_vec());
    let late_end = Answer::events(late_end).gated_from(LINES.len() + 2);
    let server = http_server::start(vec![
        Answer::deltas(LINES),
        Answer::deltas(LINES).joined(),
        late_end,
        Answer::deltas(LINES),
    ]);
    let llm = model(&server);
    for _ in 0..2 {
        assert_eq!(collect(llm.request(request())).await.end, STOP);
    }
    // The end of the answer may come behind `[DONE]`, on its own.
    let open_later = async {
        server.wait_for_requests(3).await;
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        server.open_gate(1);
    };
    assert_eq!(tokio::join!(collect(llm.request(request())), open_later).0.end, STOP);
    assert_eq!(collect(llm.request(request())).await.end, STOP);
    assert_eq!((server.n_connections(), server.requests().len()), (1, 4));
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
