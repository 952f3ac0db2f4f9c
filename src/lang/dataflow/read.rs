//! Text to dataflow document (spec `plans.md`, section 3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::dataflow::check::{cycles, mark_reachable, never_evaluated};
use crate::dataflow::expr::{Fault, parse};
use crate::dataflow::lexer::{Token, is_name, next_token};
use crate::dataflow::mend::{Mended, mend, unfenced};
use crate::dataflow::resolve::{Names, Resolver};
use crate::dataflow::shape::{ShapedAlias, ShapedBody, ShapedText, shape};
use crate::dataflow::template::{Piece, pieces};
use crate::dataflow::yaml::{self, Places};
use crate::dataflow::{Alias, AliasBody, AliasId, Dataflow, Domain, Slot, Start, Template, TemplatePart, words};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{NodeId, Plan, PlanBody, PlanNode};
use crate::span::{FileId, Span};
use crate::yaml::Style;

/// Longer texts are no plans, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

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
        let message = format!("a plan has at most {MAX_TEXT} bytes, and this text has {}", text.len());
        diagnostics.push(Diagnostic::error("too-large", Span::new(file, 0, 0), message));
        return None;
    }
    let (range, other) = unfenced(text);
    if let Some(other) = other {
        let message = "here a second plan begins; only the first is read";
        diagnostics.push(Diagnostic::warning("several-plans", Span::new(file, other.start, other.end), message));
    }
    let mended = mend(&text[range.clone()], range.start);
    let root = yaml::parse(&mended, file, diagnostics);
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
    let shaped = shape(&root, diagnostics);
    let mut reader = Reader { file, mended: &mended, nodes: Vec::new(), diagnostics: Vec::new() };
    let (mut aliases, faults) = reader.aliases(&shaped);
    let Reader { nodes, diagnostics: lints, .. } = reader;
    diagnostics.extend(lints);
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
    let message = "this `#` is read as text, because the value has a `${` in it";
    let warning = Diagnostic::warning("hash-in-text", Span::new(file, at, at + 1), message);
    warning.with_note("a comment needs a space behind `#`; text with ` #` is clearer in quotes")
}

struct Reader<'a> {
    file: FileId,
    mended: &'a Mended,
    nodes: Vec<PlanNode>,
    diagnostics: Vec<Diagnostic>,
}

/// What is collected while the texts of one alias are read.
#[derive(Default)]
struct Gathered {
    needs: Vec<AliasId>,
    faults: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// The aliases, and per alias what is wrong with its expressions.
    fn aliases(&mut self, shaped: &[ShapedAlias<'_>]) -> (Vec<Alias>, Vec<(usize, Diagnostic)>) {
        let ids = shaped.iter().zip(0..).map(|(alias, id)| (alias.name, AliasId(id)));
        let domains = shaped.iter().flat_map(|alias| match &alias.body {
            ShapedBody::Domains(domains) => domains.iter().map(|domain| domain.name).collect(),
            ShapedBody::Parameter | ShapedBody::Text(_) | ShapedBody::Broken => Vec::new(),
        });
        let names = Names::new(ids.collect::<HashMap<_, _>>(), domains.collect::<HashSet<_>>());
        let mut aliases = Vec::new();
        let mut faults = Vec::new();
        for (position, shaped) in shaped.iter().enumerate() {
            self.check_name(shaped);
            let node = self.node(shaped.name.into(), shaped.span);
            let mut gathered = Gathered::default();
            let body = self.body(shaped, &names, &mut gathered);
            faults.extend(gathered.faults.into_iter().map(|fault| (position, fault)));
            let mut seen = HashSet::new();
            gathered.needs.retain(|need| seen.insert(*need));
            let (name, name_span) = (shaped.name.into(), shaped.name_span);
            aliases.push(Alias { name, name_span, node, body, needs: gathered.needs, reachable: false });
        }
        (aliases, faults)
    }

    fn check_name(&mut self, alias: &ShapedAlias<'_>) {
        if words::is_builtin(alias.name) {
            let message = format!("the alias `{}` hides the built-in of that name", alias.name);
            let warning = Diagnostic::warning("shadows-built-in", alias.name_span, message);
            self.diagnostics.push(if Start::from_name(alias.name).is_some() {
                warning
            } else {
                warning.with_note("where only a function or a unit can stand the name is still the built-in")
            });
        }
    }

    fn node(&mut self, label: Arc<str>, span: Span) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(PlanNode { label, span });
        id
    }

