//! The terminal's keyboard, read by one thread: through the line editor while a line is asked for, plainly else.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::serve::cli::machinery::terminal::helper::LineHelper;
use crate::serve::cli::machinery::terminal::{Asked, Typed, history};

/// How often the editor is told to give the terminal back, until it does. Once is enough but for a moment at the
/// beginning of a line, when it does not hear yet.
const AGAIN: Duration = Duration::from_millis(20);

/// An editor that never gives the terminal back must not hold the program up for ever.
const AT_MOST: Duration = Duration::from_secs(2);

/// A longer line is not kept in the history: a pasted book is nothing to be found again with the arrow keys.
const MAX_KEPT: usize = 10_000;

/// What the thread is told.
enum Request {
    /// Ask for a line, unless more has been typed than the so many that are known of.
    Ask(Asked, u64),
    /// What was typed and not sent is not wanted any more.
    Forget,
}

/// What the thread tells.
enum Told {
    Typed(Typed),
    /// The terminal is free; the text that stood on the line will stand there again.
    Suspended {
        /// Whether it was the interrupt that told the editor so.
        was_interrupted: bool,
    },
}

/// Wipes the line above the cursor, which holds this. False: it may be more than one, and nothing was done.
fn wipe(prompt: &str, text: &str) -> bool {
    let n_columns = tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    // No character is wider than two columns. A terminal that does not know its width has 80 for the editor.
    let is_one_line = prompt.len() + 2 * text.chars().count() < if n_columns == 0 { 80 } else { n_columns };
    let is_one_line = is_one_line && !text.contains(['\n', '\t']);
    if is_one_line {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(b"\x1b[A\r\x1b[K").and_then(|()| stdout.flush());
    }
    is_one_line
}

/// The conversation's end of the keyboard.
pub(crate) struct Editor {
    requests: blocking::Sender<Request>,
    wake: PipeWriter,
    told: mpsc::UnboundedReceiver<io::Result<Told>>,
    n_told: u64,
    /// Typed while the terminal was being asked back.
    early: VecDeque<Typed>,
    is_suspending: Arc<AtomicBool>,
    /// A line has been asked for and not come: the terminal may be the editor's.
    is_asked: bool,
    /// The keyboard has ended, and that was told.
    has_ended: bool,
    /// The terminal as it was before all this.
    modes: Option<Termios>,
}

