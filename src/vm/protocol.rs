//! The whole vocabulary between the machine and the world: what enters ([`Event`]), what leaves
//! ([`Progress`], [`Effect`], [`Fact`]), and the ids that tie them together.
//!
//! Nothing here derives `Serialize`: journal, `--events` and HTTP have wire types of their own
//! (spec `architecture.md`, invariant 9).

use std::sync::Arc;

use playhouse_lang::plan::{NodeId, Plan, PlanId};
use playhouse_lang::program::{AgentId, PlaybookId, Program, StepId, TriggerId};
use playhouse_lang::value::{Map, Tracked, Value};

use crate::fault::Fault;
use crate::migrate::Migration;

pub use crate::tool::{Approval, EffectClass, ParameterRule, ToolSignature};

/// The variable that holds the user's last words; each message is an update of it.
pub const USER_MESSAGE: &str = "user_message";

/// The argument that holds a question to the session's model.
pub const PROMPT: &str = "prompt";

/// Milliseconds since the Unix epoch. The machine reads no clock: every event brings its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// One request to the model and its reply; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// One call of a tool, playbook or plan; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// One frame; counted from 1 in a session, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u64);

/// One timer; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(pub u64);

/// One utterance of the program; counted from 1 in a session. A sentence that a broken stream cut and the
/// model went on with is one utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UtteranceId(pub u64);

/// One question to the trigger classifier; counted from 1 in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionId(pub u64);

/// A place in a program of any of our languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A line of a playbook; no step: its heading (goal mode, or before the first line).
    Line {
        /// The playbook.
        playbook: PlaybookId,
        /// The line.
        step: Option<StepId>,
    },
    /// A place in a plan of either language; no node: before the first, or behind the last.
    Plan {
        /// The plan.
        plan: PlanId,
        /// The instruction, alias or domain.
        node: Option<NodeId>,
    },
}

/// Where the machine is: what public events, debuggers and faults name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The frame.
    pub frame: FrameId,
    /// Its agent.
    pub agent: AgentId,
    /// Its location.
    pub location: Location,
    /// How many frames lie below it.
    pub depth: usize,
    /// The turn in progress, if one is.
    pub turn: Option<TurnId>,
}

/// What happened in the world. A closed list (spec `architecture.md`, "Journal"); the session's beginning is
/// [`crate::Begin`]. An event with a stale id is ignored.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Bytes of a reply arrived. Where a reply is cut into chunks makes no difference.
    Chunk {
        /// Whose reply.
        turn: TurnId,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A reply is over, for whatever reason. Comes exactly once for each started turn, also for one that the
    /// machine has closed; nothing of that turn follows.
    ReplyEnded {
        /// Whose reply.
        turn: TurnId,
        /// How it ended.
        end: ReplyEnd,
        /// What the server counted, if it said.
        usage: Option<Usage>,
    },
    /// A call is about to be started.
    CallStarted {
        /// The call.
        call: CallId,
        /// 1, and one more for each start after a crash or an approval.
        attempt: u32,
    },
    /// A call has ended.
    CallEnded {
        /// The call.
        call: CallId,
        /// What came of it.
        outcome: CallOutcome,
        /// The tokens of a model that were asked for it.
        usage: Option<Usage>,
    },
    /// The classifier's answer to [`Effect::Classify`].
    Verdict {
        /// The question.
        question: QuestionId,
        /// The answer.
        verdict: Verdict,
        /// From the question to the answer, in milliseconds. Measured by the world: the events around it are joined
        /// in the journal, and their times with them.
        ms: u64,
    },
    /// The user said something.
    Message {
        /// The user's words.
        text: Arc<str>,
    },
    /// A timer that [`Effect::StartTimer`] started has run out.
    TimerFired {
        /// The timer.
        timer: TimerId,
    },
    /// A person answered a call's question.
    Approved {
        /// The call.
        call: CallId,
        /// The answer: false refuses, unless the tool takes it; anything else is handed to the tool. Whether a call
        /// may be made at all is answered with true.
        answer: Value,
    },
    /// The user cancelled what is going on: the reply is closed, the frame waits for the user.
    Interrupted,
    /// A debugger changed a variable.
    Edited {
        /// The frame; none: the agent's others.
        frame: Option<FrameId>,
        /// The variable's name.
        name: Arc<str>,
        /// Its new value.
        value: Value,
    },
    /// The set of tools has changed (a server came or went).
    SignaturesChanged {
        /// All tools there are now.
        tools: Arc<[ToolSignature]>,
    },
    /// The program has another text; the session goes on with it from the last line that still exists.
    ProgramChanged {
        /// The new program.
        program: NewProgram,
        /// The tools it was read with: all there are now.
        tools: Arc<[ToolSignature]>,
        /// Whether the process was restarted, too, as by [`Event::Reopened`].
        reopened: bool,
    },
    /// Nothing happened; the machine may use another budget of directives.
    GoOn,
    /// The process was restarted: what was in progress must be taken up again.
    Reopened,
}

