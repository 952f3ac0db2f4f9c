//! Which instructions a plan has, in which order: lists and branches flattened (spec `plans.md`, 1.1, 2.3, 2.4).

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::plan::json::Dialect;
use crate::plan::json::decoder::Decoder;
use crate::plan::json::dialect::InstructionType;
use crate::plan::json::tree::{Json, Kind};
use crate::plan::node::NodeId;
use crate::plan::wording::{listed, shown, suggest};
use crate::span::Span;
use crate::value::Value;

/// Conditions inside branches: deeper plans are refused.
const MAX_BRANCH_DEPTH: usize = 256;

/// An instruction whose parameters are not read yet.
pub(crate) struct Entry<'t> {
    pub(crate) json: Json<'t>,
    pub(crate) seq_no: Option<i64>,
    /// The place of the number; of the object's bracket, if it has none.
    pub(crate) seq_span: Span,
    pub(crate) kind: Option<InstructionType>,
    /// The place of the type; of the object's bracket, if it has none.
    pub(crate) type_span: Span,
    pub(crate) parameters: Option<Json<'t>>,
    pub(crate) label: Arc<str>,
    pub(crate) list: usize,
    /// The lists of a condition, for true and for false.
    pub(crate) branches: [Option<usize>; 2],
    pub(crate) next: Option<NodeId>,
}

/// A list of instructions.
pub(crate) struct List {
    /// Its entries; in the order in which they are executed once that is known.
    pub(crate) entries: Vec<usize>,
    /// The condition whose branch it is.
    pub(crate) condition: Option<usize>,
    /// What the labels of its entries begin with.
    prefix: String,
    depth: usize,
}

/// All instructions.
#[derive(Default)]
pub(crate) struct Layout<'t> {
    /// In document order: an entry's position is its node.
    pub(crate) entries: Vec<Entry<'t>>,
    /// The main list first, every other one after that of its condition.
    pub(crate) lists: Vec<List>,
}

/// The node of the entry at this position.
pub(crate) fn node(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap_or(u32::MAX))
}

impl Layout<'_> {
    /// The first instruction of a list.
    pub(crate) fn first(&self, list: usize) -> Option<NodeId> {
        self.lists.get(list)?.entries.first().map(|&index| node(index))
    }
}

