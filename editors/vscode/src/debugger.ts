// The debugger: `playhouse debug`, and what it is started with.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Binary } from "./binary";
import type { StackPanel } from "./panel";

/** Makes it known to the editor. */
export function registerDebugger(binary: Binary, panel: StackPanel): vscode.Disposable[] {
  return [
    vscode.debug.registerDebugConfigurationProvider("playhouse", new Configurations()),
    vscode.debug.registerDebugAdapterDescriptorFactory("playhouse", {
      createDebugAdapterDescriptor: (session) => {
        const cwd = session.workspaceFolder?.uri.fsPath;
        return new vscode.DebugAdapterExecutable(binary.path, ["debug"], cwd === undefined ? {} : { cwd });
      },
    }),
    vscode.debug.registerDebugAdapterTrackerFactory("playhouse", {
      createDebugAdapterTracker: (session) => ({
        onDidSendMessage: (message: { type: string; event?: string; body?: { threadId?: number } }) => {
          if (message.type !== "event") {
            return;
          }
          if (message.event === "stopped") {
            void panel.stopped(session, message.body?.threadId ?? 1);
          } else if (message.event === "continued" || message.event === "terminated") {
            panel.runs();
          }
        },
        onWillStopSession: () => panel.runs(),
      }),
    }),
  ];
}

class Configurations implements vscode.DebugConfigurationProvider {
  /** Without a `launch.json`, the file in the editor. */
  resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration {
    if (configuration.type) {
      return configuration;
    }
    return { type: "playhouse", request: "launch", name: "Playhouse", program: "${file}", stopOnEntry: true };
  }

  /** A program with errors is not started: they stand in Problems, each at its place. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const program: unknown = configuration["program"];
    // With a file of tools more names are known than the editor knows of.
    if (configuration.request !== "launch" || typeof program !== "string" || configuration["tools"] !== undefined) {
      return configuration;
    }
    const found = vscode.languages.getDiagnostics(vscode.Uri.file(program));
    const isError = (finding: vscode.Diagnostic): boolean =>
      finding.source === "playhouse" && finding.severity === vscode.DiagnosticSeverity.Error;
    const errors = found.filter(isError).length;
    if (errors === 0) {
      return configuration;
    }
    await vscode.commands.executeCommand("workbench.actions.view.problems");
    const counted = errors === 1 ? "an error" : `${errors} errors`;
    void vscode.window.showErrorMessage(`${path.basename(program)} has ${counted} and cannot be started.`);
    return undefined;
  }
}
