//! What does not fit a JSON Schema, with paths and in words for models.

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::Value as Json;

use super::text;
use crate::host::tool::arguments::ArgumentFault;
use crate::lang::expr::scan_name;

/// Faults that are told at most.
const MAX_FAULTS: usize = 20;

/// All that is wrong with an instance; `place` writes a path.
pub(super) fn faults_of(
    validator: &Validator,
    instance: &Json,
    place: impl Fn(&Location) -> String,
) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    for error in validator.iter_errors(instance) {
        let path = place(error.instance_path());
        for (path, message) in told(&error, &path) {
            let path = if path.is_empty() { "arguments".to_owned() } else { text::words(&path, 200) };
            let fault = ArgumentFault { path, message: text::words(&message, 300) };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            if faults.len() == MAX_FAULTS {
                return faults;
            }
        }
    }
    faults
}

/// A path as in `rows[1].id`; `name` gives the name of the first member.
pub(super) fn place(path: &Location, name: impl Fn(&str) -> String) -> String {
    let mut written = String::new();
    for (index, step) in path.iter().enumerate() {
        match step {
            LocationSegment::Property(member) if index == 0 => written = name(&member),
            LocationSegment::Property(member) => push_member(&mut written, &member),
            LocationSegment::Index(index) => written.push_str(&format!("[{index}]")),
        }
    }
    written
}

fn push_member(path: &mut String, member: &str) {
    if path.is_empty() {
        path.push_str(member);
    } else if scan_name(member) == member.len() {
        path.push('.');
        path.push_str(member);
    } else {
        path.push_str(&format!("[{member:?}]"));
    }
}

/// The faults of one error: paths, and words that go on after them. The value itself is never quoted: it may be secret.
fn told(error: &ValidationError<'_>, path: &str) -> Vec<(String, String)> {
    let below = |member: &str| {
        let mut path = path.to_owned();
        push_member(&mut path, member);
        path
    };
    let here = |message: String| vec![(path.to_owned(), message)];
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let member = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            vec![(below(&member), "is missing".to_owned())]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let message = if path.is_empty() { "is no parameter" } else { "is not known there" };
            unexpected.iter().take(MAX_FAULTS).map(|member| (below(member), message.to_owned())).collect()
        }
        ValidationErrorKind::Type { kind } => {
            here(format!("must be {}, not {}", kinds(kind), kind_of(error.instance())))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(Json::to_string).collect();
            here(format!("must be one of {}", options.join(", ")))
        }
        ValidationErrorKind::Constant { expected_value } => here(format!("must be {expected_value}")),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            here(alternatives(context, error.instance()))
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            here("fits several of the forms that are allowed there; only one may fit".to_owned())
        }
        ValidationErrorKind::FalseSchema => here("must not be given".to_owned()),
        ValidationErrorKind::Format { format } => here(format!("must be a valid {format}")),
        ValidationErrorKind::Pattern { pattern } => here(format!("must match {pattern}")),
        ValidationErrorKind::Maximum { limit } => here(format!("must be at most {limit}")),
        ValidationErrorKind::Minimum { limit } => here(format!("must be at least {limit}")),
        ValidationErrorKind::ExclusiveMaximum { limit } => here(format!("must be less than {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => here(format!("must be more than {limit}")),
        ValidationErrorKind::MaxLength { limit } => here(format!("must have at most {limit} characters")),
        ValidationErrorKind::MinLength { limit } => here(format!("must have at least {limit} characters")),
        ValidationErrorKind::MaxItems { limit } => here(format!("must have at most {limit} elements")),
        ValidationErrorKind::MinItems { limit } => here(format!("must have at least {limit} elements")),
        ValidationErrorKind::UniqueItems => here("must have no element twice".to_owned()),
        ValidationErrorKind::AdditionalItems { .. }
        | ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. }
        | ValidationErrorKind::Contains
        | ValidationErrorKind::ContentEncoding { .. }
        | ValidationErrorKind::ContentMediaType { .. }
        | ValidationErrorKind::Custom { .. }
        | ValidationErrorKind::FromUtf8 { .. }
        | ValidationErrorKind::MaxProperties { .. }
        | ValidationErrorKind::MinProperties { .. }
        | ValidationErrorKind::MultipleOf { .. }
        | ValidationErrorKind::Not { .. }
        | ValidationErrorKind::PropertyNames { .. }
        | ValidationErrorKind::UnevaluatedItems { .. }
        | ValidationErrorKind::Referencing(_) => here(format!("is not allowed: {}", error.masked_with("it"))),
    }
}

/// What would have been allowed, if it is only a matter of types.
fn alternatives(context: &[Vec<ValidationError<'static>>], instance: &Json) -> String {
    let mut allowed: Vec<String> = Vec::new();
    for errors in context {
        let [error] = &errors[..] else { return "fits none of the forms that are allowed there".to_owned() };
        let ValidationErrorKind::Type { kind } = error.kind() else {
            return "fits none of the forms that are allowed there".to_owned();
        };
        allowed.push(kinds(kind));
    }
    format!("must be {}, not {}", allowed.join(" or "), kind_of(instance))
}

fn kinds(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => our_kind(&kind.to_string()).to_owned(),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| our_kind(&kind.to_string()).to_owned()).collect();
            kinds.join(" or ")
        }
    }
}

/// A type of JSON Schema by the name that it has in programs.
fn our_kind(name: &str) -> &str {
    match name {
        "string" => "str",
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list",
        "object" => "dict",
        other => other,
    }
}

fn kind_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float",
        Json::Number(_) => "int",
        Json::String(_) => "str",
        Json::Array(_) => "list",
        Json::Object(_) => "dict",
    }
}
