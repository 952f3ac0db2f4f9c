//! The grammar of lines: one row for each wording, with its examples. What a row means is one of [`Means`]; what it
//! accepts is its pattern (see [`crate::english::grammar::pattern`]). docs/language.md shows the rows; to teach Playhouse a
//! wording, add one.

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

use crate::english::grammar::means::Means::{
    self, Assign, Break, CallInSentence, CallNamed, CallWith, Continue, EndPlaybook, EndProgram, Keep, Loop, Nearly,
    Put, Say, SayInWords, Speak, Store,
};

use crate::english::grammar::means::{Change, Rounds};

/// The rows, by what they mean; of two that fit a line the first counts.
pub(crate) const RULES: &[Rule] = &[
    rule(
        EndProgram,
        "(end|finish|stop|close|terminate|exit|quit|leave) [the|this|our] (program|programme|conversation|session|chat|call|dialogue|dialog|phone call) [here|now|there|right here|right now|right there]",
        &["End the conversation", "Stop the program"],
    ),
    rule(EndProgram, "(exit|quit|hang up|yld for exit) [now]", &["Hang up", "Exit"]),
    rule(
        EndPlaybook,
        "(end|the end|stop|done|finish|finished|terminate|that's all|that is all|we're done|we are done) [here|now|there|right here|right now|right there]",
        &["Stop", "Done.", "End"],
    ),
    rule(
        Means::SayThenEnd,
        "(end|(end|close|finish) [the|this|our] (program|programme|conversation|session|chat|call|dialogue|dialog|phone call)) [with|by saying|and say] [:] {quoted}",
        &["End with \"Goodbye.\""],
    ),
    rule(EndPlaybook, "(end|finish|stop|leave|exit) [the|this] (playbook|procedure)", &["Leave this playbook"]),
    rule(
        Break,
        "(break|break out|break off|break out of|jump out of|leave|exit|stop|end|quit|get out of) [the|this|out of the] (loop|repetition) [now]",
        &["Leave the loop", "Stop the loop"],
    ),
    rule(Break, "(break|break out|stop looping|stop repeating|stop looking|stop searching|stop trying)", &["Break"]),
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
    rule(
        Means::ContinueWith,
        "((continue|go|go on|move on|proceed|skip|jump|carry on) [with|to|on to] [the] next|(skip|pass over) [this|the current]) {rest}",
        &[],
    ),
    rule(Continue, "next (one|item|round|entry|element|iteration)", &["Next item"]),
    rule(
        Loop(Rounds::ForEach),
        "[do this] (for|foreach|loop|go|iterate|step|run|walk|with) [through|over] [each|every|every single|all|all of the|all the] {target} (in|of|from|from among) ! {value}",
        &["For each $x in $list", "Go through each $item of $order.items"],
    ),
    rule(
        Loop(Rounds::ForEachNamed),
        "(for|foreach) (each|every) {words} (in|of|from) [the list] {value}",
        &["For each account in $accounts"],
    ),
    rule(
        Loop(Rounds::ForEachOf),
        "(for|foreach) [each|every] {target} (in|of|from) [the list|the list of] {rest}",
        &["For each $name in \"Ida\", \"Jonas\" and \"Mina\""],
    ),
    rule(
        Loop(Rounds::Over),
        "(for each of|for all|loop over|loop through|go through|iterate over|iterate through|step through|run through|walk through|work through) [all|all of|each of] [the] {value} [,] ! (as|with|calling each|calling each one|and call each|and call each one|each time as) {target}",
        &["Loop over $list as $x"],
    ),
    rule(
        Loop(Rounds::Each),
        "(for each of|for all|loop over|loop through|go through|iterate over|iterate through|step through|run through|walk through|work through) [all|all of|each of] [the] {value} [one by one|one at a time|one after the other|in turn]",
        &[],
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
    rule(Loop(Rounds::Times(2)), "[repeat|do] [this|that|the following|the following steps] twice", &["Repeat twice"]),
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
    rule(Means::Percent(Change::Add), "(increase|raise) [the] {target} by {percent}", &["Increase $price by 10%"]),
    rule(
        Means::Percent(Change::Subtract),
        "(decrease|reduce|lower|cut|discount) [the] {target} by {percent}",
        &["Reduce $price by 10%"],
    ),
    rule(Means::Percent(Change::Add), "add {percent} (to|onto) [the] {target}", &["Add 19 percent to $price"]),
    rule(
        Means::Percent(Change::Subtract),
        "(take|subtract|deduct) {percent} (off|from) [the] {target}",
        &["Take 10% off $total"],
    ),
    rule(Means::Change(Change::Multiply), "multiply [the] {target} (by|with) ! {value}", &["Multiply $price by 2"]),
    rule(Means::Change(Change::Divide), "divide [the] {target} by ! {value}", &["Divide $bill by $people"]),
    rule(Means::Step(Change::Add), "(increase|increment|count up|raise) [the] {target} [by one]", &["Increment $a"]),
    rule(
        Means::Step(Change::Subtract),
        "(decrease|decrement|count down|lower) [the] {target} [by one]",
        &["Decrement $a"],
    ),
    rule(Means::Step(Change::Multiply), "double [the] {target}", &["Double $stake"]),
    rule(Means::Step(Change::Divide), "halve [the] {target}", &["Halve $stake"]),
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
        "(add|put) {words} (to|on|onto|in|into) [the] (list|end of) [the] {target}",
        &["Add $summary to the list $findings"],
    ),
    rule(Means::AppendTexts, "add {words} to {target}", &["Add \"github\" and \"jira\" to $accounts"]),
    rule(Put(Change::Subtract), "(subtract|take|deduct) {value} (from|off) ! {target}", &["Subtract 2 from $score"]),
    rule(Assign, "{target} (=|:=) {rest}", &["$n = $a + 1", "$order = GetOrder($id)"]),
    rule(Means::AssignInWords, "{target} (=|:=)", &["$x ="]),
    rule(Assign, "{target} (←|<-) {rest}", &["$order ← GetOrder($id)"]),
    rule(
        Means::SetTo,
        "(set|let|change|reset|initialise|initialize|start|begin) [with] [the] [value of|variable] {target} [back] (=|:=|to|be|as|with|:) {rest}",
        &["Set $x to 3", "Let $x be 3", "Reset $n to 0", "Start with $total = 0"],
    ),
    rule(Assign, "(set|start|begin|initialise|initialize) [with] {target} at {value}", &["Start $n at 0"]),
    rule(
        Assign,
        "(get|fetch|find|load|look up|obtain|retrieve|determine|compute|calculate|estimate|create|generate|set|update|fill) [a list of|the list of|a|an|the|all|all the] {target} (using|with|via|through|by calling|by running|from) {call}",
        &["Get $order using GetOrder($id)", "Set $order by calling GetOrder($id)"],
    ),
    rule(
        Means::Truth,
        "{target} (is true if|is true when|is true exactly if|is true only if) {condition}",
        &["$paid is true if $status is \"paid\""],
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
        "(store|save|keep|put|remember|record|write|assign) (the result|the results|the answer|the outcome|the output) (of|from) {call} (in|into|as|to|under) [the] [variable] {target}",
        &["Store the result of GetOrder($id) in $order"],
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
        Means::Keep,
        "(remember|keep|note|store|record|write down) {words} (as|in|under) {target}",
        &["Remember the caller's name as $name"],
    ),
    rule(
        Means::AssignInWords,
        "(compute|calculate|determine|estimate|pick|choose|generate|update|work out|draft|find out|make) [the] {target} {rest}",
        &["Compute $tax:float from $income"],
    ),
    rule(Keep, "{words} (→|->|=>|⇒) ! {target}", &["Ask for the player's name → $player"]),
    rule(
        CallInSentence,
        "(look|find|search|get|fetch|load|create|make|open|book|send|save|store|submit|update|check|calculate|compute|register|file|order|reserve|cancel|close|delete|add|notify|log|post|write|record|do|then|alert|mail|email|call|contact|issue|pay|charge|refund|schedule|assign|move|transfer|retrieve|look up|set up) {words} (with|using|via|through|by calling|by running|:|—|–) {call}",
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
        "(say|print|answer|reply|respond|output|write|show|display) [to the user|to them] [with|exactly|the following|-|,] [:] {quoted} [to (them|the (user|guest|customer|caller|client|patient|player))]",
        &["Say \"Hello.\"", "Answer with \"Yes.\""],
    ),
    rule(
        Say,
        "(tell|inform|greet|answer|remind) (the user|user|them|the guest|the customer|the caller|the client|the patient|everyone) [with] [:] {quoted}",
        &["Tell the user: “Hello.”"],
    ),
    rule(
        Say,
        "let (them|the (user|guest|customer|caller|client|patient|player)) know [:] {quoted}",
        &["Let the user know: \"It is done.\""],
    ),
    rule(Say, "{quoted}", &["\"Hello.\""]),
    rule(Means::SayValue, "say {value}", &["Say $greeting"]),
    rule(
        SayInWords,
        "(tell|inform|remind|show|give) (the user|user|them|the guest|the customer|the caller|the client|the patient|the player|everyone|everybody) {rest}",
        &["Tell the user that it is late"],
    ),
    rule(
        SayInWords,
        "let (them|the (user|guest|customer|caller|client|patient|player)) know {rest}",
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
        "((go|jump) [back] to (the|step|line|ask|asking) {rest}|(start|begin) (again|over) [{rest}]|repeat from the (beginning|top|start) [{rest}])",
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
        Nearly("a question that is asked again and again stands under a loop", "Repeat until $email contains \"@\""),
        "keep asking {words} until {rest}",
        &["Keep asking for $email until it contains \"@\""],
    ),
    rule(
        Nearly(
            "a call that is tried again and again stands under a loop",
            "Repeat until the last call worked, at most 3 times",
        ),
        "(try|retry|call) {call} [again] [for] (up to|at most|no more than|a maximum of) {count} times",
        &["Try CheckStock() up to three times"],
    ),
    rule(
        Nearly(
            "a question that is asked so many times stands under a loop",
            "Repeat until $ok is yes, at most 3 times",
        ),
        "ask [{words}] again {words} times [{rest}]",
        &["Ask again (up to 3 times)"],
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
        "((for|foreach) (each|every|all) [in|of] [the] {target}|for {target} {target})",
        &["For each $orders"],
    ),
    rule(Nearly("`==` compares; one `=` gives a value", "$x = 3"), "{target} == {rest}", &["$x == 3"]),
    rule(Speak, "(print|give|show) [a|the] (summary|overview) [of] {rest}", &["Print a summary of the order"]),
];
