//! Every place in what was read, so that it can be moved with the text that it was read from.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::expr::{Expr, ExprKind};
use crate::lower::alone::Alone;
use crate::program::{
    Argument, Body, CallSite, Loop, Playbook, Returned, Step, StepKind, Target, Trigger, TriggerKind,
};
use crate::signature::Parameter;
use crate::source::ast::{
    self, AgentTree, Fence, FileTree, HeadingTree, Import, ItemTree, Metadata, PlaybookTree, Section, SkillTree,
};
use crate::span::{FileId, Span};

/// How far a part of a file is moved.
#[derive(Clone, Debug)]
pub(crate) struct Shift {
    pub(crate) file: FileId,
    /// The part as it stood, in bytes.
    pub(crate) part: Range<usize>,
    /// How many bytes further down it stands now.
    pub(crate) by: isize,
}

/// How many bytes further down a place is that was at `before`.
pub(crate) fn distance(before: usize, now: usize) -> isize {
    now.wrapping_sub(before).cast_signed()
}

/// What holds places. Whoever adds a field to one of these types is told by the compiler to say whether it is one.
pub(crate) trait Places {
    /// Calls `visit` with every place in it.
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span));

    /// Moves what stands in a part of a file, and nothing else.
    fn shift(&mut self, shift: &Shift) {
        if shift.by == 0 {
            return;
        }
        let moved = |offset: u32| u32::try_from((offset as usize).saturating_add_signed(shift.by)).unwrap_or(u32::MAX);
        self.for_each_place(&mut |span| {
            let is_inside = shift.part.start <= span.start as usize && span.end as usize <= shift.part.end;
            if span.file == shift.file && is_inside {
                *span = Span { start: moved(span.start), end: moved(span.end), ..*span };
            }
        });
    }
}

impl Places for Span {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        visit(self);
    }
}

impl<T: Places> Places for Option<T> {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        self.iter_mut().for_each(|inner| inner.for_each_place(visit));
    }
}

impl<T: Places> Places for Vec<T> {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        self.iter_mut().for_each(|inner| inner.for_each_place(visit));
    }
}

impl<T> Places for (Span, T) {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        visit(&mut self.0);
    }
}

impl Places for (Arc<str>, Span) {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        visit(&mut self.1);
    }
}

/// All fields of each type: behind `in` those with places, behind `not` the others.
macro_rules! places {
    ($($kind:ty { $($with:ident),*; $($without:ident),* })*) => {$(
        impl Places for $kind {
            fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
                let Self { $($with,)* $($without: _,)* } = self;
                $($with.for_each_place(visit);)*
            }
        }
    )*};
}

places! {
    Playbook {
        title_span, span, parameters, triggers, body;
        id, agent, name, title, returns, public, strict, limits, tools, description, mode, notes, own, outer, types, choices,
        meeting, implicit, skill
    }
    Parameter { span; name, ty, default, description }
    Body { steps; flow }
    Step { span, kind; id, label, parent, children, text, explicit, compulsory, due_call, reads, writes }
    Target { span; name, ty }
    CallSite { callee_span, arguments, result; callee, playbook }
    Argument { value; name }
    Trigger { span, kind; id, text, names, at_turn_end }
    Diagnostic { span, notes, fix; code, severity, message }
    crate::diagnostic::Note { span; message }
    crate::diagnostic::Fix { span; message, replacement }
    FileTree { front_matter, lost_front_matter, preamble, agents; file }
    AgentTree { heading, body, playbooks; }
    HeadingTree { marks, title; }
    PlaybookTree { heading, body, sections, span, skill; }
    SkillTree {
        body;
        name, description, has_hint, allowed_tools, disallowed_tools, begins_by_description, begins_by_name
    }
    ast::Body { metadata, near_metadata, text, items, fences, imports, unknown_headings; }
    Metadata { key, value; }
    Section { heading, text, items, other; kind }
    ItemTree { bullet, prefix, text; level, ordered, plain, lifted }
    Fence { span; language }
    Import { span, path; }
    Alone { binds, needs, found; may_write, sets, n_lines, read_behind }
}

impl Places for StepKind {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        match self {
            StepKind::Branch { arm: _, condition } => condition.for_each_place(visit),
            StepKind::Loop(Loop::ForEach { variable, list }) => {
                variable.for_each_place(visit);
                list.for_each_place(visit);
            }
            StepKind::Loop(Loop::Repeat { count: expr } | Loop::While { condition: expr }) => {
                expr.for_each_place(visit)
            }
            StepKind::Loop(Loop::Until { condition, at_most }) => {
                condition.for_each_place(visit);
                at_most.for_each_place(visit);
            }
            StepKind::Return(Returned::Value(value)) => value.for_each_place(visit),
            StepKind::Call(call) | StepKind::Return(Returned::Call(call)) => call.for_each_place(visit),
            StepKind::Assign { target, value } => {
                target.for_each_place(visit);
                value.for_each_place(visit);
            }
            StepKind::Ask { targets } => targets.for_each_place(visit),
            StepKind::Gone(kind) => kind.for_each_place(visit),
            StepKind::Return(Returned::Nothing | Returned::Words)
            | StepKind::End
            | StepKind::Break
            | StepKind::Continue
            | StepKind::Say { literal: _ }
            | StepKind::Free => {}
        }
    }
}

impl Places for TriggerKind {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        match self {
            TriggerKind::Condition(condition) => condition.for_each_place(visit),
            TriggerKind::Gone(kind) => kind.for_each_place(visit),
            TriggerKind::Beginning
            | TriggerKind::Ending
            | TriggerKind::BeforeCall(_)
            | TriggerKind::AfterCall(_)
            | TriggerKind::CallFails(_)
            | TriggerKind::Every { .. }
            | TriggerKind::Clock { .. }
            | TriggerKind::Silence { .. }
            | TriggerKind::Signal(_)
            | TriggerKind::Command(_)
            | TriggerKind::Changes(_)
            | TriggerKind::Semantic => {}
        }
    }
}

impl Places for Expr {
    fn for_each_place(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        visit(&mut self.span);
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Reference(_) => {}
            ExprKind::List(items) | ExprKind::Text(items) => items.for_each_place(visit),
            ExprKind::Map(members) => members.iter_mut().for_each(|(_, value)| value.for_each_place(visit)),
            ExprKind::Unary(_, inner)
            | ExprKind::Length(inner)
            | ExprKind::Test { subject: inner, test: _, negated: _ } => inner.for_each_place(visit),
            ExprKind::Binary(_, left, right) | ExprKind::Range(left, right) => {
                left.for_each_place(visit);
                right.for_each_place(visit);
            }
        }
    }
}
