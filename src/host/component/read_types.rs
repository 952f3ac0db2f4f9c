//! YAML to types: mapping form, list form, one line (spec `components.md`, 4.4).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use playhouse_lang::diagnostic::Diagnostic;
use playhouse_lang::source::yaml::{Node, NodeKind, Scalar, Style};
use playhouse_lang::span::Span;
use playhouse_lang::spelling::nearest;
use playhouse_lang::value::Value;
use playhouse_vm::protocol::Origin;

use crate::component::check::fits;
use crate::component::findings::{Findings, head, kind};
use crate::component::read::{self, Members, one_of};
use crate::component::type_text::{self, UsedName};
use crate::component::types::{DataType, Description, Field, SharedTypes};

/// Names of types elsewhere, and ours.
const FOREIGN: [(&str, &str); 12] = [
    ("text", "string"),
    ("char", "string"),
    ("long", "int"),
    ("double", "float"),
    ("decimal", "float"),
    ("array", "List"),
    ("tuple", "List"),
    ("set", "List"),
    ("map", "Dict"),
    ("record", "Object"),
    ("list", "List"),
    ("any", "Any"),
];

/// Reads the types of one file.
pub(super) struct TypeReader<'f> {
    pub(super) findings: &'f mut Findings,
    /// Whether what is read is passed to the plugin.
    pub(super) in_parameter: bool,
    shared: SharedTypes,
    defined: HashMap<Arc<str>, Span>,
    used: Vec<Used>,
    /// Values that are said to be of a type; held against it when all types are known.
    values: Vec<(DataType, Value, Span, &'static str)>,
}

/// A name that stands where a type is wanted.
struct Used {
    name: Arc<str>,
    span: Span,
    /// Whether the span is exactly the name.
    is_exact: bool,
}

impl<'f> TypeReader<'f> {
    pub(super) fn new(findings: &'f mut Findings) -> TypeReader<'f> {
        TypeReader {
            findings,
            in_parameter: false,
            shared: SharedTypes::new(),
            defined: HashMap::new(),
            used: Vec::new(),
            values: Vec::new(),
        }
    }

    /// What `node` says of a value.
    pub(super) fn description(&mut self, node: &Node, what: &'static str) -> Option<Description> {
        if let Some(scalar) = node.scalar().filter(|_| !node.is_null()) {
            let message = format!("{what} must be a mapping with `type`, not {}", kind(node));
            let mut found = Diagnostic::error("config-wrong-kind", node.span, message);
            if scalar.style == Style::Plain && type_text::read(&scalar.text, &mut Vec::new()).is_ok() {
                let meant = format!("{{type: {}}}", quoted(&scalar.text));
                found = found.with_fix("write the type after `type`", node.span, meant);
            }
            self.findings.add(found);
            return None;
        }
        let members = Members::of(node, what, self.findings)?;
        Some(self.described(members))
    }

    fn described(&mut self, mut members: Members<'_>) -> Description {
        let ty = match members.get("type") {
            Some(node) => self.ty(node),
            None => {
                members.miss("type", "write `type: string`, or describe the members below `type:`");
                DataType::Any
            }
        };
        let text = members.text("description", self.findings).unwrap_or_default();
        let required = members.truth("required", self.findings);
        let optional = members.truth("optional", self.findings);
        let asset_reference = members.truth("asset_ref_acceptable", self.findings);
        if required.is_some() && required == optional {
            let both = required == Some(true);
            let message = format!("`required: {both}` and `optional: {both}` contradict each other; it may be absent");
            let span = members.entry("optional").map_or(members.span(), |(_, span)| span);
            self.findings.warning_with("config-contradiction", span, message, "remove one of them");
        }
        if let DataType::Host(name) = &ty
            && self.in_parameter
            && asset_reference != Some(true)
        {
            let span = members.entry("type").map_or(members.span(), |(node, _)| head(node));
            let message = format!("nobody but the plugin can make a {name}, so nothing can be passed here");
            let note = "with `asset_ref_acceptable: true` a reference to an asset can";
            self.findings.warning_with("config-host-type", span, message, note);
        }
        let allowed = members.get("enum").and_then(|node| self.allowed(node, &ty));
        let example = members.entry("example").filter(|(node, _)| !node.is_null()).map(|(node, _)| {
            let example = self.value_of(node, &ty);
            self.values.push((ty.clone(), example.clone(), head(node), "example"));
            example
        });
        let accepts = members.get("accepts").and_then(|node| self.accepts(node));
        let secret = members.truth("secret", self.findings).unwrap_or(false);
        let extra = members.rest(&[], self.findings);
        Description {
            ty,
            text,
            allowed,
            required: required.unwrap_or(true) && !optional.unwrap_or(false),
            asset_reference: asset_reference.unwrap_or(false),
            example,
            accepts,
            secret,
            extra,
        }
    }

    fn allowed(&mut self, node: &Node, ty: &DataType) -> Option<Vec<Value>> {
        let NodeKind::List(items) = &node.kind else {
            self.findings.wrong_kind(node, "`enum` must be a list of all values there are");
            return None;
        };
        if items.is_empty() {
            self.findings.error("config-empty", node.span, "`enum` lists no value, so nothing could ever be given");
            return None;
        }
        let mut allowed = Vec::with_capacity(items.len());
        for item in items {
            let value = self.value_of(item, ty);
            if !matches!(value, Value::Null) {
                self.values.push((ty.clone(), value.clone(), head(item), "value of `enum`"));
            }
            allowed.push(value);
        }
        Some(allowed)
    }

    fn accepts(&mut self, node: &Node) -> Option<Origin> {
        let items = if let NodeKind::List(items) = &node.kind { items.as_slice() } else { std::slice::from_ref(node) };
        if items.is_empty() {
            self.findings.error("config-empty", node.span, "`accepts` lists nothing, so nothing could ever be given");
        }
        let sources: Vec<(&str, Origin)> =
            Origin::ALL.names().filter_map(|name| Some((name, Origin::named(name)?))).collect();
        items.iter().filter_map(|item| one_of(item, "accepts", &sources, self.findings)).reduce(Origin::with)
    }

    /// A value where a type is known: where text is wanted, `1.10` is text.
    fn value_of(&mut self, node: &Node, ty: &DataType) -> Value {
        match (&node.kind, ty) {
            (NodeKind::Scalar(scalar), DataType::Str) if !node.is_null() => Value::str(scalar.text.as_str()),
            (NodeKind::Scalar(_), DataType::Union(alternatives)) => {
                let text = alternatives.iter().all(|ty| matches!(ty, DataType::Str | DataType::Null));
                self.value_of(node, if text { &DataType::Str } else { &DataType::Any })
            }
            (NodeKind::List(items), DataType::List(element)) => {
                Value::list(items.iter().map(|item| self.value_of(item, element)).collect())
            }
            _ => read::value(node, self.findings),
        }
    }

    fn ty(&mut self, node: &Node) -> DataType {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.named(scalar, node.span),
            NodeKind::Mapping(_) => self.mapping_form(node),
            NodeKind::List(items) => self.list_form(items, node.span),
            NodeKind::Unread => DataType::Any,
        }
    }

