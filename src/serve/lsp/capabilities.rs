//! What an editor says it can, and what it is told that we can.

use std::path::PathBuf;

use gen_lsp_types::{
    CallHierarchyProvider, CodeActionKind, CodeActionOptions, CodeActionProvider, CodeLensOptions, CompletionOptions,
    DefinitionProvider, DocumentFormattingProvider, DocumentHighlightProvider, DocumentLinkOptions,
    DocumentRangeFormattingProvider, DocumentSymbolProvider, FileOperationFilter, FileOperationOptions,
    FileOperationPattern, FileOperationRegistrationOptions, FoldingRangeProvider, Full, HoverProvider,
    InlayHintProvider, PositionEncodingKind, ReferencesProvider, RenameOptions, RenameProvider, Save,
    SelectionRangeProvider, SemanticTokensLegend, SemanticTokensOptions, SemanticTokensOptionsRange,
    SemanticTokensProvider, ServerCapabilities, SignatureHelpOptions, TextDocumentSync, TextDocumentSyncKind,
    TextDocumentSyncOptions, Uri, WorkspaceOptions, WorkspaceSymbolProvider,
};
use playhouse_ide::hints::HintKind;
use serde_json::Value as Json;

use crate::serve::lsp::convert::{TOKEN_KINDS, TOKEN_MODIFIERS};
use crate::serve::lsp::documents::Columns;

/// What an editor has said of itself.
#[derive(Clone, Debug)]
pub(super) struct Editor {
    /// How it counts columns: in bytes, if it can, for then nothing is counted.
    pub(super) columns: Columns,
    /// The commands that it has and a lens may name; `initializationOptions.commands`.
    pub(super) commands: Vec<String>,
    /// The folders that it has open.
    pub(super) folders: Vec<PathBuf>,
    /// Whether it can be told later of which files we know the layout.
    pub(super) registers_formatting: bool,
    /// Whether it shows what cannot be done, with the reason.
    pub(super) shows_disabled: bool,
    /// Whether it asks later for what an action writes.
    pub(super) resolves_actions: bool,
    /// Whether it asks people about changes that need a yes.
    pub(super) asks_about_changes: bool,
    /// What it shows between words; `initializationOptions.hints`, all if it is not said.
    pub(super) hints: Vec<HintKind>,
}

impl Editor {
    /// By the parameters of `initialize`. What is missing or cannot be read is not there.
    pub(super) fn read(asked: &Json) -> Editor {
        let commands = asked["initializationOptions"]["commands"].as_array().into_iter().flatten();
        let can = &asked["capabilities"];
        let encodings = can["general"]["positionEncodings"].as_array();
        let is_utf8 = encodings.is_some_and(|offered| offered.iter().any(|one| one == "utf-8"));
        let resolved = can["textDocument"]["codeAction"]["resolveSupport"]["properties"].as_array();
        let edit = &can["workspace"]["workspaceEdit"];
        let hints = asked["initializationOptions"]["hints"].as_array();
        let is_shown = |name: &str| hints.is_none_or(|shown| shown.iter().any(|one| one == name));
        Editor {
            columns: if is_utf8 { Columns::Utf8 } else { Columns::Utf16 },
            registers_formatting: can["textDocument"]["formatting"]["dynamicRegistration"] == true,
            folders: folders(asked),
            shows_disabled: can["textDocument"]["codeAction"]["disabledSupport"] == true,
            resolves_actions: resolved.is_some_and(|properties| properties.iter().any(|one| one == "edit")),
            asks_about_changes: edit["documentChanges"] == true && edit["changeAnnotationSupport"].is_object(),
            hints: HINTS.into_iter().filter(|(name, _)| is_shown(name)).map(|(_, kind)| kind).collect(),
            commands: commands.filter_map(|command| command.as_str().map(str::to_owned)).collect(),
        }
    }
}

/// What an editor can show between words, by the names of the option.
const HINTS: [(&str, HintKind); 3] =
    [("lines", HintKind::Line), ("types", HintKind::Type), ("parameters", HintKind::Parameter)];

/// The folders that an editor has open; some know one alone, by an older name.
fn folders(asked: &Json) -> Vec<PathBuf> {
    let folders = asked["workspaceFolders"].as_array().into_iter().flatten().map(|folder| &folder["uri"]);
    let uris = folders.chain([&asked["rootUri"]]).filter_map(|uri| Uri::parse(uri.as_str()?).ok());
    let mut folders: Vec<PathBuf> = uris.filter_map(|uri| uri.to_file_path().ok()).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// What goes with a file that moves: whatever it is, a folder too.
fn file_operations() -> FileOperationOptions {
    let pattern = FileOperationPattern { glob: "**".to_owned(), matches: None, options: None };
    let filters = vec![FileOperationFilter { scheme: Some("file".to_owned()), pattern }];
    FileOperationOptions {
        will_rename: Some(FileOperationRegistrationOptions { filters }),
        ..FileOperationOptions::default()
    }
}

/// What we can.
pub(super) fn capabilities(editor: &Editor) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        save: Some(Save::Bool(true)),
        ..TextDocumentSyncOptions::default()
    };
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let tokens = SemanticTokensOptions {
        legend: SemanticTokensLegend { token_types: owned(&TOKEN_KINDS), token_modifiers: owned(&TOKEN_MODIFIERS) },
        range: Some(SemanticTokensOptionsRange::Bool(true)),
        full: Some(Full::Bool(true)),
        ..SemanticTokensOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(match editor.columns {
            Columns::Utf8 => PositionEncodingKind::UTF8,
            Columns::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSync::Options(sync)),
        hover_provider: Some(HoverProvider::Bool(true)),
        definition_provider: Some(DefinitionProvider::Bool(true)),
        references_provider: Some(ReferencesProvider::Bool(true)),
        document_highlight_provider: Some(DocumentHighlightProvider::Bool(true)),
        document_formatting_provider: (!editor.registers_formatting).then_some(DocumentFormattingProvider::Bool(true)),
        document_range_formatting_provider: (!editor.registers_formatting)
            .then_some(DocumentRangeFormattingProvider::Bool(true)),
        document_link_provider: Some(DocumentLinkOptions::default()),
        selection_range_provider: Some(SelectionRangeProvider::Bool(true)),
        workspace: Some(WorkspaceOptions { file_operations: Some(file_operations()), ..WorkspaceOptions::default() }),
        document_symbol_provider: Some(DocumentSymbolProvider::Bool(true)),
        workspace_symbol_provider: Some(WorkspaceSymbolProvider::Bool(true)),
        folding_range_provider: Some(FoldingRangeProvider::Bool(true)),
        inlay_hint_provider: Some(InlayHintProvider::Bool(true)),
        semantic_tokens_provider: Some(SemanticTokensProvider::SemanticTokensOptions(tokens)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false), ..CodeLensOptions::default() }),
        call_hierarchy_provider: Some(CallHierarchyProvider::Bool(true)),
        rename_provider: Some(RenameProvider::RenameOptions(RenameOptions {
            prepare_provider: Some(true),
            ..RenameOptions::default()
        })),
        code_action_provider: Some(CodeActionProvider::CodeActionOptions(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QuickFix,
                CodeActionKind::RefactorExtract,
                CodeActionKind::SourceFixAll,
            ]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            // Never a space: every word would ask (vscode#69283).
            trigger_characters: Some(owned(&["$", ".", ":", "!", "#", "/"])),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(owned(&["(", ","])),
            ..SignatureHelpOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}
