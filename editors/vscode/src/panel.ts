// The panel "Playhouse stack": the frames of the session that is debugged, in the graph of its program.
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Binary } from "./binary";
import { type Box, boxesOf, type Frame } from "./frames";
import page from "./panel.html";

/** What the page shows. */
interface Shown {
  readonly title: string;
  readonly frames: readonly Frame[];
  /** An SVG, or none. */
  readonly graph: string;
  /** The boxes in which frames stand, the first one in the frame that is executed. */
  readonly here: readonly string[];
}

/** What the page says: a frame, by its place in the list, or a place in a file was clicked. */
type Clicked = { readonly frame: number } | { readonly file: string; readonly line: number };

const NOTHING: Shown = { title: "", frames: [], graph: "", here: [] };

export class StackPanel implements vscode.Disposable, vscode.WebviewViewProvider {
  private readonly registration: vscode.Disposable;
  private view: vscode.WebviewView | undefined;
  private shown = NOTHING;
  private session: vscode.DebugSession | undefined;

  constructor(private readonly binary: Binary) {
    this.registration = vscode.window.registerWebviewViewProvider("playhouse.stack", this);
  }

  dispose(): void {
    this.registration.dispose();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.options = { enableScripts: true, localResourceRoots: [] };
    // The page says when it can hear.
    view.webview.onDidReceiveMessage((said: Clicked | "ready") =>
      said === "ready" ? this.show(this.shown) : this.clicked(said),
    );
    view.webview.html = page.replaceAll("NONCE", randomBytes(16).toString("hex"));
  }

  /** A program stands still. */
  async stopped(session: vscode.DebugSession, threadId: number): Promise<void> {
    this.session = session;
    const answer = (await session.customRequest("stackTrace", { threadId })) as { stackFrames: Frame[] };
    const frames = answer.stackFrames.map(withPath);
    const program: unknown = session.configuration["program"];
    const tools: unknown = session.configuration["tools"];
    const graph = typeof program === "string" ? await this.graph(program, typeof tools === "string" ? tools : "") : undefined;
    this.show({
      title: session.name,
      frames,
      graph: graph?.picture ?? "",
      here: boxesOf(frames, graph?.boxes ?? []),
    });
  }

  /** It goes on. */
  runs(): void {
    this.session = undefined;
    this.show({ ...this.shown, frames: [], here: [] });
  }

  /** Shows the graph of a program, without a session. */
  async showGraph(program: string): Promise<void> {
    const graph = await this.graph(program, "");
    this.show({ ...NOTHING, title: path.basename(program), graph: graph?.picture ?? "" });
    await vscode.commands.executeCommand("setContext", "playhouse.showsGraph", true);
    await vscode.commands.executeCommand("playhouse.stack.focus");
  }

  private async graph(program: string, tools: string): Promise<{ picture: string; boxes: Box[] } | undefined> {
    const ask = async (format: string): Promise<string | undefined> => {
      const options = tools ? ["--tools", tools] : [];
      const said = await this.binary.ask(["graph", program, "--format", format, ...options]);
      return said.code === 0 ? said.stdout : undefined;
    };
    const [picture, boxes] = await Promise.all([ask("svg"), ask("json")]);
    return picture && boxes ? { picture, boxes: (JSON.parse(boxes) as { nodes: Box[] }).nodes } : undefined;
  }

  private show(shown: Shown): void {
    this.shown = shown;
    void this.view?.webview.postMessage(shown);
  }

  private async clicked(on: Clicked): Promise<void> {
    const frame = "frame" in on ? this.shown.frames[on.frame] : undefined;
    if (frame?.source && this.session) {
      const uri = frame.source.sourceReference
        ? vscode.debug.asDebugSourceUri(frame.source, this.session)
        : vscode.Uri.file(frame.source.path ?? "");
      await showLine(uri, frame.line);
    } else if ("file" in on) {
      await showLine(vscode.Uri.file(on.file), on.line);
    }
  }
}

/** VS Code makes addresses of paths on their way from the debugger where it runs elsewhere (`vscode-remote://…`). */
function withPath(frame: Frame): Frame {
  const address = frame.source?.path;
  if (!address || !/^[a-z][\w+.-]+:\/\//i.test(address)) {
    return frame;
  }
  return { ...frame, source: { ...frame.source, path: vscode.Uri.parse(address).fsPath } };
}

async function showLine(uri: vscode.Uri, line: number): Promise<void> {
  const start = new vscode.Position(Math.max(line - 1, 0), 0);
  await vscode.window.showTextDocument(uri, { selection: new vscode.Range(start, start) });
}