    fn body(&mut self, alias: &ShapedAlias<'_>, names: &Names<'_>, gathered: &mut Gathered) -> AliasBody {
        match &alias.body {
            ShapedBody::Parameter => AliasBody::Parameter,
            ShapedBody::Text(text) => AliasBody::Text(self.template(text, names, gathered)),
            ShapedBody::Broken => AliasBody::Text(Template { span: alias.span, parts: Vec::new() }),
            ShapedBody::Domains(domains) => {
                let mut read = Vec::new();
                for domain in domains {
                    let node = self.node(format!("{}.{}", alias.name, domain.name).into(), domain.span);
                    let mut slots = Vec::new();
                    for slot in &domain.slots {
                        let values = slot.values.iter().map(|text| self.template(text, names, gathered)).collect();
                        slots.push(Slot { name: slot.name.into(), name_span: slot.name_span, values });
                    }
                    read.push(Domain { name: domain.name.into(), name_span: domain.name_span, node, slots });
                }
                AliasBody::Domains(read)
            }
        }
    }

    fn template(&mut self, text: &ShapedText<'_>, names: &Names<'_>, gathered: &mut Gathered) -> Template {
        let scalar = text.scalar;
        self.check_dashes(text);
        let mut pieces = pieces(&scalar.text);
        // What ends a block scalar is part of its form, not of what was meant.
        if scalar.style == Style::Block {
            let is_blank = |piece: &Piece| match piece {
                Piece::Text(from, to) => scalar.text[*from..*to].trim().is_empty(),
                Piece::Expression(..) | Piece::Unclosed(_) => false,
            };
            if pieces.iter().filter(|piece| !is_blank(piece)).count() == 1 && pieces.iter().any(is_expression) {
                pieces.retain(is_expression);
            }
        }
        let places = if pieces.iter().all(|piece| matches!(piece, Piece::Text(..))) {
            None
        } else {
            Some(scalar.places(self.mended, self.file))
        };
        let part = |piece| match (piece, &places) {
            (Piece::Text(from, to), _) => TemplatePart::Text(scalar.text[from..to].into()),
            (Piece::Expression(from, to), Some(places)) => {
                expression(&scalar.text, (from, to), places, names, gathered)
            }
            (Piece::Unclosed(open), Some(places)) => {
                let span = places.span(open, open + 2);
                let fault = Diagnostic::error("unclosed-expression", span, "this `${` is never closed");
                gathered.faults.push(fault.with_note("add the `}`; if there is one, a string before it is not closed"));
                TemplatePart::Text(scalar.text[open..].into())
            }
            (Piece::Expression(..) | Piece::Unclosed(_), None) => TemplatePart::Text("".into()),
        };
        Template { span: text.span, parts: pieces.into_iter().map(part).collect() }
    }

    /// `-value`: text to YAML, but a list was probably meant.
    fn check_dashes(&mut self, text: &ShapedText<'_>) {
        let lines = text.scalar.dashes(self.mended);
        let is_number = |line: &str| line[1..].starts_with(|next: char| next.is_ascii_digit() || next == '.');
        let Some((first, _)) = lines.first().filter(|(_, line)| lines.len() > 1 || !is_number(line)) else { return };
        let span = Span::new(self.file, self.mended.original(*first), self.mended.original(first + 1));
        let message = if lines.len() > 1 {
            "without a space behind `-` these lines are one text, not a list"
        } else {
            "without a space behind `-` this is text, not a list"
        };
        let warning = Diagnostic::warning("dash-without-space", span, message);
        self.diagnostics.push(warning.with_fix("write a space behind each `-`", span, "- "));
    }
}

fn is_expression(piece: &Piece) -> bool {
    matches!(piece, Piece::Expression(..))
}

/// Reads one expression; what can't be read is kept as text, which nobody will see.
fn expression(
    text: &str,
    (from, to): (usize, usize),
    places: &Places,
    names: &Names<'_>,
    gathered: &mut Gathered,
) -> TemplatePart {
    let Gathered { needs, faults } = gathered;
    let read = match parse(text, from, to) {
        Ok(raw) => Resolver { names, places, diagnostics: faults, needs }.resolve(&raw),
        Err(fault) => {
            mentioned(&text[from..to], names, needs);
            faults.push(diagnostic(fault, places));
            None
        }
    };
    read.map_or_else(|| TemplatePart::Text(text[from..to].into()), TemplatePart::Expr)
}

/// Adds the aliases whose names stand in what is no expression: it was meant to be made of them.
fn mentioned(text: &str, names: &Names<'_>, needs: &mut Vec<AliasId>) {
    let mut position = 0;
    loop {
        let lexed = next_token(text, position);
        match lexed.token {
            Token::Name(name) if is_name(name) => needs.extend(names.aliases.get(name)),
            Token::End => return,
            Token::Name(_) | Token::Int(_) | Token::Str(_) | Token::Symbol(_) | Token::Foreign(_) | Token::Bad(_) => {}
        }
        position = lexed.end;
    }
}

fn diagnostic(fault: Fault, places: &Places) -> Diagnostic {
    let found = Diagnostic::error(fault.code, places.span(fault.start, fault.end), fault.message);
    match fault.note {
        Some(note) => found.with_note(note),
        None => found,
    }
}