impl Editor {
    /// Takes the keyboard. None: this is no terminal to edit on.
    pub(crate) fn open(has_color: bool, history: Option<PathBuf>) -> Option<Editor> {
        let color = if has_color { ColorMode::Enabled } else { ColorMode::Disabled };
        let config = Config::builder()
            .max_history_size(history::MAX_ENTRIES)
            .and_then(|config| config.history_ignore_dups(true))
            .ok()?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .color_mode(color)
            .bell_style(rustyline::config::BellStyle::None)
            .build();
        let mut editor: rustyline::Editor<LineHelper, FileHistory> = rustyline::Editor::with_config(config).ok()?;
        editor.set_helper(Some(LineHelper::default()));
        // With a printer the editor waits for keys and signals at once; else a signal would have to hit its thread.
        let printer: Box<dyn Send> = Box::new(editor.create_external_printer().ok()?);
        let history = history.filter(|path| history::open(path));
        if let Some(path) = &history {
            // An unreadable history is an empty one.
            let _ = editor.load_history(path);
        }
        let (woken, wake) = io::pipe().ok()?;
        let (requests, requested) = blocking::channel();
        let (sender, told) = mpsc::unbounded_channel();
        let is_suspending = Arc::new(AtomicBool::new(false));
        let keyboard = Keyboard {
            editor,
            _printer: printer,
            history,
            requested,
            woken,
            told: sender,
            n_told: 0,
            is_suspending: is_suspending.clone(),
            pending: Vec::new(),
        };
        let modes = tcgetattr(io::stdin()).ok();
        std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || keyboard.run()).ok()?;
        Some(Editor {
            requests,
            wake,
            told,
            n_told: 0,
            early: VecDeque::new(),
            is_suspending,
            is_asked: false,
            has_ended: false,
            modes,
        })
    }

    /// Asks for a line with the editor, if none is asked for yet.
    pub(crate) fn ask(&mut self, asked: Asked) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.request(Request::Ask(asked, self.n_told));
        }
    }

    /// Whether a line is asked for: a prompt is shown, or about to be.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Drops what was typed and not sent.
    pub(crate) fn forget(&mut self) {
        self.request(Request::Forget);
    }

    /// The thread has ended when the keyboard has; `next` tells that.
    fn request(&mut self, request: Request) {
        let _ = self.requests.send(request);
        let _ = self.wake.write_all(b"!");
    }

    /// What was typed, also without being asked for. After the end it waits for ever. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Typed> {
        loop {
            if self.has_ended {
                return std::future::pending().await;
            }
            let typed = match self.early.pop_front() {
                Some(typed) => typed,
                None => match self.receive().await? {
                    Told::Typed(typed) => typed,
                    Told::Suspended { .. } => continue,
                },
            };
            self.has_ended = typed == Typed::End;
            return Ok(typed);
        }
    }

    async fn receive(&mut self) -> io::Result<Told> {
        let told = self.told.recv().await.unwrap_or(Ok(Told::Typed(Typed::End)));
        self.n_told += 1;
        self.is_asked = false;
        told
    }

    /// Takes the terminal back from the editor, if it has it. Until the moment that is given an interrupt may be one
    /// of ours, which the editor did not hear.
    pub(crate) async fn suspend(&mut self) -> Option<Instant> {
        if !self.is_asked {
            return None;
        }
        self.is_suspending.store(true, Ordering::SeqCst);
        let began = Instant::now();
        let mut again = interval(AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut n_sent = 0;
        while began.elapsed() < AT_MOST {
            tokio::select! {
                biased;
                told = self.receive() => {
                    match told {
                        Ok(Told::Suspended { was_interrupted }) => n_sent -= i32::from(was_interrupted),
                        Ok(Told::Typed(typed)) => self.early.push_back(typed),
                        // It will be told again by the next read.
                        Err(_) => self.early.push_back(Typed::End),
                    }
                    break;
                }
                _ = again.tick() => {
                    n_sent += 1;
                    // A process may always signal itself.
                    let _ = kill_process(getpid(), Signal::INT);
                }
            }
        }
        self.is_suspending.store(false, Ordering::SeqCst);
        self.is_asked = false;
        (n_sent != 0).then(|| Instant::now() + 5 * AGAIN)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // Whatever the thread is doing: a shell must find the terminal as it was.
        if let (true, Some(modes)) = (self.is_asked, &self.modes) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, modes);
            let _ = io::stdout().write_all(b"\x1b[?2004l\n");
        }
    }
}

/// The thread's end.
struct Keyboard {
    editor: rustyline::Editor<LineHelper, FileHistory>,
    /// Never used, and must be there.
    _printer: Box<dyn Send>,
    history: Option<PathBuf>,
    requested: blocking::Receiver<Request>,
    woken: PipeReader,
    told: mpsc::UnboundedSender<io::Result<Told>>,
    n_told: u64,
    is_suspending: Arc<AtomicBool>,
    /// What was typed and not sent, and stands on no editor's line.
    pending: Vec<u8>,
}

impl Keyboard {
    fn run(mut self) {
        while self.listen().is_some() {}
    }

    /// One step. None: nobody types or listens any more.
    fn listen(&mut self) -> Option<()> {
        let (is_typed, is_woken) = match self.wait() {
            Ok(ready) => ready,
            Err(cause) => {
                self.tell(Err(cause.into()));
                return None;
            }
        };
        // What was typed before somebody asked is the answer.
        if is_typed {
            return self.read();
        }
        if is_woken {
            if !matches!(self.woken.read(&mut [0; 64]), Ok(1..)) {
                return None;
            }
            while let Ok(request) = self.requested.try_recv() {
                match request {
                    Request::Forget => self.pending.clear(),
                    // A line is on its way that nobody knew of when this was asked.
                    Request::Ask(_, n_known) if n_known < self.n_told => {}
                    Request::Ask(asked, _) => self.edit(asked)?,
                }
            }
        }
        Some(())
    }

