//! What can be written at an offset.

use std::collections::BTreeMap;
use std::sync::Arc;

use playhouse_lang::analysis::explain::signature;
use playhouse_lang::span::{FileId, Span};

use crate::View;
use crate::occurrences::{Role, Symbol};

/// What a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// A variable.
    Variable,
    /// A playbook.
    Playbook,
    /// A tool.
    Tool,
}

/// Something that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What it is.
    pub kind: ProposalKind,
    /// What is written in the place of [`Proposal::span`].
    pub text: String,
    /// What there is to know of it.
    pub detail: String,
    /// What has been typed of it.
    pub span: Span,
}

impl View {
    /// What can be written at an offset of a file whose text is now `text`: after a `$` the variables of the playbook, its
    /// own first; after the beginning of a word in it playbooks and tools.
    pub fn complete(&self, file: FileId, text: &str, offset: usize) -> Vec<Proposal> {
        let Some(before) = text.get(..offset) else { return Vec::new() };
        let begun = before.len() - before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let start = offset - begun;
        let line = before.rsplit('\n').next().unwrap_or_default();
        if before[..start].ends_with('$') {
            return self.variables(file, Span::new(file, start - 1, offset));
        }
        // Where nothing has been typed everything would be proposed, in the middle of prose.
        let is_after_bullet = ["- ", "* ", "= "].iter().any(|mark| line[..line.len() - begun].ends_with(mark));
        if begun == 0 && !is_after_bullet { Vec::new() } else { self.callables(file, Span::new(file, start, offset)) }
    }

    fn variables(&self, file: FileId, span: Span) -> Vec<Proposal> {
        let here = self.playbook_at(file, span.range().start);
        let mut names: BTreeMap<(bool, Arc<str>), String> = BTreeMap::new();
        for place in self.places_of_variables() {
            // The one that is being typed is none yet.
            if place.span.file == file && place.span.start == span.start {
                continue;
            }
            match &place.symbol {
                Symbol::Own(id, name) if here.is_some_and(|here| here.id == *id) => {
                    let ty = here.and_then(|here| here.types.get(name));
                    names.insert((false, name.clone()), ty.map_or_else(String::new, ToString::to_string));
                }
                Symbol::Shared(agent, name) if here.is_none_or(|here| here.agent == *agent) => {
                    let is_set = place.role != Role::Use;
                    names.entry((true, name.clone())).or_default();
                    if is_set {
                        names.insert((true, name.clone()), "of the agent".to_owned());
                    }
                }
                Symbol::Own(..) | Symbol::Shared(..) | Symbol::Agent(_) | Symbol::Playbook(_) | Symbol::Callable(_) => {
                }
            }
        }
        let proposal =
            |((_, name), detail)| Proposal { kind: ProposalKind::Variable, text: format!("${name}"), detail, span };
        names.into_iter().map(proposal).collect()
    }

    fn places_of_variables(&self) -> impl Iterator<Item = &crate::occurrences::Occurrence> {
        let is_variable = |symbol: &Symbol| matches!(symbol, Symbol::Own(..) | Symbol::Shared(..));
        self.occurrences.iter().filter(move |place| is_variable(&place.symbol))
    }

    fn callables(&self, file: FileId, span: Span) -> Vec<Proposal> {
        let program = self.program();
        let here = self.playbook_at(file, span.range().start);
        let playbooks = program.playbooks.iter().filter(|playbook| !playbook.implicit);
        let visible =
            playbooks.filter(|playbook| here.is_none_or(|here| here.agent == playbook.agent) || playbook.public);
        let mut proposals: Vec<Proposal> = visible
            .map(|playbook| {
                let name = match here.is_none_or(|here| here.agent == playbook.agent) {
                    true => playbook.name.to_string(),
                    false => format!("{}.{}", program.agent(playbook.agent).name, playbook.name),
                };
                let parameters: Vec<String> =
                    playbook.parameters.iter().map(|parameter| format!("${}", parameter.name)).collect();
                let text = format!("{name}({})", parameters.join(", "));
                let detail = signature(&playbook.signature());
                Proposal { kind: ProposalKind::Playbook, text, detail, span }
            })
            .collect();
        // Tools that the program calls: of others nothing is known here.
        let mut tools: Vec<&Arc<str>> = Vec::new();
        for place in &self.occurrences {
            if let Symbol::Callable(name) = &place.symbol
                && !tools.contains(&name)
            {
                tools.push(name);
            }
        }
        let tool = |name: &Arc<str>| Proposal {
            kind: ProposalKind::Tool,
            text: format!("{name}("),
            detail: "a tool".to_owned(),
            span,
        };
        proposals.extend(tools.into_iter().map(tool));
        proposals
    }
}