    fn named(&mut self, scalar: &Scalar, span: Span) -> DataType {
        let quotes = match scalar.style {
            Style::Plain => 0,
            Style::SingleQuoted | Style::DoubleQuoted => 1,
            Style::Block => usize::MAX,
        };
        // With escapes or several lines no piece of the text can be shown.
        let is_same = quotes <= 1 && span.range().len() == scalar.text.len() + 2 * quotes;
        let place = |start: usize, end: usize| {
            let from = span.range().start + quotes.min(1);
            if is_same { Span::new(span.file, from + start, from + end) } else { span }
        };
        let mut used = Vec::new();
        match type_text::read(&scalar.text, &mut used) {
            Ok(ty) => {
                let exact = |UsedName { name, start, end }: UsedName| Used {
                    name: name.into(),
                    span: place(start, end),
                    is_exact: is_same,
                };
                self.used.extend(used.into_iter().map(exact));
                ty
            }
            Err(fault) => {
                self.findings.error(fault.code, place(fault.start, fault.end), fault.message);
                DataType::Any
            }
        }
    }

    fn mapping_form(&mut self, node: &Node) -> DataType {
        let Some(mut members) = Members::of(node, "a type", self.findings) else { return DataType::Any };
        let name = members.entry("_type_ref");
        let name = name.and_then(|(node, _)| self.type_name(node));
        let mut fields = Vec::new();
        for (key, key_span, value) in members.entries() {
            if key == "_type_ref" {
                continue;
            }
            if value.is_null() {
                let message = format!("nothing describes `{key}`");
                let note = "write its type below it: `type: string`";
                self.findings.error_with("config-missing-key", key_span, message, note);
            } else if let Some(description) = self.description(value, "a member of a type") {
                fields.push(Field { name: key.into(), description });
            }
        }
        let object = DataType::Object(fields);
        let Some((name, span)) = name else { return object };
        if let Some(first) = self.defined.get(&name) {
            let message = format!("the type `{name}` is defined twice");
            let found = Diagnostic::error("config-duplicate-type", span, message).with_place(*first, "first here");
            self.findings.add(found.with_note(format!("to use the first one, write `type: {name}`")));
            return object;
        }
        self.defined.insert(name.clone(), span);
        self.shared.insert(name.clone(), object);
        DataType::Shared(name)
    }

    fn type_name(&mut self, node: &Node) -> Option<(Arc<str>, Span)> {
        let Some(scalar) = node.scalar().filter(|_| !node.is_null()) else {
            self.findings.wrong_kind(node, "`_type_ref` must be a name");
            return None;
        };
        let name = scalar.text.as_str();
        if type_text::is_reserved(name) {
            let message = format!("`{name}` is a type already and cannot be defined");
            self.findings.error_with("config-reserved-type-name", node.span, message, "choose another name");
            return None;
        }
        if !type_text::is_name(name) {
            let note = "a name is made of letters, digits, `_` and `-`";
            self.findings.error_with("config-bad-type", node.span, format!("`{name}` cannot name a type"), note);
            return None;
        }
        Some((name.into(), node.span))
    }

