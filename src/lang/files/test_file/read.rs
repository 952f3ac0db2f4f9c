//! Reading a test file: line by line, strict. Every finding says what to do next.

use std::collections::HashMap;

use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

use super::form::{Edit, Interruption, TestFile, TestModel, TestStep, TestStepKind};
use super::item::{OUTCOMES, during, edit, event, outcome, variable, wait};
use super::read_model::is_written;
use crate::files::case_file::call::{ExpectedCall, call};
use crate::files::case_file::item::{Wrong, json_or_text};
use crate::files::case_file::lines::{Line, Read, Reader, Section, TopItem, split};
use crate::files::case_file::mention::{MentionKind, Owner};
use crate::files::case_file::names::{self, Named};
use crate::span::{FileId, Span};
use crate::value::{Map, Value};

/// The headings there are.
const HEADINGS: [&str; 10] =
    ["User", "Event", "Wait", "Set", "Model", "Says", "Calls", "Variables", "Outcome", "Expect"];

/// What can stand in the list at the top.
const KEYS: &str = "`program`, `tools`, `model`, `playbook`, `now`, `argument NAME` and `setting NAME`";

/// What `- tools` says of tools that are left out of a recording.
pub(super) const LIVE: &str = "live";

/// Reads the text.
pub(super) fn read(file: FileId, text: &str) -> Read<TestFile> {
    let mut reader = Reader::new(file);
    let (top, sections) = split(text);
    let mut test = reader.read_top(&top);
    let mut stretch = StretchReader::default();
    for section in &sections {
        let Some(kind) = reader.read_section(section) else { continue };
        if let (true, Some(model)) = (kind.is_of_model(), &test.model) {
            let model: &str = model.into();
            let message = format!("a reply in a conversation with the model {model}");
            reader.report(section.heading, "reply-of-a-model", message, "remove it, or `- model` at the top");
        }
        if let TestStepKind::Interrupts(interruption) = &kind {
            reader.check_interruption(&test, section.heading, interruption);
        }
        reader.check_order(&mut stretch, section.heading, &kind);
        test.steps.push(TestStep { line: section.heading.number, kind });
    }
    if sections.is_empty() && reader.findings.is_empty() {
        let line = top.last().copied().unwrap_or(Line::EMPTY);
        let next = match test.model {
            Some(_) => "begin with `## Says` and what is said first",
            None => "begin with `## Model` and what it replies",
        };
        reader.report(line, "no-steps", "the file has no conversation", next);
    }
    reader.finish(test)
}