    /// Waits for a line, or for a request.
    fn wait(&self) -> Result<(bool, bool), Errno> {
        let stdin = io::stdin();
        let mut ready =
            [PollFd::new(&stdin, PollFlags::IN), PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN)];
        loop {
            match poll(&mut ready, None) {
                Ok(_) => return Ok((!ready[0].revents().is_empty(), !ready[1].revents().is_empty())),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Reads what the terminal has: a line that it has edited itself, in its simple way.
    fn read(&mut self) -> Option<()> {
        let mut bytes = [0; 4096];
        let n_read = match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) | Err(Errno::IO) => {
                self.tell(Ok(Told::Typed(Typed::End)));
                return None;
            }
            Ok(n_read) => n_read,
            Err(Errno::INTR) => return Some(()),
            Err(cause) => {
                self.tell(Err(cause.into()));
                return None;
            }
        };
        for &byte in &bytes[..n_read] {
            match byte {
                // In the moment after an edited line keys still come as the editor gets them.
                b'\n' | b'\r' => {
                    let line = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
                    self.send(line, true);
                }
                3 => {
                    self.pending.clear();
                    self.tell(Ok(Told::Typed(Typed::Interrupt { is_echoed: true })));
                }
                byte => self.pending.push(byte),
            }
        }
        Some(())
    }

    /// Gives the terminal to the editor for one line.
    fn edit(&mut self, asked: Asked) -> Option<()> {
        if self.is_suspending.load(Ordering::SeqCst) {
            self.tell(Ok(Told::Suspended { was_interrupted: false }));
            return Some(());
        }
        if let Some(helper) = self.editor.helper_mut() {
            helper.names = asked.names;
        }
        let begun = String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned();
        let line = self.editor.readline_with_initial(asked.prompt, (&begun, ""));
        let text = self.editor.helper().map(LineHelper::take_line).unwrap_or_default();
        match line {
            Ok(line) => {
                // A line that was copied with its end.
                self.send(line.trim_end_matches('\n').to_owned(), asked.is_kept);
            }
            Err(ReadlineError::Interrupted) if self.is_suspending.load(Ordering::SeqCst) => {
                wipe(asked.prompt, &text);
                self.pending = text.into_bytes();
                self.tell(Ok(Told::Suspended { was_interrupted: true }));
            }
            Err(ReadlineError::Interrupted) if text.is_empty() => {
                self.tell(Ok(Told::Typed(Typed::Interrupt { is_echoed: false })));
            }
            Err(ReadlineError::Interrupted) => {
                let is_shown = !wipe(asked.prompt, &text);
                self.tell(Ok(Told::Typed(Typed::Cleared { is_shown })));
            }
            Err(ReadlineError::Eof) => {
                self.tell(Ok(Told::Typed(Typed::End)));
                return None;
            }
            Err(error) => {
                self.tell(Err(io::Error::other(error)));
                return None;
            }
        }
        Some(())
    }

    /// A whole line.
    fn send(&mut self, line: String, is_kept: bool) {
        if is_kept && line.len() <= MAX_KEPT && self.editor.add_history_entry(&line).unwrap_or(false) {
            // What cannot be written is there until the end of this process.
            let _ = self.history.as_ref().map(|path| self.editor.append_history(path));
        }
        self.tell(Ok(Told::Typed(Typed::Line(line))));
    }

    fn tell(&mut self, told: io::Result<Told>) {
        self.n_told += 1;
        // Nobody listens: the requests have ended, too.
        let _ = self.told.send(told);
    }
}
