// The door: what is there from the start, and what begins with the binary.
import * as vscode from "vscode";
import { Binary, tellMissing, tellOtherVersion } from "./binary";
import { registerCommands } from "./commands";
import { registerDebugger } from "./debugger";
import { StackPanel } from "./panel";
import { startServer } from "./server";
import { registerTests } from "./tests";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const binary = await Binary.find();
  if (!binary) {
    void tellMissing();
    return;
  }
  void tellOtherVersion(context, binary);
  const panel = new StackPanel(binary);
  context.subscriptions.push(panel, ...registerCommands(binary, panel));
  startServer(context, binary);
  // Whatever runs programs waits until the workspace is trusted.
  const trusted = (): void => {
    context.subscriptions.push(...registerDebugger(binary, panel), registerTests(binary));
  };
  if (vscode.workspace.isTrusted) {
    trusted();
  } else {
    context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(trusted));
  }
}
