#!/usr/bin/env node
// Drives `playhouse debug` with a client that is not ours: Microsoft's own test support for debug adapters. Programs,
// JSON plans and dataflow plans are launched, attached to, stopped in every way there is, stepped forwards and
// backwards, looked into and changed. Usage: drive.mjs PLAYHOUSE
import assert from "node:assert";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
if (!process.argv[2]) {
  console.error("usage: drive.mjs PLAYHOUSE");
  process.exit(2);
}
const playhouse = resolve(process.argv[2]);

// The packages, kept between runs as long as the lock file is the same.
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "playhouse-third-party", "dap");
const lock = readFileSync(join(here, "package-lock.json"), "utf8");
const mark = join(cache, "installed.json");
if (!existsSync(mark) || readFileSync(mark, "utf8") !== lock) {
  mkdirSync(cache, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(here, name), join(cache, name));
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: cache, stdio: ["ignore", 2, 2] });
  writeFileSync(mark, lock);
}
const require = createRequire(join(cache, "package.json"));
const { DebugClient } = require("@vscode/debugadapter-testsupport");

console.log(`node ${process.version}`);
console.log(`@vscode/debugadapter-testsupport ${require("@vscode/debugadapter-testsupport/package.json").version}`);
console.log(execFileSync(playhouse, ["--version"]).toString().trim());

const folder = realpathSync(mkdtempSync(join(tmpdir(), "playhouse-dap-")));
for (const name of readdirSync(here)) if (/\.(md|yaml|json|jsonl)$/.test(name)) copyFileSync(join(here, name), join(folder, name));
const file = (name) => join(folder, name);
const environment = { ...process.env, XDG_STATE_HOME: join(folder, "state") };

const patience = 15_000;
const kinds = ["initialized", "stopped", "continued", "terminated", "exited", "breakpoint", "invalidated", "thread", "process"];

// A client with the events that have come and have not been asked for yet.
class Client {
  constructor() {
    this.dc = new DebugClient(playhouse, "debug", "playhouse", { cwd: folder, env: environment }, true);
    this.events = [];
    this.waiter = null;
    this.hasLeft = false;
    this.output = { stdout: "", stderr: "", console: "", important: "" };
    for (const kind of kinds) this.dc.on(kind, (event) => this.put({ kind, ...event.body }));
    this.dc.on("output", ({ body }) => {
      this.output[body.category] += body.output;
      this.waiter?.look();
    });
  }

  put(event) {
    this.events.push(event);
    this.waiter?.look();
  }

