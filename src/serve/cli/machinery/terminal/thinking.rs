//! A sign that something is being done while nothing is said: the model thinks, or a tool runs.
//!
//! It comes only after a delay, so that fast turns do not flicker, and goes without a trace: it stands on a line of
//! its own, which is wiped before anything else is written there. What a person types meanwhile is echoed after it
//! by the terminal and wiped with it, but not lost: it is on the line when the program waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::host::events::{PublicBody, PublicEvent};
use crate::serve::cli::machinery::console::{Console, clean};
use crate::vm::protocol::CallKind;

/// Turns that are faster show nothing.
const DELAY: Duration = Duration::from_millis(400);

/// Between two pictures.
const FRAME: Duration = Duration::from_millis(120);

/// Shorter waits need no number.
const COUNTED_FROM: Duration = Duration::from_secs(3);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The longest name of a tool that is shown; more would not fit on a line.
const MAX_NAME: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Nobody looks, or nobody types.
    None,
    /// Text that stands still and is wiped with spaces: `NO_COLOR`, or a terminal that knows no more.
    Plain,
    /// Moving, dim.
    Moving,
}

/// The sign, and what is known of what it stands for.
pub(crate) struct Thinking {
    style: Style,
    /// The tools that are running.
    tools: BTreeMap<u64, Arc<str>>,
    /// Since when this is being done; none: nothing is, or something is being said.
    since: Option<Instant>,
    /// When it is to be drawn next.
    next: Instant,
    /// What stands on the screen.
    shown: Option<String>,
    n_drawn: usize,
}

impl Thinking {
    /// No sign yet.
    pub(crate) fn new(console: &Console) -> Thinking {
        let style = match (console.is_conversation && console.is_watched, console.color) {
            (false, _) => Style::None,
            (true, false) => Style::Plain,
            (true, true) => Style::Moving,
        };
        Thinking { style, tools: BTreeMap::new(), since: None, next: Instant::now(), shown: None, n_drawn: 0 }
    }

    /// Something has happened: which tools run.
    pub(crate) fn note(&mut self, event: &PublicEvent) {
        if let PublicBody::CallStarted { call, callable, kind: CallKind::Tool, .. } = &event.body {
            self.tools.insert(*call, callable.clone());
            self.begin_again();
        } else if let PublicBody::CallFinished { call, .. } = &event.body
            && self.tools.remove(call).is_some()
        {
            self.begin_again();
        }
    }

    /// Another thing is being done: its time counts from now. The sign stays if it is there.
    fn begin_again(&mut self) {
        if self.since.is_some() {
            self.since = Some(Instant::now());
        }
    }

    /// Whether anything is being done that a sign could stand for. The sign is wiped with the first false.
    pub(crate) fn set(&mut self, console: &Console, is_busy: bool) {
        if !is_busy {
            self.hide(console);
            self.since = None;
        } else if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            self.next = now + DELAY;
        }
    }

    /// Wipes it: something is about to be written. If nothing is being said then, it comes again after the delay.
    pub(crate) fn hide(&mut self, console: &Console) {
        if let Some(shown) = self.shown.take() {
            console.tell(&match self.style {
                Style::Moving => "\r\u{1b}[K".to_owned(),
                Style::Plain | Style::None => format!("\r{}\r", " ".repeat(shown.chars().count())),
            });
        }
        self.next = Instant::now() + DELAY;
    }

    /// Waits until it is to be drawn. Cancel safe.
    pub(crate) async fn tick(&self) {
        match self.since {
            Some(_) if self.style != Style::None => sleep_until(self.next).await,
            _ => std::future::pending().await,
        }
    }

    /// Draws it, or its next picture.
    pub(crate) fn draw(&mut self, console: &Console) {
        let Some(since) = self.since else { return };
        self.next = Instant::now() + FRAME;
        let label = self.label(since.elapsed());
        match self.style {
            Style::None => {}
            Style::Moving => {
                self.n_drawn += 1;
                let frame = FRAMES[self.n_drawn % FRAMES.len()];
                let sign = format!("\u{1b}[2m{frame} {label}\u{1b}[0m ");
                // The cursor goes back to where it was: somebody may be typing after the sign.
                console.tell(&match &self.shown {
                    None => format!("\r{sign}"),
                    Some(shown) if shown.chars().count() != label.chars().count() => format!("\r\u{1b}[K{sign}"),
                    Some(_) => format!("\u{1b}7\r{sign}\u{1b}8"),
                });
                self.shown = Some(label);
            }
            Style::Plain => {
                let sign = format!("… {label} ");
                if self.shown.as_ref() != Some(&sign) {
                    self.hide(console);
                    console.tell(&sign);
                    self.shown = Some(sign);
                }
                // It counts in steps that nobody is disturbed by.
                self.next = Instant::now() + COUNTED_FROM;
            }
        }
    }

    /// `thinking`, `calling GetOrder, 4 s`.
    fn label(&self, elapsed: Duration) -> String {
        let mut tools = self.tools.values();
        let what = match (tools.next(), tools.count()) {
            (None, _) => "thinking".to_owned(),
            (Some(name), 0) => format!("calling {}", short(name)),
            (Some(name), n) => format!("calling {} and {n} more", short(name)),
        };
        if elapsed < COUNTED_FROM { what } else { format!("{what}, {} s", elapsed.as_secs()) }
    }
}

fn short(name: &str) -> String {
    clean(&name.chars().take(MAX_NAME).collect::<String>())
}
