//! Expressions to values, in tables; what services gave is part of a table.
//!
//! Lines of a table: `now TIME`, `zone NAME`, `given NAME = JSON`, `secret NAME = JSON`,
//! `returned NAME.DOMAIN = JSON`, `returned NAME.DOMAIN = JSON, OTHER = JSON`; every other one is the text of an
//! alias. Golden lines have its value as JSON behind `=`, or behind `!` why there is none.

use std::sync::Arc;

use playhouse::diagnostic::Severity;
use playhouse::lang::dataflow::{AliasBody, Template};
use playhouse::lang::plan::Plan;
use playhouse::value::Value;
use playhouse::vm::dataflow::date::{Calendar, TimesOfDay, zone};
use playhouse::vm::dataflow::evaluate::{AliasValue, Datum, collapse, evaluate, slot_values};
use playhouse::vm::protocol::Timestamp;
use playhouse::vm::protocol::{Origin, Tracked};

use super::{Case, dataflow};
use crate::golden;

fn at(now: &str, zone_name: &str) -> Calendar {
    let now: jiff::Timestamp = now.parse().unwrap();
    Calendar::new(Timestamp(now.as_millisecond()), zone(zone_name).unwrap(), TimesOfDay::default())
}

/// A Tuesday in December.
pub(super) fn calendar() -> Calendar {
    at("2023-12-05T10:30:00-08:00", "America/Los_Angeles")
}

/// The plan with the aliases `others`, and the template that `text` is.
pub(super) fn template_of(others: &str, text: &str) -> (Plan, Template) {
    let quoted = text.replace('\'', "''");
    let case = Case::new("a.yaml", &format!("{others}result: '{quoted}'\n"));
    let errors = case.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{}", case.shown());
    let plan = case.plan.unwrap();
    let document = dataflow(&plan);
    let AliasBody::Text(template) = document.alias(document.result).body.clone() else { panic!("{text} is no text") };
    (plan, template)
}

#[derive(Default)]
struct Table {
    now: String,
    zone: String,
    names: Vec<String>,
    values: Vec<Option<AliasValue>>,
}

impl Table {
    /// Takes a line that says something about the world.
    fn take(&mut self, line: &str) -> bool {
        let Some((word, rest)) = line.split_once(' ') else { return false };
        let (name, text) = rest.split_once(" = ").unwrap_or((rest, ""));
        let given = |text: &str| Tracked::new(Value::from_json(text).unwrap(), Origin::TOOL);
        let value = match word {
            "now" => {
                self.now = rest.to_owned();
                return true;
            }
            "zone" => {
                self.zone = rest.to_owned();
                return true;
            }
            "given" => AliasValue::from(given(text)),
            "secret" => AliasValue::from(given(text).secret_if(true)),
            "returned" => {
                let (_, first) = name.split_once('.').unwrap();
                let results = format!("{first} = {text}");
                let results = results.split("; ").map(|result| {
                    let (domain, json) = result.split_once(" = ").unwrap();
                    (Arc::from(domain), given(json))
                });
                collapse(results.collect())
            }
            _ => return false,
        };
        self.names.push(name.split('.').next().unwrap().to_owned());
        self.values.push(Some(value));
        true
    }

    fn row(&self, text: &str) -> String {
        let others: String = self.names.iter().map(|name| format!("{name}:\n")).collect();
        let quoted = text.replace('\'', "''");
        let case = Case::new("a.yaml", &format!("{others}result: '{quoted}'\n"));
        if let Some(error) = case.diagnostics.iter().find(|found| found.severity == Severity::Error) {
            return format!("! before anything runs: {}", error.message);
        }
        let (plan, template) = template_of(&others, text);
        match evaluate(dataflow(&plan), &template, &self.values, &at(&self.now, &self.zone)) {
            Ok(value) if value.provenance.is_secret() => format!("= {} (secret)", value.datum.to_value()),
            Ok(value) => format!("= {}", value.datum.to_value()),
            Err(fault) => {
                assert!(case.sources.get(plan.file).unwrap().text.get(fault.place).is_some());
                format!("! {}", fault.message)
            }
        }
    }
}

#[test]
fn tables() {
    golden::check("plans/dataflow/evaluate", &["txt"], |_, text| {
        let mut table = Table::default();
        let rows = text.lines().map(|line| {
            if line.is_empty() || line.starts_with('#') || table.take(line) {
                format!("{line}\n")
            } else {
                format!("{line}\n    {}\n", table.row(line))
            }
        });
        rows.collect()
    });
}