/// What the present stretch holds so far.
#[derive(Default)]
struct StretchReader {
    /// The expected parts, by heading.
    expected: HashMap<&'static str, Span>,
    /// What stands at the end of the file, by heading: the outcome, the checks.
    last: Vec<(&'static str, Span)>,
}

impl Reader {
    /// Title, description and the list of what is run.
    fn read_top(&mut self, lines: &[Line<'_>]) -> TestFile {
        let top = self.top(lines, KEYS, &HEADINGS);
        let mut test = TestFile {
            title: top.title,
            description: top.description,
            program: top.program,
            tools: top.tools,
            live_tools: false,
            model: None,
            playbook: None,
            arguments: Map::new(),
            settings: top.settings,
            now: None,
            steps: Vec::new(),
        };
        for item in &top.items {
            self.read_key(&mut test, item);
        }
        let of = test.playbook.clone().map_or(Owner::Any, Owner::Playbook);
        let arguments = top.items.iter().filter_map(|item| Some((item.line, item.key.strip_prefix("argument ")?)));
        arguments.for_each(|(line, name)| self.mention_all(line, [names::variable(name.trim(), &of)]));
        if test.model == Some(TestModel::Recorded) && test.tools.as_deref() == Some(LIVE) {
            (test.tools, test.live_tools) = (None, true);
        }
        test
    }

    fn read_key(&mut self, test: &mut TestFile, item: &TopItem<'_>) {
        let (key, value) = (item.key, item.value);
        match key.split_once(' ') {
            None if key == "model" && value == "embedded" => test.model = Some(TestModel::Embedded),
            None if key == "model" && value == "recorded" => test.model = Some(TestModel::Recorded),
            None if key == "model" => {
                let message = format!("`{value}` can't answer in a test");
                let next =
                    "write `- model: embedded` or `- model: recorded`, or leave it out and write `## Model` sections";
                self.report(item.line, "unknown-model", message, next);
            }
            None if key == "playbook" => {
                test.playbook = Some(value.to_owned());
                self.mention(item.line, value, MentionKind::Entry(value.to_owned()));
            }
            None if key == "now" && instant(value).is_some() => test.now = Some(value.to_owned()),
            None if key == "now" => {
                let next = "write date, time and offset, as in 2026-01-01T09:00:00+01:00";
                self.report(item.line, "bad-now", format!("`{value}` is not a time with an offset"), next);
            }
            Some(("argument", name)) => {
                test.arguments.insert(name.trim().into(), json_or_text(value));
            }
            None | Some(_) => self.unknown_key(item, KEYS),
        }
    }

    fn read_section(&mut self, section: &Section<'_>) -> Option<TestStepKind> {
        let heading = section.heading;
        let lines = &section.lines;
        match heading.text().trim_start_matches('#').trim() {
            "User" => self.read_user(heading, lines),
            "Event" => {
                let form = "write its name and its data: `photo_uploaded {\"id\": 7}`";
                self.read_line(heading, lines, form, event).map(TestStepKind::Event)
            }
            "Wait" => self.read_line(heading, lines, "write how long, as in `30 s`", wait).map(TestStepKind::Wait),
            "Set" => self.read_edits(heading, lines).map(TestStepKind::Set),
            "Model" if is_written(lines) => self.read_bullets(lines).map(TestStepKind::Written),
            "Model" => self.read_reply(heading, lines).map(TestStepKind::Reply),
            "Says" => self.read_quotes(heading, lines).map(TestStepKind::ExpectSay),
            "Calls" => self.read_items(heading, lines, call, called).map(TestStepKind::ExpectCalls),
            "Variables" => self.read_items(heading, lines, variable, shown).map(TestStepKind::ExpectVariables),
            "Outcome" => self.read_line(heading, lines, OUTCOMES, outcome).map(TestStepKind::ExpectOutcome),
            "Expect" => self.read_checks(heading, lines).map(TestStepKind::Expect),
            _ => {
                self.unknown_heading(heading, &HEADINGS);
                None
            }
        }
    }

    /// A message in the middle of a reply stands after that.
    fn check_interruption(&mut self, test: &TestFile, heading: Line<'_>, interruption: &Interruption) {
        let before = test.steps.iter().rev().find(|step| !matches!(step.kind, TestStepKind::Interrupts(_)));
        let is_after_reply = before.is_some_and(|step| matches!(step.kind, TestStepKind::Reply(_)));
        if test.model.is_none() && (!is_after_reply || interruption.reply.is_some()) {
            let message = "nothing says which reply this message interrupts";
            let next = "put it after a `## Model` with a fenced block, with `- during: BYTES` alone";
            self.report(heading, "no-reply-before", message, next);
        }
    }

    /// Expected parts stand after the replies of their stretch, each once; outcome and checks stand last.
    fn check_order(&mut self, stretch: &mut StretchReader, heading: Line<'_>, kind: &TestStepKind) {
        let is_last = matches!(kind, TestStepKind::ExpectOutcome(_) | TestStepKind::Expect(_));
        let before = |(last, _): &&(&str, Span)| !is_last || *last == kind.heading();
        if let Some(&(last, span)) = stretch.last.iter().find(before) {
            let message = format!("`## {}` comes after `## {last}`", kind.heading());
            let next = "put it before `## Outcome` and `## Expect`, which end the file and appear once";
            self.report(heading, "after-end", message, next);
            self.also(span, "that is here");
            return;
        }
        if is_last {
            stretch.last.push((kind.heading(), heading.span(self.file)));
        } else if kind.begins() {
            stretch.expected.clear();
        } else if !kind.is_expected() {
            if let Some((first, &span)) = stretch.expected.iter().min_by_key(|(_, span)| span.start) {
                let message = format!("`## {}` comes after the `## {first}` of the same part", kind.heading());
                let next = "put replies first: expected parts are compared when the program waits for the user";
                self.report(heading, "reply-after-expected", message, next);
                self.also(span, "the expected part is here");
            }
        } else {
            let span = heading.span(self.file);
            if let Some(&first) = stretch.expected.get(kind.heading()) {
                let message = format!("a second `## {}` before the next user line", kind.heading());
                self.report(heading, "duplicate-section", message, "put both into one section");
                self.also(first, "the first one is here");
            } else {
                stretch.expected.insert(kind.heading(), span);
            }
        }
    }

    pub(super) fn unexpected(&mut self, line: Line<'_>, place: &str, next: &str) {
        if line.raw.starts_with('#') {
            return self.unknown_heading(line, &HEADINGS);
        }
        self.report(line, "unexpected-text", format!("this line does not belong in {place}"), next);
    }

    /// Block quotes, one utterance each; none at all is written `(nothing)`.
    fn read_quotes(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<String>> {
        let mut quotes: Vec<String> = Vec::new();
        let mut nothing = None;
        let mut inside = false;
        let mut good = true;
        for &line in lines {
            let text = line.text();
            if let Some(quoted) = text.strip_prefix('>') {
                let quoted = quoted.strip_prefix(' ').unwrap_or(quoted);
                match quotes.last_mut() {
                    Some(quote) if inside => {
                        quote.push('\n');
                        quote.push_str(quoted);
                    }
                    _ => quotes.push(quoted.to_owned()),
                }
                inside = true;
                continue;
            }
            inside = false;
            if text == "(nothing)" {
                nothing = Some(line);
            } else if !text.is_empty() {
                self.unexpected(line, &in_ticks(heading), "begin every line of an utterance with `> `");
                good = false;
            }
        }
        let agrees = self.check_nothing(heading, nothing, quotes.len(), "an utterance as a block quote (`> …`)");
        (agrees && good).then_some(quotes)
    }

    /// `(nothing)` stands alone, and an empty section says it.
    fn check_nothing(&mut self, heading: Line<'_>, nothing: Option<Line<'_>>, n_items: usize, item: &str) -> bool {
        match nothing {
            Some(line) if n_items > 0 => {
                self.report(line, "not-nothing", "`(nothing)` is not alone", "remove one of them");
                false
            }
            None if n_items == 0 => {
                self.empty(heading, &format!("write {item}, or `(nothing)`"));
                false
            }
            Some(_) | None => true,
        }
    }

    /// A message, with `- during: …` above it or not.
    fn read_user(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<TestStepKind> {
        let is_option = |line: &&Line<'_>| line.text().starts_with("- during:");
        let Some(option) = lines.iter().position(|line| is_option(&line)) else {
            return self.read_message(heading, lines).map(TestStepKind::User);
        };
        let line = lines[option];
        let value = line.text().split_once(':').map_or("", |(_, value)| value.trim());
        let place = self.accept(line, during(value));
        let rest: Vec<Line<'_>> = lines.iter().copied().filter(|other| other.number != line.number).collect();
        let text = self.read_message(heading, &rest)?;
        let (bytes, reply) = place?;
        Some(TestStepKind::Interrupts(Interruption { text, bytes, reply }))
    }

    fn read_message(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<String> {
        if lines.iter().all(|line| line.text().is_empty()) {
            self.empty(heading, "write the message as a block quote (`> …`)");
            return None;
        }
        let mut quotes = self.read_quotes(heading, lines)?;
        if quotes.len() != 1 {
            let next = "give every message its own `## User`; `>` alone is an empty line inside a message";
            self.report(heading, "one-message", format!("a user line holds one message, not {}", quotes.len()), next);
            return None;
        }
        quotes.pop()
    }

    /// Changes of variables, one a line, at least one.
    fn read_edits(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<Edit>> {
        let edits = self.read_items(heading, lines, edit, |edit, item| {
            let of = edit.playbook.clone().map_or(Owner::Any, Owner::Playbook);
            let playbook = edit.playbook.iter();
            let playbook = playbook.map(|name| (&item[item.len() - name.len()..], MentionKind::Playbook(name.clone())));
            playbook.chain([names::variable(&item[..=edit.name.len()], &of)]).collect()
        })?;
        if edits.is_empty() {
            self.empty(heading, "write one item per line (`- …`)");
        }
        (!edits.is_empty()).then_some(edits)
    }

    /// List items, one a line. `named` gives the names in an item that mean something elsewhere.
    fn read_items<T>(
        &mut self,
        heading: Line<'_>,
        lines: &[Line<'_>],
        read_item: fn(&str) -> Result<T, Wrong>,
        named: for<'i> fn(&T, &'i str) -> Vec<Named<'i>>,
    ) -> Option<Vec<T>> {
        let n_findings = self.findings.len();
        let mut items = Vec::new();
        let mut nothing = None;
        let mut n_items = 0;
        for &line in lines {
            let text = line.text();
            if let Some(item) = text.strip_prefix("- ") {
                n_items += 1;
                let item = item.trim();
                let read = self.accept(line, read_item(item));
                read.iter().for_each(|read| self.mention_all(line, named(read, item)));
                items.extend(read);
            } else if text == "(nothing)" {
                nothing = Some(line);
            } else if !text.is_empty() {
                self.unexpected(line, &in_ticks(heading), "begin every item with `- `, on one line");
            }
        }
        self.check_nothing(heading, nothing, n_items, "one item per line (`- …`)");
        (self.findings.len() == n_findings).then_some(items)
    }

    /// The only line of a section; `form` says how it is written.
    fn read_line<T>(
        &mut self,
        heading: Line<'_>,
        lines: &[Line<'_>],
        form: &str,
        read: fn(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let mut filled = lines.iter().copied().filter(|line| !line.text().is_empty());
        let Some(line) = filled.next() else {
            self.empty(heading, form);
            return None;
        };
        if let Some(second) = filled.next() {
            self.unexpected(second, &in_ticks(heading), "it is one line");
            return None;
        }
        self.accept(line, read(line.text().trim()))
    }
}

/// A moment, in milliseconds since 1970-01-01T00:00:00Z, and how far its place is ahead of UTC, of ISO text that says both.
pub fn instant(text: &str) -> Option<(i64, Offset)> {
    let offset = Pieces::parse(text).ok()?.to_numeric_offset()?;
    Some((text.parse::<jiff::Timestamp>().ok()?.as_millisecond(), offset))
}

/// The name of what is called, and those of its arguments.
fn called<'i>(call: &ExpectedCall, item: &'i str) -> Vec<Named<'i>> {
    let name = item.get(..call.name.len()).map(|name| (name, MentionKind::Callable(call.name.clone())));
    let arguments = names::given(item, &call.arguments, &Owner::Playbook(call.name.clone()));
    name.into_iter().chain(arguments).collect()
}

/// The name of a variable.
fn shown<'i>((name, _): &(String, Option<Value>), item: &'i str) -> Vec<Named<'i>> {
    vec![names::variable(&item[..=name.len()], &Owner::Any)]
}

fn in_ticks(heading: Line<'_>) -> String {
    format!("`{}`", heading.text())
}
