//! Values of instructions.

use std::sync::Arc;

use playhouse_lang::plan::json::{PlanValue, PlanValueKind, TextPart};
use playhouse_lang::value::{Excess, Value};

use crate::plan::request::{NodeFault, PlanContext};
use crate::protocol::{FrameOrigin, Origin, PlanFaultKind, Provenance, Tracked};

/// The instruction of dialect B that looks for texts, and its number of them.
pub(super) const RETRIEVE_CHUNKS: &str = "retrieve_embedded_chunks";
const TOP_K: &str = "top_k";

impl PlanContext<'_> {
    /// The value with its references resolved, once: what is put in is data. `parameter` is named by the fault.
    pub(super) fn value(&self, value: &PlanValue, parameter: &str) -> Result<Tracked, NodeFault> {
        match &value.kind {
            PlanValueKind::Literal(value) => Ok(Tracked::new(value.clone(), Origin::CODE)),
            PlanValueKind::Variable(name) => self.variable(name, parameter).cloned(),
            PlanValueKind::Text(parts) => {
                let mut text = String::new();
                let mut provenance = Provenance::of(Origin::CODE);
                for part in parts {
                    match part {
                        TextPart::Text(part) => text.push_str(part),
                        TextPart::Variable(name) => {
                            let variable = self.variable(name, parameter)?.clone();
                            text.push_str(&provenance.absorb(variable).to_text());
                        }
                    }
                    if text.len() > self.session.settings.value_bytes {
                        let excess = Excess::Bytes(self.session.settings.value_bytes);
                        return Err(NodeFault::too_large("the text", excess).of(parameter));
                    }
                }
                Ok(provenance.track(Value::from(text)))
            }
            PlanValueKind::List(items) => {
                Tracked::list(Origin::CODE, items.iter().map(|item| self.value(item, parameter)))
            }
            PlanValueKind::Map(members) => {
                let member =
                    |(name, member): &(Arc<str>, PlanValue)| Ok((name.clone(), self.value(member, parameter)?));
                Tracked::map(Origin::CODE, members.iter().map(member))
            }
        }
    }

    fn variable(&self, name: &str, parameter: &str) -> Result<&Tracked, NodeFault> {
        let scope = &self.core.scope;
        match scope.get(name) {
            Some(variable) => Ok(&variable.value),
            None => {
                let set: Vec<&str> = scope.iter().map(|(name, _)| &**name).take(20).collect();
                let there = if set.is_empty() {
                    "nothing is set".to_owned()
                } else {
                    format!("these are set: {}", set.join(", "))
                };
                let is_given = self.core.origin == FrameOrigin::Begin
                    && self.source.parameters.iter().any(|parameter| **parameter == *name);
                let give = if is_given { format!("; set it with --arg {name}=value") } else { String::new() };
                let message = format!("the variable `{name}` is not set; {there}{give}");
                Err(NodeFault::new(PlanFaultKind::UndefinedVariable, message).of(parameter))
            }
        }
    }
}

/// `top_k` is a positive integer; digits in text are accepted, as models write them (spec `plans.md`, 2.2).
pub(super) fn check_top_k(arguments: &mut [(Arc<str>, Tracked)]) -> Result<(), NodeFault> {
    let Some((_, top_k)) = arguments.iter_mut().find(|(name, _)| &**name == TOP_K) else { return Ok(()) };
    let number = top_k.value().to_text().trim().parse().ok().filter(|number| *number > 0);
    let Some(number) = number else {
        let message = format!("`{TOP_K}` must be a positive integer, but is {}", top_k.shown().kind());
        return Err(NodeFault::new(PlanFaultKind::Value, message).of(TOP_K));
    };
    *top_k = top_k.with_value(Value::Int(number));
    Ok(())
}
