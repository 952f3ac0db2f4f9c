// Asks VS Code what its providers say of the workspace, and writes the answers into the file that PLAYHOUSE_PROBE names, as
// lines of JSON. Whoever reads them judges.
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const file = process.env.PLAYHOUSE_PROBE;
const say = (name, value) => fs.appendFileSync(file, `${JSON.stringify({ name, value })}\n`);

/** What `ask` answers as soon as it is something; after a while, what it is then. */
async function until(ask, isEnough = (answer) => answer && answer.length !== 0, tries = 150) {
  for (; ; tries--) {
    const answer = await ask();
    if (isEnough(answer) || tries <= 0) {
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Waits until the reader has taken a picture of the window, or looked at it. */
async function look(name) {
  say("look", name);
  await until(() => fs.existsSync(`${file}.${name}`), Boolean, 1000);
}

const ask = (command, ...args) => vscode.commands.executeCommand(`vscode.${command}`, ...args);

/** Where a text stands in a document, `more` characters on. */
function at(document, text, more = 0) {
  return document.positionAt(document.getText().indexOf(text) + more);
}

const place = (uri, range) => `${path.basename(uri.fsPath)}:${range.start.line + 1}:${range.start.character + 1}`;
const outline = (symbols) =>
  symbols.map((symbol) => ({ name: symbol.name, detail: symbol.detail, kind: vscode.SymbolKind[symbol.kind], children: outline(symbol.children ?? []) }));

async function language(root) {
  const uri = vscode.Uri.joinPath(root, "tickets.md");
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document);
  say("language id", document.languageId);
  const lenses = await until(() => ask("executeCodeLensProvider", uri));
  say("lenses", lenses.map((lens) => ({ line: lens.range.start.line + 1, title: lens.command?.title, command: lens.command?.command })));
  const findings = () => vscode.languages.getDiagnostics(uri).map((found) => ({
    line: found.range.start.line + 1, code: found.code?.value ?? found.code, message: found.message, severity: found.severity, source: found.source,
  }));
  say("findings at first", findings());

  // As a keyboard does.
  const end = document.lineAt(document.lineCount - 1).range.end;
  editor.selection = new vscode.Selection(end, end);
  await vscode.commands.executeCommand("type", { text: "- $more = Cosst(1, 2)\n- Say \"{$more}\"\n" });
  // What stands there for a moment while it is typed is of no concern.
  say("findings while typing", await until(findings, (found) => found.length === 1 && found[0].code === "unknown-callee"));
  const wrong = vscode.languages.getDiagnostics(uri)[0];
  const actions = wrong ? await until(() => ask("executeCodeActionProvider", uri, wrong.range, "quickfix")) : [];
  say("quick fixes", actions.map((action) => action.title));
  const tell = at(document, "Tell the user", 2);
  editor.selection = new vscode.Selection(tell, tell);
  await vscode.commands.executeCommand("editor.action.showHover");
  await look("findings");
  const fix = actions.find((action) => action.edit);
  if (fix) {
    await vscode.workspace.applyEdit(fix.edit);
  }
  say("findings after the fix", await until(findings, (found) => found.length === 0));
  say("line after the fix", document.lineAt(end.line).text);
  await vscode.commands.executeCommand("workbench.action.files.revert");
  await until(() => !document.isDirty, Boolean);

  const call = at(document, "Cost(", 1);
  const hover = async (where) => (await until(() => ask("executeHoverProvider", uri, where))).flatMap((one) => one.contents.map((text) => text.value ?? text));
  say("hover of a call", await hover(call));
  say("hover of a line", await hover(at(document, "Tell the user", 2)));
  say("hover of a variable", await hover(at(document, "$total is", 2)));
  say("hover of a trigger", await hover(at(document, "When $n", 1)));
  const completions = async (where, trigger) =>
    (await ask("executeCompletionItemProvider", uri, where, trigger)).items.map((item) => ({ label: item.label.label ?? item.label, kind: vscode.CompletionItemKind[item.kind], detail: item.detail, insert: item.insertText?.value ?? item.insertText }));
  say("completion after $", await completions(at(document, "$total is", 1), "$"));
  say("completion after a bullet", (await completions(at(document, "Tell the user"))).slice(0, 12));
  const definition = await ask("executeDefinitionProvider", uri, call);
  say("definition", definition.map((one) => place(one.uri ?? one.targetUri, one.range ?? one.targetSelectionRange)));
  const references = await ask("executeReferenceProvider", uri, call);
  say("references", references.map((one) => place(one.uri, one.range)));
  const highlights = await ask("executeDocumentHighlights", uri, at(document, "$total is", 2));
  say("highlights", highlights.map((one) => one.range.start.line + 1));
  say("symbols", outline(await ask("executeDocumentSymbolProvider", uri)));
  const all = await ask("executeWorkspaceSymbolProvider", "cost");
  say("workspace symbols", all.map((symbol) => `${symbol.name} ${place(symbol.location.uri, symbol.location.range)}`));
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const hints = await ask("executeInlayHintProvider", uri, whole);
  say("hints", hints.map((hint) => `${hint.position.line + 1} ${hint.label}`));
  const folds = await ask("executeFoldingRangeProvider", uri);
  say("folds", folds.map((fold) => `${fold.start + 1}-${fold.end + 1}`));
  const signature = await ask("executeSignatureHelpProvider", uri, at(document, "Cost(", 5), "(");
  say("signature", signature?.signatures.map((one) => one.label));
  const legend = await ask("provideDocumentSemanticTokensLegend", uri);
  const tokens = await ask("provideDocumentSemanticTokens", uri);
  say("tokens", coloured(document, legend, tokens));
  const items = await ask("prepareCallHierarchy", vscode.Uri.joinPath(root, "tickets.md"), call);
  const callers = items.length === 0 ? [] : await ask("provideIncomingCalls", items[0]);
  say("callers", callers.map((caller) => `${caller.from.name} ${caller.fromRanges.map((range) => range.start.line + 1)}`));

  const renamed = await ask("executeDocumentRenameProvider", uri, call, "Price of tickets").then(
    (edit) => edit, (error) => ({ refused: String(error) }));
  say("rename", renamed.refused ?? renamed.entries().map(([uri, edits]) => [path.basename(uri.fsPath), edits.map((edit) => edit.newText)]));
  if (!renamed.refused && (await vscode.workspace.applyEdit(renamed))) {
    const prices = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root, "prices.md"));
    say("renamed", [document.getText().split("\n")[16], prices.getText().split("\n")[0]]);
    say("findings after the rename", findings());
    for (const changed of [prices, document]) {
      await vscode.window.showTextDocument(changed);
      await vscode.commands.executeCommand("workbench.action.files.revert");
    }
  }
  const refused = await ask("executeDocumentRenameProvider", uri, call, "Group rate").then(() => "made", String);
  say("rename to a taken name", refused);

  const foreign = vscode.Uri.joinPath(root, "foreign.md");
  const notes = await vscode.workspace.openTextDocument(foreign);
  await vscode.window.showTextDocument(notes);
  const ours = await ask("executeInlayHintProvider", foreign, new vscode.Range(0, 0, notes.lineCount, 0));
  const lensesThere = await ask("executeCodeLensProvider", foreign);
  say("foreign", [vscode.languages.getDiagnostics(foreign).length, ours?.length ?? 0, lensesThere?.length ?? 0]);
}

