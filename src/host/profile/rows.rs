//! A profile as lists: what each line has spent, and on what.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::profile::tree::{Measure, Node, Part, Profile, Spent, Step};

/// What a line, or a playbook outside of its lines, has spent; what was dropped of a playbook's replies has a row of its
/// own.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// From the first playbook down to the line.
    pub path: Vec<Arc<str>>,
    /// On what. What a line has spent itself are the tokens that the model has written for it.
    pub parts: BTreeMap<Part, Spent>,
}

impl Row {
    /// All of it.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        self.parts.values().for_each(|spent| total += *spent);
        total
    }

    /// What was spent on one thing.
    pub fn of(&self, part: Part) -> Spent {
        self.parts.get(&part).copied().unwrap_or_default()
    }
}

impl Profile {
    /// A row for each line that has spent anything of this kind, those that spent most first.
    pub fn rows(&self, measure: Measure) -> Vec<Row> {
        let mut rows = Vec::new();
        collect(&self.root, &mut Vec::new(), &mut rows);
        rows.retain(|row| row.total().of(measure) > 0.0);
        rows.sort_by(|a, b| b.total().of(measure).total_cmp(&a.total().of(measure)));
        rows
    }

    /// What it was all spent on: blocks of requests, tools, models, those that spent most first.
    pub fn uses(&self, measure: Measure) -> Vec<(Step, Spent)> {
        let mut uses: BTreeMap<Step, Spent> = BTreeMap::new();
        let mut pending = vec![&self.root];
        while let Some(node) = pending.pop() {
            pending.extend(&node.children);
            if !is_place(node.part) {
                *uses.entry((node.part, node.name.clone())).or_default() += node.spent;
            }
        }
        let mut uses: Vec<(Step, Spent)> = uses.into_iter().filter(|(_, spent)| spent.of(measure) > 0.0).collect();
        uses.sort_by(|(_, a), (_, b)| b.of(measure).total_cmp(&a.of(measure)));
        uses
    }
}

/// Whether it is somewhere in the program; else it is what was spent there.
fn is_place(part: Part) -> bool {
    matches!(part, Part::Playbook | Part::Line)
}

fn collect(node: &Node, path: &mut Vec<Arc<str>>, rows: &mut Vec<Row>) {
    let mut parts = BTreeMap::from([(node.part, node.spent)]);
    for child in &node.children {
        path.push(child.name.clone());
        if child.part == Part::Dropped {
            rows.push(Row { path: path.clone(), parts: BTreeMap::from([(child.part, child.spent)]) });
        } else if is_place(child.part) {
            collect(child, path, rows);
        } else {
            *parts.entry(child.part).or_default() += child.spent;
        }
        path.pop();
    }
    rows.push(Row { path: path.clone(), parts });
}
