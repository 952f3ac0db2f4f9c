//! Lines that ask: one variable after the other, and again where an answer does not fit.

use playhouse_lang::expr::{BinaryOperator, ExprKind};
use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Step, StepKind, Target, Type};
use playhouse_lang::value::{Reference, Value};
use serde_json::json;

use super::answer::{self, Found};
use super::english::{bare, find_any, mentions, name_words};
use super::executor::{Executor, Next};
use super::phrases::{self, Trouble, again};
use super::wanted::{self, Kind, Wanted, kind_of_name, kind_of_type};
use super::wording::Values;

impl Executor<'_> {
    /// A line that asks: one variable after the other.
    pub(super) fn act_ask(&mut self, line: &Step, targets: &[Target], text: &str) -> Next {
        // `Ask the user to choose a $colour`: what is mentioned and not there yet is what is asked for.
        let mentioned = self.mentioned(line, targets, text);
        let targets = mentioned.as_ref().map_or(targets, std::slice::from_ref);
        let read = |target: Option<&Target>, ty| wanted::read(text, target, targets.len(), ty, &self.scope);
        let wants: Option<Vec<(Option<&Target>, Wanted, Type)>> = match targets {
            [] => read(None, Type::ANY).map(|wanted| vec![(None, wanted, Type::ANY)]),
            targets => targets
                .iter()
                .map(|target| {
                    let ty = self.type_of(target);
                    let wanted = read(Some(target), ty)?;
                    let kind = self.choices(target).map_or(wanted.kind.clone(), Kind::Choice);
                    Some((Some(target), Wanted { kind, ..wanted }, ty))
                })
                .collect(),
        };
        // A question that nobody here can word.
        let Some(wants) = wants else { return self.leave_out(line) };
        let label = self.turn.label(line);
        let mut index = 0;
        if self.is_answered(line) {
            let last = self.earlier.last_said(&label).unwrap_or("").to_owned();
            let is_it = |wanted: &Wanted| !wanted.question.is_empty() && last.ends_with(&wanted.question);
            index = wants.iter().position(|(_, wanted, _)| is_it(wanted)).unwrap_or(0);
            let (target, wanted, ty) = &wants[index];
            let said = self.words.take().unwrap_or_default();
            if let Some(header) = self.left_loop(line, &said) {
                self.name(line.id);
                return Next::Go(Node::Step(header));
            }
            let Some(target) = target else { return Next::Done };
            // What was said last was more than the question: it has been asked again.
            let is_again = is_it(wanted) && last.len() > wanted.question.len();
            if !self.answered(line, target, wanted, *ty, &said, is_again) {
                return Next::Over;
            }
            index += 1;
        } else if let [(Some(target), wanted, ty)] = wants.as_slice()
            && wanted.if_unclear
            && self.is_clear(line, target, *ty)
        {
            return Next::Done;
        }
        match wants.get(index) {
            Some((_, wanted, _)) => {
                if !wanted.question.is_empty() {
                    self.say(line, &wanted.question);
                }
                self.write(line, json!({ "wait": "user" }));
                Next::Over
            }
            None => Next::Done,
        }
    }

    /// The one variable that a line without targets mentions, that is not there yet and that no line gives a value.
    fn mentioned(&self, line: &Step, targets: &[Target], text: &str) -> Option<Target> {
        // What is to be confirmed is there already.
        const CONFIRMS: &str = "confirm|check|verify|approve|review|accept|agree|about|wait";
        if !targets.is_empty() || find_any(text, CONFIRMS).is_some() {
            return None;
        }
        let is_wanted = |reference: &Reference| {
            let name = &reference.name;
            let is_written = self.playbook.steps.iter().any(|step| step.writes.contains(name));
            // What this line has set in an earlier round is asked for again.
            reference.path.is_empty() && !is_written && (self.scope.value(name).is_none() || self.earlier.has_set(name))
        };
        let mut wanted = mentions(text).into_iter().filter(is_wanted);
        let name = wanted.next().filter(|_| wanted.next().is_none())?.name;
        Some(Target { name, ty: Type::ANY, span: line.span })
    }

    /// The texts among which the answer must be, where a condition of the playbook says so: `If $choice is in $choices`.
    fn choices(&self, target: &Target) -> Option<Vec<String>> {
        if let Some(choices) = self.playbook.choices.get(&target.name) {
            return Some(choices.iter().map(Value::to_text).collect());
        }
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

    /// Takes an answer; false: it does not fit, and the user was asked again.
    fn answered(
        &mut self,
        line: &Step,
        target: &Target,
        wanted: &Wanted,
        ty: Type,
        said: &str,
        is_again: bool,
    ) -> bool {
        let question = &wanted.question;
        let choices = self.playbook.choices.get(&target.name);
        // What the question itself lists is all that the variable may hold.
        let found = match (choices, answer::find(&wanted.kind, ty, said, is_again && choices.is_none())) {
            (Some(choices), Found::Value(text)) => {
                let value = choices.iter().find(|choice| choice.to_text() == text.to_text());
                value.cloned().map_or(Found::Trouble(Trouble::Several), Found::Value)
            }
            (_, found) => found,
        };
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
    fn is_clear(&mut self, line: &Step, target: &Target, ty: Type) -> bool {
        // Only what has a form of its own can be found in other words.
        let kind = kind_of_type(ty).or_else(|| kind_of_name(&name_words(&target.name), true));
        let kind = kind.filter(|kind| !matches!(kind, Kind::Name | Kind::YesOrNo | Kind::List));
        let found = self.last_words().zip(kind).and_then(|(said, kind)| answer::assigned(&kind, ty, &said));
        if let Some(value) = found {
            self.set(line, target, value);
            return true;
        }
        let Some(value) = self.scope.value(&target.name).filter(|value| **value != Value::Null).cloned() else {
            return false;
        };
        self.set_written(line, target, value, format!("${}", target.name).into());
        true
    }
}
