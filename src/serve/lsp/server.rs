//! One connection: changes are made in order, and questions answered from what is there then.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gen_lsp_types::{
    CodeActionOptions, CodeActionProvider, CodeActionRequest, CompletionOptions, CompletionRequest, CompletionResponse,
    DefinitionProvider, DefinitionRequest, DidChangeTextDocumentNotification, DidChangeWatchedFilesNotification,
    DidCloseTextDocumentNotification, DidOpenTextDocumentNotification, DidSaveTextDocumentNotification,
    DocumentHighlightProvider, DocumentHighlightRequest, DocumentSymbolProvider, DocumentSymbolRequest, HoverProvider,
    HoverRequest, InitializeParams, InlayHintProvider, InlayHintRequest, Notification as LspNotification,
    PositionEncodingKind, PublishDiagnosticsNotification, PublishDiagnosticsParams, ReferencesProvider,
    ReferencesRequest, Request as LspRequest, ServerCapabilities, TextDocumentSync, TextDocumentSyncKind,
    TextDocumentSyncOptions,
};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::host::text::panic_text;
use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::documents::{Columns, Documents, name_of, uri_of};
use crate::serve::lsp::programs::Programs;

/// A longer text is not read.
const MAX_BYTES: usize = 4 << 20;

/// A connection that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What the editor sends is not the protocol.
    #[error("the editor does not speak the Language Server Protocol: {0}")]
    Protocol(String),
}

/// Serves a connection until the editor ends it.
///
/// # Errors
/// What comes is not the protocol.
pub fn serve(connection: &Connection) -> Result<(), ServeError> {
    let wrong = |error: lsp_server::ProtocolError| ServeError::Protocol(error.to_string());
    let (id, asked) = connection.initialize_start().map_err(wrong)?;
    let columns = columns(&asked);
    let answer = json!({
        "capabilities": capabilities(columns),
        "serverInfo": {"name": "playhouse", "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, answer).map_err(wrong)?;
    let mut server = Server {
        connection,
        columns,
        documents: Documents::default(),
        programs: Programs::default(),
        told: HashMap::new(),
    };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(wrong)? {
                    return Ok(());
                }
                let answer = server.answer(request);
                server.send(Message::Response(answer));
            }
            Message::Notification(notification) => server.hear(notification),
            // We ask for nothing.
            Message::Response(_) => {}
        }
    }
    Ok(())
}

/// Bytes, if the editor can: then nothing is counted.
fn columns(asked: &Json) -> Columns {
    let params: Option<InitializeParams> = serde_json::from_value(asked.clone()).ok();
    let offered = params.and_then(|params| params.capabilities.general?.position_encodings).unwrap_or_default();
    if offered.contains(&PositionEncodingKind::UTF8) { Columns::Utf8 } else { Columns::Utf16 }
}

