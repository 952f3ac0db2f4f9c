//! What the rows of the grammar mean.

/// What a row of the grammar means; the holes of its pattern stand in the order that is given here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// The program ends.
    EndProgram,
    /// The playbook ends.
    EndPlaybook,
    /// The innermost loop ends.
    Break,
    /// The next round of the innermost loop begins.
    Continue,
    /// The same: what a round is called.
    ContinueWith,
    /// The rounds of a loop.
    Loop(Rounds),
    /// A variable gets a value: the variable, the value in whatever form.
    Assign,
    /// The same, said in words: a text may stand without quotes.
    SetTo,
    /// A variable gets what the model finds: the variable.
    AssignInWords,
    /// The same: the value, the variable.
    Store,
    /// A list gets more items: the items, the list.
    Append,
    /// The same, where what is added are texts: a variable may be a number.
    AppendTexts,
    /// A variable gets what its value and another give: the variable, the other.
    Change(Change),
    /// The same: the other, the variable.
    Put(Change),
    /// A number goes up or down by one, or is doubled or halved: the variable.
    Step(Change),
    /// A number grows or shrinks by a part of itself: the variable and the percentage, in either order.
    Percent(Change),
    /// A variable is true exactly if a condition holds: the variable, the condition.
    Truth,
    /// What stands before is done, and a variable gets what comes of it: the line, the variable.
    Keep,
    /// A call in a sentence: its words, the call.
    CallInSentence,
    /// A call whose arguments are in the words of a sentence: its words, the callee.
    CallNamed,
    /// A call whose arguments follow: the callee, the arguments.
    CallWith,
    /// A text is said: the text.
    Say,
    /// The same, and the program ends.
    SayThenEnd,
    /// The value of a variable is said: the variable.
    SayValue,
    /// The model says something: what.
    SayInWords,
    /// The same, where it asks for nothing.
    Speak,
    /// It is left to the model: why it is not more, and a line that would be.
    Nearly(&'static str, &'static str),
}

/// What the rounds of a loop go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// A loop over a list: its variable, the list.
    ForEach,
    /// The same: its variable, the items one by one.
    ForEachOf,
    /// The same: what its variable is called, the list.
    ForEachNamed,
    /// The same: the list, its variable.
    Over,
    /// The same: the list; what is done uses a variable that is called as an item of it.
    Each,
    /// A loop over numbers: its variable, the first, the last.
    Range,
    /// A loop of so many rounds: the number.
    Count,
    /// A loop of so many rounds.
    Times(i64),
    /// A loop of so many rounds, said in words.
    InWords,
    /// A loop of the model's with a bound: the number.
    AtMost,
    /// A loop with a bound: the condition, the number.
    UntilAtMost,
    /// A loop with a bound: the number, the condition.
    AtMostUntil,
    /// A loop: the condition, in words if it is none.
    Until,
    /// A loop: the condition, in words if it is none.
    While,
    /// A loop that something in it ends.
    Forever,
    /// A loop of the model's own.
    Own,
}

/// How a value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// `+`, and an item more in a list.
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Means {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Means::EndProgram => "the program ends",
            Means::EndPlaybook => "the playbook ends",
            Means::Break => "the loop ends",
            Means::Continue | Means::ContinueWith => "the next round begins",
            Means::Loop(rounds) => rounds.describe(),
            Means::Assign | Means::SetTo | Means::Store | Means::Truth => "a variable gets a value",
            Means::AssignInWords => "a variable gets what the model finds",
            Means::Append | Means::AppendTexts => "a list gets more items",
            Means::Change(_) | Means::Put(_) | Means::Step(_) | Means::Percent(_) => "a number changes",
            Means::Keep => "a variable keeps what comes of the line",
            Means::CallInSentence | Means::CallNamed | Means::CallWith => "a call",
            Means::Say | Means::SayValue => "a text is said",
            Means::SayThenEnd => "a text is said, then the playbook or the program ends",
            Means::SayInWords | Means::Speak => "the model says something",
            Means::Nearly(..) => "not read: `check` says what to write",
        }
    }
}

impl Rounds {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Rounds::ForEach | Rounds::ForEachNamed | Rounds::ForEachOf | Rounds::Over | Rounds::Each => {
                "a loop over a list"
            }
            Rounds::Range => "a loop over numbers",
            Rounds::Count | Rounds::Times(_) | Rounds::InWords => "so many rounds",
            Rounds::AtMost => "rounds until the model says that it is enough, with a bound",
            Rounds::UntilAtMost | Rounds::AtMostUntil => "rounds until something is true, with a bound",
            Rounds::Until => "rounds until something is true",
            Rounds::While => "rounds while something is true",
            Rounds::Forever | Rounds::Own => "a loop of the model's",
        }
    }
}
