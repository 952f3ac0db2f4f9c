//! Standard input, line by line, and only when somebody wants a line.

use std::io::{self, BufRead};
use std::sync::mpsc as blocking;

use tokio::sync::mpsc;

/// The lines of standard input. They are read by a thread of their own, which nobody has to wait for at the end.
#[derive(Default)]
pub(crate) struct Lines {
    thread: Option<Thread>,
    /// A line has been asked for and not come yet.
    is_asked: bool,
}

struct Thread {
    ask: blocking::Sender<()>,
    lines: mpsc::UnboundedReceiver<io::Result<Option<String>>>,
}

impl Lines {
    /// Asks for the next line. Nothing is read before.
    pub(crate) fn ask(&mut self) {
        if self.is_asked {
            return;
        }
        self.is_asked = true;
        let thread = self.thread.get_or_insert_with(Thread::start);
        // The thread ends at the end of input; `next` tells that.
        let _ = thread.ask.send(());
    }

    /// The line asked for; none: the input has ended. Waits for ever if none was asked for. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        let Some(thread) = self.thread.as_mut().filter(|_| self.is_asked) else { return std::future::pending().await };
        let line = thread.lines.recv().await;
        self.is_asked = false;
        line.unwrap_or(Ok(None))
    }
}

impl Thread {
    fn start() -> Thread {
        let (ask, asked) = blocking::channel();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let line = read_line();
                let is_last = !matches!(line, Ok(Some(_)));
                if sender.send(line).is_err() || is_last {
                    return;
                }
            }
        });
        Thread { ask, lines }
    }
}

/// The next line without its end. What is no UTF-8 in it is replaced: a message is text.
fn read_line() -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}
