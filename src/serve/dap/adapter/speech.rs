//! What the program says while it runs, and what it waits for.

use crate::host::events::{PublicBody, PublicEvent};
use crate::host::session::Wanted;
use crate::serve::dap::adapter::Adapter;

impl Adapter {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a listener to the conversation hears nothing else")]
    pub(super) async fn hear(&mut self, event: &PublicEvent) {
        match &event.body {
            PublicBody::SaidDelta { text, utterance } => {
                let Ok(live) = self.live() else { return };
                let is_cut = live.open.is_some_and(|open| open != *utterance);
                (live.wanted, live.open) = (None, Some(*utterance));
                if is_cut {
                    self.say(event, "stdout", "\n");
                }
                self.say(event, "stdout", text);
            }
            PublicBody::Said { text } => {
                let Ok(live) = self.live() else { return };
                // An empty utterance had no piece.
                if live.open.take().is_some() || text.is_empty() {
                    self.say(event, "stdout", "\n");
                }
            }
            PublicBody::ApprovalAsked { question, .. } => {
                if let Ok(live) = self.live() {
                    live.question = Some(question.clone());
                }
            }
            PublicBody::Waiting { on } => match Wanted::of(on) {
                Some(wanted) => self.want(wanted).await,
                None => {
                    if let Ok(live) = self.live() {
                        live.wanted = None;
                    }
                }
            },
            PublicBody::Degraded { cause } => {
                self.say(event, "important", &format!("warning: the model did not keep to the protocol: {cause}\n"));
            }
            PublicBody::Retry { cause, attempt, delay_ms: _ } => {
                self.say(event, "console", &format!("the model's reply failed: {cause}; attempt {attempt} begins\n"));
            }
            PublicBody::CallProgress { value, .. } => {
                self.say(event, "console", &format!("{}\n", value.to_text()));
            }
            PublicBody::TriggerEvaluated { trigger, ruling, .. } => {
                let Ok(live) = self.live() else { return };
                if let Some(remark) = live.unjudged.remark(trigger, ruling) {
                    self.say(event, "important", &format!("warning: {remark}\n"));
                }
            }
            PublicBody::Failed { fault, message } => {
                self.end_utterance(event);
                self.say(event, "stderr", &format!("error[{fault}]: {message}\n"));
            }
            PublicBody::Finished { .. } => self.end_utterance(event),
            PublicBody::ProgramChanged { files, .. } => {
                self.say(event, "console", &format!("the program has changed: {}\n", files.join(", ")));
            }
            // Of the conversation nothing else is to be said.
            _ => {}
        }
    }

    /// The program waits for somebody: the next message that was given up front, or else a person.
    pub(super) async fn want(&mut self, wanted: Wanted) {
        let Some(opened) = &mut self.program else { return };
        let Some(live) = &mut opened.live else { return };
        let was_open = live.open.take().is_some();
        let given = if wanted == Wanted::Message { opened.messages.pop_front() } else { None };
        if given.is_none() {
            live.wanted = Some(wanted);
        }
        let text = match (&given, wanted) {
            (Some(message), _) => format!("> {message}\n"),
            (None, Wanted::Message) => {
                let hint = "what you type here is the user's message (/help lists what else you can type)";
                format!("the program waits for the user: {hint}\n")
            }
            (None, Wanted::Approval(_)) => {
                let question = live.question.as_deref().unwrap_or("a tool waits for an answer");
                format!("{question}\nthe program waits for an answer: type y, n or text\n")
            }
        };
        if was_open {
            self.output("stdout", "\n", None);
        }
        self.output("console", &text, None);
        if let (Some(message), Ok(live)) = (given, self.live()) {
            // A session that has gone says so by its end.
            let _ = live.debuggee.handle().send(message).await;
        }
    }

    /// A sentence that was cut has no end.
    fn end_utterance(&mut self, event: &PublicEvent) {
        if self.live().is_ok_and(|live| live.open.take().is_some()) {
            self.say(event, "stdout", "\n");
        }
    }

    /// Words with the line that they come from.
    fn say(&mut self, event: &PublicEvent, category: &'static str, text: &str) {
        let name = event.part().map(|part| &**part);
        let place = self
            .opened()
            .ok()
            .and_then(|opened| opened.texts.named(event.agent.as_deref(), name, event.line.as_deref()));
        self.output(category, text, place);
    }
}
