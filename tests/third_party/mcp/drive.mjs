#!/usr/bin/env node
// Runs a program and a plan against the reference MCP servers, as they are published: both servers at once, over
// standard input and output and over streamable HTTP. Usage: drive.mjs PLAYHOUSE [TARGET_DIR]
//
// With a target folder the client's own test is run too (`mcp::third_party`, built there).
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [playhouse, target] = process.argv.slice(2);
if (!playhouse) {
  console.error("usage: drive.mjs PLAYHOUSE [TARGET_DIR]");
  process.exit(2);
}

// The packages, kept between runs as long as the lock file is the same.
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "playhouse-third-party", "mcp");
const lock = readFileSync(join(here, "package-lock.json"), "utf8");
const mark = join(cache, "installed.json");
if (!existsSync(mark) || readFileSync(mark, "utf8") !== lock) {
  mkdirSync(cache, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(here, name), join(cache, name));
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: cache, stdio: ["ignore", 2, 2] });
  writeFileSync(mark, lock);
}
const program = (name) => join(cache, "node_modules", "@modelcontextprotocol", name, "dist", "index.js");
const version = (name) =>
  JSON.parse(readFileSync(join(cache, "node_modules", "@modelcontextprotocol", name, "package.json"), "utf8")).version;

console.log(`node ${process.version}`);
console.log(`npm ${execFileSync("npm", ["--version"], { stdio: ["ignore", "pipe", "ignore"] }).toString().trim()}`);
for (const name of ["server-filesystem", "server-everything", "sdk"]) console.log(`${name} ${version(name)}`);
console.log(execFileSync(resolve(playhouse), ["--version"]).toString().trim());

let nPassed = 0;
let nFailed = 0;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "playhouse-mcp-")));
const shared = join(folder, "shared");
mkdirSync(shared);

function fill(name, url) {
  const text = readFileSync(join(here, name), "utf8");
  const filled = text
    .replaceAll("@FILES@", program("server-filesystem"))
    .replaceAll("@EVERYTHING@", program("server-everything"))
    .replaceAll("@FOLDER@", shared)
    .replaceAll("@URL@", url ?? "");
  writeFileSync(join(folder, name), filled);
}

function expect(what, wanted, command, input) {
  const run = spawnSync(resolve(playhouse), command, { cwd: folder, input, encoding: "utf8", timeout: 60_000 });
  if (run.status === 0 && run.stdout === wanted) {
    nPassed += 1;
    console.log(`passed: ${what}`);
  } else {
    nFailed += 1;
    console.log(`FAILED: ${what}: exit code ${run.status}\n--- wanted\n${wanted}--- got\n${run.stdout}--- standard error\n${run.stderr}`);
  }
}

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// Until it says that it listens, or ends.
function listening(server) {
  return new Promise((done, fail) => {
    let heard = "";
    server.stderr.on("data", (data) => {
      heard += data;
      if (heard.includes("listening on port")) done();
    });
    server.once("exit", (code) => fail(new Error(`server-everything ended with ${code}: ${heard}`)));
  });
}

let server;
try {
  for (const name of ["reference-servers.md", "reference-servers.jsonl"]) fill(name);
  const answers = ["Ada Lovelace", "yes", ...Array(11).fill("skip")].join("\n") + "\n";
  const told = [
    "The file says: tea and biscuits.",
    "The sum of 2 and 3 is 5.",
    "There is [FILE] notes.txt.",
    "User inputs:",
    "- Name: Ada Lovelace",
    "- Agreed to terms: true",
    "- Favorite Integer: 42",
    "- Favorite Number: 3.14",
  ];
  expect(
    "a program with two servers that are processes, a form, a resource",
    told.join("\n") + "\n",
    ["run", "reference-servers.md", "--model", "script:reference-servers.jsonl"],
    answers,
  );

  const port = await freePort();
  server = spawn(process.execPath, [program("server-everything"), "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await listening(server);
  fill("reference-servers.jmp.json");
  fill("answers.jsonl");
  fill("playhouse.toml", `http://127.0.0.1:${port}/mcp`);
  expect(
    "a plan with one server that is a process and one over HTTP",
    "Echo: Hello from a plan; Light rain / drizzle: stay in\n",
    ["run", "reference-servers.jmp.json", "--arg", "text=Hello from a plan", "--arg", `folder=${shared}`, "--model", "script:answers.jsonl"],
  );

  if (target) {
    const test = spawnSync(join(here, "..", "..", "..", ".ci", "release"), ["mcp::third_party", "--", "--ignored"], {
      env: { ...process.env, CARGO_TARGET_DIR: target, PLAYHOUSE_TEST_MCP: cache },
      encoding: "utf8",
    });
    const counts = /(\d+) passed; (\d+) failed/.exec(test.stdout);
    nPassed += Number(counts?.[1] ?? 0);
    nFailed += Number(counts?.[2] ?? 0) || (test.status === 0 && Number(counts?.[1]) > 0 ? 0 : 1);
    console.log(test.stdout);
    if (test.status !== 0) console.log(test.stderr);
  }
} finally {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${nPassed} passed, ${nFailed} failed`);
process.exit(nFailed === 0 && nPassed > 0 ? 0 : 1);
