//! Questions of an editor, answered from the programs as they are now. What is not open, or lies outside, has an empty
//! answer.

use gen_lsp_types::{
    ActiveParameter, BaseSymbolInformation, CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall,
    Code, CodeAction, CodeActionKind, CodeActionParams, CodeActionResponse, CodeLens, Command, Contents, Diagnostic,
    DiagnosticSeverity, DocumentHighlight, DocumentHighlightKind, DocumentSymbol, Documentation, FoldingRange, Hover,
    InlayHint, InlayHintKind, InlayHintParams, Label, Location, MarkupContent, MarkupKind, Message,
    ParameterInformation, ParameterInformationLabel, Range, SemanticTokens, SignatureHelp, SignatureInformation,
    TextDocumentPositionParams, Uri, WorkspaceSymbol, WorkspaceSymbolLocation,
};
use playhouse_ide::calls::{Caller, Calls};
use playhouse_ide::hints::{Hint, HintKind};
use playhouse_ide::occurrences::{Occurrence, Role};
use playhouse_ide::outline::{Entry, EntryKind};

use crate::lang::program::{Playbook, PlaybookId};
use crate::serve::lsp::capabilities::Editor;
use crate::serve::lsp::cases::{Cases, cases_of};
use crate::serve::lsp::convert::{finding, hierarchy_item, location, symbol, symbol_kind, tokens};
use crate::serve::lsp::documents::{Columns, Documents, Text, name_of};
use crate::serve::lsp::edits::Edits;
use crate::serve::lsp::programs::{Loaded, Programs};
use crate::serve::lsp::workspace::Workspace;
use crate::span::{FileId, Span};

/// What a lens can do, where the editor has such a command: its title.
const LENSES: [(&str, &str); 2] = [("playhouse.run", "run"), ("playhouse.debug", "debug")];

/// The command that shows the callers of a playbook.
const SHOW_CALLERS: &str = "playhouse.showCallers";

/// The command that shows the tests and trigger tables that name a playbook.
const SHOW_TESTS: &str = "playhouse.showTests";

/// What questions are answered from.
#[derive(Clone, Copy)]
pub(super) struct Answers<'a> {
    pub(super) documents: &'a Documents,
    pub(super) workspace: &'a Workspace,
    pub(super) programs: &'a Programs,
    pub(super) cases: &'a Cases,
    pub(super) editor: &'a Editor,
}

/// Where a question is asked.
pub(super) struct Here<'a> {
    pub(super) program: &'a Loaded,
    pub(super) file: FileId,
    pub(super) text: Text<'a>,
}

impl<'a> Answers<'a> {
    pub(super) fn columns(self) -> Columns {
        self.editor.columns
    }

    /// Whether a file belongs to a program, or is a test or table that is open.
    pub(super) fn is_ours(self, name: &str) -> bool {
        self.programs.of(name).next().is_some() || self.cases.get(name).is_some()
    }

