//! The scripted model: choice of entries, cutting, failures, errors of the file.

use std::sync::Arc;
use std::time::Duration;

use playhouse::host::llm::script::{Chunks, Repeat, Script, ScriptEntry, ScriptError};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyPart};
use playhouse::vm::protocol::{ChatMessage, Finish, ReplyEnd, Role, Usage};
use tokio::time::Instant;
use tokio_stream::StreamExt;

fn request(messages: &[(Role, &str)]) -> LlmRequest {
    let messages = messages.iter().map(|&(role, text)| ChatMessage { role, text: Arc::from(text) }).collect();
    LlmRequest { purpose: Purpose::Turn, messages, schema: None, turn: None }
}

fn says(text: &str) -> LlmRequest {
    request(&[(Role::System, "be kind"), (Role::User, text)])
}

async fn parts(llm: &dyn Llm, request: LlmRequest) -> Vec<ReplyPart> {
    llm.request(request).collect().await
}

/// The whole reply and its end; the end is missing where the stream has none.
async fn reply(llm: &dyn Llm, request: LlmRequest) -> (String, Option<ReplyEnd>) {
    let mut bytes = Vec::new();
    let mut last = None;
    for part in parts(llm, request).await {
        assert_eq!(last, None, "nothing follows the end");
        match part {
            ReplyPart::Bytes(chunk) => bytes.extend(chunk),
            ReplyPart::End { end, .. } => last = Some(end),
        }
    }
    (String::from_utf8(bytes).unwrap(), last)
}

fn script(text: &str) -> Script {
    Script::from_text("t.jsonl", text).unwrap()
}

const STOP: Option<ReplyEnd> = Some(ReplyEnd::Complete(Finish::Stop));

#[tokio::test]
async fn entries_answer_in_order_and_once() {
    let script = script("{\"reply\":\"one\"}\n\n{\"reply\":\"two\"}\n");
    assert_eq!(&*script.id(), "script:t.jsonl");
    assert_eq!(reply(&script, says("a")).await, ("one".into(), STOP));
    assert_eq!(reply(&script, says("a")).await, ("two".into(), STOP));
    assert_eq!(script.left_over(), []);
}

#[tokio::test]
async fn the_first_unused_entry_that_matches_answers() {
    let script = script(
        r#"[{"when":"refund","reply":"R"},{"when_any":"(?s)kind.*hello","reply":"K"},
            {"when":"hello","reply":"H","repeat":2},{"reply":"any","repeat":true}]"#,
    );
    for expected in ["K", "H", "H", "any", "any"] {
        assert_eq!(reply(&script, says("hello")).await.0, expected);
    }
    assert_eq!(reply(&script, says("a refund, please")).await.0, "R");
    // `when` looks at the last user message only.
    let late = request(&[(Role::User, "refund"), (Role::Assistant, "refund"), (Role::User, "no")]);
    assert_eq!(reply(&script, late).await.0, "any");
}

#[tokio::test]
async fn a_request_without_an_entry_is_refused_and_shown() {
    let script =
        script("{\"reply\":\"one\"}\n{\"when\":\"refund\",\"reply\":\"two\"}\n{\"when_any\":\"x+\",\"reply\":\"3\"}");
    reply(&script, says("a")).await;
    let (text, end) = reply(&script, says("my order\nis late")).await;
    assert_eq!(text, "");
    let Some(ReplyEnd::Refused { reason }) = end else { panic!("{end:?}") };
    assert_eq!(
        &*reason,
        "script t.jsonl has no entry for this request; the last user message was:\n  | my order\n  | is late\n\
         entries left: 2 (line 2, when \"refund\"), 3 (line 3, when_any \"x+\"); change a `when`, or add an entry"
    );

    let used = Script::from_entries("memory", vec![ScriptEntry::reply("a")]);
    reply(&used, says("a")).await;
    let Some(ReplyEnd::Refused { reason }) = reply(&used, says(&"long ".repeat(1000))).await.1 else { panic!() };
    assert!(reason.ends_with("all its 1 entries have been used; add one for this request"), "{reason}");
    assert!(reason.contains(" […] ") && reason.len() < 2_000, "{reason}");
}

