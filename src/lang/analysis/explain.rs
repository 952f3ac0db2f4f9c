//! A program as text, as it was understood: for `check --explain` and the golden tests.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::analysis::Analysis;
use crate::analysis::inlining::INLINE_LINES;
use crate::analysis::tail_calls::NoTailCall;
use crate::english::grammar::time::time_text;
use crate::expr::LAST_CALL_FAILED;
use crate::plan::outline;
use crate::program::{
    Agent, AgentKind, Arm, Entry, Loop, Mode, OnLimit, Playbook, PlaybookId, Program, Returned, Signature, Step,
    StepKind, Target, Trigger, TriggerKind, Type, WEEKDAYS, one_of,
};
use crate::value::json::quoted;

/// Describes every agent and playbook: signature, mode, names, triggers, each line with what it was read as
/// (`=` marks explicit ones, `!` those that must be done), and who calls whom. Ends with a line break.
pub fn explain(program: &Program) -> String {
    explain_with(program, &|_| Vec::new())
}

/// The same, with what `about` tells of the tools that lines call.
pub fn explain_with(program: &Program, about: &dyn Fn(&str) -> Vec<String>) -> String {
    let mut text = String::new();
    // Writing to a `String` can't fail.
    let _ = writeln!(text, "entry: {}", entry(program));
    if let Some(model) = &program.settings.model {
        let _ = writeln!(text, "model: {model}");
    }
    for (key, value, _) in &program.settings.other {
        let _ = writeln!(text, "setting {key}: {}", value.to_json());
    }
    let (callers, analysis) = (callers(program), Analysis::new(program));
    // A plan that was given alone is run in the name of an agent that nobody wrote.
    let agents = if matches!(program.entry, Entry::Plan(_)) { &[][..] } else { &program.agents[..] };
    for agent in agents {
        explain_agent(&mut text, agent);
        // What a skill hands a part of its task to is a part of the skill.
        let implicit = program.playbooks.iter().rev().take_while(|playbook| playbook.implicit);
        let implicit = implicit.filter(|playbook| !playbook.public);
        let implicit = implicit.filter(|playbook| playbook.agent == agent.id);
        for playbook in agent.playbooks.iter().map(|id| program.playbook(*id)).chain(implicit) {
            explain_playbook(&mut text, &analysis, about, playbook, &callers[playbook.id.0 as usize]);
        }
    }
    for plan in &program.plans {
        let _ = writeln!(text, "\n{}", outline(plan).trim_end());
    }
    text
}

fn entry(program: &Program) -> String {
    let name = |id: &PlaybookId| program.playbook(*id).name.to_string();
    match &program.entry {
        Entry::Beginning(ids) => format!("at the beginning: {}", ids.iter().map(name).collect::<Vec<_>>().join(", ")),
        Entry::Single(id) => format!("the only playbook: {}", name(id)),
        Entry::Root(id) => format!("no `At the beginning`, so: {}", name(id)),
        Entry::Plan(id) => format!("the plan: {}", program.plan(*id).map_or("", |plan| &plan.name)),
        Entry::None => "none".to_owned(),
    }
}

/// Per playbook the playbooks that call it.
fn callers(program: &Program) -> Vec<BTreeSet<PlaybookId>> {
    let mut callers = vec![BTreeSet::new(); program.playbooks.len()];
    for playbook in &program.playbooks {
        for callee in playbook.steps.iter().filter_map(|step| step.call()?.playbook) {
            callers[callee.0 as usize].insert(playbook.id);
        }
    }
    callers
}

fn explain_agent(text: &mut String, agent: &Agent) {
    let kind = match agent.kind {
        AgentKind::Playbooks => "",
        AgentKind::Human => " (a person: not supported)",
        AgentKind::Remote => " (remote: not supported)",
    };
    let _ = writeln!(text, "\nagent {}{kind}", agent.name);
    if *agent.name != *agent.title {
        let _ = writeln!(text, "  title: {}", quoted(&agent.title));
    }
    if !agent.description.is_empty() {
        let _ = writeln!(text, "  description: {}", quoted(&agent.description));
    }
    for variable in &agent.variables {
        let value = variable.value.as_ref().map_or(String::new(), |value| format!(" = {}", value.to_json()));
        let secret = if variable.secret { " (secret)" } else { "" };
        let _ = writeln!(text, "  variable ${}: {}{value}{secret}", variable.name, variable.ty);
    }
}

