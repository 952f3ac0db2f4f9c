//! Plain snapshots of a machine for debuggers, terminals and tests: complete, and cheap (values are shared).

use std::sync::Arc;

use playhouse_lang::plan::{Plan, PlanId, PlanLanguage};
use playhouse_lang::program::{Program, TriggerId};

use crate::protocol::effect::{ChatMessage, Outcome};
use crate::protocol::event::Signal;
use crate::protocol::ids::{CallId, CallKind, FrameId, Location, TurnId, Usage, Wait};
use crate::protocol::tracked::Tracked;
use crate::protocol::trigger::Question;

/// The whole state of a machine as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The frames, the bottom one first.
    pub stack: Vec<FrameView>,
    /// The globals, by agent in program order.
    pub globals: Vec<(Arc<str>, Vec<VariableView>)>,
    /// What the machine waits for, if it is blocked.
    pub wait: Option<Wait>,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// User messages that wait for a frame to ask, and with which no trigger has been judged either.
    pub messages: Vec<Arc<str>>,
    /// How many wait for a frame to ask, with those.
    pub n_waiting_messages: usize,
    /// Events from outside whose triggers' playbooks have not been called yet.
    pub signals: Vec<Signal>,
    /// The last utterances of the session.
    pub conversation: Vec<Utterance>,
    /// All triggers but beginnings, in program order.
    pub triggers: Vec<TriggerView>,
    /// The question to the classifier that is open.
    pub question: Option<Question>,
    /// What has been counted.
    pub counters: Counters,
    /// Lines that the model has left out, the oldest first; no more than the first 1,000.
    pub skipped: Vec<SkippedLine>,
    /// Plans that a model wrote while the session ran: their numbers go on from those of the program's.
    pub written_plans: Vec<Arc<Plan>>,
}

impl View {
    /// What a person is asked about this call, while an answer is waited for.
    pub fn question_about(&self, call: CallId) -> Option<&Arc<str>> {
        let calls = self.stack.iter().flat_map(|frame| &frame.queue);
        calls.filter(|queued| queued.call == call).find_map(|queued| queued.question.as_ref())
    }
}

/// A line that the model has left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// Where it stands: `OrderStatus:05.01`.
    pub line: Arc<str>,
    /// Why, if the model has said it.
    pub reason: Option<Arc<str>>,
}

/// The plan with this number: one of the program, or one that a model has written since ([`View::written_plans`]).
pub fn plan<'a>(program: &'a Program, written: &'a [Arc<Plan>], id: PlanId) -> Option<&'a Arc<Plan>> {
    program.plan(id).or_else(|| written.get((id.0 as usize).checked_sub(program.plans.len())?))
}

/// `OrderStatus:05.01`, `Trip:outbound.flights`; the name alone at a heading and outside of all nodes. None: no such
/// place is known.
pub fn place_name(program: &Program, written: &[Arc<Plan>], location: Location) -> Option<String> {
    match location {
        Location::Line { playbook, step } => {
            let playbook = program.playbooks.get(playbook.0 as usize)?;
            let step = step.and_then(|step| playbook.steps.get(step.0 as usize));
            Some(step.map_or(playbook.name.to_string(), |step| format!("{}:{}", playbook.name, step.label)))
        }
        Location::Plan { plan: id, node } => {
            let plan = plan(program, written, id)?;
            let node = node.and_then(|node| plan.nodes.get(node.0 as usize));
            Some(node.map_or(plan.name.to_string(), |node| format!("{}:{}", plan.name, node.label)))
        }
    }
}

