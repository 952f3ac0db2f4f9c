//! Where a reply is cut into pieces never changes what is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::PublicBody;
use playhouse::host::events::make::EventMaker;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::program::load_files;
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, World};
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::expr::template::{Part, TextScanner, scan_text};
use playhouse::lang::files::test_file::{TestFile, TestStepKind};
use playhouse::span::Sources;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::{Event, Progress, Timestamp};
use playhouse::vm::reply::ReadEnd;
use playhouse::vm::{Begin, Machine};

use crate::conversation::holds_replies;
use crate::made_up::made_up;
use crate::reply::{corpus, read, read_whole};
use crate::tool::add_builtins;

/// Two pieces cut at every byte, and every byte a piece of its own.
#[test]
fn reader() {
    for case in corpus() {
        let whole = read_whole(&case);
        let bytes = read(&case.options, case.reply.chunks(1), case.end);
        assert_eq!(bytes, whole, "{}, byte by byte", case.name);
        // The filled ones are long, and alike for most of their length.
        let step = if case.reply.len() > 1000 { case.reply.len() / 100 } else { 1 };
        for cut in (0..=case.reply.len()).step_by(step) {
            let (before, after) = case.reply.split_at(cut);
            assert_eq!(read(&case.options, [before, after], case.end), whole, "{}, cut at {cut}", case.name);
        }
        for size in [2, 3, 4, 5, 7, 16] {
            assert_eq!(read(&case.options, case.reply.chunks(size), case.end), whole, "{}, by {size}", case.name);
        }
    }
}

/// A reply that is broken off anywhere is read without a fault of its own, whatever came before.
#[test]
fn broken_off() {
    for case in corpus() {
        if case.reply.len() > 1000 {
            continue;
        }
        for cut in 0..case.reply.len() {
            let part = &case.reply[..cut];
            let whole = read(&case.options, [part], ReadEnd::Cut);
            assert_eq!(read(&case.options, part.chunks(1), ReadEnd::Cut), whole, "{}, to {cut}", case.name);
            crate::reply::check_readings(part, &whole);
            let complete = read(&case.options, part.chunks(3), ReadEnd::Complete);
            crate::reply::check_readings(part, &complete);
            let n_common = whole.len().min(complete.len());
            assert_eq!(whole[..n_common], complete[..n_common], "{}, to {cut}", case.name);
        }
    }
}

const TEXTS: &[&str] = &[
    "",
    "plain",
    "$",
    "$$",
    "$$$x",
    "$5 and $ 7",
    "Hello $name, you owe $total.amount[0].",
    "{$name}",
    "{$name.path[0]}!",
    "{$name.path[0] }",
    "{$$name}",
    "{{$name}}",
    "{$5}",
    "{$",
    "{$x",
    "{$x.",
    "{$x[",
    "{$x[1",
    "{$x[1]",
    "$x.",
    "$x.5",
    "$x[",
    "$x[]",
    "$x[12",
    "$x[99999999999999999999]",
    "{$x[99999999999999999999]}",
    "$x[0][1].y$z{$w}",
    "{$größe} und $größe.",
    "$日本語、はい {$日本語}",
    "fn main() { println!(\"{}\", $x); }",
    "{ $x }",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
    "{$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[12345]}",
    "{$a{$b{$c}",
    "${x}",
    "\u{1F600}$\u{1F600}{\u{1F600}$x\u{1F600}",
    "a{b{$c}d}e",
    "{$x.y.z}{$x.y.z}",
    "$a$b$c",
    "$_ and $_x1",
];

/// Speech that arrives in pieces has the parts of the whole text.
#[test]
fn text_scanner() {
    for text in TEXTS {
        let whole = scan_text(text);
        let mut previous = None;
        for part in &whole {
            if let Part::Text(text) = part {
                assert!(!text.is_empty() && previous != Some(true), "{text:?}");
            }
            previous = Some(matches!(part, Part::Text(_)));
        }
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert_eq!(scan_pieces(&[&text[..cut], &text[cut..]]), whole, "{text:?} cut at {cut}");
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(scan_pieces(&characters), whole, "{text:?} by characters");
    }
}

