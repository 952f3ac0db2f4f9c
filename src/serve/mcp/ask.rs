//! Questions to the person at the client: as a form, and what of it goes back to the session. A client of 2026-07-28 is
//! given the form as its answer, with a sealed state, and asks again with what was filled in; an older one is asked while
//! its request waits.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion, RequestStateCodec, SealOptions,
    StringSchema,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::host::events::Mark;
use crate::host::residents::standing::{Asked, Standing};
use crate::host::session::{Deed, approval};
use crate::serve::mcp::result::Wrong;
use crate::value::Value;
use crate::vm::protocol::CallId;

/// The name under which a form goes and its answer comes back.
const FORM: &str = "answer";

/// The fields of forms.
const WORDS: &str = "answer";
const MAY: &str = "confirm";

/// How a client asks the person who sits at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// It takes a form as the answer, and asks again.
    Rounds,
    /// It is asked while its request waits.
    Elicitation,
    /// It cannot: its model is told to ask.
    None,
}

impl Means {
    /// Those of the client that has sent this request.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Means {
        let offered = context.client_capabilities().and_then(|client| client.elicitation);
        // Who names no form offers it, in older versions.
        let has_forms = offered.is_some_and(|offered| offered.form.is_some() || offered.url.is_none());
        let is_new = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        match (has_forms, is_new) {
            (false, _) => Means::None,
            (true, true) => Means::Rounds,
            (true, false) => Means::Elicitation,
        }
    }
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// What the user says next, after these words of the program.
    Message { after: String },
    /// About a call.
    Call(Asked),
}

impl Question {
    /// What this session waits for, whose program has said this.
    pub(super) fn of(standing: &Standing, said: Vec<String>) -> Question {
        match &standing.asked {
            Some(asked) => Question::Call(asked.clone()),
            None => Question::Message { after: said.join("\n\n") },
        }
    }

    /// The form.
    pub(super) fn form(&self) -> ElicitRequestParams {
        let words = |title| PrimitiveSchemaDefinition::String(StringSchema::new().title(title));
        let builder = ElicitationSchema::builder();
        let message = match self {
            Question::Message { after } if after.is_empty() => "The program waits for you.".to_owned(),
            Question::Message { after } => after.clone(),
            Question::Call(asked) => asked.question.to_string(),
        };
        let schema = match self {
            Question::Call(asked) if !asked.by_tool => {
                builder.required_bool(MAY).property(WORDS, words("What you have to say about it"))
            }
            Question::Message { .. } | Question::Call(_) => builder.required_property(WORDS, words("Your answer")),
        };
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema.build_unchecked() }
    }

    /// What the filled-in form does to the session, which stood at a mark; none: nothing was answered. However often it
    /// comes, it is one answer.
    pub(super) fn deed(&self, result: &ElicitResult, mark: Mark) -> Option<Deed> {
        let field = |name| result.content.as_ref().and_then(|content| content.get(name));
        let words = field(WORDS).and_then(Json::as_str).filter(|words| !words.trim().is_empty());
        match (self, &result.action) {
            (Question::Message { .. }, ElicitationAction::Accept) => {
                Some(Deed::Message { text: words?.into(), id: Some(format!("mcp:{mark}").into()) })
            }
            (Question::Call(asked), ElicitationAction::Accept) => {
                let answer = match (asked.by_tool, field(MAY).and_then(Json::as_bool)) {
                    (true, _) => approval(words?),
                    (false, Some(true)) => Value::Bool(true),
                    // Whoever refuses may say why.
                    (false, Some(false)) => words.map_or(Value::Bool(false), Value::str),
                    (false, None) => return None,
                };
                Some(Deed::Approve(CallId(asked.call), answer))
            }
            (Question::Call(asked), ElicitationAction::Decline) => {
                Some(Deed::Approve(CallId(asked.call), Value::Bool(false)))
            }
            // Nobody has said no to words, and what a later protocol adds is no answer, either.
            (Question::Message { .. } | Question::Call(_), _) => None,
        }
    }
}

/// What a client holds for us between two rounds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sealed {
    pub(super) session: Arc<str>,
    /// Where the session stood when it asked.
    mark: String,
    /// About which call.
    call: Option<u64>,
}

impl Sealed {
    /// Of a session that waits.
    pub(super) fn of(session: &Arc<str>, standing: &Standing) -> Sealed {
        let call = standing.asked.as_ref().map(|asked| asked.call);
        Sealed { session: session.clone(), mark: standing.mark.to_string(), call }
    }

    /// Where the session stood.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.mark.parse().ok()
    }

    /// What was asked, if it is not answered yet.
    pub(super) fn question(&self, standing: Standing) -> Option<Question> {
        match (self.call, standing.asked) {
            (None, _) if standing.state.is_over() => None,
            (None, _) => Some(Question::Message { after: String::new() }),
            (Some(call), asked) => asked.filter(|asked| asked.call == call).map(Question::Call),
        }
    }

    /// The answer that asks for another round.
    pub(super) fn ask(self, seal: &RequestStateCodec, whom: &str, question: &Question) -> InputRequiredResult {
        let options = SealOptions::new().associated_data(whom.as_bytes());
        let state = seal.seal_json_with(&self, &options).unwrap_or_default();
        let form = InputRequest::Elicitation(ElicitRequest::new(question.form()));
        InputRequiredResult::new(Some([(FORM.to_owned(), form)].into()), Some(state))
    }

    /// Opens what a client has brought back.
    ///
    /// # Errors
    /// It is none of ours, or another's.
    pub(super) fn open(seal: &RequestStateCodec, whom: &str, state: &str) -> Result<Sealed, Wrong> {
        seal.open_json_with(state, whom.as_bytes()).map_err(|error| {
            tracing::debug!(%error, "the state of a request was not accepted");
            Wrong("this request state is not known here; call the tool again without it".to_owned())
        })
    }
}

/// The form that came back.
///
/// # Errors
/// There is none, or it is no form.
pub(super) fn filled(responses: Option<InputResponses>) -> Result<ElicitResult, Wrong> {
    let wrong =
        |what: &str| Wrong(format!("{what}; send `inputResponses` with `{FORM}` as the result of the elicitation"));
    let form = responses.and_then(|mut responses| responses.remove(FORM)).ok_or_else(|| wrong("there is no answer"))?;
    serde_json::from_value(form).map_err(|error| wrong(&format!("the answer cannot be read: {error}")))
}
