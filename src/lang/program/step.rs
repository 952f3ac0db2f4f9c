//! The lines of a playbook, and what they were read as (spec `language.md`, "Steps").

use std::sync::Arc;

use crate::expr::Expr;
use crate::program::ids::{PlaybookId, StepId};
use crate::signature::Type;
use crate::span::Span;

/// One line of a playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// This line's id.
    pub id: StepId,
    /// Its line id as people and models see it: `01`, `02.01`. Line `02.01` is the first line nested under `02`, or
    /// what `02`, a branch, does on its own line.
    pub label: Arc<str>,
    /// The line it is nested under.
    pub parent: Option<StepId>,
    /// The lines nested directly under it, in order.
    pub children: Vec<StepId>,
    /// The author's words, without bullet or old numbering; may hold line breaks and fenced blocks.
    pub text: Arc<str>,
    /// The place of those words.
    pub span: Span,
    /// What it was read as.
    pub kind: StepKind,
    /// Whether the *whole* line was read by the expression grammar, so that the interpreter may perform it.
    pub explicit: bool,
    /// `Always …` or `! …`: the author wants it done whatever comes.
    pub compulsory: bool,
    /// What a line in words names with brackets, `Find(the user's name)`: the line is not done before it is called.
    pub due_call: Option<Arc<str>>,
    /// Names it reads, in order of mention, without `$`.
    pub reads: Vec<Arc<str>>,
    /// Names it writes.
    pub writes: Vec<Arc<str>>,
}

/// What a line was read as (spec `language.md`, "Steps").
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// `If …`, `Else if …`, `Otherwise`. What it governs are its children: what stands after the condition on the
    /// same item (`If $x > 3, return $x`) is the first of them.
    Branch {
        /// Which arm of the chain.
        arm: Arm,
        /// The condition; none for `else` and for one that is not an expression.
        condition: Option<Expr>,
    },
    /// `For each …`, `Repeat …`, `While …`, `Until …`.
    Loop(Loop),
    /// `Return …`.
    Return(Returned),
    /// `End program`, `Exit`.
    End,
    /// `Leave the loop`: the innermost loop around the line ends.
    Break,
    /// `Go on with the next one`: the next round of the innermost loop around the line begins.
    Continue,
    /// A call of a playbook, plan or tool.
    Call(CallSite),
    /// `$x = expression`, `Set $x to …`.
    Assign {
        /// The variable that gets the value.
        target: Target,
        /// The value; none if it is not an expression.
        value: Option<Expr>,
    },
    /// `Ask user for $x`, `Wait for …`.
    Ask {
        /// The variables asked for; may be empty.
        targets: Vec<Target>,
    },
    /// `Say "…"`, `Tell the user …`.
    Say {
        /// The exact text (with `{$x}` references), where the line is a quoted text and nothing else.
        literal: Option<Arc<str>>,
    },
    /// Anything else.
    Free,
    /// Does nothing, and is laid out as if it still did this: what a [mutant](crate::analysis::mutate) has taken out.
    Gone(Box<StepKind>),
}

/// Which arm of a branch a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// `If …`.
    If,
    /// `Else if …`.
    ElseIf,
    /// `Otherwise`, `Else`.
    Else,
}

/// Loop headers. An expression that is none could not be read, and the loop is the model's own.
#[derive(Clone, Debug, PartialEq)]
pub enum Loop {
    /// `For each $x in $xs`.
    ForEach {
        /// The loop variable.
        variable: Target,
        /// The list.
        list: Option<Expr>,
    },
    /// `Repeat 3 times`.
    Repeat {
        /// How often.
        count: Option<Expr>,
    },
    /// `While …`.
    While {
        /// Goes on as long as this is true.
        condition: Option<Expr>,
    },
    /// `Repeat until …`.
    Until {
        /// Goes on until this is true; judged after each round.
        condition: Option<Expr>,
        /// How many rounds there are at most.
        at_most: Option<Expr>,
    },
}

/// What a return line gives back.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned {
    /// `Return` alone.
    Nothing,
    /// `Return $x + 1`.
    Value(Expr),
    /// `Return Foo($x)`.
    Call(CallSite),
    /// Words that are no expression.
    Words,
}

/// A variable that a line writes: `$x` or `$x:int`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name, without `$`.
    pub name: Arc<str>,
    /// The type written beside it, or that of its declaration in this playbook.
    pub ty: Type,
    /// The place of the name.
    pub span: Span,
}

/// A call as written in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSite {
    /// The name as written, or the playbook's name for a call in plain words.
    pub callee: Arc<str>,
    /// The place of the name.
    pub callee_span: Span,
    /// The playbook it names; none for a tool or an unknown name.
    pub playbook: Option<PlaybookId>,
    /// The arguments, where all of them are expressions; none: the model finds them.
    pub arguments: Option<Vec<Argument>>,
    /// The variable that gets the result (`$s = GetOrder($id)`).
    pub result: Option<Target>,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name, for `name=value`; none: by position.
    pub name: Option<Arc<str>>,
    /// The value.
    pub value: Expr,
}

impl StepKind {
    /// The condition of a branch or loop, where it is an expression.
    pub(crate) fn condition(&self) -> Option<&Expr> {
        if let StepKind::Branch { condition, .. }
        | StepKind::Loop(Loop::While { condition } | Loop::Until { condition, .. }) = self
        {
            condition.as_ref()
        } else {
            None
        }
    }

    /// Whether the model judges a condition: that of a branch or loop in words.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(
            self,
            StepKind::Branch { arm: Arm::If | Arm::ElseIf, condition: None }
                | StepKind::Loop(Loop::While { condition: None } | Loop::Until { condition: None, .. })
        )
    }

    /// What the author wrote, also of a line that a mutant has taken out.
    pub(crate) fn as_written(&self) -> &StepKind {
        if let StepKind::Gone(written) = self { written } else { self }
    }

    /// The call that this is or does.
    pub fn call(&self) -> Option<&CallSite> {
        if let StepKind::Call(call) | StepKind::Return(Returned::Call(call)) = self { Some(call) } else { None }
    }

    /// The variables that it is certain to write when it has been done.
    pub fn targets(&self) -> &[Target] {
        if let StepKind::Ask { targets } = self {
            targets
        } else if let StepKind::Assign { target, .. }
        | StepKind::Loop(Loop::ForEach { variable: target, .. })
        | StepKind::Call(CallSite { result: Some(target), .. }) = self
        {
            std::slice::from_ref(target)
        } else {
            &[]
        }
    }
}

impl Step {
    /// The call that this line is or does.
    pub fn call(&self) -> Option<&CallSite> {
        self.kind.call()
    }

    /// Whether the model may not leave the line out, whatever its reason.
    pub fn must_be_done(&self) -> bool {
        self.compulsory || self.due_call.is_some()
    }

    /// Whether the line was read as nothing in particular.
    pub fn is_free(&self) -> bool {
        matches!(self.kind, StepKind::Free)
    }
}
