//! The parameters of one instruction: which it has, which it must have, which nobody reads.

use crate::diagnostic::Diagnostic;
use crate::plan::json::Dialect;
use crate::plan::json::decoder::Decoder;
use crate::plan::json::dialect::InstructionType;
use crate::plan::json::layout::Entry;
use crate::plan::json::references::{scan, variable_object};
use crate::plan::json::tree::{Json, Member};
use crate::plan::wording::{listed, shown, suggest};
use crate::span::Span;
use crate::value::json::quoted;

/// The parameters of an instruction.
pub(crate) struct Parameters<'t> {
    object: Json<'t>,
    kind: InstructionType,
    /// The place of the instruction's type: where a missing parameter is reported.
    pub(crate) place: Span,
    /// How the instruction is called in messages.
    at: String,
}

impl<'t> Parameters<'t> {
    /// The parameters `object` of `entry`, which is of type `kind`.
    pub(crate) fn new(entry: &Entry<'t>, object: Json<'t>, kind: InstructionType) -> Parameters<'t> {
        let at = match entry.seq_no {
            Some(number) => format!("`{}` at seq_no {number}", kind.name()),
            None => format!("this `{}`", kind.name()),
        };
        Parameters { object, kind, place: entry.type_span, at }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = Member<'t>> + Clone + use<'t> {
        self.object.members()
    }

    /// A parameter that is there and not null.
    pub(crate) fn given(&self, name: &str) -> Option<Json<'t>> {
        self.object.member(name).map(|member| member.value).filter(|value| !value.is_null())
    }
}

impl<'t> Decoder<'t> {
    /// A parameter that must be there; `null` counts if `or_null`.
    pub(crate) fn required(&mut self, parameters: &Parameters<'t>, name: &str, or_null: bool) -> Option<Json<'t>> {
        let member = parameters.object.member(name);
        if let Some(member) = member.filter(|member| or_null || !member.value.is_null()) {
            return Some(member.value);
        }
        let at = &parameters.at;
        if let Some(member) = member {
            self.error("plan-missing-parameter", member.value.span(), format!("{at} needs a `{name}`, not null"));
            return None;
        }
        self.error("plan-missing-parameter", parameters.place, format!("{at} has no `{name}`"));
        None
    }

    /// Reports keys that nobody reads.
    pub(crate) fn unknown_parameters(&mut self, parameters: &Parameters<'t>) {
        let known = parameters.kind.parameters();
        let is_unused = |known: &&str| parameters.object.member(known).is_none();
        let unused: Vec<&str> = known.iter().copied().filter(is_unused).collect();
        for member in parameters.members() {
            if known.contains(&member.key) {
                continue;
            }
            let message = format!("`{}` has no parameter `{}`", parameters.kind.name(), shown(member.key));
            let warning = Diagnostic::warning("plan-unknown-parameter", member.key_span, message);
            self.diagnostics.push(match suggest(&self.spelling, member.key, unused.iter().copied()) {
                Some(near) => warning.with_fix(format!("call it `{near}`"), member.key_span, format!("\"{near}\"")),
                None => warning.with_note(format!("it has {}", listed(known.iter().copied()))),
            });
        }
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, name: &str, wanted: &str, value: Json<'t>) {
        let message = format!("`{name}` must be {wanted}, not {}", value.kind_name());
        self.error("plan-wrong-type", value.span(), message);
    }

    /// The name of a variable that is set, which must be text and no reference.
    pub(crate) fn variable_name(&mut self, parameter: &str, value: Json<'t>) -> Option<&'t str> {
        let Some(name) = value.text() else {
            match variable_object(value).filter(|_| self.dialect == Dialect::Branch) {
                Some(name) => self.no_reference(name, value.span()),
                None => self.wrong_type(parameter, "the name of a variable", value),
            }
            return None;
        };
        self.sound_name(name, value.span()).then_some(name)
    }

    /// Whether `name`, which stands at `place`, can be the name of a variable.
    pub(crate) fn sound_name(&mut self, name: &str, place: Span) -> bool {
        let dialect = self.dialect;
        if name.is_empty() {
            self.error("plan-variable-name", place, "a variable's name can't be empty");
            return false;
        }
        if let Some(whole) = scan(name, dialect).next().filter(|found| found.range == (0..name.len())) {
            self.no_reference(whole.name, place);
            return false;
        }
        // In dialect B `{"var": …}` reads any name.
        if dialect == Dialect::Jmp && !crate::plan::json::references::is_name(name, dialect) {
            let message = format!("nothing can read a variable named `{}`", shown(name));
            let warning = Diagnostic::warning("plan-variable-name", place, message);
            self.diagnostics.push(warning.with_note("names are made of the letters a to z, digits and `_`"));
        }
        true
    }

    fn no_reference(&mut self, name: &str, place: Span) {
        let error =
            Diagnostic::error("plan-variable-name", place, "this is the name of a variable, not a reference to it");
        self.diagnostics.push(error.with_fix(format!("write `{}`", shown(name)), place, quoted(name)));
    }
}
