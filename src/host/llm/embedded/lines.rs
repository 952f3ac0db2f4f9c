//! Single lines: questions and their answers, sentences, assignments, returns, free text.

use serde_json::json;

use crate::lang::expr::Expr;
use crate::lang::program::{Returned, Step, Target, Type};
use crate::value::{PathStep, Value};

use super::answer::{self, Found};
use super::english::{find_any, mentions, name_words, strip, strip_any, strip_user, without_end, words};
use super::executor::{Executor, Next, literal_json, nothing_of};
use super::phrases::{self, Instead, Trouble, again};
use super::question::{open_question, question};
use super::reckon::{Worth, plain_words, worth};
use super::say::{Part, Said, parts};
use super::slots::{Extraction, Phrasing, SpeechAct};
use super::wanted::{self, Kind, Phrase, Wanted, kind_of_name, kind_of_type};
use super::wording::{Values, plain};

impl Executor<'_> {
    /// A line that asks: one variable after the other.
    pub(super) fn act_ask(&mut self, line: &Step, targets: &[Target], text: &str) -> Next {
        let wants: Vec<(Option<&Target>, Wanted, Type)> = match targets {
            [] => vec![(None, wanted::read(text, None, 0, Type::ANY), Type::ANY)],
            targets => targets
                .iter()
                .map(|target| {
                    let ty = self.type_of(target);
                    (
                        Some(target),
                        self.described(line, wanted::read(text, Some(target), targets.len(), ty), target, ty),
                        ty,
                    )
                })
                .collect(),
        };
        let questions: Vec<String> = wants.iter().map(|(_, wanted, _)| self.question(line, wanted)).collect();
        let label = self.label(line.id);
        let mut index = 0;
        if self.is_answered(line) {
            let last = self.earlier.last_said(&label).unwrap_or("").to_owned();
            index = questions.iter().position(|question| !question.is_empty() && last.ends_with(question)).unwrap_or(0);
            let (target, wanted, ty) = &wants[index];
            let said = self.words.take().unwrap_or_default();
            let Some(target) = target else { return Next::Done };
            // What was said last was more than the question: it has been asked again.
            let is_again = last.len() > questions[index].len()
                && last.ends_with(&*questions[index])
                && !questions[index].is_empty();
            if !self.answered(line, target, wanted, *ty, &said, &questions[index], is_again) {
                return Next::Over;
            }
            index += 1;
        } else if let [(Some(target), wanted, ty)] = wants.as_slice()
            && wanted.if_unclear
            && self.is_clear(line, target, wanted, *ty)
        {
            return Next::Done;
        }
        match questions.get(index) {
            Some(question) => {
                if !question.is_empty() {
                    self.say(line, question);
                }
                self.write(line, json!({ "wait": "user" }));
                Next::Over
            }
            None => Next::Done,
        }
    }

    /// A line that asks once more says less than the one before it: what is wanted is said there.
    fn described(&self, line: &Step, wanted: Wanted, target: &Target, ty: Type) -> Wanted {
        let is_bare = matches!(&wanted.phrase, Phrase::Noun(noun) if *noun == name_words(&target.name));
        if !is_bare {
            return wanted;
        }
        let others = self.playbook.steps.iter().filter(|step| step.id != line.id && step.writes.contains(&target.name));
        let described = others
            .filter(|step| strip_any(&step.text, &["ask", "get", "request", "prompt"]).is_some())
            .map(|step| wanted::read(&step.text, Some(target), 1, ty))
            .find(|other| matches!(&other.phrase, Phrase::Noun(noun) if *noun != name_words(&target.name)));
        match described {
            Some(other) => Wanted { once_more: wanted.once_more, if_unclear: wanted.if_unclear, ..other },
            None => wanted,
        }
    }

    /// The question of a line; empty: it only waits.
    fn question(&mut self, line: &Step, wanted: &Wanted) -> String {
        if let Some(question) = question(wanted, &self.scope) {
            return question;
        }
        match &wanted.phrase {
            Phrase::Open(_) => {
                let template = open_question();
                let said = Said { act: Some(SpeechAct::Ask), direction: plain(&line.text), text: template };
                self.phrased(&said)
            }
            Phrase::Exact(_)
            | Phrase::Clause(_)
            | Phrase::To(_)
            | Phrase::Noun(_)
            | Phrase::About(_)
            | Phrase::Unsaid => String::new(),
        }
    }

    /// Takes an answer; false: it does not fit, and the user was asked again.
    #[allow(clippy::too_many_arguments, reason = "all of them belong to one answer")]
    fn answered(
        &mut self,
        line: &Step,
        target: &Target,
        wanted: &Wanted,
        ty: Type,
        said: &str,
        question: &str,
        is_again: bool,
    ) -> bool {
        let found = answer::find(wanted, ty, said, is_again);
        let is_long = matches!(&found, Found::Long(_))
            || (matches!(&found, Found::Trouble(Trouble::Kind(_))) && words(said).len() > 4);
        let quoted = if is_long { self.quoted(target, wanted, ty, said, question, line) } else { None };
        let value = match (quoted, found) {
            (Some(value), _) | (None, Found::Value(value) | Found::Long(value)) => value,
            (None, Found::Without(value)) => {
                self.say(line, phrases::WITHOUT_ANSWER);
                value
            }
            (None, Found::Trouble(trouble)) => {
                let remark = if question.is_empty() { phrases::LISTENING } else { again(trouble) };
                self.say(line, format!("{remark} {question}").trim_end());
                self.write(line, json!({ "wait": "user" }));
                return false;
            }
        };
        self.set(line, target, value);
        true
    }

    /// What the filler quotes of the user's words, if it fits.
    fn quoted(
        &self,
        target: &Target,
        wanted: &Wanted,
        ty: Type,
        said: &str,
        question: &str,
        line: &Step,
    ) -> Option<Value> {
        if !matches!(wanted.kind, Kind::Name | Kind::Place | Kind::Text) {
            return None;
        }
        let slot = Extraction { variable: &target.name, ty, line: &line.text, question, words: said };
        let quote = self.filler.extract(&slot, self.stop)?;
        let quote = quote.trim();
        if quote.is_empty() || !said.contains(quote) {
            return None;
        }
        match answer::find(wanted, ty, quote, true) {
            Found::Value(value) | Found::Long(value) => Some(value),
            Found::Without(_) | Found::Trouble(_) => None,
        }
    }

    /// Of a line that asks only where something is not clear: whether it is, from the last words or from before.
    fn is_clear(&mut self, line: &Step, target: &Target, wanted: &Wanted, ty: Type) -> bool {
        let said = self.last_words();
        let has_form = matches!(
            wanted.kind,
            Kind::Email | Kind::Phone | Kind::Date { .. } | Kind::Digits | Kind::Number | Kind::WholeNumber
        );
        let kind = if has_form { Some(wanted.kind.clone()) } else { kind_of_until(&target.name) };
        let found = said.zip(kind).and_then(|(said, kind)| answer::assigned(&kind, ty, &said, &wanted.words));
        match found {
            Some(value) => {
                self.set(line, target, value);
                true
            }
            None => match self.scope.value(&target.name).filter(|value| **value != Value::Null).cloned() {
                Some(value) => {
                    let written = format!("${}", target.name).into();
                    self.set_written(line, target, value, written);
                    true
                }
                None => false,
            },
        }
    }

    /// A line that says something in words.
    pub(super) fn act_say(&mut self, line: &Step, text: &str) -> Next {
        if !self.say_parts(line, text) {
            self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::LeaveOut));
            return Next::Done;
        }
        self.after_parts(line, text)
    }

    /// Says what can be said of a line; false: nothing.
    fn say_parts(&mut self, line: &Step, text: &str) -> bool {
        if self.is_answered(line) {
            return true;
        }
        let parts = self.parts(text);
        for part in &parts {
            if let Part::Say(said) = part {
                let text = self.phrased(said);
                self.say(line, &text);
            }
        }
        !parts.is_empty()
    }

    fn parts(&self, text: &str) -> Vec<Part> {
        let said = self.last_words();
        let judge = |condition: &str| super::judge::judge(condition, &self.scope, said.as_deref());
        parts(text, &self.agent.title, &self.scope, &judge)
    }

    /// What a line wants besides speech: `and ask for their $rating`, `then end the program`.
    fn after_parts(&mut self, line: &Step, text: &str) -> Next {
        for part in self.parts(text) {
            match part {
                Part::Say(_) => {}
                Part::Ask(direction) => {
                    let mentioned = mentions(&direction).into_iter().rev().find(|reference| reference.path.is_empty());
                    let target =
                        mentioned.map(|reference| Target { name: reference.name, ty: Type::ANY, span: line.span });
                    let targets: Vec<Target> = target.into_iter().collect();
                    let next = self.act_ask(line, &targets, &direction);
                    if next == Next::Over {
                        return next;
                    }
                }
                Part::End => {
                    self.write(line, json!({ "end": true }));
                    return Next::Over;
                }
            }
        }
        Next::Done
    }

    /// A sentence as the filler words it, else its template.
    fn phrased(&self, said: &Said) -> String {
        let Some(act) = said.act else { return said.text.clone() };
        let references = mentions(&said.text);
        let is_secret =
            |name: &str| self.agent.variables.iter().any(|variable| variable.secret && &*variable.name == name);
        if references.iter().any(|reference| is_secret(&reference.name)) {
            return said.text.clone();
        }
        let values: Vec<String> =
            references.iter().filter_map(|reference| self.scope.told(reference)).map(Value::to_text).collect();
        let resolve = |text: &str| {
            let mut text = text.to_owned();
            for (reference, value) in references.iter().zip(&values) {
                text = text.replace(&format!("{{{reference}}}"), value).replace(&reference.to_string(), value);
            }
            text.replace("$$", "$")
        };
        let (direction, template) = (resolve(&said.direction), resolve(&said.text));
        let slot = Phrasing { act, direction: &direction, must_hold: &values, template: &template };
        let Some(phrase) = self.filler.phrase(&slot, self.stop) else { return said.text.clone() };
        let phrase = phrase.trim();
        let is_good = !phrase.is_empty()
            && phrase.len() <= 300
            && !phrase.contains(['\n', '{', '}'])
            && values.iter().all(|value| phrase.contains(value.as_str()));
        if !is_good {
            return said.text.clone();
        }
        // Values go in as references, so that the machine puts them there.
        let mut text = phrase.replace('$', "$$");
        for (reference, value) in
            references.iter().zip(&values).filter(|(_, value)| !value.trim().is_empty() && !value.contains('$'))
        {
            text = text.replacen(value.as_str(), &format!("{{{reference}}}"), 1);
        }
        text
    }

    /// An assignment: an expression, arithmetic in words, or a value out of the user's last words.
    pub(super) fn act_assign(&mut self, line: &Step, target: &Target, value: Option<&Expr>, text: &str) -> Next {
        let ty = self.type_of(target);
        if let Some(value) = value
            && let Ok(value) = self.scope.eval(value)
            && ty.accepts(&value)
        {
            self.set(line, target, value);
            return Next::Done;
        }
        let text = wanted::without_types(text);
        let words = after_target(&text, target).unwrap_or(&text);
        self.assign_words(line, target, ty, words, &text)
    }

    fn assign_words(&mut self, line: &Step, target: &Target, ty: Type, words: &str, text: &str) -> Next {
        let found = worth(words, &self.scope).filter(|_| !self.is_careful);
        if let Some(worth) = found
            && let Some(value) = worth.value(&self.scope)
            && ty.accepts(&value)
        {
            let written = match worth {
                Worth::Reference(reference) => reference.to_string().into(),
                Worth::Value(_) => literal_json(&value),
            };
            self.set_written(line, target, value, written);
            return Next::Done;
        }
        if let Some(said) = self.last_words() {
            if means_last_words(words) && ty.accepts(&Value::Str(said.clone())) {
                self.set_written(line, target, Value::Str(said), "$user_message".into());
                return Next::Done;
            }
            let value = assigned_kind(words, target, ty).and_then(|kind| answer::assigned(&kind, ty, &said, text));
            if let Some(value) = value {
                self.set(line, target, value);
                return Next::Done;
            }
        }
        if let Some(value) = plain_words(words).filter(|value| ty.accepts(value)) {
            self.set(line, target, value);
            return Next::Done;
        }
        if let Some(said) = self.last_words().filter(|_| !self.is_careful) {
            let slot = Extraction { variable: &target.name, ty, line: &line.text, question: "", words: &said };
            let quote = self
                .filler
                .extract(&slot, self.stop)
                .filter(|quote| !quote.trim().is_empty() && said.contains(quote.trim()));
            if let Some(value) = quote.map(|quote| Value::str(quote.trim())).filter(|value| ty.accepts(value)) {
                self.set(line, target, value);
                return Next::Done;
            }
        }
        self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::Nothing));
        match nothing_of(ty) {
            Some(value) => self.set(line, target, value),
            None if self.playbook.strict => {
                self.give_up(line);
                return Next::Over;
            }
            None => {}
        }
        Next::Done
    }

    /// A line that returns.
    pub(super) fn act_return(&mut self, line: &Step, returned: &Returned, text: &str) -> Next {
        let ty = self.playbook.returns.unwrap_or(Type::ANY);
        let fits = |value: &Value| ty.accepts(value);
        let value = match returned {
            Returned::Nothing => Some((Value::Null, serde_json::Value::Null)),
            Returned::Value(expr) => self.scope.eval(expr).ok().map(|value| (value.clone(), literal_json(&value))),
            Returned::Call(site) => return self.return_call(line, site, text),
            Returned::Words => {
                let words = without_end(strip(text, "return").unwrap_or(text));
                let named = || mentions(words).into_iter().find(|reference| self.scope.told(reference).is_some());
                let worth = worth(words, &self.scope).or_else(|| named().map(Worth::Reference));
                worth.and_then(|worth| {
                    let value = worth.value(&self.scope)?;
                    let written = match worth {
                        Worth::Reference(reference) => reference.to_string().into(),
                        Worth::Value(_) => literal_json(&value),
                    };
                    Some((value, written))
                })
            }
        };
        match value.filter(|(value, _)| fits(value) && !self.is_careful) {
            Some((_, written)) => self.write(line, json!({ "return": written })),
            None => {
                self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::Nothing));
                self.give_up(line);
            }
        }
        Next::Over
    }

    /// Free text: a call, arithmetic, something to say, else it is left out and that is said.
    pub(super) fn act_free(&mut self, line: &Step, text: &str) -> Next {
        if let Some(next) = self.act_known(line, text) {
            return next;
        }
        if self.is_answered(line) || self.say_parts(line, text) {
            return self.after_parts(line, text);
        }
        // What only asks to be careful has nothing that could be left out.
        self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::LeaveOut));
        Next::Done
    }

    /// Free lines of forms that are known.
    fn act_known(&mut self, line: &Step, text: &str) -> Option<Next> {
        if let Some(wait) = strip(text, "wait").and_then(duration) {
            let label = self.label(line.id);
            // The time is over when the line is come to again.
            if self.turn.data.pointer == Some(line.id) && self.earlier.waits_at(&label) {
                return Some(Next::Done);
            }
            self.write(line, json!({ "wait": format!("timer:PT{wait}") }));
            return Some(Next::Over);
        }
        if strip_any(text, &["wait for all", "wait for the call", "wait for the calls", "wait for the result"])
            .is_some()
        {
            return Some(Next::Done);
        }
        if let Some(next) = self.act_named_call(line, text) {
            return Some(next);
        }
        if let Some(target) = self.jump(text) {
            return Some(Next::Go(target));
        }
        self.act_kept(line, text)
    }

    /// `Go back to step 2`: where the line says to go.
    fn jump(&self, text: &str) -> Option<crate::lang::flow_graph::Node> {
        let rest = strip_any(text, &["go", "jump", "continue", "start", "begin", "return", "jmp"])?;
        let (_, end) = find_any(rest, &["step", "line"])?;
        let label =
            rest[end..].trim().split(char::is_whitespace).next()?.trim_end_matches(|c: char| !c.is_ascii_digit());
        self.playbook.find_step(label).map(crate::lang::flow_graph::Node::Step)
    }

    /// `Work out … and keep it as $x`, `Add $item to $cart`, `Increase $n by 1`.
    fn act_kept(&mut self, line: &Step, text: &str) -> Option<Next> {
        let target_of =
            |reference: crate::value::Reference| Target { name: reference.name, ty: Type::ANY, span: line.span };
        if let Some(rest) = strip(text, "add") {
            let (start, end) = find_any(rest, &["to"])?;
            let target = mentions(&rest[end..]).into_iter().next().filter(|reference| reference.path.is_empty())?;
            let added = worth(&rest[..start], &self.scope)?.value(&self.scope)?;
            let sum = match (self.scope.value(&target.name)?, added) {
                (Value::List(items), added) => Value::list(items.iter().cloned().chain([added]).collect()),
                (Value::Int(_) | Value::Float(_), added) => {
                    self.scope.eval_text(&format!("${} + {}", target.name, added.to_json()))?
                }
                (Value::Null | Value::Bool(_) | Value::Str(_) | Value::Map(_), _) => return None,
            };
            self.set(line, &target_of(target), sum);
            return Some(Next::Done);
        }
        for (verbs, sign) in
            [(["increase", "increment", "raise", "count up"], '+'), (["decrease", "decrement", "reduce", "lower"], '-')]
        {
            if let Some(rest) = strip_any(text, &verbs) {
                let target = mentions(rest).into_iter().next().filter(|reference| reference.path.is_empty())?;
                let by =
                    find_any(rest, &["by"]).and_then(|(_, end)| worth(&rest[end..], &self.scope)?.value(&self.scope));
                let by = by.unwrap_or(Value::Int(1));
                let value = self.scope.eval_text(&format!("${} {sign} {}", target.name, by.to_json()))?;
                self.set(line, &target_of(target), value);
                return Some(Next::Done);
            }
        }
        const VERBS: [&str; 12] = [
            "work out",
            "calculate",
            "compute",
            "determine",
            "remember",
            "store",
            "save",
            "keep",
            "note",
            "find out",
            "count",
            "extract",
        ];
        let rest = strip_any(text, &VERBS)?;
        let (start, end) =
            find_any(rest, &["as", "in", "into"]).filter(|(_, end)| rest[*end..].trim_start().starts_with('$'))?;
        let target = mentions(&rest[end..]).into_iter().next().filter(|reference| reference.path.is_empty())?;
        let what = rest[..start].trim();
        let what = find_any(what, &["and keep", "and store", "and save", "and remember"])
            .map_or(what, |(at, _)| what[..at].trim());
        let target = target_of(target);
        let ty = self.type_of(&target);
        Some(self.assign_words(line, &target, ty, what, text))
    }
}

