//! What a condition in words is about, as far as patterns can tell ("When the user gives an email address"), and
//! whether updates make it true. Nothing is said of a condition that says anything more.

use std::sync::LazyLock;

use playhouse_lang::diagnostic::wording::one_line;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::{USER_MESSAGE, Update};
use regex::Regex;

use crate::patterns::{Polarity, Thing, answer, compiled, gives, is_whole, withholds};

const WHEN: &str = r"^(?:when(?:ever)?|if|once|as soon as|after|every time|each time)\s+";

const USER: &str =
    r"(?:(?:the|a|an)\s+)?(?:user|customer|caller|client|guest|visitor|person|someone|somebody|they|he|she)";

const GIVES: &str = r"(?:has\s+|have\s+)?(?:just\s+)?(?:gives?|given|gave|provides?|provided|enters?|entered|types?(?:\s+in)?|typed(?:\s+in)?|shares?|shared|tells?|told|states?|stated|mentions?|mentioned|submits?|submitted|supplies|supplied|supply|specifies|specified|specify|includes?|included|names?|named)(?:\s+(?:me|us|you))?";

const WHOSE: &str = r"(?:(?:an?|the|his|her|their|his\s+or\s+her|its|some|any|your)\s+)?(?:(?:valid|contact|full)\s+)?";

const REFUSES: &str = r"(?:(?:refuses|declines)\s+to\s+\w+|(?:does\s+not|doesn't)\s+(?:want|wish)\s+to\s+\w+|(?:won't|will\s+not)\s+\w+|(?:does\s+not|doesn't)\s+have|has\s+no|withholds)";

const EMAIL: &str = r"(?:e-?mail(?:s|(?:\s+|_)(?:address(?:es)?|ids?))?|mail(?:\s+|_)address(?:es)?)";

const PHONE: &str = r"(?:(?:tele|cell\s?|mobile\s)?phone(?:\s+|_)numbers?|(?:mobile|cell|contact|call-?back)(?:\s+|_)numbers?|telephone)";

const DATE: &str = r"(?:dates?(?:\s+of\s+birth)?|(?:birth\s?|birth_|calendar\s)dates?|birthday)";

const NUMBER: &str = r"(?:numbers?|numeric\s+value|number\s+value)";

const END: &str = r"(?:\s+in\s+(?:the|a|an|his|her|their)\s+(?:message|answer|reply))?\s*[.!]?$";

/// What a trigger in words is about, as far as patterns can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// The user gives a thing.
    Gives(Thing),
    /// The user does not want to give one, or has none.
    Withholds(Thing),
    /// The user answers; none: yes or no.
    Answers(Option<Polarity>),
    /// A variable gets a thing: its value holds one.
    Gets(String, Thing),
    /// A variable's value is a thing, or is none.
    Is(String, Thing, bool),
}

/// The forms of triggers, compiled once.
struct Forms {
    gives: Regex,
    is_given: Regex,
    contains: Regex,
    withholds: Regex,
    answers: Regex,
    gives_variable: Regex,
    is: Regex,
    /// What each thing is called, and the words among which it is withheld.
    things: [(Thing, Regex, Regex); 4],
}

static FORMS: LazyLock<Forms> = LazyLock::new(Forms::new);

impl Forms {
    fn new() -> Forms {
        let thing = format!("({EMAIL}|{PHONE}|{DATE}|{NUMBER})");
        let form = |pattern: String| compiled(&format!("(?i){pattern}"));
        let named =
            |thing, name: &str, words: &str| (thing, form(format!(r"^{name}$")), form(format!(r"\b(?:{words})\b")));
        let answers = r"(?:(says|answers(?:\s+with)?|replies(?:\s+with)?|responds(?:\s+with)?|said|answered|replied)\s+(?:with\s+)?(?:an?\s+)?[\x22'“]?(yes|no|yes\s+or\s+no)[\x22'”]?|(agrees|accepts|confirms|consents|approves|says\s+ok(?:ay)?)|(disagrees|declines|refuses|rejects)|gives\s+a\s+(yes[- ]or[- ]no)\s+answer)";
        Forms {
            gives: form(format!(r"{WHEN}{USER}\s+{GIVES}\s+{WHOSE}{thing}{END}")),
            is_given: form(format!(
                r"{WHEN}{WHOSE}{thing}\s+(?:is|was|are|has\s+been|have\s+been)\s+(?:given|provided|entered|mentioned|shared|stated|supplied|submitted)(?:\s+by\s+{USER})?{END}"
            )),
            contains: form(format!(
                r"{WHEN}(?:the|a|an)\s+(?:(?:user|customer|caller|client)(?:'s|’s)?\s+)?(?:message|reply|answer|text|input|last\s+message)\s+(?:contains|includes|has|holds|mentions)\s+{WHOSE}{thing}\s*[.!]?$"
            )),
            withholds: form(format!(r"{WHEN}{USER}\s+{REFUSES}\s+{WHOSE}{thing}{END}")),
            answers: form(format!(r"{WHEN}{USER}\s+{answers}(?:\s+(?:to\s+)?(?:it|that|this|so))?{END}")),
            gives_variable: form(format!(r"{WHEN}{USER}\s+{GIVES}\s+{WHOSE}\$(\w+){END}")),
            is: form(format!(
                r"{WHEN}\$(\w+)\s+(is|looks\s+like|is\s+not|isn't|is\s+no|does\s+not\s+look\s+like|doesn't\s+look\s+like)\s+{WHOSE}{thing}\s*[.!]?$"
            )),
            things: [
                named(Thing::Email, EMAIL, "(?:e-?mail|mail address|address)(?:es|s)?"),
                named(Thing::Phone, &format!("(?:{PHONE}|phone)"), "(?:(?:tele|cell)?phone|mobile|number)s?"),
                named(Thing::Date, DATE, "(?:date|day|birthday)s?"),
                named(Thing::Number, NUMBER, "(?:number|figure)s?"),
            ],
        }
    }

