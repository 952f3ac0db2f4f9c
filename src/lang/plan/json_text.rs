//! JSON text to a tree with the place of every key and value.
//!
//! As plans are written by models, raw line breaks and tabs inside strings are fine (spec `plans.md`, 1.1); all else
//! is JSON as in RFC 8259. Faults that leave no doubt about what was meant (a comma too many, `None`) are reported
//! and read over, so that one pass finds as many as it can. Nothing here recurses: nesting costs no stack.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::plan::json_reader::read;
use crate::span::{FileId, Span};
use crate::value::{Map, Value};

/// A tree, as flat lists.
pub(crate) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    items: Vec<u32>,
    members: Vec<MemberNode<'a>>,
    root: u32,
}

struct Node<'a> {
    span: Span,
    kind: Kind<'a>,
    /// How many levels of lists and objects it is; a scalar has none.
    height: u32,
}

struct MemberNode<'a> {
    key: Cow<'a, str>,
    key_span: Span,
    value: u32,
}

/// What a value is. Ranges are those of its members in the lists of the document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// Any other number; finite.
    Float(f64),
    /// Text, decoded.
    Text(Cow<'a, str>),
    /// A list.
    List(Range<u32>),
    /// An object.
    Object(Range<u32>),
}

/// A value of a document.
#[derive(Clone, Copy)]
pub(crate) struct Json<'t> {
    document: &'t Document<'t>,
    index: u32,
}

/// A key of an object and its value.
#[derive(Clone, Copy)]
pub(crate) struct Member<'t> {
    pub(crate) key: &'t str,
    /// Its place, with the quotation marks.
    pub(crate) key_span: Span,
    pub(crate) value: Json<'t>,
}

/// What reading gave.
pub(crate) struct Reading<'a> {
    /// The whole value, if there was one; with faults in it, if there are `faults`.
    pub(crate) document: Option<Document<'a>>,
    /// What is no JSON.
    pub(crate) faults: Vec<Diagnostic>,
    /// Keys that are there twice.
    pub(crate) duplicates: Vec<Diagnostic>,
    /// Where whoever looks for another value goes on: behind this one; if it is none, where it broke, or at the text
    /// before that place, which a quotation mark that belongs to something else may have made.
    pub(crate) resume: usize,
    /// Whether an object in the outermost list has the key `seq_no`.
    pub(crate) is_plan: bool,
}

impl<'a> Reading<'a> {
    /// Reads the value that begins at `start`; what is behind it does not matter. Stops at `max_faults` faults.
    pub(crate) fn of(file: FileId, text: &'a str, start: usize, max_faults: usize) -> Reading<'a> {
        read(file, text, start, max_faults)
    }
}

impl Document<'_> {
    /// The value that it is.
    pub(crate) fn root(&self) -> Json<'_> {
        Json { document: self, index: self.root }
    }
}

impl<'t> Json<'t> {
    fn node(self) -> &'t Node<'t> {
        &self.document.nodes[self.index as usize]
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
        self.node().height as usize
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        *self.kind() == Kind::Null
    }

    /// The text, if it is text.
    pub(crate) fn text(self) -> Option<&'t str> {
        if let Kind::Text(text) = self.kind() { Some(text) } else { None }
    }

    /// The elements, if it is a list.
    pub(crate) fn items(self) -> Option<impl ExactSizeIterator<Item = Json<'t>> + Clone> {
        let Kind::List(range) = self.kind() else { return None };
        let items = &self.document.items[range.start as usize..range.end as usize];
        Some(items.iter().map(move |&index| Json { index, ..self }))
    }

    /// The members in the order written, if it is an object.
    pub(crate) fn members(self) -> Option<impl ExactSizeIterator<Item = Member<'t>> + Clone> {
        let Kind::Object(range) = self.kind() else { return None };
        let members = &self.document.members[range.start as usize..range.end as usize];
        let member = move |member: &'t MemberNode<'t>| Member {
            key: &member.key,
            key_span: member.key_span,
            value: Json { index: member.value, ..self },
        };
        Some(members.iter().map(member))
    }

    /// The member with `key`, if it is an object that has one.
    pub(crate) fn member(self, key: &str) -> Option<Member<'t>> {
        self.members()?.find(|member| member.key == key)
    }

    /// What kind of value it is, in words.
    pub(crate) fn kind_name(self) -> &'static str {
        match self.kind() {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) | Kind::Float(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    /// It as a value. Takes stack for each level: only for what is known not to be deep.
    pub(crate) fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool(truth) => Value::Bool(*truth),
            Kind::Int(int) => Value::Int(*int),
            Kind::Float(float) => Value::Float(*float),
            Kind::Text(text) => Value::str(&**text),
            Kind::List(_) => Value::list(self.items().into_iter().flatten().map(Json::to_value).collect()),
            Kind::Object(_) => {
                let mut members = Map::new();
                for member in self.members().into_iter().flatten() {
                    members.insert(member.key.into(), member.value.to_value());
                }
                Value::map(members)
            }
        }
    }
}

