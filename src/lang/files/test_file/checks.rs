//! `## Expect` of a test: bullets that are checks.

use crate::evaluation::checks::{Atom, CallPattern, CheckKind, Word, Written};
use crate::files::case_file::lines::{Line, Reader};
use crate::files::case_file::mention::{Mention, MentionKind};

impl Reader {
    /// A section of checks, one a line.
    pub(super) fn read_checks(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<Vec<Written>> {
        let n_findings = self.findings.len();
        let mut checks = Vec::new();
        for &line in lines.iter().filter(|line| !line.text().is_empty()) {
            if line.raw.starts_with("- ") {
                let check = self.read_check(line, "Expect");
                self.mentions.extend(check.iter().flat_map(|written| mentions(&written.check.kind)));
                checks.extend(check);
            } else {
                self.unexpected(line, "`## Expect`", "begin every check with `- `, on one line");
            }
        }
        if checks.is_empty() && self.findings.len() == n_findings {
            self.empty(heading, "write a check a line, as in `- never Refund`");
        }
        (self.findings.len() == n_findings).then_some(checks)
    }
}

/// What a check names of its program.
fn mentions(kind: &CheckKind) -> Vec<Mention> {
    match kind {
        CheckKind::Happens(atom)
        | CheckKind::Never(atom)
        | CheckKind::Times(atom, _)
        | CheckKind::AtMost { atom, .. }
        | CheckKind::OnlyIf(atom, _) => of_atoms([Some(atom), None, None]),
        CheckKind::OnlyAfter(atom, other) | CheckKind::FollowedBy { atom, next: other, .. } => {
            of_atoms([Some(atom), Some(other), None])
        }
        CheckKind::After { after, until, never } => of_atoms([Some(after), until.as_ref(), Some(never)]),
        CheckKind::OnlyKnowing(call, known) => vec![of_call(call), of_call(known)],
        CheckKind::AtEnd(_) | CheckKind::Matches { .. } | CheckKind::Bounded { .. } | CheckKind::Judge(_) => Vec::new(),
    }
}

fn of_atoms(atoms: [Option<&Atom>; 3]) -> Vec<Mention> {
    let of_atom = |atom: &Atom| {
        let mention = |word: &Word, kind: fn(String) -> MentionKind| Mention {
            span: word.span,
            kind: kind(word.text.to_string()),
        };
        match atom {
            Atom::Call(call) => Some(of_call(call)),
            Atom::Reaches { place, .. } => Some(mention(place, MentionKind::Callable)),
            Atom::Fires(trigger) => Some(mention(trigger, MentionKind::Trigger)),
            Atom::Says(_) | Atom::UserSays(_) => None,
        }
    };
    atoms.into_iter().flatten().filter_map(of_atom).collect()
}

fn of_call(call: &CallPattern) -> Mention {
    Mention { span: call.name.span, kind: MentionKind::Callable(call.name.text.to_string()) }
}
