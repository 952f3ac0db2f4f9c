//! The words of comparisons and of texts without quotes: tables to read and to extend (docs/language.md, "Expressions").

use std::sync::LazyLock;

use crate::diagnostic::spelling::Vocabulary;
use crate::expr::tree::{BinaryOperator as Op, Test};

use Says::{Compares, Tests, TestsNot};

/// Whether `word` stands in a list of words, in any case.
pub(crate) fn is_one_of(list: &str, word: &str) -> bool {
    // By bytes: `str::split` took a seventh of the time of loading.
    list.as_bytes().split(|byte| *byte == b' ').any(|known| known.eq_ignore_ascii_case(word.as_bytes()))
}

/// The comparison that a sign stands for.
pub(super) fn operator_of(sign: &str) -> Option<Op> {
    match sign {
        "==" | "=" => Some(Op::Equal),
        "!=" | "<>" | "≠" => Some(Op::NotEqual),
        "<" => Some(Op::Less),
        "<=" | "≤" => Some(Op::LessOrEqual),
        ">" => Some(Op::Greater),
        ">=" | "≥" => Some(Op::GreaterOrEqual),
        _ => None,
    }
}

/// What words after the left side say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Says {
    /// A comparison with what follows.
    Compares(Op),
    /// `between 3 and 5`.
    Between,
    /// `reaches 3`: from below, but 0 from above.
    Reaches,
    /// Nothing follows.
    Tests(Test),
    /// The opposite of a test.
    TestsNot(Test),
    /// `none of "a", "b"`.
    IsNoneOf,
    /// `yes`, `no`.
    Is(bool),
}
/// What can follow `is`; of two that begin alike the longer stands first.
pub(super) const AFTER_IS: &[(&str, Says)] = &[
    ("empty", Tests(Test::Empty)),
    ("blank", Tests(Test::Empty)),
    ("provided", Tests(Test::Provided)),
    ("given", Tests(Test::Provided)),
    ("known", Tests(Test::Provided)),
    ("set", Tests(Test::Provided)),
    ("missing", TestsNot(Test::Provided)),
    ("unknown", TestsNot(Test::Provided)),
    ("unset", TestsNot(Test::Provided)),
    ("yes", Says::Is(true)),
    ("no", Says::Is(false)),
    ("between", Says::Between),
    ("from", Says::Between),
    ("one of", Compares(Op::In)),
    ("none of", Says::IsNoneOf),
    ("among", Compares(Op::In)),
    ("anything but", Compares(Op::NotEqual)),
    ("other than", Compares(Op::NotEqual)),
    ("any of", Compares(Op::In)),
    ("in", Compares(Op::In)),
    ("equal to", Compares(Op::Equal)),
    ("the same as", Compares(Op::Equal)),
    ("same as", Compares(Op::Equal)),
    ("identical to", Compares(Op::Equal)),
    ("exactly", Compares(Op::Equal)),
    ("different from", Compares(Op::NotEqual)),
];

/// How much more or less: after `is`, and after `has` in front of a number of items.
pub(super) const DEGREES: &[(&str, Op)] = &[
    ("at least", Op::GreaterOrEqual),
    ("at most", Op::LessOrEqual),
    ("a minimum of", Op::GreaterOrEqual),
    ("a maximum of", Op::LessOrEqual),
    ("no more than", Op::LessOrEqual),
    ("no less than", Op::GreaterOrEqual),
    ("no fewer than", Op::GreaterOrEqual),
    ("up to", Op::LessOrEqual),
    ("no later than", Op::LessOrEqual),
    ("no earlier than", Op::GreaterOrEqual),
    ("on or after", Op::GreaterOrEqual),
    ("on or before", Op::LessOrEqual),
    ("over", Op::Greater),
    ("above", Op::Greater),
    ("beyond", Op::Greater),
    ("past", Op::Greater),
    ("after", Op::Greater),
    ("before", Op::Less),
    ("under", Op::Less),
    ("below", Op::Less),
];

/// Comparatives: `more than`, `more than or equal to`, `3 or more`.
pub(super) const COMPARATIVES: &[(&str, Op)] = &[
    ("more", Op::Greater),
    ("greater", Op::Greater),
    ("larger", Op::Greater),
    ("bigger", Op::Greater),
    ("higher", Op::Greater),
    ("longer", Op::Greater),
    ("later", Op::Greater),
    ("older", Op::Greater),
    ("above", Op::Greater),
    ("over", Op::Greater),
    ("less", Op::Less),
    ("fewer", Op::Less),
    ("smaller", Op::Less),
    ("lower", Op::Less),
    ("shorter", Op::Less),
    ("earlier", Op::Less),
    ("younger", Op::Less),
    ("below", Op::Less),
    ("under", Op::Less),
];

