//! All that a session shows to anybody, as text: requests, questions, speech, public events, records as they are
//! shown, the view, and what `why` says.

use std::sync::Arc;

use jiff::tz::TimeZone;
use playhouse::host::classify::prompt::question_text;
use playhouse::host::events::make::EventMaker;
use playhouse::host::journal::record::{Record, RecordBody};
use playhouse::host::why::{History, Told};
use playhouse::lang::program::Program;
use playhouse::serve::show::why::answer;
use playhouse::value::{Map, Value};
use playhouse::vm::Machine;
use playhouse::vm::protocol::Tracked;
use playhouse::vm::protocol::view::{VariableView, View};
use playhouse::vm::protocol::{Effect, Event, Progress, StartTurn, Timestamp};

/// The names that a program declares secret.
pub(crate) fn secret_names(program: &Program) -> Vec<Arc<str>> {
    let declared = program.agents.iter().flat_map(|agent| &agent.variables);
    declared.filter(|variable| variable.secret).map(|variable| variable.name.clone()).collect()
}

/// The messages of a request.
pub(crate) fn request_text(start: &StartTurn) -> String {
    start.messages.iter().map(|message| format!("{}\n", message.text)).collect()
}

/// What one effect shows: to the model, to the classifier, to the user, to those who watch events.
pub(crate) fn effect_text(events: &mut EventMaker, effect: &Effect) -> String {
    let mut text = match effect {
        Effect::StartTurn(start) => {
            let mut text = request_text(start);
            text.extend(start.data.user.as_deref());
            text.extend(start.data.problem.as_deref());
            text
        }
        Effect::Classify(question) => question_text(question),
        Effect::Say { text, .. } => text.clone(),
        // A tool is handed the values themselves.
        Effect::StartCall(_)
        | Effect::CancelCall { .. }
        | Effect::CloseReply { .. }
        | Effect::StartTimer { .. }
        | Effect::Report(_) => String::new(),
    };
    if let Some(event) = events.of_progress(&Progress::Emit(effect.clone())) {
        text.push('\n');
        text.push_str(&serde_json::to_string(&event).unwrap());
    }
    text
}

/// What a journal's file holds of an event.
pub(crate) fn record_text(event: &Event, secrets: &[Arc<str>]) -> String {
    let Some(body) = RecordBody::from_event(event) else { return String::new() };
    let record = Record { seq: 1, time: 0, body };
    serde_json::to_string(&record.shown(secrets)).unwrap()
}

/// What views show: values that are secret are masked by whoever shows them.
pub(crate) fn view_text(view: &View) -> String {
    let mut text = String::new();
    let mut write = |piece: &str| {
        text.push_str(piece);
        text.push('\n');
    };
    let tracked = |value: &Tracked| value.shown().to_json();
    let variable = |variable: &VariableView| {
        let old = variable.old.as_ref().map(tracked).unwrap_or_default();
        format!("{} {} {old}", variable.name, tracked(&variable.value))
    };
    for frame in &view.stack {
        frame.variables.iter().for_each(|shown| write(&variable(shown)));
        for call in &frame.queue {
            call.arguments.iter().for_each(|(_, argument)| write(&tracked(argument)));
            call.question.iter().for_each(|question| write(question));
        }
        frame.messages.iter().for_each(|message| write(&message.text));
        frame.loops.iter().for_each(|running| write(running));
        write(frame.origin.as_str());
    }
    view.globals.iter().flat_map(|(_, variables)| variables).for_each(|shown| write(&variable(shown)));
    view.messages.iter().for_each(|message| write(message));
    view.conversation.iter().for_each(|utterance| write(&utterance.text));
    view.question.iter().for_each(|question| write(&question_text(question)));
    text
}

/// What `why` says about every trigger.
pub(crate) fn why_text(machine: &Machine, effects: &[Effect]) -> String {
    let told: Vec<Told> = effects
        .iter()
        .filter_map(|effect| if let Effect::Report(report) = effect { Some(report) } else { None })
        .map(|report| (Timestamp(0), report.place, report.fact.clone()))
        .collect();
    let history = History { program: machine.program().clone(), view: machine.view(), told };
    let program = machine.program();
    let triggers = program.playbooks.iter().flat_map(|playbook| {
        (0..playbook.triggers.len()).map(|index| playhouse::lang::program::TriggerId {
            playbook: playbook.id,
            index: u32::try_from(index).unwrap(),
        })
    });
    let mut text = answer(&history, None, &TimeZone::UTC).unwrap_or_default();
    for trigger in triggers {
        text.push_str(&answer(&history, Some(&program.trigger_name(trigger)), &TimeZone::UTC).unwrap_or_default());
    }
    text
}

/// What a journal's first record shows of a session's arguments.
pub(crate) fn arguments_text(arguments: &Map, secrets: &[Arc<str>]) -> String {
    let shown = arguments.iter().filter(|(name, _)| !secrets.contains(name));
    shown.map(|(name, value)| format!("{name} {}\n", Value::to_json(value))).collect()
}
