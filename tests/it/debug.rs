//! The debugger: programs that are stepped through, forwards and backwards. A case is a program, what the model
//! replies, and what a person does; the golden file tells where it stops.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use playhouse::diagnostic::Severity;
use playhouse::host::classify::off::Off;
use playhouse::host::clock::TestClock;
use playhouse::host::debug::breakpoint::{
    Breakpoint, BreakpointId, DataScope, Exceptions, LogMessage, Target, expression,
};
use playhouse::host::debug::control::{DebugNotice, Stopped};
use playhouse::host::debug::place::Places;
use playhouse::host::debug::stepping::{Debugger, Reason};
use playhouse::host::debuggee::{Backward, Debuggee, Forward, Ground, Launcher};
use playhouse::host::directory::WorkingDirectory;
use playhouse::host::events::PublicBody;
use playhouse::host::journal::memory::MemoryJournal;
use playhouse::host::llm::script::{Script, ScriptEntry};
use playhouse::host::program::{ProgramText, load_texts};
use playhouse::host::session::{Interest, Notice, Session, SessionOptions, Start, Subscription, World};
use playhouse::host::tool::canned;
use playhouse::host::tool::registry::Registry;
use playhouse::lang::SourceText;
use playhouse::lang::program::Program;
use playhouse::span::FileId;
use playhouse::value::Map;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::{View, place_name};
use playhouse::vm::protocol::{FrameId, Timestamp};

use crate::golden;

/// A program, its world, and what is done with it.
#[derive(Default)]
struct Case {
    /// The program's file, by whose name its language is told.
    name: String,
    program: String,
    tools: String,
    replies: Vec<String>,
    /// None unless a case says so: the cases are about frames that are called, and how they are stepped over.
    inline_lines: usize,
    commands: Vec<String>,
}

impl Case {
    fn parse(text: &str) -> Case {
        let mut case = Case::default();
        let mut sections: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            match (line.strip_prefix("--- "), sections.last_mut()) {
                (Some(name), _) => sections.push((name.trim().to_owned(), String::new())),
                (None, Some((_, body))) => {
                    body.push_str(line);
                    body.push('\n');
                }
                (None, None) => panic!("text before the first section: {line}"),
            }
        }
        for (name, body) in sections {
            match &*name {
                "program" => (case.name, case.program) = ("case.md".to_owned(), body),
                "plan" => (case.name, case.program) = ("case.jmp.json".to_owned(), body),
                "branches" => (case.name, case.program) = ("case.branch.json".to_owned(), body),
                "dataflow" => (case.name, case.program) = ("case.yaml".to_owned(), body),
                "tools" => case.tools = body,
                "reply" => case.replies.push(body),
                "inline" => case.inline_lines = body.trim().parse().unwrap(),
                "debug" => case.commands.extend(body.lines().filter(|line| !line.is_empty()).map(str::to_owned)),
                other => panic!("unknown section {other}"),
            }
        }
        case
    }

    fn world(&self) -> World {
        let directory = WorkingDirectory::open(&std::env::temp_dir()).unwrap();
        let tools = Registry::new();
        if !self.tools.is_empty() {
            for tool in canned::from_text(&self.tools, &directory).unwrap() {
                tools.add(tool).unwrap();
            }
        }
        let entries = self.replies.iter().map(ScriptEntry::reply).collect();
        World {
            llm: Arc::new(Script::from_entries("test", entries)),
            classifier: Arc::new(Off),
            tools: Arc::new(tools),
            clock: Arc::new(TestClock::new(Timestamp(1_795_301_285_000))),
            options: SessionOptions::default(),
        }
    }

    fn load(&self, world: &World) -> (ProgramText, Arc<Program>) {
        let roots = vec![SourceText { name: self.name.clone(), text: self.program.clone() }];
        let signatures: Vec<_> = world.tools.signatures().iter().map(|tool| tool.signature.clone()).collect();
        let (text, loaded) = load_texts(roots, &signatures, &mut |_: &Path| Err("none".into()));
        assert!(loaded.diagnostics.iter().all(|found| found.severity != Severity::Error), "{:?}", loaded.diagnostics);
        (text, Arc::new(loaded.program))
    }
}

/// Grounds for forks: fresh scripts, and journals that can be looked at.
struct Grounds {
    case: Arc<Case>,
    n: Mutex<u32>,
}

