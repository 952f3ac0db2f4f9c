//! What is shown between the words of a text: the ids of lines, types that are known but not written, and the parameters
//! that arguments go to.

use std::collections::BTreeSet;
use std::ops::Range;

use playhouse_lang::expr::ExprKind;
use playhouse_lang::program::{Playbook, Step, Type};

use playhouse_lang::span::FileId;

use crate::View;
use crate::occurrences::{Role, Symbol};

/// What a hint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintKind {
    /// The id of a line, with `=` before it if it costs no model call.
    Line,
    /// The type of a variable, where it is set first.
    Type,
    /// The parameter that an argument by position goes to.
    Parameter,
}

/// Something shown at a place of a text that is no part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Before which byte.
    pub at: usize,
    /// What it says.
    pub kind: HintKind,
    /// Its words.
    pub text: String,
}

impl View {
    /// What is shown in a range of a file, in bytes, by place.
    pub fn hints(&self, file: FileId, range: Range<usize>) -> Vec<Hint> {
        let mut hints = Vec::new();
        for playbook in self.playbooks(file) {
            let seen = playbook.steps.iter().filter(|line| range.contains(&line.span.range().start));
            for line in seen {
                let mark = if line.explicit { "=" } else { "" };
                let text = format!("{mark}{}", line.label);
                hints.push(Hint { at: line.span.range().start, kind: HintKind::Line, text });
                self.parameters(playbook, line, &mut hints);
            }
            self.types(playbook, &range, &mut hints);
        }
        hints.sort();
        hints
    }

    fn parameters(&self, playbook: &Playbook, line: &Step, hints: &mut Vec<Hint>) {
        let Some((call, arguments)) = line.call().and_then(|call| Some((call, call.arguments.as_ref()?))) else {
            return;
        };
        let place = call.callee_span;
        let Some(called) = self.signature_in(playbook.agent, self.program().sources.text(place)) else { return };
        for (argument, parameter) in arguments.iter().zip(&called.parameters) {
            if argument.name.is_some() {
                return;
            }
            // `$order` for `$order` says it already.
            let is_said =
                matches!(&argument.value.kind, ExprKind::Reference(reference) if reference.name == parameter.name);
            let span = argument.value.span;
            if !is_said && span.file == place.file && span.start >= place.end {
                hints.push(Hint {
                    at: span.range().start,
                    kind: HintKind::Parameter,
                    text: format!("{}=", parameter.name),
                });
            }
        }
    }

    /// Where a variable is set first in a playbook, and it is not written there.
    fn types(&self, playbook: &Playbook, range: &Range<usize>, hints: &mut Vec<Hint>) {
        let agent = self.program().agent(playbook.agent);
        let file = playbook.span.file;
        let text = self.program().sources.get(file).map_or("", |source| &source.text);
        let mut seen = BTreeSet::new();
        let sets = self.names_in(file, playbook.span.range()).into_iter().filter(|name| name.role == Role::Write);
        for place in sets {
            let (Symbol::Own(_, name) | Symbol::Shared(_, name)) = &place.symbol else { continue };
            let end = place.span.range().end;
            if !seen.insert(name) || !range.contains(&end) || text[end..].starts_with([':', '.', '[']) {
                continue;
            }
            let given = playbook.type_of(agent, name).or_else(|| self.returned(playbook, place.span.range().start));
            let ty = given.filter(|ty| *ty != Type::ANY);
            hints.extend(ty.map(|ty| Hint { at: end, kind: HintKind::Type, text: format!(":{ty}") }));
        }
    }

    /// What the call gives whose result is stored at an offset.
    fn returned(&self, playbook: &Playbook, offset: usize) -> Option<Type> {
        let line = playbook.steps.iter().find(|line| line.span.contains(offset))?;
        let call = line.call().filter(|call| call.result.is_some())?;
        Some(self.signature_in(playbook.agent, self.program().sources.text(call.callee_span))?.returns)
    }
}
