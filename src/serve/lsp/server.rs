//! One connection: changes are made in order, and questions answered from what is there then.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gen_lsp_types::{
    CallHierarchyIncomingCallsRequest, CallHierarchyOutgoingCallsRequest, CallHierarchyPrepareRequest, CancelParams,
    CodeActionRequest, CodeActionResolveRequest, CodeLensRequest, CompletionRequest, CompletionResponse,
    DefinitionRequest, DidChangeTextDocumentNotification, DidChangeWatchedFilesNotification,
    DidCloseTextDocumentNotification, DidOpenTextDocumentNotification, DidSaveTextDocumentNotification,
    DocumentFormattingRequest, DocumentHighlightRequest, DocumentLinkRequest, DocumentRangeFormattingRequest,
    DocumentSymbolRequest, FoldingRangeRequest, HoverRequest, Id, InlayHintRequest, Notification as LspNotification,
    PrepareRenameRequest, PublishDiagnosticsNotification, PublishDiagnosticsParams, ReferencesRequest, RenameRequest,
    Request as LspRequest, SelectionRangeRequest, SemanticTokensRangeRequest, SemanticTokensRequest,
    SignatureHelpRequest, Uri, WillRenameFilesRequest, WorkspaceSymbolRequest,
};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::host::text::panic_text;
use crate::serve::lsp::answers::Answers;
use crate::serve::lsp::capabilities::{Editor, capabilities};
use crate::serve::lsp::cases::Cases;
use crate::serve::lsp::documents::{Documents, name_of, uri_of};
use crate::serve::lsp::file_answers::AboutProgram;
use crate::serve::lsp::programs::Programs;
use crate::serve::lsp::registration::Registration;
use crate::serve::lsp::workspace::Workspace;

/// A connection that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What the editor sends is not the protocol.
    #[error("the editor does not speak the Language Server Protocol: {0}")]
    Protocol(String),
    /// It says that it goes without having said that it will.
    #[error("the editor has left without `shutdown`")]
    Left,
}

/// Serves a connection until the editor ends it, or what comes from it ends.
///
/// # Errors
/// What comes is not the protocol.
pub fn serve(connection: &Connection) -> Result<(), ServeError> {
    match serve_initialized(connection) {
        // Why nothing comes any more is known where it was read.
        Err(error) if error.channel_is_disconnected() => Ok(()),
        Err(error) => Err(ServeError::Protocol(error.to_string())),
        Ok(served) => served,
    }
}

