// Tests of what knows nothing of the editor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxesOf } from "../src/frames";
import { reachedOf } from "../src/reports";

test("what is reached is told by file", () => {
  const line = { line: 3, reached: 2, ways: { then: 1, else: 1 } };
  const part = { name: "Main", file: "/a/p.md", line: 1, entered: 2, lines: [line], triggers: [] };
  const [file, ...others] = reachedOf({ parts: [part, { ...part, name: "Other", line: 9, lines: [] }] });
  assert.equal(others.length, 0);
  assert.deepEqual(file?.lines, [line]);
  assert.deepEqual(file?.parts.map((one) => one.name), ["Main", "Other"]);
});

test("a frame stands in the playbook that begins above its line", () => {
  const boxes = [
    { id: "agent:A", kind: "agent", file: "/a/p.md", line: 1 },
    { id: "playbook:Main", kind: "playbook", file: "/a/p.md", line: 3 },
    { id: "playbook:Other", kind: "playbook", file: "/a/p.md", line: 9 },
    { id: "tool:T", kind: "tool", file: "/a/p.md", line: 10 },
  ];
  const frame = (id: number, line: number) => ({ id, name: "x", line, source: { path: "/a/p.md" } });
  const label = { id: -1, name: "1 caller left out", line: 0, presentationHint: "label" };
  assert.deepEqual(boxesOf([frame(2, 11), label, frame(1, 5)], boxes), ["playbook:Other", "playbook:Main"]);
});
