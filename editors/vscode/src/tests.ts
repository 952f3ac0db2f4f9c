// The Test Explorer: tests, users and trigger tables, played by `playhouse test`; coverage by `playhouse coverage`.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Binary } from "./binary";
import {
  type Case,
  type CoverageReport,
  type FileReached,
  type Problem,
  reachedOf,
  type TestFile,
  type TestList,
  type TestReport,
  type Verdict,
} from "./reports";

/** Finds the tests, and offers to run them. */
export function registerTests(binary: Binary): vscode.Disposable {
  const explorer = new Explorer(binary);
  void explorer.find();
  return explorer;
}

class Explorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("playhouse", "Playhouse");
  private readonly watcher = vscode.workspace.createFileSystemWatcher("**/*.{test,triggers,user,judge}.md");
  /** Many files may change at once. */
  private soon: NodeJS.Timeout | undefined;
  /** What was reached, for whoever opens a file while its coverage is shown. */
  private readonly reached = new WeakMap<vscode.FileCoverage, FileReached>();

  constructor(private readonly binary: Binary) {
    this.controller.refreshHandler = () => this.find();
    const changed = (): void => {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => void this.find(), 300);
    };
    this.watcher.onDidCreate(changed);
    this.watcher.onDidChange(changed);
    this.watcher.onDidDelete(changed);
    const run = this.controller.createRunProfile(
      "Run",
      vscode.TestRunProfileKind.Run,
      (request, token) => this.run(request, token),
      true,
    );
    run.supportsContinuousRun = true;
    this.controller.createRunProfile(
      "Debug",
      vscode.TestRunProfileKind.Debug,
      (request, token) => this.debug(request, token),
      true,
    );
    const coverage = this.controller.createRunProfile(
      "Coverage",
      vscode.TestRunProfileKind.Coverage,
      (request, token) => this.play(request, token, true),
      true,
    );
    coverage.loadDetailedCoverage = async (_run, covered) => {
      const file = this.reached.get(covered);
      return file ? details(file, await vscode.workspace.openTextDocument(covered.uri)) : [];
    };
  }

  dispose(): void {
    clearTimeout(this.soon);
    this.watcher.dispose();
    this.controller.dispose();
  }

  /** Shows the tests that there are now. */
  async find(): Promise<void> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const listed = await Promise.all(
      folders.map((folder) => this.binary.askJson<TestList>(["test", "--list", folder.uri.fsPath]).catch(() => ({ files: [] }))),
    );
    this.controller.items.replace(listed.flatMap((list) => list.files).map((file) => this.item(file)));
  }

  /** A file, with its checks and rows below it. */
  private item(file: TestList["files"][number]): vscode.TestItem {
    const uri = vscode.Uri.file(file.path);
    const item = this.controller.createTestItem(uri.toString(), path.basename(file.path), uri);
    item.range = lineRange(1);
    const folder = path.dirname(vscode.workspace.asRelativePath(uri));
    if (folder !== ".") {
      item.description = folder;
    }
    if (file.problems.length > 0) {
      item.error = file.problems.map((problem) => `${problem.line ?? 1}: ${problem.text}`).join("\n");
    }
    item.children.replace(
      file.cases.flatMap((one) => {
        if (one.line === null) {
          return [];
        }
        const child = this.controller.createTestItem(idOf(item, one), one.name, uri);
        child.range = lineRange(one.line);
        return [child];
      }),
    );
    return item;
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    if (!request.continuous) {
      return this.play(request, token, false);
    }
    const saved = vscode.workspace.onDidSaveTextDocument((document) => {
      if (/\.(md|pb|json|jsonl|yaml|toml)$/.test(document.uri.path)) {
        void this.play(request, token, false);
      }
    });
    token.onCancellationRequested(() => saved.dispose());
  }

  private async play(
    request: vscode.TestRunRequest,
    token: vscode.CancellationToken,
    withCoverage: boolean,
  ): Promise<void> {
    const run = this.controller.createTestRun(request);
    const items = this.files(request);
    // Without a name all tests below the folder would be played.
    if (items.length === 0) {
      run.end();
      return;
    }
    items.forEach((item) => run.started(item));
    try {
      const paths = items.map((item) => item.uri?.fsPath ?? "");
      const folder = items[0]?.uri && vscode.workspace.getWorkspaceFolder(items[0].uri);
      const ask = <T>(command: string): Promise<T> =>
        this.binary.askJson<T>([command, ...paths], { cwd: folder?.uri.fsPath, token });
      const report = await ask<TestReport>("test");
      const byPath = new Map(report.files.map((file) => [file.path, file]));
      for (const item of items) {
        tell(run, item, byPath.get(item.uri?.fsPath ?? ""));
      }
      if (withCoverage) {
        for (const file of reachedOf(await ask<CoverageReport>("coverage"))) {
          const document = await vscode.workspace.openTextDocument(file.file);
          const covered = vscode.FileCoverage.fromDetails(document.uri, details(file, document));
          this.reached.set(covered, file);
          run.addCoverage(covered);
        }
      }
    } catch (error) {
      if (!token.isCancellationRequested) {
        const message = new vscode.TestMessage(error instanceof Error ? error.message : String(error));
        items.forEach((item) => run.errored(item, message));
      }
    } finally {
      run.end();
    }
  }

  /** Conversations are debugged, one after the other. */
  private async debug(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    for (const item of this.files(request)) {
      if (!item.id.endsWith(".test.md") || token.isCancellationRequested) {
        run.skipped(item);
        continue;
      }
      run.started(item);
      const passes = await debugTest(item);
      if (passes) {
        run.passed(item);
      } else {
        run.failed(item, new vscode.TestMessage("The debug console shows what differs."));
      }
    }
    run.end();
  }

  /** The files to be played: a row is played with its table. */
  private files(request: vscode.TestRunRequest): vscode.TestItem[] {
    const wanted = new Set<vscode.TestItem>();
    const add = (item: vscode.TestItem): unknown => wanted.add(item.parent ?? item);
    if (request.include) {
      request.include.forEach(add);
    } else {
      this.controller.items.forEach(add);
    }
    request.exclude?.forEach((item) => wanted.delete(item));
    return [...wanted];
  }
}

