//! Random programs on the embedded model: every one ends, and the model is never corrected.

use fastrand::Rng;
use playhouse::value::{Map, Value};
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::{Begin, Machine};

use super::talk::{assert_flawless, talk};
use crate::optimiser::generate::generate;
use crate::optimiser::play::{read, tools};
use crate::world::World;

/// How many programs are made.
const N_PROGRAMS: u64 = 100;

#[test]
fn embedded_ends_random_programs() {
    let mut n_turns = 0;
    for number in 0..N_PROGRAMS {
        let mut random = Rng::with_seed(number);
        let program = generate(&mut random, true);
        let loaded = read(&program);
        for explicit_lines in [true, false] {
            let settings = Settings {
                explicit_lines,
                tail_calls: explicit_lines && random.bool(),
                inline_lines: if random.bool() { 5 } else { 0 },
                // A recursion whose end is in words that nobody can judge has none.
                turns: 250,
                depth: 40,
                ..Settings::default()
            };
            let mut world = World::new(Machine::begin(Begin {
                program: loaded.clone(),
                settings,
                tools: tools().into(),
                entry: None,
                arguments: Map::new(),
                time: Timestamp(0),
            }));
            let mut messages = std::iter::repeat_with(|| random.i64(0..9).to_string());
            let end = talk(&mut world, &mut messages, &mut |_, _| Ok(Value::Int(3)));
            assert_flawless(&world.log, &format!("program {number}\n{}\n{end}", program.markdown()));
            let is_refused = end.starts_with("failed (model)") && end.contains("needs a language model");
            let is_end = is_refused || end.starts_with("done") || end.starts_with("failed (limit)");
            assert!(is_end, "program {number}: {end}\n{}\n{}", program.markdown(), world.log.join("\n"));
            n_turns += world.machine.view().counters.turns;
        }
    }
    assert!(n_turns > N_PROGRAMS, "{n_turns}");
}
