//! What must be there before an alias or a call can be evaluated.

use std::sync::Arc;

use playhouse_lang::dataflow::{AliasBody, AliasId, Dataflow, Domain, Expr, ExprKind, TemplatePart};

/// Something to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// An alias: its text, or its calls' results together.
    Alias(AliasId),
    /// A call, by its place among the alias's.
    Domain(AliasId, usize),
}

/// The units of a plan that its result is made of, and which wait for which. A unit's number is its place in
/// `units`: aliases first, by their ids, then calls, both in document order.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) units: Vec<Unit>,
    /// Per unit, those that wait for it.
    pub(super) dependents: Vec<Vec<u32>>,
    /// Per unit, how many it waits for.
    pub(super) n_missing: Vec<u32>,
    /// Per alias, the number of its first call.
    first_domain: Vec<u32>,
}

impl Graph {
    pub(super) fn new(dataflow: &Dataflow) -> Arc<Graph> {
        let mut units: Vec<Unit> = (0..).map(AliasId).take(dataflow.aliases.len()).map(Unit::Alias).collect();
        let mut first_domain = Vec::with_capacity(units.len());
        for (id, alias) in (0..).map(AliasId).zip(&dataflow.aliases) {
            first_domain.push(number(units.len()));
            if let (AliasBody::Domains(domains), true) = (&alias.body, alias.reachable) {
                units.extend((0..domains.len()).map(|index| Unit::Domain(id, index)));
            }
        }
        let mut graph =
            Graph { dependents: vec![Vec::new(); units.len()], n_missing: vec![0; units.len()], units, first_domain };
        for (id, alias) in (0..).map(AliasId).zip(&dataflow.aliases).filter(|(_, alias)| alias.reachable) {
            match &alias.body {
                AliasBody::Parameter => {}
                AliasBody::Text(_) => graph.waits(id.0, alias.needs.iter().map(|need| need.0)),
                AliasBody::Domains(domains) => {
                    for (index, domain) in domains.iter().enumerate() {
                        let unit = graph.domain(id, index);
                        graph.waits(unit, aliases_of(domain).iter().map(|need| need.0));
                        graph.waits(id.0, [unit]);
                    }
                }
            }
        }
        Arc::new(graph)
    }

    /// The number of a call.
    pub(super) fn domain(&self, alias: AliasId, index: usize) -> u32 {
        self.first_domain[alias.0 as usize] + number(index)
    }

    fn waits(&mut self, unit: u32, needs: impl IntoIterator<Item = u32>) {
        for need in needs {
            self.dependents[need as usize].push(unit);
            self.n_missing[unit as usize] += 1;
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The aliases in a call's arguments, each once.
fn aliases_of(domain: &Domain) -> Vec<AliasId> {
    let mut found = Vec::new();
    let parts = domain.slots.iter().flat_map(|slot| &slot.values).flat_map(|template| &template.parts);
    let mut pending: Vec<&Expr> = Vec::new();
    for part in parts {
        if let TemplatePart::Expr(expr) = part {
            pending.push(expr);
        }
    }
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::Alias(id) => found.push(*id),
            ExprKind::List(items) => pending.extend(items),
            ExprKind::Map(members) => pending.extend(members.iter().map(|(_, member)| member)),
            ExprKind::Member(base, _) | ExprKind::Index(base, _) => pending.push(base),
            ExprKind::Method(base, _, arguments) => {
                pending.push(base);
                pending.extend(arguments);
            }
            ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Start(_) | ExprKind::Unit(_) | ExprKind::Relative(..) => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
