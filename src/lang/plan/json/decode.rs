//! Text of a JSON plan to a checked plan (spec `plans.md`, sections 1 and 2).
//!
//! [`decode`]: `extract` (the text to a tree) → `dialect` → `layout` (which instructions, in which order) →
//! `instructions` (what each does) → rules about the whole. Every fault is reported, not only the first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::Spelling;
use crate::plan::json::decoder::Decoder;
use crate::plan::json::dialect::guess;
use crate::plan::json::extract::extract;
use crate::plan::json::layout::{Layout, List, node};
use crate::plan::json::tree::Json;
use crate::plan::json::{Dialect, Instruction, InstructionKind, JsonPlan, PlanValue};
use crate::plan::node::{PlanLanguage, PlanNode};
use crate::plan::types::{Plan, PlanBody};
use crate::plan::wording::{plan_name, shown};
use crate::span::FileId;

/// The variable whose value is a plan's.
pub const FINAL_ANSWER: &str = "final_answer";
/// In dialect B, the value if there is no `final_answer`.
pub const RESULT: &str = "result";

/// Reads the JSON plan in `text`, which may be prose with a plan in it. `name` is the file's name, or a label: the
/// plan is called by its stem, and without a `dialect` its ending declares one; else the text shows it.
///
/// A plan with an error among the diagnostics must not run: what could not be read of it stands there as an
/// instruction without effect. None: nothing could be made of the text at all. The diagnostics are in the order of
/// their places.
pub fn decode(file: FileId, name: &str, text: &str, dialect: Option<Dialect>) -> (Option<Plan>, Vec<Diagnostic>) {
    let (document, mut diagnostics) = extract(file, text);
    let plan = document.map(|document| {
        let root = document.root();
        let dialect = dialect.or_else(|| declared(name)).unwrap_or_else(|| guess(root));
        let mut decoder = Decoder {
            text,
            dialect,
            diagnostics: std::mem::take(&mut diagnostics),
            doubts: Vec::new(),
            spelling: Spelling::default(),
            targets: Vec::new(),
        };
        let plan = decoder.plan(file, name, root);
        diagnostics = decoder.diagnostics;
        plan
    });
    diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
    (plan, diagnostics)
}

fn declared(name: &str) -> Option<Dialect> {
    match PlanLanguage::of_file(name).flatten()? {
        PlanLanguage::Jmp => Some(Dialect::Jmp),
        PlanLanguage::Branch => Some(Dialect::Branch),
        PlanLanguage::Dataflow => None,
    }
}

impl<'t> Decoder<'t> {
    fn plan(&mut self, file: FileId, name: &str, root: Json<'t>) -> Plan {
        if root.items().next().is_none() {
            self.error("plan-empty", root.span(), "this plan has no instructions");
        }
        let layout = self.lay_out(root);
        let main = layout.lists.first().map_or(&[][..], |main: &List| &main.entries);
        self.targets = main.iter().filter_map(|&index| Some((layout.entries[index].seq_no?, node(index)))).collect();
        self.targets.sort();
        self.targets.dedup_by_key(|target| target.0);
        let instructions: Vec<Instruction> = layout
            .entries
            .iter()
            .map(|entry| Instruction {
                seq_no: entry.seq_no.unwrap_or_default(),
                type_name: entry.kind.map_or("unknown", |kind| kind.name()),
                span: entry.json.span(),
                kind: self.instruction(&layout, entry),
                next: entry.next,
            })
            .collect();
        let nodes = layout.entries.iter().map(|entry| PlanNode { label: entry.label.clone(), span: entry.json.span() });
        let nodes = nodes.collect();
        let by_seq_no = std::mem::take(&mut self.targets);
        let json = JsonPlan { dialect: self.dialect, first: layout.first(0), instructions, by_seq_no };
        self.result(&layout, &json);
        let set = json.variables_set();
        let parameters = variables_read(&json, &set);
        self.reads_before_setting(&json, &set);
        for doubt in std::mem::take(&mut self.doubts) {
            if set.contains_key(&*doubt.name) || parameters.iter().any(|parameter| **parameter == doubt.name) {
                self.diagnostics.push(doubt.warning);
            }
        }
        Plan { name: plan_name(name), file, span: root.span(), parameters, nodes, body: PlanBody::Json(json) }
    }

    /// The rule about the last instruction (dialect A), and whether anything sets the result (dialect B).
    fn result(&mut self, layout: &Layout<'t>, plan: &JsonPlan) {
        let sets =
            |instruction: &Instruction, name: &str| instruction.kind.outputs().iter().any(|(set, _)| ***set == *name);
        let main = layout.lists.first().map_or(&[][..], |main| &main.entries);
        let Some(&last) = main.iter().max_by_key(|&&index| layout.entries[index].seq_no) else { return };
        let entry = &layout.entries[last];
        match self.dialect {
            Dialect::Branch => {
                let is_set = plan
                    .instructions
                    .iter()
                    .any(|instruction| sets(instruction, FINAL_ANSWER) || sets(instruction, RESULT));
                if !is_set && !plan.instructions.iter().any(Instruction::is_unread) {
                    let message = "nothing sets `final_answer` or `result`: the plan's result will be null";
                    self.warning("plan-no-result", entry.type_span, message);
                }
            }
            Dialect::Jmp if plan.instructions[last].is_unread() || sets(&plan.instructions[last], FINAL_ANSWER) => {}
            Dialect::Jmp => {
                let message = "the last instruction must set `final_answer`, the result of the plan";
                let error = Diagnostic::error("plan-final-answer", entry.type_span, message);
                let note = "use an `assign` of `final_answer`, or a `calling` with `final_answer` in its `output_vars`";
                self.diagnostics.push(error.with_note(note));
            }
        }
    }

    /// A value that names a key which comes later in the same `assign` is read before that is set.
    fn reads_before_setting(&mut self, plan: &JsonPlan, set: &HashMap<Arc<str>, usize>) {
        for instruction in &plan.instructions {
            let InstructionKind::Assign(assignments) = &instruction.kind else { continue };
            let mut later: HashSet<&str> = assignments.iter().map(|assignment| &*assignment.name).collect();
            for assignment in assignments {
                later.remove(&*assignment.name);
                let read = assignment.value.variables().into_iter().find(|name| later.contains(&***name));
                let Some(name) = read else { continue };
                let message = format!("`{}` is read here before this instruction sets it", shown(name));
                let place = assignment.value.span;
                let note = "the keys of an `assign` are set in the order they are written";
                self.diagnostics.push(if set.get(name).is_some_and(|n_times| *n_times > 1) {
                    let hint = Diagnostic::note("plan-read-before-set", place, message);
                    hint.with_note(format!("{note}: this reads the older value"))
                } else {
                    Diagnostic::warning("plan-read-before-set", place, message).with_note(note)
                });
            }
        }
    }
}

/// The variables that are read and not in `set`, each once.
fn variables_read(plan: &JsonPlan, set: &HashMap<Arc<str>, usize>) -> Vec<Arc<str>> {
    let mut seen = HashSet::new();
    let values = plan.instructions.iter().flat_map(|instruction| instruction.kind.inputs());
    let names = values.flat_map(PlanValue::variables).filter(|name| !set.contains_key(*name));
    names.filter(|name| seen.insert((*name).clone())).cloned().collect()
}
