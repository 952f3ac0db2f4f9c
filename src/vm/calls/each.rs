//! One line that calls for each item of a list: many calls in the queue, whose results become one list.

use std::convert::Infallible;
use std::sync::Arc;

use playhouse_lang::value::Value;

use crate::calls::arguments::{Given, Resolved, bind};
use crate::calls::call::OneOf;
use crate::machine::interpreter::Interpreter;
use crate::machine::stack::Stack;
use crate::protocol::{Origin, Tracked};

impl Interpreter {
    /// Queues a call for each item of the list that `parameter` takes.
    ///
    /// # Errors
    /// One of them cannot be made, and none is: why, in words for the program's model.
    pub(crate) fn call_for_each(
        &mut self,
        resolved: &Resolved,
        given: Given,
        parameter: &Arc<str>,
        list: &Tracked,
        result: Option<Arc<str>>,
    ) -> Result<(), String> {
        let name = resolved.signature.name.clone();
        let (Some(n_all), true) = (list.n_items(), given.positional.is_empty()) else {
            let kind = list.value().kind();
            return Err(format!("call of {name}: \"each\" wants a list, not {kind}, and \"args\" by name"));
        };
        let with_item = |item: Tracked| {
            let mut named = given.named.clone();
            named.push((parameter.clone(), item));
            bind(resolved, Given::named(named))
        };
        let items = (0..n_all).filter_map(|index| list.item(index));
        let bound: Vec<_> = items.map(with_item).collect::<Result<_, _>>()?;
        if n_all == 0 {
            self.stack.chat_owner_mut().told.push_result(format!("{name} for each of 0 items -> []"));
            if let Some(result) = &result {
                self.set_variable(result, list.with_value(Value::list(Vec::new())));
            }
        }
        let (mut first, written_in) = (None, self.turn());
        for (index, arguments) in bound.into_iter().enumerate() {
            let depth = self.stack.frames.len() - 1;
            let Some(arguments) = self.admit_arguments(depth, resolved.callee, &name, arguments) else { break };
            let call = self.queue_call(resolved, arguments, result.clone(), written_in);
            let one_of = OneOf { first: *first.get_or_insert(call), index, n_all };
            if let Some(queued) = self.stack.core_mut().queue.get_mut(call) {
                queued.one_of = Some(one_of);
            }
        }
        Ok(())
    }
}

impl Stack {
    /// One of several calls is over. Answers the list, in the order of the items, with the last of them, if none has
    /// failed.
    pub(crate) fn collect(&mut self, one_of: OneOf, result: &Result<Tracked, Arc<str>>) -> Option<Tracked> {
        let frame = self.top_mut();
        if let Ok(value) = result {
            frame.collected.0.push((one_of, value.clone()));
        }
        let is_of = |other: &OneOf| other.first == one_of.first;
        if frame.core.queue.iter().any(|call| call.one_of.as_ref().is_some_and(is_of)) {
            return None;
        }
        let all = std::mem::take(&mut frame.collected.0);
        let (mut ours, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(other, _)| is_of(other));
        frame.collected.0 = rest;
        ours.sort_by_key(|(other, _)| other.index);
        let is_whole = ours.len() == one_of.n_all;
        // The list is made of nothing but what the calls gave.
        let origin = ours.first().map_or(Origin::CODE, |(_, first)| first.origin());
        let items = ours.into_iter().map(|(_, item)| Ok::<_, Infallible>(item));
        Tracked::list(origin, items).ok().filter(|_| is_whole)
    }

    /// How many more tools may run beside those that a frame has called.
    pub(crate) fn room_for_tools(&self, depth: usize) -> usize {
        let queue = &self.frames[depth].core().queue;
        let n_running = queue.iter().filter(|call| call.is_running()).count();
        self.settings.queue.saturating_sub(n_running)
    }
}
