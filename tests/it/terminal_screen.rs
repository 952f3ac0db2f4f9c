//! The real binary on a terminal of its own: keys go in, and what counts is what a person would see.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::run::Run;

/// Nothing on a screen takes that long; a test that waits for what does not come ends.
const AT_MOST: Duration = Duration::from_secs(60);

const ROWS: u16 = 60;
const COLUMNS: u16 = 90;

/// A terminal with a running program.
pub(crate) struct Screen {
    /// Its folder goes with it.
    _run: Run,
    child: Child,
    keyboard: File,
    output: mpsc::Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Everything that was ever written, as it was.
    pub(crate) written: String,
}

impl Screen {
    /// Runs it on a terminal with colours.
    pub(crate) fn open(run: Run) -> Screen {
        Screen::open_as(run, "xterm-256color")
    }

    /// Runs it on a terminal of this kind.
    pub(crate) fn open_as(run: Run, kind: &str) -> Screen {
        let run = run.variable("TERM", kind);
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let end = || Stdio::from(File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap());
        // In a session of its own whose terminal this is: Ctrl-C then becomes a signal.
        let mut command = run.command(&["setsid", "--ctty"]);
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop(command);
        let keyboard = File::from(terminal);
        let mut screen = keyboard.try_clone().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The other end closes: that is an error on a terminal.
            while let Ok(n @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser = vt100::Parser::new(NonZero::new(ROWS).unwrap(), NonZero::new(COLUMNS).unwrap(), 0);
        Screen { _run: run, child, keyboard, output, parser, written: String::new() }
    }

    /// Presses keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line at the prompt, which it waits for, and sees it leave.
    #[track_caller]
    pub(crate) fn line(&mut self, text: &str) {
        self.prompt();
        self.keys(text);
        let line = format!("> {text}");
        self.see_on_line(line.trim_end());
        let (row, _) = self.parser.screen().cursor_position();
        self.keys("\r");
        self.wait("another line", |screen| screen.cursor_position().0 > row);
    }

    /// Waits for an empty prompt, with the cursor behind it.
    #[track_caller]
    pub(crate) fn prompt(&mut self) {
        self.wait("an empty prompt", |screen| {
            let (row, column) = screen.cursor_position();
            column == 2 && line_of(screen, row) == "> "
        });
    }

    /// Waits until this stands on the screen.
    #[track_caller]
    pub(crate) fn see(&mut self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    /// Waits until this stands in the cursor's line.
    #[track_caller]
    pub(crate) fn see_on_line(&mut self, text: &str) {
        self.wait(text, |screen| line_of(screen, screen.cursor_position().0).trim_end() == text);
    }

    #[track_caller]
    fn wait(&mut self, what: &str, is_there: impl Fn(&vt100::Screen) -> bool) {
        while !is_there(self.parser.screen()) {
            match self.output.recv_timeout(AT_MOST) {
                Ok(bytes) => self.take(&bytes),
                Err(_) => panic!("waited for {what:?}; there is\n{}\n{:?}", self.contents(), self.written),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.written.push_str(&String::from_utf8_lossy(bytes));
        self.parser.process(bytes);
    }

    /// Waits for the end; its exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        while let Ok(bytes) = self.output.recv_timeout(AT_MOST) {
            self.take(&bytes);
        }
        code
    }

    /// What a person sees.
    pub(crate) fn contents(&self) -> String {
        let contents = self.parser.screen().contents();
        contents.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line_of(screen: &vt100::Screen, row: u16) -> String {
    let text = screen.rows(0, COLUMNS).nth(usize::from(row)).unwrap_or_default();
    // Blanks that were written count.
    format!("{text:width$}", width = usize::from(screen.cursor_position().1))
}
