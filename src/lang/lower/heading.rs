//! Headings to names and signatures: `Name($a: str, $b = 3) -> dict` (spec `language.md`, "File").

use std::sync::Arc;

use strum::IntoEnumIterator as _;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::nearest;
use crate::diagnostic::wording::one_line;
use crate::english::phrase::Phrase;
use crate::english::words::closing_bracket;
use crate::expr::{Style, identifier, parse_prefix, scan_name};
use crate::signature::{Parameter, Type, TypeKind, read_type, split_outside_brackets};
use crate::span::Span;

/// What a playbook's heading says.
pub(crate) struct Heading {
    /// The name as an identifier; empty if the heading holds none.
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Option<Type>,
}

/// Reads a playbook's heading; `title` stands at `span`.
pub(crate) fn read_heading(title: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) -> Heading {
    let mut heading = Heading { name: "".into(), parameters: Vec::new(), returns: None };
    let (words, parameters, rest) = split_heading(title);
    heading.name = identifier(words).into();
    let place = |part: &str| {
        let start = span.start as usize + (part.as_ptr() as usize - title.as_ptr() as usize);
        Span::new(span.file, start, start + part.len())
    };
    if heading.name.is_empty() {
        let message = "this heading has no name; write `## Name` or `## Name($parameter)`";
        diagnostics.push(Diagnostic::error("bad-signature", span, message));
    }
    if let Some(meant) = parameters.is_none().then(|| with_brackets(words, span)).flatten() {
        let message = "a variable in a heading is a parameter only in brackets; here it is a word of the name";
        let warning = Diagnostic::warning("bad-signature", place(words.trim()), message);
        diagnostics.push(warning.with_note(format!("write `## {meant}`")));
    }
    if parameters.is_some() && closing_bracket(&title[words.len() + 1..]).is_none() {
        let message = "the bracket of the parameters is not closed; write `## Name($parameter)`";
        diagnostics.push(Diagnostic::error("bad-signature", span, message));
    }
    if let Some(parameters) = parameters {
        read_parameters(parameters, &place, &mut heading.parameters, diagnostics);
    }
    let returns = rest.trim();
    if let Some(ty) = returns.strip_prefix("->") {
        let ty = ty.trim();
        // `-> None` promises nothing, which is the same as promising no type.
        if !ty.eq_ignore_ascii_case("none") {
            heading.returns = read_type(ty);
            if heading.returns.is_none() {
                diagnostics.push(unknown_type(ty, place(ty)));
                heading.returns = Some(Type::ANY);
            }
        }
    } else if !returns.is_empty() {
        let message = format!("`{returns}` after the parameters can't be read; write `-> type` or nothing");
        diagnostics.push(Diagnostic::error("bad-signature", place(returns), message));
    }
    heading
}

/// A heading whose words name variables, with those in brackets after it: `Unlock($user)`, of `Unlock $user`.
fn with_brackets(words: &str, span: Span) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = words.to_owned();
    for mention in Phrase::at(words, span).mentions() {
        let name = format!("${}", mention.name);
        rest = rest.replacen(&name, "", 1);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let title = one_line(&rest);
    (!names.is_empty() && !title.is_empty()).then(|| format!("{title}({})", names.join(", ")))
}

/// The words of a heading, without the signature.
pub(crate) fn title_words(title: &str) -> &str {
    split_heading(title).0.trim_end()
}

/// The heading with its signature as it is written everywhere; none: it has none that can be read.
pub(crate) fn tidy_title(title: &str) -> Option<String> {
    let (_, parameters, rest) = split_heading(title);
    let mut tidy = title_words(title).to_owned();
    if let Some(mut rest) = parameters {
        closing_bracket(&title[title.find('(')? + 1..])?;
        let (mut written, mut ignored) = (Vec::new(), Vec::new());
        while !rest.trim().is_empty() {
            let read = read_parameter(rest, &|_| Span::default(), &mut ignored).ok()?;
            let ty = if read.ty.is_empty() { String::new() } else { format!(": {}", read.ty) };
            let default = if read.default.is_empty() { String::new() } else { format!(" = {}", read.default) };
            written.push(format!("${}{ty}{default}", read.parameter.name));
            rest = &rest[read.length..];
        }
        tidy.push_str(&format!("({})", written.join(", ")));
    }
    let returns = rest.trim();
    if !returns.is_empty() {
        tidy.push_str(&format!(" -> {}", returns.strip_prefix("->")?.trim()));
    }
    Some(tidy)
}

/// A type that there is not. What a value is checked against must not be lost without a word.
pub(crate) fn unknown_type(name: &str, span: Span) -> Diagnostic {
    let known = || TypeKind::iter().map(|kind| kind.to_string());
    let error = Diagnostic::error("unknown-type", span, format!("there is no type `{name}`"));
    let known_types = error.with_note(format!("the types are {}", known().collect::<Vec<_>>().join(", ")));
    match nearest(name, known()) {
        Some(meant) => known_types.with_fix(format!("did you mean `{meant}`?"), span, meant),
        None => known_types,
    }
}

