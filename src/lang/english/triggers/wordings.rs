//! How people word the triggers that need no classifier: one table, with an example beside each row, in the patterns of
//! [`crate::english::grammar::pattern`].

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::diagnostic::spelling::Vocabulary;
use crate::english::grammar::pattern::{Groups, Matched, Pattern};
use crate::english::grammar::people::PARTNERS;
use crate::english::grammar::time::time_words;
use crate::english::near::vocabulary;
use crate::english::phrase::Phrase;
use crate::english::words::bare_words;

/// What a trigger of a row waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Beginning,
    Ending,
    Silence,
    Period,
    Clock,
    BeforeCall,
    AfterCall,
    CallFails,
    AnyCallFails,
    Signal,
    /// The same, if no playbook or tool has this name.
    NamedSignal,
}

/// A way to word a trigger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wording {
    pub(super) waits: Waits,
    pub(super) pattern: &'static str,
    /// A text that it reads. The playbook of these is called `Save`.
    pub(super) example: &'static str,
}

const fn row(waits: Waits, pattern: &'static str, example: &'static str) -> Wording {
    Wording { waits, pattern, example }
}

/// Every wording; of several that fit a text the first counts.
pub(super) const WORDINGS: &[Wording] = &[
    row(Waits::Beginning, "{at} [{the}] [very] {beginning} [{of}] {tail}", "At the start of the conversation"),
    row(Waits::Beginning, "{when} [{the}] {session} {begins} [{running}] {tail}", "When the chat opens"),
    row(Waits::Beginning, "{when} {person} {begins} [{the}] {session} {tail}", "When the customer opens the chat"),
    row(Waits::Beginning, "(first of all|to begin with) {tail}", "First of all"),
    row(Waits::Beginning, "before (anything|everything) else {tail}", "Before anything else"),
    row(
        Waits::Ending,
        "[{just}] (at|on|before|after) [{the}] [very] {end} [{of}] {tail}",
        "At the end of the conversation",
    ),
    row(Waits::Ending, "[{just}] ({when}|before|after) [{the}] {session} {ends} {tail}", "When the conversation ends"),
    row(Waits::Silence, "after {time} [{without}]", "After 20 seconds without an answer"),
    row(Waits::Silence, "after {time} (of|with) {silence} [{from}]", "After 30 seconds of silence"),
    row(
        Waits::Silence,
        "{when} {person} {has_not} {answered} {for_time}",
        "When the user hasn't answered for 2 minutes",
    ),
    row(
        Waits::Silence,
        "{when} {person} {does_not} {answer} {for_time}",
        "When they don't say anything for 30 seconds",
    ),
    row(Waits::Silence, "{when} {person} {says} nothing {for_time}", "When the guest says nothing for 30 s"),
    row(Waits::Silence, "{when} {person} {stays} {silent} {for_time}", "When the user has been silent for 2 min"),
    row(Waits::Silence, "{when} {nobody} {answers} {for_time}", "When nobody has answered for one minute"),
    row(Waits::Silence, "{when} {there_is} {silence} [{from}] {for_time}", "If there is no answer for 30 s"),
    row(Waits::Silence, "{when} no {sign} [{from}] {comes} {for_time}", "When no reply comes within a minute"),
    row(Waits::Silence, "{when} {time} {pass} [{without}|{since}]", "When 20 seconds have passed without an answer"),
    row(Waits::Silence, "{time} of {silence}", "30 seconds of silence"),
    row(Waits::Period, "(every|each) {unit}", "Each hour"),
    row(Waits::Period, "(every|each) {time}", "Every two hours"),
    row(Waits::Period, "once (a|an|per|every|each) {unit}", "Once a day"),
    row(Waits::Period, "once (every|each) {time}", "Once every 20 minutes"),
    row(Waits::Period, "{beat}", "Hourly"),
    row(Waits::Clock, "(at|by) {clock} [{each_day}|on {days}|(every|each) {days}|daily]", "At 9:00"),
    row(
        Waits::Clock,
        "({each_day}|daily|(every|each) {days}|[weekly] on {days}) [,] (at|by) {clock}",
        "Every day at 9:00",
    ),
    row(Waits::Clock, "((every|each) {days}|[weekly] on {days}|once a week [,] on {days})", "On Mondays"),
    row(Waits::Clock, "on {days} {clock}", "On Mondays 9:00"),
    row(Waits::BeforeCall, "{before} {calling} [{thing}] {callable}", "Before using Save"),
    row(Waits::BeforeCall, "{before} [{thing}] {callable} (is|gets) {called}", "Before Save is called"),
    row(Waits::BeforeCall, "{before} [{thing}] {callable} (runs|starts|begins)", "Before Save runs"),
    row(Waits::BeforeCall, "{when} [{thing}] {callable} is about to {about_to}", "When Save is about to run"),
    row(Waits::BeforeCall, "{when} [{thing}] {callable} (is|gets) {called}", "Whenever Save is called"),
    row(Waits::BeforeCall, "{when} (you|we) (call|use|run|invoke) [{thing}] {callable}", "Each time you call Save"),
    row(Waits::BeforeCall, "{before} [{thing}] {callable}", "Before Save"),
    row(Waits::AfterCall, "after {calling} [{thing}] {callable}", "After calling Save"),
    row(Waits::AfterCall, "(after|{when}) [{thing}] {callable} {was} ({called}|{done})", "When Save is done"),
    row(Waits::AfterCall, "(after|{when}) [{thing}] {callable} {returns}", "When Save has returned"),
    row(Waits::AfterCall, "after [{thing}] {callable}", "After Save"),
    row(Waits::AnyCallFails, "{when} {anything} {fails}", "When any tool fails"),
    row(Waits::AnyCallFails, "(on|upon) [any|an] {failure}", "On any error"),
    row(Waits::CallFails, "(after|{when}) [{thing}] {callable} {fails}", "When Save goes wrong"),
    row(Waits::CallFails, "{when} {calling} [{thing}] {callable} {fails}", "When calling Save fails"),
    row(
        Waits::CallFails,
        "{when} there is an error (in|with|from) [{thing}] {callable}",
        "When there is an error in Save",
    ),
    row(Waits::CallFails, "(on|upon) {failure} (of|in|from|with) [{thing}] {callable}", "On failure of Save"),
    row(Waits::Signal, "{when} [{the}] event {event} {arrives}", "When the event photo arrives"),
    row(Waits::NamedSignal, "{when} [{the}] {named_event} [event] {arrives}", "When photo_uploaded arrives"),
    row(Waits::Signal, "(on|upon) [{the}] event {event}", "On the event photo"),
    row(Waits::NamedSignal, "(on|upon) {named_event}", "On photo_uploaded"),
];

