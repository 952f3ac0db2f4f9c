// VS Code (code-server) in Chromium with our extension. A second extension asks what ours answers; here it is judged, and the
// window is looked at. Pictures of it stay in PICTURES.
//     node code.mjs trusted|untrusted|missing PLAYHOUSE CODE_SERVER EXTENSION.vsix PROBE.vsix SCRATCH WORKSPACE PICTURES
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import puppeteer from "puppeteer-core";

const [part, playhouse, codeServer, extension, probe, scratch, workspace, pictures] = process.argv.slice(2);
const answers = path.join(scratch, "answers.jsonl");
const data = path.join(scratch, "data");
let passed = 0;
let failed = 0;

function check(name, isTrue, what) {
  if (isTrue) {
    passed += 1;
    console.log(`ok      ${name}`);
  } else {
    failed += 1;
    console.log(`FAILED  ${name}: ${JSON.stringify(what)?.slice(0, 1500)}`);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What `ask` answers as soon as it is true; after 20 s what it is then. */
async function until(ask) {
  for (let tries = 0; ; tries++) {
    const answer = await ask();
    if (answer || tries === 100) {
      return answer;
    }
    await pause(200);
  }
}

mkdirSync(pictures, { recursive: true });
for (const [folder, settings] of [
  ["User", {
    "workbench.startupEditor": "none", "workbench.colorTheme": "Default Light Modern", "workbench.tips.enabled": false,
    "telemetry.telemetryLevel": "off", "editor.minimap.enabled": false, "window.commandCenter": false,
    "chat.commandCenter.enabled": false, "workbench.layoutControl.enabled": false, "files.autoSave": "off",
    "testing.automaticallyOpenTestResults": "neverOpen", "testing.coverageToolbarEnabled": false, "git.enabled": false,
    "debug.toolBarLocation": "docked", "extensions.ignoreRecommendations": true,
    "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never",
    "security.workspace.trust.emptyWindow": false, "security.workspace.trust.enabled": part === "untrusted",
  }],
  // That of the machine, where it belongs.
  ["Machine", { "playhouse.server.path": part === "missing" ? path.join(scratch, "missing") : playhouse }],
]) {
  mkdirSync(path.join(data, folder), { recursive: true });
  writeFileSync(path.join(data, folder, "settings.json"), JSON.stringify(settings));
}
const folders = ["--user-data-dir", data, "--extensions-dir", path.join(scratch, "extensions")];
for (const one of [extension, probe]) {
  execFileSync(codeServer, [...folders, "--install-extension", one], { stdio: "ignore" });
}
const server = spawn(
  codeServer,
  [...folders, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--config", path.join(scratch, "config.yaml")],
  { env: { ...process.env, PLAYHOUSE_PROBE: answers, PLAYHOUSE_PART: part, XDG_STATE_HOME: path.join(scratch, "state") } },
);
let told = "";
server.stdout.on("data", (text) => (told += text));
server.stderr.on("data", (text) => (told += text));
const url = await until(() => /server listening on (http:\S+)/.exec(told)?.[1]);
if (!url) {
  console.log(told);
  server.kill();
  process.exit(1);
}
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
  defaultViewport: { width: 1280, height: 800 },
});
const page = await browser.newPage();
await page.goto(`${url.replace(/\/$/, "")}/?folder=${workspace}`, { waitUntil: "domcontentloaded", timeout: 60000 });

/** The texts of what a selector finds in the window; `name` is an attribute, or the text. */
const texts = (selector, name) =>
  page.$$eval(selector, (found, name) => found.map((one) => (name ? one.getAttribute(name) : one.textContent) ?? ""), name);
/** What is said in boxes at the bottom. */
const messages = () => texts(".notification-list-item-message");
/** Whether the window has an element whose text has this part. */
const has = (selector, part, name) => until(async () => (await texts(selector, name)).some((text) => text.includes(part)));

/** The texts of what a selector finds in our panel. */
const inPanel = async (selector) =>
  (await until(async () => {
    for (const frame of page.frames()) {
      const found = await frame.$$eval(selector, (all) => all.map((one) => one.textContent)).catch(() => []);
      if (found.length > 0) {
        return found;
      }
    }
  })) ?? [];

/** Clicks on the first of them. */
async function clickInPanel(selector) {
  for (const frame of page.frames()) {
    await frame.$eval(selector, (found) => found.dispatchEvent(new MouseEvent("click", { bubbles: true }))).catch(() => undefined);
  }
}

/** Answers the question at the top of the window. */
async function enter(text) {
  await page.waitForSelector(".quick-input-widget input", { visible: true });
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/** Looks at the window in which something is to be seen. */
const looks = {
  findings: async () => {
    check("what a line costs is shown", await has(".monaco-hover", "the model's"), await texts(".monaco-hover"));
    check("a finding is underlined", await until(() => page.$(".squiggly-error")));
    check("line ids are shown", await has(".view-line", "=01"), await texts(".view-line"));
    check("lenses are shown", await has(".codelens-decoration", "run"), await texts(".codelens-decoration"));
  },
  breakpoint: async () => {
    // Room for the panel.
    for (const view of ["Watch", "Loaded Scripts", "Breakpoints"]) {
      await page.$eval(`.pane-header[aria-label^="${view}"][aria-expanded="true"]`, (header) => header.click()).catch(() => undefined);
      await pause(300);
    }
    check("the editor shows the line", await until(() => page.$(".debug-top-stack-frame-line, .debug-stackframe, .codicon-debug-stackframe")));
    check("one red mark for one breakpoint", (await page.$$(".monaco-editor .debug-breakpoint-placeholder")).length === 0, "a mark inside the line");
    check("variables are shown", await has(".debug-variables .monaco-list-row", "$total"), await texts(".debug-variables .monaco-list-row"));
    const frames = await inPanel("#frames button");
    check("the panel shows the frames", frames[0]?.includes("Main") && frames[0].includes("tickets.md:19"), frames);
    await clickInPanel("#frames button");
    check("a click on a frame goes to its line", await has(".statusbar-item", "Ln 19, Col 1"), await texts(".statusbar-item"));
    const boxes = await inPanel("svg .frame.top");
    check("the panel shows the frame in the graph", boxes.length === 1 && boxes[0].includes("Main"), boxes);
  },
  back: async () => {
    check("after a step back the call stack says so", await has(".debug-pane .monaco-list-row, .debug-pane .pane-header", "past"), await texts(".debug-pane"));
  },
  why: async () => {
    await enter("GroupRate");
    check("why a trigger fired is told", await has(".view-line", "GroupRate:T1"), await texts(".view-line"));
  },
  missing: async () => {
    const isTold = async () => (await messages()).some((text) => text.includes("cargo install"));
    check("a missing binary is told of, with the command to install it", await until(isTold), await messages());
  },
  broken: async () => {
    check("a program with errors is refused in one sentence", (await until(async () => (await messages()).some((text) => text.includes("broken.md has")))), await messages());
    check("its errors are shown first", await has(".markers-panel .monaco-list-row", "Nothing"), await texts(".markers-panel .monaco-list-row"));
  },
  run: async () => check("the program has spoken in a terminal", await until(() => page.$(".terminal-wrapper .xterm"))),
  new: async () => {
    await enter("shop2");
    check("a new program is opened", await has(".tab .label-name", "program.md"), await texts(".tab .label-name"));
  },
  graph: async () => {
    const boxes = await inPanel("svg .playbook");
    check("the panel shows the graph", boxes.some((box) => box.includes("GroupRate")), boxes);
    await clickInPanel('svg [data-id="playbook:Cost"]');
    check("a click on a box goes to its line", await has(".tab.active .label-name", "prices.md"), await texts(".tab.active"));
  },
  restricted: async () => check("the window is restricted", await has(".statusbar-item", "Restricted Mode"), await texts(".statusbar-item")),
  callers: async () => {
    check("callers are shown", await has(".call-hierarchy .monaco-list-row", "Main"), await texts(".call-hierarchy .monaco-list-row"));
  },
  tests: async () => {
    const rows = () => texts(".test-explorer .monaco-list-row", "aria-label");
    for (const wanted of ["tickets.test.md (Passed", "wrong.test.md (Failed", "tickets.triggers.md (Passed"]) {
      check(`tests: ${wanted})`, await until(async () => (await rows()).some((row) => row.startsWith(wanted))), await rows());
    }
  },
  coverage: async () => {
    check("lines that are reached are marked", await until(async () => (await page.$$(".coverage-deco-gutter.coverage-deco-hit")).length >= 7), (await page.$$(".coverage-deco-gutter")).length);
    check("a branch that went one way only is marked, too", await until(() => page.$(".coverage-deco-gutter.coverage-deco-miss")));
    check("the coverage of files is shown", await has(".monaco-list-row", "prices.md100.00%"), await texts(".monaco-list-row"));
  },
};

const said = new Map();
let read = 0;
for (const start = Date.now(); !said.has("done") && Date.now() - start < 240000; await pause(100)) {
  const lines = existsSync(answers) ? readFileSync(answers, "utf8").split("\n") : [""];
  // What stands after the last line end is being written.
  for (; read < lines.length - 1; read++) {
    const { name, value } = JSON.parse(lines[read]);
    if (name !== "look") {
      said.set(name, value);
      continue;
    }
    await looks[value]();
    // Nothing is under the mouse; what moves has come to rest.
    await page.mouse.move(700, 790);
    await pause(700);
    await page.screenshot({ path: path.join(pictures, `${value}.png`) });
    writeFileSync(`${answers}.${value}`, "");
  }
}
await page.screenshot({ path: path.join(pictures, "end.png") });
await browser.close();
server.kill();
writeFileSync(path.join(pictures, "answers.json"), JSON.stringify(Object.fromEntries(said), null, 1));

/** Checks one answer. */
function judge(name, isRight) {
  const value = said.get(name);
  let right = false;
  try {
    right = value !== undefined && isRight(value);
  } catch {
    // What has another form is wrong.
  }
  check(name, right, value);
}

/** Whether a list has one with this part, or with these parts. */
const lists = (...parts) => (list) => parts.every((part) => list.some((one) => JSON.stringify(one).includes(JSON.stringify(part).slice(1, -1))));
const is = (...wanted) => (list) => JSON.stringify(list) === JSON.stringify(wanted);

for (const [name, value] of said) {
  if (name.startsWith("trouble")) {
    check("no trouble", false, [name, value]);
  }
}
judge("done", (done) => done);
if (part === "untrusted") {
  judge("is trusted", (is) => is === false);
  judge("findings", lists("unknown-callee"));
  judge("lenses", (found) => JSON.stringify(found.map((lens) => lens.title)) === JSON.stringify(["1 caller (1 trigger)"]));
  judge("tasks that were run", is());
} else if (part === "trusted") {
  judge("language id", (id) => id === "markdown");
  judge("lenses", lists("playhouse.run", "playhouse.debug", "1 caller (1 trigger)"));
  judge("findings at first", is());
  judge("findings while typing", (found) => found.length === 1 && found[0].line === 33 && found[0].code === "unknown-callee" && found[0].source === "playhouse");
  judge("quick fixes", lists("Cost"));
  judge("findings after the fix", is());
  judge("line after the fix", (line) => line === "- $more = Cost(1, 2)");
  judge("hover of a call", lists("Cost($n, $price) -> int", "What so many tickets cost"));
  judge("hover of a line", lists("the model's"));
  judge("hover of a variable", lists("$total"));
  judge("hover of a trigger", lists("$n > 5"));
  judge("completion after $", lists("$total", "$price", "$n"));
  judge("completion after a bullet", lists("Cost($n, $price)"));
  judge("definition", is("prices.md:1:4"));
  judge("references", (places) => is("prices.md:1:4", "tickets.md:17:12")([...places].sort()));
  judge("highlights", is(17, 18, 19, 21));
  judge("symbols", lists("6 explicit, 1 by the model", "Event"));
  judge("workspace symbols", lists("Cost prices.md:1:4"));
  judge("hints", lists("15 =01", "19 =04.01", "20 05"));
  judge("folds", lists("7-21", "18-19"));
  judge("signature", is("Cost($n, $price) -> int"));
  judge("tokens", lists("18 If keyword.explicit", "20 Tell keyword.byModel", "17 Cost function"));
  judge("callers", is("Main 17"));
  judge("rename", (files) => files.length === 2);
  judge("renamed", is("- $total = PriceOfTickets($n, $price)", "## Price of tickets($n, $price) -> int"));
  judge("findings after the rename", is());
  judge("rename to a taken name", (refused) => refused.includes("GroupRate"));
  judge("foreign", is(0, 0, 0));
  judge("started", (started) => started);
  judge("breakpoints", ({ breakpoints: [one] }) => one.verified && one.line === 19);
  judge("stopped", (stopped) => stopped.reason === "breakpoint");
  judge("stack", is("BoxOffice.Main:19"));
  judge("variables", is("$price = 10", "$n = 6", "$total = 63"));
  judge("stepped back", (stopped) => stopped.description.includes("in the past"));
  judge("stack after the step back", is("BoxOffice.Main:18"));
  judge("broken is started", (started) => started === false);
  // The tests of the new program, which come from its template, may have been found by then, or not.
  const known = (exits) => exits.filter((exit) => !/^program\..*test\.md 0$/.test(exit)).sort();
  judge("tests that were debugged", (exits) => is("tickets.test.md 0", "wrong.test.md 1")(known(exits)));
  judge("run ended with", (code) => code === 0);
  judge("format", (text) => text.includes("## Main\n\n### Triggers\n\n- At the beginning"));
}
server.on("exit", () => {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
});