impl Launcher for Grounds {
    fn ground(&self) -> BoxFuture<'_, Result<Ground, String>> {
        Box::pin(async {
            let mut n = self.n.lock().unwrap();
            *n += 1;
            let journal = Box::new(MemoryJournal::new());
            Ok(Ground { world: self.case.world(), journal, id: format!("fork-{n}").into() })
        })
    }
}

struct Run {
    program: Arc<Program>,
    places: Places,
    debuggee: Debuggee,
    events: Subscription,
    breakpoints: Vec<Breakpoint>,
    exceptions: Exceptions,
    out: String,
    has_ended: bool,
}

impl Run {
    async fn begin(case: Arc<Case>) -> Run {
        let world = case.world();
        let (text, program) = case.load(&world);
        let settings = Settings { inline_lines: case.inline_lines, ..Settings::default() };
        let start = Start {
            id: "s1".into(),
            program: program.clone(),
            text,
            settings,
            entry: None,
            arguments: Map::new(),
            given: Default::default(),
        };
        let mut session = Session::start(world, Box::new(MemoryJournal::new()), start).unwrap();
        let events = session.subscribe(Interest::Everything { capacity: 100_000 });
        let mut debugger = Debugger::new();
        debugger.go_to_entry();
        let launcher = Arc::new(Grounds { case, n: Mutex::new(0) });
        let debuggee = Debuggee::launch(session, debugger, launcher);
        let places = Places::of(&program);
        let mut run = Run {
            program,
            places,
            debuggee,
            events,
            breakpoints: Vec::new(),
            exceptions: Exceptions::default(),
            out: String::new(),
            has_ended: false,
        };
        run.settle().await;
        run
    }

