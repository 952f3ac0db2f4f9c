// The binary: where it is, and how it is asked.
import { execFile } from "node:child_process";
import * as vscode from "vscode";

const INSTALL = "cargo install --path .";

/** What a command has said. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is asked. */
export interface Asked {
  readonly cwd?: string | undefined;
  readonly input?: string;
  readonly token?: vscode.CancellationToken;
}

/** The binary, started once so that it is known to be there. */
export class Binary {
  private constructor(
    readonly path: string,
    /** As `--version` says it: `0.1.0`. */
    readonly version: string,
  ) {}

  /** That of the settings, else of `PATH`; none, if there is none. */
  static async find(): Promise<Binary | undefined> {
    const path = vscode.workspace.getConfiguration("playhouse").get<string>("server.path") || "playhouse";
    try {
      const { code, stdout } = await ask(path, ["--version"]);
      return code === 0 ? new Binary(path, stdout.trim().split(" ").at(-1) ?? "") : undefined;
    } catch {
      return undefined;
    }
  }

  /** Asks a command, without a shell. A command that fails is an answer. */
  ask(args: readonly string[], asked: Asked = {}): Promise<Said> {
    return ask(this.path, args, asked);
  }

  /** What a command writes for programs. One that writes nothing has said why. */
  async askJson<T>(args: readonly string[], asked: Asked = {}): Promise<T> {
    const said = await this.ask([...args, "--format", "json"], asked);
    if (said.stdout === "") {
      throw new Error(said.stderr.trim());
    }
    return JSON.parse(said.stdout) as T;
  }
}

function ask(path: string, args: readonly string[], asked: Asked = {}): Promise<Said> {
  return new Promise((resolve, reject) => {
    const options = { cwd: asked.cwd, maxBuffer: 64 << 20 };
    const child = execFile(path, args, options, (error, stdout, stderr) => {
      // A number is an exit code; text says that it could not be started.
      if (error && typeof error.code !== "number") {
        reject(error);
      } else {
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
      }
    });
    asked.token?.onCancellationRequested(() => child.kill());
    // One that ends before it has read all is no fault.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(asked.input ?? "");
  });
}

/** Says what to do where there is no binary. */
export async function tellMissing(): Promise<void> {
  const copy = "Copy the command";
  const settings = "Open the setting";
  const chosen = await vscode.window.showErrorMessage(
    `Playhouse is not on the PATH. Install it (\`${INSTALL}\` in its source folder), or set the path of the binary in \`playhouse.server.path\`.`,
    copy,
    settings,
  );
  if (chosen === copy) {
    await vscode.env.clipboard.writeText(INSTALL);
  } else if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "playhouse.server.path");
  }
}

/** Says, once for each version, that the binary is another than the one this extension was made with. */
export async function tellOtherVersion(context: vscode.ExtensionContext, binary: Binary): Promise<void> {
  const own = String((context.extension.packageJSON as { version: unknown }).version);
  const key = "told.version";
  if (binary.version !== own && context.globalState.get(key) !== binary.version) {
    await context.globalState.update(key, binary.version);
    void vscode.window.showInformationMessage(
      `Playhouse has version ${binary.version}, but this extension was built for ${own}: features that only one of them has are missing.`,
    );
  }
}
