//! What a review of the core found, each as a test that names what must hold instead. The names are those of the
//! review: `bug_2_5_…` was shown by running, `bug_read_…` by reading, `bug_s1_…` with a live model, `suspected_…`
//! was looked into.

mod bounds;
mod conditions;
mod replies;
mod secrets;
mod values;
mod work;

use std::sync::Arc;

use playhouse::host::events::make::EventMaker;
use playhouse::value::Value;
use playhouse::vm::protocol::{Effect, StartTurn};

use crate::shown::{effect_text, record_text, secret_names, view_text, why_text};
use crate::world::{Case, Chunking, Happening, World, begin, parse, play};

/// A case that was played.
struct Ran {
    world: World,
}

/// Plays a case of [`crate::world`], with the limits that users have but for those it names.
fn ran(text: &str) -> Ran {
    let case = parse(text);
    Ran { world: play(start(&case), &case, Chunking::Whole) }
}

/// The world of a case before anything happens in it.
fn start(case: &Case) -> World {
    let mut world = World::new(begin(case));
    world.effects = Some(Vec::new());
    world
}

impl Ran {
    fn effects(&self) -> &[Effect] {
        self.world.effects.as_deref().unwrap_or_default()
    }

    fn log(&self) -> String {
        self.world.log.join("\n")
    }

    /// Whether a line of the log begins so.
    fn has(&self, start: &str) -> bool {
        self.world.log.iter().any(|line| line.starts_with(start))
    }

    /// How many lines of the log begin so.
    fn count(&self, start: &str) -> usize {
        self.world.log.iter().filter(|line| line.starts_with(start)).count()
    }

    #[track_caller]
    fn assert_has(&self, start: &str) {
        assert!(self.has(start), "no line begins with {start:?}:\n{}", self.log());
    }

    #[track_caller]
    fn assert_has_not(&self, start: &str) {
        assert!(!self.has(start), "a line begins with {start:?}:\n{}", self.log());
    }

    fn requests(&self) -> Vec<&StartTurn> {
        let of = |effect: &'_ Effect| matches!(effect, Effect::StartTurn(_));
        let turns = self.effects().iter().filter(|effect| of(effect));
        turns.filter_map(|effect| if let Effect::StartTurn(start) = effect { Some(&**start) } else { None }).collect()
    }

    /// The last message of the last request.
    #[track_caller]
    fn last_message(&self) -> String {
        let requests = self.requests();
        let last = requests.last().unwrap_or_else(|| panic!("nothing was asked:\n{}", self.log()));
        last.messages.last().map(|message| message.text.to_string()).unwrap_or_default()
    }

    /// All that anybody is shown.
    fn shown(&self) -> String {
        let mut events = EventMaker::new("case".into(), self.world.machine.program().clone());
        let secrets = secret_names(self.world.machine.program());
        let mut text = self.log();
        self.effects().iter().for_each(|effect| text += &effect_text(&mut events, effect));
        self.world.events.iter().for_each(|(_, event)| text += &record_text(event, &secrets));
        text + &view_text(&self.world.machine.view()) + &why_text(&self.world.machine, self.effects())
    }

    /// Nobody is shown `secret`.
    #[track_caller]
    fn assert_hidden(&self, secret: &str) {
        let shown = self.shown();
        let lines: Vec<&str> = shown.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{secret:?} is shown:\n{}\n\n{}", lines.join("\n"), self.log());
    }
}

/// Answers every running call of a tool with what `answer` makes of its number, until nothing runs any more.
fn answer_calls(world: &mut World, mut answer: impl FnMut(usize) -> Value) -> usize {
    let mut n = 0;
    let _ = world.settle();
    while let Some(name) = world.running_tool() {
        world.happen(&Happening::Result(name, Ok(answer(n))), Chunking::Whole);
        n += 1;
    }
    n
}

/// Plays a case whose tools answer with what `answer` makes of their number.
fn ran_answering(text: &str, answer: impl FnMut(usize) -> Value) -> Ran {
    let case = parse(text);
    let mut world = start(&case);
    let _ = world.settle();
    answer_calls(&mut world, answer);
    Ran { world: play(world, &case, Chunking::Whole) }
}

fn text_value(text: String) -> Value {
    Value::Str(Arc::from(text))
}
