//! Checks (`docs/checks.md`): what their text means, and what comes of them in runs.
//!
//! A case in `tests/cases/checks/` is one of [`crate::world`], then `=== checks`, and a check a line.

pub(crate) mod grammar;
pub(crate) mod naive;
mod reports;

use std::fmt::Write as _;

use playhouse::diagnostic::{Diagnostic, render};
use playhouse::host::checks::{Checks, Verdict, verify};
use playhouse::host::program::ToolInventory;
use playhouse::host::resource::prices::{Price, PriceTable};
use playhouse::host::travel::Run;
use playhouse::lang::evaluation::checks::{Check, Written};
use playhouse::lang::program::Program;
use playhouse::span::Sources;
use playhouse::vm::protocol::ToolSignature;

use crate::golden;
use crate::travel::cases::records;
use crate::world::{Chunking, World, begin, parse, play};

/// The bullets of a text: a check a line, its line being its number.
pub(crate) fn written(text: &str, sources: &mut Sources) -> Result<Vec<Written>, Vec<Diagnostic>> {
    let file = sources.add("checks.md", text);
    let (mut written, mut findings, mut offset) = (Vec::new(), Vec::new(), 0);
    for (line, raw) in text.split_inclusive('\n').enumerate() {
        match Check::parse(raw, file, offset) {
            _ if raw.trim().is_empty() => {}
            Ok(check) => written.push(Written { label: "Expect".into(), line: line + 1, check }),
            Err(finding) => findings.push(*finding),
        }
        offset += raw.len();
    }
    if findings.is_empty() { Ok(written) } else { Err(findings) }
}

/// Checks of a program.
pub(crate) fn checks(text: &str, program: &Program, tools: &[ToolSignature]) -> Result<Checks, String> {
    let mut sources = Sources::default();
    let tools = tools.iter().map(|tool| tool.signature.clone()).collect();
    let tools = ToolInventory { signatures: tools, ..ToolInventory::default() };
    let mut read = |_, path: &str| match path {
        "order.json" => Ok(r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#.to_owned()),
        "number.json" => Ok(r#"{"type":"number"}"#.to_owned()),
        "elsewhere.json" => Ok(r#"{"$ref":"file:///etc/passwd"}"#.to_owned()),
        "broken.json" => Ok(r#"{"type": 3}"#.to_owned()),
        "no.json" => Ok("{".to_owned()),
        other => Err(format!("there is no {other}")),
    };
    let made = written(text, &mut sources).and_then(|written| Checks::new(written, program, &tools, &mut read));
    let prices = Price { prompt: 1000.0, cached: None, completion: 2000.0 };
    let prices = PriceTable::new(vec![("x".into(), prices)]).unwrap();
    made.map(|checks| checks.with_prices(prices)).map_err(|findings| render(&findings, &sources, false))
}

/// What came of each check in a run.
fn verdicts(checks: &Checks, run: &Run) -> String {
    let mut text = String::new();
    for verified in verify(checks, run) {
        let verdict = match &verified.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Broken(breach) => {
                let point = breach.point.map_or_else(String::new, |point| format!(" at {point}"));
                let place = breach.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
                format!("broken{point}{place}: {}", breach.sentence)
            }
            Verdict::Open { why } => format!("open: {why}"),
            Verdict::Undecided { why } => format!("undecided: {why}"),
        };
        let _ = writeln!(text, "{}\n  {verdict}", verified.text);
    }
    text
}

#[test]
fn cases() {
    golden::check("checks", &["txt"], |_, text| {
        let (world, checked) = text.split_once("=== checks\n").unwrap();
        let case = parse(world);
        let world = play(World::new(begin(&case)), &case, Chunking::Whole);
        let run = Run::stored(records(&case, &world)).unwrap();
        match checks(checked, world.machine.program(), &case.tools) {
            Ok(checks) => verdicts(&checks, &run),
            Err(findings) => findings,
        }
    });
}