fn explain_playbook(
    text: &mut String,
    analysis: &Analysis<&Program>,
    about: &dyn Fn(&str) -> Vec<String>,
    playbook: &Playbook,
    callers: &BTreeSet<PlaybookId>,
) {
    let program = analysis.program();
    let mode = match playbook.mode {
        Mode::Steps => "steps",
        Mode::Goal => "goal",
    };
    let mut marks = vec![mode];
    marks.extend(playbook.public.then_some("public"));
    marks.extend((!playbook.strict).then_some("not strict"));
    marks.extend(playbook.implicit.then_some("implicit"));
    let _ = writeln!(text, "\n  playbook {} [{}]", signature(&playbook.signature()), marks.join(", "));
    if !playbook.title.starts_with(&*playbook.name) {
        let _ = writeln!(text, "    title: {}", quoted(&playbook.title));
    }
    match &playbook.skill {
        Some(skill) => {
            let n = playbook.description.len();
            let mode = skill.run.mode.map(|mode| format!("mode {mode}"));
            let wanted: Vec<String> = mode.into_iter().chain(skill.run.strict.then(|| "strict".to_owned())).collect();
            let wanted = if wanted.is_empty() { String::new() } else { format!("; as wanted: {}", wanted.join(", ")) };
            let _ = writeln!(text, "    skill: {n} bytes of text, shown in full at each call{wanted}");
        }
        None if playbook.description.is_empty() => {}
        None => {
            let _ = writeln!(text, "    description: {}", quoted(&playbook.description));
        }
    }
    if playbook.limits != Default::default() {
        let limits = &playbook.limits;
        let number = |limit: Option<u64>| limit.map_or("-".to_owned(), |limit| limit.to_string());
        let then = match &limits.on_limit {
            OnLimit::Fail => "fail".to_owned(),
            OnLimit::Return(value) => format!("return {}", value.to_json()),
            OnLimit::Call(name) => format!("call {name}"),
        };
        let (tokens, turns, seconds) = (number(limits.tokens), number(limits.turns), number(limits.seconds));
        let _ = writeln!(text, "    limits: tokens {tokens}, turns {turns}, seconds {seconds}, then {then}");
    }
    if playbook.tools != Default::default() {
        let list = |names: &[Arc<str>]| names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        let allow = playbook.tools.allow.as_ref().map_or("all".to_owned(), |allow| list(allow));
        let but = if playbook.tools.deny.is_empty() {
            String::new()
        } else {
            format!(", not {}", list(&playbook.tools.deny))
        };
        let _ = writeln!(text, "    tools: {allow}{but}");
    }
    explain_names(text, "own", &playbook.own);
    explain_names(text, "outer", &playbook.outer);
    for trigger in &playbook.triggers {
        let kind = trigger_kind(trigger);
        let _ = writeln!(text, "    {} ({kind}): {}", program.trigger_name(trigger.id), quoted(&trigger.text));
    }
    for step in &playbook.steps {
        explain_step(text, analysis, about, playbook, step);
    }
    if !playbook.notes.is_empty() {
        let _ = writeln!(text, "    notes: {}", quoted(&playbook.notes));
    }
    if !callers.is_empty() {
        let names: Vec<&str> = callers.iter().map(|id| &*program.playbook(*id).name).collect();
        let _ = writeln!(text, "    called by: {}", names.join(", "));
    }
}

fn explain_names(text: &mut String, what: &str, names: &BTreeSet<Arc<str>>) {
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
        let _ = writeln!(text, "    {what}: {}", names.join(", "));
    }
}

fn explain_step(
    text: &mut String,
    analysis: &Analysis<&Program>,
    about: &dyn Fn(&str) -> Vec<String>,
    playbook: &Playbook,
    step: &Step,
) {
    let mark = if step.explicit {
        '='
    } else if step.must_be_done() {
        '!'
    } else {
        ' '
    };
    let indent = "  ".repeat(step.label.matches('.').count());
    let _ = write!(text, "    {}{mark} {indent}{}", step.label, quoted(&step.text));
    if playbook.mode == Mode::Goal {
        text.push('\n');
        return;
    }
    let _ = writeln!(text, "\n       {indent}{}", line(analysis, about, playbook, step));
}

/// How many lines of a playbook are performed without a model, and how many are its: `4 explicit, 2 by the model`.
pub fn lines_by_who(playbook: &Playbook) -> String {
    let n_explicit = playbook.steps.iter().filter(|step| step.explicit).count();
    match (playbook.mode, n_explicit, playbook.steps.len() - n_explicit) {
        (Mode::Goal, ..) => "goal: the model chooses".to_owned(),
        (Mode::Steps, n, 0) => format!("{n} explicit"),
        (Mode::Steps, 0, n) => format!("{n} by the model"),
        (Mode::Steps, explicit, n) => format!("{explicit} explicit, {n} by the model"),
    }
}

