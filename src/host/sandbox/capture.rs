//! What a command writes, as far as it is kept: the beginning and the end.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use crate::secrets::Secrets;

/// How much is read at once, in bytes.
const PIECE: usize = 16 << 10;

/// One output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// As text, without secrets; where something was left out, a line says so.
    pub(crate) text: String,
    /// So many bytes were left out.
    pub(crate) n_left_out: usize,
}

/// Reads to the end, or until it is enough; of more than `max_bytes` the beginning and the end are kept.
pub(super) async fn capture(
    mut output: impl AsyncRead + Unpin,
    max_bytes: usize,
    secrets: &Secrets,
    enough: &CancellationToken,
) -> Captured {
    let mut kept = Kept { head: Vec::new(), tail: VecDeque::new(), half: max_bytes / 2, n_left_out: 0 };
    let mut buffer = vec![0; PIECE];
    loop {
        let n_read = tokio::select! {
            biased;
            read = output.read(&mut buffer) => read.unwrap_or(0),
            () = enough.cancelled() => 0,
        };
        match buffer.get(..n_read) {
            Some([]) | None => return kept.text(secrets),
            Some(piece) => kept.take(piece),
        }
    }
}

struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How long each of them may be.
    half: usize,
    n_left_out: usize,
}

impl Kept {
    fn take(&mut self, piece: &[u8]) {
        let (head, rest) = piece.split_at(piece.len().min(self.half - self.head.len()));
        self.head.extend(head);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.n_left_out += surplus;
    }

    fn text(mut self, secrets: &Secrets) -> Captured {
        if self.n_left_out == 0 {
            self.head.extend(&self.tail);
            return Captured { text: secrets.mask_text(&String::from_utf8_lossy(&self.head)), n_left_out: 0 };
        }
        // Half a secret at either side of the cut would not be found.
        let n_unsure = secrets.longest().min(self.half);
        self.head.truncate(self.head.len() - n_unsure);
        self.tail.drain(..n_unsure.min(self.tail.len()));
        let n_left_out = self.n_left_out + 2 * n_unsure;
        let masked = |bytes: &[u8]| secrets.mask_text(&String::from_utf8_lossy(bytes));
        let (head, tail) = (masked(&self.head), masked(self.tail.make_contiguous()));
        Captured { text: format!("{head}\n… {n_left_out} bytes are left out here …\n{tail}"), n_left_out }
    }
}
