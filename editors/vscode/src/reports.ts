// What `playhouse test` and `playhouse coverage` write for programs, and rows of trigger tables: what the editor shows of them.

/** `playhouse test --format json`. */
export interface TestReport {
  readonly files: readonly TestFile[];
}

export type Verdict = "passed" | "failed" | "skipped" | "undecided";

export interface TestFile {
  readonly path: string;
  readonly verdict: Verdict;
  readonly ms: number;
  readonly cases: readonly { readonly name: string; readonly verdict: Verdict; readonly problems: readonly Problem[] }[];
  readonly details: string;
}

export interface Problem {
  readonly file: string;
  /** From 1. */
  readonly line: number | null;
  readonly text: string;
}

/** A problem, as the editor shows it. */
export interface Shown {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** Where two texts differ: what was expected, and what came. */
  readonly differs?: { readonly expected: string; readonly actual: string };
}

/** The problems of a file; of a table each wrong row. */
export function problemsOf(file: TestFile): Shown[] {
  return file.cases.flatMap((one) => one.problems).flatMap((problem) => [...rowsIn(problem), whole(problem)]);
}

function whole(problem: Problem): Shown {
  const shown = { file: problem.file, line: problem.line ?? 1, text: problem.text };
  const lines = problem.text.split("\n");
  // The first line says what differs; below it stands a difference by lines.
  const [title = "", ...rest] = lines;
  if (rest.length === 0 || !title.endsWith("differs") || !rest.every((line) => /^([-+ ] |$)/.test(line))) {
    return shown;
  }
  const isOf = (line: string, mark: string): boolean => line === "" || line.startsWith(" ") || line.startsWith(mark);
  const side = (mark: string): string =>
    rest.filter((line) => isOf(line, mark)).map((line) => line.slice(2)).join("\n");
  return { ...shown, text: title, differs: { expected: side("-"), actual: side("+") } };
}

/** The wrong rows that a table's problem tells of: `FILE:LINE: what happened`, and what was wrong below it. */
function rowsIn(problem: Problem): Shown[] {
  const rows: Shown[] = [];
  const prefix = `${problem.file}:`;
  for (const line of problem.text.split("\n")) {
    const place = line.startsWith(prefix) ? /^(\d+): (.*)$/.exec(line.slice(prefix.length)) : null;
    const last = rows.at(-1);
    if (place) {
      rows.push({ file: problem.file, line: Number(place[1]), text: place[2] ?? "" });
    } else if (last && line.startsWith("  ")) {
      rows[rows.length - 1] = { ...last, text: `${last.text}\n${line.trim()}` };
    }
  }
  return rows;
}

/** A row of a trigger table. */
export interface Row {
  /** From 1. */
  readonly line: number;
  readonly name: string;
}

/** The rows of the tables of a text. */
export function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  // The names of the columns, inside a table.
  let columns: string[] | undefined;
  text.split("\n").forEach((line, index) => {
    const cells = cellsOf(line);
    if (!cells) {
      columns = undefined;
    } else if (!columns) {
      columns = cells.map((cell) => cell.toLowerCase());
    } else if (!cells.every((cell) => /^:?-+:?$/.test(cell))) {
      const cell = (name: string): string => cells[columns?.indexOf(name) ?? -1]?.replaceAll("`", "") ?? "";
      const given = cell("given");
      rows.push({ line: index + 1, name: `${given && `${given}: `}${cell("update")} → ${cell("fires")}` });
    }
  });
  return rows;
}

function cellsOf(line: string): string[] | undefined {
  const row = line.trim();
  // A bar in a cell is written `\|`.
  return row.startsWith("|") ? row.replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim()) : undefined;
}

/** `playhouse coverage --format json`. */
export interface CoverageReport {
  readonly parts: readonly {
    readonly name: string;
    readonly file: string;
    readonly line: number;
    readonly entered: number;
    readonly lines: readonly Reached[];
    readonly triggers: readonly Reached[];
  }[];
}

export interface Reached {
  readonly line: number;
  readonly reached: number;
  /** By way (`then`, `else`, `failed`, `fired`), how often. */
  readonly ways: Readonly<Record<string, number>>;
}

/** What was reached of a file. */
export interface FileReached {
  readonly file: string;
  readonly parts: { readonly name: string; readonly line: number; readonly entered: number }[];
  readonly lines: Reached[];
}

/** By file. */
export function reachedOf(report: CoverageReport): FileReached[] {
  const files = new Map<string, FileReached>();
  for (const part of report.parts) {
    const file = files.get(part.file) ?? { file: part.file, parts: [], lines: [] };
    files.set(part.file, file);
    file.parts.push({ name: part.name, line: part.line, entered: part.entered });
    file.lines.push(...part.lines, ...part.triggers);
  }
  return [...files.values()];
}
