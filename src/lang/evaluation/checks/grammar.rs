//! The grammar of checks: every form, an example of it, and what it means. The table of `docs/checks.md` is this one.
//!
//! ```text
//! call    = Name [ "(" [ argument { "," argument } ] ")" ] [ "returns" JSON | "fails" ]
//! argument = [ name ":" ] ( JSON | "/" re "/" | "$" name )
//! atom    = call | "says" /re/ | "user says" /re/ | "reaches" P [ ":" line ] | "fires" P ":T" N
//! check   = [ "never" ] atom | atom N "times" | "at most" N atom [ "per" $x ]
//!         | atom "only after" atom | call "only knowing" call | atom "only if" EXPR
//!         | "after" atom [ "until" atom ] "never" atom | atom "is followed by" atom [ "within" N "turns" ]
//!         | EXPR | ( $x | "result" ) "matches schema" FILE
//!         | ( "turns" | "tokens" | "cost" | "seconds" | "depth" ) "at most" N | "judge:" TEXT
//! ```
//!
//! `EXPR` is a condition of the language (`crate::expr`). What begins like one (`$x`, a number, a text, a bracket, `not`,
//! `length of`, …) is a check of the end; every other word is the name of a call.

/// One form.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// How it is written.
    pub form: &'static str,
    /// A check that has it.
    pub example: &'static str,
    /// When it holds; of an atom, what it stands for.
    pub means: &'static str,
}

const fn rule(form: &'static str, example: &'static str, means: &'static str) -> Rule {
    Rule { form, example, means }
}

/// What can happen.
pub const ATOMS: [Rule; 7] = [
    rule(
        "`Name(arg: JSON, arg: /re/, arg: $x)`",
        r#"Refund(order_id: "4334", reason: /late/)"#,
        "a tool, playbook or plan is called; arguments that you leave out may have any value, and leading arguments \
         need no name",
    ),
    rule("`Name(…) returns JSON`", r#"Verify($id) returns {"ok": true}"#, "such a call returns this result"),
    rule("`Name(…) fails`", "Verify fails", "such a call ends with an error"),
    rule("`says /re/`", "says /cannot refund/", "the program says something that matches"),
    rule("`user says /re/`", "user says /(?i)refund/", "the user says something that matches"),
    rule("`reaches P`, `reaches P:04`", "reaches Pay:03", "a playbook or plan begins, or its line is reached"),
    rule("`fires P:T1`", "fires Calm:T1", "the trigger fires"),
];

/// What you can say about it.
pub const CHECKS: [Rule; 14] = [
    rule("`atom`", "Verify", "it happens"),
    rule("`never atom`", "never says /voucher/", "it does not happen"),
    rule("`atom N times`", "reaches Ask:02 2 times", "it happens exactly N times"),
    rule(
        "`at most N atom`, `… per $x`",
        "at most 1 Refund(order_id: $id) per $id",
        "it happens at most N times, overall, or for each value of `$x`",
    ),
    rule("`atom only after atom`", "Refund($id) only after Verify($id)", "the second happens before each of the first"),
    rule(
        "`call only knowing call`",
        r#"Refund($id) only knowing Verify($id) returns {"ok": true}"#,
        "the same, and the model already had the result of the second when it began the reply with the first: two \
         calls in one reply do not know of each other; explicit lines and plans know everything before them",
    ),
    rule("`atom only if EXPR`", "Refund(amount: $a) only if $a < $limit", "the condition holds whenever it happens"),
    rule(
        "`after atom until atom never atom`",
        "after Cancel($id) until Reopen($id) never Refund($id)",
        "after each of the first, the third does not happen before the second; `until atom` is optional",
    ),
    rule(
        "`atom is followed by atom`, `… within N turns`",
        "user says /human/ is followed by Transfer within 2 turns",
        "the second happens after each of the first, before the model is asked more than N times",
    ),
    rule("`EXPR`", r#"$state is "refunded""#, "the condition holds at the end"),
    rule(
        "`$x matches schema FILE`",
        "$order matches schema order.schema.json",
        "the variable matches the schema at the end",
    ),
    rule(
        "`result matches schema FILE`",
        "result matches schema result.schema.json",
        "the program's result matches the schema",
    ),
    rule(
        "`turns at most N`",
        "tokens at most 20000",
        "the program stays within the limit; also `tokens`, `cost`, `seconds` (without waiting for a person), `depth` \
         (of nested playbooks)",
    ),
    rule("`judge: TEXT`", "judge: The user was told why.", "a model that reads the transcript agrees"),
];
