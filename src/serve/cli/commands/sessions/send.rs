//! `playhouse sessions send`: an event from outside, for a session that waits.

use clap::Args;

use crate::serve::cli::commands::run::{Stored, resume};
use crate::serve::cli::commands::sessions::kept::{Kept, opened};
use crate::serve::cli::machinery::console::{Console, Exit, Failure};
use crate::serve::cli::machinery::conversation::TalkArguments;
use crate::serve::cli::machinery::world::LiveArguments;
use crate::serve::show;
use crate::value::Value;
use crate::vm::protocol::{Outcome, Signal};

#[derive(Args)]
pub(crate) struct SendArguments {
    /// The session's id
    id: String,
    /// The event's name; it fires the triggers that wait for it (When photo_uploaded arrives)
    #[arg(long, value_name = "NAME")]
    event: String,
    /// The event's data, as JSON: `$event` in the trigger's playbook [default: null]
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// Your own id for this event; sent twice with the same id, it counts once
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    #[command(flatten)]
    world: LiveArguments,
    #[command(flatten)]
    talk: TalkArguments,
}

/// Goes on with a session for an event, until it waits for somebody or is over.
pub(crate) fn send(console: &Console, kept: &Kept, arguments: &SendArguments) -> Result<Exit, Failure> {
    let SendArguments { id, event, data, event_id, world, talk } = arguments;
    let data = Value::from_json(data.as_deref().unwrap_or("null")).map_err(|error| {
        Failure::wrong(format!("--data: this is not JSON: {error}; write text in double quotes: --data '\"text\"'"))
    })?;
    let signal = Signal::new(event, data, event_id.as_deref().map(Into::into));
    let signal = signal.map_err(|wrong| Failure::wrong(format!("--event: {wrong}")))?;
    let address = kept.find(id)?;
    let view = opened(&address)?.replayed.machine.view();
    // Where only the model failed a session goes on.
    let is_over = match &view.outcome {
        Some(Outcome::Failed(fault)) => !fault.kind.can_go_on(),
        Some(Outcome::Done { .. }) => true,
        None => false,
    };
    if is_over {
        return Err(Failure::wrong(format!(
            "session {id} is over ({}), so it takes no events; begin a new one with `playhouse run`, or fork an \
             earlier point with `playhouse sessions fork {id} --at POINT`",
            show::state(&view)
        )));
    }
    let stored = Stored { address: &address, id, is_elsewhere: !kept.is_default };
    resume(console, world, talk, &stored, &[], Some(signal))
}
