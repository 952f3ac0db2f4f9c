//! The replies of a scripted conversation: each answers in its stretch, in the order written, and it is kept what it
//! answered.

use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regex::Regex;

use crate::host::llm::script::{Chunks as ScriptChunks, Script, ScriptEntry, ScriptError};
use crate::host::llm::written::{self, Unanswered, Why};
use crate::host::llm::{Llm, LlmRequest, ReplyPart, ReplyStream};
use crate::lang::files::test_file::{
    Bullet, Chunks, ScriptedReply, TestFile, TestStepKind, WrittenBullet, bullet_text, find_line,
};
use crate::lang::program::Program;
use crate::serve::cli::machinery::test_interrupts::{Door, Planned, interrupted};
use crate::vm::protocol::ReplyEnd;

/// The replies of a test.
pub(crate) struct Replies {
    name: String,
    pieces: Vec<Piece>,
    /// The lines of the headings that stretches begin with.
    stretches: Vec<Option<usize>>,
    door: Arc<Door>,
    state: Mutex<State>,
}

/// What is used once.
struct Piece {
    /// Where it is written.
    line: usize,
    stretch: usize,
    kind: PieceKind,
}

enum PieceKind {
    /// A reply in a fence.
    Reply(Reply),
    /// One line's share of replies by hand.
    Bullet(Bullet),
}

struct Reply {
    when: Option<Regex>,
    when_any: Option<Regex>,
    /// What the user says meanwhile.
    interruptions: Vec<Planned>,
    /// A script of this one reply.
    script: Script,
}

/// What came of the replies.
pub(crate) struct Account {
    /// What did not fit, and what was not asked for.
    pub(crate) problems: Vec<String>,
    /// Whether the program could not go on for want of a reply.
    pub(crate) has_failed: bool,
    /// What answered what, for people.
    pub(crate) answers: Vec<String>,
}

#[derive(Default)]
struct State {
    stretch: usize,
    /// Pieces that are used or passed.
    n_used: usize,
    n_turns: usize,
    problems: Vec<String>,
    /// Nothing can be said of the pieces after a request that nothing answers.
    has_failed: bool,
    answers: Vec<String>,
}

/// Who answers a request.
enum Answer<'r> {
    Reply(&'r Reply),
    /// A reply made of bullets.
    Text(String),
}

