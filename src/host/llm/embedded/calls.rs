//! Calls in words: each argument from a variable that is there, from its default, else from the user.

use serde_json::json;

use crate::lang::program::flow_graph::Node;
use crate::lang::program::{Argument, CallSite, Parameter, Signature, Step, Target, Type};
use crate::value::Value;

use super::answer::{self, Found};
use super::english::{Piece, mentions, name_words, pieces, without_end};
use super::executor::{Executor, Next, literal_json};
use super::kinds::{Kind, kind_of_name, kind_of_type};
use super::phrases::{self, Instead, again};
use super::question::question;
use super::reckon::{Worth, worth};
use super::wanted::{Phrase, Wanted};
use super::wording::{Values, plain};

/// The variable that holds what is returned on the way from a call to the caller.
const RETURNED: &str = "returned";

impl Executor<'_> {
    /// A line that calls.
    pub(super) fn act_call(&mut self, line: &Step, site: &CallSite, text: &str) -> Next {
        let result = site.result.as_ref().map(|target| target.name.to_string());
        self.call(line, &site.callee, Some(site), text, result)
    }

    /// `Return Foo($x)`.
    pub(super) fn return_call(&mut self, line: &Step, site: &CallSite, text: &str) -> Next {
        match self.call(line, &site.callee, Some(site), text, Some(RETURNED.to_owned())) {
            Next::Over => Next::Over,
            Next::Go(_) | Next::Done => {
                self.write(line, json!({ "return": format!("${RETURNED}") }));
                Next::Over
            }
        }
    }

    /// A free line that names one callable and no other: `Let Probe work with $a`.
    pub(super) fn act_named_call(&mut self, line: &Step, text: &str) -> Option<Next> {
        // A common word that is also the name of a playbook does not call it.
        let is_name = |word: &str, source: &str| {
            source.contains(&format!("`{word}`")) || word.chars().skip(1).any(char::is_uppercase) || word.contains('_')
        };
        let named: Vec<&str> = pieces(text)
            .into_iter()
            .filter_map(|piece| if let Piece::Word(word) = piece { Some(word) } else { None })
            .filter(|word| is_name(word, text) && self.signature(word).is_some())
            .collect();
        let [name] = named.as_slice() else { return None };
        let name = (*name).to_owned();
        Some(match self.call(line, &name, None, text, None) {
            Next::Done => self.leave(line),
            next @ (Next::Go(_) | Next::Over) => next,
        })
    }

    fn signature(&self, name: &str) -> Option<Signature> {
        let program = &self.turn.program;
        if let Some(id) = program.find_playbook(self.agent.id, name) {
            return program.unsupported(id).is_none().then(|| program.playbook(id).signature());
        }
        let tool = self.turn.tools.iter().find(|tool| &*tool.signature.name == name);
        tool.map(|tool| tool.signature.clone())
    }

    /// Queues a call; `Over` if the user is asked for an argument, or nothing can be called.
    fn call(&mut self, line: &Step, callee: &str, site: Option<&CallSite>, text: &str, result: Option<String>) -> Next {
        let signature = self.signature(callee).filter(|_| !self.is_careful);
        let Some(signature) = signature else {
            // A call may not be passed, unless the author says so.
            if !self.playbook.strict || line.is_free() {
                return self.leave_out(line, text, None);
            }
            self.admit(line, &phrases::cannot(&plain(without_end(text)), Instead::Stop));
            self.give_up(line);
            return Next::Over;
        };
        // Another value is never put in the place of one that the author names and that is not there.
        if let Some(sentence) = self.missing_arguments(line, site) {
            self.admit(line, &sentence);
            self.write(line, json!({ "end": phrases::no_argument(callee) }));
            return Next::Over;
        }
        let given = self.given(&signature, callee, site, text);
        let mut arguments = serde_json::Map::new();
        let mut used: Vec<String> = Vec::new();
        for (index, parameter) in signature.parameters.iter().enumerate() {
            let given = given.iter().find(|(place, _)| place.is(index, parameter)).map(|(_, worth)| worth.clone());
            let found = given
                .filter(|worth| self.fits(worth, parameter.ty))
                .or_else(|| self.visible(parameter, text, callee, &mut used));
            match found {
                Some(worth) => {
                    let written = match &worth {
                        Worth::Reference(reference) => reference.to_string().into(),
                        Worth::Value(value) => literal_json(value),
                    };
                    arguments.insert(parameter.name.to_string(), written);
                }
                None if !parameter.required() => {}
                None => match self.ask_argument(line, parameter) {
                    Some(value) => {
                        arguments.insert(parameter.name.to_string(), literal_json(&value));
                    }
                    None => return Next::Over,
                },
            }
        }
        let mut call = json!({ "call": callee, "args": arguments });
        if let (Some(result), Some(call)) = (result, call.as_object_mut()) {
            call.insert("as".to_owned(), result.into());
        }
        self.write(line, call);
        if matches!(line.kind, crate::lang::program::StepKind::Return(_)) { Next::Done } else { self.leave(line) }
    }

    /// After a call the reply ends: what follows may need its result.
    fn leave(&mut self, line: &Step) -> Next {
        match self.follow(line.id) {
            Node::Step(next) => {
                self.name(next);
                Next::Over
            }
            Node::End => Next::Go(Node::End),
        }
    }

    /// That arguments which stand between the brackets have no value, if that is so.
    fn missing_arguments(&self, line: &Step, site: Option<&CallSite>) -> Option<String> {
        let given = site.and_then(|site| site.arguments.as_ref())?;
        let has_no_value = |argument: &Argument| self.scope.eval(&argument.value).is_err();
        given.iter().any(has_no_value).then(|| self.missing(line)).flatten()
    }

    /// What stands between the brackets of a call, or what a free line names after the callable.
    fn given(&self, signature: &Signature, callee: &str, site: Option<&CallSite>, text: &str) -> Vec<(Place, Worth)> {
        let mut given = Vec::new();
        if let Some(arguments) = site.and_then(|site| site.arguments.as_ref()) {
            for (index, argument) in arguments.iter().enumerate() {
                let place = argument.name.as_ref().map_or(Place::Index(index), |name| Place::Name(name.to_string()));
                given.extend(self.scope.eval(&argument.value).ok().map(|value| (place, Worth::Value(value))));
            }
            return given;
        }
        let behind = text.find(callee).map_or("", |at| &text[at + callee.len()..]);
        let inside = behind.strip_prefix('(').and_then(|rest| rest.rfind(')').map(|end| &rest[..end]));
        let parts = match inside {
            Some(inside) => split_arguments(inside),
            None => {
                let rest = behind.trim_start_matches('`').trim();
                let rest = super::english::find_any(rest, &["with", "for", "on", "of", "using"])
                    .map_or("", |(_, end)| &rest[end..]);
                rest.split(" and with ").map(str::trim).collect()
            }
        };
        if parts.len() > signature.parameters.len() {
            return given;
        }
        for (index, part) in parts.into_iter().enumerate() {
            let named = part.split_once('=').filter(|(name, _)| !name.contains(' ') && !name.contains('='));
            let (place, part) = match named {
                Some((name, value)) => (Place::Name(name.trim().trim_start_matches('$').to_owned()), value),
                None => (Place::Index(index), part),
            };
            given.extend(worth(part, &self.scope).map(|worth| (place, worth)));
        }
        given
    }

    fn fits(&self, worth: &Worth, ty: Type) -> bool {
        worth.value(&self.scope).is_some_and(|value| ty.accepts(&value))
    }

    /// A visible variable for a parameter: of the same name, else one that the line names.
    fn visible(&self, parameter: &Parameter, text: &str, callee: &str, used: &mut Vec<String>) -> Option<Worth> {
        let own = crate::value::Reference { name: parameter.name.clone(), path: Vec::new() };
        let behind = text.find(callee).map_or(text, |at| &text[at + callee.len()..]);
        let named = mentions(behind).into_iter().filter(|reference| !used.contains(&reference.to_string()));
        let found = std::iter::once(own)
            .chain(named)
            .filter(|reference| self.scope.told(reference).is_some())
            .map(Worth::Reference)
            .find(|worth| self.fits(worth, parameter.ty))?;
        if let Worth::Reference(reference) = &found {
            used.push(reference.to_string());
        }
        Some(found)
    }

    /// Asks the user for an argument, or takes the answer.
    fn ask_argument(&mut self, line: &Step, parameter: &Parameter) -> Option<Value> {
        let name = name_words(&parameter.name);
        let is_text = !parameter.ty.accepts(&Value::Int(0));
        let wanted = Wanted {
            phrase: Phrase::Noun(name.clone()),
            kind: kind_of_type(parameter.ty).or_else(|| kind_of_name(&name, is_text)).unwrap_or(Kind::Text),
            once_more: false,
            if_unclear: false,
            words: parameter.description.to_string(),
        };
        let question = question(&wanted, &self.scope).unwrap_or_default();
        if !self.is_answered(line) {
            self.say(line, &question);
            self.write(line, json!({ "wait": "user" }));
            return None;
        }
        let said = self.words.take().unwrap_or_default();
        let label = self.label(line.id);
        let is_again = self.earlier.last_said(&label).is_some_and(|last| last != question);
        match answer::find(&wanted, parameter.ty, &said, is_again) {
            Found::Value(value) | Found::Without(value) => {
                let target = Target { name: parameter.name.clone(), ty: parameter.ty, span: line.span };
                self.set(line, &target, value.clone());
                Some(value)
            }
            Found::Trouble(trouble) => {
                self.say(line, &format!("{} {question}", again(trouble)));
                self.write(line, json!({ "wait": "user" }));
                None
            }
        }
    }
}

/// Which parameter an argument is for.
#[derive(Clone, Debug)]
enum Place {
    Index(usize),
    Name(String),
}

impl Place {
    fn is(&self, index: usize, parameter: &Parameter) -> bool {
        match self {
            Place::Index(own) => *own == index,
            Place::Name(name) => **name == *parameter.name,
        }
    }
}

/// The arguments between brackets, cut at commas outside of further brackets and quotes.
fn split_arguments(inside: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from, mut quoted) = (Vec::new(), 0_usize, 0, false);
    for (at, character) in inside.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !quoted => {
                parts.push(inside[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}
