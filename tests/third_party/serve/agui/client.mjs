// AG-UI's client talks to a server: node client.mjs URL. Prints what passed and what failed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";

const url = process.argv[2];
const agent = (program = "desk", threadId = undefined) => new HttpAgent({ url: `${url}/agui/${program}`, threadId });
const user = (content, id = randomUUID()) => ({ id, role: "user", content });
const said = (messages) => messages.filter((message) => message.role === "assistant" && message.content).map((message) => message.content);

// The events of a run, beside what the client makes of them.
async function run(agent, parameters) {
  const events = [];
  const answer = await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return { ...answer, events, kinds: events.map((event) => event.type), last: events.at(-1) };
}

// A thread that waits for a confirmation.
async function asked() {
  const desk = agent();
  desk.addMessage(user("4334"));
  const first = await run(desk);
  return { desk, first };
}

const tests = {
  async "a program begins"() {
    const desk = agent();
    const { newMessages, kinds, events } = await run(desk);
    assert.deepEqual(said(newMessages), ["Welcome.", "Please tell me the order."]);
    assert.deepEqual(kinds.slice(0, 4), ["RUN_STARTED", "STATE_SNAPSHOT", "STEP_STARTED", "TEXT_MESSAGE_START"]);
    assert.equal(events[0].protocolVersion, "1.0");
    assert.equal(events[0].metadata.playhouse.session, desk.threadId);
  },
  async "two turns: messages, calls, steps and state"() {
    const desk = agent();
    await run(desk);
    desk.addMessage(user("4334"));
    const { newMessages, events } = await run(desk);
    assert.deepEqual(said(newMessages), ["It is on its way — Äpfel."]);
    const calls = newMessages.flatMap((message) => message.toolCalls ?? []);
    assert.deepEqual(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]), [
      ["Find", { order: "4334" }],
      ["Refund", { order: "4334" }],
    ]);
    const result = newMessages.find((message) => message.role === "tool");
    assert.deepEqual([result.toolCallId, result.content], [calls[0].id, "on its way"]);
    assert.deepEqual(events.filter((event) => event.type === "STEP_STARTED").map((event) => event.stepName), ["Main", "Look"]);
    assert.equal(desk.state.order, "4334");
    const changes = events.filter((event) => event.type === "STATE_DELTA").flatMap((event) => event.delta);
    assert.ok(changes.some(({ op, path, value }) => op === "add" && path === "/found" && value === "on its way"));
  },
  async "a thread without a UUID is a session, too"() {
    const desk = agent("desk", `my thread / ${randomUUID()}`);
    const first = await run(desk);
    const { events } = await run(new HttpAgent({ url: desk.url, threadId: desk.threadId }));
    assert.equal(events[0].metadata.playhouse.session, first.events[0].metadata.playhouse.session);
  },
  async "content in parts"() {
    const desk = agent();
    desk.addMessage(user([{ type: "text", text: "4334" }]));
    await run(desk);
    assert.equal(desk.state.order, "4334");
  },
  async "a question interrupts, and yes resumes"() {
    const { desk, first } = await asked();
    assert.equal(first.last.outcome.type, "interrupt");
    const [interrupt] = desk.pendingInterrupts;
    assert.equal(interrupt.message, 'May I call Refund(order="4334")?');
    const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
    const second = await run(desk, { resume });
    assert.deepEqual(said(second.newMessages), ["It is refunded.", "Please tell me the rating."]);
    const result = second.newMessages.find((message) => message.role === "tool");
    assert.deepEqual([result.toolCallId, result.content], [interrupt.toolCallId, "refunded"]);
    assert.deepEqual(desk.pendingInterrupts, []);
    desk.addMessage(user("five"));
    const third = await run(desk);
    assert.equal(third.result, "five");
    assert.equal(third.last.metadata.playhouse.state, "finished");
  },
  async "a question interrupts, and no resumes"() {
    const { desk } = await asked();
    const resume = [{ interruptId: desk.pendingInterrupts[0].id, status: "cancelled" }];
    const { newMessages, last } = await run(desk, { resume });
    assert.match(newMessages.find((message) => message.role === "tool").content, /^error: /);
    assert.notEqual(last.outcome.type, "interrupt");
  },
  async "a run that is asked for again is the same"() {
    const desk = agent();
    const message = user("4334");
    desk.addMessage(message);
    const first = await run(desk, { runId: "mine" });
    const again = agent("desk", desk.threadId);
    again.addMessage(message);
    const second = await run(again, { runId: "mine" });
    assert.deepEqual(second.events, first.events);
    // Another run with the same message is the same, too.
    const other = agent("desk", desk.threadId);
    other.addMessage(message);
    assert.deepEqual(said((await run(other)).newMessages), said(first.newMessages));
  },
  async "a run that was cut is heard from its beginning"() {
    const desk = agent();
    const message = user("4334");
    desk.addMessage(message);
    await desk.runAgent({ runId: "cut" }, { onTextMessageContentEvent: () => desk.abortRun() }).catch(() => {});
    const again = agent("desk", desk.threadId);
    again.addMessage(message);
    const { newMessages } = await run(again, { runId: "cut" });
    assert.deepEqual(said(newMessages), ["Welcome.", "Please tell me the order.", "It is on its way — Äpfel."]);
  },
  async "a program that fails"() {
    const broken = agent("broken");
    broken.addMessage(user("4"));
    const events = [];
    await broken.runAgent({}, { onEvent: ({ event }) => void events.push(event) }).catch(() => {});
    assert.equal(events.at(-1).type, "RUN_ERROR");
    assert.equal(events.at(-1).code, "program_failed");
  },
  async "a program that is not there"() {
    await assert.rejects(agent("none").runAgent(), (error) => error.status === 404);
  },
  async "a client's tools have no effect"() {
    const desk = agent();
    const tools = [{ name: "Find", description: "Mine", parameters: { type: "object" } }];
    desk.addMessage(user("4334"));
    const { newMessages } = await run(desk, { tools, context: [{ description: "order", value: "0" }] });
    assert.equal(newMessages.find((message) => message.role === "tool").content, "on its way");
  },
};

console.error = () => {};
let passed = 0;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    passed += 1;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
