//! What is asked and answered about triggers.

use std::sync::Arc;

use playhouse_lang::program::TriggerId;
use playhouse_lang::value::Value;

use crate::protocol::ids::{Place, QuestionId, Usage};

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
    /// Whether they are the description of a skill.
    pub is_skill: bool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
    #[strum(serialize = "timeout")]
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
