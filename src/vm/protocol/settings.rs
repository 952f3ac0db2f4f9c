//! Every bound and switch of the machine, in one place, with its default and the reason for it.

use std::sync::Arc;

use playhouse_lang::analysis::layout::Layouts;
use playhouse_lang::program::{Program, Step};
use playhouse_lang::value::Bounds;

use crate::dataflow::date::TimesOfDay;
use crate::reply::ReaderOptions;

/// Lists and maps of a value may not stand deeper inside each other. What walks a value (comparison, JSON, its end)
/// recurses as deep; a journal's reader stops at 128.
pub const MAX_VALUE_DEPTH: usize = 100;

/// Bounds and switches of one session. Part of what the machine's state is a function of: the journal keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Frames on the stack. 256: deeper is runaway recursion in every program seen.
    pub depth: usize,
    /// Model turns of the session. 10,000: a day of conversation; a loop that asks for nothing ends.
    pub turns: u64,
    /// Prompt and completion tokens of the session.
    pub tokens: u64,
    /// Calls in one frame's queue.
    pub queue: usize,
    /// Size of one value in bytes of JSON. 1 MiB: larger things are files.
    pub value_bytes: usize,
    /// Utterances shown in CONVERSATION.
    pub conversation: usize,
    /// Tokens of one request; 8,000 fits every model in use.
    pub context_tokens: u64,
    /// Turns of one chat session before it is begun afresh.
    pub max_session_turns: u32,
    /// Protocol failures in a row.
    pub max_repairs: u32,
    /// Turns in a row without progress.
    pub max_turns_without_progress: u32,
    /// What happens after too many of either.
    pub on_protocol_failure: OnProtocolFailure,
    /// Whether a reply that leaves lines out is cut, and the model told of them; else it is only reported.
    pub strict: bool,
    /// Broken streams in a row.
    pub max_retries: u32,
    /// First delay before a broken stream is tried again, in milliseconds; doubled each time.
    pub retry_delay_ms: u64,
    /// The longest such delay.
    pub max_retry_delay_ms: u64,
    /// Others that no reachable line names but a free-text line may want.
    pub max_unnamed: usize,
    /// Turns of a goal-mode frame between two messages of the user.
    pub goal_turns: u64,
    /// Directives without blocking before the machine gives way.
    pub budget: u32,
    /// Directives without anything from the world: no model, no user, no tool, no timer. 1,000,000: a loop over a list
    /// of the largest size ends; one that spins would fill the journal for ever.
    pub max_idle_directives: u64,
    /// Actions of one reply.
    pub reply_actions: usize,
    /// Bytes of one reply.
    pub reply_bytes: usize,
    /// Whether replies begin inside a think block.
    pub starts_in_think: bool,
    /// Whether a frame that another playbook ran above goes on in a fresh chat session.
    pub resume_fresh: bool,
    /// Whether explicit lines are performed by the interpreter.
    pub explicit_lines: bool,
    /// Whether a call that is the last thing a playbook does takes the place of its frame (spec `execution.md`,
    /// "Fewer model calls").
    pub tail_calls: bool,
    /// Lines up to which a playbook is shown inside the line that calls it, and runs there; 0: none is. 5 is a
    /// guess until it is measured with real models.
    pub inline_lines: usize,
    /// Whether tools start while the reply that calls them is still being read; else at the end of the turn.
    pub early_start: bool,
    /// Bytes of JSON up to which a value is shown whole to the model.
    pub shown_value_bytes: usize,
    /// Whether the trigger classifier is asked; without, semantic triggers never fire.
    pub classifier: bool,
    /// Whether a turn that a user's message begins is asked for only after the classifier has judged the message,
    /// and not at the same time: with a classifier that answers at once no reply is thrown away.
    pub classifier_first: bool,
    /// What waits for the classifier's answer.
    pub barrier: Barrier,
    /// Answers of the classifier that are remembered, so that the same question is not asked twice. 1,000 are some
    /// 200 KiB.
    pub max_verdicts: usize,
    /// What a user's message does that comes while the model is speaking.
    pub on_user_message: OnUserMessage,
    /// Instructions that one JSON plan may execute (spec `plans.md`, section 1.4).
    pub plan_steps: u64,
    /// How often a model is asked again that gives no answer to a plan's condition.
    pub condition_retries: u32,
    /// How often a model may write another plan for one that has failed.
    pub max_replans: u32,
    /// How the new plan goes on.
    pub replan: Replan,
    /// Tools that one dataflow plan calls at the same time; 0: as many as there are.
    pub dataflow_calls: usize,
    /// The time zone in which dataflow plans read dates: a name of the IANA database, or an offset.
    pub zone: Arc<str>,
    /// What the names of times of day mean in dataflow plans.
    pub times_of_day: TimesOfDay,
}

