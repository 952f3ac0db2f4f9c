//! The watcher's barrier on tokio's paused clock: what a trigger's question holds back is released when the verdict
//! comes, not a moment later, and what nothing holds back when it arrives (spec `turn-protocol.md`, "The watcher's
//! barrier").

use fastrand::Rng;
use playhouse::host::classify::script::{ClassifierEntry, ClassifierError, ScriptClassifier};
use playhouse::vm::protocol::settings::Barrier;

use super::streams::{Pipes, bytes, complete};
use super::*;

/// `$a` to `$d` are watched, `$x` is not.
const DESK: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Note $a, $b, $c, $d and $x, send some of them with Send, and talk
- Talk with the user

## Odd
### Triggers
- When $a sounds odd
- When $b sounds odd
- When $c sounds odd
- When $d sounds odd
### Steps
- Return
"#;

/// As `DESK`, and every update is asked about: the user's words too.
const AMBIENT: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Wait for the user
- Talk with the user

## Odd
### Triggers
- When something sounds odd
### Steps
- Return
"#;

/// Two conditions beside a trigger that is asked about.
const CONDITIONS: &str = r#"# Desk

## Main
### Triggers
- At the beginning
### Steps
- Note $a, $n and talk
- Talk with the user

## Odd
### Triggers
- When $a sounds odd
### Steps
- End program

## Many
### Triggers
- When $n > 3
### Steps
- End program
"#;

const TOOLS: &str = r#"{"Send": {"args": ["what"], "responses": [{"return": true}]}}"#;

/// Milliseconds since the session began.
type Moment = u64;

/// One line of a reply, or a piece of one that speaks.
#[derive(Clone, Debug)]
enum Piece {
    /// The beginning, the middle or the end of a sentence.
    Speech {
        text: String,
        begins: bool,
        ends: bool,
    },
    Set(&'static str, u64),
    Call(u64),
    Wait,
    Return,
}

impl Piece {
    fn say(text: &str) -> Piece {
        Piece::Speech { text: text.to_owned(), begins: true, ends: true }
    }

    /// As the model writes it.
    fn text(&self) -> String {
        match self {
            Piece::Speech { text, begins, ends } => {
                let head = if *begins { r#"{"at":"01","say":""# } else { "" };
                format!("{head}{text}{}", if *ends { "\"}\n" } else { "" })
            }
            Piece::Set(name, value) => format!("{{\"at\":\"01\",\"set\":{{\"{name}\":{value}}}}}\n"),
            Piece::Call(number) => {
                format!("{{\"at\":\"01\",\"call\":\"Send\",\"args\":{{\"what\":{number}}}}}\n")
            }
            Piece::Wait => "{\"at\":\"01\",\"wait\":\"user\"}\n".to_owned(),
            Piece::Return => "{\"at\":\"02\",\"return\":null}\n".to_owned(),
        }
    }

    /// What is heard of it; the number keeps kinds apart, for a tool starts behind what else happens at a moment.
    fn effect(&self) -> (u8, String) {
        match self {
            Piece::Speech { text, .. } => (0, text.clone()),
            Piece::Set(name, value) => (1, format!("{name} = {value}")),
            Piece::Call(number) => (2, format!("Send({number})")),
            Piece::Wait => (3, "waits".to_owned()),
            Piece::Return => (3, "finished".to_owned()),
        }
    }

    fn is_asked_about(&self) -> bool {
        matches!(self, Piece::Set("a" | "b" | "c" | "d", _))
    }
}

/// A reply whose pieces arrive at these moments.
type Timeline = Vec<(Moment, Piece)>;

/// An effect and when it was seen.
type Seen = (Moment, u8, String);

/// What was seen of a session.
struct Played {
    effects: Vec<Seen>,
    /// When replies were asked for and dropped.
    connections: Vec<(&'static str, Moment)>,
    /// Why replies were cut, and when.
    cuts: Vec<(Moment, String)>,
    ending: Arc<Ending>,
}

/// A program, its replies (the moments of each count from when it is asked for), and the classifier's answers.
struct Play {
    program: &'static str,
    replies: Vec<Timeline>,
    verdicts: Vec<ClassifierEntry>,
    lines: &'static [&'static str],
    barrier: Barrier,
}

impl Play {
    fn new(reply: Timeline, verdicts: Vec<ClassifierEntry>) -> Play {
        Play { program: DESK, replies: vec![reply], verdicts, lines: &[], barrier: Barrier::All }
    }

