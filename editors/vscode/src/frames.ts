// Which boxes of a program's graph the frames of a stack are.

/** A frame, as the debugger has it. */
export interface Frame {
  readonly id: number;
  readonly name: string;
  /** From 1; 0 where it has no place. */
  readonly line: number;
  readonly source?: { readonly name?: string; readonly path?: string; readonly sourceReference?: number };
  /** `label`: no frame, but a word between frames. */
  readonly presentationHint?: string;
}

/** A box of the graph, as `playhouse graph --format json` has it. */
export interface Box {
  readonly id: string;
  readonly kind: string;
  readonly file?: string;
  readonly line?: number;
}

/** The box in which each frame stands: the last playbook or plan that begins at or above its line. */
export function boxesOf(frames: readonly Frame[], boxes: readonly Box[]): string[] {
  const inFrames = frames.flatMap((frame) => {
    const begins = (box: Box): boolean =>
      (box.kind === "playbook" || box.kind === "plan") && box.file === frame.source?.path;
    const above = boxes.filter((box) => begins(box) && (box.line ?? Infinity) <= frame.line);
    above.sort((one, other) => (other.line ?? 0) - (one.line ?? 0));
    return above.slice(0, 1).map((box) => box.id);
  });
  return [...new Set(inFrames)];
}
