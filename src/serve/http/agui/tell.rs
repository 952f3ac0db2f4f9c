//! A session's events as those of AG-UI: speech as messages, frames as steps, variables as state, calls of tools, and the
//! question at which a run ends.

use std::mem::take;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::host::events::{Mark, PublicBody, PublicEvent};
use crate::host::ledger::Served;
use crate::host::residents::standing::State;
use crate::host::travel::history;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::agui::input::{Interrupt, Wanted};
use crate::serve::http::answers::live::Ending;
use crate::serve::http::body::{at, unnamed_event};
use crate::serve::http::problem::Problem;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{A_COLLEAGUE, json_of};
use crate::vm::protocol::{CallId, CallKind};

/// A run as it is told.
pub(super) struct Telling {
    server: Arc<Server>,
    caller: Caller,
    session: Arc<str>,
    thread: String,
    run: String,
    /// The variables that the client knows.
    state: Map<String, Json>,
    /// The frames that it knows, the lowest first.
    steps: Vec<String>,
    /// The utterance that is being told.
    utterance: Option<u64>,
    /// What is asked about a call, and by whom.
    asked: Option<Asked>,
    /// What the program has given back.
    result: Option<Json>,
    told: String,
}

struct Asked {
    call: u64,
    question: String,
    by_tool: bool,
}

impl Telling {
    /// Nothing is told yet.
    pub(super) fn new(server: &Arc<Server>, caller: &Caller, served: &Served, wanted: &Wanted) -> Telling {
        Telling {
            server: server.clone(),
            caller: caller.clone(),
            session: served.session.clone(),
            thread: wanted.thread.clone(),
            run: wanted.run.clone(),
            state: Map::new(),
            steps: Vec::new(),
            utterance: None,
            asked: None,
            result: None,
            told: String::new(),
        }
    }

    /// What is to be sent.
    pub(super) fn take(&mut self) -> String {
        take(&mut self.told)
    }

    /// A run begins at this mark: how everything stands there.
    pub(super) async fn begin(&mut self, began: Mark) -> Result<(), Problem> {
        if began != Mark::START {
            let before = self.server.residents.past(&self.session, move |timeline| {
                let mut steps = history(&timeline, timeline.end())?;
                steps.retain(|step| step.event.mark.is_some_and(|mark| mark <= began));
                Ok(steps)
            });
            before.await?.iter().for_each(|step| self.hear(&step.event));
            self.told.clear();
            // What is said goes on as a message of its own.
            self.utterance = None;
        }
        let (thread, run) = (self.thread.clone(), self.run.clone());
        let metadata = json!({"playhouse": {"session": &*self.session}});
        self.tell(
            "RUN_STARTED",
            json!({"threadId": thread, "runId": run, "protocolVersion": "1.0", "metadata": metadata}),
        );
        self.tell("STATE_SNAPSHOT", json!({ "snapshot": self.state }));
        for step in self.steps.clone() {
            self.tell("STEP_STARTED", json!({ "stepName": step }));
        }
        Ok(())
    }

    fn tell(&mut self, kind: &str, fields: Json) {
        let mut event = json!({ "type": kind });
        if let (Some(event), Json::Object(mut fields)) = (event.as_object_mut(), fields) {
            event.append(&mut fields);
        }
        self.told.push_str(&unnamed_event(&event));
    }

    /// Ids are unique among all threads of a client.
    fn message_id(&self, utterance: u64) -> String {
        format!("{}.said{utterance}", self.session)
    }

    fn call_id(&self, call: u64) -> String {
        format!("{}.call{call}", self.session)
    }

    /// Something happens in the session.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a run is told by these events, whatever others there will be")]
    pub(super) fn hear(&mut self, event: &PublicEvent) {
        let depth = event.depth.unwrap_or_default();
        match &event.body {
            PublicBody::SaidDelta { text, utterance } if !text.is_empty() => self.say(*utterance, text),
            PublicBody::Said { .. } => self.end_message(),
            PublicBody::StreamCancelled { withdrawn, .. } => {
                self.end_message();
                if !withdrawn.is_empty() {
                    let ids: Vec<String> = withdrawn.iter().map(|utterance| self.message_id(*utterance)).collect();
                    self.tell("CUSTOM", json!({"name": "playhouse.withdrawn", "value": {"messageIds": ids}}));
                }
            }
            PublicBody::VariableSet { variable, value, .. } => {
                let value = json_of(value);
                let op = if self.state.contains_key(&**variable) { "replace" } else { "add" };
                self.state.insert(variable.to_string(), value.clone());
                self.tell("STATE_DELTA", json!({"delta": [{"op": op, "path": at("", variable), "value": value}]}));
            }
            PublicBody::VariableRemoved { variable, .. } => self.forget(variable),
            PublicBody::FramePushed { .. } => {
                self.end_steps(depth);
                if let Some(name) = event.part() {
                    self.begin_step(name);
                }
            }
            PublicBody::FramePopped { .. } => self.end_steps(depth),
            PublicBody::CallQueued { call, callable, kind: CallKind::Tool, args, .. } => {
                let id = self.call_id(*call);
                self.tell("TOOL_CALL_START", json!({"toolCallId": id, "toolCallName": callable}));
                self.tell("TOOL_CALL_ARGS", json!({"toolCallId": id, "delta": json_of(args).to_string()}));
                self.tell("TOOL_CALL_END", json!({ "toolCallId": id }));
            }
            PublicBody::CallFinished { call, kind: CallKind::Tool, result, error, .. } => {
                let content = match (result.as_ref().map(json_of), error) {
                    (Some(Json::String(text)), _) => text,
                    (Some(value), _) => value.to_string(),
                    (None, error) => format!("error: {}", error.as_deref().unwrap_or("it has failed")),
                };
                let id = self.call_id(*call);
                let message = format!("{id}.result");
                self.tell(
                    "TOOL_CALL_RESULT",
                    json!({"messageId": message, "toolCallId": id, "content": content, "role": "tool"}),
                );
            }
            PublicBody::ApprovalAsked { call, question, by_tool } => {
                self.asked = Some(Asked { call: *call, question: question.to_string(), by_tool: *by_tool });
            }
            PublicBody::ApprovalGiven { .. } => self.asked = None,
            PublicBody::Finished { value } => self.result = Some(json_of(value)),
            _ => {}
        }
    }