    async fn run(self) -> Played {
        let parts = |timeline: &Timeline| {
            let mut now = 0;
            let part = |(moment, piece): &(Moment, Piece)| {
                let delay = moment - now;
                now = *moment;
                (delay, bytes(&piece.text()))
            };
            timeline.iter().map(part).collect::<Vec<_>>()
        };
        let ended = |mut parts: Vec<(u64, ReplyPart)>| {
            parts.push((0, complete(1)));
            parts
        };
        let model = Pipes::new(self.replies.iter().map(parts).map(ended).collect());
        let log = model.log.clone();
        let mut setup = Setup::new(self.program, TOOLS, model);
        setup.classifier = Arc::new(ScriptClassifier::from_entries("c", self.verdicts));
        setup.settings.barrier = self.barrier;
        let mut session = setup.start(MemoryJournal::new()).unwrap();
        let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
        let began = Instant::now();
        let now = || began.elapsed().as_millis() as Moment;
        let handle = session.spawn();
        let mut lines = self.lines.iter();
        let (mut effects, mut cuts) = (Vec::new(), Vec::new());
        // On the paused clock a session that waits for nothing that will come is found out at once.
        let mut next = async || tokio::time::timeout(Duration::from_secs(900), events.next()).await.expect("a way on");
        while let Some(notice) = next().await {
            let Notice::Event(event) = notice else { panic!("{notice:?}") };
            effects.extend(effect(&event.body).map(|(kind, text)| (now(), kind, text)));
            if let PublicBody::StreamCancelled { reason, .. } = &event.body {
                cuts.push((now(), reason.to_string()));
            }
            if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
                match lines.next() {
                    Some(line) => handle.send(*line).await.unwrap(),
                    None => handle.stop().await,
                }
            }
        }
        let ending = handle.outcome().await.unwrap();
        let log = log.lock().unwrap();
        let connections = log.iter().map(|(what, when)| (*what, when.as_millis() as Moment)).collect();
        Played { effects: joined(effects), connections, cuts, ending }
    }
}

/// The effects that the barrier is about.
fn effect(body: &PublicBody) -> Option<(u8, String)> {
    #[allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few kinds of many")]
    match body {
        PublicBody::SaidDelta { text, .. } => Some((0, text.clone())),
        PublicBody::VariableSet { variable, value, .. } if variable.len() == 1 => {
            Some((1, format!("{variable} = {value}")))
        }
        PublicBody::CallStarted { call, .. } => Some((2, format!("Send({call})"))),
        PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User } => Some((3, "waits".to_owned())),
        PublicBody::Finished { .. } => Some((3, "finished".to_owned())),
        _ => None,
    }
}

/// By moment and kind; what was said at one moment in one piece.
fn joined(mut effects: Vec<Seen>) -> Vec<Seen> {
    effects.sort_by_key(|(moment, kind, _)| (*moment, *kind));
    let mut all: Vec<Seen> = Vec::new();
    for (moment, kind, text) in effects {
        match all.last_mut() {
            Some(last) if kind == 0 && (last.0, last.1) == (moment, 0) => last.2.push_str(&text),
            _ => all.push((moment, kind, text)),
        }
    }
    all
}

fn no_match(delay: u64) -> ClassifierEntry {
    ClassifierEntry { delay: Duration::from_millis(delay), ..ClassifierEntry::default() }
}

