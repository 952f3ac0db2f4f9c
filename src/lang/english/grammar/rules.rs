//! The grammar of lines: one row for each wording, with its examples. What a row means is one of [`Means`]; what it
//! accepts is its pattern (see [`crate::english::grammar::pattern`]). docs/language.md shows the rows; to teach Playhouse a
//! wording, add one.

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
    /// A number goes up or down by one: the variable.
    Step(Change),
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
    /// The same: the list, its variable.
    Over,
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

/// A row of the grammar.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) pattern: &'static str,
    pub(crate) means: Means,
    /// Lines that it reads.
    pub(crate) examples: &'static [&'static str],
}

const fn rule(means: Means, pattern: &'static str, examples: &'static [&'static str]) -> Rule {
    Rule { pattern, means, examples }
}

use Means::{
    Assign, Break, CallInSentence, CallNamed, CallWith, Continue, EndPlaybook, EndProgram, Keep, Loop, Nearly, Put,
    Say, SayInWords, Speak, Store,
};

/// The rows, by what they mean; of two that fit a line the first counts.
pub(crate) const RULES: &[Rule] = &[
    rule(
        EndProgram,
        "(end|finish|stop|close|terminate|exit|quit|leave) [the|this|our] (program|conversation|session|chat|call|dialogue|dialog|phone call) [here|now]",
        &["End the conversation", "Stop the program"],
    ),
    rule(EndProgram, "(exit|quit|hang up|yld for exit) [now]", &["Hang up", "Exit"]),
    rule(
        EndPlaybook,
        "(end|the end|stop|done|finish|finished|terminate|that's all|that is all|we're done|we are done) [here|now]",
        &["Stop", "Done.", "End"],
    ),
    rule(EndPlaybook, "(end|finish|stop|leave|exit) [the|this] (playbook|procedure)", &["Leave this playbook"]),
    rule(
        Break,
        "(break|break out|break off|break out of|leave|exit|stop|end|quit|get out of) [the|this|out of the] (loop|repetition) [now]",
        &["Leave the loop", "Stop the loop"],
    ),
    rule(Break, "(break|break out|stop looping|stop repeating)", &["Break"]),
    rule(Continue, "(continue|next|skip|continue the loop)", &["Continue", "Next"]),
    rule(
        Continue,
        "(continue|go|go on|move on|proceed|skip|jump|carry on|start) [with|to|on to] the next [one|item|round|entry|element|iteration|{target}]",
        &["Go on with the next one", "Skip to the next item"],
    ),
    rule(
        Continue,
        "(skip|pass over) (it|(this|the current) (one|item|round|entry|element|{target})|the rest of this round)",
        &["Skip this one"],
    ),
    rule(Continue, "next (one|item|round|entry|element|iteration)", &["Next item"]),
    rule(
        Loop(Rounds::ForEach),
        "[do this] (for|foreach|loop|go|iterate|step|run|walk|with) [through|over] [each|every|every single|all|all of the|all the] {target} (in|of|from|from among) ! {value}",
        &["For each $x in $list", "Go through each $item of $order.items"],
    ),
    rule(
        Loop(Rounds::ForEachOf),
        "(for|foreach) [each|every] {target} (in|of|from) [the list|the list of] {rest}",
        &["For each $name in \"Ida\", \"Jonas\" and \"Mina\""],
    ),
    rule(
        Loop(Rounds::Over),
        "(for each of|for all|loop over|loop through|go through|iterate over|step through|run through|walk through|work through) [all|all of|each of] [the] {value} [,] ! (as|with|calling each|calling each one|and call each|and call each one|each time as) {target}",
        &["Loop over $list as $x"],
    ),
    rule(
        Loop(Rounds::Range),
        "(for|count) [each|every] [number] {target} (=|from|in|running from|going from|between) {value} (to|through|up to|until|..|and) ! {value}",
        &["For $i from 1 to 3", "Count $n from $low to $high"],
    ),
    rule(
        Loop(Rounds::AtMostUntil),
        "[repeat|loop|do|try] [this|that|the following] [,] (at most|up to|no more than|a maximum of|max|maximal|for at most) {count} times [,] (until|till) ! {condition}",
        &["Repeat at most 3 times until $a is 5"],
    ),
    rule(
        Loop(Rounds::UntilAtMost),
        "(repeat|loop|do|keep going|go on|try) [this|that|the following] (until|till) {condition} [,] [but|and|or] [for] (at most|up to|no more than|a maximum of|max|maximal) ! {count} times",
        &["Repeat until $ok is yes, at most three times"],
    ),
    rule(
        Loop(Rounds::UntilAtMost),
        "(repeat|loop|do|keep going|go on|try) [this|that|the following] (until|till) {words} [,] [but|and|or] [for] (at most|up to|no more than|a maximum of|max|maximal) {count} times",
        &["Repeat until the guest is satisfied, at most 3 times"],
    ),
    rule(Loop(Rounds::Times(1)), "(repeat|do) [this|that|the following|the following steps] once", &["Do this once"]),
    rule(Loop(Rounds::Times(2)), "(repeat|do) [this|that|the following|the following steps] twice", &["Repeat twice"]),
    rule(
        Loop(Rounds::AtMost),
        "(try|retry) [this|that|the following|the following steps|these steps|the steps below] [,] [for] (up to|at most|no more than|a maximum of) {count} times [in all|in total]",
        &["Try up to 3 times"],
    ),
    rule(
        Loop(Rounds::Count),
        "(repeat|loop|do|try) [this|that|the following|the following steps|these steps|the steps below] [,] [for|up to|at most] {count} (times|x) [in all|in total|altogether]",
        &["Repeat 3 times", "Do this $n times"],
    ),
    rule(Loop(Rounds::Count), "{count} times", &["Three times"]),
    rule(
        Loop(Rounds::Until),
        "[repeat|loop|do|keep going|keep repeating] [this|that|the following|the following steps|these steps|these lines|the steps below] (until|till) {condition}",
        &["Repeat until $total is at least 3"],
    ),
    rule(
        Loop(Rounds::While),
        "[repeat|loop|do|keep going] [this|that|the following|the following steps|these steps|these lines|the steps below] (while|as long as|so long as|for as long as) {condition}",
        &["While $n is less than 3"],
    ),
    rule(Loop(Rounds::Own), "(for each|for every) {rest}", &["For each open ticket"]),
    rule(
        Loop(Rounds::Until),
        "[repeat|loop|do|keep going|keep repeating] [this|that|the following|the following steps|these steps|these lines|the steps below] (until|till) {rest}",
        &["Repeat until the guest is satisfied"],
    ),
    rule(
        Loop(Rounds::While),
        "[repeat|loop|keep going] [this|that|the following|the following steps] (while|as long as|so long as) {rest}",
        &["While there are open problems"],
    ),
    rule(Loop(Rounds::InWords), "(repeat|loop|do) [this|that|the following] {words} times", &["Repeat several times"]),
    rule(
        Loop(Rounds::Forever),
        "((repeat|loop) [this|that|the following|the following steps|the steps below|these steps|these lines] [forever|endlessly|again and again]|again and again)",
        &["Repeat", "Repeat the following"],
    ),
    rule(Means::Change(Change::Add), "{target} += ! {value}", &["$score += 10"]),
    rule(Means::Change(Change::Subtract), "{target} -= ! {value}", &["$score -= 2"]),
    rule(Means::Change(Change::Multiply), "{target} *= ! {value}", &["$price *= 1.19"]),
    rule(Means::Change(Change::Divide), "{target} /= ! {value}", &["$price /= 2"]),
    rule(Means::Step(Change::Add), "{target} ++", &["$a++"]),
    rule(Means::Step(Change::Subtract), "{target} --", &["$a--"]),
    rule(Means::Step(Change::Add), "++ {target}", &["++$a"]),
    rule(Means::Step(Change::Add), "count {target} up [by one]", &["Count $attempts up by one"]),
    rule(
        Means::Change(Change::Add),
        "(increase|increment|raise) [the value of] [the] {target} by ! {value}",
        &["Increase $done by 1"],
    ),
    rule(
        Means::Change(Change::Subtract),
        "(decrease|decrement|reduce|lower) [the value of] [the] {target} by ! {value}",
        &["Reduce $stock by $sold"],
    ),
    rule(Means::Change(Change::Multiply), "multiply [the] {target} (by|with) ! {value}", &["Multiply $price by 2"]),
    rule(Means::Change(Change::Divide), "divide [the] {target} by ! {value}", &["Divide $bill by $people"]),
    rule(Means::Step(Change::Add), "(increase|increment|count up|raise) [the] {target} [by one]", &["Increment $a"]),
    rule(
        Means::Step(Change::Subtract),
        "(decrease|decrement|count down|lower) [the] {target} [by one]",
        &["Decrement $a"],
    ),
    rule(
        Put(Change::Add),
        "(add|push) [the text|the number|the value] {value} [points|point|euros|dollars] (to|onto) [the] [total] ! {target}",
        &["Add 5 to $score"],
    ),
    rule(
        Means::Append,
        "(append|attach) {words} (to|onto) [the] [list|end of] [the] {target}",
        &["Append $summary to $findings"],
    ),
    rule(
        Means::Append,
        "(add|put) {words} (to|on|onto) [the] (list|end of) [the] {target}",
        &["Add $summary to the list $findings"],
    ),
    rule(Means::AppendTexts, "add {words} to {target}", &["Add \"github\" and \"jira\" to $accounts"]),
    rule(Put(Change::Subtract), "(subtract|take|deduct) {value} (from|off) ! {target}", &["Subtract 2 from $score"]),
    rule(Assign, "{target} (=|:=) {rest}", &["$n = $a + 1", "$order = GetOrder($id)"]),
    rule(Means::AssignInWords, "{target} (=|:=)", &["$x ="]),
    rule(Assign, "{target} (←|<-) {rest}", &["$order ← GetOrder($id)"]),
    rule(
        Means::SetTo,
        "(set|let|change|reset|initialise|initialize|start|begin) [with] [the] [value of|variable] {target} [back] (=|:=|to|be|as|with|at|:) {rest}",
        &["Set $x to 3", "Let $x be 3", "Reset $n to 0", "Start with $total = 0"],
    ),
    rule(Means::SetTo, "{target} (is now|becomes) {rest}", &["$status is now \"closed\""]),
    rule(Means::SetTo, "(remember|note) that {target} is [now] {rest}", &["Remember that $vip is true"]),
    rule(
        Store,
        "(store|save|keep|put|remember|note|record|write|assign|copy) [the value|the text|the number] {value} (in|into|as|to|under) [the] [variable] {target}",
        &["Store 3 in $d", "Remember $x as $f"],
    ),
    rule(
        Keep,
        "{words} [,] [and] [then] (store|save|keep|put|remember|record|note|write|return) (it|this|that|them|the result|the results|the answer|the answers|the reply|the outcome|the response|the value|their answer|their choice|what they say|yes/no|yes or no) (in|into|as|under|to) ! {target}",
        &["GetOrder($id) and store the result in $order", "Ask for their name and keep it as $name"],
    ),
    rule(
        Keep,
        "{words} [,] [and] (call|name) (it|this|them|the result|the answer|the list) {target}",
        &["FindRooms($a, $b, 2) and call the result $rooms"],
    ),
    rule(
        Keep,
        "{words} [.] put (it|that|the result|the answer) (in|into) {target}",
        &["Decide which one fits. Put it in $case"],
    ),
    rule(Keep, "{call} (as|into) {target}", &["GetOrder($id) as $order"]),
    rule(
        Keep,
        "(use|call|run) {call} to (get|find|obtain|look up|fetch) {target}",
        &["Use LookUpCode($code) to get $entry"],
    ),
    rule(
        Keep,
        "{words} [,] (and|then) (store|save|keep|put|remember|record|note|update|set) [the] {target}",
        &["Ask for their birthday and remember $birthday:date"],
    ),
    rule(
        Means::Keep,
        "(summarise|summarize|classify|translate|extract|rewrite|count|rate|note|write|take|format|describe|list|decide|judge|guess) {words} (as|in|into|under) {target}",
        &["Summarise the talk in one sentence as $summary"],
    ),
    rule(
        Means::AssignInWords,
        "(compute|calculate|determine|estimate|pick|choose|generate|update|work out|draft|find out|make) [the] {target} {rest}",
        &["Compute $tax:float from $income"],
    ),
    rule(Keep, "{words} (→|->|=>|⇒) ! {target}", &["Ask for the player's name → $player"]),
    rule(
        CallInSentence,
        "(look|find|search|get|fetch|load|create|make|open|book|send|save|store|submit|update|check|calculate|compute|register|file|order|reserve|cancel|close|delete|add|notify|log|post|write|record|do|then) {words} (with|using|via|through|by calling|by running|:|—|–) {call}",
        &["Look up free rooms with FindRooms($a, $b, 2)", "Create a ticket: CreateTicket($room, $text)"],
    ),
    rule(
        CallNamed,
        "(look|find|search|get|fetch|load|create|make|open|book|send|save|store|submit|update|check|calculate|compute|register|file|order|reserve|cancel|close|delete|add|notify|log|post|write|record) {words} (with|using|via|through|by calling|by running) [the] [tool|playbook|function] {callable}",
        &["Create a ticket with CreateTicket"],
    ),
    rule(
        CallWith,
        "(call|run|use|execute|invoke|start|do) [the] [tool|playbook|function|procedure] {words} (with|for|on|using|passing|to) ! {rest}",
        &["Call GetOrder with $id", "Call the tool CallEmergency with the room number"],
    ),
    rule(
        Say,
        "(say|print|answer|reply|respond|output|write|show|display) [to the user|to them] [with|exactly|the following|-|,] [:] {quoted} [to the user|to them|to the guest]",
        &["Say \"Hello.\"", "Answer with \"Yes.\""],
    ),
    rule(
        Say,
        "(tell|inform|greet|answer|remind) (the user|user|them|the guest|the customer|the caller|the client|the patient|everyone) [with] [:] {quoted}",
        &["Tell the user: “Hello.”"],
    ),
    rule(Say, "let (the user|them) know [:] {quoted}", &["Let the user know: \"It is done.\""]),
    rule(Say, "{quoted}", &["\"Hello.\""]),
    rule(Means::SayValue, "say {value}", &["Say $greeting"]),
    rule(
        SayInWords,
        "(tell|inform|remind|show|give) (the user|user|them|the guest|the customer|the caller|the client|the patient|the player|everyone|everybody) {rest}",
        &["Tell the user that it is late"],
    ),
    rule(
        SayInWords,
        "let (the user|them|the guest|the customer|the caller) know {rest}",
        &["Let the user know what comes next"],
    ),
    rule(SayInWords, "(say|reply) {rest}", &["Say goodbye"]),
    rule(
        Speak,
        "(greet|welcome|thank|congratulate|warn|remind|reassure|comfort|tease|inform) {rest}",
        &["Greet $customer by name", "Warn them that it takes a while"],
    ),
    rule(
        Speak,
        "(apologise|apologize|explain|read back|read out|offer|suggest|wish) [{rest}]",
        &["Apologise", "Offer a free breakfast", "Read back the order"],
    ),
    rule(
        Nearly("a playbook that has ended gives the word back to its caller; no line goes anywhere", "Return"),
        "((go|jump|get) back to (where we were|where you were|where you left off|the caller)|continue where (you|we) left off)",
        &["Go back to where we were"],
    ),
    rule(
        Nearly(
            "no line jumps to another one; lines that are done again are nested under a loop",
            "Repeat until $done is yes",
        ),
        "((go|jump) [back] to (the|step|line) {rest}|(start|begin) (again|over) [{rest}]|repeat from the (beginning|top|start) [{rest}])",
        &["Go back to the question", "Start again from the top"],
    ),
    rule(
        Nearly(
            "what is to happen where that is not so stands nowhere",
            "If $amount is at most 0, ask for $amount:float",
        ),
        "(make sure|ensure|verify) [that] {target} (is|are|has|contains) {rest}",
        &["Make sure that $amount is a positive number"],
    ),
    rule(
        Nearly("nothing counts that; a variable can", "If $attempts is at least 3, Escalate()"),
        "after {count} [wrong|failed|unsuccessful|more] (attempts|tries|times|answers) {rest}",
        &["After three wrong attempts, hand over to an agent"],
    ),
    rule(
        Nearly("what it is then is not said", "$attempts = 0"),
        "(reset|clear|empty|forget|delete) [the] [variable] {target}",
        &["Reset $attempts"],
    ),
    rule(
        Nearly("the variable of each round is missing", "For each $x in $list"),
        "((for|foreach) (each|every|all) [in] {target}|for {target} {target})",
        &["For each $orders"],
    ),
    rule(Nearly("`==` compares; one `=` gives a value", "$x = 3"), "{target} == {rest}", &["$x == 3"]),
    rule(Speak, "(print|give|show) [a|the] (summary|overview) [of] {rest}", &["Print a summary of the order"]),
];

impl Means {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Means::EndProgram => "the program ends",
            Means::EndPlaybook => "the playbook ends",
            Means::Break => "the loop ends",
            Means::Continue => "the next round begins",
            Means::Loop(rounds) => rounds.describe(),
            Means::Assign | Means::SetTo | Means::Store => "a variable gets a value",
            Means::AssignInWords => "a variable gets what the model finds",
            Means::Append | Means::AppendTexts => "a list gets more items",
            Means::Change(_) | Means::Put(_) | Means::Step(_) => "a number changes",
            Means::Keep => "a variable keeps what comes of the line",
            Means::CallInSentence | Means::CallNamed | Means::CallWith => "a call",
            Means::Say | Means::SayValue => "a text is said",
            Means::SayInWords | Means::Speak => "the model says something",
            Means::Nearly(..) => "not read: `check` says what to write",
        }
    }
}

impl Rounds {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Rounds::ForEach | Rounds::ForEachOf | Rounds::Over => "a loop over a list",
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
