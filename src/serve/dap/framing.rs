//! Where a message begins and ends: `Content-Length: N`, an empty line, N bytes. Any bytes can come; what fits no frame
//! ends the connection, for nobody knows where the next message begins.

/// A header may be this long; clients send some twenty bytes.
const MAX_HEADER: usize = 8 * 1024;

/// A message may be this long. The largest are sources, and we send those.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Bytes to messages.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
}

/// What came is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// A header without an end.
    #[error(
        "a message's header is longer than {MAX_HEADER} bytes; a message begins with `Content-Length: N` and an empty line"
    )]
    LongHeader,
    /// A header that does not say how long the message is, or is of another protocol.
    #[error(
        "a message's header does not say how long it is ({0:?}); a message begins with `Content-Length: N` and an empty line"
    )]
    NoLength(String),
    /// A message that nobody wants to keep in memory.
    #[error("a message of {0} bytes is too long; the limit is {MAX_BODY}")]
    LongBody(u64),
}

impl Frames {
    /// Nothing has come yet.
    pub fn new() -> Frames {
        Frames::default()
    }

    /// More bytes have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, without its header; none: more bytes are needed.
    ///
    /// # Errors
    /// What has come fits no frame. The connection is of no use any more.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FrameFault> {
        let Some((header, body)) = header_end(&self.bytes) else {
            return if self.bytes.len() > MAX_HEADER { Err(FrameFault::LongHeader) } else { Ok(None) };
        };
        if header > MAX_HEADER {
            return Err(FrameFault::LongHeader);
        }
        let length = content_length(&self.bytes[..header])?;
        let wanted = usize::try_from(length).ok().filter(|length| *length <= MAX_BODY);
        let end = body + wanted.ok_or(FrameFault::LongBody(length))?;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let rest = self.bytes.split_off(end);
        let message = std::mem::replace(&mut self.bytes, rest).split_off(body);
        Ok(Some(message))
    }
}

/// A message with its header.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", message.len()).into_bytes();
    bytes.extend_from_slice(message);
    bytes
}

/// Where a header ends and what follows begins. Lines that end without a carriage return are understood, too.
fn header_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let window = &bytes[..bytes.len().min(MAX_HEADER + 4)];
    let mut from = 0;
    while let Some(at) = window[from..].iter().position(|byte| *byte == b'\n').map(|at| from + at) {
        match window[at + 1..] {
            [b'\n', ..] => return Some((at, at + 2)),
            [b'\r', b'\n', ..] => return Some((at, at + 3)),
            _ => from = at + 1,
        }
    }
    None
}

/// Only the protocol's own fields are taken: what a web page makes a browser send to a port of this machine must not
/// be read as a message.
fn content_length(header: &[u8]) -> Result<u64, FrameFault> {
    let text = String::from_utf8_lossy(header);
    let wrong = || FrameFault::NoLength(text.chars().take(80).collect());
    let mut length = None;
    for line in text.lines() {
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        if name.eq_ignore_ascii_case("content-length") && length.is_none() {
            length = Some(value.trim());
        } else if !name.eq_ignore_ascii_case("content-type") {
            return Err(wrong());
        }
    }
    let digits = length.ok_or_else(wrong)?;
    // `parse` would take a sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    Ok(digits.parse().unwrap_or(u64::MAX))
}