fn matching(delay: u64, name: &str) -> ClassifierEntry {
    ClassifierEntry { matched: vec![name.into()], ..no_match(delay) }
}

fn hang() -> ClassifierEntry {
    ClassifierEntry { error: Some(ClassifierError::Hang), ..ClassifierEntry::default() }
}

/// When each piece should take effect, and how many questions that takes, if nothing matches: the specification
/// said once more, over a whole reply. `delays`: of the answers.
fn releases(timeline: &Timeline, delays: &[u64], barrier: Barrier) -> (Vec<Seen>, usize) {
    // The verdict that everything is held for; sets up to there had been read when it came.
    let (mut verdict, mut before, mut n_questions) = (0, 0, 0);
    let mut judged = vec![false; timeline.len()];
    let mut seen = Vec::new();
    for (index, (arrival, piece)) in timeline.iter().enumerate() {
        let waits_for = match (barrier, piece) {
            // Speech passes, but does not overtake.
            (Barrier::Effects, Piece::Speech { .. }) => before,
            _ => verdict,
        };
        let moment = waits_for.max(*arrival);
        let (kind, text) = piece.effect();
        seen.push((moment, kind, text));
        before = moment;
        if piece.is_asked_about() && !judged[index] {
            for (later, (arrival, piece)) in timeline.iter().enumerate().skip(index + 1) {
                judged[later] |= piece.is_asked_about() && *arrival <= verdict;
            }
            verdict = moment + delays[n_questions];
            n_questions += 1;
        }
    }
    (joined(seen), n_questions)
}

/// Plays a reply that no trigger matches; gives what was seen, having compared it with what should be.
async fn unmatched(timeline: &Timeline, delays: &[u64], barrier: Barrier) -> Vec<Seen> {
    let play = Play { barrier, ..Play::new(timeline.clone(), delays.iter().map(|delay| no_match(*delay)).collect()) };
    let played = play.run().await;
    let (expected, n_questions) = releases(timeline, delays, barrier);
    assert_eq!(played.effects, expected, "{barrier:?}, answers after {delays:?}: {timeline:#?}");
    assert_eq!(played.ending.summary.classifier_calls, n_questions as u64, "{timeline:#?}");
    assert_eq!(played.ending.summary.cancels, 0);
    played.effects
}

