//! Plans on the machine: programs of playbooks and plans, and happenings, to what the machine does.
//!
//! A case is one of [`crate::world`] with two more kinds of sections in front: `--- file NAME` holds a plan, and
//! `--- plans` settings of plans.

use std::sync::Arc;

use playhouse::diagnostic::{Severity, render};
use playhouse::lang::program::{EntryId, Signature};
use playhouse::lang::{ImportRequest, LoadOptions, SourceText, load};
use playhouse::value::{PathStep, Value};
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::settings::{Replan, Settings};
use playhouse::vm::{Begin, Machine};

use crate::golden;
use crate::world::{Case, Chunking, World, parse, play};

/// A program with its plans, and what happens to it.
pub(crate) struct PlanCase {
    pub(crate) case: Case,
    files: Vec<SourceText>,
}

pub(crate) fn parse_plan_case(text: &str) -> PlanCase {
    let mut files = Vec::new();
    let mut plan_settings = String::new();
    let mut rest = String::new();
    let mut is_rest = true;
    let mut open: Option<SourceText> = None;
    let mut in_settings = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            files.extend(open.take());
            in_settings = name == "plans";
            open = name.strip_prefix("file ").map(|name| SourceText { name: name.to_owned(), text: String::new() });
            is_rest = open.is_none() && !in_settings;
            if !is_rest {
                continue;
            }
        }
        let body = match &mut open {
            Some(file) => &mut file.text,
            None if in_settings => &mut plan_settings,
            None => &mut rest,
        };
        body.push_str(line);
        body.push('\n');
    }
    files.extend(open);
    debug_assert!(is_rest || !files.is_empty());
    let mut case = parse(&rest);
    plan_settings.lines().for_each(|line| plan_setting(&mut case.settings, line));
    PlanCase { case, files }
}

fn plan_setting(settings: &mut Settings, line: &str) {
    let Some((key, value)) = line.split_once('=') else { return };
    let (key, value) = (key.trim(), value.trim());
    match key {
        "plan_steps" => settings.plan_steps = value.parse().unwrap(),
        "condition_retries" => settings.condition_retries = value.parse().unwrap(),
        "max_replans" => settings.max_replans = value.parse().unwrap(),
        "replan" => settings.replan = if value == "resume" { Replan::Resume } else { Replan::Restart },
        "dataflow_calls" => settings.dataflow_calls = value.parse().unwrap(),
        "zone" => settings.zone = value.into(),
        other => panic!("unknown setting {other}"),
    }
}

pub(crate) fn begin(name: &str, PlanCase { case, files }: &PlanCase) -> Machine {
    let mut read = |request: &ImportRequest<'_>| Err(format!("no {}", request.path));
    let signatures: Vec<Signature> = case.tools.iter().map(|tool| tool.signature.clone()).collect();
    let mut roots = files.clone();
    if !case.program.is_empty() {
        roots.insert(0, SourceText { name: "case.md".to_owned(), text: case.program.clone() });
    }
    let loaded = load(roots, &mut read, &LoadOptions { tools: &signatures, ..LoadOptions::default() });
    let errors: Vec<_> =
        loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).cloned().collect();
    assert!(errors.is_empty(), "{name}: {}", render(&errors, &loaded.program.sources, false));
    let program = Arc::new(loaded.program);
    let entry = case.entry.as_ref().map(|wanted| {
        let plan = program.plans.iter().position(|plan| &*plan.name == wanted.as_str());
        let playbook = program.playbooks.iter().find(|playbook| &*playbook.name == wanted.as_str());
        match (plan, playbook) {
            (Some(plan), _) => EntryId::Plan(playhouse::lang::plan::PlanId(u32::try_from(plan).unwrap())),
            (None, Some(playbook)) => EntryId::Playbook(playbook.id),
            (None, None) => panic!("{name}: no {wanted}"),
        }
    });
    Machine::begin(Begin {
        program,
        settings: case.settings.clone(),
        tools: case.tools.clone().into(),
        entry,
        arguments: case.arguments.clone(),
        time: Timestamp(0),
    })
}

#[test]
fn plan_machine() {
    golden::check("plans/machine", &["txt"], |name, text| {
        let case = parse_plan_case(text);
        let world = play(World::new(begin(name, &case)), &case.case, Chunking::Whole);
        world.log.iter().map(|line| shown(line) + "\n").collect()
    });
}

/// A line of the log. Of the question for another plan, what is about this run, as the model reads it: the whole
/// has its own test among the prompts.
fn shown(line: &str) -> String {
    let Some((head, rest)) = line.split_once(" replan {") else { return line.to_owned() };
    let Some((arguments, attempt)) = rest.rsplit_once("} attempt ") else { return line.to_owned() };
    let arguments = Value::from_json(&format!("{{{arguments}}}")).unwrap();
    let prompt = arguments.step(&PathStep::Member("prompt".into())).unwrap().to_text();
    let (_, told) = prompt.split_once("# What failed").unwrap();
    let told = told.trim_end().lines().skip(1).map(|line| format!("\n{}", format!("  {line}").trim_end()));
    format!("{head} replan attempt {attempt}{}", told.collect::<String>())
}

/// The events of a run lead a fresh machine to the same state, wherever the run is stopped.
#[test]
fn every_prefix_of_a_run_leads_to_its_state() {
    let mut n_states = 0;
    for (name, path) in golden::cases("plans/machine", &["txt"]) {
        let case = parse_plan_case(&std::fs::read_to_string(path).unwrap());
        let begun = begin(&name, &case);
        let mut world = World::new(begun.clone());
        let _ = world.settle();
        for happening in [None].into_iter().chain(case.case.happenings.iter().map(Some)) {
            if let Some(happening) = happening {
                world.happen(happening, Chunking::Whole);
            }
            let mut other = World::new(begun.clone());
            other.replay(&world.events);
            assert_eq!(other.machine.view(), world.machine.view(), "{name} after {happening:?}");
            n_states += 1;
        }
    }
    assert!(n_states > 50, "only {n_states} states were compared");
}