    /// Writes what happens until the program stands still, waits for the user, or ends.
    async fn settle(&mut self) {
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(Notice::Event(event)) => {
                        if let PublicBody::Said { text } = &event.body {
                            writeln!(self.out, "  says {text:?}").unwrap();
                        } else if let PublicBody::Failed { message, .. } = &event.body {
                            writeln!(self.out, "  failed: {message}").unwrap();
                        } else if matches!(event.body, PublicBody::Finished { .. }) {
                            self.out.push_str("  finished\n");
                        } else if matches!(event.body, PublicBody::Waiting { on: playhouse::vm::protocol::Wait::User }) {
                            self.out.push_str("  waits for the user\n");
                            return;
                        }
                    }
                    Some(other) => panic!("{other:?}"),
                    None if self.has_ended => return,
                    None => self.notice().await,
                },
                notice = self.debuggee.next() => {
                    if self.tell(notice).await {
                        return;
                    }
                }
                // The clock stands, and goes on when nobody has anything to do.
                () = tokio::time::sleep(Duration::from_millis(1)) => {
                    self.out.push_str("  nothing happens\n");
                    return;
                }
            }
        }
    }

    /// When nobody publishes any more, only the end is to come.
    async fn notice(&mut self) {
        let notice = self.debuggee.next().await;
        self.tell(notice).await;
    }

    /// Whether the program stands still or has ended.
    async fn tell(&mut self, notice: Option<DebugNotice>) -> bool {
        match notice {
            Some(DebugNotice::Stopped(stopped)) => {
                self.stopped(&stopped).await;
                true
            }
            Some(DebugNotice::Log(log)) => {
                writeln!(self.out, "  log {:?}", log.text).unwrap();
                false
            }
            Some(DebugNotice::Forked(id)) => {
                writeln!(self.out, "  goes on as {id}").unwrap();
                self.events =
                    self.debuggee.handle().subscribe(Interest::Everything { capacity: 100_000 }).await.unwrap();
                false
            }
            Some(DebugNotice::Continued) => false,
            Some(DebugNotice::Ended) | None => {
                self.out.push_str("  ended\n");
                self.has_ended = true;
                true
            }
        }
    }

    async fn stopped(&mut self, stopped: &Stopped) {
        // What was said before it stood still.
        while let Some(Notice::Event(event)) = self.events.try_next() {
            if let PublicBody::Said { text } = &event.body {
                writeln!(self.out, "  says {text:?}").unwrap();
            }
        }
        let view = self.debuggee.view().await.unwrap();
        let place = stopped.place.and_then(|place| place_name(&self.program, &view.written_plans, place.location));
        let reasons: Vec<String> = stopped.reasons.iter().map(reason).collect();
        let depth = stopped.place.map_or(0, |place| place.depth);
        let past = if stopped.is_past { " in the past" } else { "" };
        let place = place.unwrap_or_else(|| "nowhere".to_owned());
        writeln!(self.out, "  {}{place} ({}){past}", "· ".repeat(depth), reasons.join(", ")).unwrap();
    }

    async fn command(&mut self, line: &str) {
        writeln!(self.out, "> {line}").unwrap();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = match word {
            "go" => self.debuggee.go(Forward::Continue).await,
            "into" => self.debuggee.go(Forward::Into).await,
            "over" => self.debuggee.go(Forward::Over).await,
            "out" => self.debuggee.go(Forward::Out).await,
            "back" => self.debuggee.back(Backward::Step).await,
            "reverse" => self.debuggee.back(Backward::Continue).await,
            "pause" => self.debuggee.pause().await,
            "user" => {
                self.debuggee.handle().send(rest).await.unwrap();
                Ok(())
            }
            "restart" => {
                let view = self.debuggee.view().await.unwrap();
                let frame = view.stack.iter().rev().find(|frame| *frame.name == *rest);
                self.debuggee.restart_frame(frame.map_or(FrameId(999), |frame| frame.id)).await
            }
            "set" => {
                let (name, value) = rest.split_once('=').unwrap();
                let (frame, name) = self.frame_of(name.trim()).await;
                match self.debuggee.assign(frame, name, value).await {
                    Ok(value) => {
                        writeln!(self.out, "  = {}", value.value().to_text()).unwrap();
                        // In the present, nothing moves.
                        if self.debuggee.stands_still() {
                            return;
                        }
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            }
            _ => {
                self.look(word, rest).await;
                return;
            }
        };
        match done {
            Ok(()) => self.settle().await,
            Err(error) => writeln!(self.out, "  error: {error}").unwrap(),
        }
    }

    /// `Name.variable` is a frame's, `variable` one of the others.
    async fn frame_of<'a>(&self, name: &'a str) -> (Option<FrameId>, &'a str) {
        let Some((frame, name)) = name.split_once('.') else { return (None, name) };
        let view = self.debuggee.view().await.unwrap();
        let found = view.stack.iter().rev().find(|known| *known.name == *frame);
        (Some(found.map_or(FrameId(999), |frame| frame.id)), name)
    }

    async fn look(&mut self, word: &str, rest: &str) {
        match word {
            "stack" => {
                let view = self.debuggee.view().await.unwrap();
                self.out.push_str(&stack(&view));
            }
            "value" => match self.debuggee.evaluate(None, rest).await {
                Ok(value) => writeln!(self.out, "  = {}", value.value().to_text()).unwrap(),
                Err(error) => writeln!(self.out, "  error: {error}").unwrap(),
            },
            "exceptions" => {
                self.exceptions = Exceptions {
                    faults: rest.contains("faults"),
                    failed_calls: rest.contains("calls"),
                    matches: rest.contains("matched"),
                    evaluations: rest.contains("evaluated"),
                    end: rest.contains("end"),
                };
                self.debuggee.set_exceptions(self.exceptions).await;
            }
            "break" => self.add_breakpoint(rest).await,
            "clear" => {
                self.breakpoints.clear();
                self.debuggee.set_breakpoints(Vec::new()).await;
            }
            other => panic!("unknown command {other}"),
        }
    }

    /// `break line 12 | function Name | data name`, then `if EXPRESSION`, `hits COUNT`, `log TEXT` behind `;`.
    async fn add_breakpoint(&mut self, rest: &str) {
        let mut parts = rest.split(';').map(str::trim);
        let (kind, what) = parts.next().unwrap().split_once(' ').unwrap();
        let target = match kind {
            "line" => {
                let place = self.places.nearest(FileId(0), what.parse().unwrap()).unwrap();
                let name = place_name(&self.program, &[], place.location).unwrap();
                writeln!(self.out, "  at line {}: {name}", place.range.line).unwrap();
                Target::Line(place.location)
            }
            "function" => Target::Function(what.into()),
            "data" => Target::Data { name: what.into(), scope: DataScope::Anywhere },
            other => panic!("unknown breakpoint {other}"),
        };
        let id = BreakpointId(self.breakpoints.len() as u64 + 1);
        let mut breakpoint = Breakpoint { id, target, condition: None, hits: None, log: None };
        for part in parts {
            match part.split_once(' ').unwrap() {
                ("if", text) => breakpoint.condition = Some(expression(text).unwrap()),
                ("hits", text) => breakpoint.hits = Some(text.parse().unwrap()),
                ("log", text) => breakpoint.log = Some(LogMessage::parse(text).unwrap()),
                other => panic!("unknown part {other:?}"),
            }
        }
        self.breakpoints.push(breakpoint);
        self.debuggee.set_breakpoints(self.breakpoints.clone()).await;
    }
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Line(BreakpointId(id)) => format!("breakpoint {id}"),
        Reason::Function(BreakpointId(id)) => format!("function breakpoint {id}"),
        Reason::Data(BreakpointId(id), name) => format!("data breakpoint {id}: {name}"),
        Reason::Fault(kind, message) => format!("{kind} fault: {message}"),
        Reason::Matched(trigger) => format!("{trigger} matched"),
        Reason::Evaluated(trigger, ruling) => format!("{trigger} evaluated: {ruling}"),
        Reason::Entry
        | Reason::Step
        | Reason::Pause
        | Reason::Restart
        | Reason::Beginning
        | Reason::Present
        | Reason::Forked
        | Reason::Over => format!("{reason:?}").to_lowercase(),
    }
}

