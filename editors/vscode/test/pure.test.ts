// Tests of what knows nothing of the editor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxesOf } from "../src/frames";
import { problemsOf, reachedOf, rowsOf, type TestFile } from "../src/reports";

function failed(text: string): TestFile {
  const problem = { file: "/a/t.md", line: null, text };
  return { path: "/a/t.md", verdict: "failed", ms: 1, cases: [{ name: "x", verdict: "failed", problems: [problem] }], details: "" };
}

test("rows of tables are told with what happens in them", () => {
  const text = "# T\n\n| given | update | fires | note |\n| --- | --- | :-: | --- |\n| `$a = \"x\\|y\"` | `$t = 1` | Frost | n |\n| | `$t = 2` | — | |\n\n| a |\n";
  assert.deepEqual(rowsOf(text), [
    { line: 5, name: '$a = "x\\|y": $t = 1 → Frost' },
    { line: 6, name: "$t = 2 → —" },
  ]);
});

test("a wrong row has its place, and what is wrong with it", () => {
  const shown = problemsOf(failed("all 1 2\n/a/t.md:33: $t = 4.9\n  did not fire: GoAhead:T1\n  fired: Frost:T1\nunder the threshold"));
  assert.deepEqual(shown[0], { file: "/a/t.md", line: 33, text: "$t = 4.9\ndid not fire: GoAhead:T1\nfired: Frost:T1" });
  assert.equal(shown[1]?.line, 1);
});

test("what differs is told as two texts", () => {
  const [shown] = problemsOf(failed("Says differs\n  > Hello.\n\n- > Bad.\n+ > Good."));
  assert.deepEqual(shown?.differs, { expected: "> Hello.\n\n> Bad.", actual: "> Hello.\n\n> Good." });
  assert.equal(problemsOf(failed("there is no tool `Refnd`"))[0]?.differs, undefined);
});

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