/// A program that takes the place of another one. Equal to one of the same texts.
#[derive(Clone)]
pub struct NewProgram(pub Arc<Program>);

impl PartialEq for NewProgram {
    fn eq(&self, other: &NewProgram) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.sources == other.0.sources
    }
}

impl std::fmt::Debug for NewProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.sources.iter().map(|(_, file)| &file.name)).finish()
    }
}

/// How a reply ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyEnd {
    /// The server said that it is complete.
    Complete(Finish),
    /// It broke off, or never began: worth asking again.
    Broken {
        /// What was seen.
        reason: Arc<str>,
        /// How long the server asked us to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The server will not answer this request, however often it is asked (no key, unknown model, …).
    Refused {
        /// What the server said, and what can be done.
        reason: Arc<str>,
    },
    /// We closed it.
    Closed,
}

/// Why a server says a reply is complete (`finish_reason`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model stopped by itself.
    Stop,
    /// The token limit was reached: the text may be cut anywhere.
    Length,
    /// Another reason, as sent.
    Other(Arc<str>),
}

/// Tokens of one reply, as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: u64,
    /// Of these, tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// Its result.
    Value {
        /// The result.
        value: Value,
        /// Whether it may be shown.
        secret: bool,
    },
    /// It failed; the program is told.
    Error(Arc<str>),
    /// It cannot go on before a person has answered.
    Needs {
        /// What the person is asked.
        question: Arc<str>,
        /// Whether "no" is an answer like any other, which the tool is handed; else it refuses the call.
        takes_no: bool,
    },
}

/// What one `advance` did.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Something is to be done or told.
    Emit(Effect),
    /// The pointer came to a line, which has not been executed yet. A debugger stops here.
    Reached(Place),
    /// Nothing can be done before an event comes.
    Blocked(Wait),
    /// The program is over. Every further `advance` answers this.
    Finished(Outcome),
}

/// What the machine waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The reply of this turn.
    Reply(TurnId),
    /// The result of this call.
    Call(CallId),
    /// A person's answer to this call's question.
    Approval(CallId),
    /// The user's next message.
    User,
    /// A timer.
    Timer(TimerId),
    /// The classifier's answer to this question.
    Verdict(QuestionId),
    /// Many directives were executed without a pause: handle what has arrived, else [`Event::GoOn`].
    Budget,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The last frame returned, or a line ended the program.
    Done {
        /// What the last frame returned; the closing reason of `end`.
        value: Tracked,
    },
    /// The session failed.
    Failed(Fault),
}

/// Something the world is to do, or to be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the model.
    StartTurn(Box<StartTurn>),
    /// The rest of a reply is not wanted.
    CloseReply {
        /// Whose reply.
        turn: TurnId,
        /// How soon the connection is closed.
        close: Close,
    },
    /// Start a tool. The world answers with [`Event::CallStarted`] when it is about to, then
    /// [`Event::CallEnded`].
    StartCall(Box<StartCall>),
    /// A piece of speech for the user.
    Say {
        /// Which utterance it belongs to.
        utterance: UtteranceId,
        /// The next piece of its text; may be empty in the last.
        text: String,
        /// Whether the utterance is complete with it.
        last: bool,
        /// Where.
        place: Place,
    },
    /// Send [`Event::TimerFired`] after so long.
    StartTimer {
        /// The timer.
        timer: TimerId,
        /// Milliseconds from now.
        after_ms: u64,
        /// Whether it is a trigger's: such a timer alone keeps no session running that nobody can speak to.
        is_background: bool,
    },
    /// Ask the trigger classifier. The world answers with [`Event::Verdict`], in time or not.
    Classify(Box<Question>),
    /// Nothing to do: something that watchers want to know.
    Report(Box<Report>),
}

/// How soon a reply's connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// After `yield_grace`, or when more than framing arrives: the model has yielded, usage may follow.
    Grace,
    /// At once: what follows is not wanted.
    Now,
}