/// What looks like a wording and is none, with what can be written.
pub(super) const NEAR: &[(&str, &str)] = &[
    ("(before|after|on) {calling}", "name what is called: `Before calling GetOrder`"),
    (
        "(on|upon|at) [{thing}] {callable}",
        "say when: `Before calling GetOrder`, `After calling GetOrder`, `When GetOrder fails`",
    ),
    (
        "(every|each) {number} [{units}]",
        "a period is a number that is not 0 and a unit, and shorter than a year: `Every 10 minutes`",
    ),
    ("after {number} ({without}|{of_silence})", "a time has a unit: `After 20 seconds of silence`"),
    ("[{daily}] (at|by) ({number}|noon|midnight) [{rest}]", CALENDAR),
    ("{daily} [{number}] [{rest}]", CALENDAR),
    ("(after|before|from) {clock} [{each_day}|on {days}|(every|each) {days}|daily]", CALENDAR),
    ("(on|at|by|in) [{clock}] [on] [the] {words} of (every|each|the) month [{rest}]", MONTHS),
    ("(every|each|once a|once every|once per) [other] {long} [{rest}]", MONTHS),
    ("(monthly|quarterly|yearly|annually) [{rest}]", MONTHS),
    ("(after|{when}) [{thing}] {callable} ({fails}|{was} {called}) {times} [{rest}]", TIMES),
    ("{when} [{thing}] {callable} {finds} {rest}", RESULT),
    ("{when} [{the}] [{moment}] {value} (has passed|is past|has expired|expires)", MOMENT),
    ("{when} [{the}] {moment} {value} {comes_due}", MOMENT),
    ("(on|upon) [{the}] event [{rest}]", EVENT),
    ("{when} [{the}] event [{rest}]", EVENT),
];

const CALENDAR: &str =
    "a time of day is written `Every day at 9:00`, `On Mondays at 17:30`; or wait for periods: `Every day`";
const MONTHS: &str =
    "no trigger counts months: write `Every day at 9:00`, and begin the playbook with a condition on the date";
