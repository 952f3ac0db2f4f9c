//! Text to dataflow document (spec `plans.md`, section 3).

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use crate::diagnostic::spelling::Spelling;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::dataflow::check::{cycles, mark_reachable, never_evaluated};
use crate::plan::dataflow::mend::{mend, unfenced};
use crate::plan::dataflow::reader::Reader;
use crate::plan::dataflow::resolve::Names;
use crate::plan::dataflow::shape::Pair;
use crate::plan::dataflow::types::{Alias, AliasBody, AliasId, Dataflow, Start};
use crate::plan::dataflow::{shape, words};
use crate::plan::types::{Plan, PlanBody};
use crate::source::yaml;
use crate::source::yaml::NodeKind;
use crate::span::{FileId, Span};

/// Longer texts are no plans, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// How deep lists and mappings may stand inside each other. A plan needs four levels.
const MAX_NESTING: usize = 32;

/// So many findings are kept.
const MAX_FINDINGS: usize = 100;

/// Reads the dataflow document `text`, which is the file `file`, as the plan `name`; what was found comes in the
/// order of its place, and of very many findings the errors only. There is no plan without a readable `result`. The
/// plan may be run only if no finding is an error: faults of what the result is not made of are warnings.
pub fn read(file: FileId, name: &str, text: &str) -> (Option<Plan>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let plan = read_plan(file, name, text, &mut diagnostics);
    let n_found = diagnostics.len();
    if n_found > MAX_FINDINGS {
        diagnostics.sort_by_key(|found| found.severity);
        diagnostics.truncate(MAX_FINDINGS);
    }
    diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
    if n_found > MAX_FINDINGS {
        let message = format!("{} more findings are not shown", n_found - MAX_FINDINGS);
        diagnostics.push(Diagnostic::note("more-findings", Span::new(file, 0, 0), message));
    }
    (plan, diagnostics)
}

fn read_plan(file: FileId, name: &str, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Plan> {
    if text.len() > MAX_TEXT {
        let message = format!("a plan can have at most {MAX_TEXT} bytes, and this text has {}", text.len());
        diagnostics.push(Diagnostic::error("too-large", Span::new(file, 0, 0), message));
        return None;
    }
    let (range, other) = unfenced(text);
    if let Some(other) = other {
        let message = "a second plan begins here; only the first is read";
        diagnostics.push(Diagnostic::warning("several-plans", Span::new(file, other.start, other.end), message));
    }
    let mended = mend(&text[range.clone()], range.start);
    let (root, errors) = yaml::parse(&mended.text, file, MAX_NESTING, &|at| mended.original(at));
    let is_behind_dollar = |at: Span| text.get(..at.start as usize).is_some_and(|before| before.ends_with('$'));
    diagnostics.extend(errors.into_iter().map(|error| match error.code {
        "yaml-anchor" | "yaml-alias" => error.with_note("to use the value of an alias of the plan, write `${alias}`"),
        "bad-yaml" if is_behind_dollar(error.span) => {
            let note = "inside `{ }` and `[ ]`, text with `${…}` needs quotes: `{from: \"${outbound.to}\"}`";
            Diagnostic { notes: Vec::new(), ..error }.with_note(note)
        }
        _ => error,
    }));
    let root = match root {
        Some(root) if !root.is_null() => root,
        // A text that is no YAML has been reported.
        Some(_) | None if diagnostics.iter().any(|found| found.severity == Severity::Error) => return None,
        Some(_) | None => {
            let message = "the plan is empty; it needs at least an alias `result`";
            diagnostics.push(Diagnostic::error("no-result", Span::new(file, range.start, range.start), message));
            return None;
        }
    };
    let pairs = shape::aliases(&root, diagnostics);
    let names = names(&pairs);
    let (nodes, needs, faults) = (Vec::new(), Vec::new(), Vec::new());
    let found = std::mem::take(diagnostics);
    let mut reader = Reader { file, mended: &mended, names: &names, nodes, diagnostics: found, needs, faults };
    let (mut aliases, faults) = read_aliases(&mut reader, &pairs);
    let Reader { nodes, diagnostics: found, .. } = reader;
    *diagnostics = found;
    diagnostics.extend(mended.hashes.iter().map(|at| hash_in_text(file, *at)));
    let position = aliases.iter().position(|alias| &*alias.name == "result");
    let result = position.and_then(|position| u32::try_from(position).ok()).map(AliasId);
    mark_reachable(&mut aliases, result);
    for (alias, mut fault) in faults {
        if !aliases[alias].reachable && fault.severity == Severity::Error {
            fault.severity = Severity::Warning;
        }
        diagnostics.push(fault);
    }
    diagnostics.extend(cycles(&aliases));
    // What is wrong may be why something seems to be needed by nobody.
    if diagnostics.iter().all(|found| found.severity != Severity::Error) {
        diagnostics.extend(never_evaluated(&aliases));
    }
    let parameters = aliases.iter().filter(|alias| matches!(alias.body, AliasBody::Parameter));
    let parameters = parameters.map(|alias| alias.name.clone()).collect();
    let body = PlanBody::Dataflow(Dataflow { result: result?, aliases });
    let span = Span::new(file, range.start, range.end);
    Some(Plan { name: name.into(), file, span, parameters, nodes, body })
}

fn hash_in_text(file: FileId, at: usize) -> Diagnostic {
    let message = "this `#` is read as text, because the value contains `${`";
    let warning = Diagnostic::warning("hash-in-text", Span::new(file, at, at + 1), message);
    warning.with_note("a comment needs a space after `#`; text with ` #` is clearer in quotes")
}

/// The aliases, and per alias what is wrong with its expressions.
fn read_aliases(reader: &mut Reader<'_>, pairs: &[Pair<'_>]) -> (Vec<Alias>, Vec<(usize, Diagnostic)>) {
    let mut aliases = Vec::new();
    let mut faults = Vec::new();
    for (position, pair) in pairs.iter().enumerate() {
        let (name, name_span) = (Arc::from(pair.name), pair.key.span);
        reader.diagnostics.extend(hidden_builtin(pair));
        let node = reader.node(Arc::clone(&name), name_span.to(pair.value.span));
        let body = reader.body(pair);
        faults.extend(reader.faults.drain(..).map(|fault| (position, fault)));
        let mut needs = std::mem::take(&mut reader.needs);
        let mut seen = HashSet::new();
        needs.retain(|need| seen.insert(*need));
        aliases.push(Alias { name, name_span, node, body, needs, reachable: false });
    }
    (aliases, faults)
}

fn hidden_builtin(Pair { name, key, .. }: &Pair<'_>) -> Option<Diagnostic> {
    let message = format!("the alias `{name}` hides the built-in of the same name");
    let warning = words::is_builtin(name).then(|| Diagnostic::warning("shadows-built-in", key.span, message))?;
    let note = "where only a function or a unit fits, the name still means the built-in";
    Some(if Start::from_str(name).is_ok() { warning } else { warning.with_note(note) })
}

/// The names of a document.
fn names<'a>(pairs: &[Pair<'a>]) -> Names<'a> {
    let aliases = pairs.iter().zip(0..).map(|(alias, id)| (alias.name, AliasId(id)));
    let domains = pairs.iter().flat_map(|alias| match &alias.value.kind {
        NodeKind::Mapping(domains) => domains.as_slice(),
        NodeKind::Scalar(_) | NodeKind::List(_) | NodeKind::Unread => &[],
    });
    let domains = domains.filter_map(|(key, _)| Some(&*key.scalar()?.text));
    Names { aliases: aliases.collect(), domains: domains.collect(), spelling: Spelling::default() }
}