    fn forget(&mut self, variable: &str) {
        if self.state.shift_remove(variable).is_some() {
            self.tell("STATE_DELTA", json!({"delta": [{"op": "remove", "path": at("", variable)}]}));
        }
    }

    fn say(&mut self, utterance: u64, text: &str) {
        let id = self.message_id(utterance);
        if self.utterance != Some(utterance) {
            self.end_message();
            self.utterance = Some(utterance);
            self.tell("TEXT_MESSAGE_START", json!({"messageId": id, "role": "assistant"}));
        }
        self.tell("TEXT_MESSAGE_CONTENT", json!({"messageId": id, "delta": text}));
    }

    fn end_message(&mut self) {
        if let Some(utterance) = self.utterance.take() {
            let id = self.message_id(utterance);
            self.tell("TEXT_MESSAGE_END", json!({ "messageId": id }));
        }
    }

    /// Steps that are open have different names, also in a recursion.
    fn begin_step(&mut self, name: &str) {
        let is_again = |step: &&String| {
            let rest = step.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        };
        let n = self.steps.iter().filter(is_again).count();
        let step = if n == 0 { name.to_owned() } else { format!("{name} ({})", n + 1) };
        self.tell("STEP_STARTED", json!({ "stepName": step }));
        self.steps.push(step);
    }

    /// The frames from this one on are left.
    fn end_steps(&mut self, depth: usize) {
        while self.steps.len() > depth
            && let Some(step) = self.steps.pop()
        {
            self.tell("STEP_FINISHED", json!({ "stepName": step }));
        }
    }

    /// The run is over.
    pub(super) fn end(&mut self, ending: Result<Ending, Problem>) {
        self.end_message();
        self.end_steps(0);
        let ending = match ending {
            Ok(Ending { failure: Some(failure), .. }) => {
                return self.tell(
                    "RUN_ERROR",
                    json!({"message": format!("the program failed: {failure}"), "code": "program_failed"}),
                );
            }
            Err(problem) => {
                return self.tell("RUN_ERROR", json!({"message": problem.detail(), "code": problem.kind()}));
            }
            Ok(ending) => ending,
        };
        let outcome = match &self.asked {
            Some(asked) => json!({"type": "interrupt", "interrupts": [self.interrupt(asked, ending.mark)]}),
            None if ending.is_cancelled => json!({"type": "cancelled"}),
            None => json!({"type": "success"}),
        };
        let state: &str = if self.asked.is_some() { State::Approval } else { ending.state }.into();
        let playhouse = json!({"session": &*self.session, "mark": ending.mark, "state": state});
        let mut fields = json!({
            "threadId": self.thread,
            "runId": self.run,
            "outcome": outcome,
            "metadata": {"playhouse": playhouse},
        });
        if let Some(result) = self.result.take().filter(|result| !result.is_null()) {
            fields["result"] = result;
        }
        let usage = ending.usage;
        if usage.prompt + usage.completion > 0 {
            fields["usage"] = json!([{
                "inputTokens": usage.prompt,
                "outputTokens": usage.completion,
                "totalTokens": usage.prompt + usage.completion,
                "cachedInputTokens": usage.cached,
            }]);
        }
        self.tell("RUN_FINISHED", fields);
    }

    /// The question at which the run ends, as this caller may read it.
    fn interrupt(&self, asked: &Asked, mark: Mark) -> Json {
        let Asked { call, question, by_tool } = asked;
        let id = Interrupt { call: CallId(*call), mark }.id();
        let tool_call = self.call_id(*call);
        if !self.server.may_answer(&self.caller, *by_tool) {
            return json!({
                "id": id,
                "reason": "playhouse:colleague",
                "message": A_COLLEAGUE,
                "toolCallId": tool_call,
            });
        }
        let (reason, schema) = match by_tool {
            true => ("input_required", json!({"type": "string"})),
            false => (
                "tool_call",
                json!({
                    "type": "object",
                    "properties": {
                        "approved": {"type": "boolean"},
                        "words": {"type": "string", "description": "Why not"},
                    },
                    "required": ["approved"],
                }),
            ),
        };
        json!({"id": id, "reason": reason, "message": question, "toolCallId": tool_call, "responseSchema": schema})
    }
}
