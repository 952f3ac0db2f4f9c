//! What a person types, and how a terminal shares its two directions.
//!
//! **Who owns the terminal.** While a line is asked for it is the line editor's (rustyline: keys, history,
//! completion, pasting of several lines). As soon as the program speaks, thinks or ends it is ours: the terminal is
//! in its usual mode, speech is written as it comes, and a whole line that is typed in between is a message at once,
//! which is what `on_user_message` needs. The editor's own way of printing beside a line
//! (`ExternalPrinter`) shows whole lines only, so that speech could not stream, and what it was given as the line
//! ends is shown late or never.
//!
//! **How it changes hands.** One thread reads the keyboard, ever ([`editor`]): it waits for a line or for a request,
//! both at once, without polling. When the program begins to speak by itself while a line is being edited (a timer),
//! the editor is told to give the terminal back by the only thing it listens to besides keys, a SIGINT that this
//! process sends itself; the text on the line is kept and stands there again at the next prompt. What is half typed
//! when the program begins to wait is on the line, too: the system keeps it. What arrives in one piece with the end
//! of a line (type-ahead over a slow connection) stays with the editor and is the next lines, one for each prompt.
//!
//! Without a terminal on both sides, or on one that knows no more than text (`TERM=dumb`), lines are read as they
//! come ([`crate::serve::cli::machinery::terminal::lines`]).

pub(crate) mod answers;
#[cfg(unix)]
pub(crate) mod editor;
#[cfg(unix)]
pub(crate) mod helper;
#[cfg(unix)]
pub(crate) mod history;
mod lines;
pub(crate) mod thinking;
pub(crate) mod watch;

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal as unix_signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::host::tasks;
use crate::serve::cli::machinery::console::Console;
use crate::serve::cli::machinery::terminal::lines::Lines;
/// What came from the keyboard, or from whatever standard input is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, without its end; of pasted text it may be several.
    Line(String),
    /// The line was cleared with Ctrl-C.
    Cleared {
        /// Whether its text still stands there.
        is_shown: bool,
    },
    /// Ctrl-C with nothing on the line, or at any time while the program is busy.
    Interrupt {
        /// Whether the terminal shows `^C` and the cursor stands after it.
        is_echoed: bool,
    },
    /// The process goes on after Ctrl-Z: what stands on the screen is the shell's.
    Continued,
    /// There is nothing more to come.
    End,
}

/// What can be named after a command, for completion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Variables, without `$`.
    pub(crate) variables: Vec<String>,
    /// Triggers: `Calm:T1`.
    pub(crate) triggers: Vec<String>,
}

/// A line is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// What stands before it.
    pub(crate) prompt: &'static str,
    /// For completion.
    pub(crate) names: Names,
    /// Whether the line belongs into the history.
    pub(crate) is_kept: bool,
}

/// Standard input.
pub(crate) struct Input {
    source: Source,
    /// Every Ctrl-C that the terminal makes a signal of, and every return from Ctrl-Z; none without a terminal.
    signals: Option<mpsc::UnboundedReceiver<Typed>>,
    /// Until then an interrupt may be our own.
    deaf_until: Option<Instant>,
}

enum Source {
    /// Lines as they are: from a terminal, where people may type at any time, or from elsewhere.
    Plain {
        lines: Lines,
        is_terminal: bool,
        /// Whether the prompt is shown.
        is_asked: bool,
    },
    /// A terminal with a line editor.
    #[cfg(unix)]
    Edited(Box<editor::Editor>),
}

impl Input {
    /// Standard input as it is, for all sessions of this process.
    pub(crate) async fn open(console: &Console) -> Input {
        let signals = console.is_conversation.then(signals);
        // The task takes the signal over before the editor does, which gives it back to whom it had it from.
        tokio::task::yield_now().await;
        Input { source: Source::of(console), signals, deaf_until: None }
    }

    /// A person may type at any time: lines that nobody asked for are read, too.
    pub(crate) fn listen(&mut self) {
        if let Source::Plain { lines, is_terminal: true, .. } = &mut self.source {
            lines.ask();
        }
    }

    /// It is the user's turn. Does nothing if that has been shown.
    pub(crate) fn ask(&mut self, console: &Console, asked: Asked) {
        match &mut self.source {
            Source::Plain { lines, is_terminal, is_asked } => {
                if *is_terminal && !std::mem::replace(is_asked, true) {
                    console.tell(asked.prompt);
                }
                lines.ask();
            }
            #[cfg(unix)]
            Source::Edited(editor) => editor.ask(asked),
        }
    }

    /// Whether a prompt is shown, or about to be.
    pub(crate) fn is_asked(&self) -> bool {
        match &self.source {
            Source::Plain { is_asked, .. } => *is_asked,
            #[cfg(unix)]
            Source::Edited(editor) => editor.is_asked(),
        }
    }

    /// Makes room for text: a prompt that is shown is not any more, and will have to be asked for again.
    pub(crate) async fn suspend(&mut self, console: &Console) {
        match &mut self.source {
            Source::Plain { is_asked, .. } => {
                if std::mem::take(is_asked) {
                    console.tell("\n");
                }
            }
            #[cfg(unix)]
            Source::Edited(editor) => self.deaf_until = editor.suspend().await.or(self.deaf_until),
        }
    }

    /// Drops what was typed and not sent, as the terminal does at an interrupt.
    pub(crate) fn forget(&mut self) {
        match &mut self.source {
            Source::Plain { .. } => {}
            #[cfg(unix)]
            Source::Edited(editor) => editor.forget(),
        }
    }

    /// What comes next. Waits for ever if nobody asked and nobody listens. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Typed> {
        loop {
            tokio::select! {
                biased;
                signal = next_of(&mut self.signals) => {
                    let is_ours = self.deaf_until.is_some_and(|until| until >= Instant::now());
                    if signal == Typed::Continued || !is_ours {
                        return Ok(signal);
                    }
                }
                typed = self.source.next() => return typed,
            }
        }
    }
}

impl Source {
    fn of(console: &Console) -> Source {
        #[cfg(unix)]
        if console.is_editable {
            let history = console.environment.state_home.as_ref().map(|home| home.join("playhouse/history"));
            if let Some(editor) = editor::Editor::open(!console.environment.no_color, history) {
                return Source::Edited(Box::new(editor));
            }
        }
        Source::Plain { lines: Lines::default(), is_terminal: console.is_conversation, is_asked: false }
    }

    async fn next(&mut self) -> io::Result<Typed> {
        let line = match self {
            Source::Plain { lines, is_asked, .. } => {
                let line = lines.next().await?;
                *is_asked = false;
                line
            }
            #[cfg(unix)]
            Source::Edited(editor) => return editor.next().await,
        };
        Ok(line.map_or(Typed::End, Typed::Line))
    }
}

/// One item for every Ctrl-C, and every time that the process goes on, from now on.
fn signals() -> mpsc::UnboundedReceiver<Typed> {
    let (sender, receiver) = mpsc::unbounded_channel();
    #[cfg(unix)]
    if let Ok(mut continued) = unix_signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw())) {
        let sender = sender.clone();
        tasks::spawn(async move { while continued.recv().await.is_some() && sender.send(Typed::Continued).is_ok() {} });
    }
    tasks::spawn(async move {
        let interrupt = || Typed::Interrupt { is_echoed: true };
        // Without signals Ctrl-C ends the process: the journal has all that was done.
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(interrupt()).is_ok() {}
    });
    receiver
}

async fn next_of(signals: &mut Option<mpsc::UnboundedReceiver<Typed>>) -> Typed {
    match signals {
        Some(signals) => match signals.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}