/// Verbs: as they stand after a subject, and after `does not`.
pub(super) const VERBS: &[(&str, &str, Says)] = &[
    ("in", "in", Compares(Op::In)),
    ("contains", "contain", Compares(Op::Contains)),
    ("includes", "include", Compares(Op::Contains)),
    ("mentions", "mention", Compares(Op::Contains)),
    ("starts with", "start with", Compares(Op::StartsWith)),
    ("begins with", "begin with", Compares(Op::StartsWith)),
    ("ends with", "end with", Compares(Op::EndsWith)),
    ("ends in", "end in", Compares(Op::EndsWith)),
    ("says", "say", Compares(Op::Says)),
    ("equals", "equal", Compares(Op::Equal)),
    ("changes to", "change to", Compares(Op::Equal)),
    ("turns", "turn", Compares(Op::Equal)),
    ("differs from", "differ from", Compares(Op::NotEqual)),
    ("exceeds", "exceed", Compares(Op::Greater)),
    ("goes above", "go above", Compares(Op::Greater)),
    ("goes over", "go over", Compares(Op::Greater)),
    ("rises above", "rise above", Compares(Op::Greater)),
    ("drops below", "drop below", Compares(Op::Less)),
    ("falls below", "fall below", Compares(Op::Less)),
    ("falls under", "fall under", Compares(Op::Less)),
    ("goes below", "go below", Compares(Op::Less)),
    ("reaches", "reach", Says::Reaches),
    ("hits", "hit", Says::Reaches),
    ("climbs to", "climb to", Compares(Op::GreaterOrEqual)),
    ("rises to", "rise to", Compares(Op::GreaterOrEqual)),
    ("goes up to", "go up to", Compares(Op::GreaterOrEqual)),
    ("drops to", "drop to", Compares(Op::LessOrEqual)),
    ("falls to", "fall to", Compares(Op::LessOrEqual)),
    ("sinks to", "sink to", Compares(Op::LessOrEqual)),
    ("goes down to", "go down to", Compares(Op::LessOrEqual)),
    ("exists", "exist", Tests(Test::Provided)),
];

/// What `has been` is followed by.
pub(super) const HAS_BEEN: &[&str] = &["provided", "given", "set", "entered", "specified", "supplied", "filled in"];

/// What is said of two variables at once.
pub(super) const SAME: &[(&str, Op)] = &[
    ("the same", Op::Equal),
    ("equal", Op::Equal),
    ("identical", Op::Equal),
    ("different", Op::NotEqual),
    ("not the same", Op::NotEqual),
];

/// The words of all comparisons.
pub(crate) fn condition_words() -> impl Iterator<Item = &'static str> {
    let verbs = VERBS.iter().flat_map(|(plain, negated, _)| [*plain, *negated]);
    let tables =
        AFTER_IS.iter().map(|row| row.0).chain(DEGREES.iter().chain(COMPARATIVES).chain(SAME).map(|row| row.0));
    let words = tables.chain(verbs).chain(HAS_BEEN.iter().chain(ANY_CASE).copied()).chain([
        ITEMS,
        ACTION_VERBS,
        "than is becomes both neither nor",
    ]);
    words.flat_map(|words| words.split(' ')).filter(|word| !word.is_empty())
}

/// Words that say something of a variable by themselves: one that is nearly such a word is no text.
pub(super) static PREDICATES: LazyLock<Vocabulary> = LazyLock::new(|| {
    let alone = AFTER_IS.iter().filter(|(_, says)| matches!(says, Tests(_) | TestsNot(_))).map(|(word, _)| *word);
    Vocabulary::new(alone.filter(|word| word.len() > 4).map(str::to_owned))
});

/// The call whose result came last, and whether what is said of it is that it failed.
pub(super) const LAST_CALL: &[&str] = &["the last call", "the call", "that call", "this call", "the last tool call"];
pub(super) const CALL_ENDS: &[(&str, bool)] = &[
    ("failed", true),
    ("has failed", true),
    ("fails", true),
    ("went wrong", true),
    ("did not work", true),
    ("was refused", true),
    ("gave an error", true),
    ("worked", false),
    ("succeeded", false),
    ("has worked", false),
    ("has succeeded", false),
    ("did not fail", false),
];

/// What is counted after a number; of anything else the number may be another matter.
pub(super) const ITEMS: &str = "items item elements element entries entry members member characters letters words";

