//! Chunks of a stream -> bytes of a reply and its end. No I/O.

use std::sync::Arc;

use playhouse_vm::protocol::{Finish, ReplyEnd, Usage};

use super::errors;
use super::wire::Chunk;

/// Reads one reply.
#[derive(Debug)]
pub(super) struct ReplyReader {
    finish: Option<Finish>,
    usage: Option<Usage>,
    think: Think,
    /// Whether the reply is taken to begin inside a think block.
    starts_in_think: bool,
    /// The last byte of the content so far.
    last_content: Option<u8>,
}

/// Whether a `<think>` block of ours is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Think {
    Closed,
    Open {
        /// Whether its last byte is `<`: a `/` that follows must be written as `\/`.
        after_angle: bool,
    },
}

impl ReplyReader {
    pub(super) fn new(starts_in_think: bool) -> ReplyReader {
        ReplyReader { finish: None, usage: None, think: Think::Closed, starts_in_think, last_content: None }
    }

    /// Whether the server has said that the reply is complete. Counts may follow.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Reads a chunk, appends to the reply. The error is the reply's end.
    pub(super) fn read(&mut self, chunk: Chunk, reply: &mut Vec<u8>) -> Result<(), ReplyEnd> {
        if let Some(usage) = chunk.usage.and_then(|usage| usage.to_usage()) {
            self.usage = Some(usage);
        }
        // What goes wrong after a complete reply makes it no less complete.
        if self.is_complete() {
            return Ok(());
        }
        for choice in chunk.choices.into_iter().flatten().filter(super::wire::Choice::is_first) {
            let reason = choice.finish_reason.text.clone();
            let delta = choice.into_delta();
            let reasoning = [&delta.reasoning_content.text, &delta.reasoning.text, &delta.content.reasoning];
            // Some servers send the same text under two names.
            if let Some(reasoning) = reasoning.into_iter().find(|text| !text.is_empty()) {
                self.push_reasoning(reasoning, reply);
            }
            self.push_content(&delta.content.text, reply);
            self.push_content(&delta.refusal.text, reply);
            self.finish = finish_from_wire(&reason);
            if reason == "error" && chunk.error.is_none() {
                return Err(errors::broken("the server ended the reply with finish_reason \"error\""));
            }
        }
        if let Some(error) = chunk.error
            && !is_blank(&error)
        {
            self.finish = None;
            return Err(errors::end_from_event(&error));
        }
        match chunk.playhouse_transport {
            Some(reason) if !self.is_complete() => Err(errors::broken(&reason)),
            _ => Ok(()),
        }
    }

    /// The stream is over.
    pub(super) fn end(&mut self, reply: &mut Vec<u8>) -> (ReplyEnd, Option<Usage>) {
        self.close_think(reply);
        let end = match self.finish.take() {
            Some(finish) => ReplyEnd::Complete(finish),
            None => errors::broken("the stream ended without a finish_reason"),
        };
        (end, self.usage)
    }

    /// What was counted so far.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn push_content(&mut self, text: &str, reply: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.close_think(reply);
        // A server that strips the reasoning of such a model leaves a reply that begins with its first object.
        // Nothing thinks in JSON from its first byte on.
        if self.starts_in_think {
            match text.trim_start().bytes().next() {
                None => {}
                Some(first) => {
                    self.starts_in_think = false;
                    if matches!(first, b'{' | b'[') {
                        reply.extend_from_slice(b"</think>\n");
                    }
                }
            }
        }
        reply.extend_from_slice(text.as_bytes());
        self.last_content = text.bytes().last();
    }

    fn push_reasoning(&mut self, text: &str, reply: &mut Vec<u8>) {
        let mut after_angle = match self.think {
            Think::Open { after_angle } => after_angle,
            Think::Closed if matches!(self.last_content, None | Some(b'\n')) => {
                reply.extend_from_slice(b"<think>\n");
                self.starts_in_think = false;
                false
            }
            // In the middle of a line a block would tear an object or a string apart. The reasoning is the
            // lesser loss.
            Think::Closed => return,
        };
        for byte in text.bytes() {
            if after_angle && byte == b'/' {
                reply.push(b'\\');
            }
            reply.push(byte);
            after_angle = byte == b'<';
        }
        self.think = Think::Open { after_angle };
    }

    fn close_think(&mut self, reply: &mut Vec<u8>) {
        if self.think != Think::Closed {
            self.think = Think::Closed;
            reply.extend_from_slice(b"\n</think>\n");
        }
    }
}

/// `finish_reason` and its synonyms; unknown ones are kept.
fn finish_from_wire(reason: &str) -> Option<Finish> {
    match reason {
        "" => None,
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => Some(Finish::Stop),
        "length" | "max_tokens" | "max_output_tokens" => Some(Finish::Length),
        other => Some(Finish::Other(Arc::from(other))),
    }
}

fn is_blank(error: &serde_json::Value) -> bool {
    error.is_null() || error == "" || error == false || error.as_object().is_some_and(serde_json::Map::is_empty)
}