    fn list_form(&mut self, items: &[Node], span: Span) -> DataType {
        if items.is_empty() {
            let message = "nothing describes the elements of this list";
            self.findings.error_with("config-bad-type", span, message, "write `type: List` for a list of anything");
            return DataType::Any;
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut first: HashMap<Arc<str>, Span> = HashMap::new();
        for item in items {
            if item.scalar().is_some() {
                let message = format!(
                    "a field of a list's elements must be a mapping with `name` and `type`, not {}",
                    kind(item)
                );
                let note = "for simple elements write `type: List[int]`";
                self.findings.error_with("config-wrong-kind", item.span, message, note);
                continue;
            }
            let Some(mut members) = Members::of(item, "a field of a list's elements", self.findings) else { continue };
            if let Some((_, span)) = members.entry("_type_ref") {
                let note = "name the element's type elsewhere, and write `List[name]`";
                self.findings.error_with("config-bad-type", span, "`_type_ref` names a mapping, not a list", note);
            }
            let name_span = members.entry("name").map_or(members.span(), |(node, _)| head(node));
            let note = "each element of the list is an object; this is the key of one of its members";
            let name = members.required_text("name", note, self.findings);
            let description = self.described(members);
            let Some(name) = name else { continue };
            if let Some(before) = first.get(&name) {
                let message = format!("the field `{name}` appears twice");
                let spans = (name_span, *before);
                self.findings.again("config-duplicate-key", spans, message, "first given here");
                continue;
            }
            first.insert(name.clone(), name_span);
            fields.push(Field { name, description });
        }
        DataType::List(Box::new(DataType::Object(fields)))
    }

    /// When all has been read: names that nothing defines, values that are not of their type, types without values.
    pub(super) fn finish(self) -> SharedTypes {
        let TypeReader { findings, shared, defined, used, values, in_parameter: _ } = self;
        for used in &used {
            if shared.contains_key(&used.name) {
                continue;
            }
            let message = format!("no type is called `{}`", used.name);
            let mut found = Diagnostic::error("config-unknown-type", used.span, message);
            let lower = used.name.to_lowercase();
            let foreign = FOREIGN.iter().find(|(name, _)| *name == lower).map(|(_, ours)| *ours);
            let candidates = DataType::NAMES.into_iter().chain(shared.keys().map(|name| &**name));
            match foreign.or_else(|| nearest(&used.name, candidates)) {
                Some(meant) if used.is_exact => {
                    found = found.with_fix(format!("write `{meant}`"), used.span, meant);
                }
                Some(meant) => found = found.with_note(format!("did you mean `{meant}`?")),
                None => {
                    found = found.with_note(
                        "a `_type_ref` anywhere in the file defines one; a type of the plugin's own language has dots",
                    );
                }
            }
            findings.add(found);
        }
        if findings.has_errors() {
            return shared;
        }
        for (ty, value, span, what) in &values {
            if !fits(value, ty, &shared) {
                let message = format!("this {what} is not of the type {ty}");
                findings.add(Diagnostic::warning("config-unfit-value", *span, message));
            }
        }
        for name in endless(&shared) {
            let message = format!("no value is of the type `{name}`: it always holds another one of its kind");
            let span = defined.get(name).copied().unwrap_or(Span::new(findings.file, 0, 0));
            let note = "make the member that repeats it `required: false`, or a list";
            findings.warning_with("config-endless-type", span, message, note);
        }
        shared
    }
}

/// Text as YAML reads it back between brackets.
fn quoted(text: &str) -> String {
    if text.contains(['[', ',', ' ']) { format!("\"{text}\"") } else { text.to_owned() }
}

/// The shared types that no finite value can have.
fn endless(shared: &SharedTypes) -> Vec<&Arc<str>> {
    let mut finite: HashSet<&str> = HashSet::new();
    loop {
        let n_before = finite.len();
        for (name, ty) in shared {
            if has_value(ty, &finite) {
                finite.insert(name);
            }
        }
        if finite.len() == n_before {
            return shared.keys().filter(|name| !finite.contains(&***name)).collect();
        }
    }
}

fn has_value(ty: &DataType, finite: &HashSet<&str>) -> bool {
    if let DataType::Object(fields) = ty {
        let needed = fields.iter().map(|field| &field.description);
        let mut needed = needed.filter(|description| description.required && !description.asset_reference);
        needed.all(|description| has_value(&description.ty, finite))
    } else if let DataType::Union(alternatives) = ty {
        alternatives.iter().any(|ty| has_value(ty, finite))
    } else if let DataType::Shared(name) = ty {
        finite.contains(&**name)
    } else {
        true
    }
}
