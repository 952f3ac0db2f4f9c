//! What the executor says in its own name: every sentence that is no line's, in one place. All of them are texts of a
//! `say`; what is put in must be [`super::wording::literal`] already.

/// Why a line is left out.
pub(super) const BEYOND: &str = "it needs a real model";

/// What is done about a line that cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// A condition counts as false.
    NotSo,
    /// The line is left out.
    LeaveOut,
    /// The playbook is left.
    Stop,
    /// The loop is left.
    GoOn,
    /// A value stays empty.
    Nothing,
}

/// That a line needs a real model.
pub(super) fn cannot(line: &str, instead: Instead) -> String {
    let (verb, so) = match instead {
        Instead::NotSo => ("judge", "go on as if it were not so"),
        Instead::LeaveOut => ("do", "leave it out"),
        Instead::Stop => ("do", "stop here"),
        Instead::GoOn => ("judge", "do this once and go on"),
        Instead::Nothing => ("work out", "go on without it"),
    };
    format!("(I can't {verb} “{line}” without a real model, so I {so}.)")
}

/// That a playbook leaves its way to a model.
pub(super) fn no_goal(playbook: &str) -> String {
    format!(
        "(“{playbook}” has no steps and leaves its way to the model. I am a small built-in one that follows written \
         steps only; choose a real model for it, as in --model openai:NAME.)"
    )
}

/// Why a program ends that cannot go on.
pub(super) fn dead_end(playbook: &str) -> String {
    format!("{playbook} cannot go on without a real model")
}

/// Why a program ends before a call.
pub(super) fn no_argument(callee: &str) -> String {
    format!("{callee} was not called: something that it needs is not there")
}

/// That what a line needs is not there.
pub(super) fn missing(names: &str) -> String {
    format!("I am sorry, something went wrong here: there is no {names}.")
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
