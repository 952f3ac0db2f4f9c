// The language server: `playhouse lsp`, and the commands that its lenses may name.
import * as vscode from "vscode";
import { type DocumentSelector, LanguageClient } from "vscode-languageclient/node";
import type { Binary } from "./binary";

const FILES: DocumentSelector = [
  { language: "markdown", scheme: "file" },
  { scheme: "file", pattern: "**/*.pb" },
  { scheme: "file", pattern: "**/*.{jmp,branch}.json" },
];

/**
 * Starts the server, and once more when the workspace becomes trusted, for then lenses run and debug, too, or when other
 * hints are wanted.
 */
export function startServer(context: vscode.ExtensionContext, binary: Binary): void {
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.{md,pb,json,yaml,yml,toml}");
  const make = (): LanguageClient => {
    const commands = ["playhouse.showCallers", "playhouse.showTests"];
    const settings = vscode.workspace.getConfiguration("playhouse.hints");
    const hints = ["lines", "types", "parameters"].filter((kind) => settings.get(kind, true));
    if (vscode.workspace.isTrusted) {
      commands.unshift("playhouse.run", "playhouse.debug");
    }
    return new LanguageClient(
      "playhouse",
      "Playhouse",
      { command: binary.path, args: ["lsp"] },
      {
        documentSelector: FILES,
        initializationOptions: { commands, hints },
        synchronize: { fileEvents: watcher },
      },
    );
  };
  let client = make();
  // Why it cannot be started, if it cannot, the client says itself; the debugger and the tests are there all the same.
  const start = (): void => void client.start().catch(() => undefined);
  const again = async (): Promise<void> => {
    await client.stop();
    client = make();
    start();
  };
  context.subscriptions.push(
    watcher,
    { dispose: () => void client.stop() },
    vscode.workspace.onDidGrantWorkspaceTrust(again),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("playhouse.hints") && void again()),
  );
  start();
}
