//! How people word the triggers that need no classifier: one table, with an example beside each row.
//!
//! A pattern is a row of elements with one space between them. An element is a word, or a choice of words (`a|b`);
//! `_` stands for the space in a choice of several words (`is_called|runs`), and an element that ends in `?` may be
//! missing. `{name}` is one of the [`GROUPS`], or something that is read: `{time}` (`30 seconds`), `{unit}` (`hour`),
//! `{beat}` (`hourly`), `{number}` (digits), `{call}` (the name of a playbook or tool, or its words), `{event}` (the name
//! of an event), and `{plain_event}` (one that looks like a name: `photo_uploaded`). `...` at the end: nothing more, or a
//! mark and after it anything; `*`: anything.

/// What a trigger of a row waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Beginning,
    Silence,
    Period,
    BeforeCall,
    AfterCall,
    CallFails,
    AnyCallFails,
    Signal,
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
    row(Waits::Beginning, "{at} {the}? very? {beginning} {of}? ...", "At the start of the conversation"),
    row(Waits::Beginning, "{when} {the}? {session} {begins} {running}? ...", "When the chat opens"),
    row(Waits::Beginning, "{when} {person} {begins} {the}? {session} ...", "When the customer opens the chat"),
    row(Waits::Beginning, "first_of_all|to_begin_with ...", "First of all"),
    row(Waits::Beginning, "before anything|everything else ...", "Before anything else"),
    row(Waits::Silence, "after {time} {without}?", "After 20 seconds without an answer"),
    row(Waits::Silence, "after {time} of|with {silence} {from}?", "After 30 seconds of silence"),
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
    row(Waits::Silence, "{when} {there_is} {silence} {from}? {for_time}", "If there is no answer for 30 s"),
    row(Waits::Silence, "{when} no {sign} {from}? {comes} {for_time}", "When no reply comes within a minute"),
    row(Waits::Silence, "{when} {time} {pass} {without}|{since}?", "When 20 seconds have passed without an answer"),
    row(Waits::Silence, "{time} of {silence}", "30 seconds of silence"),
    row(Waits::Period, "every|each {unit}", "Each hour"),
    row(Waits::Period, "every|each {time}", "Every two hours"),
    row(Waits::Period, "once a|an|per|every|each {unit}", "Once a day"),
    row(Waits::Period, "once every|each {time}", "Once every 20 minutes"),
    row(Waits::Period, "{beat}", "Hourly"),
    row(Waits::BeforeCall, "{before} {calling} {thing}? {call}", "Before using Save"),
    row(Waits::BeforeCall, "{before} {thing}? {call} is|gets {called}", "Before Save is called"),
    row(Waits::BeforeCall, "{before} {thing}? {call} runs|starts|begins", "Before Save runs"),
    row(Waits::BeforeCall, "{when} {thing}? {call} is about to {about_to}", "When Save is about to run"),
    row(Waits::BeforeCall, "{when} {thing}? {call} is|gets {called}", "Whenever Save is called"),
    row(Waits::BeforeCall, "{when} you|we call|use|run|invoke {thing}? {call}", "Each time you call Save"),
    row(Waits::BeforeCall, "{before} {thing}? {call}", "Before Save"),
    row(Waits::AfterCall, "after {calling} {thing}? {call}", "After calling Save"),
    row(Waits::AfterCall, "after|{when} {thing}? {call} {was} {called}|{done}", "When Save is done"),
    row(Waits::AfterCall, "after|{when} {thing}? {call} {returns}", "When Save has returned"),
    row(Waits::AfterCall, "after {thing}? {call}", "After Save"),
    row(Waits::AnyCallFails, "{when} {anything} {fails}", "When any tool fails"),
    row(Waits::AnyCallFails, "on|upon any|an? {failure}", "On any error"),
    row(Waits::CallFails, "after|{when} {thing}? {call} {fails}", "When Save goes wrong"),
    row(Waits::CallFails, "{when} {calling} {thing}? {call} {fails}", "When calling Save fails"),
    row(Waits::CallFails, "{when} there is an error in|with|from {thing}? {call}", "When there is an error in Save"),
    row(Waits::CallFails, "on|upon {failure} of|in|from|with {thing}? {call}", "On failure of Save"),
    row(Waits::Signal, "{when} {the}? event {event} {arrives}", "When the event photo arrives"),
    row(Waits::Signal, "{when} {the}? {plain_event} event? {arrives}", "When photo_uploaded arrives"),
    row(Waits::Signal, "on|upon {the}? event {event}", "On the event photo"),
    row(Waits::Signal, "on|upon {plain_event}", "On photo_uploaded"),
];

/// What looks like a wording and is none, with what can be written.
pub(super) const NEAR: &[(&str, &str)] = &[
    ("before|after|on {calling}", "name what is called: `Before calling GetOrder`"),
    (
        "on|upon|at {thing}? {call}",
        "say when: `Before calling GetOrder`, `After calling GetOrder`, `When GetOrder fails`",
    ),
    (
        "every|each {number} {units}?",
        "a period is a number that is not 0 and a unit, and shorter than a year: `Every 10 minutes`",
    ),
    ("after {number} {without}|{of_silence}", "a time has a unit: `After 20 seconds of silence`"),
    (
        "at|on|before|after {the}? {end} {of}? ...",
        "nothing waits for the end: put what is to be done into the last lines",
    ),
    (
        "{when}|before|after {the}? {session} {ends} ...",
        "nothing waits for the end: put what is to be done into the last lines",
    ),
    ("{daily}? at|by {number}|noon|midnight *", CALENDAR),
    ("{daily} {number}? *", CALENDAR),
    ("on|upon {the}? event *", EVENT),
    ("{when} {the}? event *", EVENT),
];