/// What a line was read as, what is spared of a call, what it reads and writes, and what follows it, on one line.
pub fn line<P: Borrow<Program>>(
    analysis: &Analysis<P>,
    about: &dyn Fn(&str) -> Vec<String>,
    playbook: &Playbook,
    step: &Step,
) -> String {
    let mut text = step_kind(analysis.program(), playbook, &step.kind);
    let mut savings = savings(analysis, playbook, step);
    let tool = step.call().filter(|call| call.playbook.is_none()).map(|call| &*call.callee);
    savings.extend(tool.or(step.due_call.as_deref()).map(about).unwrap_or_default());
    if !savings.is_empty() {
        let _ = write!(text, " ({})", savings.join("; "));
    }
    let names = |names: &[Arc<str>]| names.iter().map(|name| format!(" ${name}")).collect::<String>();
    let reads: Vec<Arc<str>> = step.reads.iter().filter(|name| ***name != *LAST_CALL_FAILED).cloned().collect();
    if !reads.is_empty() {
        let _ = write!(text, "; reads{}", names(&reads));
    }
    if !step.writes.is_empty() {
        let _ = write!(text, "; writes{}", names(&step.writes));
    }
    let edges: Vec<String> = playbook.flow.successors(step.id).iter().map(|edge| edge_text(playbook, edge)).collect();
    let _ = write!(text, "; {}", edges.join(", "));
    text
}

/// What is spared of a call: for a playbook the call itself, for a tool the time until the reply is over; or the
/// condition that is missing for it.
pub(super) fn savings<P: Borrow<Program>>(analysis: &Analysis<P>, playbook: &Playbook, step: &Step) -> Vec<String> {
    let (mut savings, program) = (Vec::new(), analysis.program());
    let Some(call) = step.call() else { return savings };
    if call.playbook.is_none() {
        let agent = program.agent(playbook.agent);
        let guard = agent.triggers.calls.iter().map(|id| program.trigger(*id)).find(
            |trigger| matches!(&trigger.kind, TriggerKind::BeforeCall(name) if name.playbook.is_none() && name.name == call.callee),
        );
        savings.push(match guard {
            Some(guard) => format!("does not start early: {} is asked before", program.trigger_name(guard.id)),
            None => "starts early".to_owned(),
        });
        return savings;
    }
    match analysis.tail_call(playbook.id, step.id) {
        Ok(_) => savings.push("tail call".to_owned()),
        // A line that does not end its playbook is not expected to be one.
        Err(NoTailCall::GoesOn) => {}
        Err(missing) => savings.push(format!("no tail call: {missing}")),
    }
    savings.push(match analysis.inlining(playbook.id, step.id, INLINE_LINES) {
        Ok(_) => "inlined".to_owned(),
        Err(missing) => format!("not inlined: {missing}"),
    });
    savings
}

/// What a trigger was read as, and what its evaluation depends on: `condition: $attempts > 3`.
pub fn trigger_kind(trigger: &Trigger) -> String {
    let names = |names: &[Arc<str>]| names.iter().map(|name| format!("${name}")).collect::<Vec<_>>().join(", ");
    match &trigger.kind {
        TriggerKind::Beginning => "beginning".to_owned(),
        TriggerKind::Ending => "end of the program".to_owned(),
        TriggerKind::BeforeCall(call) => format!("before a call of {}", call.name),
        TriggerKind::AfterCall(call) => format!("after a call of {}", call.name),
        TriggerKind::CallFails(Some(call)) => format!("a call of {} fails", call.name),
        TriggerKind::CallFails(None) => "any call fails".to_owned(),
        TriggerKind::Every { period_ms } => format!("every {}", time_text(*period_ms)),
        TriggerKind::Clock { days, minute } => {
            let at = format!("at {:02}:{:02}", minute / 60, minute % 60);
            if *days == crate::program::Days::ALL {
                return format!("daily {at}");
            }
            let named = WEEKDAYS.iter().zip(0..).filter(|(_, number)| days.has(*number)).map(|(name, _)| *name);
            let on = format!("weekly on {}", named.collect::<Vec<_>>().join(", "));
            if *minute == 0 { on } else { format!("{on} {at}") }
        }
        TriggerKind::Silence { after_ms } => format!("after {} of silence", time_text(*after_ms)),
        TriggerKind::Signal(name) => format!("event {name} arrives"),
        TriggerKind::Command(name) => format!("the user writes /{name}"),
        TriggerKind::Condition(condition) => format!("condition: {condition}"),
        TriggerKind::Changes(changed) => format!("changes: {}", names(changed)),
        TriggerKind::Semantic if trigger.at_turn_end => {
            "semantic, asked when the user speaks and at the end of a turn".to_owned()
        }
        TriggerKind::Semantic if trigger.is_about_messages() => "semantic, asked when the user speaks".to_owned(),
        TriggerKind::Semantic if trigger.names.len() == 1 => {
            format!("semantic, asked when {} changes", names(&trigger.names))
        }
        TriggerKind::Semantic => format!("semantic, asked when {} change", names(&trigger.names)),
        TriggerKind::Gone(_) => "gone".to_owned(),
    }
}

