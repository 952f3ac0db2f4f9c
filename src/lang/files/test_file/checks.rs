//! `## Expect` of a test: bullets that are checks.

use crate::evaluation::checks::{Atom, CallPattern, CheckKind, Word, Written};
use crate::files::case_file::lines::{Line, Reader};
use crate::files::case_file::mention::{Mention, MentionKind, Owner};
use crate::files::case_file::names::{variable, variables};

impl Reader {
    /// A section of checks, one a line.
    pub(super) fn read_checks(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<Written>> {
        let n_findings = self.findings.len();
        let mut checks = Vec::new();
        for &line in lines.iter().filter(|line| !line.text().is_empty()) {
            if line.raw.starts_with("- ") {
                let check = self.read_check(line, "Expect");
                self.mentions.extend(check.iter().flat_map(|written| mentions(line, written)));
                checks.extend(check);
            } else {
                self.unexpected(line, "`## Expect`", "begin every check with `- `, on one line");
            }
        }
        if checks.is_empty() && self.findings.len() == n_findings {
            self.empty(heading, "write one check per line, as in `- never Refund`");
        }
        (self.findings.len() == n_findings).then_some(checks)
    }
}

/// What the check of a line names of its program.
fn mentions(line: Line<'_>, Written { check, .. }: &Written) -> Vec<Mention> {
    let (atoms, mut calls): (Vec<&Atom>, Vec<&CallPattern>) = match &check.kind {
        CheckKind::Happens(atom)
        | CheckKind::Never(atom)
        | CheckKind::Times(atom, _)
        | CheckKind::AtMost { atom, .. }
        | CheckKind::OnlyIf(atom, _) => (vec![atom], Vec::new()),
        CheckKind::OnlyAfter(atom, other) | CheckKind::FollowedBy { atom, next: other, .. } => {
            (vec![atom, other], Vec::new())
        }
        CheckKind::After { after, until, never } => {
            ([Some(after), until.as_ref(), Some(never)].into_iter().flatten().collect(), Vec::new())
        }
        CheckKind::OnlyKnowing(call, known) => (Vec::new(), vec![call, known]),
        CheckKind::AtEnd(_) | CheckKind::Matches { .. } | CheckKind::Bounded { .. } => (Vec::new(), Vec::new()),
        CheckKind::Judge(_) => return Vec::new(),
    };
    let mention =
        |word: &Word, kind: fn(String) -> MentionKind| Mention { span: word.span, kind: kind(word.text.to_string()) };
    let mut found = Vec::new();
    for atom in atoms {
        match atom {
            Atom::Call(call) => calls.push(call),
            Atom::Reaches { place, .. } => found.push(mention(place, MentionKind::Callable)),
            Atom::Fires(trigger) => found.push(mention(trigger, MentionKind::Trigger)),
            Atom::Says(_) | Atom::UserSays(_) => {}
        }
    }
    for CallPattern { name: callee, arguments, .. } in &calls {
        found.push(mention(callee, MentionKind::Callable));
        let of = Owner::Playbook(callee.text.to_string());
        let named = arguments.iter().filter_map(|argument| argument.name.as_ref());
        found.extend(named.map(|name| Mention { span: name.span, kind: variable(&name.text, &of).1 }));
    }
    // A name that a call binds is the check's own.
    let bound: Vec<&str> = calls.iter().flat_map(|call| call.names()).map(|name| &**name).collect();
    let free = variables(line.raw, &Owner::Any).into_iter().filter(|(written, _)| !bound.contains(&&written[1..]));
    found.extend(free.map(|(written, kind)| Mention { span: line.span_of(check.span.file, written), kind }));
    found
}
