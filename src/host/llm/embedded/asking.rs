//! Lines that ask: one variable after the other, and again where an answer does not fit.

use serde_json::json;

use crate::lang::expr::{BinaryOperator, ExprKind};
use crate::lang::program::flow_graph::Node;
use crate::lang::program::{Step, StepKind, Target, Type};
use crate::value::Value;
use crate::vm::protocol::USER_MESSAGE;

use super::answer::{self, Found};
use super::english::{bare, find_any, mentions, name_words, strip_any, words};
use super::executor::{Executor, Next};
use super::kinds::Kind;
use super::phrases::{self, Trouble, again};
use super::question::question;
use super::wanted::{self, Phrase, Wanted};
use super::wording::Values;

impl Executor<'_> {
    /// A line that asks: one variable after the other.
    pub(super) fn act_ask(&mut self, line: &Step, targets: &[Target], text: &str) -> Next {
        // `Ask the user to choose a $colour`: what is mentioned and not there yet is what is asked for.
        let mentioned = self.mentioned(line, targets, text);
        let targets = mentioned.as_ref().map_or(targets, std::slice::from_ref);
        let wants: Vec<(Option<&Target>, Wanted, Type)> = match targets {
            [] => vec![(None, wanted::read(text, None, 0, Type::ANY), Type::ANY)],
            targets => targets
                .iter()
                .map(|target| {
                    let ty = self.type_of(target);
                    let wanted = self.described(line, wanted::read(text, Some(target), targets.len(), ty), target, ty);
                    let kind = self.choices(target).map_or(wanted.kind.clone(), Kind::Choice);
                    (Some(target), Wanted { kind, ..wanted }, ty)
                })
                .collect(),
        };
        // A question that nobody here can word, for no variable.
        if let [(None, wanted, _)] = wants.as_slice()
            && matches!(wanted.phrase, Phrase::Open(_))
        {
            return self.leave_out(line, text, None);
        }
        let questions: Vec<String> =
            wants.iter().map(|(_, wanted, _)| question(wanted, &self.scope).unwrap_or_default()).collect();
        let label = self.label(line.id);
        let mut index = 0;
        if self.is_answered(line) {
            let last = self.earlier.last_said(&label).unwrap_or("").to_owned();
            index = questions.iter().position(|question| !question.is_empty() && last.ends_with(question)).unwrap_or(0);
            let (target, wanted, ty) = &wants[index];
            let said = self.words.take().unwrap_or_default();
            if let Some(header) = self.left_loop(line, &said) {
                self.name(line.id);
                return Next::Go(Node::Step(header));
            }
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

    /// The one variable that a line without targets mentions and that nothing else in the program gives a value.
    fn mentioned(&self, line: &Step, targets: &[Target], text: &str) -> Option<Target> {
        // What is to be confirmed is there already.
        const CONFIRMS: [&str; 8] = ["confirm", "check", "verify", "approve", "review", "accept", "agree", "about"];
        if !targets.is_empty() || strip_any(text, &["wait"]).is_some() || find_any(text, &CONFIRMS).is_some() {
            return None;
        }
        // What this line has set in an earlier round is asked for again.
        let is_open = |name: &str| self.scope.value(name).is_none() || self.earlier.has_set(name);
        let is_wanted = |name: &str| is_open(name) && !self.has_source(name);
        let mut unset = mentions(text).into_iter().filter(|reference| is_wanted(&reference.name));
        let reference = unset.next().filter(|reference| reference.path.is_empty())?;
        let is_only = unset.all(|other| other.name == reference.name);
        is_only.then_some(Target { name: reference.name, ty: Type::ANY, span: line.span })
    }

    /// The texts among which the answer must be, where a condition of the playbook says so: `If $choice is in $choices`.
    fn choices(&self, target: &Target) -> Option<Vec<String>> {
        let lists = self.playbook.steps.iter().filter_map(|step| {
            let StepKind::Branch { condition: Some(condition), .. } = &step.kind else { return None };
            let ExprKind::Binary(BinaryOperator::In, item, list) = &condition.kind else { return None };
            let ExprKind::Reference(reference) = &item.kind else { return None };
            (reference.name == target.name && reference.path.is_empty()).then_some(&**list)
        });
        let Ok(Value::List(items)) = self.scope.eval(lists.into_iter().next()?) else { return None };
        let as_text = |item: &Value| if let Value::Str(text) = item { Some(text.to_string()) } else { None };
        items.iter().map(as_text).collect::<Option<Vec<String>>>().filter(|options| !options.is_empty())
    }

    /// Whether a variable gets its value elsewhere: from a line, a parameter or a declaration.
    fn has_source(&self, name: &str) -> bool {
        let program = &self.turn.program;
        let is_written = program.playbooks.iter().any(|playbook| {
            playbook.parameters.iter().any(|parameter| &*parameter.name == name)
                || playbook.steps.iter().any(|step| step.writes.iter().any(|written| &**written == name))
        });
        let is_declared = || {
            let mut declared = program.agents.iter().flat_map(|agent| &agent.variables);
            declared.any(|variable| &*variable.name == name)
        };
        is_written || is_declared() || matches!(name, USER_MESSAGE | "call")
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
        let value = match found {
            Found::Value(value) => value,
            Found::Without(value) => {
                self.say(line, phrases::WITHOUT_ANSWER);
                value
            }
            // The program has asked itself, and judges the answer itself: it is told what was said.
            Found::Trouble(Trouble::Kind(_)) if question.is_empty() && ty.accepts(&Value::str(bare(said))) => {
                Value::str(bare(said))
            }
            Found::Trouble(Trouble::Kind(_)) if question.is_empty() && ty.optional => Value::Null,
            Found::Trouble(trouble) => {
                let remark = if question.is_empty() { phrases::LISTENING } else { again(trouble) };
                self.say(line, format!("{remark} {question}").trim_end());
                self.write(line, json!({ "wait": "user" }));
                return false;
            }
        };
        self.set(line, target, value);
        true
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
}

/// `away_until` wants a day.
fn kind_of_until(name: &str) -> Option<Kind> {
    let name = name_words(name);
    let is_day = words(&name).iter().any(|word| matches!(*word, "until" | "since" | "from" | "date" | "day"));
    is_day.then_some(Kind::Date { full: false })
}