impl Replies {
    pub(crate) fn new(name: &str, test: &TestFile) -> Result<Replies, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let ranges = test.stretches();
        for (stretch, range) in ranges.iter().enumerate() {
            for step in &test.steps[range.clone()] {
                if let TestStepKind::Reply(reply) = &step.kind {
                    let kind = PieceKind::Reply(Reply::new(name, step.line, reply)?);
                    pieces.push(Piece { line: step.line, stretch, kind });
                } else if let TestStepKind::Written(bullets) = &step.kind {
                    let piece = |WrittenBullet { line, bullet }: &WrittenBullet| Piece {
                        line: *line,
                        stretch,
                        kind: PieceKind::Bullet(bullet.clone()),
                    };
                    pieces.extend(bullets.iter().map(piece));
                } else if let (TestStepKind::Interrupts(interruption), Some(piece)) = (&step.kind, pieces.last_mut())
                    && let PieceKind::Reply(reply) = &mut piece.kind
                {
                    let planned = Planned { line: step.line, stretch, interruption: interruption.clone() };
                    reply.interruptions.push(planned);
                }
            }
        }
        let begins = |range: &Range<usize>| test.steps.get(range.start).map(|step| step.line);
        let stretches = ranges.iter().map(begins).collect();
        Ok(Replies { name: name.to_owned(), pieces, stretches, door: Arc::default(), state: Mutex::default() })
    }

    /// By which messages in the middle of a reply come.
    pub(crate) fn door(&self) -> Arc<Door> {
        self.door.clone()
    }

    /// Whether the program has the lines that bullets name.
    ///
    /// # Errors
    /// Which it has not, each with its place.
    pub(crate) fn check(&self, program: &Program) -> Result<(), String> {
        let wrong: Vec<String> = self.pieces.iter().filter_map(|piece| piece.unknown(&self.name, program)).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    /// The next stretch begins: what is left of this one answers nothing any more.
    pub(crate) fn begin_stretch(&self) {
        let mut state = self.state();
        state.stretch += 1;
        self.pass(&mut state);
    }

    /// The conversation is over.
    pub(crate) fn finish(&self) -> Account {
        let mut state = self.state();
        state.stretch = usize::MAX;
        self.pass(&mut state);
        let State { problems, has_failed, answers, .. } = mem::take(&mut *state);
        Account { problems, has_failed, answers }
    }

    /// Passes the pieces of earlier stretches.
    fn pass(&self, state: &mut State) {
        while let Some(piece) = self.pieces.get(state.n_used).filter(|piece| piece.stretch < state.stretch) {
            if !state.has_failed {
                state.problems.push(piece.left_over(&self.name));
            }
            state.n_used += 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What answers a request, or why nothing does.
    fn take(&self, request: &LlmRequest) -> Result<Answer<'_>, String> {
        let mut state = self.state();
        state.n_turns += usize::from(request.turn.is_some());
        let left = &self.pieces[state.n_used..];
        let taken = match left.first().filter(|piece| piece.stretch == state.stretch) {
            None => Err(self.nothing_left(&state, request)),
            Some(Piece { line, kind: PieceKind::Reply(reply), .. }) => match reply.misfit(request) {
                None => Ok((Answer::Reply(reply), 1)),
                Some(option) => {
                    let problem = format!("{}:{line}: `{option}` does not match the request", self.name);
                    Err(problem + &what_was_asked(request))
                }
            },
            Some(piece) => self.take_bullets(left, piece, request),
        };
        match taken {
            Ok((answer, n)) => {
                let asked = match &request.turn {
                    Some(turn) => format!("turn {}, {}", state.n_turns, written::asked_about(turn)),
                    None => "a question of a plan".to_owned(),
                };
                let told = left[..n].iter().map(|piece| format!("{} answered {asked}", piece.text()));
                state.answers.extend(told);
                state.n_used += n;
                Ok(answer)
            }
            Err(problem) => {
                state.has_failed = true;
                state.problems.push(problem.clone());
                Err(problem)
            }
        }
    }

    /// A reply made of the bullets at the beginning of `left`, of which `first` is the first.
    fn take_bullets(&self, left: &[Piece], first: &Piece, request: &LlmRequest) -> Result<(Answer<'_>, usize), String> {
        let place = format!("{}:{}", self.name, first.line);
        let Some(turn) = &request.turn else {
            let next = "write the answer in a fenced block";
            return Err(format!("{place}: a question of a plan has no lines; {next}{}", what_was_asked(request)));
        };
        let same = left.iter().take_while(|piece| piece.stretch == first.stretch);
        let bullets: Vec<&Bullet> = same.map_while(Piece::bullet).collect();
        let (text, n) = written::reply(turn, &bullets).map_err(|unanswered| {
            // Those before it are answered.
            let line = left.get(unanswered.n_before).map_or(first.line, |piece| piece.line);
            let (what, write) = (asked(&unanswered), examples(&unanswered));
            let why = match unanswered.why {
                Why::Unfit => format!("this does not fit {what}"),
                Why::Elsewhere | Why::Over => format!("the program does not ask for this, but for {what}"),
            };
            format!("{}:{line}: {why}; write {write}", self.name)
        })?;
        Ok((Answer::Text(text), n))
    }

    /// That the stretch holds no reply to a request.
    fn nothing_left(&self, state: &State, request: &LlmRequest) -> String {
        let line =
            self.stretches.get(state.stretch).copied().flatten().map_or_else(String::new, |line| format!(":{line}"));
        let place = format!("{}{line}: there is no reply left for", self.name);
        let unanswered = request.turn.as_ref().and_then(|turn| written::reply(turn, &[]).err());
        let asked = match unanswered {
            Some(unanswered) => format!("{}; write {} in a `## Model`", asked(&unanswered), examples(&unanswered)),
            None => "a question of a plan; add a `## Model`".to_owned(),
        };
        format!("{place} {asked}{}", what_was_asked(request))
    }
}

/// What is asked about.
fn asked(unanswered: &Unanswered) -> String {
    let words = unanswered.words.as_ref().map_or_else(String::new, |words| format!(", `{words}`"));
    let problem = unanswered.problem.as_ref().map_or_else(String::new, |problem| format!(" (last time: {problem})"));
    format!("{}{words}{problem}", unanswered.place)
}

/// What could be written for it.
fn examples(unanswered: &Unanswered) -> String {
    let examples = unanswered.examples.iter().map(|bullet| format!("`- {}`", bullet_text(bullet)));
    examples.collect::<Vec<_>>().join(" or ")
}

/// The request's last message, quoted.
fn what_was_asked(request: &LlmRequest) -> String {
    let asked: String = last(request).lines().map(|line| format!("\n  | {line}")).collect();
    format!("; what was asked:{asked}")
}

fn last(request: &LlmRequest) -> &str {
    request.messages.last().map_or("", |message| &*message.text)
}

impl Piece {
    fn bullet(&self) -> Option<&Bullet> {
        if let PieceKind::Bullet(bullet) = &self.kind { Some(bullet) } else { None }
    }

    fn text(&self) -> String {
        match &self.kind {
            PieceKind::Reply(_) => format!("`## Model` at line {}", self.line),
            PieceKind::Bullet(bullet) => format!("`- {}` at line {}", bullet_text(bullet), self.line),
        }
    }

    fn left_over(&self, name: &str) -> String {
        let what = match &self.kind {
            PieceKind::Reply(_) => "this reply",
            PieceKind::Bullet(_) => "what this bullet says",
        };
        format!("{name}:{}: the program never asked for {what}; remove it, or look at what the program does", self.line)
    }

    /// That the program does not have the bullet's line.
    fn unknown(&self, name: &str, program: &Program) -> Option<String> {
        let bullet = self.bullet()?;
        let (message, next) = find_line(program, &bullet.line).err()?.told(&bullet.line);
        Some(format!("{name}:{}: {message}; {next}", self.line))
    }
}

impl Llm for Replies {
    fn id(&self) -> Arc<str> {
        "script:test".into()
    }

    fn request(&self, request: LlmRequest) -> ReplyStream {
        match self.take(&request) {
            Ok(Answer::Reply(reply)) => {
                interrupted(reply.script.request(request), reply.interruptions.clone(), self.door.clone())
            }
            Ok(Answer::Text(text)) => Script::from_entries(&self.name, vec![ScriptEntry::reply(text)]).request(request),
            Err(problem) => {
                let end = ReplyEnd::Refused { reason: problem.into() };
                Box::pin(tokio_stream::once(ReplyPart::End { end, usage: None }))
            }
        }
    }
}

impl Reply {
    fn new(name: &str, line: usize, reply: &ScriptedReply) -> Result<Reply, String> {
        let regex = |source: &Option<String>| {
            let regex = source.as_deref().map(Regex::new).transpose();
            regex.map_err(|error| format!("{name}:{line}: this is not a regular expression: {error}"))
        };
        let has_text = !reply.text.is_empty() || reply.error.is_none();
        let error = reply.error.as_deref().map(|error| {
            script_error(error)
                .ok_or_else(|| format!("{name}:{line}: unknown error `{error}`; docs/testing.md lists the errors"))
        });
        let entry = ScriptEntry {
            reply: has_text.then(|| reply.text.clone()),
            chunks: match &reply.chunks {
                None => ScriptChunks::Whole,
                Some(Chunks::Bytes) => ScriptChunks::Every(1),
                Some(Chunks::Sizes(sizes)) => ScriptChunks::Sizes(sizes.clone()),
            },
            error: error.transpose()?,
            ..ScriptEntry::default()
        };
        let (when, when_any) = (regex(&reply.when)?, regex(&reply.when_any)?);
        let script = Script::from_entries(name, vec![entry]);
        Ok(Reply { when, when_any, interruptions: Vec::new(), script })
    }

    /// The option that does not fit a request.
    fn misfit(&self, request: &LlmRequest) -> Option<&'static str> {
        if self.when.as_ref().is_some_and(|when| !when.is_match(last(request))) {
            return Some("when");
        }
        let when_any = self.when_any.as_ref()?;
        let all: Vec<&str> = request.messages.iter().map(|message| &*message.text).collect();
        (!when_any.is_match(&all.join("\n"))).then_some("when any")
    }
}

fn script_error(name: &str) -> Option<ScriptError> {
    Some(match name {
        "drop" => ScriptError::Drop,
        "hang" => ScriptError::Hang,
        "length" => ScriptError::Length,
        "no_finish" => ScriptError::NoFinish,
        "quota" => ScriptError::Quota,
        _ => ScriptError::Status(name.parse().ok().filter(|status| (400..=599).contains(status))?),
    })
}
