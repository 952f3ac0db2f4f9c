//! What a process says on standard error: always read, so that it never waits for us; logged; its end kept for
//! messages. Secrets are masked before anything else.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::host::secrets::Secrets;

/// What is kept of it, in bytes.
const KEPT: usize = 2 << 10;

/// What is shown of one line, in bytes.
const LINE: usize = 8 << 10;

/// The last lines.
#[derive(Default)]
pub(super) struct Tail(Mutex<String>);

impl Tail {
    /// What is kept.
    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trim_end().to_owned()
    }

    fn push(&self, line: &str) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(line);
        text.push('\n');
        let mut cut = text.len().saturating_sub(KEPT);
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        text.drain(..cut);
    }
}

/// Reads `stderr` to its end.
pub(super) async fn read(plugin: Arc<str>, mut stderr: impl AsyncRead + Unpin, tail: Arc<Tail>, secrets: Arc<Secrets>) {
    let mut buffer = vec![0; LINE];
    let mut line = Vec::new();
    let mut is_cut = false;
    loop {
        let n_read = stderr.read(&mut buffer).await.unwrap_or(0);
        if n_read == 0 {
            break;
        }
        for &byte in &buffer[..n_read] {
            if byte == b'\n' {
                tell(&plugin, &line, is_cut, &tail, &secrets);
                line.clear();
                is_cut = false;
            } else if line.len() < LINE {
                line.push(byte);
            } else {
                is_cut = true;
            }
        }
    }
    if !line.is_empty() {
        tell(&plugin, &line, is_cut, &tail, &secrets);
    }
}

fn tell(plugin: &str, line: &[u8], is_cut: bool, tail: &Tail, secrets: &Secrets) {
    // Half a secret at the end of what was cut off would not be found.
    let end = if is_cut { line.len().saturating_sub(secrets.longest()) } else { line.len() };
    let text = String::from_utf8_lossy(&line[..end]);
    let text = secrets.mask(&text);
    let text: String = text.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    let text = text.trim_end();
    tracing::debug!(plugin, "stderr: {text}");
    tail.push(text);
}