/// Splits a heading into name, parameters and what follows. Brackets in prose (`Do this (carefully)`) are prose.
fn split_heading(title: &str) -> (&str, Option<&str>, &str) {
    if let Some(open) = title.find('(') {
        let words = &title[..open];
        let inside = &title[open + 1..];
        let is_name = scan_name(words) == words.len() && !words.is_empty();
        let empty_or_variable = inside.trim_start().starts_with(['$', ')']);
        if is_name || empty_or_variable {
            let close = closing_bracket(inside).unwrap_or(inside.len());
            return (words, Some(&inside[..close]), inside.get(close + 1..).unwrap_or(""));
        }
    }
    match title.find("->") {
        Some(arrow) => (&title[..arrow], None, &title[arrow..]),
        None => (title, None, ""),
    }
}

fn read_parameters(
    text: &str,
    place: &dyn Fn(&str) -> Span,
    parameters: &mut Vec<Parameter>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut rest = text;
    while !rest.trim().is_empty() {
        match read_parameter(rest, place, diagnostics) {
            Ok(ReadParameter { parameter, length, .. }) => {
                if let Some(first) = parameters.iter().find(|other| other.name == parameter.name)
                    && let (Some(here), Some(there)) = (parameter.span, first.span)
                {
                    let message = format!("there are two parameters `${}`; rename one", parameter.name);
                    let error = Diagnostic::error("duplicate-parameter", here, message);
                    diagnostics.push(error.with_place(there, "first here"));
                }
                parameters.push(parameter);
                rest = &rest[length..];
            }
            Err((part, message)) => {
                diagnostics.push(Diagnostic::error("bad-signature", place(part), message));
                return;
            }
        }
    }
}

/// One parameter of a heading.
struct ReadParameter<'a> {
    parameter: Parameter,
    /// Its type as written; empty if none.
    ty: &'a str,
    /// Its default as written; empty if none.
    default: &'a str,
    /// How much was read, with the comma after it.
    length: usize,
}

/// Reads `$name: type = default` and the comma after it.
fn read_parameter<'a>(
    text: &'a str,
    place: &dyn Fn(&str) -> Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<ReadParameter<'a>, (&'a str, String)> {
    let start = text.len() - text.trim_start().len();
    let dollar = usize::from(text[start..].starts_with('$'));
    let length = scan_name(&text[start + dollar..]);
    let mut at = start + dollar + length;
    if length == 0 {
        let shown = text.trim().split(',').next().unwrap_or("");
        return Err((text.trim(), format!("parameter `{shown}` can't be read; write `$name: type = default`")));
    }
    let named = &text[start..at];
    let mut ty = Type::ANY;
    let (mut written_ty, mut written_default) = ("", "");
    let skip = |at: usize| at + (text[at..].len() - text[at..].trim_start().len());
    at = skip(at);
    if text[at..].starts_with(':') {
        let end = split_outside_brackets(&text[at + 1..], &['=', ','])[0].len();
        written_ty = text[at + 1..at + 1 + end].trim();
        ty = read_type(written_ty).filter(|_| !written_ty.is_empty()).unwrap_or_else(|| {
            diagnostics.push(unknown_type(written_ty, place(written_ty)));
            Type::ANY
        });
        at = skip(at + 1 + end);
    }
    let mut default = None;
    if text[at..].starts_with('=') {
        let source = &text[at + 1..];
        let offset = place(source);
        let (expr, length) = parse_prefix(Style::Value, source, offset.file, offset.start as usize)
            .map_err(|error| (source, format!("the default of `{named}` can't be read: {}", error.message)))?;
        let value = expr.as_constant();
        written_default = source[..length].trim();
        default = Some(value.ok_or((source, format!("the default of `{named}` must be a literal")))?);
        at = skip(at + 1 + length);
    }
    if let Some(default) = &default
        && !ty.accepts(default)
    {
        // `$x: str = None` is how Python programs write an optional parameter.
        ty.optional |= default.kind() == "None";
        if !ty.accepts(default) {
            return Err((named, format!("the default of `{named}` must be {ty}, not {}", default.kind())));
        }
    }
    if text[at..].starts_with(',') {
        at += 1;
    } else if !text[at..].trim().is_empty() {
        return Err((text[at..].trim(), format!("expected `,` or `)` after `{named}`")));
    }
    let span = Some(place(named));
    let parameter = Parameter { name: named.trim_start_matches('$').into(), ty, default, description: "".into(), span };
    Ok(ReadParameter { parameter, ty: written_ty, default: written_default, length: at })
}
