//! The optimisations change nothing but the number of requests: programs are run with all of them and with none,
//! and what they mean is computed a third way.
#![allow(clippy::print_stdout, reason = "how often each optimisation was at work belongs to the proof")]

mod chat;
mod evaluate;
mod examples;
pub(crate) mod generate;
mod model;
pub(crate) mod play;
pub(crate) mod tree;

use std::collections::BTreeMap;

use fastrand::Rng;
use playhouse::vm::protocol::settings::Settings;
use playhouse::vm::protocol::view::Counters;

use crate::optimiser::evaluate::{Evaluated, evaluate};
use crate::optimiser::generate::{N_ANSWERS, generate};
use crate::optimiser::play::{Played, play, read, variables_differ};
use crate::optimiser::tree::{Program, Style};

/// How many programs are generated.
const N_PROGRAMS: usize = 520;

/// Whether the machine calls playbooks whose conditions become true.
const HAS_TRIGGERS: bool = true;

/// Every optimisation.
fn all_on() -> Settings {
    Settings { explicit_lines: true, tail_calls: true, inline_lines: 5, early_start: true, ..Settings::default() }
}

/// None of them.
fn all_off() -> Settings {
    Settings { explicit_lines: false, tail_calls: false, inline_lines: 0, early_start: false, ..Settings::default() }
}

/// What the optimisations have done, by name, with how often it must have happened at least.
fn count(counters: &Counters) -> Vec<(&'static str, u64, u64)> {
    vec![
        ("explicit lines", counters.explicit_lines, 100),
        ("tail calls", counters.tail_calls, 100),
        ("inlined calls", counters.inlined_calls, 100),
        ("early starts", counters.early_starts, 100),
        ("triggers", counters.trigger_matches, 100),
    ]
}

/// A program that is worth running, and what it means.
fn fit_program(random: &mut Rng) -> (Program, Vec<i64>, Evaluated) {
    loop {
        let program = generate(random, HAS_TRIGGERS);
        let answers: Vec<i64> = (0..N_ANSWERS).map(|_| random.i64(0..9)).collect();
        if let Ok(evaluated) = evaluate(&program, &answers)
            && evaluated.n_lines >= 8
        {
            return (program, answers, evaluated);
        }
    }
}

/// Why a run is not what was meant.
fn difference(played: &Played, wanted: &Evaluated, may_drop: bool) -> Option<String> {
    if let Some(problem) = &played.problem {
        return Some(problem.clone());
    }
    let (is, should) = (&played.observed, &wanted.observed);
    if is.speech != should.speech {
        return Some(format!("said {:?}\nnot  {:?}", is.speech, should.speech));
    }
    if is.calls != should.calls {
        return Some(format!("called {:?}\nnot    {:?}", is.calls, should.calls));
    }
    if is.result != should.result {
        return Some(format!("returned {:?}, not {:?}", is.result, should.result));
    }
    let none = BTreeMap::new();
    let droppable = if may_drop { &wanted.droppable } else { &none };
    variables_differ(&is.last_values, &should.last_values, droppable)
}

/// What was seen in some of the programs.
#[derive(Default)]
struct Tally {
    n_lines: usize,
    n_in_words: usize,
    n_triggers: usize,
    n_rounds: usize,
    depth: usize,
    n_turns_on: u64,
    n_turns_off: u64,
    counts: BTreeMap<&'static str, (u64, u64)>,
}

/// Makes the program of this number and runs it with all optimisations and with none.
fn check_program(number: usize, tally: &mut Tally) {
    let mut random = Rng::with_seed(number as u64);
    let (program, answers, wanted) = fit_program(&mut random);
    for (_, line) in program.all_lines() {
        tally.n_lines += 1;
        tally.n_in_words += usize::from(line.style != Style::Exact);
    }
    let seed = random.u64(..);
    let loaded = read(&program);
    for (is_on, settings) in [(true, all_on()), (false, all_off())] {
        let played = play(&program, &loaded, settings, &answers, seed);
        if let Some(difference) = difference(&played, &wanted, is_on) {
            panic!(
                "program {number}, optimisations {}: {difference}\n{}\n{}",
                if is_on { "on" } else { "off" },
                program.markdown(),
                played.transcript.join("\n")
            );
        }
        if is_on {
            tally.n_turns_on += played.counters.turns;
            for (name, n, least) in count(&played.counters) {
                let entry = tally.counts.entry(name).or_insert((0, least));
                entry.0 += n;
            }
        } else {
            tally.n_turns_off += played.counters.turns;
        }
    }
    tally.n_triggers += wanted.n_triggers;
    tally.n_rounds += wanted.n_rounds;
    tally.depth = tally.depth.max(wanted.depth);
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.n_lines += other.n_lines;
        self.n_in_words += other.n_in_words;
        self.n_triggers += other.n_triggers;
        self.n_rounds += other.n_rounds;
        self.depth = self.depth.max(other.depth);
        self.n_turns_on += other.n_turns_on;
        self.n_turns_off += other.n_turns_off;
        for (name, (n, least)) in other.counts {
            self.counts.entry(name).or_insert((0, least)).0 += n;
        }
    }
}

#[test]
fn same_meaning() {
    const N_THREADS: usize = 2;
    let parts: Vec<Tally> = std::thread::scope(|scope| {
        let check_part = |first: usize| {
            let mut tally = Tally::default();
            (first..N_PROGRAMS).step_by(N_THREADS).for_each(|number| check_program(number, &mut tally));
            tally
        };
        let threads: Vec<_> = (0..N_THREADS).map(|first| scope.spawn(move || check_part(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("every program means the same")).collect()
    });
    let mut tally = Tally::default();
    parts.into_iter().for_each(|part| tally.add(part));
    let Tally { n_lines, n_in_words, n_triggers, n_rounds, depth, n_turns_on, n_turns_off, counts } = tally;
    println!("{N_PROGRAMS} programs, {n_lines} lines, {n_in_words} of them in words, depth up to {depth}");
    println!("{n_rounds} rounds of loops, {n_triggers} triggers");
    println!("{n_turns_on} turns with all optimisations, {n_turns_off} with none");
    for (name, (n, least)) in counts {
        println!("{n} {name}");
        assert!(n >= least, "only {n} {name}");
    }
    assert!(n_in_words * 2 >= n_lines, "only {n_in_words} of {n_lines} lines are in words");
    assert!(n_rounds >= 100 && (!HAS_TRIGGERS || n_triggers >= 100));
}

#[test]
fn same_meaning_of_examples() {
    examples::play_all();
}

/// What a line is written as is what the interpreter reads.
#[test]
fn styles_are_read_as_meant() {
    let mut random = Rng::with_seed(5);
    for _ in 0..40 {
        let (program, ..) = fit_program(&mut random);
        let loaded = read(&program);
        let steps = loaded.playbooks.iter().filter(|playbook| !playbook.implicit).flat_map(|p| &p.steps);
        let mut listed = program.all_lines().into_iter().flat_map(|(_, line)| program.listed(line));
        for step in steps {
            let (text, style, _) = listed.next().unwrap();
            assert_eq!(*step.text, text);
            assert_eq!(step.explicit, style == Style::Exact, "{}: {:?}", step.text, step.kind);
        }
        assert!(listed.next().is_none());
    }
}