const TIMES: &str = "no trigger counts calls: count in a playbook that waits for each, `$n_calls = $n_calls + 1`, and write \
     `When $n_calls reaches 2`";
const RESULT: &str = "a trigger is `After FindRooms` and nothing else; to look into the result, keep it where it is called, \
     `$found = FindRooms($day)`, and write `When $found is empty`";
pub(super) const MOMENT: &str = "no trigger watches the clock for a moment that a variable holds: write `Every day at 9:00`, and begin the \
     playbook with a condition such as `If $deadline is before $today`, with `$today` from a tool";
const EVENT: &str =
    "an event from outside has a name of letters, digits and `_`: `When the event photo_uploaded arrives`";

/// What patterns use by name.
const GROUPS: Groups = &[
    ("when", "when|whenever|if|once|while|as soon as|each time|every time|any time|in case"),
    ("the", "the|a|an|this|each|every|any|our|my"),
    // Who talks with the program.
    ("person", "[{the}] {people}"),
    ("when_person", "[{when}] {person}"),
    ("subject", "{the}|it|there|nothing|everything|{nobody}"),
    ("people", "{partner}|they|{anyone}"),
    ("partner", PARTNERS),
    ("anyone", "someone|somebody|anyone|anybody"),
    ("nobody", "nobody|no one|no-one"),
    // Beginning.
    ("at", "at|in|on|from"),
    ("beginning", "beginning|begining|start|startup|start-up|outset|launch|opening|begin"),
    ("of", "[of|to] [{the}] ({session}|running)"),
    ("session", "program|programme|session|conversation|chat|agent|call|dialogue|dialog|execution|app"),
    ("begins", "begins|begin|starts|start|opens|open|has begun|has started|is started|is opened"),
    ("running", "running|execution|to run|up"),
    // Silence.
    ("silence", "silence|inactivity|idleness|idle time|{no_sign}"),
    ("no_sign", "no {sign}"),
    ("silent", "silent|quiet|idle|inactive"),
    ("sign", "answer|answers|reply|replies|response|input|message|messages|reaction|activity|word|speech"),
    ("from", "(from|by) {person}"),
    ("without", "without [{the}] {sign} [{from}]"),
    ("since", "since [{the}] (question|answer|message|last message|last answer)"),
    ("of_silence", "of {silence}"),
    ("for_time", "(for|in|within|after) [more than|at least|longer than|over] {time}"),
    ("has_not", "has not|hasn't|have not|haven't"),
    ("does_not", "does not|doesn't|do not|don't|did not|didn't"),
    ("answered", "answered|replied|responded|reacted|spoken|written|typed|said anything|written anything"),
    ("answer", "answer|reply|respond|react|speak|write|type|say anything|say a word|write anything"),
    ("answers", "answers|has answered|replies|has replied|responds|has responded|speaks|has spoken|writes|has written"),
    ("says", "say|says|said|has said|writes|has written|types|has typed"),
    ("stays", "is|are|was|stays|stay|remains|remain|keeps|keep|goes|falls|has been|have been|has gone"),
    ("there_is", "there is|there's|there was|there has been|there comes"),
    ("comes", "comes|comes in|arrives|is given|has come|has arrived"),
    ("pass", "pass|passes|passed|have passed|has passed|elapse|have elapsed|has elapsed|have gone by|has gone by"),
    // What the user says and gives, and what changes.
    ("says_exactly", "{person} {says} (exactly|only|just)"),
    ("says_words", "{person} {says}"),
    ("person_mentions", "{person} {mentions}"),
    ("message_mentions", "[{the}] (message|text|input) {mentions}"),
    ("person_gives", "{person} {gives}"),
    ("we_know", "(we|you) (know|have|got)"),
    ("person_has_not_given", "{person} {has_not} {given}"),
    ("person_changes", "{person} {changes} [{the}]"),
    ("on_change", "(on|upon) [{the}] (change|changes) (of|to|in)"),
    ("mentions", "mentions|contains|includes|has"),
    ("gives", "{provides}|{has_given}"),
    ("has_given", "[{has}] {given}"),
    ("provides", "provides|gives|enters|supplies|specifies"),
    ("given", "provided|given|entered|supplied|specified|told us"),
    ("changes", "[{has}] (changes|changed|updates|updated|modifies|modified)"),
    ("has", "has|have"),
    ("change", "change|changes|{is_changed}|gets a new value"),
    ("is_changed", "{is} {changed}"),
    ("is", "is|was|has|has been|are|were|have|have been"),
    ("changed", "changed|updated|modified"),
    // Events from outside.
    ("arrives", "arrives|has arrived|comes|comes in|has come|happens|has happened|occurs|is received|is sent"),
    // Moments.
    ("moment", "date|deadline|time|day|moment|hour|appointment"),
    ("comes_due", "is over|comes|has come|arrives|has arrived|is reached|is here|runs out|has run out"),
    ("long", "month|months|quarter|quarters|year|years"),
    // Calls.
    ("times", "twice|again|repeatedly|{number} times|(two|three|four|five|several) times|more than once|{nth_time}"),
    ("nth_time", "(for the|a) (second|third|fourth|fifth) [time]"),
    ("finds", "returns|gives|finds|returned|gave|found|has returned|has given|has found"),
    ("calling", "calling|using|running|executing|invoking|you (call|use|run)|{a_call}"),
    ("a_call", "(a|each|every|any) call (of|to)"),
    ("thing", "{each}|{tool}"),
    ("each", "(each|every|any) [{tool}]"),
    ("tool", "[the] (tool|playbook|function|plan)"),
    ("just", "right|just|immediately|shortly"),
    ("before", "[{just}] before"),
    ("anything", "{any_call}|something|anything|the last call|the call|the last tool call"),
    ("any_call", "(any|a|some|one of the) (tool|tools|call|calls|function|tool call)"),
    ("failure", "failure|failures|error|errors"),
    ("end", "end|exit|ending|close"),
    ("ends", "ends|end|closes|stops|exits|{is_over}"),
    ("is_over", "(is|was) (over|finished|closed|done)"),
    ("daily", "{each_day}|daily|weekly|on {weekday}|once a week [,] (on|at)"),
    ("each_day", "(every|each) (day|morning|noon|afternoon|evening|night)"),
    ("weekday", "{days}|weekday|weekend"),
    ("units", "seconds|minutes|hours|days|weeks|second|minute|hour|day|week"),
    ("called", "called|run|used|executed|invoked"),
    ("about_to", "run|start|begin|be called|be run|be used"),
    ("was", "is|was|gets|has been|had been"),
    ("done", "done|finished|completed|over"),
    ("returns", "{returned}|returns|finishes|completes|ends|runs|ran|succeeds|succeeded"),
    ("returned", "[has] (returned|finished|completed|ended|run)"),
    ("fails", "{error}|{breaks}|fails|fail|failed|has failed|goes wrong|went wrong|has gone wrong"),
    ("breaks", "{does_not} (work|go through|succeed)"),
    ("error", "(returns|returned|gives|gave|throws|threw|raises|raised) an error"),
];