function coloured(document, legend, tokens) {
  const found = [];
  let [line, column] = [0, 0];
  for (let i = 0; i + 4 < (tokens?.data.length ?? 0); i += 5) {
    const [down, right, length, kind, modifiers] = tokens.data.slice(i, i + 5);
    column = down === 0 ? column + right : right;
    line += down;
    const text = document.lineAt(line).text.slice(column, column + length);
    const besides = legend.tokenModifiers.filter((_, bit) => (modifiers >> bit) & 1);
    found.push([line + 1, text, [legend.tokenTypes[kind], ...besides].join(".")].join(" "));
  }
  return found;
}

async function debuggerOf(root) {
  const uri = vscode.Uri.joinPath(root, "tickets.md");
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  const stops = [];
  vscode.debug.registerDebugAdapterTrackerFactory("playhouse", {
    createDebugAdapterTracker: () => ({
      onDidSendMessage: (message) => {
        if (message.type === "event" && message.event === "stopped") {
          stops.push(message.body);
        } else if (message.type === "response" && message.command === "setBreakpoints") {
          say("breakpoints", message.body);
        } else if (message.type === "event" && message.event === "output") {
          say("output", message.body.output);
        }
      },
    }),
  });
  const line = at(document, "Say \"{$n}").line;
  vscode.debug.addBreakpoints([new vscode.SourceBreakpoint(new vscode.Location(uri, new vscode.Position(line, 0)))]);
  const launch = { type: "playhouse", request: "launch", name: "Tickets", program: uri.fsPath, model: "script:replies.jsonl", workingDirectory: root.fsPath };
  say("started", await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], launch));
  const stack = async () => {
    const session = vscode.debug.activeDebugSession;
    return (await session.customRequest("stackTrace", { threadId: 1 })).stackFrames.map((frame) => `${frame.name}:${frame.line}`);
  };
  const variables = async () => {
    const session = vscode.debug.activeDebugSession;
    const { stackFrames } = await session.customRequest("stackTrace", { threadId: 1 });
    const { scopes } = await session.customRequest("scopes", { frameId: stackFrames[0].id });
    const listed = await session.customRequest("variables", { variablesReference: scopes[0].variablesReference });
    return listed.variables.map((variable) => `${variable.name} = ${variable.value}`);
  };
  await until(() => stops.length >= 1, Boolean);
  say("stopped", stops[0]);
  say("stack", await stack());
  say("variables", await variables());
  await vscode.commands.executeCommand("playhouse.stack.focus");
  say("source", (await vscode.debug.activeDebugSession.customRequest("stackTrace", { threadId: 1 })).stackFrames[0].source);
  await look("breakpoint");
  await vscode.commands.executeCommand("workbench.action.debug.stepBack");
  await until(() => stops.length >= 2, Boolean);
  say("stepped back", stops[1]);
  say("stack after the step back", await stack());
  await look("back");
  void vscode.commands.executeCommand("playhouse.why");
  await look("why");
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  await vscode.commands.executeCommand("workbench.action.debug.stop");
  await until(() => !vscode.debug.activeDebugSession, Boolean);
  vscode.debug.removeBreakpoints(vscode.debug.breakpoints);

  // A program with errors is not started; the editor says where they are.
  const broken = vscode.Uri.joinPath(root, "broken.md");
  await vscode.window.showTextDocument(broken);
  await until(() => vscode.languages.getDiagnostics(broken));
  say("broken is started", await vscode.debug.startDebugging(vscode.workspace.workspaceFolders[0], { ...launch, program: broken.fsPath }));
  await look("broken");
}