fn edge_text(playbook: &Playbook, edge: &crate::program::flow_graph::Edge) -> String {
    let to = edge.to.step().map_or("end", |id| &*playbook.step(id).label);
    format!("{} {to}", edge.kind)
}

/// What a line was read as: `branch if $n > 3`, `ask $name`, `free`.
pub fn step_kind(program: &Program, playbook: &Playbook, step: &StepKind) -> String {
    let read = |found: bool| if found { "an expression" } else { "in words" };
    match step {
        StepKind::Branch { arm, condition } => {
            let arm = match arm {
                Arm::If => "if",
                Arm::ElseIf => "else if",
                Arm::Else => "else",
            };
            let condition = match condition {
                Some(condition) => format!(" {condition}"),
                None if arm == "else" => String::new(),
                None => " (in words)".to_owned(),
            };
            format!("branch {arm}{condition}")
        }
        StepKind::Loop(Loop::ForEach { variable, list }) => match list {
            Some(list) => format!("loop for each {} in {list}", target(variable)),
            None => format!("loop for each {} in words", target(variable)),
        },
        StepKind::Loop(Loop::Repeat { count }) => match count {
            Some(count) => format!("loop {count} times"),
            None => "loop, count in words".to_owned(),
        },
        StepKind::Loop(Loop::While { condition }) => match condition {
            Some(condition) => format!("loop while {condition}"),
            None => "loop, the model's own".to_owned(),
        },
        StepKind::Loop(Loop::Until { condition, at_most }) => {
            let at_most = at_most.as_ref().map_or(String::new(), |most| format!(", at most {most} times"));
            match condition {
                Some(condition) => format!("loop until {condition}{at_most}"),
                None => format!("loop until, in words{at_most}"),
            }
        }
        StepKind::Return(Returned::Nothing) => "return".to_owned(),
        StepKind::Return(Returned::Value(value)) => format!("return {value}"),
        StepKind::Return(Returned::Call(call)) => format!("return {}", call_text(program, call)),
        StepKind::Return(Returned::Words) => "return in words".to_owned(),
        StepKind::End => "end".to_owned(),
        StepKind::Break => "break".to_owned(),
        StepKind::Continue => "continue".to_owned(),
        StepKind::Call(call) => call_text(program, call),
        StepKind::Assign { target: variable, value } => match value {
            Some(value) => format!("assign {} = {value}", target(variable)),
            None => format!("assign {}, value {}", target(variable), read(false)),
        },
        StepKind::Ask { targets } => {
            let choices = |variable: &Target| match playbook.choices.get(&variable.name) {
                Some(choices) => format!(": {}", one_of(choices)),
                None => String::new(),
            };
            let variables = targets.iter().map(|variable| format!(" {}{}", target(variable), choices(variable)));
            format!("ask{}", variables.collect::<String>())
        }
        StepKind::Say { literal: Some(literal) } => format!("say {}", quoted(literal)),
        StepKind::Say { literal: None } => "say in words".to_owned(),
        StepKind::Free => "free".to_owned(),
        StepKind::Gone(_) => "gone".to_owned(),
    }
}

fn call_text(program: &Program, call: &crate::program::CallSite) -> String {
    let what = match call.playbook {
        Some(id) => format!("playbook {}", program.playbook(id).name),
        None => format!("tool {}", call.callee),
    };
    let result = call.result.as_ref().map_or(String::new(), |result| format!(" as {}", target(result)));
    let arguments = match &call.arguments {
        Some(arguments) => {
            let shown = arguments.iter().map(|argument| match &argument.name {
                Some(name) => format!("{name}={}", argument.value),
                None => argument.value.to_string(),
            });
            format!("({})", shown.collect::<Vec<_>>().join(", "))
        }
        None => ", arguments in words".to_owned(),
    };
    format!("call {what}{arguments}{result}")
}

fn target(target: &Target) -> String {
    if target.ty == Type::ANY { format!("${}", target.name) } else { format!("${}: {}", target.name, target.ty) }
}

/// `Name($a: str, $b = 3) -> dict`.
pub fn signature(signature: &Signature) -> String {
    signature.written(&signature.name, "$")
}