/// The patterns by name.
static PATTERNS: LazyLock<HashMap<&str, Pattern>> =
    LazyLock::new(|| GROUPS.iter().map(|(name, pattern)| (*name, Pattern::new(pattern, GROUPS))).collect());

/// The rows, ready to be matched.
pub(super) static ROWS: LazyLock<Vec<(Waits, Pattern)>> =
    LazyLock::new(|| WORDINGS.iter().map(|row| (row.waits, Pattern::new(row.pattern, GROUPS))).collect());

/// What looks like a row, whether something that can be called stands in it, and what can be written.
pub(super) static NEAR_ROWS: LazyLock<Vec<(Pattern, bool, &str)>> = LazyLock::new(|| {
    let row = |(pattern, note): &(&'static str, &'static str)| {
        (Pattern::new(pattern, GROUPS), pattern.contains("{callable}"), *note)
    };
    NEAR.iter().map(row).collect()
});

/// The words of all patterns.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let patterns = WORDINGS.iter().map(|row| row.pattern).chain(GROUPS.iter().map(|(_, pattern)| *pattern));
    vocabulary(patterns.flat_map(bare_words).chain(time_words()))
});

/// What follows one of the [`GROUPS`], if `words` begins so.
pub(super) fn strip_group<'a>(name: &str, words: Phrase<'a>) -> Option<Phrase<'a>> {
    PATTERNS.get(name)?.strip(words)
}

/// Whether `words` is one of the [`GROUPS`] and nothing else.
pub(super) fn is_group(name: &str, words: Phrase<'_>) -> bool {
    PATTERNS.get(name).is_some_and(|pattern| matches!(pattern.matches(words), Matched::Whole(_)))
}