/** Debugs a conversation to its end; whether it passes. */
async function debugTest(item: vscode.TestItem): Promise<boolean> {
  const program = item.uri?.fsPath ?? "";
  const isIt = (session: vscode.DebugSession): boolean => session.configuration["program"] === program;
  let code: number | undefined;
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory("playhouse", {
    createDebugAdapterTracker: (session) => ({
      onDidSendMessage: (message: { event?: string; body?: { exitCode?: number } }) => {
        if (isIt(session) && message.event === "exited") {
          code = message.body?.exitCode;
        }
      },
    }),
  });
  let ended: vscode.Disposable | undefined;
  const isOver = new Promise<void>((resolve) => {
    ended = vscode.debug.onDidTerminateDebugSession((session) => isIt(session) && resolve());
  });
  const folder = item.uri && vscode.workspace.getWorkspaceFolder(item.uri);
  const launch = { type: "playhouse", request: "launch", name: item.label, program };
  if (await vscode.debug.startDebugging(folder, launch)) {
    await isOver;
  }
  tracker.dispose();
  ended?.dispose();
  return code === 0;
}

/** What came of a file, and of the cases in it. */
function tell(run: vscode.TestRun, item: vscode.TestItem, file: TestFile | undefined): void {
  if (!file) {
    run.skipped(item);
    return;
  }
  if (file.details) {
    run.appendOutput(`${file.path}\n${file.details}\n`.replaceAll("\n", "\r\n"), undefined, item);
  }
  const ofWhole: vscode.TestMessage[] = [];
  for (const one of file.cases) {
    const messages = one.problems.map((problem) => message(item, problem));
    const child = item.children.get(idOf(item, one));
    if (child) {
      show(run, child, one.verdict, messages);
    } else {
      ofWhole.push(...messages);
    }
  }
  show(run, item, file.verdict, ofWhole, file.ms);
}

/** The verdict of a file or case. */
function show(
  run: vscode.TestRun,
  item: vscode.TestItem,
  verdict: Verdict,
  messages: vscode.TestMessage[],
  ms?: number,
): void {
  switch (verdict) {
    case "passed":
      run.passed(item, ms);
      break;
    case "failed":
      run.failed(item, messages, ms);
      break;
    case "undecided":
      run.errored(item, messages, ms);
      break;
    case "skipped":
      run.skipped(item);
      break;
  }
}

/** By which a case below a file is found again. */
function idOf(file: vscode.TestItem, one: Case): string {
  return `${file.id}:${one.line}`;
}

function message(item: vscode.TestItem, problem: Problem): vscode.TestMessage {
  const { text, expected, actual } = problem;
  const told =
    expected === undefined || actual === undefined
      ? new vscode.TestMessage(text)
      : vscode.TestMessage.diff(text, expected, actual);
  // A path is as it was asked: whole.
  const uri = problem.file === item.uri?.fsPath ? item.uri : vscode.Uri.file(problem.file);
  told.location = new vscode.Location(uri, lineRange(problem.line ?? 1));
  return told;
}

/** Lines with their ways, and playbooks. */
function details(file: FileReached, document: vscode.TextDocument): vscode.FileCoverageDetail[] {
  // The file may have become shorter meanwhile.
  const rangeOf = (line: number): vscode.Range => document.validateRange(lineRange(line));
  const lines = file.lines.map((line) => {
    const at = rangeOf(line.line);
    const ways = Object.entries(line.ways).map(([way, times]) => new vscode.BranchCoverage(times, undefined, way));
    return new vscode.StatementCoverage(line.reached, at, ways);
  });
  const parts = file.parts.map((part) => new vscode.DeclarationCoverage(part.name, part.entered, rangeOf(part.line)));
  return [...lines, ...parts];
}

/** A whole line; `line` is from 1. */
function lineRange(line: number): vscode.Range {
  return new vscode.Range(line - 1, 0, line - 1, 1 << 20);
}
