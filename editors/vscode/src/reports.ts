// What `playhouse test` and `playhouse coverage` write for programs.

/** `playhouse test --list --format json`: `TestFile`s without what comes of them. */
export interface TestList {
  readonly files: readonly {
    readonly path: string;
    readonly cases: readonly Case[];
    /** Why it cannot be read. */
    readonly problems: readonly Problem[];
  }[];
}

/** `playhouse test --format json`. */
export interface TestReport {
  readonly files: readonly TestFile[];
}

export interface TestFile {
  readonly path: string;
  readonly verdict: Verdict;
  readonly ms: number;
  readonly cases: readonly (Case & { readonly verdict: Verdict; readonly problems: readonly Problem[] })[];
  readonly details: string;
}

export type Verdict = "passed" | "failed" | "skipped" | "undecided";

export interface Case {
  readonly name: string;
  /** From 1; null: the file as a whole. */
  readonly line: number | null;
}

export interface Problem {
  readonly file: string;
  /** From 1. */
  readonly line: number | null;
  readonly text: string;
  /** Both, if two texts differ. */
  readonly expected?: string;
  readonly actual?: string;
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