/// A request to the model, as messages for remote models and as data for executors in our process.
#[derive(Clone, Debug, PartialEq)]
pub struct StartTurn {
    /// The turn.
    pub turn: TurnId,
    /// Why the model is asked.
    pub kind: TurnKind,
    /// How often this has been tried in a row, from 1; above 1 after a broken stream.
    pub attempt: u32,
    /// How long to wait first, in milliseconds; the world adds jitter. 0 on a first attempt.
    pub delay_ms: u64,
    /// Whose turn.
    pub place: Place,
    /// System message first, then user and assistant in turn.
    pub messages: Vec<ChatMessage>,
    /// An estimate of their tokens.
    pub prompt_tokens: u64,
    /// Names the agent may call, in a fixed order.
    pub callables: Arc<[Arc<str>]>,
    /// The turn as data.
    pub data: TurnData,
}

/// The turn as data: all an executor needs that does not read prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnData {
    /// The playbook.
    pub playbook: PlaybookId,
    /// The line to go on from; none in goal mode.
    pub pointer: Option<StepId>,
    /// The caller's playbook and line, where the playbook runs inside that line: the reply names its lines
    /// `03>01`, and goes on with those of the caller.
    pub inside: Option<(PlaybookId, StepId)>,
    /// All visible variables, nearest first.
    pub variables: Vec<(Arc<str>, Value)>,
    /// The user's words, if this turn brings them.
    pub user: Option<Arc<str>>,
    /// What was wrong with the last reply, if that is why the model is asked.
    pub problem: Option<Arc<str>>,
}

/// Which of the three model calls it is (spec `execution.md`, "The three model calls").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnKind {
    /// A fresh chat session.
    Start,
    /// Another playbook ran above this frame.
    Resume,
    /// Results, an answer, a repair.
    Continue,
}

/// One message of a chat session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: Arc<str>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Standing instructions.
    System,
    /// The interpreter.
    User,
    /// The model.
    Assistant,
}

/// A tool call to start.
#[derive(Clone, Debug, PartialEq)]
pub struct StartCall {
    /// The call.
    pub call: CallId,
    /// 1, and one more for each start after a crash or an approval.
    pub attempt: u32,
    /// What is called: a tool, or the session's model.
    pub kind: CallKind,
    /// The tool's name; of a question to the model, what it is for.
    pub name: Arc<str>,
    /// By parameter name. A question to the model is the argument [`PROMPT`].
    pub arguments: Vec<(Arc<str>, Tracked)>,
    /// What the tool does to the world.
    pub effect: EffectClass,
    /// What earlier attempts asked, and what a person answered, in order. After a restart of the process it is all that
    /// the tool knows of them.
    pub answers: Vec<(Arc<str>, Value)>,
    /// Where it was queued.
    pub place: Place,
}

impl StartCall {
    /// The arguments as the tool gets them.
    pub fn argument_map(&self) -> Map {
        self.arguments.iter().map(|(name, argument)| (name.clone(), argument.value.clone())).collect()
    }
}

/// A fact and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Where.
    pub place: Option<Place>,
    /// What.
    pub fact: Fact,
}

/// What kind of thing was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A tool.
    Tool,
    /// A playbook.
    Playbook,
    /// A plan.
    Plan,
    /// A question of a plan to the session's model: a condition, or what to do about a failure.
    Model,
}

/// Why a frame exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrigin {
    /// The session began with it.
    Begin,
    /// A call.
    Call {
        /// The call.
        call: CallId,
        /// The caller's line.
        from: Location,
    },
    /// A trigger matched.
    Trigger {
        /// The trigger.
        trigger: TriggerId,
        /// The line that was interrupted.
        from: Location,
    },
}

/// How a turn ended, as seen by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// `wait`.
    Wait,
    /// `return`, or the end of the playbook.
    Return,
    /// `end`.
    End,
    /// The machine stopped reading.
    Cut,
    /// The reply ended without a yield.
    Ended,
    /// The stream broke, or the reply could not be read.
    Error,
}

/// A change of a variable, as triggers are asked about it. A secret value is not shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The variable's name; `user_message` for the user's words.
    pub name: Arc<str>,
    /// Its value before; none: it was not set.
    pub old: Option<Value>,
    /// Its value now.
    pub new: Value,
}

/// A trigger that a question is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The trigger.
    pub trigger: TriggerId,
    /// `Playbook:T1`.
    pub name: Arc<str>,
    /// The author's words.
    pub text: Arc<str>,
}

