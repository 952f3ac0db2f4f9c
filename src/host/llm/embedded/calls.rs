//! Calls in words: each argument from a variable that is there, from its default, else from the user.

use playhouse_lang::program::flow_graph::Node;
use playhouse_lang::program::{Argument, CallSite, Parameter, Signature, Step, StepKind};
use playhouse_lang::value::Reference;
use serde_json::json;

use super::english::mentions;
use super::executor::{Executor, Next};
use super::scope::Worth;

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
        let Some(signature) = signature else { return self.no_call(line) };
        // Another value is never put in the place of one that the author names and that is not there.
        if let Some(missing) = self.missing_arguments(line, site) {
            return self.stop(line, Some(missing));
        }
        let mut arguments = serde_json::Map::new();
        let mut used: Vec<String> = Vec::new();
        for (index, parameter) in signature.parameters.iter().enumerate() {
            // What the author gives and does not fit is no reason to give something else.
            let found = match self.given(site, index, parameter) {
                Some(None) => return self.no_call(line),
                Some(worth) => worth,
                None => self.visible(parameter, text, callee, &mut used),
            };
            match found {
                Some(worth) => {
                    arguments.insert(parameter.name.to_string(), worth.written());
                }
                None if !parameter.required() => {}
                None => return self.no_call(line),
            }
        }
        let mut call = json!({ "call": callee, "args": arguments });
        if let (Some(result), Some(call)) = (result, call.as_object_mut()) {
            call.insert("as".to_owned(), result.into());
        }
        self.write(line, call);
        if matches!(line.kind, StepKind::Return(_)) { Next::Done } else { self.leave(line) }
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

    /// What stands between the brackets of a call for a parameter, if something does; its value, if it fits.
    fn given(&self, site: Option<&CallSite>, index: usize, parameter: &Parameter) -> Option<Option<Worth>> {
        let mut arguments = site.and_then(|site| site.arguments.as_ref())?.iter().enumerate();
        let (_, argument) = arguments.find(|(place, argument)| match &argument.name {
            Some(name) => **name == *parameter.name,
            None => *place == index,
        })?;
        let value = self.scope.eval(&argument.value).ok().filter(|value| parameter.ty.accepts(value));
        Some(value.map(|value| Worth { value, reference: None }))
    }

    /// A visible variable for a parameter: of the same name, else one that the line names.
    fn visible(&self, parameter: &Parameter, text: &str, callee: &str, used: &mut Vec<String>) -> Option<Worth> {
        let own = Reference { name: parameter.name.clone(), path: Vec::new() };
        let after = text.find(callee).map_or(text, |at| &text[at + callee.len()..]);
        let named = mentions(after).into_iter().filter(|reference| !used.contains(&reference.to_string()));
        let found = std::iter::once(own).chain(named).find_map(|reference| {
            Worth::of(reference, &self.scope).filter(|worth| parameter.ty.accepts(&worth.value))
        })?;
        used.extend(found.reference.as_ref().map(ToString::to_string));
        Some(found)
    }

    /// A line whose call cannot be made. It may not be passed, unless the author says so, and nor may the lines after it.
    fn no_call(&mut self, line: &Step) -> Next {
        if !self.playbook.strict || line.is_free() {
            return self.leave_out(line);
        }
        self.stop(line, None)
    }
}