#[tokio::test]
async fn replies_are_cut_where_the_entry_says() {
    let script = script(
        r#"{"reply":"aé{}","chunks":"bytes"}
           {"reply":"abcdef","chunks":4}
           {"reply":"abcdef","chunks":[1,2]}
           {"reply":"ab","chunks":[7,7]}
           {"reply":""}"#,
    );
    let mut cuts = Vec::new();
    for _ in 0..5 {
        let sizes: Vec<usize> = parts(&script, says("a"))
            .await
            .iter()
            .filter_map(|part| match part {
                ReplyPart::Bytes(bytes) => Some(bytes.len()),
                ReplyPart::End { .. } => None,
            })
            .collect();
        cuts.push(sizes);
    }
    assert_eq!(cuts, [vec![1; 5], vec![4, 2], vec![1, 2, 3], vec![2], vec![]]);
}

#[tokio::test]
async fn failures_come_after_the_reply() {
    let script = script(
        r#"{"error":503,"retry_after_ms":1500}
           {"error":401}
           {"error":"quota"}
           {"reply":"half","error":"drop"}
           {"reply":"half","error":"length","usage":{"prompt_tokens":7,"completion_tokens":2}}
           {"reply":"half","error":"no_finish"}
           {"reply":"half","error":500}"#,
    );
    let broken = |reason: &str, retry_after_ms| {
        let reason = Arc::from(format!("{reason} (script t.jsonl)"));
        Some(ReplyEnd::Broken { reason, retry_after_ms })
    };
    let refused = |reason: &str| Some(ReplyEnd::Refused { reason: Arc::from(format!("{reason} (script t.jsonl)")) });
    let expected = [
        ("", broken("the server answered with status 503", Some(1500))),
        ("", refused("the server answered with status 401")),
        ("", refused("the server answered with status 429: insufficient_quota")),
        ("half", broken("the connection was dropped", None)),
    ];
    for (text, end) in expected {
        assert_eq!(reply(&script, says("a")).await, (text.into(), end));
    }
    let usage = Usage { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 2 };
    assert_eq!(
        parts(&script, says("a")).await[1],
        ReplyPart::End { end: ReplyEnd::Complete(Finish::Length), usage: Some(usage) }
    );
    assert_eq!(reply(&script, says("a")).await, ("half".into(), None));
    assert_eq!(reply(&script, says("a")).await, ("half".into(), broken("the server answered with status 500", None)));
}

