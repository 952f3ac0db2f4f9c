//! Mutants (`playhouse mutants`): which there are, that they keep all numbers, and what becomes of them.

use playhouse::lang::analysis::explain::explain;
use playhouse::lang::analysis::inlining::INLINE_LINES;
use playhouse::lang::analysis::layout::Layouts;
use playhouse::lang::analysis::mutate::mutants;
use playhouse::lang::program::flow_graph::Node;
use playhouse::lang::program::{Program, StepKind, TriggerKind};
use std::sync::Arc;

use crate::cli::transcript;
use crate::golden;
use crate::lang::load_case;
use crate::run::Run;

#[test]
fn transcripts() {
    golden::check("mutants", &["txt"], transcript);
}

/// All that is numbered: lines, also of playbooks inside lines, and triggers, with their texts.
fn numbers(program: &Program) -> Vec<String> {
    let layouts = Layouts::new(Arc::new(program.clone()), INLINE_LINES);
    let mut numbers = Vec::new();
    for playbook in &program.playbooks {
        let name = &playbook.name;
        numbers.extend(playbook.steps.iter().map(|step| format!("{name}:{} {}", step.label, step.text)));
        numbers.extend(layouts.body(playbook.id).steps.iter().map(|step| format!("{name}:{}", step.label)));
        let triggers = playbook.triggers.iter();
        numbers.extend(triggers.map(|trigger| format!("{} {}", program.trigger_name(trigger.id), trigger.text)));
    }
    numbers
}

/// The changes that a program can have one of, so that a mutant which changes nothing shows.
fn shape(program: &Program) -> String {
    let kinds = |program: &Program| {
        let playbooks = program.playbooks.iter();
        let shown = playbooks.map(|playbook| {
            let kinds: Vec<&StepKind> = playbook.steps.iter().map(|step| &step.kind).collect();
            let triggers: Vec<&TriggerKind> = playbook.triggers.iter().map(|trigger| &trigger.kind).collect();
            format!("{kinds:?} {triggers:?} {:?} {:?}", playbook.flow, playbook.tools)
        });
        shown.collect::<Vec<_>>()
    };
    let agents: Vec<_> = program.agents.iter().map(|agent| (&agent.tools, &agent.triggers)).collect();
    format!("{:?} {agents:?} {:?} {:?}", kinds(program), program.tools, program.entry)
}

#[test]
fn no_mutant_changes_what_is_numbered_and_each_changes_something() {
    let mut n_mutants = 0;
    for (name, path) in golden::cases("lang", &["md", "pb"]) {
        let program = load_case(&name, &std::fs::read_to_string(path).unwrap()).program;
        let (numbered, shape_before) = (numbers(&program), shape(&program));
        let mut names = Vec::new();
        for mutant in mutants(&program) {
            names.push(mutant.name().to_owned());
            let Some(changed) = mutant.apply(&program) else {
                assert!(!mutant.is_interpreters());
                continue;
            };
            n_mutants += 1;
            let what = format!("{name}: {}", mutant.name());
            assert_eq!(numbers(&changed), numbered, "{what}");
            assert_ne!(shape(&changed), shape_before, "{what} is the program itself");
            for playbook in &changed.playbooks {
                let is_there = |node: Node| node.step().is_none_or(|step| (step.0 as usize) < playbook.steps.len());
                let edges = playbook.steps.iter().flat_map(|step| playbook.flow.successors(step.id));
                assert!(edges.into_iter().all(|edge| is_there(edge.to)), "{what}");
            }
            // Whatever reads a program can read it.
            explain(&changed);
        }
        let n_names = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), n_names, "{name}: two mutants have one name");
    }
    assert!(n_mutants > 200, "{n_mutants}");
}

#[test]
fn the_same_text_has_the_same_mutants() {
    let (_, path) = golden::cases("lang", &["md"]).swap_remove(0);
    let text = std::fs::read_to_string(path).unwrap();
    let list = || mutants(&load_case("one.md", &text).program);
    assert_eq!(list(), list());
}

const PROGRAM: &str = "# Desk\n\n## Main\n\n### Steps\n\n- Say \"Hello.\"\n- Say \"Bye.\"\n";

#[test]
fn a_diff_as_git_writes_it_selects_the_lines_that_it_changes() {
    let diff = "diff --git a/desk.md b/desk.md\nindex 1..2 100644\n--- a/desk.md\n+++ b/desk.md\n@@ -5,4 +5,4 @@ x\n \
                ### Steps\n \n-- Say \"Hi.\"\n--- Say \"odd\"\n+- Say \"Hello.\"\n - Say \"Bye.\"\n";
    // Two lines are removed and one is added.
    let diff = diff.replace("-5,4 +5,4", "-5,5 +5,4");
    let run = Run::new()
        .file("desk.md", PROGRAM)
        .file("desk.test.md", "# T\n\n- program: desk.md\n\n## Outcome\n\nfinished\n");
    let done = run.file("a.diff", &diff).line("mutants --list --in-diff a.diff").code(0);
    assert_eq!(done.stdout, "desk.md:7  Main:01 drop     Say \"Hello.\"\ndesk.md:7  Main:01 swap 02  Say \"Hello.\"\n");
    // Of a file in another folder nothing is meant.
    let elsewhere = diff.replace("/desk.md", "/other/shelf.md");
    let done = done.then().file("b.diff", &elsewhere).line("mutants --list --in-diff b.diff").code(0);
    assert_eq!(done.stdout, "");
}

/// The examples prove it: what no test notices has a reason.
#[test]
fn the_tests_of_the_examples_notice_all_mutants() {
    let root = env!("CARGO_MANIFEST_DIR");
    let done = Run::new().args(["mutants", &format!("{root}/examples"), &format!("{root}/playbooks")]).code(0);
    assert!(!done.stdout.contains("missed"), "{}", done.stdout);
}