fn capabilities(columns: Columns) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        will_save: None,
        will_save_wait_until: None,
        save: None,
    };
    ServerCapabilities {
        position_encoding: Some(match columns {
            Columns::Utf8 => PositionEncodingKind::UTF8,
            Columns::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSync::Options(sync)),
        hover_provider: Some(HoverProvider::Bool(true)),
        definition_provider: Some(DefinitionProvider::Bool(true)),
        references_provider: Some(ReferencesProvider::Bool(true)),
        document_highlight_provider: Some(DocumentHighlightProvider::Bool(true)),
        document_symbol_provider: Some(DocumentSymbolProvider::Bool(true)),
        inlay_hint_provider: Some(InlayHintProvider::Bool(true)),
        code_action_provider: Some(CodeActionProvider::CodeActionOptions(CodeActionOptions {
            code_action_kinds: Some(vec![gen_lsp_types::CodeActionKind::QuickFix]),
            ..CodeActionOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            // Never a space: every word would ask (vscode#69283).
            trigger_characters: Some(vec!["$".to_owned()]),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// What a connection knows.
struct Server<'c> {
    connection: &'c Connection,
    columns: Columns,
    documents: Documents,
    programs: Programs,
    /// What the editor was told last of each file.
    told: HashMap<String, PublishDiagnosticsParams>,
}

impl Server<'_> {
    /// An editor that has gone hears nothing any more; the next message that comes, or none, says so.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Something has changed.
    fn hear(&mut self, notification: Notification) {
        let method = notification.method.clone();
        let changed = match &*method {
            "textDocument/didOpen" => read::<DidOpenTextDocumentNotification>(notification)
                .filter(|opened| opened.text_document.text.len() <= MAX_BYTES)
                .map(|opened| {
                    let document = opened.text_document;
                    self.documents.open(document.uri, document.version, document.text)
                }),
            "textDocument/didChange" => read::<DidChangeTextDocumentNotification>(notification).and_then(|edited| {
                let document = edited.text_document;
                let uri = document.text_document_identifier.uri;
                let edited = self.documents.edit(&uri, document.version, edited.content_changes, self.columns)?;
                let (name, is_made) = edited;
                if !is_made {
                    tracing::warn!(name, "an edit lies outside of the text; the whole is waited for");
                }
                Some(name)
            }),
            "textDocument/didClose" => read::<DidCloseTextDocumentNotification>(notification)
                .and_then(|closed| self.documents.close(&closed.text_document.uri)),
            "textDocument/didSave" => {
                read::<DidSaveTextDocumentNotification>(notification).map(|saved| name_of(&saved.text_document.uri))
            }
            "workspace/didChangeWatchedFiles" => {
                let files = read::<DidChangeWatchedFilesNotification>(notification).map(|files| files.changes);
                for file in files.unwrap_or_default() {
                    self.programs.changed(&name_of(&file.uri), &self.documents);
                }
                self.tell_findings();
                None
            }
            // Answers come at once: there is nothing to cancel. What nobody knows is passed over, as the protocol has it.
            _ => None,
        };
        if let Some(name) = changed {
            self.programs.changed(&name, &self.documents);
            self.tell_findings();
        }
    }

    /// What was found, of each file whose findings are others than those that were told.
    fn tell_findings(&mut self) {
        let answers = self.answers();
        let mut files = self.programs.files();
        // Of these there is nothing to be said any more.
        files.extend(self.told.keys().filter(|name| !files.contains(name)).cloned().collect::<Vec<_>>());
        let told: Vec<(String, PublishDiagnosticsParams)> = files
            .into_iter()
            .filter_map(|name| {
                let document = self.documents.get(&name);
                let uri = document.map(|document| document.uri.clone()).or_else(|| uri_of(&name))?;
                let diagnostics = answers.findings(&name);
                let version = document.map(|document| document.version);
                Some((name, PublishDiagnosticsParams { uri, version, diagnostics }))
            })
            .filter(|(name, now)| match self.told.get(name) {
                Some(before) => before != now,
                None => !now.diagnostics.is_empty() || now.version.is_some(),
            })
            .collect();
        for (name, now) in told {
            let method = PublishDiagnosticsNotification::METHOD.as_str().to_owned();
            self.send(Message::Notification(Notification::new(method, &now)));
            if now.diagnostics.is_empty() && now.version.is_none() {
                self.told.remove(&name);
            } else {
                self.told.insert(name, now);
            }
        }
    }

    fn answers(&self) -> Answers<'_> {
        Answers { documents: &self.documents, programs: &self.programs, columns: self.columns }
    }

    /// Answers a question. One that goes wrong does no harm to the rest.
    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        match catch_unwind(AssertUnwindSafe(|| self.answer_to(request))) {
            Ok(Ok(result)) => Response::new_ok(id, result),
            Ok(Err((code, why))) => Response::new_err(id, code as i32, why),
            Err(panic) => {
                let why = panic_text(&*panic);
                tracing::error!(why, "a question was not answered");
                Response::new_err(id, ErrorCode::InternalError as i32, format!("internal error: {why}"))
            }
        }
    }

    fn answer_to(&self, request: Request) -> Result<Json, (ErrorCode, String)> {
        let answers = self.answers();
        match &*request.method.clone() {
            "textDocument/hover" => {
                reply::<HoverRequest, _>(request, |asked| answers.hover(&asked.text_document_position_params))
            }
            "textDocument/definition" => reply::<DefinitionRequest, _>(request, |asked| {
                answers.definitions(&asked.text_document_position_params)
            }),
            "textDocument/references" => reply::<ReferencesRequest, _>(request, |asked| {
                answers.references(&asked.text_document_position_params, asked.context.include_declaration)
            }),
            "textDocument/documentHighlight" => reply::<DocumentHighlightRequest, _>(request, |asked| {
                answers.highlights(&asked.text_document_position_params)
            }),
            "textDocument/documentSymbol" => {
                reply::<DocumentSymbolRequest, _>(request, |asked| answers.symbols(&asked.text_document.uri))
            }
            "textDocument/inlayHint" => reply::<InlayHintRequest, _>(request, |asked| answers.hints(&asked)),
            "textDocument/codeAction" => reply::<CodeActionRequest, _>(request, |asked| answers.actions(&asked)),
            "textDocument/completion" => reply::<CompletionRequest, _>(request, |asked| {
                CompletionResponse::CompletionItemList(answers.completions(&asked.text_document_position_params))
            }),
            method => Err((ErrorCode::MethodNotFound, format!("there is no method {method}"))),
        }
    }
}

/// What a notification says; none: it is not what the protocol has under its name.
fn read<N: LspNotification>(notification: Notification) -> Option<N::Params> {
    let read = notification.extract(N::METHOD.as_str());
    read.inspect_err(|error| tracing::warn!(%error, "a notification was not read")).ok()
}

/// The answer to a question.
fn reply<R: LspRequest, T: Serialize>(
    request: Request,
    answer: impl FnOnce(R::Params) -> T,
) -> Result<Json, (ErrorCode, String)> {
    let (_, params) = request
        .extract::<R::Params>(R::METHOD.as_str())
        .map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    serde_json::to_value(answer(params)).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}