fn stack(view: &View) -> String {
    let mut text = String::new();
    for frame in view.stack.iter().rev() {
        let line = frame.line.as_deref().unwrap_or("heading");
        let inlined = if frame.inlined { ", inlined" } else { "" };
        let elided = if frame.n_elided > 0 { format!(", {} left out", frame.n_elided) } else { String::new() };
        write!(text, "  {}:{line}{inlined}{elided}", frame.name).unwrap();
        for variable in &frame.variables {
            write!(text, " {}={}", variable.name, variable.value.value().to_text()).unwrap();
        }
        text.push('\n');
    }
    for (agent, variables) in &view.globals {
        for variable in variables {
            writeln!(text, "  {agent} {}={}", variable.name, variable.value.value().to_text()).unwrap();
        }
    }
    text
}

async fn run(text: &str) -> String {
    let case = Arc::new(Case::parse(text));
    let commands = case.commands.clone();
    let mut run = Run::begin(case).await;
    for line in commands {
        run.command(&line).await;
    }
    run.debuggee.handle().stop().await;
    run.out
}

#[test]
fn cases() {
    golden::check("debug", &["txt"], |_, text| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(text))
    });
}

/// The lines from where the program stands to its end, or to the present, and the states there.
async fn trail(run: &mut Run) -> Vec<(Stopped, Arc<View>)> {
    let mut trail = Vec::new();
    loop {
        run.debuggee.go(Forward::Into).await.unwrap();
        let stopped = loop {
            match run.debuggee.next().await {
                Some(DebugNotice::Stopped(stopped)) => break stopped,
                Some(DebugNotice::Continued | DebugNotice::Log(_) | DebugNotice::Forked(_)) => {}
                Some(DebugNotice::Ended) | None => panic!("it ends without having stopped there"),
            }
        };
        if stopped.reasons != [Reason::Step] {
            return trail;
        }
        let view = run.debuggee.view().await.unwrap();
        trail.push((Stopped { is_past: false, ..stopped }, view));
    }
}

/// Back to the first line of every case and forward again: the same lines, the same states.
#[tokio::test(start_paused = true)]
async fn the_past_is_what_was() {
    let mut n_lines = 0;
    for (name, path) in golden::cases("debug", &["txt"]) {
        let case = Case::parse(&std::fs::read_to_string(path).unwrap());
        if case.commands.iter().any(|command| command.starts_with("user")) {
            continue;
        }
        let mut run = Run::begin(Arc::new(case)).await;
        run.debuggee.set_exceptions(Exceptions { end: true, ..Exceptions::default() }).await;
        let first = trail(&mut run).await;
        run.debuggee.back(Backward::Continue).await.unwrap();
        assert!(matches!(run.debuggee.next().await, Some(DebugNotice::Stopped(Stopped { is_past: true, .. }))));
        let second = trail(&mut run).await;
        assert_eq!(first, second, "{name}");
        assert_eq!(run.debuggee.past(), None, "{name} stands in the present again");
        n_lines += first.len();
    }
    assert!(n_lines > 40, "{n_lines}");
}
