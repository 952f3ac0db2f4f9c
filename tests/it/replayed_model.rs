//! The model that answers from a stored session.

use std::sync::Arc;

use playhouse::host::llm::replay::{RecordedReply, Replay};
use playhouse::host::llm::{Llm, LlmRequest, Purpose, ReplyPart};
use playhouse::vm::protocol::{Finish, ReplyEnd, Usage};
use tokio_stream::StreamExt;

fn request() -> LlmRequest {
    LlmRequest { purpose: Purpose::Turn, messages: Vec::new(), schema: None, turn: None }
}

#[tokio::test]
async fn recorded_replies_are_given_in_order_and_then_refused() {
    let usage = Some(Usage { prompt_tokens: 3, cached_tokens: 1, completion_tokens: 2 });
    let complete = ReplyEnd::Complete(Finish::Stop);
    let replies = vec![
        RecordedReply { bytes: b"one".to_vec(), end: complete.clone(), usage },
        RecordedReply { bytes: b"two".to_vec(), end: complete.clone(), usage: None },
        RecordedReply { bytes: Vec::new(), end: ReplyEnd::Closed, usage: None },
    ];
    let replay = Replay::of_session("s1", replies);
    assert_eq!(&*replay.id(), "replay:s1");
    let first: Vec<ReplyPart> = replay.request(request()).collect().await;
    assert_eq!(first, [ReplyPart::Bytes(b"one".to_vec()), ReplyPart::End { end: complete, usage }]);
    // One that was answered before this process began.
    replay.replayed(&request());
    let third: Vec<ReplyPart> = replay.request(request()).collect().await;
    assert_eq!(third, [ReplyPart::End { end: ReplyEnd::Closed, usage: None }]);
    let past: Vec<ReplyPart> = replay.request(request()).collect().await;
    let reason = "replay:s1 has no further reply: all its 3 recorded replies have been given; continue with a live \
                  model (`--model`)";
    assert_eq!(past, [ReplyPart::End { end: ReplyEnd::Refused { reason: Arc::from(reason) }, usage: None }]);
}