impl<'t> Decoder<'t> {
    /// Finds every instruction of the plan `root`.
    pub(crate) fn lay_out(&mut self, root: Json<'t>) -> Layout<'t> {
        let mut layout = Layout::default();
        layout.lists.push(List { entries: Vec::new(), condition: None, prefix: String::new(), depth: 0 });
        let mut pending = vec![(0, root.items())];
        while let Some((list, items)) = pending.last_mut() {
            let list = *list;
            let Some(json) = items.next() else {
                pending.pop();
                continue;
            };
            let Some(entry) = self.entry(json, list, &layout.lists[list].prefix) else { continue };
            let index = layout.entries.len();
            let is_condition = entry.kind == Some(InstructionType::Condition);
            layout.lists[list].entries.push(index);
            layout.entries.push(entry);
            if is_condition {
                // What was written first is on top.
                for (branch, list) in self.branches(&mut layout, index).into_iter().rev() {
                    pending.push((list, branch.items()));
                }
            }
        }
        self.order(&mut layout);
        layout
    }

    /// Reads the three keys of an instruction.
    fn entry(&mut self, json: Json<'t>, list: usize, prefix: &str) -> Option<Entry<'t>> {
        let Kind::Object = json.kind() else {
            let message = format!("an instruction must be an object, not {}", json.kind_name());
            self.error("plan-bad-instruction", json.span(), message);
            return None;
        };
        let place = json.opening();
        let number = self.key(json, "seq_no");
        let seq_no = number.and_then(|number| self.seq_no(number));
        let written = self.key(json, "type");
        let kind = written.and_then(|written| self.instruction_type(written, seq_no));
        let parameters = self.key(json, "parameters").filter(|parameters| {
            let is_object = matches!(parameters.kind(), Kind::Object);
            if !is_object {
                let message = format!("`parameters` must be an object, not {}", parameters.kind_name());
                self.error("plan-wrong-type", parameters.span(), message);
            }
            is_object
        });
        let label = seq_no.map_or_else(|| "?".to_owned(), |number| number.to_string());
        Some(Entry {
            json,
            seq_no,
            seq_span: number.map_or(place, Json::span),
            kind,
            type_span: written.map_or(place, Json::span),
            parameters,
            label: format!("{prefix}{label}").into(),
            list,
            branches: [None, None],
            next: None,
        })
    }

    /// The value of one of the three keys, which must be there.
    fn key(&mut self, json: Json<'t>, name: &str) -> Option<Json<'t>> {
        if let Some(member) = json.member(name) {
            return Some(member.value);
        }
        let message = format!("this instruction has no `{name}`");
        let error = Diagnostic::error("plan-missing-key", json.opening(), message);
        self.diagnostics.push(error.with_note("every instruction has `seq_no`, `type` and `parameters`"));
        None
    }

    fn seq_no(&mut self, number: Json<'t>) -> Option<i64> {
        if let Some(number) = number.int() {
            return Some(number);
        }
        let message = format!("`seq_no` must be an integer, not {}", kind_of_number(number));
        self.error("plan-wrong-type", number.span(), message);
        None
    }

    fn instruction_type(&mut self, written: Json<'t>, seq_no: Option<i64>) -> Option<InstructionType> {
        let dialect = self.dialect;
        let place = written.span();
        let at = seq_no.map_or_else(String::new, |number| format!(" at seq_no {number}"));
        let Some(name) = written.text() else {
            let message = format!("the type{at} is {}, not text", written.kind_name());
            self.error("plan-wrong-type", place, message);
            return None;
        };
        let known = InstructionType::of_name(name);
        let is_own = |kind: InstructionType| kind.dialect().is_none_or(|only| only == dialect);
        if let Some(kind) = known.filter(|kind| is_own(*kind)) {
            return Some(kind);
        }
        let own = || InstructionType::all_of(dialect).map(InstructionType::name);
        if let Some(other) = known.and_then(InstructionType::dialect) {
            let message = format!(
                "`{name}`{at} is an instruction of dialect {}; this plan is in dialect {}",
                other.language(),
                dialect.language()
            );
            let error = Diagnostic::error("plan-other-dialect", place, message);
            self.diagnostics.push(error.with_note(format!("dialect {} has {}", dialect.language(), listed(own()))));
            return None;
        }
        let message = format!("there is no instruction `{}`{}", shown(name), at);
        let error = Diagnostic::error("plan-unknown-type", place, message);
        let near = suggest(&self.spelling, name, own()).and_then(InstructionType::of_name);
        self.diagnostics.push(match near {
            Some(near) => error.with_fix(format!("write `{}`", near.name()), place, format!("\"{}\"", near.name())),
            None => error.with_note(format!("dialect {} has {}", dialect.language(), listed(own()))),
        });
        // What it was probably meant to be, so that its parameters are looked at too.
        near
    }

    /// The branches of the condition at `index` that are there, in the order written, each with its list.
    fn branches(&mut self, layout: &mut Layout<'t>, index: usize) -> Vec<(Json<'t>, usize)> {
        let entry = &layout.entries[index];
        let (type_span, parent) = (entry.type_span, entry.list);
        let depth = layout.lists[parent].depth + 1;
        let Some(parameters) = entry.parameters else { return Vec::new() };
        let mut found = Vec::new();
        for (way, key) in ["true_branch", "false_branch"].into_iter().enumerate() {
            let Some(member) = parameters.member(key).filter(|member| !member.value.is_null()) else {
                let message = format!("this condition has no `{key}`: nothing happens in that case");
                let warning = Diagnostic::warning("plan-missing-branch", type_span, message);
                self.diagnostics.push(warning.with_note(format!("if you mean that, write `\"{key}\": []`")));
                continue;
            };
            let Kind::List = member.value.kind() else {
                let message = format!("`{key}` must be a list of instructions, not {}", member.value.kind_name());
                let error = Diagnostic::error("plan-wrong-type", member.value.opening(), message);
                let is_object = *member.value.kind() == Kind::Object;
                let note = "put the instruction between `[` and `]`";
                self.diagnostics.push(if is_object { error.with_note(note) } else { error });
                continue;
            };
            if depth > MAX_BRANCH_DEPTH {
                let message = format!("branches are nested deeper than {MAX_BRANCH_DEPTH} levels");
                self.error("plan-branches-too-deep", member.key_span, message);
                continue;
            }
            let prefix = format!("{}/{}/", layout.entries[index].label, ["true", "false"][way]);
            let list = layout.lists.len();
            layout.lists.push(List { entries: Vec::new(), condition: Some(index), prefix, depth });
            layout.entries[index].branches[way] = Some(list);
            found.push((member.value, list));
        }
        found.sort_by_key(|(branch, _)| branch.span());
        found
    }

    /// Sorts each list by number and says of each entry what follows it.
    fn order(&mut self, layout: &mut Layout<'t>) {
        let Layout { entries, lists } = layout;
        for list in lists.iter_mut() {
            // Those without a number keep the place after the one before them.
            let mut last = i64::MIN;
            let mut numbered = Vec::with_capacity(list.entries.len());
            for &index in &list.entries {
                last = entries[index].seq_no.unwrap_or(last);
                numbered.push((last, index));
            }
            numbered.sort();
            let sorted: Vec<usize> = numbered.into_iter().map(|(_, index)| index).collect();
            self.numbering(entries, &list.entries, &sorted, list.condition.is_none());
            list.entries = sorted;
            let mut following = list.condition.and_then(|condition| entries[condition].next);
            for &index in list.entries.iter().rev() {
                entries[index].next = following;
                following = Some(node(index));
            }
        }
        self.numbers_of_other_lists(entries);
    }

    /// Numbers of one list: each once, and in dialect A without gaps from 0.
    fn numbering(&mut self, entries: &[Entry<'t>], written: &[usize], sorted: &[usize], is_main: bool) {
        let numbered: Vec<(i64, &Entry<'t>)> =
            sorted.iter().filter_map(|&index| Some((entries[index].seq_no?, &entries[index]))).collect();
        let n_before = self.diagnostics.len();
        for pair in numbered.windows(2) {
            if pair[0].0 == pair[1].0 {
                let message = format!("seq_no {} appears twice", pair[1].0);
                let error = Diagnostic::error("plan-duplicate-seq-no", pair[1].1.seq_span, message);
                self.diagnostics.push(error.with_place(pair[0].1.seq_span, "first here"));
            }
        }
        let is_sound = self.diagnostics.len() == n_before && numbered.len() == sorted.len();
        if !is_sound {
            return;
        }
        let written = written.iter().filter_map(|&index| Some((entries[index].seq_no?, entries[index].seq_span)));
        let mut pairs = written.clone().zip(written.skip(1));
        if let Some(((before, _), (behind, place))) = pairs.find(|(before, behind)| before.0 > behind.0) {
            let message =
                format!("seq_no {behind} comes after {before}: instructions run in the order of their numbers");
            self.diagnostics.push(Diagnostic::note("plan-order", place, message));
        }
        if self.dialect == Dialect::Jmp && is_main {
            self.gaps(&numbered);
        }
    }

    fn gaps(&mut self, numbered: &[(i64, &Entry<'t>)]) {
        if let Some((first, entry)) = numbered.first().filter(|(first, _)| *first != 0) {
            let message = format!("numbers begin at 0, not at {first}");
            self.warning("plan-numbering", entry.seq_span, message);
        }
        let mut gaps = numbered.windows(2).filter(|pair| i128::from(pair[1].0) - i128::from(pair[0].0) > 1);
        if let Some(gap) = gaps.next() {
            let message = format!("no instruction has a number between {} and {}", gap[0].0, gap[1].0);
            let warning = Diagnostic::warning("plan-numbering", gap[1].1.seq_span, message);
            let n_others = gaps.count();
            self.diagnostics.push(match n_others {
                0 => warning,
                1 => warning.with_note("there is another such gap"),
                n => warning.with_note(format!("there are {n} other such gaps")),
            });
        }
    }

    /// The same number in two lists is allowed, and confusing.
    fn numbers_of_other_lists(&mut self, entries: &[Entry<'t>]) {
        let mut first: HashMap<i64, &Entry<'t>> = HashMap::new();
        let mut told = HashMap::new();
        for entry in entries {
            let Some(number) = entry.seq_no else { continue };
            let before = *first.entry(number).or_insert(entry);
            if before.list != entry.list && told.insert(number, ()).is_none() {
                let message = format!("seq_no {number} is used in another list too: this is `{}`", shown(&entry.label));
                let warning = Diagnostic::warning("plan-duplicate-seq-no", entry.seq_span, message);
                self.diagnostics.push(warning.with_place(before.seq_span, "first here"));
            }
        }
    }
}

/// What a value that should be an integer is instead.
pub(crate) fn kind_of_number(value: Json<'_>) -> &'static str {
    if let Kind::Scalar(Value::Float(_)) = value.kind() { "a float" } else { value.kind_name() }
}