/// What is assigned: behind the variable and `to` or `=`.
fn after_target<'t>(text: &'t str, target: &Target) -> Option<&'t str> {
    let mention = format!("${}", target.name);
    let at = text.find(&mention)? + mention.len();
    let rest = text[at..].trim_start();
    rest.strip_prefix('=').map(str::trim_start).or_else(|| strip_any(rest, &["to", "be", "as"]))
}

/// Whether all that the user has said is meant.
fn means_last_words(words: &str) -> bool {
    const FORMS: [&str; 22] = [
        "what the user said",
        "what the user says",
        "what the user wrote",
        "what the user wants",
        "what the user asked",
        "what they said",
        "what they want",
        "what they wrote",
        "what they asked",
        "whatever the user said",
        "whatever the user says",
        "whatever they said",
        "the user's message",
        "the user's answer",
        "the user's words",
        "the user's reply",
        "the user's question",
        "the user's request",
        "their message",
        "their answer",
        "their words",
        "their reply",
    ];
    strip_any(words, &FORMS).is_some()
}

/// The kind of value that an assignment takes out of the user's words.
fn assigned_kind(words: &str, target: &Target, ty: Type) -> Option<Kind> {
    let from_type = kind_of_type(ty).filter(|kind| !matches!(kind, Kind::List));
    let noun = without_end(words.split(',').next().unwrap_or(""));
    let noun = strip_any(noun, &["the", "their", "that", "this", "his or her"]).unwrap_or(noun);
    let of_noun = kind_of_name(noun, false);
    let of_name = kind_of_name(&name_words(&target.name), false);
    match (from_type, of_name, of_noun) {
        (Some(kind), ..) => Some(kind),
        // `Set $phone to the number`: the variable's own name says more.
        (None, Some(kind @ (Kind::Email | Kind::Phone)), _) => Some(kind),
        (None, _, Some(kind)) | (None, Some(kind), None) => Some(kind),
        (None, None, None) => None,
    }
}

