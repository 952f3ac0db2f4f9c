// The Test Explorer: tests, users and trigger tables, played by `playhouse test`; coverage by `playhouse coverage`.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Binary } from "./binary";
import {
  type CoverageReport,
  type FileReached,
  problemsOf,
  reachedOf,
  rowsOf,
  type Shown,
  type TestFile,
  type TestReport,
} from "./reports";

const FILES = "**/*.{test,triggers,user}.md";

/** Finds the tests, and offers to run them. */
export function registerTests(binary: Binary): vscode.Disposable {
  const explorer = new Explorer(binary);
  void explorer.find();
  return explorer;
}

class Explorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("playhouse", "Playhouse");
  private readonly watcher = vscode.workspace.createFileSystemWatcher(FILES);
  /** What was reached, for whoever opens a file while its coverage is shown. */
  private readonly reached = new WeakMap<vscode.FileCoverage, FileReached>();

  constructor(private readonly binary: Binary) {
    this.controller.refreshHandler = () => this.find();
    this.watcher.onDidCreate((uri) => this.add(uri));
    this.watcher.onDidChange((uri) => this.add(uri));
    this.watcher.onDidDelete((uri) => this.controller.items.delete(uri.toString()));
    const run = this.controller.createRunProfile(
      "Run",
      vscode.TestRunProfileKind.Run,
      (request, token) => this.run(request, token),
      true,
    );
    run.supportsContinuousRun = true;
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
    this.watcher.dispose();
    this.controller.dispose();
  }

  async find(): Promise<void> {
    const found = await vscode.workspace.findFiles(FILES, "**/{node_modules,target,.git}/**");
    const known = new Set(found.map(String));
    this.controller.items.forEach((item) => {
      if (!known.has(item.id)) {
        this.controller.items.delete(item.id);
      }
    });
    await Promise.all(found.map((uri) => this.add(uri)));
  }

  /** A file, or what it is now. */
  private async add(uri: vscode.Uri): Promise<void> {
    const item = this.controller.createTestItem(uri.toString(), path.basename(uri.fsPath), uri);
    item.range = lineRange(1);
    const folder = path.dirname(vscode.workspace.asRelativePath(uri));
    if (folder !== ".") {
      item.description = folder;
    }
    if (uri.path.endsWith(".triggers.md")) {
      const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
      item.children.replace(
        rowsOf(text).map((row) => {
          const child = this.controller.createTestItem(`${uri.toString()}:${row.line}`, row.name, uri);
          child.range = lineRange(row.line);
          return child;
        }),
      );
    }
    this.controller.items.add(item);
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
      const ask = async <T>(command: string): Promise<T> => {
        const said = await this.binary.ask([command, "--format", "json", ...paths], { cwd: folder?.uri.fsPath, token });
        if (said.stdout === "") {
          throw new Error(said.stderr.trim());
        }
        return JSON.parse(said.stdout) as T;
      };
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

/** What came of a file. */
function tell(run: vscode.TestRun, item: vscode.TestItem, file: TestFile | undefined): void {
  if (!file) {
    run.skipped(item);
    return;
  }
  const problems = problemsOf(file);
  for (const [, row] of item.children) {
    const wrong = problems.find((problem) => problem.line - 1 === row.range?.start.line);
    if (wrong) {
      run.failed(row, message(item, wrong));
    } else {
      run.passed(row);
    }
  }
  if (file.details) {
    run.appendOutput(`${file.path}\n${file.details}\n`.replaceAll("\n", "\r\n"), undefined, item);
  }
  switch (file.verdict) {
    case "passed":
      run.passed(item, file.ms);
      break;
    case "failed":
      run.failed(item, problems.map((problem) => message(item, problem)), file.ms);
      break;
    case "undecided":
      run.errored(item, new vscode.TestMessage(`undecided\n${file.details}`), file.ms);
      break;
    case "skipped":
      run.skipped(item);
      break;
  }
}

function message(item: vscode.TestItem, problem: Shown): vscode.TestMessage {
  const { differs } = problem;
  const told = differs
    ? vscode.TestMessage.diff(problem.text, differs.expected, differs.actual)
    : new vscode.TestMessage(problem.text);
  // A path is as it was asked: whole.
  const uri = problem.file === item.uri?.fsPath ? item.uri : vscode.Uri.file(problem.file);
  told.location = new vscode.Location(uri, lineRange(problem.line));
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