#[test]
fn dates_stay_dates_until_they_leave_the_plan() {
    let (plan, template) = template_of("A:\n", "${tomorrow}");
    let none = vec![None];
    let tomorrow = evaluate(dataflow(&plan), &template, &none, &calendar()).unwrap();
    assert!(matches!(tomorrow.datum, Datum::When(_)));
    let values = vec![Some(tomorrow)];
    for (text, expected) in [
        ("${A.plus(1, day)}", "2023-12-07"),
        ("${A.morning}", "2023-12-06T09:00:00-0800"),
        ("on ${A}", "on 2023-12-06"),
        ("${[A]}", "[\"2023-12-06\"]"),
    ] {
        let (plan, template) = template_of("A:\n", text);
        let value = evaluate(dataflow(&plan), &template, &values, &calendar()).unwrap();
        assert_eq!(value.datum.to_text(), expected);
    }
}

#[test]
fn slots_are_lists_of_values_as_they_are() {
    let text = "A:\nresult:\n  d:\n    s: [x, \"${A}\", \"n ${A.n}\", \"${A.n}\", \"${today}\"]\n    t:\n";
    let case = Case::new("a.yaml", text);
    let plan = case.plan.unwrap();
    let document = dataflow(&plan);
    let AliasBody::Domains(domains) = &document.alias(document.result).body else { panic!("no domains") };
    let given = Tracked::new(Value::from_json("{\"n\": 3}").unwrap(), Origin::USER).secret_if(true);
    let values = vec![Some(AliasValue::from(given))];
    let slot = |index: usize| slot_values(document, &domains[0].slots[index], &values, &calendar()).unwrap();
    assert_eq!(slot(0).value().to_json(), "[\"x\",{\"n\":3},\"n 3\",3,\"2023-12-05\"]");
    assert!(slot(0).is_secret() && slot(0).origin() == Origin::USER);
    assert_eq!(slot(1), Tracked::new(Value::list(Vec::new()), Origin::CODE));
}

#[test]
fn origins_of_all_that_went_in_are_joined() {
    let (plan, template) = template_of("A:\nB:\nC:\n", "${[A, B.x]} ${today}");
    let value = |origin| Some(AliasValue::from(Tracked::new(Value::from_json("{\"x\": 1}").unwrap(), origin)));
    let values = vec![value(Origin::TOOL), value(Origin::USER), value(Origin::MODEL)];
    let result = evaluate(dataflow(&plan), &template, &values, &calendar()).unwrap();
    assert_eq!(result.tracked().origin(), Origin::TOOL.with(Origin::USER));
    let (plan, template) = template_of("A:\n", "${today}");
    let result = evaluate(dataflow(&plan), &template, &[None], &calendar()).unwrap();
    assert_eq!(result.tracked().origin(), Origin::CODE);
    let (plan, template) = template_of("A:\n", "${A.x}");
    let fault = evaluate(dataflow(&plan), &template, &[None], &calendar()).unwrap_err();
    assert_eq!(fault.message, "the alias `A` has no value yet");
}

#[test]
fn one_domain_collapses_and_several_do_not() {
    let result = |json: &str| Tracked::new(Value::from_json(json).unwrap(), Origin::TOOL);
    let of = |results: &[(&str, &str)]| {
        let results = results.iter().map(|(name, json)| (Arc::from(*name), result(json)));
        collapse(results.collect()).tracked().value().to_json()
    };
    for (returned, value) in
        [("[{\"a\":1}]", "{\"a\":1}"), ("[[1]]", "[1]"), ("[]", "[]"), ("[1,2]", "[1,2]"), ("5", "5"), ("null", "null")]
    {
        assert_eq!(of(&[("d", returned)]), value);
    }
    assert_eq!(of(&[("d", "[1]"), ("e", "[]")]), "{\"d\":[1],\"e\":[]}");
}

#[test]
fn zones_are_known_by_name_and_offset() {
    for name in ["America/Los_Angeles", "europe/berlin", "UTC", "-08:00", "+0530", "+05:45", "-03", "Asia/Kolkata"] {
        assert!(zone(name).is_ok(), "{name}");
    }
    let message = |name: &str| zone(name).unwrap_err();
    assert_eq!(
        message("America/Los_Angles"),
        "there is no time zone `America/Los_Angles`; did you mean `America/Los_Angeles`?"
    );
    for name in ["", "Mars/Olympus", "-25:00", "+05:30x", "08:00", "../etc/passwd", "-8:00"] {
        assert!(message(name).starts_with("there is no time zone"), "{name}");
    }
}

/// Nothing that can stand in a journal's time stamp is a panic.
#[test]
fn the_ends_of_the_calendar_are_faults() {
    for now in [i64::MIN, i64::MAX, -1, 0] {
        for zone_name in ["UTC", "America/Los_Angeles", "-23:59", "+23:59"] {
            let calendar = Calendar::new(Timestamp(now), zone(zone_name).unwrap(), TimesOfDay::default());
            for text in ["${yesterday}", "${tomorrow}", "${last(week)}", "${next(year)}", "${this(night)}", "${now}"] {
                let (plan, template) = template_of("", text);
                let result = evaluate(dataflow(&plan), &template, &[], &calendar);
                assert!(result.is_ok() || result.unwrap_err().message.contains("outside the calendar"));
            }
        }
    }
}