#[tokio::test(start_paused = true)]
async fn delays_come_before_each_chunk_and_before_the_error() {
    let script = script(
        r#"{"reply":"abc","chunks":"bytes","delay_ms":100}
           {"error":500,"delay_ms":70}
           {"reply":"a","error":"drop","delay_ms":10}"#,
    );
    for expected in [300, 70, 20] {
        let begin = Instant::now();
        parts(&script, says("a")).await;
        assert_eq!(begin.elapsed(), Duration::from_millis(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_entry_sends_nothing_more() {
    let entry = ScriptEntry { error: Some(ScriptError::Hang), ..ScriptEntry::reply("half") };
    let script = Script::from_entries("memory", vec![entry]);
    let mut stream = script.request(says("a"));
    assert_eq!(stream.next().await, Some(ReplyPart::Bytes(b"half".to_vec())));
    assert!(tokio::time::timeout(Duration::from_secs(86_400), stream.next()).await.is_err());
}

#[tokio::test]
async fn what_is_left_over_is_told() {
    let script = Script::from_text(
        "t.jsonl",
        r#"{"reply":"a","when":"never","must":true}
           {"reply":"b","repeat":3}
           {"reply":"c","repeat":true}"#,
    )
    .unwrap();
    script.replayed(&says("x"));
    script.replayed(&says("x"));
    let left_over: Vec<(String, bool)> =
        script.left_over().into_iter().map(|left| (left.message, left.is_failure)).collect();
    assert_eq!(
        left_over,
        [
            ("script t.jsonl: entry 1 (line 1, when \"never\") was never used".to_owned(), true),
            ("script t.jsonl: entry 2 (line 2) answered 2 of 3 times".to_owned(), false),
            ("script t.jsonl: entry 3 (line 3) was never used".to_owned(), false),
        ]
    );
    assert_eq!(reply(&script, says("x")).await.0, "b");
    assert_eq!(reply(&script, says("x")).await.0, "c");
    assert_eq!(script.left_over().len(), 1);
}

#[tokio::test]
async fn entries_are_made_in_memory_too() {
    let entry = ScriptEntry { chunks: Chunks::Every(2), repeat: Repeat::Always, ..ScriptEntry::reply("abc") };
    let script = Script::from_entries("memory", vec![entry]);
    assert_eq!(reply(&script, says("a")).await.0, "abc");
    assert_eq!(parts(&script, says("a")).await.len(), 3);
}

#[test]
fn errors_of_the_file_name_place_cause_and_next_step() {
    let cases = [
        (
            "{\"reply\":\"a\"}\n\n{\"wen\":\"b\",\"reply\":\"a\"}",
            "script t.jsonl, line 3, column 6 (entry 2): unknown field `wen`, expected one of `when`, `when_any`, \
             `reply`, `chunks`, `delay_ms`, `error`, `retry_after_ms`, `repeat`, `must`, `usage`; a script is JSON \
             Lines or one JSON array of {\"when\"?, \"reply\"}",
        ),
        (
            "{\"reply\":\"a\"}\n{\"when\":\"(\",\"reply\":\"a\"}",
            "script t.jsonl, line 2 (entry 2): `when` is not a regular expression: regex parse error:\n    (\n    ^\n\
             error: unclosed group; write special characters that are meant as text with a backslash (in JSON two)",
        ),
        (
            "[{\"reply\":\"a\"},{\"when\":\"a\"}]",
            "script t.jsonl, entry 2: the entry has neither `reply` nor `error`; add the text the model is to answer",
        ),
        (
            "{\"error\":\"burn\"}",
            "script t.jsonl, line 1 (entry 1): unknown `error` \"burn\"; write a status from 400 to 599, or \"drop\", \
             \"hang\", \"length\", \"no_finish\", \"quota\"",
        ),
        (
            "{\"error\":200}",
            "script t.jsonl, line 1 (entry 1): `error` 200 is not an HTTP error; write a status from 400 to \
             599, or \"drop\", \"hang\", \"length\", \"no_finish\", \"quota\"",
        ),
        (
            "{\"reply\":\"a\",\"chunks\":[1,0]}",
            "script t.jsonl, line 1 (entry 1): `chunks` holds a size of 0; write sizes of 1 or more",
        ),
        (
            "{\"reply\":\"a\",\"repeat\":0}",
            "script t.jsonl, line 1 (entry 1): `repeat` is 0: the entry could never answer; remove the entry, or write \
             a count of 1 or more",
        ),
        (
            "{\"reply\":\"a\"",
            "script t.jsonl, line 1, column 12 (entry 1): EOF while parsing an object; a script is JSON Lines or one \
             JSON array of {\"when\"?, \"reply\"}",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Script::from_text("t.jsonl", text).unwrap_err().to_string(), expected);
    }
    let missing = Script::load(std::path::Path::new("no/such/file.jsonl")).unwrap_err().to_string();
    assert!(missing.starts_with("script no/such/file.jsonl cannot be read: "), "{missing}");
    assert!(missing.ends_with("check the path after `script:`"), "{missing}");
}