/// A question to the trigger classifier (spec `triggers.md`, "The classifier"): which of the candidates do these
/// updates make true?
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its number.
    pub question: QuestionId,
    /// Where it came up.
    pub place: Place,
    /// The triggers that are asked about, in program order; never empty.
    pub candidates: Vec<Candidate>,
    /// What has changed, in order; never empty.
    pub updates: Vec<Update>,
    /// The user's last message, if there was one.
    pub user: Option<Arc<str>>,
    /// The triggers whose playbooks are running already.
    pub active: Vec<Candidate>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The classifier has judged; candidates in neither list do not match.
    Judged {
        /// Who judged.
        by: Judge,
        /// The triggers that the updates make true.
        matched: Vec<TriggerId>,
        /// Those that this classifier cannot judge.
        abstained: Vec<TriggerId>,
        /// What a model's server counted, if it said.
        usage: Option<Usage>,
    },
    /// No answer in time (`classifier_timeout`): nothing matches.
    TimedOut,
    /// The classifier failed: nothing matches.
    Failed {
        /// Why, and what can be done.
        reason: Arc<str>,
    },
}

/// Who judges a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Judge {
    /// The machine itself: conditions and lifecycle triggers.
    Interpreter,
    /// The classifier of patterns.
    Rules,
    /// A model.
    Model,
    /// A script, in tests.
    Script,
}

/// What came of the evaluation of one trigger on one update.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// It fires.
    Match,
    /// It does not hold, or the update does not make it true.
    NoMatch,
    /// A condition that was true before: only false to true fires.
    StillTrue,
    /// A condition that could not be evaluated: it counts as false.
    Fault(Arc<str>),
    /// It is active: its playbook has not returned.
    Active,
    /// The update was made by a frame of its own playbook.
    OwnFrame,
    /// Asked before with the same values; the answer was no.
    SameValues,
    /// The classifier did not answer in time.
    TimedOut,
    /// This classifier cannot judge it.
    Abstained,
    /// The classifier failed.
    Failed(Arc<str>),
    /// The classifier is switched off.
    Off,
    /// Its playbook cannot be called: what is missing.
    NotCallable(Arc<str>),
    /// It matched, but the line of the update did not take effect, or the frame that was to call its playbook has
    /// gone; by the interpreter on a question: what was asked about has gone before there was an answer.
    Dropped,
}

/// One evaluation of one trigger: what `why` tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The trigger.
    pub trigger: TriggerId,
    /// Who judged.
    pub by: Judge,
    /// What came of it.
    pub ruling: Ruling,
    /// The updates it was judged on; empty for lifecycle triggers.
    pub updates: Arc<[Update]>,
    /// The question it was part of, if the classifier was asked.
    pub question: Option<QuestionId>,
    /// How many triggers that question was about.
    pub n_asked: usize,
    /// From the question to its answer, in milliseconds.
    pub ms: u64,
    /// Tokens of the question and its answer, all candidates together.
    pub tokens: u64,
}