fn serve_initialized(connection: &Connection) -> Result<Result<(), ServeError>, ProtocolError> {
    let (id, asked) = connection.initialize_start()?;
    let editor = Editor::read(&asked);
    let answer = json!({
        "capabilities": capabilities(&editor),
        "serverInfo": {"name": "playhouse", "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, answer)?;
    let mut server = Server {
        connection,
        documents: Documents::default(),
        workspace: Workspace::survey(&editor.folders),
        programs: Programs::default(),
        cases: Cases::default(),
        told: HashMap::new(),
        registration: Registration::default(),
        is_ending: false,
        editor,
    };
    while let Ok(first) = connection.receiver.recv() {
        // All that has come meanwhile: of edits that follow each other only what they lead to is loaded, and a question
        // that was taken back is not answered.
        let batch: Vec<Message> = std::iter::once(first).chain(connection.receiver.try_iter()).collect();
        let cancelled: HashSet<RequestId> = batch.iter().filter_map(cancelled).collect();
        for message in batch {
            match message {
                Message::Request(request) => {
                    let answer = server.answer(request, &cancelled);
                    server.send(Message::Response(answer));
                }
                Message::Notification(notification) if notification.method == "exit" => {
                    return Ok(if server.is_ending { Ok(()) } else { Err(ServeError::Left) });
                }
                Message::Notification(notification) => server.hear(notification),
                // We ask for nothing.
                Message::Response(_) => {}
            }
        }
        server.refresh();
    }
    Ok(Ok(()))
}

/// The question that a message takes back.
fn cancelled(message: &Message) -> Option<RequestId> {
    let Message::Notification(notification) = message else { return None };
    let params = (notification.method == "$/cancelRequest").then(|| notification.params.clone())?;
    match serde_json::from_value::<CancelParams>(params).ok()?.id {
        Id::Int(id) => Some(RequestId::from(id)),
        Id::String(id) => Some(RequestId::from(id)),
    }
}

/// What a connection knows.
struct Server<'c> {
    connection: &'c Connection,
    editor: Editor,
    documents: Documents,
    workspace: Workspace,
    programs: Programs,
    cases: Cases,
    /// What the editor was told last of each file.
    told: HashMap<String, PublishDiagnosticsParams>,
    registration: Registration,
    /// It has said that it will go.
    is_ending: bool,
}

impl Server<'_> {
    /// An editor that has gone hears nothing any more; the next message that comes, or none, says so.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Something has changed.
    fn hear(&mut self, notification: Notification) {
        let method = notification.method.clone();
        match &*method {
            "textDocument/didOpen" => {
                let opened = read::<DidOpenTextDocumentNotification>(notification).map(|opened| opened.text_document);
                if let Some(document) = opened {
                    let name = self.documents.open(document.uri, document.version, document.text);
                    self.programs.edited(name);
                }
            }
            "textDocument/didChange" => {
                let Some(edited) = read::<DidChangeTextDocumentNotification>(notification) else { return };
                let (document, changes) = (edited.text_document, edited.content_changes);
                let uri = document.text_document_identifier.uri;
                let edited = self.documents.edit(&uri, document.version, changes, self.editor.columns);
                let Some((name, is_made)) = edited else { return };
                if !is_made {
                    tracing::warn!(name, "an edit is outside the text; waiting for the whole text");
                }
                self.programs.edited(name);
            }
            "textDocument/didClose" => {
                let closed = read::<DidCloseTextDocumentNotification>(notification);
                let name = closed.and_then(|closed| self.documents.close(&closed.text_document.uri));
                name.into_iter().for_each(|name| self.programs.edited(name));
            }
            "textDocument/didSave" => {
                let saved = read::<DidSaveTextDocumentNotification>(notification);
                saved.into_iter().for_each(|saved| self.saved(&saved.text_document.uri));
            }
            "workspace/didChangeWatchedFiles" => {
                let files = read::<DidChangeWatchedFilesNotification>(notification).map(|files| files.changes);
                files.into_iter().flatten().for_each(|file| self.saved(&file.uri));
            }
            // What nobody knows is passed over, as the protocol has it.
            _ => {}
        }
    }

    /// A file was saved, made or taken away.
    fn saved(&mut self, uri: &Uri) {
        let name = name_of(uri);
        self.workspace.look(&name, &self.documents);
        self.programs.saved(name);
    }

    /// Programs are as the texts are; what was found is told, of each file of which it is other than what was told last.
    fn refresh(&mut self) {
        let Some(changes) = self.programs.refresh(&self.documents, &self.workspace) else { return };
        self.cases.refresh(&changes, &self.documents);
        if self.editor.registers_formatting {
            let files = self.answers().formattable();
            self.registration.tell(files).into_iter().for_each(|message| self.send(message));
        }
        let answers = self.answers();
        let mut files = self.programs.files();
        // Of these there may be nothing to be said any more.
        files.extend(self.told.keys().chain(self.documents.names()).cloned());
        files.sort();
        files.dedup();
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
                // A foreign text is never spoken of.
                None => !now.diagnostics.is_empty() || answers.is_ours(name),
            })
            .collect();
        for (name, now) in told {
            let method = PublishDiagnosticsNotification::METHOD.as_str().to_owned();
            self.send(Message::Notification(Notification::new(method, &now)));
            if now.diagnostics.is_empty() && !self.answers().is_ours(&name) {
                self.told.remove(&name);
            } else {
                self.told.insert(name, now);
            }
        }
    }

    fn answers(&self) -> Answers<'_> {
        let Server { documents, workspace, programs, cases, editor, .. } = self;
        Answers { documents, workspace, programs, cases, editor }
    }

    /// Answers a question. One that goes wrong does no harm to the rest.
    fn answer(&mut self, request: Request, cancelled: &HashSet<RequestId>) -> Response {
        let id = request.id.clone();
        if self.is_ending {
            let why = "nothing is answered after `shutdown`".to_owned();
            return Response::new_err(id, ErrorCode::InvalidRequest as i32, why);
        }
        if request.method == "shutdown" {
            self.is_ending = true;
            return Response::new_ok(id, ());
        }
        if cancelled.contains(&id) {
            return Response::new_err(id, ErrorCode::RequestCanceled as i32, "it was cancelled".to_owned());
        }
        self.refresh();
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
            "workspace/symbol" => {
                reply::<WorkspaceSymbolRequest, _>(request, |asked| answers.all_symbols(&asked.query))
            }
            "textDocument/foldingRange" => {
                reply::<FoldingRangeRequest, _>(request, |asked| answers.folds(&asked.text_document.uri))
            }
            "textDocument/inlayHint" => reply::<InlayHintRequest, _>(request, |asked| answers.hints(&asked)),
            "textDocument/semanticTokens/full" => {
                reply::<SemanticTokensRequest, _>(request, |asked| answers.tokens(&asked.text_document.uri, None))
            }
            "textDocument/semanticTokens/range" => reply::<SemanticTokensRangeRequest, _>(request, |asked| {
                answers.tokens(&asked.text_document.uri, Some(asked.range))
            }),
            "textDocument/codeLens" => {
                reply::<CodeLensRequest, _>(request, |asked| answers.lenses(&asked.text_document.uri))
            }
            "textDocument/codeAction" => reply::<CodeActionRequest, _>(request, |asked| answers.actions(&asked)),
            "codeAction/resolve" => {
                let (_, asked) = params::<CodeActionResolveRequest>(request)?;
                json_of(answers.chosen(asked).map_err(refused)?)
            }
            "textDocument/completion" => reply::<CompletionRequest, _>(request, |asked| {
                CompletionResponse::CompletionItemList(answers.completions(&asked.text_document_position_params))
            }),
            "textDocument/signatureHelp" => reply::<SignatureHelpRequest, _>(request, |asked| {
                answers.signature(&asked.text_document_position_params)
            }),
            "textDocument/prepareRename" => {
                let (_, asked) = params::<PrepareRenameRequest>(request)?;
                json_of(answers.renamable(&asked.text_document_position_params).map_err(refused)?)
            }
            "textDocument/rename" => {
                let (_, asked) = params::<RenameRequest>(request)?;
                json_of(answers.rename(&asked.text_document_position_params, &asked.new_name).map_err(refused)?)
            }
            "textDocument/prepareCallHierarchy" => reply::<CallHierarchyPrepareRequest, _>(request, |asked| {
                answers.playbook_at(&asked.text_document_position_params)
            }),
            "textDocument/formatting" => reply::<DocumentFormattingRequest, _>(request, |asked| {
                answers.formatted(&asked.text_document.uri, None)
            }),
            "textDocument/rangeFormatting" => reply::<DocumentRangeFormattingRequest, _>(request, |asked| {
                answers.formatted(&asked.text_document.uri, Some(asked.range))
            }),
            "textDocument/documentLink" => {
                reply::<DocumentLinkRequest, _>(request, |asked| answers.links(&asked.text_document.uri))
            }
            "textDocument/selectionRange" => reply::<SelectionRangeRequest, _>(request, |asked| {
                answers.selections(&asked.text_document.uri, &asked.positions)
            }),
            "workspace/willRenameFiles" => {
                reply::<WillRenameFilesRequest, _>(request, |asked| answers.moved(&asked.files))
            }
            "playhouse/explain" => own(request, |asked| answers.explained(&asked)),
            "playhouse/graph" => own(request, |asked| answers.drawn(&asked)),
            "callHierarchy/incomingCalls" => {
                reply::<CallHierarchyIncomingCallsRequest, _>(request, |asked| answers.callers(&asked.item))
            }
            "callHierarchy/outgoingCalls" => {
                reply::<CallHierarchyOutgoingCallsRequest, _>(request, |asked| answers.callees(&asked.item))
            }
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
    let (_, params) = params::<R>(request)?;
    json_of(answer(params))
}

/// The answer to a question that only we have: `params` are those of [`AboutProgram`].
fn own(
    request: Request,
    answer: impl FnOnce(AboutProgram) -> Result<String, String>,
) -> Result<Json, (ErrorCode, String)> {
    let read = serde_json::from_value(request.params);
    let params = read.map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    answer(params).map(|text| json!({"text": text})).map_err(refused)
}

fn params<R: LspRequest>(request: Request) -> Result<(RequestId, R::Params), (ErrorCode, String)> {
    let read = request.extract::<R::Params>(R::METHOD.as_str());
    read.map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}

fn json_of(answer: impl Serialize) -> Result<Json, (ErrorCode, String)> {
    serde_json::to_value(answer).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

/// Editors show why.
fn refused(why: String) -> (ErrorCode, String) {
    (ErrorCode::RequestFailed, why)
}