/// Puts a document together, from the leaves up.
pub(crate) struct Builder<'a> {
    nodes: Vec<Node<'a>>,
    items: Vec<u32>,
    members: Vec<MemberNode<'a>>,
    open: Vec<Open<'a>>,
    // The children of what is open, innermost last.
    pending_items: Vec<u32>,
    pending_members: Vec<MemberNode<'a>>,
    duplicates: Vec<Diagnostic>,
    is_plan: bool,
}

/// A list or an object that is not closed yet.
struct Open<'a> {
    start: Span,
    is_list: bool,
    /// How many children were pending when it began.
    n_before: usize,
    /// The key whose value comes next.
    key: Option<(Cow<'a, str>, Span)>,
    height: u32,
}

impl<'a> Builder<'a> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Builder {
            nodes: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
            open: Vec::new(),
            pending_items: Vec::new(),
            pending_members: Vec::new(),
            duplicates: Vec::new(),
            is_plan: false,
        }
    }

    /// Whether the innermost open value is a list, and the place of its bracket.
    pub(crate) fn innermost(&self) -> Option<(bool, Span)> {
        self.open.last().map(|open| (open.is_list, open.start))
    }

    /// How many are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// A list or an object begins.
    pub(crate) fn begin(&mut self, is_list: bool, start: Span) {
        let n_before = if is_list { self.pending_items.len() } else { self.pending_members.len() };
        self.open.push(Open { start, is_list, n_before, key: None, height: 1 });
    }

    /// A key of the innermost object.
    pub(crate) fn key(&mut self, key: Cow<'a, str>, span: Span) {
        self.is_plan |= self.open.len() == 2 && self.open[0].is_list && key == "seq_no";
        if let Some(open) = self.open.last_mut() {
            open.key = Some((key, span));
        }
    }

    /// A value without members. Whether that was the whole document.
    pub(crate) fn scalar(&mut self, kind: Kind<'a>, span: Span) -> bool {
        self.attach(Node { span, kind, height: 0 })
    }

    /// The innermost list or object ends. Whether that was the whole document.
    pub(crate) fn end(&mut self, end: Span) -> bool {
        let Some(open) = self.open.pop() else { return true };
        let index = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let kind = if open.is_list {
            let first = self.items.len();
            self.items.extend(self.pending_items.drain(open.n_before..));
            Kind::List(index(first)..index(self.items.len()))
        } else {
            let first = self.members.len();
            self.members.extend(self.pending_members.drain(open.n_before..));
            find_duplicates(&self.members[first..], &mut self.duplicates);
            Kind::Object(index(first)..index(self.members.len()))
        };
        self.attach(Node { span: open.start.to(end), kind, height: open.height })
    }

    fn attach(&mut self, node: Node<'a>) -> bool {
        let index = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let height = node.height;
        self.nodes.push(node);
        let Some(open) = self.open.last_mut() else { return true };
        open.height = open.height.max(height + 1);
        match open.key.take() {
            Some((key, key_span)) => self.pending_members.push(MemberNode { key, key_span, value: index }),
            None => self.pending_items.push(index),
        }
        false
    }

    /// The document, if it is whole: the last value is the outermost.
    pub(crate) fn finish(self) -> (Option<Document<'a>>, Vec<Diagnostic>, bool) {
        let is_whole = self.open.is_empty() && !self.nodes.is_empty();
        let root = u32::try_from(self.nodes.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let Builder { nodes, items, members, duplicates, is_plan, .. } = self;
        (is_whole.then_some(Document { nodes, items, members, root }), duplicates, is_plan)
    }
}

fn find_duplicates(members: &[MemberNode<'_>], duplicates: &mut Vec<Diagnostic>) {
    let mut first: HashMap<&str, Span> = HashMap::with_capacity(members.len());
    for member in members {
        match first.get(&*member.key) {
            None => {
                first.insert(&member.key, member.key_span);
            }
            Some(place) => {
                let message = format!("the key `{}` is there twice", crate::plan::wording::shown(&member.key));
                let error = Diagnostic::error("plan-duplicate-key", member.key_span, message);
                duplicates.push(error.with_place(*place, "here first"));
            }
        }
    }
}