/// One trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerView {
    /// The trigger.
    pub trigger: TriggerId,
    /// `Playbook:T1`.
    pub name: Arc<str>,
    /// For a condition: whether it holds.
    pub truth: Option<bool>,
    /// From the match until its playbook has returned.
    pub is_active: bool,
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameView {
    /// Its id.
    pub id: FrameId,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The playbook's or plan's name.
    pub name: Arc<str>,
    /// The language of a plan; none: a playbook.
    pub language: Option<PlanLanguage>,
    /// Its location.
    pub location: Location,
    /// The pointer's line id, or the label of a plan's node; none at the heading.
    pub line: Option<Arc<str>>,
    /// Why the frame exists: `begin`, `call at Name:03`.
    pub origin: String,
    /// The caller's variable that gets the result.
    pub result_name: Option<Arc<str>>,
    /// Whether it is shown inside its caller's line, and shares the turn and the chat session of its caller.
    pub inlined: bool,
    /// How many callers were skipped because they would only have returned.
    pub n_elided: u32,
    /// Its variables in the order they were made.
    pub variables: Vec<VariableView>,
    /// Its queued calls in order.
    pub queue: Vec<CallView>,
    /// Its loops, the outermost first: `02.01, item 3 of 5`.
    pub loops: Vec<String>,
    /// The messages of its chat session, the oldest first, without the agent's system message; of an inlined frame they are its
    /// caller's.
    pub messages: Vec<ChatMessage>,
    /// Model turns taken in it.
    pub n_turns: u64,
    /// The turn in progress.
    pub turn: Option<TurnId>,
}

/// One variable.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableView {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// Its value; not masked: whoever shows it honours `secret`.
    pub value: Tracked,
    /// Its value before the last change.
    pub old: Option<Tracked>,
    /// The line of the last change.
    pub changed_at: Option<Location>,
    /// The turn of the last change.
    pub changed_in: Option<TurnId>,
}

/// One queued call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallView {
    /// Its id.
    pub call: CallId,
    /// The callable.
    pub name: Arc<str>,
    /// What it is.
    pub kind: CallKind,
    /// By parameter name.
    pub arguments: Vec<(Arc<str>, Tracked)>,
    /// `queued`, `running`, `needs approval`, `done`, `failed`.
    pub state: &'static str,
    /// What a person is asked about it, while an answer is waited for.
    pub question: Option<Arc<str>>,
    /// Whether the tool asks that in the middle of its work; else it is asked whether the call may be made.
    pub is_asked_by_tool: bool,
    /// The variable that gets the result.
    pub result_name: Option<Arc<str>>,
}

/// One utterance of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Utterance {
    /// Whether the user said it.
    pub by_user: bool,
    /// The words.
    pub text: Arc<str>,
}

/// What has been counted since the session began; the keys of `--summary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Model turns.
    pub turns: u64,
    /// Tokens of all requests.
    pub prompt_tokens: u64,
    /// Of these, from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of all replies.
    pub completion_tokens: u64,
    /// Tokens generated and not used.
    pub discarded_tokens: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Playbook calls.
    pub playbook_calls: u64,
    /// Plan calls.
    pub plan_calls: u64,
    /// Questions of plans to the session's model: conditions, and what to do about a failure.
    pub model_questions: u64,
    /// Of the playbook calls, those that took the place of their caller's frame.
    pub tail_calls: u64,
    /// And those that ran inside their caller's turn and chat session.
    pub inlined_calls: u64,
    /// Tools that were started while a reply was being read.
    pub early_starts: u64,
    /// Lines that the interpreter performed without a model.
    pub explicit_lines: u64,
    /// Values that changed, user messages included.
    pub updates: u64,
    /// Events from outside.
    pub signals: u64,
    /// Triggers evaluated, by whomever.
    pub trigger_evaluations: u64,
    /// Questions to the classifier.
    pub classifier_calls: u64,
    /// Milliseconds from questions to their answers.
    pub classifier_ms: u64,
    /// Tokens of questions and answers, as far as a server counted them.
    pub classifier_tokens: u64,
    /// Triggers that matched.
    pub trigger_matches: u64,
    /// Tokens of replies that were generated and not used because a trigger matched (an estimate).
    pub match_discarded_tokens: u64,
    /// Times the model was told of a mistake.
    pub repairs: u64,
    /// Broken streams tried again.
    pub retries: u64,
    /// The most frames there were at once.
    pub max_depth: u64,
    /// Milliseconds from the start of turns to the end of their replies.
    pub model_ms: u64,
}

impl Counters {
    /// Calls that have been made and cannot be undone.
    pub(crate) fn n_calls(&self) -> u64 {
        self.tool_calls + self.playbook_calls + self.plan_calls - self.inlined_calls
    }

    /// Tokens that a request and its reply have used.
    pub(crate) fn add_usage(&mut self, usage: Usage) {
        self.prompt_tokens += usage.prompt_tokens;
        self.cached_tokens += usage.cached_tokens;
        self.completion_tokens += usage.completion_tokens;
    }
}