/// What watchers want to know. One variant per public event that no other [`Progress`] tells
/// (spec `cli.md`, "Events").
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A turn was started.
    TurnStarted {
        /// Which model call.
        kind: TurnKind,
        /// Messages sent.
        n_messages: usize,
        /// Estimated tokens of the request.
        prompt_tokens: u64,
    },
    /// A turn's reply is over.
    TurnFinished {
        /// The turn (the place may have moved on).
        turn: TurnId,
        /// How.
        end: TurnEnd,
        /// Tokens; estimates if `estimated`.
        usage: Usage,
        /// Tokens that were generated and not used (an estimate).
        discarded_tokens: u64,
        /// Whether the server sent no usage.
        estimated: bool,
        /// From the start of the turn to its last byte, in milliseconds.
        ms: u64,
    },
    /// An utterance is complete.
    Said {
        /// Its whole text.
        text: Arc<str>,
    },
    /// A variable got a value.
    VariableSet {
        /// Its name.
        name: Arc<str>,
        /// Its new value.
        value: Tracked,
        /// Its old value as it may be shown; none: it was not set.
        old: Option<Value>,
        /// Whether it is one of the frame's.
        local: bool,
    },
    /// A stale variable was removed.
    VariableRemoved {
        /// Its name.
        name: Arc<str>,
        /// Why.
        reason: &'static str,
    },
    /// A call stands in the queue.
    CallQueued {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// By parameter name.
        arguments: Vec<(Arc<str>, Tracked)>,
    },
    /// A call runs.
    CallStarted {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// From 1.
        attempt: u32,
    },
    /// A call is over.
    CallFinished {
        /// The call.
        call: CallId,
        /// The callable.
        name: Arc<str>,
        /// What it is.
        kind: CallKind,
        /// Its result or error.
        result: Result<Tracked, Arc<str>>,
        /// Milliseconds since it was started.
        ms: u64,
    },
    /// A reply was cut before its end.
    StreamCancelled {
        /// Why.
        reason: Arc<str>,
        /// Bytes received behind the cut.
        discarded_bytes: u64,
    },
    /// A trigger was evaluated.
    TriggerEvaluated(Box<Evaluation>),
    /// A trigger matched: its playbook will be called.
    TriggerMatched {
        /// The trigger.
        trigger: TriggerId,
        /// The updates that made it true; empty for lifecycle triggers.
        updates: Arc<[Update]>,
    },
    /// A frame was pushed.
    FramePushed {
        /// Why.
        origin: FrameOrigin,
    },
    /// A frame was popped.
    FramePopped {
        /// What it returned; none: it was dropped.
        value: Option<Tracked>,
    },
    /// A frame gave its place to the playbook that it called last.
    FrameElided {
        /// The playbook that was left.
        playbook: PlaybookId,
    },
    /// An instruction of a plan failed, or an alias of a dataflow plan.
    PlanFault(Box<PlanFault>),
    /// A plan that failed goes on with another one, which a model wrote.
    Replanned {
        /// The number that the new plan has from now on.
        plan: PlanId,
        /// The plan.
        source: Arc<Plan>,
        /// How many there have been for this frame, from 1.
        attempt: u32,
    },
    /// The model is told of its mistake.
    Repair {
        /// The mistake.
        cause: Arc<str>,
        /// How many in a row, from 1.
        attempt: u32,
    },
    /// The protocol failed for good; the frame waits for the user instead.
    Degraded {
        /// The last mistake.
        cause: Arc<str>,
    },
    /// A broken stream is tried again.
    Retry {
        /// What was seen.
        cause: Arc<str>,
        /// The attempt that begins, from 2.
        attempt: u32,
    },
    /// Something the model wrote has no effect.
    Ignored {
        /// What, and why.
        cause: Arc<str>,
    },
    /// A frame's chat session was begun afresh.
    SessionRenewed {
        /// Why.
        reason: &'static str,
    },
    /// The session goes on with another text of its program. The ids in what is told from here on are those of the new
    /// program.
    ProgramChanged(Arc<Migration>),
    /// A skill returned with items never reached.
    LinesSkipped {
        /// Their line ids.
        lines: Vec<Arc<str>>,
    },
    /// A person must answer before a call can go on.
    ApprovalAsked {
        /// The call.
        call: CallId,
        /// The question.
        question: Arc<str>,
    },
    /// A person has answered.
    ApprovalGiven {
        /// The call.
        call: CallId,
    },
    /// A user's message was delivered to the program.
    UserMessage {
        /// The user's words.
        text: Arc<str>,
    },
    /// The machine waits for somebody.
    Waiting {
        /// For whom.
        wait: Wait,
    },
}

/// What went wrong in a plan, and where (spec `plans.md`, section 1.7).
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFault {
    /// What kind of thing.
    pub kind: PlanFaultKind,
    /// The plan.
    pub plan: PlanId,
    /// The instruction, alias or domain.
    pub node: NodeId,
    /// How people name it: `6/false/9`, `outbound.flights`.
    pub label: Arc<str>,
    /// The instruction's sequence number; none in a dataflow plan.
    pub seq_no: Option<i64>,
    /// The instruction's type (`calling`); `alias` or `domain` in a dataflow plan.
    pub type_name: &'static str,
    /// The parameter that is wrong, if one is.
    pub parameter: Option<Arc<str>>,
    /// For people: what is wrong, in lower case without a full stop. Names the place, too.
    pub message: Arc<str>,
}

/// What can go wrong in a plan; the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanFaultKind {
    /// A variable that nothing has set.
    UndefinedVariable,
    /// A value that is not what the instruction needs.
    Value,
    /// A name that nothing has, or arguments that do not fit.
    Call,
    /// A tool, playbook or plan failed.
    Failed,
    /// The model could not be asked.
    Model,
    /// The model's answer is none.
    Answer,
    /// A limit.
    Limit,
}

impl std::fmt::Display for PlanFaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PlanFaultKind::UndefinedVariable => "undefined_variable",
            PlanFaultKind::Value => "value",
            PlanFaultKind::Call => "call",
            PlanFaultKind::Failed => "failed",
            PlanFaultKind::Model => "model",
            PlanFaultKind::Answer => "answer",
            PlanFaultKind::Limit => "limit",
        })
    }
}