/// Pieces of text given in different vectors are joined.
fn scan_pieces(pieces: &[&str]) -> Vec<Part> {
    let mut scanner = TextScanner::default();
    let mut joined: Vec<Part> = Vec::new();
    for index in 0..=pieces.len() {
        let mut parts = Vec::new();
        match pieces.get(index) {
            Some(piece) => scanner.push(piece, &mut parts),
            None => scanner.finish(&mut parts),
        }
        for part in parts {
            match (joined.last_mut(), part) {
                (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
                (_, part) => joined.push(part),
            }
        }
    }
    assert_eq!(scanner.pending(), "");
    joined
}

#[test]
fn text_scanner_any_text() {
    const PIECES: [&str; 16] =
        ["{", "$", "}", "[", "]", ".", "a", "b_", "0", "12", " ", "é", "x", "{$", "$$", "aaaaaaaaaaaaaaaaaaaa"];
    made_up!(3_000).with_type::<Vec<(u8, bool)>>().for_each(|input| {
        let mut text = String::new();
        let mut pieces = vec![String::new()];
        for (piece, cut) in input {
            let piece = PIECES[usize::from(*piece) % PIECES.len()];
            text.push_str(piece);
            if *cut {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push_str(piece);
        }
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(scan_pieces(&pieces), scan_text(&text));
    });
}

/// An example's conversation: how it begins, and all that happened in it.
struct Conversation {
    begin: Begin,
    events: Vec<(Timestamp, Event)>,
}

/// Every reply of the examples' conversations, cut at every byte and given byte by byte: the same events, but for
/// how much of a cut reply had come when it was cut, and the same speech.
#[tokio::test(start_paused = true)]
async fn examples() {
    let mut n_replies = 0;
    let mut n_programs = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if !holds_replies(&path) {
            continue;
        }
        let (program, conversation) = play(&path).await;
        n_programs.insert(program);
        let mut run = Run::begin(&conversation);
        for (index, (time, event)) in conversation.events.iter().enumerate() {
            let mut whole = run.clone();
            whole.handle(*time, event.clone());
            if let Event::Chunk { turn, bytes } = event {
                n_replies += 1;
                for at in 0..=bytes.len() {
                    let mut cut = run.clone();
                    for piece in [&bytes[..at], &bytes[at..]] {
                        cut.handle(*time, Event::Chunk { turn: *turn, bytes: piece.into() });
                    }
                    // The piece's effect, and all that follows from it up to the reply's end and behind it.
                    assert_eq!(cut.heard, whole.heard, "{}, event {index}, cut at {at}", path.display());
                    assert_eq!(
                        cut.machine.view(),
                        whole.machine.view(),
                        "{}, event {index}, cut at {at}",
                        path.display()
                    );
                    if let Some((time, next)) = conversation.events.get(index + 1) {
                        let mut whole = whole.clone();
                        whole.handle(*time, next.clone());
                        cut.handle(*time, next.clone());
                        assert_eq!(cut.heard, whole.heard, "{}, behind event {index}, cut at {at}", path.display());
                    }
                }
            }
            run = whole;
        }
        assert!(run.heard.iter().any(|line| line.contains("\"type\":\"said\"")), "{}", path.display());
        for size in [1, 2, 3, 4, 7] {
            let mut cut = Run::begin(&conversation);
            for (time, event) in &conversation.events {
                let Event::Chunk { turn, bytes } = event else {
                    cut.handle(*time, event.clone());
                    continue;
                };
                for piece in bytes.chunks(size) {
                    cut.handle(*time, Event::Chunk { turn: *turn, bytes: piece.into() });
                }
            }
            assert_eq!(cut.heard, run.heard, "{}, by {size}", path.display());
        }
    }
    assert!(n_programs.len() >= 4 && n_replies >= 20, "{n_programs:?}, {n_replies} replies");
}

/// Plays an example's conversation; gives its program's name, too.
async fn play(path: &Path) -> (PathBuf, Conversation) {
    let text = std::fs::read_to_string(path).unwrap();
    let file = Sources::default().add(path.display().to_string(), text.as_str());
    let test = TestFile::parse(file, &text).unwrap();
    let clock = Arc::new(TestClock::new(Timestamp(1_795_301_285_000)));
    let directory = WorkingDirectory::open(path.parent().unwrap()).unwrap();
    let tools = Registry::new();
    add_builtins(&tools, &directory, clock.clone(), 1 << 20, |_| true);
    if let Some(name) = &test.tools {
        for tool in canned::load(&path.with_file_name(name), &directory).unwrap() {
            tools.replace(tool).unwrap();
        }
    }
    let signatures: Vec<_> = tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
    let program_path = path.with_file_name(&test.program);
    let (text, loaded) = load_files(std::slice::from_ref(&program_path), &signatures).unwrap();
    let program = Arc::new(loaded.program);
    let mut entries = Vec::new();
    let mut messages = Vec::new();
    for step in &test.steps {
        match &step.kind {
            TestStepKind::Reply(reply) => entries.push(ScriptEntry::reply(reply.text.clone())),
            TestStepKind::User(text) => messages.push(text.clone()),
            TestStepKind::Interrupts(_)
            | TestStepKind::Event(_)
            | TestStepKind::Wait(_)
            | TestStepKind::Set(_)
            | TestStepKind::Written(_) => panic!("line {} is of no use here", step.line),
            TestStepKind::ExpectSay(_)
            | TestStepKind::ExpectVariables(_)
            | TestStepKind::ExpectCalls(_)
            | TestStepKind::ExpectOutcome(_)
            | TestStepKind::Expect(_) => {}
        }
    }
    let tools = Arc::new(tools);
    let begin = Begin {
        program: program.clone(),
        settings: Settings::default(),
        tools: tools.signatures(),
        entry: None,
        arguments: test.arguments.clone(),
        time: Timestamp(0),
    };
    let llm = Arc::new(Script::from_entries("test", entries));
    let world = World { llm, classifier: Arc::new(Off), tools, clock, options: SessionOptions::default() };
    let settings = Settings::default();
    let start = Start {
        id: "s".into(),
        program,
        text,
        settings,
        entry: None,
        arguments: test.arguments,
        given: Default::default(),
    };
    let journal = MemoryJournal::new();
    let mut session = Session::start(world, Box::new(journal.clone()), start).unwrap();
    let mut events = session.subscribe(Interest::Everything { capacity: 100_000 });
    let handle = session.spawn();
    let mut messages = messages.into_iter();
    while let Some(Notice::Event(event)) = events.next().await {
        if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
            match messages.next() {
                Some(message) => handle.send(message).await.unwrap(),
                None => handle.stop().await,
            }
        }
    }
    handle.outcome().await.unwrap();
    let records = journal.snapshot();
    let events = records.iter().filter_map(|record| Some((record.timestamp(), record.body.to_event()?))).collect();
    (program_path, Conversation { begin, events })
}