fn seen(effects: &[Seen]) -> Vec<(Moment, &str)> {
    effects.iter().map(|(moment, _, text)| (*moment, text.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_question_holds_is_released_at_its_verdict() {
    let begin = |text: &str| Piece::Speech { text: text.to_owned(), begins: true, ends: false };
    let end = |text: &str| Piece::Speech { text: text.to_owned(), begins: false, ends: true };
    let timeline = vec![
        (10, Piece::say("before")),
        (20, Piece::Set("a", 1)),
        (30, begin("held ")),
        (40, Piece::Speech { text: "in ".to_owned(), begins: false, ends: false }),
        // The verdict comes at 57.
        (60, end("pieces")),
        (70, Piece::Set("x", 1)),
        (80, Piece::Call(1)),
        (90, Piece::Wait),
    ];
    let effects = unmatched(&timeline, &[37], Barrier::All).await;
    assert_eq!(
        seen(&effects),
        [
            (10, "before"),
            (20, "a = 1"),
            (57, "held in "),
            (60, "pieces"),
            (70, "x = 1"),
            (80, "Send(1)"),
            (90, "waits")
        ]
    );
}

/// Each next question is open from the verdict before it, and holds all updates that had been read.
#[tokio::test(start_paused = true)]
async fn several_updates_in_a_row() {
    let timeline = vec![
        (10, Piece::Set("a", 1)),
        (20, Piece::say("one")),
        (30, Piece::Set("b", 1)),
        (40, Piece::Call(1)),
        (50, Piece::Set("c", 1)),
        (60, Piece::say("two")),
        // At 111: `$b` is set, and asked about together with `$c`.
        (120, Piece::Set("d", 1)),
        (130, Piece::Set("x", 1)),
        // At 212: `$d`, alone.
        (140, Piece::say("three")),
        (150, Piece::Wait),
    ];
    let effects = unmatched(&timeline, &[101, 101, 101], Barrier::All).await;
    assert_eq!(
        seen(&effects),
        [
            (10, "a = 1"),
            (111, "one"),
            (111, "b = 1"),
            (212, "two"),
            (212, "c = 1"),
            (212, "d = 1"),
            (212, "Send(1)"),
            (313, "three"),
            (313, "x = 1"),
            (313, "waits")
        ]
    );
}

/// `barrier = "effects"`: speech is heard when it arrives, unless something that is held stands before it.
#[tokio::test(start_paused = true)]
async fn speech_passes_where_only_effects_are_held() {
    let timeline = vec![
        (10, Piece::Set("a", 1)),
        (20, Piece::say("passes ")),
        (30, Piece::say("too")),
        (40, Piece::Call(1)),
        (50, Piece::say("does not overtake")),
        (150, Piece::say("after")),
        (160, Piece::Wait),
    ];
    let effects = unmatched(&timeline, &[101], Barrier::Effects).await;
    assert_eq!(
        seen(&effects),
        [
            (10, "a = 1"),
            (20, "passes "),
            (30, "too"),
            (111, "does not overtake"),
            (111, "Send(1)"),
            (150, "after"),
            (160, "waits")
        ]
    );
}

/// A yield is held like anything else, also when the reply has ended long before.
#[tokio::test(start_paused = true)]
async fn yields_wait_for_the_verdict() {
    for (last, told) in [(Piece::Wait, "waits"), (Piece::Return, "finished")] {
        let timeline = vec![(10, Piece::Set("a", 1)), (11, last.clone())];
        let effects = unmatched(&timeline, &[2_000], Barrier::All).await;
        assert_eq!(seen(&effects), [(10, "a = 1"), (2_010, told)]);
        let timeline = vec![(10, Piece::Set("a", 1)), (15, last.clone())];
        let effects = unmatched(&timeline, &[3], Barrier::Effects).await;
        assert_eq!(seen(&effects), [(10, "a = 1"), (15, told)]);
    }
}

/// Without an answer the effects are released when the time is up, each question's own.
#[tokio::test(start_paused = true)]
async fn a_time_out_releases() {
    let timeline = vec![
        (10, Piece::Set("a", 1)),
        (20, Piece::say("held")),
        (30, Piece::Set("b", 1)),
        (40, Piece::Call(1)),
        (50, Piece::Wait),
    ];
    let played = Play::new(timeline.clone(), vec![hang(), hang()]).run().await;
    let (expected, _) = releases(&timeline, &[5_000, 5_000], Barrier::All);
    assert_eq!(played.effects, expected);
    assert_eq!(
        seen(&played.effects),
        [(10, "a = 1"), (5_010, "held"), (5_010, "b = 1"), (10_010, "Send(1)"), (10_010, "waits")]
    );
    assert_eq!(played.ending.summary.classifier_ms, 10_000);
}

/// A message of the user's is judged while the model is answering it already.
#[tokio::test(start_paused = true)]
async fn a_turn_beside_its_question() {
    let wait = |moment| vec![(moment, Piece::Wait)];
    let reply = vec![(20, Piece::say("quick")), (30, Piece::Call(1)), (120, Piece::say("slow")), (130, Piece::Wait)];
    // Not even speech passes before the program has heard the message.
    for barrier in [Barrier::All, Barrier::Effects] {
        let play = Play {
            program: AMBIENT,
            replies: vec![wait(10), reply.clone()],
            lines: &["hello"],
            barrier,
            ..Play::new(Vec::new(), vec![no_match(101)])
        };
        let played = play.run().await;
        // The question and the turn begin at 10.
        let expected = [(10, "waits"), (111, "quick"), (111, "Send(1)"), (130, "slow"), (140, "waits")];
        assert_eq!(seen(&played.effects), expected, "{barrier:?}");
        assert_eq!(played.connections[2], ("asked", 10));
    }
    // Judged to match: the reply is dropped at the verdict, and nothing of it was heard.
    let play = Play {
        program: AMBIENT,
        replies: vec![wait(10), reply.clone(), wait(10)],
        lines: &["hello"],
        ..Play::new(Vec::new(), vec![matching(101, "Odd:T1")])
    };
    let played = play.run().await;
    assert_eq!(seen(&played.effects), [(10, "waits"), (121, "waits")]);
    let asked_and_dropped = [("asked", 10), ("dropped", 111), ("asked", 111)];
    assert_eq!(played.connections[2..5], asked_and_dropped);
}

/// A match closes the connection at the verdict's moment; what stands before its update takes effect, the rest not.
#[tokio::test(start_paused = true)]
async fn a_match_closes_the_reply_at_its_verdict() {
    let timeline = vec![
        (10, Piece::Set("a", 1)),
        (20, Piece::say("one")),
        (30, Piece::Set("b", 1)),
        (40, Piece::say("two")),
        (50, Piece::Set("c", 1)),
        (60, Piece::say("three")),
        (900, Piece::Wait),
    ];
    let (wait, silence) = (vec![(0, Piece::Wait)], Duration::from_millis(900));
    for (verdicts, closed, heard) in [
        (vec![matching(101, "Odd:T1")], 111, vec![(10, "a = 1"), (111, "waits")]),
        // Asked about `$b` and `$c` at 111.
        (
            vec![no_match(101), matching(50, "Odd:T2")],
            161,
            vec![(10, "a = 1"), (111, "one"), (111, "b = 1"), (161, "waits")],
        ),
        (
            vec![no_match(101), matching(50, "Odd:T3")],
            161,
            vec![(10, "a = 1"), (111, "one"), (111, "b = 1"), (161, "two"), (161, "c = 1"), (161, "waits")],
        ),
    ] {
        let play = Play { replies: vec![timeline.clone(), wait.clone()], ..Play::new(Vec::new(), verdicts) };
        let began = Instant::now();
        let played = play.run().await;
        assert_eq!(seen(&played.effects), heard);
        assert_eq!(played.connections[..2], [("asked", 0), ("dropped", closed)]);
        assert_eq!(played.cuts.iter().map(|(moment, _)| *moment).collect::<Vec<_>>(), [closed]);
        assert_eq!((played.ending.summary.cancels, played.ending.summary.trigger_matches), (1, 1));
        assert!(began.elapsed() < silence, "nobody waits for the rest");
    }
}

/// A condition is no question: its set closes the connection when it arrives, or when it is released.
#[tokio::test(start_paused = true)]
async fn a_condition_closes_the_reply_at_once() {
    let set = vec![(10, Piece::Set("n", 3)), (20, Piece::Set("n", 4)), (30, Piece::say("never")), (900, Piece::Wait)];
    let mut held = set.clone();
    held.insert(0, (5, Piece::Set("a", 1)));
    for (timeline, verdicts, closed, heard) in [
        (set, vec![], 20, vec![(10, "n = 3"), (20, "n = 4"), (20, "finished")]),
        (held, vec![no_match(101)], 106, vec![(5, "a = 1"), (106, "n = 3"), (106, "n = 4"), (106, "finished")]),
    ] {
        let played = Play { program: CONDITIONS, ..Play::new(timeline, verdicts) }.run().await;
        assert_eq!(seen(&played.effects), heard);
        assert_eq!(played.connections, [("asked", 0), ("dropped", closed)]);
        assert_eq!(played.cuts, [(closed, "trigger Many:T1 matched".to_owned())]);
    }
}

/// Many replies whose pieces and verdicts come at any moment: all is released at the moment it should be.
#[tokio::test(start_paused = true)]
async fn any_reply_is_released_in_time() {
    let mut random = Rng::with_seed(1);
    let (mut n_held, mut n_questions) = (0, 0);
    for round in 0..400 {
        let timeline = any_timeline(&mut random);
        // One more than ten times something: no verdict comes at the moment of a piece.
        let delays: Vec<u64> = (0..9).map(|_| random.u64(0..40) * 10 + 1).collect();
        let barrier = if round % 2 == 0 { Barrier::All } else { Barrier::Effects };
        unmatched(&timeline, &delays, barrier).await;
        let (released, n_asked) = releases(&timeline, &delays, barrier);
        let arrivals: Vec<Moment> = timeline.iter().map(|(arrival, _)| *arrival).collect();
        n_held += released.iter().filter(|(moment, _, _)| !arrivals.contains(moment)).count();
        n_questions += n_asked;
    }
    assert!(n_held > 1_000 && n_questions > 1_000, "{n_held} held, {n_questions} questions");
}

/// Up to nine updates that are asked about, with anything between them.
fn any_timeline(random: &mut Rng) -> Timeline {
    let mut timeline = Vec::new();
    let (mut moment, mut n_asked, mut n_calls, mut is_speaking) = (0, 0, 0, false);
    for number in 0..random.u64(5..25) {
        moment += random.u64(1..10) * 10;
        let piece = match random.u8(0..10) {
            _ if is_speaking => {
                is_speaking = random.bool();
                Piece::Speech { text: format!("<{number}>"), begins: false, ends: !is_speaking }
            }
            0..3 => {
                is_speaking = random.bool();
                Piece::Speech { text: format!("<{number}>"), begins: true, ends: !is_speaking }
            }
            3..7 if n_asked < 9 => {
                n_asked += 1;
                Piece::Set(["a", "b", "c", "d"][random.usize(0..4)], number)
            }
            7..9 => {
                n_calls += 1;
                Piece::Call(n_calls)
            }
            _ => Piece::Set("x", number),
        };
        timeline.push((moment, piece));
    }
    if is_speaking {
        moment += 10;
        timeline.push((moment, Piece::Speech { text: "<end>".to_owned(), begins: false, ends: true }));
    }
    timeline.push((moment + 10, if random.bool() { Piece::Wait } else { Piece::Return }));
    timeline
}

/// A reply whose connection is another task's, as an HTTP client's is.
struct Connected {
    reply: &'static str,
    log: Arc<Mutex<Vec<String>>>,
}

impl Llm for Connected {
    fn id(&self) -> Arc<str> {
        "connected".into()
    }

    fn request(&self, _request: LlmRequest) -> ReplyStream {
        let (reader, closed) = tokio::sync::oneshot::channel::<()>();
        let log = self.log.clone();
        tokio::spawn(async move {
            // An error: the reader was dropped.
            let _ = closed.await;
            log.lock().unwrap().push("connection closed".to_owned());
        });
        let parts = VecDeque::from([bytes(self.reply)]);
        Box::pin(futures_util::stream::unfold((parts, reader), |(mut parts, reader)| async move {
            match parts.pop_front() {
                Some(part) => Some((part, (parts, reader))),
                None => std::future::pending().await,
            }
        }))
    }
}

/// However much the machine has to do next, the connection's task comes first.
#[tokio::test(start_paused = true)]
async fn a_connection_closes_before_the_machine_goes_on() {
    let journal = Watched::new();
    let log = journal.log.clone();
    let model = Connected { reply: "{\"at\":\"01\",\"set\":{\"n\":4}}\n", log: log.clone() };
    let setup = Setup::new(CONDITIONS, TOOLS, model);
    setup.start(journal).unwrap().spawn().outcome().await.unwrap();
    let log = log.lock().unwrap();
    let place = |wanted: &str| log.iter().position(|line| line == wanted).unwrap_or_else(|| panic!("{log:?}"));
    assert!(place("connection closed") < place("reply_ended"), "{log:?}");
}