/// `away_until` wants a day.
fn kind_of_until(name: &str) -> Option<Kind> {
    let name = name_words(name);
    let is_day = words(&name).iter().any(|word| matches!(*word, "until" | "since" | "from" | "date" | "day"));
    is_day.then_some(Kind::Date { full: false })
}

/// `5 seconds` as part of an ISO 8601 duration.
fn duration(text: &str) -> Option<String> {
    let text = strip(text, "for").unwrap_or(text);
    let all = words(text);
    let at = all.iter().position(|word| {
        ["second", "seconds", "minute", "minutes", "hour", "hours"].contains(&word.to_lowercase().as_str())
    })?;
    let unit = all[at].chars().next()?.to_ascii_uppercase();
    let number = super::numbers::count(&all[..at].join(" ")).filter(|number| *number >= 0).or((at == 1).then_some(1))?;
    Some(format!("{number}{unit}"))
}

/// Whether the words before a call leave nothing else to do but the call.
pub(super) fn addressee(text: &str) -> &str {
    strip_user(text).unwrap_or(text)
}

/// The last member of a path; the name itself if there is none.
pub(super) fn last_member(reference: &crate::value::Reference) -> &str {
    let member = reference.path.iter().rev().find_map(|step| match step {
        PathStep::Member(name) => Some(&**name),
        PathStep::Index(_) => None,
    });
    member.unwrap_or(&reference.name)
}
