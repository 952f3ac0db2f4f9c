//! What can be written at an offset of a test or trigger table, of what its program has.

use std::collections::BTreeSet;

use playhouse_lang::analysis::explain::signature;
use playhouse_lang::files::kind::{Kind, case_of};
use playhouse_lang::files::trigger_table::label;
use playhouse_lang::program::{Playbook, Trigger};
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::calls::callee_before;
use crate::complete::{Proposal, ProposalKind, Typed};
use crate::occurrences::Symbol;

impl View {
    /// What can be written at an offset of a test or table of this program, which is called `name` and is now `text`. After
    /// a `$` variables; after `Playbook:` its lines, in a table its triggers; in the last cell of a table's row all triggers
    /// that can fire; else, after the beginning of a word of a list item, playbooks, plans and tools.
    pub fn complete_case(&self, name: &str, text: &str, offset: usize) -> Vec<Proposal> {
        let Some(Typed { line, head, start, .. }) = Typed::at(text, offset) else { return Vec::new() };
        let span = Span::new(FileId(0), start, offset);
        let is_table = case_of(name) == Some(Kind::Triggers);
        if head.ends_with('$') {
            return self.all_variables(Span::new(FileId(0), start - 1, offset));
        }
        if let Some(path) = head.strip_suffix(':').map(callee_before).filter(|path| !path.is_empty()) {
            let playbooks = self.program().playbooks_named(path).filter(|playbook| !playbook.implicit);
            let inner = |playbook| if is_table { trigger_ids(playbook, span) } else { line_ids(playbook, span) };
            return playbooks.flat_map(inner).collect();
        }
        if is_table {
            // What fires stands in the last of two cells.
            let is_last = line.starts_with('|') && line.matches('|').count() - line.matches("\\|").count() == 2;
            return if is_last { self.firing(span) } else { Vec::new() };
        }
        let is_item = line.trim_start().starts_with("- ") && !line.contains('"');
        if is_item && start < offset { self.called(span) } else { Vec::new() }
    }

    fn all_variables(&self, span: Span) -> Vec<Proposal> {
        let name = |symbol: &Symbol| match symbol {
            Symbol::Own(_, name) | Symbol::Shared(_, name) => Some(name.clone()),
            Symbol::Agent(_) | Symbol::Playbook(_) | Symbol::Callable(_) => None,
        };
        let names: BTreeSet<_> = self.names().filter_map(|place| name(&place.symbol)).collect();
        let kind = ProposalKind::Variable;
        names.into_iter().map(|name| Proposal { kind, text: format!("${name}"), detail: String::new(), span }).collect()
    }

    fn firing(&self, span: Span) -> Vec<Proposal> {
        let program = self.program();
        let triggers = program.playbooks.iter().flat_map(|playbook| &playbook.triggers);
        let waiting = triggers.filter(|trigger| trigger.kind.waits_for_updates());
        waiting.map(|trigger| at(label(program, trigger.id), &trigger.text, span)).collect()
    }

    fn called(&self, span: Span) -> Vec<Proposal> {
        let program = self.program();
        let playbooks = program.playbooks.iter().filter(|playbook| !playbook.implicit);
        let playbooks = playbooks.map(|playbook| {
            (ProposalKind::Playbook, program.unique_name(playbook.id), signature(&playbook.signature()))
        });
        let plans = program.plans.iter().map(|plan| plan.signature());
        let plans = plans.map(|plan| (ProposalKind::Playbook, plan.name.to_string(), signature(&plan)));
        let tools = self.tools.signatures.iter();
        let tools = tools.map(|tool| (ProposalKind::Tool, tool.name.to_string(), signature(tool)));
        let all = playbooks.chain(plans).chain(tools);
        all.map(|(kind, text, detail)| Proposal { kind, text, detail, span }).collect()
    }
}

fn line_ids(playbook: &Playbook, span: Span) -> Vec<Proposal> {
    playbook.steps.iter().map(|line| at(line.label.to_string(), &line.text, span)).collect()
}

fn trigger_ids(playbook: &Playbook, span: Span) -> Vec<Proposal> {
    let waiting = playbook.triggers.iter().filter(|trigger| trigger.kind.waits_for_updates());
    waiting.map(|trigger: &Trigger| at(format!("T{}", trigger.id.index + 1), &trigger.text, span)).collect()
}

/// A line or trigger; of its words the first line.
fn at(text: String, words: &str, span: Span) -> Proposal {
    let detail = words.lines().next().unwrap_or_default().to_owned();
    Proposal { kind: ProposalKind::Line, text, detail, span }
}
