//! The chart of a program.

use std::borrow::Borrow;

use crate::analysis::Analysis;
use crate::analysis::chart::builder::Builder;
use crate::analysis::chart::types::{Chart, EdgeKind, Part};
use crate::analysis::explain::{lines_by_who, signature, trigger_kind};
use crate::analysis::inlining::INLINE_LINES;
use crate::plan::Plan;
use crate::program::{
    Agent, Entry, FrameLimits, OnLimit, Playbook, PlaybookId, Program, Step, Trigger, TriggerKind, USER_MESSAGE,
};

pub(super) fn chart<P: Borrow<Program>>(analysis: &Analysis<P>) -> Chart {
    let program = analysis.program();
    let mut builder = Builder::new(program);
    // A plan that was given alone is run in the name of an agent that nobody wrote.
    let agents = if matches!(program.entry, Entry::Plan(_)) { &[][..] } else { &program.agents[..] };
    for agent in agents {
        add_agent(&mut builder, agent);
    }
    for (plan, id) in program.plans.iter().zip(0..) {
        let detail = plan.language().to_string();
        let node = builder.node(Part::Plan(crate::plan::PlanId(id)), &plan.name, Some(plan.span));
        (node.about, node.detail) = (format!("the plan {}", plan.name), detail);
    }
    let shown: Vec<&Playbook> =
        program.playbooks.iter().filter(|playbook| builder.find(&Part::Playbook(playbook.id)).is_some()).collect();
    for playbook in shown {
        add_calls(&mut builder, analysis, playbook);
        add_limit(&mut builder, playbook);
        for trigger in &playbook.triggers {
            add_trigger_edges(&mut builder, playbook, trigger);
        }
    }
    for (plan, id) in program.plans.iter().zip(0..) {
        add_plan_calls(&mut builder, Part::Plan(crate::plan::PlanId(id)), plan);
    }
    builder.frame_tools();
    builder.finish(&program.name(), None)
}

/// An agent, its playbooks, their triggers.
fn add_agent(builder: &mut Builder<'_>, agent: &Agent) {
    let program = builder.program;
    let node = builder.node(Part::Agent(agent.id), &agent.title, Some(agent.title_span));
    node.about = agent.description.to_string();
    let frame = builder.find(&Part::Agent(agent.id));
    let root = program.playbooks.iter().filter(|playbook| playbook.implicit && playbook.agent == agent.id);
    let root = root.filter(|playbook| program.entry == Entry::Root(playbook.id)).map(|playbook| playbook.id);
    for id in agent.playbooks.iter().copied().chain(root) {
        let playbook = program.playbook(id);
        for trigger in &playbook.triggers {
            let node = builder.node(Part::Trigger(trigger.id), &trigger.text, Some(trigger.span));
            node.about = format!("{} ({})", program.trigger_name(trigger.id), trigger_kind(trigger));
            // Of others the words tell how they are judged.
            if matches!(trigger.kind, TriggerKind::Semantic | TriggerKind::Condition(_)) {
                node.detail = trigger_kind(trigger);
            }
            node.inside = frame;
        }
        let place = if playbook.implicit { agent.title_span } else { playbook.title_span };
        let node = builder.node(Part::Playbook(id), &playbook.name, Some(place));
        let signature_text = playbook.signature();
        node.about = format!("{}\n{}", signature(&signature_text), signature_text.summary).trim_end().to_owned();
        node.detail = detail_of_playbook(program, playbook);
        node.inside = frame;
    }
}

/// `4 explicit, 2 by the model`; where the program begins, if no trigger says it.
fn detail_of_playbook(program: &Program, playbook: &Playbook) -> String {
    let lines = lines_by_who(playbook);
    let begins = |id: &PlaybookId| *id == playbook.id;
    let is_entry = matches!(&program.entry, Entry::Single(id) | Entry::Root(id) if begins(id));
    if is_entry { format!("begins here; {lines}") } else { lines }
}

fn add_calls<P: Borrow<Program>>(builder: &mut Builder<'_>, analysis: &Analysis<P>, playbook: &Playbook) {
    let from = Part::Playbook(playbook.id);
    for step in &playbook.steps {
        let (to, kind) = match step.call() {
            Some(call) => match call.playbook {
                Some(callee) => (Part::Playbook(callee), kind_of_call(analysis, playbook, step)),
                None => (builder.callable(Some(playbook.agent), &call.callee, call.callee_span), EdgeKind::Call),
            },
            None => match &step.due_call {
                Some(name) => (builder.callable(Some(playbook.agent), name, step.span), EdgeKind::Call),
                None => continue,
            },
        };
        builder.edge(&from, &to, kind, "", Some(step.id));
    }
}

/// How a playbook is called by a line.
fn kind_of_call<P: Borrow<Program>>(analysis: &Analysis<P>, playbook: &Playbook, step: &Step) -> EdgeKind {
    if analysis.inlining(playbook.id, step.id, INLINE_LINES).is_ok() {
        EdgeKind::InlinedCall
    } else if analysis.tail_call(playbook.id, step.id).is_ok() {
        EdgeKind::TailCall
    } else {
        EdgeKind::Call
    }
}

fn add_limit(builder: &mut Builder<'_>, playbook: &Playbook) {
    let OnLimit::Call(name) = &playbook.limits.on_limit else { return };
    let to = builder.meaning(Some(playbook.agent), name);
    builder.edge(&Part::Playbook(playbook.id), &to, EdgeKind::Limit, &limit_words(&playbook.limits), None);
}

/// `2000 tokens`, `20 turns, 30 seconds`
fn limit_words(limits: &FrameLimits) -> String {
    let all = [(limits.tokens, "tokens"), (limits.turns, "turns"), (limits.seconds, "seconds")];
    let set = all.into_iter().filter_map(|(limit, what)| limit.map(|limit| format!("{limit} {what}")));
    set.collect::<Vec<_>>().join(", ")
}

/// A trigger calls its playbook, and is set off by whoever sets a name that it waits for, or does a call.
fn add_trigger_edges(builder: &mut Builder<'_>, playbook: &Playbook, trigger: &Trigger) {
    let part = Part::Trigger(trigger.id);
    builder.edge(&part, &Part::Playbook(playbook.id), EdgeKind::Trigger, "", None);
    let watched = if let TriggerKind::BeforeCall(call) = &trigger.kind {
        Some((call, "before"))
    } else if let TriggerKind::AfterCall(call) = &trigger.kind {
        Some((call, "after"))
    } else if let TriggerKind::CallFails(Some(call)) = &trigger.kind {
        Some((call, "fails"))
    } else {
        None
    };
    if let Some((call, when)) = watched {
        let from = match call.playbook {
            Some(id) => Part::Playbook(id),
            None => builder.callable(Some(playbook.agent), &call.name, trigger.span),
        };
        builder.edge(&from, &part, EdgeKind::Trigger, when, None);
    }
    if trigger.kind.waits_for_updates() {
        let names = || trigger.names.iter().filter(|name| ***name != *USER_MESSAGE);
        let program = builder.program;
        for setter in program.playbooks.iter().filter(|setter| setter.agent == playbook.agent) {
            for name in names().filter(|name| setter.steps.iter().any(|step| step.writes.contains(name))) {
                builder.edge(&Part::Playbook(setter.id), &part, EdgeKind::Trigger, &format!("${name}"), None);
            }
        }
    }
}

fn add_plan_calls(builder: &mut Builder<'_>, from: Part, plan: &Plan) {
    for (name, span) in plan.callees() {
        let to = builder.callable(None, name, span);
        builder.edge(&from, &to, EdgeKind::Call, "", None);
    }
}
