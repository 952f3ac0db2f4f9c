//! What the model has not heard yet of one frame: the blocks of the frame's next message, within a bound.
//!
//! A frame may do without the model for days. What it is told then is what it goes on from: the newest lines of
//! each block, and how many are left out.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::variables::scope::Stamp;

/// What the model still has to be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    done: Lines,
    results: Lines,
    references: Lines,
    meanwhile: Lines,
    suspended_since: Option<Stamp>,
    known_names: Vec<Arc<str>>,
    user: Option<Arc<str>>,
    /// Words of the user that are no news: a trigger's playbook has dealt with them, or a reply of which nothing came was
    /// asked for with them.
    known_words: Option<Arc<str>>,
    problem: Option<Arc<str>>,
    saying: Option<Arc<str>>,
}

/// The lines of a block, oldest first, without those that are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    lines: VecDeque<String>,
    n_bytes: usize,
    n_left_out: u64,
}

impl Lines {
    /// Lines of one block.
    const MAX: usize = 100;
    /// Bytes of one block; one line may be longer.
    const MAX_BYTES: usize = 1 << 16;

    pub(crate) fn push(&mut self, line: String) {
        self.n_bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > Lines::MAX || (self.n_bytes > Lines::MAX_BYTES && self.lines.len() > 1) {
            self.leave_one_out();
        }
    }

    /// Leaves out the oldest line; answers false if there is none.
    pub(crate) fn leave_one_out(&mut self) -> bool {
        let Some(line) = self.lines.pop_front() else { return false };
        self.n_bytes -= line.len();
        self.n_left_out += 1;
        true
    }

    /// Bytes of all lines.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.n_left_out == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Takes the lines out of which this is not true: another block tells them, so they do not count as left out.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        self.lines.retain(|line| is_kept(line));
        self.n_bytes = self.lines.iter().map(String::len).sum();
    }

    fn clear(&mut self) {
        *self = Lines::default();
    }

    /// As they are shown: what is left out is said. None: there is nothing to show.
    pub(crate) fn into_shown(mut self) -> Option<Vec<String>> {
        let left_out = match self.n_left_out {
            0 => None,
            1 => Some("… 1 line left out".to_owned()),
            n => Some(format!("… {} lines left out", thousands(n))),
        };
        left_out.into_iter().for_each(|left_out| self.lines.push_front(left_out));
        (!self.lines.is_empty()).then(|| self.lines.into())
    }
}

impl FromIterator<String> for Lines {
    fn from_iter<I: IntoIterator<Item = String>>(lines: I) -> Lines {
        let mut all = Lines::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

/// `2,960`.
fn thousands(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        _ => format!("{},{:03}", thousands(n / 1_000), n % 1_000),
    }
}

impl Told {
    /// `DONE`: the interpreter has done a line. Of a long loop the last rounds tell enough.
    pub(crate) fn push_done(&mut self, line: String) {
        const MAX: usize = 30;
        self.done.push(line);
        if self.done.lines.len() > MAX {
            self.done.leave_one_out();
        }
    }

    /// `RESULTS`.
    pub(crate) fn push_result(&mut self, line: String) {
        self.results.push(line);
    }

    /// `REFERENCE`: a file of the skill that is executed.
    pub(crate) fn push_reference(&mut self, text: String) {
        self.references.push(text);
    }

    /// `MEANWHILE`: something ran above the frame.
    pub(crate) fn push_meanwhile(&mut self, line: String) {
        self.meanwhile.push(line);
    }

    /// Another frame stands above: what changes from now on is told under `MEANWHILE`.
    pub(crate) fn suspend(&mut self, since: Stamp) {
        self.suspended_since.get_or_insert(since);
    }

    /// Since when another frame has stood above.
    pub(crate) fn suspended_since(&self) -> Option<Stamp> {
        self.suspended_since
    }

    /// The change of a variable is told by another block.
    pub(crate) fn note_known(&mut self, name: &Arc<str>) {
        if !self.known_names.contains(name) {
            self.known_names.push(name.clone());
        }
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known_names.iter().any(|known| **known == *name)
    }

    /// `USER`: two messages before a turn are told together.
    pub(crate) fn push_user(&mut self, text: &Arc<str>) {
        let told = self.user.take().map_or(text.clone(), |before| format!("{before}\n{text}").into());
        self.user = Some(told);
    }

    pub(crate) fn user(&self) -> Option<&Arc<str>> {
        self.user.as_ref()
    }

    /// A playbook that ran above has dealt with what the user said: it is no news. Answers the words.
    pub(crate) fn deal_with_user(&mut self) -> Option<Arc<str>> {
        let words = self.user.take()?;
        self.known_words = Some(words.clone());
        Some(words)
    }

    /// Of the reply that was asked for with these words nothing has come.
    pub(crate) fn keep_words(&mut self, words: Arc<str>) {
        self.known_words.get_or_insert(words);
    }

    /// The user's words that are new since the last turn of which something came, whoever has dealt with them.
    pub(crate) fn last_words(&self) -> Option<&Arc<str>> {
        self.user.as_ref().or(self.known_words.as_ref())
    }

    /// `PROBLEM`: only the last one is told.
    pub(crate) fn set_problem(&mut self, problem: impl Into<Arc<str>>) {
        self.problem = Some(problem.into());
    }

    pub(crate) fn problem(&self) -> Option<&Arc<str>> {
        self.problem.as_ref()
    }

    pub(crate) fn forget_problem(&mut self) {
        self.problem = None;
    }

    /// The reply was cut in this sentence, which the model is to go on with.
    pub(crate) fn set_saying(&mut self, text: impl Into<Arc<str>>) {
        self.saying = Some(text.into());
    }

    pub(crate) fn saying(&self) -> Option<&Arc<str>> {
        self.saying.as_ref()
    }

    pub(crate) fn forget_saying(&mut self) {
        self.saying = None;
    }

    /// The lines that were done are those of another text of the program.
    pub(crate) fn forget_lines(&mut self) {
        self.done.clear();
        self.problem = None;
    }

    /// Whether there is nothing that the model must know before the user speaks.
    pub(crate) fn is_silent(&self) -> bool {
        self.user.is_none() && self.problem.is_none() && self.saying.is_none() && self.meanwhile.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.is_silent()
            && self.done.is_empty()
            && self.results.is_empty()
            && self.references.is_empty()
            && self.suspended_since.is_none()
    }

    /// `DONE`, `RESULTS`, references, and what is known of `MEANWHILE`.
    pub(crate) fn blocks(&self) -> [Lines; 4] {
        [self.done.clone(), self.results.clone(), self.references.clone(), self.meanwhile.clone()]
    }
}