/// A new machine to which a conversation happens once more, and what the public is told of it.
#[derive(Clone)]
struct Run {
    machine: Machine,
    maker: EventMaker,
    heard: Vec<String>,
}

impl Run {
    fn begin(conversation: &Conversation) -> Run {
        let machine = Machine::begin(conversation.begin.clone());
        let maker = EventMaker::new("s".into(), conversation.begin.program.clone());
        let mut run = Run { machine, maker, heard: Vec::new() };
        settle(&mut run.machine, &mut run.maker, &mut run.heard);
        run
    }

    fn handle(&mut self, time: Timestamp, event: Event) {
        self.machine.handle(time, event);
        settle(&mut self.machine, &mut self.maker, &mut self.heard);
    }
}

/// Lets the machine move; writes down what the public is told. Pieces of speech are joined.
fn settle(machine: &mut Machine, maker: &mut EventMaker, heard: &mut Vec<String>) {
    loop {
        let progress = machine.advance();
        if let Some(mut event) = maker.of_progress(&progress) {
            event.seq = 0;
            if let PublicBody::StreamCancelled { discarded_bytes, .. } = &mut event.body {
                *discarded_bytes = 0;
            }
            match (&event.body, heard.last_mut()) {
                (PublicBody::SaidDelta { text, .. }, Some(speech)) if speech.starts_with("speech ") => {
                    speech.push_str(text);
                }
                (PublicBody::SaidDelta { text, .. }, _) => heard.push(format!("speech {text}")),
                (_, _) => heard.push(serde_json::to_string(&event).unwrap()),
            }
        }
        if matches!(progress, Progress::Blocked(_) | Progress::Finished(_)) {
            return;
        }
    }
}
