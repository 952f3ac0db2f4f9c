"""The server, asked by pytest-lsp as the editors whose capabilities it knows."""

import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

WORKSPACE = pathlib.Path(os.environ["WORKSPACE"])
PROGRAM = WORKSPACE / "tickets.md"
URI = PROGRAM.as_uri()


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[os.environ["PLAYHOUSE"], "lsp"]),
    params=["neovim", "visual-studio-code", "emacs"],
)
async def client(request, lsp_client: LanguageClient):
    # Editors with these capabilities are told later of which files the layout is known.
    for method in [types.CLIENT_REGISTER_CAPABILITY, types.CLIENT_UNREGISTER_CAPABILITY]:
        lsp_client.feature(method)(lambda params: None)
    capabilities = pytest_lsp.client_capabilities(request.param)
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities, root_uri=WORKSPACE.as_uri()))
    opened = types.TextDocumentItem(uri=URI, language_id="markdown", version=1, text=PROGRAM.read_text())
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=opened))
    yield
    await lsp_client.shutdown_session()


def place(text, more=1):
    """Where a text stands in the program, that many characters on. All is ASCII, so columns are the same for all."""
    before = PROGRAM.read_text().split(text)[0].split("\n")
    return types.Position(line=len(before) - 1, character=len(before[-1]) + more)


def at(text):
    return {"text_document": types.TextDocumentIdentifier(uri=URI), "position": place(text)}


@pytest.mark.asyncio
async def test_hover(client: LanguageClient):
    hover = await client.text_document_hover_async(types.HoverParams(**at("Cost(")))
    assert "What so many tickets cost" in hover.contents.value


@pytest.mark.asyncio
async def test_definition(client: LanguageClient):
    (found,) = await client.text_document_definition_async(types.DefinitionParams(**at("Cost(")))
    assert found.uri == (WORKSPACE / "prices.md").as_uri() and found.range.start == types.Position(0, 3)


@pytest.mark.asyncio
async def test_findings(client: LanguageClient):
    end = types.Position(line=PROGRAM.read_text().count("\n"), character=0)
    change = types.TextDocumentContentChangePartial(range=types.Range(end, end), text="- $more = Cosst(1, 2)\n")
    document = types.VersionedTextDocumentIdentifier(uri=URI, version=2)
    client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=document, content_changes=[change]))
    while not client.diagnostics.get(URI):
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert [finding.code for finding in client.diagnostics[URI]] == ["unknown-callee"]


@pytest.mark.asyncio
async def test_rename(client: LanguageClient):
    edit = await client.text_document_rename_async(types.RenameParams(new_name="Price of tickets", **at("Cost(")))
    files = edit.changes or [change.text_document.uri for change in edit.document_changes]
    assert set(files) == {URI, (WORKSPACE / "prices.md").as_uri()}