    /// The first program of a text.
    pub(super) fn here(self, uri: &Uri) -> Option<Here<'a>> {
        let (name, document) = self.documents.at(uri)?;
        let (program, file) = self.programs.of(&name).next()?;
        Some(Here { program, file, text: document.text() })
    }

    pub(super) fn place(self, at: &TextDocumentPositionParams) -> Option<(Here<'a>, usize)> {
        let here = self.here(&at.text_document.uri)?;
        let offset = here.text.offset(at.position, self.columns())?;
        Some((here, offset))
    }

    /// What stands there, in words.
    pub(super) fn hover(self, at: &TextDocumentPositionParams) -> Option<Hover> {
        if let Some(mentioned) = self.mentioned(at) {
            return self.mention_hover(mentioned);
        }
        let (here, offset) = self.place(at)?;
        let hover = here.program.view.hover(here.file, offset)?;
        let contents = Contents::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: hover.text });
        Some(Hover { contents, range: Some(here.text.range(hover.span, self.columns())) })
    }

    /// Where what the name means comes from: its title or declaration, else where it is set.
    pub(super) fn definitions(self, at: &TextDocumentPositionParams) -> Vec<Location> {
        if let Some(mentioned) = self.mentioned(at) {
            return self.mention_definitions(mentioned);
        }
        let is_definition = |place: &&Occurrence| place.role == Role::Definition;
        let found = self.places(at, &is_definition);
        if found.is_empty() { self.places(at, &|place| place.role == Role::Write) } else { found }
    }

    /// The name that stands there.
    fn name(self, at: &TextDocumentPositionParams) -> Option<(Here<'a>, &'a Occurrence)> {
        let (here, offset) = self.place(at)?;
        let name = here.program.view.name_at(here.file, offset)?;
        Some((here, name))
    }

    fn places(self, at: &TextDocumentPositionParams, is_wanted: &dyn Fn(&&Occurrence) -> bool) -> Vec<Location> {
        let Some((here, name)) = self.name(at) else { return Vec::new() };
        let places = here.program.view.places(&name.symbol).filter(is_wanted);
        places.filter_map(|place| location(here.program, place.span, self.columns())).collect()
    }

    /// The places of it in the same text.
    pub(super) fn highlights(self, at: &TextDocumentPositionParams) -> Vec<DocumentHighlight> {
        let Some((here, name)) = self.name(at) else { return Vec::new() };
        let places = here.program.view.places(&name.symbol).filter(|place| place.span.file == here.file);
        let highlight = |place: &Occurrence| DocumentHighlight {
            range: here.text.range(place.span, self.columns()),
            kind: Some(match place.role {
                Role::Definition | Role::Write => DocumentHighlightKind::Write,
                Role::Use => DocumentHighlightKind::Read,
            }),
        };
        places.map(highlight).collect()
    }

    /// The outline of a text.
    pub(super) fn symbols(self, uri: &Uri) -> Vec<DocumentSymbol> {
        if let Some(symbols) = self.case_symbols(uri) {
            return symbols;
        }
        let Some(here) = self.here(uri) else { return Vec::new() };
        let outline = here.program.view.outline(here.file);
        outline.iter().map(|entry| symbol(entry, here.text, self.columns())).collect()
    }

    /// What is called like this, in all programs and in the files of the folders that are open.
    pub(super) fn all_symbols(self, query: &str) -> Vec<WorkspaceSymbol> {
        let query = query.to_lowercase();
        let mut found: Vec<WorkspaceSymbol> = Vec::new();
        let closed = self.workspace.playbooks().filter(|name| self.programs.of(name).next().is_none());
        let closed: Vec<Loaded> = closed.filter_map(|name| Loaded::alone(name, self.documents)).collect();
        for program in self.programs.all().iter().chain(&closed) {
            let entries = program.files().flat_map(|(file, _)| program.view.outline(file));
            let mut pending: Vec<(Entry, Option<String>)> = entries.map(|entry| (entry, None)).collect();
            while let Some((entry, container)) = pending.pop() {
                let is_named = matches!(entry.kind, EntryKind::Agent | EntryKind::Playbook);
                if is_named
                    && entry.name.to_lowercase().contains(&query)
                    && let Some(location) = location(program, entry.title, self.columns())
                {
                    let symbol = WorkspaceSymbol {
                        location: WorkspaceSymbolLocation::Location(location),
                        data: None,
                        base_symbol_information: BaseSymbolInformation {
                            name: entry.name.clone(),
                            kind: symbol_kind(entry.kind),
                            tags: None,
                            container_name: container,
                        },
                    };
                    // A file can belong to several programs.
                    if !found.contains(&symbol) {
                        found.push(symbol);
                    }
                }
                let inner = entry.children.into_iter().map(|child| (child, Some(entry.name.clone())));
                pending.extend(inner.collect::<Vec<_>>().into_iter().rev());
            }
        }
        found
    }

    /// Playbooks, and lines that have lines below them.
    pub(super) fn folds(self, uri: &Uri) -> Vec<FoldingRange> {
        let Some(here) = self.here(uri) else { return Vec::new() };
        let fold = |span: Span| {
            let range = here.text.range(span, self.columns());
            // A playbook ends before the next heading: the empty lines above that stay.
            let text = here.text.as_str().get(span.range()).unwrap_or_default();
            let n_lines = text.trim_end().lines().count();
            let end_line = range.start.line + u32::try_from(n_lines).unwrap_or(1).saturating_sub(1);
            let start_line = range.start.line;
            (end_line > start_line).then(|| FoldingRange { start_line, end_line, ..FoldingRange::default() })
        };
        here.program.view.folds(here.file).into_iter().filter_map(fold).collect()
    }

    /// What is coloured.
    pub(super) fn tokens(self, uri: &Uri, range: Option<Range>) -> Option<SemanticTokens> {
        let here = self.here(uri)?;
        let range = range.map_or(0..here.text.as_str().len(), |range| self.bytes(here.text, range));
        let data = tokens(&here.program.view.tokens(here.file, range), here.text, self.columns());
        Some(SemanticTokens { result_id: None, data })
    }

    /// A range of a text in bytes; what lies outside of it begins or ends with it.
    fn bytes(self, text: Text<'_>, range: Range) -> std::ops::Range<usize> {
        let place = |position| text.offset(position, self.columns());
        place(range.start).unwrap_or(0)..place(range.end).unwrap_or(text.as_str().len())
    }

    /// Above each playbook what can be done with it, and how often it is called; only with commands that the editor has.
    pub(super) fn lenses(self, uri: &Uri) -> Vec<CodeLens> {
        let Some(here) = self.here(uri) else { return Vec::new() };
        let has = |command: &str| self.editor.commands.iter().any(|known| known == command);
        let file = self.documents.at(uri).map(|(name, _)| name).unwrap_or_default();
        let is_counted = has(SHOW_TESTS);
        let cases = if is_counted { cases_of(here.program, self.documents, self.workspace) } else { Vec::new() };
        let mut lenses = Vec::new();
        for playbook in here.program.view.playbooks(here.file) {
            let range = here.text.range(playbook.title_span, self.columns());
            let mut add = |title: String, command: &str| {
                let arguments = [file.as_str(), &playbook.name].map(serde_json::Value::from);
                let command =
                    Command { title, tooltip: None, command: command.to_owned(), arguments: Some(arguments.into()) };
                lenses.push(CodeLens { range, command: Some(command), data: None });
            };
            for (command, title) in LENSES.into_iter().filter(|(command, _)| has(command)) {
                add(title.to_owned(), command);
            }
            if has(SHOW_CALLERS) {
                add(here.program.view.counted_callers(playbook.id), SHOW_CALLERS);
            }
            let tests = here.program.view.counted_tests(playbook.id, &cases);
            tests.into_iter().for_each(|title| add(title, SHOW_TESTS));
        }
        lenses
    }

    /// The call that is being written.
    pub(super) fn signature(self, at: &TextDocumentPositionParams) -> Option<SignatureHelp> {
        let (here, offset) = self.place(at)?;
        let call = here.program.view.writing(here.file, here.text.as_str(), offset)?;
        let parameter =
            |name: String| ParameterInformation { label: ParameterInformationLabel::String(name), documentation: None };
        let active = ActiveParameter::Int(u32::try_from(call.active).unwrap_or(u32::MAX));
        let signature = SignatureInformation {
            label: call.label,
            documentation: (!call.summary.is_empty()).then_some(Documentation::String(call.summary)),
            parameters: Some(call.parameters.into_iter().map(parameter).collect()),
            active_parameter: Some(active),
        };
        Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter: Some(active) })
    }

    /// The playbook whose name stands there.
    pub(super) fn playbook_at(self, at: &TextDocumentPositionParams) -> Vec<CallHierarchyItem> {
        let Some((here, offset)) = self.place(at) else { return Vec::new() };
        let playbook = here.program.view.playbook_named_at(here.file, offset);
        playbook.and_then(|playbook| self.playbook_item(here.program, playbook)).into_iter().collect()
    }

    fn playbook_item(self, program: &Loaded, playbook: &Playbook) -> Option<CallHierarchyItem> {
        let places = [playbook.span, playbook.title_span];
        hierarchy_item(program, playbook.name.to_string(), EntryKind::Playbook, places, self.columns())
    }

    /// The playbook that an item is. It may be in a file that is not open.
    fn playbook_of(self, item: &CallHierarchyItem) -> Option<(&'a Loaded, PlaybookId)> {
        let name = name_of(&item.uri);
        let (program, file) = self.programs.of(&name).next()?;
        let offset = program.text(file)?.offset(item.selection_range.start, self.columns())?;
        let playbook = program.view.playbooks(file).find(|playbook| playbook.title_span.contains(offset))?;
        Some((program, playbook.id))
    }

    /// Who calls it. A trigger is a caller, too, by the lines that set what it waits for.
    pub(super) fn callers(self, item: &CallHierarchyItem) -> Vec<CallHierarchyIncomingCall> {
        let Some((program, id)) = self.playbook_of(item) else { return Vec::new() };
        let source = program.view.program();
        let caller = |who: Caller| match who {
            Caller::Playbook(id) => self.playbook_item(program, source.playbook(id)),
            Caller::Trigger(id) => {
                let span = source.trigger(id).span;
                let name = source.trigger_name(id);
                hierarchy_item(program, name, EntryKind::Trigger, [span, span], self.columns())
            }
        };
        let call = |calls: Calls<Caller>| {
            let from = caller(calls.who)?;
            // Ranges are those of the caller's file; lines that set a name may stand in others.
            let places = calls.places.iter().filter_map(|place| location(program, *place, self.columns()));
            let from_ranges = places.filter(|place| place.uri == from.uri).map(|place| place.range).collect();
            Some(CallHierarchyIncomingCall { from, from_ranges })
        };
        program.view.callers(id).into_iter().filter_map(call).collect()
    }

    /// Whom it calls.
    pub(super) fn callees(self, item: &CallHierarchyItem) -> Vec<CallHierarchyOutgoingCall> {
        let Some((program, id)) = self.playbook_of(item) else { return Vec::new() };
        let call = |calls: Calls<PlaybookId>| {
            let to = self.playbook_item(program, program.view.program().playbook(calls.who))?;
            let places = calls.places.iter().filter_map(|place| location(program, *place, self.columns()));
            Some(CallHierarchyOutgoingCall { to, from_ranges: places.map(|place| place.range).collect() })
        };
        program.view.callees(id).into_iter().filter_map(call).collect()
    }

    /// What is shown between the words of a range.
    pub(super) fn hints(self, asked: &InlayHintParams) -> Vec<InlayHint> {
        let Some(here) = self.here(&asked.text_document.uri) else { return Vec::new() };
        let range = self.bytes(here.text, asked.range);
        let hints = here.program.view.hints(here.file, range.start..range.end.saturating_add(1));
        let hint = |hint: Hint| InlayHint {
            position: here.text.position(hint.at, self.columns()),
            label: Label::String(hint.text),
            kind: match hint.kind {
                HintKind::Line => None,
                HintKind::Type => Some(InlayHintKind::Type),
                HintKind::Parameter => Some(InlayHintKind::Parameter),
            },
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: Some(hint.kind == HintKind::Line),
            data: None,
        };
        hints.into_iter().filter(|hint| self.editor.hints.contains(&hint.kind)).map(hint).collect()
    }

    /// What can be done about what was found in a range, and with its lines; all mends at once where the editor asks for
    /// that.
    pub(super) fn actions(self, asked: &CodeActionParams) -> Vec<CodeActionResponse> {
        let uri = &asked.text_document.uri;
        let Some(here) = self.here(uri) else { return Vec::new() };
        let place = |position| here.text.offset(position, self.columns());
        let (Some(start), Some(end)) = (place(asked.range.start), place(asked.range.end)) else { return Vec::new() };
        let is_wanted = |kind: &CodeActionKind| {
            let within = |wanted: &CodeActionKind| {
                kind.as_str().strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            asked.context.only.as_ref().is_none_or(|only| only.iter().any(within))
        };
        let edit = |written: &[(Span, String)]| {
            let mut edits = Edits::default();
            edits.add_to_program(here.program, written);
            Some(edits.in_workspace(self.columns()))
        };
        let mut actions = Vec::new();
        if is_wanted(&CodeActionKind::QuickFix) {
            actions.extend(here.program.view.actions(here.file, start..end).into_iter().map(|action| {
                CodeAction {
                    title: action.title,
                    kind: Some(CodeActionKind::QuickFix),
                    diagnostics: finding(&|span| location(here.program, span, self.columns()), action.finding)
                        .map(|found| vec![found]),
                    is_preferred: Some(action.is_preferred),
                    edit: edit(&action.edits),
                    ..CodeAction::default()
                }
            }));
        }
        if is_wanted(&CodeActionKind::RefactorExtract) {
            actions.extend(self.extraction(&name_of(uri), &(start..end)));
        }
        // It is about the whole file, so it is offered where it is asked for.
        if asked.context.only.is_some() && is_wanted(&CodeActionKind::SourceFixAll) {
            let mends = here.program.view.all_mends(here.file);
            actions.extend((!mends.is_empty()).then(|| CodeAction {
                title: "apply all fixes in this file".to_owned(),
                kind: Some(CodeActionKind::SourceFixAll),
                edit: edit(&mends),
                ..CodeAction::default()
            }));
        }
        actions.into_iter().map(CodeActionResponse::CodeAction).collect()
    }

    /// What was found in a file, by all programs that reach it, each finding once.
    pub(super) fn findings(self, name: &str) -> Vec<Diagnostic> {
        if self.documents.get(name).is_some_and(|document| document.is_too_long()) {
            let message = "this text is longer than 4 MiB, so it is not read; split it into files that import each \
                           other";
            return vec![Diagnostic {
                severity: Some(DiagnosticSeverity::Error),
                code: Some(Code::String("too-long".to_owned())),
                source: Some("playhouse".to_owned()),
                message: Message::String(message.to_owned()),
                ..Diagnostic::default()
            }];
        }
        if let Some(findings) = self.case_findings(name) {
            return findings;
        }
        let mut all = Vec::new();
        for (program, file) in self.programs.of(name) {
            let own = program.view.findings().iter().filter(|found| found.span.file == file);
            for found in own.filter_map(|found| finding(&|span| location(program, span, self.columns()), found)) {
                if !all.contains(&found) {
                    all.push(found);
                }
            }
        }
        all
    }
}