/// Words after a number that change nothing about it.
pub(super) const UNITS: &str = "euros euro eur dollars dollar usd pounds percent points point years year days day hours hour minutes minute \
    seconds times people persons guests nights degrees kg km";

/// Signs of money beside a number, in front of it or after it, which change nothing, either.
pub(super) const MONEY: &str = "€ £ ¥ $";

/// Units of ages: what is `30 days old`, or older than that, is not the number 30, and nothing here computes an age. Only
/// what is called an age is a number, in years.
pub(crate) const AGES: &str = "minute minutes hour hours day days week weeks month months year years";
pub(super) const YEARS: &str = "year years";

/// Words for a moment that the clock decides: no texts.
pub(crate) const MOMENTS: &str = "today tomorrow yesterday tonight now noon midday midnight";

/// What is said of several variables at once: what stands in front of them, the words that may join them, what joins what is
/// said of each, and whether each is denied.
pub(super) const QUANTIFIERS: &[(&str, &str, Op, bool)] = &[
    ("both of", "and", Op::And, false),
    ("both", "and", Op::And, false),
    ("all of", "and", Op::And, false),
    ("each of", "and", Op::And, false),
    ("either of", "or", Op::Or, false),
    ("either", "or", Op::Or, false),
    ("at least one of", "and or", Op::Or, false),
    ("any of", "and or", Op::Or, false),
    ("neither of", "and nor or", Op::And, true),
    ("neither", "nor or", Op::And, true),
    ("none of", "and nor or", Op::And, true),
];

/// What turns a comparison of texts into one that looks at no case.
pub(crate) const ANY_CASE: &[&str] = &[
    "any case",
    "ignoring upper and lower case",
    "ignoring upper or lower case",
    "ignoring upper / lower case",
    "ignoring the case",
    "ignoring case",
    "in any case",
    "whatever the case",
    "whatever its case",
    "regardless of case",
];

/// A judgement, not the name of something: `$order is late` may be decided by a model, `$status is shipped` not.
pub(super) const JUDGEMENTS: &str = "acceptable angry annoyed appropriate bad big busy cheap clear close complicated correct critical dangerous \
    different difficult early easy even expensive fair familiar far fine fresh friendly funny good great happy \
    hard high honest illegal impatient implausible important impossible inappropriate incomplete incorrect \
    interested interesting invalid irrelevant large late likely long low negative new nice obvious odd offensive \
    ok okay old plausible polite poor positive possible problematic ready real realistic reasonable recent \
    related relevant right risky rude safe satisfied sensible serious short small strange strong sufficient \
    suitable suspicious too unclear unhappy unlikely unreasonable unsafe unsure upset urgent useful vague valid \
    weak well wrong";

/// Words that ask whether something is there and may be the name of a state, too (`If $room is not available`): they are read
/// as texts, which is told. Beside each stands the word that asks.
pub(crate) const EXISTENCE: &[(&str, &str)] = &[
    ("found", "provided"),
    ("available", "provided"),
    ("present", "provided"),
    ("defined", "provided"),
    ("specified", "provided"),
    ("supplied", "provided"),
    ("entered", "provided"),
    ("located", "provided"),
    ("existing", "provided"),
    ("existent", "provided"),
    ("absent", "missing"),
    ("unavailable", "missing"),
    ("undefined", "missing"),
    ("unspecified", "missing"),
    ("nonexistent", "missing"),
    ("nil", "missing"),
];

/// Words that no name of a state or kind begins with.
pub(super) const NO_TEXT: &str = "a about after all almost already also always among an and any anything around as at be because been before \
    being but by can cannot could did do does done each either enough every everything exactly few for from \
    going had has have he her here his how i if in is it its just length less like many may maybe mentioned \
    missing more most mostly much must my nearly neither never no nor not nothing now of often on only or other \
    our out over perhaps possibly probably quite rather really same she should similar since so some something \
    sometimes still such sure than that the their them then there these they this those through to too two under \
    unless until up very was we were what when where whether which while who why will with within without would \
    yet you your";

/// Verbs with which an action begins: where one follows a comma or a text without quotes, the condition is over.
pub(crate) const ACTION_VERBS: &str = "add apologise apologize ask break call collect congratulate continue create do end escalate exit explain get \
    give go greet hand inform let offer prompt quit refuse remind repeat request return run say send set show \
    skip stop suggest tell thank wait welcome wish";

/// How many words a text without quotes has at most.
pub(super) const MAX_TEXT_WORDS: usize = 3;

/// How many variables one `are` is said of, and texts an `or` joins; a bound for hostile texts only.
pub(super) const MAX_JOINED: usize = 16;