/** The exit code of the task that `start` starts. */
async function endOf(start) {
  const ended = new Promise((resolve) => {
    const listener = vscode.tasks.onDidEndTaskProcess((event) => {
      listener.dispose();
      resolve(event.exitCode);
    });
  });
  await start();
  return ended;
}

/** What there is without the binary. */
async function missing(root) {
  await vscode.window.showTextDocument(vscode.Uri.joinPath(root, "tickets.md"));
  await look("missing");
}

/** What there is in a workspace that nobody trusts. */
async function restricted(root) {
  say("is trusted", vscode.workspace.isTrusted);
  const uri = vscode.Uri.joinPath(root, "broken.md");
  await vscode.window.showTextDocument(uri);
  const found = await until(() => vscode.languages.getDiagnostics(uri));
  say("findings", found.map((one) => one.code?.value ?? one.code));
  const lenses = await until(() => ask("executeCodeLensProvider", uri));
  say("lenses", lenses.map((lens) => ({ title: lens.command?.title })));
  const run = [];
  vscode.tasks.onDidStartTask((event) => run.push(event.execution.task.name));
  // Who asks all the same is refused.
  await vscode.commands.executeCommand("playhouse.run", uri.fsPath, "Main").then(undefined, String);
  say("tasks that were run", run);
  await look("restricted");
}

async function rest(root) {
  const uri = vscode.Uri.joinPath(root, "tickets.md");
  await vscode.window.showTextDocument(uri);
  say("run ended with", await endOf(() => vscode.commands.executeCommand("playhouse.run", uri.fsPath, "Main")));
  await look("run");
  say("check ended with", await endOf(() => vscode.commands.executeCommand("playhouse.check", uri.fsPath)));
  void vscode.commands.executeCommand("playhouse.new");
  await look("new");
  await vscode.window.showTextDocument(uri);
  await vscode.commands.executeCommand("playhouse.graph", uri.fsPath);
  await look("graph");
  const loose = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root, "loose.md"));
  await vscode.window.showTextDocument(loose);
  await vscode.commands.executeCommand("playhouse.format");
  say("format", loose.getText());
  await vscode.commands.executeCommand("workbench.action.files.revert");
  await vscode.commands.executeCommand("playhouse.showCallers", vscode.Uri.joinPath(root, "prices.md").fsPath, "Cost");
  await look("callers");
  await vscode.window.showTextDocument(uri);
  await vscode.commands.executeCommand("workbench.view.testing.focus");
  await vscode.commands.executeCommand("testing.runAll");
  await look("tests");
  const exits = [];
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory("playhouse", {
    createDebugAdapterTracker: (session) => ({
      onDidSendMessage: (message) => message.event === "exited" && exits.push(`${session.name} ${message.body.exitCode}`),
    }),
  });
  await vscode.commands.executeCommand("testing.debugAll");
  say("tests that were debugged", await until(() => exits, (exits) => exits.length >= 2));
  tracker.dispose();
  await until(() => !vscode.debug.activeDebugSession, Boolean);
  await vscode.commands.executeCommand("workbench.view.testing.focus");
  await vscode.commands.executeCommand("testing.coverageAll");
  await vscode.window.showTextDocument(uri);
  await look("coverage");
}

exports.activate = async () => {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (!root || !file || fs.existsSync(file)) {
    return;
  }
  const parts = { trusted: [language, debuggerOf, rest], untrusted: [restricted], missing: [missing] };
  for (const part of parts[process.env.PLAYHOUSE_PART]) {
    try {
      await part(root);
    } catch (error) {
      say(`trouble in ${part.name}`, String(error?.stack ?? error));
    }
  }
  say("done", true);
};
