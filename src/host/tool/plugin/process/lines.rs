//! What a process writes, line by line, however long its lines are.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};

/// What is read at once, in bytes.
const BUFFER: usize = 64 << 10;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// What stood after the last line's end; there is nothing more.
    Rest(Vec<u8>),
    /// A line that is longer than allowed; nobody should read on.
    TooLong,
    /// There is nothing more.
    End,
}

/// Reads lines of a bounded length. A read that is given up loses nothing.
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    max_bytes: usize,
    /// What has been read of a line whose end has not.
    begun: Vec<u8>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R, max_bytes: usize) -> LineReader<R> {
        LineReader { reader: BufReader::with_capacity(BUFFER, reader), max_bytes, begun: Vec::new() }
    }

    /// The next line. A stream that cannot be read has ended.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            let bytes = self.reader.fill_buf().await.unwrap_or_default();
            if bytes.is_empty() {
                let rest = std::mem::take(&mut self.begun);
                return if rest.is_empty() { Line::End } else { Line::Rest(rest) };
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.begun.len() + part.len() > self.max_bytes {
                return Line::TooLong;
            }
            self.begun.extend_from_slice(part);
            let n_read = part.len() + usize::from(end.is_some());
            std::pin::Pin::new(&mut self.reader).consume(n_read);
            if end.is_some() {
                return Line::Whole(std::mem::take(&mut self.begun));
            }
        }
    }
}
