//! JSON as it was written: a tree with the place of every key and value. Nothing here recurses but what says so:
//! nesting costs no stack.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::span::Span;
use crate::value::{Map, Value};

/// A tree as one list: after a list or an object everything inside it, keys before their values. What was not read
/// to its end holds what there was.
#[derive(Default)]
pub(crate) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    /// The lists and objects whose end is not read yet, the outermost first.
    open: Vec<usize>,
}

struct Node<'a> {
    span: Span,
    kind: Kind<'a>,
    /// Where what is inside ends in the list.
    end: usize,
    /// How many levels of lists and objects it is; a scalar has none.
    height: usize,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// `null`, a truth or a number.
    Scalar(Value),
    /// Text, decoded; also a key.
    Text(Cow<'a, str>),
    /// A list.
    List,
    /// An object.
    Object,
}

/// A value of a document.
#[derive(Clone, Copy)]
pub(crate) struct Json<'t> {
    document: &'t Document<'t>,
    index: usize,
}

/// A key of an object and its value.
#[derive(Clone, Copy)]
pub(crate) struct Member<'t> {
    pub(crate) key: &'t str,
    /// Its place, with the quotation marks.
    pub(crate) key_span: Span,
    pub(crate) value: Json<'t>,
}

impl<'a> Document<'a> {
    /// Adds the next key or value; a list or an object is open then.
    pub(crate) fn add(&mut self, kind: Kind<'a>, span: Span) {
        let index = self.nodes.len();
        let is_open = matches!(kind, Kind::List | Kind::Object);
        // What is never closed goes on to the end.
        let end = if is_open { usize::MAX } else { index + 1 };
        self.nodes.push(Node { span, kind, end, height: usize::from(is_open) });
        if is_open {
            self.open.push(index);
        }
    }

    /// The innermost open list or object ends, with the bracket at `closing`.
    pub(crate) fn close(&mut self, closing: Span) {
        let Some(index) = self.open.pop() else { return };
        let end = self.nodes.len();
        let node = &mut self.nodes[index];
        (node.end, node.span) = (end, node.span.to(closing));
        let height = node.height;
        if let Some(&around) = self.open.last() {
            self.nodes[around].height = self.nodes[around].height.max(height + 1);
        }
    }

    /// The innermost list or object that is open, and the place of its bracket.
    pub(crate) fn innermost(&self) -> Option<(&Kind<'a>, Span)> {
        self.open.last().map(|&index| (&self.nodes[index].kind, self.nodes[index].span))
    }

    /// How many lists and objects are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The value that it is.
    pub(crate) fn root(&self) -> Json<'_> {
        Json { document: self, index: 0 }
    }

    /// The keys that stand in one object a second time, each with the place of the first.
    pub(crate) fn duplicates(&self) -> Vec<(Member<'_>, Span)> {
        let mut duplicates = Vec::new();
        for index in 0..self.nodes.len() {
            let mut first = HashMap::new();
            for member in (Json { document: self, index }).members() {
                let place = *first.entry(member.key).or_insert(member.key_span);
                if place != member.key_span {
                    duplicates.push((member, place));
                }
            }
        }
        duplicates
    }
}

impl<'t> Json<'t> {
    fn node(self) -> &'t Node<'t> {
        &self.document.nodes[self.index]
    }

    /// Its place.
    pub(crate) fn span(self) -> Span {
        self.node().span
    }

    /// What it is.
    pub(crate) fn kind(self) -> &'t Kind<'t> {
        &self.node().kind
    }

    /// How many levels of lists and objects it is.
    pub(crate) fn height(self) -> usize {
        self.node().height
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Scalar(Value::Null))
    }

    /// The integer, if it is one.
    pub(crate) fn int(self) -> Option<i64> {
        if let Kind::Scalar(Value::Int(int)) = self.kind() { Some(*int) } else { None }
    }

    /// The text, if it is text.
    pub(crate) fn text(self) -> Option<&'t str> {
        if let Kind::Text(text) = self.kind() { Some(text) } else { None }
    }

    /// What stands inside it directly: elements, or keys and values in turn.
    fn inside(self) -> impl Iterator<Item = Json<'t>> + Clone {
        let Json { document, index } = self;
        let end = self.node().end.min(document.nodes.len());
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(Json { document, index: next })?;
            next = child.node().end;
            Some(child)
        })
    }

    /// The elements of a list; of anything else none.
    pub(crate) fn items(self) -> impl Iterator<Item = Json<'t>> + Clone {
        let is_list = *self.kind() == Kind::List;
        is_list.then(|| self.inside()).into_iter().flatten()
    }

    /// The members of an object in the order written; of anything else none.
    pub(crate) fn members(self) -> impl Iterator<Item = Member<'t>> + Clone {
        let is_object = *self.kind() == Kind::Object;
        let mut inside = is_object.then(|| self.inside()).into_iter().flatten();
        std::iter::from_fn(move || {
            let key = inside.next()?;
            Some(Member { key: key.text()?, key_span: key.span(), value: inside.next()? })
        })
    }

    /// The member with `key`, if it is an object that has one.
    pub(crate) fn member(self, key: &str) -> Option<Member<'t>> {
        self.members().find(|member| member.key == key)
    }

    /// The one member of an object that has no other.
    pub(crate) fn only_member(self) -> Option<Member<'t>> {
        let mut members = self.members();
        members.next().filter(|_| members.next().is_none())
    }

    /// Whether it is an object with a member, whole or not, of this key.
    pub(crate) fn mentions(self, key: &str) -> bool {
        *self.kind() == Kind::Object && self.inside().step_by(2).any(|written| written.text() == Some(key))
    }

    /// The place of its first byte, which is its bracket if it has one.
    pub(crate) fn opening(self) -> Span {
        opening(self.span())
    }

    /// What kind of value it is, in words.
    pub(crate) fn kind_name(self) -> &'static str {
        match self.kind() {
            Kind::Scalar(Value::Null) => "null",
            Kind::Scalar(Value::Bool(_)) => "a boolean",
            Kind::Scalar(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List => "a list",
            Kind::Object => "an object",
        }
    }

    /// It as a value. Takes stack for each level: only for what is known not to be deep.
    pub(crate) fn to_value(self) -> Value {
        match self.kind() {
            Kind::Scalar(value) => value.clone(),
            Kind::Text(text) => Value::str(&**text),
            Kind::List => Value::list(self.items().map(Json::to_value).collect()),
            Kind::Object => {
                let members = self.members().map(|member| (member.key.into(), member.value.to_value()));
                Value::map(members.collect::<Map>())
            }
        }
    }
}

/// The first byte of a value, which is its bracket if it has one.
pub(crate) fn opening(span: Span) -> Span {
    Span { end: (span.start + 1).min(span.end), ..span }
}
