//! Commands as callables of playbooks and plans: `plugin.command` (spec `components.md`).

use std::sync::Arc;

use playhouse_lang::program::{Parameter, Signature, Type, TypeKind};
use playhouse_lang::value::Value;

use crate::component::config::Command;
use crate::component::types::{DataType, Description, SharedTypes};
use crate::text::one_line;

/// The one parameter of a command that takes no object.
pub(crate) const WHOLE: &str = "param";

/// So many values of an `enum` are told.
const MAX_TOLD: usize = 12;

impl Command {
    /// What can be known of `plugin.command` without running it: a parameter per member where the command takes an
    /// object, else one named `param`. What may be left out is null by default.
    pub fn signature(&self, plugin: &str, shared: &SharedTypes) -> Signature {
        let parameters = match &self.parameter {
            None => Vec::new(),
            Some(description) => match description.ty.fields(shared) {
                Some(fields) => {
                    let is_needed = description.required;
                    fields.iter().map(|field| parameter(&field.name, &field.description, is_needed)).collect()
                }
                None => vec![parameter(&WHOLE.into(), description, true)],
            },
        };
        Signature {
            name: format!("{plugin}.{}", self.name).into(),
            parameters,
            returns: self.response.as_ref().map_or(Type::ANY, |response| {
                let ty = near(&response.ty);
                Type { optional: ty.optional || !response.required, ..ty }
            }),
            summary: one_line(&self.description).into(),
        }
    }
}

/// `is_needed`: whether the object that holds it must be there.
fn parameter(name: &Arc<str>, description: &Description, is_needed: bool) -> Parameter {
    let may_be_absent = !(description.required && is_needed);
    let ty = if description.asset_reference { Type::ANY } else { near(&description.ty) };
    let ty = Type { optional: ty.optional || may_be_absent, ..ty };
    let mut text = one_line(&description.text);
    if let Some(allowed) = &description.allowed {
        let mut values: Vec<String> = allowed.iter().take(MAX_TOLD).map(Value::to_json).collect();
        if allowed.len() > MAX_TOLD {
            values.push("…".to_owned());
        }
        text = format!("{text} (one of {})", values.join(", ")).trim_start().to_owned();
    }
    Parameter {
        name: name.clone(),
        ty,
        default: may_be_absent.then_some(Value::Null),
        description: text.into(),
        span: None,
    }
}

/// The nearest type that playbooks have. It allows whatever the declared one allows.
fn near(ty: &DataType) -> Type {
    let of = |kind| Type { kind, optional: false };
    match ty {
        DataType::Any | DataType::Host(_) => Type::ANY,
        DataType::Null => Type { kind: TypeKind::Any, optional: true },
        DataType::Str => of(TypeKind::Str),
        DataType::Int => of(TypeKind::Int),
        DataType::Float => of(TypeKind::Float),
        DataType::Bool => of(TypeKind::Bool),
        DataType::List(_) => of(TypeKind::List),
        DataType::Dict(_) | DataType::Object(_) | DataType::Shared(_) => of(TypeKind::Dict),
        DataType::Union(alternatives) => {
            let optional = alternatives.iter().any(|ty| *ty == DataType::Null || near(ty).optional);
            let mut kinds = alternatives.iter().filter(|ty| **ty != DataType::Null).map(|ty| near(ty).kind);
            let first = kinds.next().unwrap_or(TypeKind::Any);
            Type { kind: if kinds.all(|kind| kind == first) { first } else { TypeKind::Any }, optional }
        }
    }
}