  // The first of what `find` gives, as soon as there is something.
  until(what, find) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${what}; ${JSON.stringify(this.output)}`)), patience);
      const look = () => {
        const found = find();
        if (found === undefined) return;
        clearTimeout(timer);
        this.waiter = null;
        resolve(found);
      };
      this.waiter = { look };
      look();
    });
  }

  next(...wanted) {
    return this.until(wanted.join(" or "), () => {
      const at = this.events.findIndex((event) => wanted.includes(event.kind));
      return at < 0 ? undefined : this.events.splice(at, 1)[0];
    });
  }

  says(text, category = "stdout") {
    return this.until(`words ${JSON.stringify(text)}`, () => (this.output[category].includes(text) ? true : undefined));
  }

  async launch(launch, configure = async () => {}, port = undefined) {
    await this.dc.start(port);
    await this.dc.initializeRequest();
    await this.dc.launchRequest(launch);
    await this.next("initialized");
    await configure(this.dc);
    await this.dc.configurationDoneRequest();
  }

  async frames() {
    return (await this.dc.stackTraceRequest({ threadId: 1 })).body.stackFrames;
  }

  // `Main | - $city = "Rome"`: the top frame and the words of its line.
  async where() {
    const [frame] = await this.frames();
    if (!frame) return "nowhere";
    const words = readFileSync(frame.source.path, "utf8").split("\n")[frame.line - 1].trim();
    return `${frame.name.replace(/^[^.]*\./, "")} | ${words}`;
  }

  async halt() {
    const event = await this.next("stopped", "terminated");
    return event.kind === "stopped" ? `${event.reason}: ${await this.where()}` : "ended";
  }

  async step(command) {
    await this.dc.send(command, { threadId: 1 });
    return this.halt();
  }

  // Where it stops until it has ended, or `until` holds.
  async walk(command, until = () => false) {
    const stops = [];
    while (stops.length < 60) {
      const stop = await this.step(command);
      stops.push(stop.replace(/^step: /, ""));
      if (stop === "ended" || until(stop)) break;
    }
    return stops;
  }

  async scope(name, frame = 0) {
    const frameId = (await this.frames())[frame].id;
    const { scopes } = (await this.dc.scopesRequest({ frameId })).body;
    return scopes.find((scope) => scope.name === name);
  }

  async variables(name, frame = 0) {
    const scope = await this.scope(name, frame);
    if (!scope) return {};
    return this.open(scope.variablesReference);
  }

  async open(variablesReference, page = {}) {
    const { variables } = (await this.dc.variablesRequest({ variablesReference, ...page })).body;
    return Object.fromEntries(variables.map((variable) => [variable.name, variable.value]));
  }

  async leave(how = {}) {
    await this.dc.disconnectRequest(how);
    this.hasLeft = true;
  }

  async evaluate(expression, context = "watch") {
    const frameId = (await this.frames())[0]?.id;
    return (await this.dc.evaluateRequest({ expression, frameId, context })).body.result;
  }

  async refused(promise, words) {
    await assert.rejects(promise, (error) => error.message.includes(words) || assert.fail(error.message));
  }
}

let nPassed = 0;
let nFailed = 0;
async function prove(what, act) {
  const client = new Client();
  try {
    await act(client, client.dc);
    nPassed += 1;
    console.log(`passed: ${what}`);
  } catch (error) {
    nFailed += 1;
    console.log(`FAILED: ${what}\n  ${String(error.stack).split("\n").slice(0, 14).join("\n  ")}`);
  } finally {
    // One that has been let go answers no more.
    if (client.hasLeft) client.dc.stopAdapter();
    else await client.dc.stop();
  }
}

const tickets = { program: file("tickets.md"), model: `script:${file("tickets.jsonl")}` };
const talk = { program: file("talk.md"), model: `script:${file("talk.jsonl")}`, tools: file("talk.tools.json") };
const sum = { program: [file("sum.jmp.json"), file("double.jmp.json")], playbook: "sum", tools: file("tools.json"), model: tickets.model };
const trip = { program: file("trip.yaml"), tools: file("tools.json"), model: tickets.model };
const line = (name, words) => readFileSync(file(name), "utf8").split("\n").findIndex((text) => text.includes(words)) + 1;
const at = (name, ...breakpoints) => ({ source: { path: file(name) }, breakpoints });

await prove("initialize says what there is, and unknown requests are refused", async (client, dc) => {
  await dc.start();
  const { body } = await dc.initializeRequest();
  for (const can of ["StepBack", "DataBreakpoints", "LogPoints", "SetVariable", "RestartFrame"]) assert.ok(body[`supports${can}`], can);
  assert.deepEqual(body.exceptionBreakpointFilters.map((filter) => filter.filter), ["faults", "failedCalls", "triggerMatched", "triggerEvaluated", "end"]);
  await client.refused(dc.send("disassemble", {}), "disassemble");
  await client.refused(dc.stackTraceRequest({ threadId: 1 }), "launch or attach");
});

await prove("a program runs to its end", async (client, dc) => {
  await client.launch(tickets);
  assert.equal((await client.next("exited")).exitCode, 0);
  await client.next("terminated");
  assert.equal(client.output.stdout, "It costs 120.\nWe are sorry.\n120 is a fair price.\nThanks.\nDone: goodbye in Rome\n");
});

await prove("a wrong program is told", async (client, dc) => {
  writeFileSync(file("wrong.md"), "# A\n## Main\n### Steps\n- $x = Nobody(1)\n");
  await dc.start();
  await dc.initializeRequest();
  await client.refused(dc.launchRequest({ ...tickets, program: file("wrong.md") }), "wrong.md");
  await client.refused(dc.launchRequest({ ...tickets, program: file("none.md") }), "cannot read the program");
});

await prove("step into: every line, calls, a trigger in mid-stream, an inlined playbook, a tail call", async (client) => {
  await client.launch({ ...tickets, stopOnEntry: true });
  assert.equal(await client.halt(), 'entry: Main | - $city = "Rome"');
  assert.deepEqual(await client.walk("stepIn"), [
    "Main | - $price = Price($city)",
    "Main | - Tell the user what the ticket costs",
    "Price | - $net = 100",
    "Price | - $tax = Tax($net)",
    "Tax (inlined) | - $rate = 5",
    "Tax (inlined) | - Return $net / $rate",
    "Price | - Return $net + $tax",
    'Sorry | - Say "We are sorry."',
    'Sorry | - $mood = "calm"',
    "Main | - Kindly($price)",
    "Kindly (inlined) | - Say something kind about $price",
    "Kindly (inlined) | - Say thanks",
    "Main | - $bye = Goodbye($city)",
    'Main | - Say "Done: {$bye}"',
    'Goodbye | - $where = "in " + $city',
    "Goodbye | - Return Farewell($where)",
    'Farewell | - $words = "goodbye " + $where',
    "Farewell | - Return $words",
    "Main | - Return $bye",
    "ended",
  ]);
});

await prove("step over: the lines of one frame", async (client) => {
  await client.launch({ ...tickets, stopOnEntry: true });
  await client.halt();
  assert.deepEqual(await client.walk("next"), [
    "Main | - $price = Price($city)",
    "Main | - Tell the user what the ticket costs",
    "Main | - Kindly($price)",
    "Main | - $bye = Goodbye($city)",
    'Main | - Say "Done: {$bye}"',
    "Main | - Return $bye",
    "ended",
  ]);
});

for (const [name, words, out] of [
  ["a nested call", "$rate = 5", "Price | - Return $net + $tax"],
  ["a trigger in mid-stream", 'Say "We are sorry."', "Main | - Kindly($price)"],
  ["an inlined playbook", "Say something kind", "Main | - $bye = Goodbye($city)"],
  ["a tail call", "$words =", "Main | - Return $bye"],
]) {
  await prove(`step out of ${name}`, async (client) => {
    await client.launch(tickets, (dc) => dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", words) })));
    assert.match(await client.halt(), /^breakpoint: /);
    assert.equal(await client.step("stepOut"), `step: ${out}`);
  });
}

await prove("step into a tail call stops inside it, and who was left out is told; the past ends where the program stands", async (client) => {
  const breakpoint = at("tickets.md", { line: line("tickets.md", "Return Farewell") });
  await client.launch(tickets, (dc) => dc.setBreakpointsRequest(breakpoint));
  await client.halt();
  assert.equal(await client.step("stepIn"), 'step: Farewell | - $words = "goodbye " + $where');
  const frames = await client.frames();
  assert.deepEqual(frames.map((frame) => [frame.name, frame.presentationHint]), [
    ["Desk.Farewell", undefined],
    ["1 caller left out that would only return (tail calls)", "label"],
    ["Desk.Main", undefined],
  ]);
  assert.equal(await client.step("stepBack"), "step: Goodbye | - Return Farewell($where)");
  // The past ends where the program stands, in the middle of this step.
  assert.equal(await client.step("next"), 'pause: Farewell | - $words = "goodbye " + $where');
  assert.equal(await client.step("stepOut"), "step: Main | - Return $bye");
});

await prove("step over a tail call stops behind it", async (client) => {
  await client.launch(tickets, (dc) => dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "Return Farewell") })));
  await client.halt();
  assert.equal(await client.step("next"), "step: Main | - Return $bye");
});

await prove("line breakpoints are verified and moved; client and adapter agree on lines", async (client, dc) => {
  let answer;
  await client.launch(tickets, async () => {
    const wanted = [{ line: line("tickets.md", "## Price") + 1 }, { line: line("tickets.md", "$tax =") }, { line: 1, condition: "$a +" }];
    answer = (await dc.setBreakpointsRequest(at("tickets.md", ...wanted))).body.breakpoints;
  });
  assert.deepEqual(answer.map((breakpoint) => breakpoint.verified), [true, true, false]);
  assert.equal(answer[0].line, line("tickets.md", "$net = 100"));
  assert.match(answer[2].message, /not an expression/);
  const event = await client.next("stopped");
  assert.deepEqual([event.reason, event.hitBreakpointIds], ["breakpoint", [answer[0].id]]);
  assert.equal(await client.where(), "Price | - $net = 100");
  const locations = await dc.send("breakpointLocations", { source: { path: file("tickets.md") }, line: 1, endLine: 100 });
  assert.ok(locations.body.breakpoints.some((place) => place.line === answer[0].line));
  assert.equal(await client.step("continue"), "breakpoint: Price | - $tax = Tax($net)");
  assert.equal(await client.step("continue"), "ended");
});

await prove("conditions, hit counts and log points", async (client) => {
  const breakpoints = at(
    "tickets.md",
    { line: line("tickets.md", "$rate = 5"), condition: "$net > 1000" },
    { line: line("tickets.md", "Return $net / $rate"), logMessage: "{$net} by {$rate} in {{braces}}" },
    { line: line("tickets.md", "Return $net + $tax"), hitCondition: ">= 2" },
    { line: line("tickets.md", "Say thanks"), condition: "$price == 120", hitCondition: "1" },
  );
  await client.launch(tickets, (dc) => dc.setBreakpointsRequest(breakpoints));
  assert.equal(await client.halt(), "breakpoint: Kindly (inlined) | - Say thanks");
  assert.equal(await client.step("continue"), "ended");
  assert.ok(client.output.console.includes("100 by 5 in {braces}\n"), client.output.console);
});

await prove("function breakpoints", async (client) => {
  let answer;
  await client.launch(tickets, async (dc) => {
    const wanted = { breakpoints: [{ name: "Tax" }, { name: "Desk.Sorry" }, { name: "Taxi" }] };
    answer = (await dc.setFunctionBreakpointsRequest(wanted)).body.breakpoints;
  });
  assert.deepEqual(answer.map((breakpoint) => breakpoint.verified), [true, true, false]);
  assert.match(answer[2].message, /did you mean Tax/);
  assert.equal(await client.halt(), "function breakpoint: Tax (inlined) | - $rate = 5");
  assert.equal(await client.step("continue"), 'function breakpoint: Sorry | - Say "We are sorry."');
  assert.equal(await client.step("continue"), "ended");
});

await prove("data breakpoints", async (client, dc) => {
  await client.launch({ ...tickets, stopOnEntry: true });
  await client.halt();
  await client.step("next");
  const own = await client.scope("Own");
  const info = (await dc.dataBreakpointInfoRequest({ variablesReference: own.variablesReference, name: "$city" })).body;
  assert.ok(info.dataId, JSON.stringify(info));
  const mood = (await dc.dataBreakpointInfoRequest({ name: "mood" })).body.dataId;
  const breakpoints = [{ dataId: mood, condition: '$mood == "calm"' }, { dataId: info.dataId }];
  const answer = (await dc.setDataBreakpointsRequest({ breakpoints })).body.breakpoints;
  assert.ok(answer.every((breakpoint) => breakpoint.verified));
  await dc.continueRequest({ threadId: 1 });
  const event = await client.next("stopped");
  assert.deepEqual([event.reason, event.hitBreakpointIds], ["data breakpoint", [answer[0].id]]);
  assert.match(event.description, /\$mood/);
  assert.equal(await client.step("continue"), "ended");
});

await prove("exception breakpoints: a match, evaluations, a failed call, a fault", async (client, dc) => {
  const filters = (...filters) => dc.setExceptionBreakpointsRequest({ filters });
  await client.launch(tickets, () => filters("triggerMatched"));
  assert.match(await client.halt(), /^exception: /);
  assert.equal((await dc.exceptionInfoRequest({ threadId: 1 })).body.description, "trigger Sorry:T1 has matched");
  await filters("triggerEvaluated");
  assert.match(await client.step("continue"), /^exception: Sorry/);
  assert.match((await dc.exceptionInfoRequest({ threadId: 1 })).body.description, /Sorry:T1 was evaluated: no_match/);
  await filters();
  assert.equal(await client.step("continue"), "ended");
});

await prove("a call that fails and the fault behind it; the exit code", async (client, dc) => {
  await client.launch({ ...talk, messages: ["Ann"] }, () => dc.setExceptionBreakpointsRequest({ filters: ["failedCalls", "faults"] }));
  assert.match(await client.halt(), /^exception: /);
  assert.match((await dc.exceptionInfoRequest({ threadId: 1 })).body.description, /Refund failed: no refunds today/);
  assert.match(await client.step("continue"), /^exception: Broken \(inlined\) \| - Return \$call/);
  const fault = (await dc.exceptionInfoRequest({ threadId: 1 })).body;
  assert.equal(fault.exceptionId, "model");
  assert.match(await client.step("stepBack"), /^step: /);
  await dc.setExceptionBreakpointsRequest({ filters: [] });
  assert.equal(await client.step("continue"), "pause: Broken (inlined) | - Return $call");
  assert.equal(await client.step("continue"), "ended");
  assert.equal((await client.next("exited")).exitCode, 1);
  assert.match(client.output.stderr, /^error\[model\]: /);
});

await prove("stack, paging, scopes, types, nested values, the clipboard", async (client, dc) => {
  await client.launch({ ...talk, messages: ["Ann"] }, () => dc.setBreakpointsRequest(at("talk.md", { line: line("talk.md", "$n = length") })));
  assert.equal(await client.halt(), "breakpoint: Count (inlined) | - $n = length of $lines");
  const page = (await dc.stackTraceRequest({ threadId: 1, startFrame: 1, levels: 1 })).body;
  assert.deepEqual([page.totalFrames, page.stackFrames.map((frame) => frame.name)], [2, ["Desk.Main"]]);
  const threads = (await dc.threadsRequest()).body.threads;
  assert.match(threads[0].name, /talk\.md \(/);
  const own = await client.scope("Own", 1);
  const { variables } = (await dc.variablesRequest({ variablesReference: own.variablesReference })).body;
  const order = variables.find((variable) => variable.name === "$order");
  assert.match(order.type, /^map|^object|^dict/);
  assert.equal(order.namedVariables, 2);
  const name = variables.find((variable) => variable.name === "$name");
  assert.deepEqual([name.value, name.evaluateName, name.type], ['"Ann"', "$name", "str, from the model"]);
  const members = (await dc.variablesRequest({ variablesReference: order.variablesReference })).body.variables;
  const lines = members.find((variable) => variable.name === "lines");
  assert.equal(lines.indexedVariables, 2);
  assert.deepEqual(await client.open(lines.variablesReference, { filter: "indexed", start: 1, count: 1 }), { "[1]": '{"name":"map","n":1}' });
  assert.equal(await client.evaluate("$order.lines[0].name", "clipboard"), "ticket");
  assert.match(await client.evaluate("length of $lines"), /^2$/);
  assert.ok(Object.keys(await client.variables("Counters")).includes("turns"));
  assert.ok(Object.keys(await client.variables("Chat session", 1)).length > 0);
  await client.refused(client.evaluate("$nobody"), "nobody");
  assert.match((await dc.evaluateRequest({ expression: "/stack", context: "repl" })).body.result, /Desk\.Main/);
  assert.match((await dc.evaluateRequest({ expression: "/vars $name", context: "repl" })).body.result, /from the model/);
  const { targets } = (await dc.completionsRequest({ text: "$na", column: 4 })).body;
  assert.deepEqual(targets.map((target) => target.label), ["$name"]);
});

await prove("a variable is set: the program goes on with it", async (client, dc) => {
  await client.launch(tickets, () => dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "Return $net + $tax") })));
  await client.halt();
  const own = await client.scope("Own");
  const set = await dc.setVariableRequest({ variablesReference: own.variablesReference, name: "$tax", value: "$net * 2" });
  assert.equal(set.body.value, "200");
  await dc.send("setExpression", { expression: "$net", value: "1000", frameId: (await client.frames())[0].id });
  assert.equal(await client.evaluate("$net + $tax"), "1200");
  await client.refused(dc.setVariableRequest({ variablesReference: own.variablesReference, name: "$tax", value: "Rome" }), "quotation marks");
  await dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "Tell the user") + 1 }));
  assert.equal(await client.step("continue"), "breakpoint: Main | - Kindly($price)");
  assert.equal(await client.evaluate("$price"), "1200");
});

await prove("back: line by line, to a breakpoint, to the beginning, and forward again", async (client, dc) => {
  await client.launch(tickets, () => dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "Say thanks") })));
  await client.halt();
  assert.equal(await client.step("stepBack"), "step: Kindly (inlined) | - Say something kind about $price");
  assert.equal(await client.step("stepBack"), "step: Main | - Kindly($price)");
  assert.equal(await client.step("stepBack"), "step: Main | - Tell the user what the ticket costs");
  assert.equal(await client.evaluate("$city"), '"Rome"');
  await dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "$rate = 5") }, { line: line("tickets.md", "Say thanks") }));
  assert.equal(await client.step("stepIn"), "step: Price | - $net = 100");
  assert.equal(await client.step("continue"), "breakpoint: Tax (inlined) | - $rate = 5");
  assert.equal(await client.step("continue"), "breakpoint: Kindly (inlined) | - Say thanks");
  assert.equal(await client.step("reverseContinue"), "breakpoint: Tax (inlined) | - $rate = 5");
  assert.equal(await client.step("reverseContinue"), 'entry: Main | - $city = "Rome"');
  await dc.setBreakpointsRequest(at("tickets.md"));
  assert.equal(await client.step("continue"), "pause: Kindly (inlined) | - Say thanks");
  assert.equal(await client.step("continue"), "ended");
  assert.ok(client.output.stdout.endsWith("Done: goodbye in Rome\n"));
});

await prove("a variable is set in the past: a fork goes on, the other session is kept", async (client, dc) => {
  const breakpoints = at("tickets.md", { line: line("tickets.md", "Return $bye") });
  await client.launch(tickets, () => dc.setBreakpointsRequest(breakpoints));
  await client.halt();
  const before = (await dc.threadsRequest()).body.threads[0].name;
  for (let i = 0; i < 6 && !(await client.where()).includes("$price = Price"); i++) await client.step("stepBack");
  assert.equal(await client.where(), "Main | - $price = Price($city)");
  const own = await client.scope("Own");
  await dc.setVariableRequest({ variablesReference: own.variablesReference, name: "$city", value: '"Oslo"' });
  assert.equal(await client.halt(), "goto: Main | - $price = Price($city)");
  assert.equal(await client.evaluate("$city"), '"Oslo"');
  assert.notEqual((await dc.threadsRequest()).body.threads[0].name, before);
  assert.equal(await client.step("continue"), "breakpoint: Main | - Return $bye");
  assert.ok(client.output.stdout.endsWith("Done: goodbye in Oslo\n"), client.output.stdout);
  const sessions = execFileSync(playhouse, ["sessions", "list"], { env: environment }).toString();
  assert.ok(sessions.includes(before.match(/\((.*)\)/)[1]));
});

await prove("a frame is begun anew", async (client, dc) => {
  await client.launch(tickets, () => dc.setBreakpointsRequest(at("tickets.md", { line: line("tickets.md", "Return $net + $tax") })));
  await client.halt();
  await dc.restartFrameRequest({ frameId: (await client.frames())[0].id });
  assert.equal(await client.halt(), "restart: Price | - $net = 100");
  assert.equal(await client.step("next"), "step: Price | - $tax = Tax($net)");
});

await prove("the debug console is the user while the program waits", async (client, dc) => {
  await client.launch(talk);
  await client.says("the program waits for the user", "console");
  assert.match((await dc.evaluateRequest({ expression: "/vars", context: "repl" })).body.result, /\$order/);
  assert.equal((await dc.evaluateRequest({ expression: "$order.id + 1", context: "watch" })).body.result, "8");
  await dc.setExceptionBreakpointsRequest({ filters: ["failedCalls"] });
  await dc.evaluateRequest({ expression: "Ann", context: "repl" });
  assert.match(await client.halt(), /^exception: /);
  assert.ok(client.output.stdout.startsWith("Who are you?\n"), client.output.stdout);
});

await prove("pause while the program waits, and on", async (client, dc) => {
  await client.launch(talk);
  await client.says("the program waits for the user", "console");
  await dc.pauseRequest({ threadId: 1 });
  assert.equal(await client.halt(), "pause: Main | - Ask the user for $name:str");
  assert.equal((await dc.evaluateRequest({ expression: "$order.id", context: "repl" })).body.result, "7");
  await dc.continueRequest({ threadId: 1 });
  await dc.evaluateRequest({ expression: "Ann", context: "repl" });
  assert.match(await client.halt(), /^exception: Broken/);
});

await prove("restart and terminate", async (client, dc) => {
  const breakpoints = at("tickets.md", { line: line("tickets.md", "$rate = 5") });
  await client.launch(tickets, () => dc.setBreakpointsRequest(breakpoints));
  await client.halt();
  await dc.restartRequest({});
  assert.equal(await client.halt(), "breakpoint: Tax (inlined) | - $rate = 5");
  await dc.terminateRequest({});
  await client.next("terminated");
  assert.equal((await client.next("exited")).exitCode, 3);
});

await prove("a session that is kept goes on, and can be looked at from its end", async (client, dc) => {
  const kept = { ...talk, session: "kept", journal: file("kept.jsonl") };
  await client.launch(kept);
  await client.says("the program waits for the user", "console");
  await dc.terminateRequest({});
  await client.next("terminated");
  await client.leave();
  const again = new Client();
  try {
    await again.launch({ ...kept, stopOnEntry: true });
    assert.equal(await again.halt(), "entry: Main | - Ask the user for $name:str");
    assert.equal(await again.step("stepBack"), "step: Main | - Ask the user for $name:str");
    assert.equal(await again.step("stepBack"), "step: Main | - $order = {\"id\": 7, \"lines\": [{\"name\": \"ticket\", \"n\": 2}, {\"name\": \"map\", \"n\": 1}]}");
  } finally {
    await again.dc.stop();
  }
});

await prove("a program that is busy can be asked, paused and left", async (client, dc) => {
  const slow = { when: ".", reply: '{"at":"02","say":"Who are you?","wait":"user"}\n', delay_ms: 600_000 };
  writeFileSync(file("slow.jsonl"), JSON.stringify(slow));
  await client.launch({ ...talk, model: `script:${file("slow.jsonl")}` });
  await client.next("thread");
  assert.equal((await dc.evaluateRequest({ expression: "$order.id", context: "watch" })).body.result, "7");
  await dc.pauseRequest({ threadId: 1 });
  assert.equal(await client.halt(), "pause: Main | - Ask the user for $name:str");
  await dc.continueRequest({ threadId: 1 });
  await client.refused(dc.nextRequest({ threadId: 1 }), "pause it first");
  await client.leave();
});

await prove("clients that connect to an address", async (client) => {
  client.hasLeft = true;
  const child = spawn(playhouse, ["debug", tickets.program, "--model", tickets.model, "--listen", "127.0.0.1:0"], { cwd: folder, env: environment });
  try {
    const port = await new Promise((resolve, reject) => {
      child.stderr.on("data", (data) => resolve(Number(String(data).match(/127\.0\.0\.1:(\d+)/)?.[1])));
      child.on("exit", () => reject(new Error("it has ended")));
    });
    const [one, two] = [new Client(), new Client()];
    for (const other of [one, two]) {
      await other.launch({ stopOnEntry: true }, undefined, port);
      assert.match(await other.halt(), /^entry: Main/);
    }
    assert.equal(await two.step("next"), "step: Main | - $price = Price($city)");
    assert.equal(await one.step("continue"), "ended");
    for (const other of [one, two]) await other.dc.stop();
  } finally {
    child.kill();
  }
});

await prove("texts without a file, and all texts", async (client, dc) => {
  writeFileSync(file("library.md"), "---\nimport: playhouse:confirm\n---\n# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = 1\n- Return $x\n");
  await client.launch({ ...tickets, program: file("library.md"), stopOnEntry: true });
  await client.halt();
  const { sources } = (await dc.send("loadedSources", {})).body;
  assert.equal(sources[0].path, file("library.md"));
  const shipped = sources.find((source) => source.sourceReference > 0);
  const { content } = (await dc.sourceRequest({ source: shipped, sourceReference: shipped.sourceReference })).body;
  assert.ok(content.includes("##"), content);
});

await prove("JSON plans: into, over, out, back, breakpoints", async (client, dc) => {
  await client.launch({ ...sum, stopOnEntry: true }, async () => {
    const [found] = (await dc.setBreakpointsRequest(at("double.jmp.json", { line: 3 }))).body.breakpoints;
    assert.equal(found.line, 3);
  });
  assert.match(await client.halt(), /^entry: sum \| \{"seq_no": 1/);
  assert.match(await client.step("next"), /^step: sum \| \{"seq_no": 2/);
  assert.equal(await client.evaluate("$n"), "21");
  assert.match(await client.step("stepIn"), /^step: double \| \{"seq_no": 1/);
  assert.match(await client.step("next"), /^breakpoint: double \| \{"seq_no": 2/);
  assert.deepEqual(await client.variables("Own"), { $x: "21", $y: "42" });
  assert.match(await client.step("stepOut"), /^step: sum \| \{"seq_no": 3/);
  assert.match(await client.step("stepBack"), /^step: sum \| \{"seq_no": 2/);
  assert.match(await client.step("stepBack"), /^step: sum \| \{"seq_no": 1/);
  await dc.setBreakpointsRequest(at("double.jmp.json"));
  assert.match(await client.step("next"), /^step: sum \| \{"seq_no": 2/);
  assert.match(await client.step("next"), /^step: sum \| \{"seq_no": 3/);
  assert.equal(await client.step("continue"), "ended");
  await client.says("42 tickets");
});

await prove("dataflow plans: steps, back, breakpoints on aliases", async (client, dc) => {
  await client.launch({ ...trip, stopOnEntry: true }, () => dc.setBreakpointsRequest(at("trip.yaml", { line: line("trip.yaml", "night:") })));
  assert.match(await client.halt(), /^entry: trip \| /);
  const stops = await client.walk("stepIn", (stop) => stop.startsWith("breakpoint"));
  assert.match(stops.at(-1), /^breakpoint: trip \| (night|hotels):/);
  assert.match(await client.step("stepBack"), /^step: trip \| /);
  await dc.setBreakpointsRequest(at("trip.yaml"));
  assert.match(await client.step("continue"), /^pause: trip \| /);
  assert.equal(await client.step("continue"), "ended");
  await client.says("Alma");
});

// A program that runs by itself, with a debugger's address; ends with its standard input.
async function listening() {
  const command = ["run", talk.program, "--model", talk.model, "--tools", talk.tools, "--debug-listen", "127.0.0.1:0"];
  const child = spawn(playhouse, command, { cwd: folder, env: environment, stdio: ["pipe", "pipe", "pipe"] });
  const program = { child, said: "", told: "" };
  child.stdout.on("data", (data) => (program.said += data));
  program.address = await new Promise((resolve, reject) => {
    child.stderr.on("data", (data) => {
      program.told += data;
      const found = program.told.match(/can attach at (127\.0\.0\.1:\d+)/);
      if (found) resolve(found[1]);
    });
    child.on("exit", () => reject(new Error(program.told)));
  });
  program.ended = new Promise((resolve) => child.on("exit", resolve));
  return program;
}

await prove("attach through the adapter, stop, look, detach; the program goes on", async (client, dc) => {
  const program = await listening();
  await dc.start();
  await dc.initializeRequest();
  await client.refused(dc.attachRequest({}), "address");
  await dc.attachRequest({ address: program.address });
  await client.next("initialized");
  await dc.setBreakpointsRequest(at("talk.md", { line: line("talk.md", "$greeting =") }));
  await dc.configurationDoneRequest();
  await client.says("the program waits for the user", "console");
  await dc.evaluateRequest({ expression: "Ann", context: "repl" });
  assert.equal(await client.halt(), 'breakpoint: Main | - $greeting = "Good day, " + $name');
  assert.equal(await client.step("stepBack"), "step: Main | - Ask the user for $name:str");
  const own = await client.scope("Own");
  const set = dc.setVariableRequest({ variablesReference: own.variablesReference, name: "$order", value: "1" });
  await client.refused(set, "sessions fork");
  await client.leave();
  await program.ended;
  assert.ok(program.said.includes("Who are you?"), program.said);
});

await prove("attach straight to the port", async (client, dc) => {
  const program = await listening();
  await dc.start(Number(program.address.split(":")[1]));
  await dc.initializeRequest();
  await client.refused(dc.launchRequest(tickets), "attach to it");
  await client.refused(dc.attachRequest({ session: "another" }), "not another");
  await dc.attachRequest({});
  await dc.configurationDoneRequest();
  await dc.pauseRequest({ threadId: 1 });
  assert.equal(await client.halt(), "pause: Main | - Ask the user for $name:str");
  await client.leave({ terminateDebuggee: true });
  await program.ended;
});

rmSync(folder, { recursive: true, force: true });
console.log(`${nPassed} passed, ${nFailed} failed`);
process.exit(nFailed === 0 && nPassed > 0 ? 0 : 1);