    /// What a trigger is about; none: patterns cannot tell.
    fn read(&self, text: &str) -> Option<Rule> {
        let text = one_line(text);
        for form in [&self.gives, &self.is_given, &self.contains] {
            if let Some(found) = form.captures(&text) {
                return self.thing(&found[1]).map(Rule::Gives);
            }
        }
        if let Some(found) = self.withholds.captures(&text) {
            return self.thing(&found[1]).map(Rule::Withholds);
        }
        if let Some(found) = self.answers.captures(&text) {
            let said = found.get(2).map(|said| said.as_str().to_lowercase());
            return Some(Rule::Answers(match (said.as_deref(), found.get(3), found.get(4)) {
                (Some("yes"), ..) | (None, Some(_), _) => Some(Polarity::Yes),
                (Some("no"), ..) | (None, None, Some(_)) => Some(Polarity::No),
                _ => None,
            }));
        }
        if let Some(found) = self.gives_variable.captures(&text) {
            // A variable that is called as what it holds.
            return self.thing(&found[1]).map(|thing| Rule::Gets(found[1].to_owned(), thing));
        }
        let found = self.is.captures(&text)?;
        let is_it = !found[2].to_lowercase().contains("no") && !found[2].contains("n't");
        self.thing(&found[3]).map(|thing| Rule::Is(found[1].to_owned(), thing, is_it))
    }

    fn thing(&self, words: &str) -> Option<Thing> {
        self.things.iter().find(|(_, name, _)| name.is_match(words)).map(|(thing, ..)| *thing)
    }

    /// Whether a text withholds a thing.
    fn is_withheld(&self, text: &str, thing: Thing) -> bool {
        self.things.iter().any(|(one, _, words)| *one == thing && withholds(text, thing, words))
    }

    /// Whether one of the updates makes the rule true.
    fn holds(&self, rule: &Rule, updates: &[Update]) -> bool {
        let said = |judge: &dyn Fn(&str) -> bool| {
            let messages = updates.iter().filter(|update| &*update.name == USER_MESSAGE);
            messages.filter_map(|update| update.new.as_str()).any(judge)
        };
        let set = |name: &str, judge: &dyn Fn(&Update) -> bool| {
            updates.iter().filter(|update| update.name.eq_ignore_ascii_case(name)).any(judge)
        };
        match rule {
            Rule::Gives(thing) => said(&|text| gives(text, *thing)),
            Rule::Withholds(thing) => said(&|text| self.is_withheld(text, *thing)),
            Rule::Answers(None) => said(&|text| answer(text).is_some()),
            Rule::Answers(polarity) => said(&|text| answer(text) == *polarity),
            Rule::Gets(name, thing) => set(name, &|update| holds_thing(&update.new, *thing)),
            Rule::Is(name, thing, is_it) => set(name, &|update| {
                // What was so before is not made so.
                let was = update.old.as_ref().is_some_and(|old| is_thing(old, *thing) == *is_it);
                is_thing(&update.new, *thing) == *is_it && !was
            }),
        }
    }
}

/// Whether a value is a thing and nothing else.
fn is_thing(value: &Value, thing: Thing) -> bool {
    match value {
        Value::Int(_) | Value::Float(_) => thing == Thing::Number,
        Value::Str(text) => is_whole(text, thing),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => false,
    }
}

/// Whether a value holds a thing.
fn holds_thing(value: &Value, thing: Thing) -> bool {
    is_thing(value, thing) || value.as_str().is_some_and(|text| gives(text, thing))
}

/// Whether updates make a condition in words true, a trigger's or any other; none: patterns cannot tell.
pub fn judge_words(condition: &str, updates: &[Update]) -> Option<bool> {
    FORMS.read(condition).map(|rule| FORMS.holds(&rule, updates))
}
