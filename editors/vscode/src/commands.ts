// The commands.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Binary } from "./binary";
import type { StackPanel } from "./panel";

/** Makes all of them. */
export function registerCommands(binary: Binary, panel: StackPanel): vscode.Disposable[] {
  const command = (name: string, run: (...args: never[]) => Promise<unknown>): vscode.Disposable =>
    vscode.commands.registerCommand(`playhouse.${name}`, run);
  return [
    command("new", () => newProgram(binary)),
    command("run", (file?: string, playbook?: string) => runProgram(binary, file, playbook)),
    command("debug", (file?: string, playbook?: string) => debugProgram(file, playbook)),
    command("check", (file?: string) => inTerminal(binary, "check", ["--explain"], file)),
    command("format", () => format(binary)),
    command("graph", async (file?: string) => {
      const program = await programOf(file);
      return program && panel.showGraph(program);
    }),
    command("why", () => why(binary)),
    command("showCallers", showCallers),
    command("showTests", showTests),
  ];
}

/** The file that a lens names, else that of the editor; saved, for the binary reads files. */
async function programOf(file?: string): Promise<string | undefined> {
  const document = file
    ? vscode.workspace.textDocuments.find((document) => document.uri.fsPath === file)
    : vscode.window.activeTextEditor?.document;
  if (document?.isDirty) {
    await document.save();
  }
  const program = file ?? (document?.uri.scheme === "file" ? document.uri.fsPath : undefined);
  if (!program) {
    void vscode.window.showErrorMessage("Open a playbook first: this command works on the file in the editor.");
  }
  return program;
}

/** What runs a program is not done in a workspace that nobody trusts, whoever asks. */
function isTrusted(): boolean {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showErrorMessage("Playhouse does not run programs in an untrusted workspace.");
  }
  return vscode.workspace.isTrusted;
}

async function newProgram(binary: Binary): Promise<void> {
  const home = vscode.workspace.workspaceFolders?.[0]?.uri;
  const chosen = home ? [home] : await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: false });
  const parent = chosen?.[0];
  const name = parent && (await vscode.window.showInputBox({ prompt: "The name of the new folder", value: "shop" }));
  if (!parent || !name) {
    return;
  }
  const said = await binary.ask(["new", name], { cwd: parent.fsPath });
  if (said.code !== 0) {
    void vscode.window.showErrorMessage(said.stderr.trim());
    return;
  }
  await vscode.window.showTextDocument(vscode.Uri.joinPath(parent, name, "program.md"));
}

async function runProgram(binary: Binary, file?: string, playbook?: string): Promise<void> {
  if (isTrusted()) {
    await inTerminal(binary, "run", playbook ? ["--playbook", playbook] : [], file);
  }
}

/** In a terminal, without a shell: nothing in a file's name is ever a command. It stays open when the command ends. */
async function inTerminal(binary: Binary, command: string, options: string[], file?: string): Promise<void> {
  const program = await programOf(file);
  if (program) {
    await execute(binary, command, [command, ...options, program], path.dirname(program));
  }
}

async function execute(binary: Binary, name: string, args: string[], cwd: string | undefined): Promise<void> {
  const execution = new vscode.ProcessExecution(binary.path, args, cwd === undefined ? {} : { cwd });
  const task = new vscode.Task({ type: "process" }, vscode.TaskScope.Workspace, name, "playhouse", execution);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, clear: true };
  await vscode.tasks.executeTask(task);
}

async function debugProgram(file?: string, playbook?: string): Promise<void> {
  const program = isTrusted() && (await programOf(file));
  if (program) {
    const name = playbook ?? path.basename(program);
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(program));
    const launch = { type: "playhouse", request: "launch", name, program, stopOnEntry: true };
    await vscode.debug.startDebugging(folder, playbook ? { ...launch, playbook } : launch);
  }
}

async function format(binary: Binary): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) {
    return;
  }
  const text = document.getText();
  const said = await binary.ask(["fmt", "-", "--stdin-name", document.uri.fsPath], { input: text });
  if (said.code !== 0) {
    void vscode.window.showErrorMessage(said.stderr.trim());
  } else if (said.stdout !== text && document.getText() === text) {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(document.positionAt(0), document.positionAt(text.length)), said.stdout);
    await vscode.workspace.applyEdit(edit);
  }
}

/** Why a trigger fired or did not: in the session that is debugged, else in one that is kept. */
async function why(binary: Binary): Promise<void> {
  const prompt = "A trigger's name (Playbook:T1), its playbook's name, or its words; leave empty for all";
  const debugged = vscode.debug.activeDebugSession;
  if (debugged?.type === "playhouse") {
    const trigger = await vscode.window.showInputBox({ prompt });
    if (trigger !== undefined) {
      const expression = `/why ${trigger}`.trim();
      const said = (await debugged.customRequest("evaluate", { expression, context: "repl" })) as { result: string };
      await showText(said.result);
    }
    return;
  }
  const listed = await binary.askJson<{ id: string }[]>(["sessions", "list"]);
  const sessions = listed.map((session) => session.id).reverse();
  const session = await vscode.window.showQuickPick(sessions, { placeHolder: "The session" });
  const trigger = session && (await vscode.window.showInputBox({ prompt }));
  if (session && trigger !== undefined) {
    const said = await binary.ask(["sessions", "why", session, ...(trigger ? [trigger] : [])]);
    await showText(said.code === 0 ? said.stdout : said.stderr);
  }
}

async function showText(content: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content, language: "plaintext" });
  await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
}

/** The hierarchy of calls of a playbook. */
async function showCallers(file: string, playbook: string): Promise<void> {
  if (await showTitle(file, playbook)) {
    await vscode.commands.executeCommand("editor.showCallHierarchy");
  }
}

/** The places where tests and trigger tables name a playbook. */
async function showTests(file: string, playbook: string): Promise<void> {
  const title = await showTitle(file, playbook);
  if (title) {
    const uri = vscode.Uri.file(file);
    const places = await vscode.commands.executeCommand<vscode.Location[] | undefined>(
      "vscode.executeReferenceProvider",
      uri,
      title,
    );
    const tests = (places ?? []).filter((place) => /\.(test|triggers)\.md$/.test(place.uri.path));
    await vscode.commands.executeCommand("editor.action.showReferences", uri, title, tests);
  }
}

/** Puts the cursor on the title of a playbook; undefined: it is not there any more. */
async function showTitle(file: string, playbook: string): Promise<vscode.Position | undefined> {
  const uri = vscode.Uri.file(file);
  const editor = await vscode.window.showTextDocument(uri);
  const outline = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    uri,
  );
  const all = (symbols: vscode.DocumentSymbol[]): vscode.DocumentSymbol[] =>
    symbols.flatMap((symbol) => [symbol, ...all(symbol.children)]);
  // Markdown's own outline has the headings as they are written; ours has what they are read as.
  const title = all(outline ?? []).find((symbol) => symbol.name === playbook)?.selectionRange;
  if (title) {
    editor.selection = new vscode.Selection(title.start, title.start);
    editor.revealRange(title);
  }
  return title?.start;
}