const CALENDAR: &str = "no trigger waits for a time of day or a day: let a scheduler start a session then, or wait for periods: `Every day`";
const EVENT: &str =
    "an event from outside has a name of letters, digits and `_`: `When the event photo_uploaded arrives`";

/// What patterns use by name.
pub(super) const GROUPS: &[(&str, &str)] = &[
    ("when", "when|whenever|if|once|while|as_soon_as|each_time|every_time|any_time|in_case"),
    ("the", "the|a|an|this|each|every|any|our|my"),
    // Who talks with the program.
    ("person", "{the}? {people}"),
    ("people", "user|guest|customer|caller|client|patient|visitor|student|person|player|they|{anyone}"),
    ("anyone", "someone|somebody|anyone|anybody"),
    ("nobody", "nobody|no_one|no-one"),
    // Beginning.
    ("at", "at|in|on|from"),
    ("beginning", "beginning|begining|start|startup|start-up|outset|launch|opening|begin"),
    ("of", "of|to? {the}? {session}|running"),
    ("session", "program|session|conversation|chat|agent|call|dialogue|dialog|execution|app"),
    ("begins", "begins|begin|starts|start|opens|open|has_begun|has_started|is_started|is_opened"),
    ("running", "running|execution|to_run|up"),
    // Silence.
    ("silence", "silence|inactivity|idleness|idle_time|{no_sign}"),
    ("no_sign", "no {sign}"),
    ("silent", "silent|quiet|idle|inactive"),
    ("sign", "answer|answers|reply|replies|response|input|message|messages|reaction|activity|word|speech"),
    ("from", "from|by {person}"),
    ("without", "without {the}? {sign} {from}?"),
    ("since", "since {the}? question|answer|message|last_message|last_answer"),
    ("of_silence", "of {silence}"),
    ("for_time", "for|in|within|after more_than|at_least|longer_than|over? {time}"),
    ("has_not", "has_not|hasn't|have_not|haven't"),
    ("does_not", "does_not|doesn't|do_not|don't|did_not|didn't"),
    ("answered", "answered|replied|responded|reacted|spoken|written|typed|said_anything|written_anything"),
    ("answer", "answer|reply|respond|react|speak|write|type|say_anything|say_a_word|write_anything"),
    ("answers", "answers|has_answered|replies|has_replied|responds|has_responded|speaks|has_spoken|writes|has_written"),
    ("says", "say|says|said|has_said|writes|has_written|types|has_typed"),
    ("stays", "is|are|was|stays|stay|remains|remain|keeps|keep|goes|falls|has_been|have_been|has_gone"),
    ("there_is", "there_is|there's|there_was|there_has_been|there_comes"),
    ("comes", "comes|comes_in|arrives|is_given|has_come|has_arrived"),
    ("pass", "pass|passes|passed|have_passed|has_passed|elapse|have_elapsed|has_elapsed|have_gone_by|has_gone_by"),
    // What the user says and gives, and what changes.
    ("mentions", "mentions|contains|includes|has"),
    ("gives", "{provides}|{has_given}"),
    ("has_given", "{has}? {given}"),
    ("provides", "provides|gives|enters|supplies|specifies"),
    ("given", "provided|given|entered|supplied|specified|told_us"),
    ("changes", "{has}? changes|changed|updates|updated|modifies|modified"),
    ("has", "has|have"),
    ("change", "change|changes|{is_changed}|gets_a_new_value"),
    ("is_changed", "{is} {changed}"),
    ("is", "is|was|has|has_been|are|were|have|have_been"),
    ("changed", "changed|updated|modified"),
    // Events from outside.
    ("arrives", "arrives|has_arrived|comes|comes_in|has_come|happens|has_happened|occurs|is_received|is_sent"),
    // Calls.
    ("calling", "calling|using|running|executing|invoking|{a_call}"),
    ("a_call", "a|each|every|any call of|to"),
    ("thing", "{each}|{tool}"),
    ("each", "each|every|any {tool}?"),
    ("tool", "the? tool|playbook|function|plan"),
    ("before", "right|just|immediately|shortly? before"),
    ("anything", "{any_call}|something|anything|the_last_call|the_call|the_last_tool_call"),
    ("any_call", "any|a|some|one_of_the tool|tools|call|calls|function|tool_call"),
    ("failure", "failure|failures|error|errors"),
    ("end", "end|exit|ending|close"),
    ("ends", "ends|end|closes|stops|exits|{is_over}"),
    ("is_over", "is|was over|finished|closed|done"),
    ("daily", "{each_day}|daily|weekly|{on_day}|{once_a_week}"),
    ("each_day", "every|each day|morning|noon|afternoon|evening|night|{weekday}"),
    ("on_day", "on {weekday}"),
    ("once_a_week", "once_a_day|once_a_week ,? on|at"),
    (
        "weekday",
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekday|weekdays|weekend|weekends",
    ),
    ("units", "seconds|minutes|hours|days|weeks|second|minute|hour|day|week"),
    ("called", "called|run|used|executed|invoked"),
    ("about_to", "run|start|begin|be_called|be_run|be_used"),
    ("was", "is|was|gets|has_been|had_been"),
    ("done", "done|finished|completed|over"),
    ("returns", "{returned}|returns|finishes|completes|ends|runs|ran|succeeds|succeeded"),
    ("returned", "has? returned|finished|completed|ended|run"),
    ("fails", "{error}|{breaks}|fails|fail|failed|has_failed|goes_wrong|went_wrong|has_gone_wrong"),
    ("breaks", "{does_not} work|go_through|succeed"),
    ("error", "returns|returned|gives|gave|throws|threw|raises|raised an_error"),
];
