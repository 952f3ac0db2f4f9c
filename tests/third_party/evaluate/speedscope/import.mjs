// Has speedscope import profiles: `node import.mjs FOLDER` reads `BY.speedscope`, `BY.folded` and `BY.json` for tokens, time, cost.
//
// The package is a bundled page. It is run without a page: its drawing fails, its importers are there before that, and are
// caught where the bundle defines what its modules export.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import vm from "node:vm";

const require = createRequire(import.meta.url);
const [folder] = process.argv.slice(2);
const release = join(dirname(require.resolve("speedscope/package.json")), "dist", "release");
let nPassed = 0;
let nFailed = 0;

function check(name, found, expected = true) {
  if (JSON.stringify(found) === JSON.stringify(expected)) {
    nPassed += 1;
  } else {
    nFailed += 1;
    console.log(`FAILED ${name}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

async function importer() {
  const found = {};
  const context = vm.createContext({ found, console: { ...console, log() {} }, TextDecoder, TextEncoder, setTimeout, clearTimeout, performance, atob });
  vm.runInContext(
    `const define = Object.defineProperty;
     Object.defineProperty = (object, name, what) => {
       if (/^importProfile/.test(String(name))) found[name] = what.get;
       return define(object, name, what);
     };
     globalThis.window = globalThis.self = globalThis;
     globalThis.location = { hash: "", protocol: "file:" };`,
    context,
  );
  const bundle = readdirSync(release).find((file) => /^speedscope-.*\.js$/.test(file));
  try {
    vm.runInContext(readFileSync(join(release, bundle), "utf8"), context);
  } catch {
    // There is no page to draw on.
  }
  // Its importers are made ready after what runs first.
  await new Promise((done) => setTimeout(done, 100));
  return found.importProfileGroupFromText();
}

const walk = (nodes, path, visit) => {
  for (const node of nodes) {
    visit([...path, node], node);
    walk(node.below, [...path, node], visit);
  }
};

// What a frame is called.
const named = ({ part, name }) => (["prompt", "model", "tool", "classifier"].includes(part) ? `${part} ${name}` : name);

// What a node has spent itself.
const spent = { tokens: (of) => of.prompt_tokens + of.completion_tokens, time: (of) => of.ms, cost: (of) => of.cost };

const close = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

const { default: Ajv } = await import("ajv");
const schema = JSON.parse(readFileSync(join(release, "file-format-schema.json"), "utf8"));
const validate = new Ajv({ strict: false }).compile(schema);
const importText = await importer();

for (const by of ["tokens", "time", "cost"]) {
  const told = JSON.parse(readFileSync(join(folder, `${by}.json`), "utf8"));
  const text = readFileSync(join(folder, `${by}.speedscope`), "utf8");
  check(`${by}: the published schema`, validate(JSON.parse(text)) || validate.errors);
  const total = spent[by](told.total);
  for (const [form, file, content, scale] of [
    ["speedscope", "a.speedscope.json", text, 1],
    ["folded", "a.txt", readFileSync(join(folder, `${by}.folded`), "utf8"), by === "cost" ? 1e6 : 1],
  ]) {
    const label = `${by}, ${form}`;
    const group = await importText(file, content);
    check(`${label}: it is imported`, group?.profiles.length, 1);
    if (!group) continue;
    const [profile] = group.profiles;
    // Folded stacks hold whole numbers.
    const nRounded = form === "folded" && by === "cost" ? content.split("\n").length : 0;
    const agrees = (a, b) => close(a, b * scale) || Math.abs(a - b * scale) <= nRounded / 2;
    check(`${label}: there is something`, total > 0);
    check(`${label}: ${profile.getTotalWeight()} is all of ${total}`, agrees(profile.getTotalWeight(), total));
    const wanted = new Map();
    walk(told.tree, [], (path, node) => {
      // Our names, with what one of them is not allowed to hold in folded stacks.
      const stack = path.map((step) => (form === "folded" ? named(step).replaceAll(";", ",") : named(step)));
      const weight = spent[by](node.spent);
      const key = stack.join("\n");
      if (weight > 0) wanted.set(key, (wanted.get(key) ?? 0) + weight);
    });
    const found = new Map();
    const stack = [];
    let last = 0;
    const pass = (value) => {
      const key = stack.join("\n");
      if (value > last) found.set(key, (found.get(key) ?? 0) + value - last);
      last = value;
    };
    profile.forEachCall(
      (node, value) => (pass(value), stack.push(node.frame.name)),
      (_, value) => (pass(value), stack.pop()),
    );
    for (const [key, weight] of wanted) {
      const shown = key.replaceAll("\n", " > ");
      const had = found.get(key) ?? 0;
      check(`${label}: ${shown} has ${had} of ${weight}`, close(had, weight * scale) || Math.abs(had - weight * scale) <= (nRounded ? 0.5 : 1e-6));
    }
    check(`${label}: nothing besides`, [...found.keys()].filter((key) => !wanted.has(key)), []);
    const unit = profile.formatValue(1500);
    if (form === "speedscope") check(`${label}: its unit`, unit, by === "time" ? "1.50s" : "1,500");
  }
}
console.log(`${nPassed} passed, ${nFailed} failed`);
process.exit(nFailed === 0 && nPassed > 0 ? 0 : 1);
