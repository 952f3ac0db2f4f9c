//! What the executor says in its own name: every sentence that is no line's, in one place. About itself it speaks to the
//! author, as the reason for a line that it leaves out or for its refusal; to the user only where it has panicked.

/// What is done about a line that cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// A condition counts as false.
    NotSo,
    /// The line is left out.
    LeaveOut,
    /// Nothing: it must be done.
    Stop,
    /// The loop is left.
    GoOn,
    /// A value stays empty.
    Nothing,
}

/// That a line needs a language model.
pub(super) fn cannot(instead: Instead) -> &'static str {
    match instead {
        Instead::NotSo => "judging this needs a language model; it counts as false",
        Instead::LeaveOut => "this needs a language model",
        Instead::Stop => "this must be done, and it needs a language model",
        Instead::GoOn => "whether to repeat this needs a language model; once has to do",
        Instead::Nothing => "working this out needs a language model; there is no value",
    }
}

/// That a playbook leaves its way to a model.
pub(super) const NO_GOAL: &str = "this playbook has no steps, and finding the way needs a language model";

/// That a playbook ends without the value that it must return.
pub(super) const NO_VALUE: &str = "what this playbook returns needs a language model";

/// That the interpreter has refused the only way that the executor knows to do a line.
pub(super) const NO_OTHER_WAY: &str = "doing this in another way needs a language model";

/// The end of a refusal: the next step.
pub(super) const CHOOSE: &str = "choose one, as in --model openai:NAME (`playhouse doctor` shows which there are)";

/// That what a line needs is not there.
pub(super) fn missing(names: &str) -> String {
    format!("there is no {names}")
}

/// That a condition has another value.
pub(super) fn no_truth(kind: &str) -> String {
    format!("the condition is {kind}, neither true nor false")
}

/// That what a loop goes through is something else.
pub(super) fn no_list(kind: &str) -> String {
    format!("this is {kind}, not a list")
}

/// That a number of rounds is something else.
pub(super) fn no_count(kind: &str) -> String {
    format!("the number of rounds is {kind}, not a whole number")
}

/// The same where nothing may be done without it.
pub(super) fn stuck(missing: &str) -> String {
    format!("{missing}, and going on without it needs a language model")
}

/// What is said where the executor has panicked.
pub(super) const PANICKED: &str = "(Something went wrong inside me, which is a mistake of mine; please report it. You may \
                                   go on by saying it in other words.)";

/// Why anything else than a turn is refused; an error, no speech.
pub(super) const ONLY_TURNS: &str = "the embedded model only follows playbooks; plans and the classifier `model` need a \
                                     real one: choose it with --model openai:NAME, or the classifier with --classifier rules";

/// What was wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing was said.
    Empty,
    /// The user greets.
    Greeting,
    /// The user asks back.
    Question,
    /// The user does not know, or does not want to say.
    Refusal,
    /// Words like "ok" that answer nothing.
    Nothing,
    /// More than one value.
    Several,
    /// It is not of the kind that is needed, which this says.
    Kind(&'static str),
}

/// What stands before a question that is asked again.
pub(super) fn again(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Empty => "I did not get that.",
        Trouble::Greeting => "Hello!",
        Trouble::Question => "I'm afraid that I can't answer questions here.",
        Trouble::Refusal => "That's all right, but I need it to go on.",
        Trouble::Nothing => "I need a little more than that.",
        Trouble::Several => "I found more than one number in that; I need just one.",
        Trouble::Kind(need) => need,
    }
}

/// What is said when a user does not want to answer for the second time.
pub(super) const WITHOUT_ANSWER: &str = "All right, then I go on without it.";

/// What is said to somebody who was only to be listened to, and said nothing.
pub(super) const LISTENING: &str = "I am listening.";
