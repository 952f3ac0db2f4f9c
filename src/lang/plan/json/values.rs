//! Values of a plan: JSON with the references in it (spec `plans.md`, 1.2 and 2.1).

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::plan::json::decoder::{Decoder, Doubtful};
use crate::plan::json::references::{Doubt, Found, place_in_string, scan, variable_object};
use crate::plan::json::tree::{Json, Kind};
use crate::plan::json::{Dialect, PlanValue, PlanValueKind, TextPart};
use crate::plan::wording::shown;
use crate::span::Span;
use crate::value::{Map, Value};

/// Deeper data is refused: whoever reads it back from a journal stops at 128 levels, some of which are the journal's.
pub(crate) const MAX_DATA_DEPTH: usize = 100;

/// How many doubtful pieces of one text are told: for each the text is counted through once more.
const MAX_DOUBTS: usize = 20;

impl<'t> Decoder<'t> {
    /// `json` as a value with references.
    pub(crate) fn value(&mut self, json: Json<'t>) -> PlanValue {
        if json.height() <= MAX_DATA_DEPTH {
            return self.shallow_value(json);
        }
        let message = format!("this value is nested deeper than {MAX_DATA_DEPTH} levels");
        self.error("plan-data-too-deep", json.opening(), message);
        PlanValue { span: json.span(), kind: PlanValueKind::Literal(Value::Null) }
    }

    /// Takes stack for each of at most [`MAX_DATA_DEPTH`] levels.
    fn shallow_value(&mut self, json: Json<'t>) -> PlanValue {
        let kind = match json.kind() {
            Kind::Scalar(value) => PlanValueKind::Literal(value.clone()),
            Kind::Text(text) => self.text(text, json.span()),
            Kind::List => {
                let items: Vec<PlanValue> = json.items().map(|item| self.shallow_value(item)).collect();
                match items.iter().map(literal).collect::<Option<Vec<Value>>>() {
                    Some(values) => PlanValueKind::Literal(Value::list(values)),
                    None => PlanValueKind::List(items),
                }
            }
            Kind::Object => self.object(json),
        };
        PlanValue { span: json.span(), kind }
    }

    fn object(&mut self, json: Json<'t>) -> PlanValueKind {
        if let Some(name) = variable_object(json) {
            if self.dialect == Dialect::Branch {
                if name.is_empty() {
                    self.error("plan-variable-name", json.span(), "a variable's name can't be empty");
                }
                return PlanValueKind::Variable(name.into());
            }
            let message = format!("`{{\"var\": …}}` is data in dialect jmp, and does not read `{}`", shown(name));
            let warning = Diagnostic::warning("plan-other-reference", json.span(), message);
            let reference = format!("\"${{{name}}}\"");
            let fix = format!("write `\"${{{}}}\"`", shown(name));
            self.doubts
                .push(Doubtful { name: name.to_owned(), warning: warning.with_fix(fix, json.span(), reference) });
        } else if self.dialect == Dialect::Branch
            && let Some(member) = json.only_member().filter(|member| member.key == "var")
        {
            let message =
                format!("this is data: to name a variable, `var` must be text, not {}", member.value.kind_name());
            self.warning("plan-other-reference", member.value.span(), message);
        }
        let members: Vec<(Arc<str>, PlanValue)> =
            json.members().map(|member| (Arc::from(member.key), self.shallow_value(member.value))).collect();
        match members.iter().map(|(name, value)| Some((name.clone(), literal(value)?))).collect::<Option<Map>>() {
            Some(values) => PlanValueKind::Literal(Value::map(values)),
            None => PlanValueKind::Map(members),
        }
    }

    fn text(&mut self, text: &str, span: Span) -> PlanValueKind {
        let mut parts = Vec::new();
        let mut end = 0;
        let mut n_doubts = 0;
        for Found { range, name, doubt } in scan(text, self.dialect) {
            if let Some(doubt) = doubt {
                n_doubts += 1;
                if n_doubts <= MAX_DOUBTS {
                    let place = place_in_string(self.text, text, span, &range);
                    self.doubt(place, name, doubt);
                }
                continue;
            }
            if end == 0 && range == (0..text.len()) && self.dialect == Dialect::Jmp {
                return PlanValueKind::Variable(name.into());
            }
            if range.start > end {
                parts.push(TextPart::Text(text[end..range.start].into()));
            }
            parts.push(TextPart::Variable(name.into()));
            end = range.end;
        }
        if parts.is_empty() {
            return PlanValueKind::Literal(Value::str(text));
        }
        if end < text.len() {
            parts.push(TextPart::Text(text[end..].into()));
        }
        PlanValueKind::Text(parts)
    }

    fn doubt(&mut self, place: Span, name: &str, doubt: Doubt) {
        let dialect = self.dialect;
        let reference = dialect.reference(name);
        let warning = match doubt {
            Doubt::Members => {
                let message = format!("this is text: members of `{}` are not read", shown(name));
                let warning = Diagnostic::warning("plan-members-not-read", place, message);
                warning.with_note(format!("a reference is the name alone: `{}`", shown(&reference)))
            }
            Doubt::Spaces => Diagnostic::warning(
                "plan-other-reference",
                place,
                "this is text: a reference has no spaces inside its braces",
            )
            .with_fix(format!("write `{}`", shown(&reference)), place, reference),
            Doubt::OtherDialect => {
                let message =
                    format!("this is text in dialect {}: it does not read `{}`", dialect.language(), shown(name));
                let warning = Diagnostic::warning("plan-other-reference", place, message);
                warning.with_fix(format!("write `{}`", shown(&reference)), place, reference)
            }
        };
        if doubt == Doubt::Members && dialect == Dialect::Jmp {
            // `${a.b}` has no other meaning that anybody could want.
            self.diagnostics.push(warning);
        } else {
            self.doubts.push(Doubtful { name: name.to_owned(), warning });
        }
    }
}

fn literal(value: &PlanValue) -> Option<Value> {
    if let PlanValueKind::Literal(value) = &value.kind { Some(value.clone()) } else { None }
}