/// Where a plan goes on that a model wrote because another had failed (spec `plans.md`, section 2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replan {
    /// At its beginning, with the variables there are.
    Restart,
    /// At the instruction that failed; what stands before it must be as it was.
    Resume,
}

/// What of a reply waits while the trigger classifier is asked (spec `turn-protocol.md`, "The watcher's barrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Everything after the update.
    All,
    /// Everything but speech: a sentence may then come before its own interruption.
    Effects,
}

/// What becomes of a message that the user sends while the model is speaking (spec `execution.md`, "A message while
/// the model is speaking").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUserMessage {
    /// It waits until the program waits for the user.
    Queue,
    /// The reply is cut where it is; the frame goes on with the message.
    Interrupt,
    /// As `Interrupt`, and what the reply has set and said is taken back.
    Rollback,
}

/// What happens when a model cannot be brought to keep to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnProtocolFailure {
    /// Its prose is said and the frame waits for the user.
    Speak,
    /// The session fails.
    Stop,
}

impl Settings {
    /// Whether a line is performed by the interpreter as a rule; it may be left to the model when it is reached.
    pub fn performs(&self, line: &Step) -> bool {
        line.explicit && self.explicit_lines
    }

    /// How the playbooks of a program are laid out under these settings.
    pub(crate) fn layouts(&self, program: &Arc<Program>) -> Layouts {
        Layouts::new(program.clone(), if self.explicit_lines { self.inline_lines } else { 0 })
    }

    /// How replies are read.
    pub fn reader_options(&self) -> ReaderOptions {
        ReaderOptions {
            starts_in_think: self.starts_in_think,
            max_actions: self.reply_actions,
            max_bytes: self.reply_bytes,
        }
    }

    /// How large a value may be.
    pub fn bounds(&self) -> Bounds {
        Bounds { max_bytes: self.value_bytes, max_depth: MAX_VALUE_DEPTH }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            depth: 256,
            turns: 10_000,
            tokens: 20_000_000,
            queue: 100,
            value_bytes: 1 << 20,
            conversation: 10,
            context_tokens: 8_000,
            max_session_turns: 12,
            max_repairs: 3,
            max_turns_without_progress: 5,
            on_protocol_failure: OnProtocolFailure::Speak,
            strict: true,
            max_retries: 5,
            retry_delay_ms: 500,
            max_retry_delay_ms: 30_000,
            max_unnamed: 20,
            goal_turns: 25,
            budget: 10_000,
            max_idle_directives: 1_000_000,
            reply_actions: 1_000,
            reply_bytes: 1 << 20,
            starts_in_think: false,
            resume_fresh: false,
            explicit_lines: true,
            tail_calls: true,
            inline_lines: 5,
            early_start: true,
            shown_value_bytes: 2_000,
            classifier: true,
            classifier_first: false,
            barrier: Barrier::All,
            max_verdicts: 1_000,
            on_user_message: OnUserMessage::Queue,
            plan_steps: 1_000,
            condition_retries: 2,
            max_replans: 0,
            replan: Replan::Restart,
            dataflow_calls: 0,
            zone: "UTC".into(),
            times_of_day: TimesOfDay::default(),
        }
    }
}
