// OpenAI's client for JavaScript talks to a server: node client.mjs URL. Prints what passed and what failed.

import assert from "node:assert/strict";
import OpenAI from "openai";

const url = process.argv[2];
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const APPLES = "Which fruit?\n\nÄpfel are sweet — all of them.";
const user = (content) => ({ role: "user", content });

const tests = {
  async "models are listed"() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.deepEqual(ids, ["desk"]);
  },
  async "a chat goes on"() {
    const first = await client.chat.completions.create({ model: "desk", messages: [user("apples")] });
    assert.equal(first.choices[0].message.content, APPLES);
    const messages = [user("apples"), { role: "assistant", content: APPLES }, user("apples")];
    const second = await client.chat.completions.create({ model: "desk", messages });
    assert.equal(second.playhouse.session, first.playhouse.session);
  },
  async "a chat is streamed"() {
    const stream = await client.chat.completions.create({ model: "desk", messages: [user("apples")], stream: true });
    let said = "";
    for await (const chunk of stream) said += chunk.choices[0]?.delta?.content ?? "";
    assert.equal(said, APPLES);
  },
  async "a fault has its class"() {
    const asked = client.chat.completions.create({ model: "none", messages: [user("apples")] });
    await assert.rejects(asked, (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
  },
  async "responses go on"() {
    const first = await client.responses.create({ model: "desk", input: "apples" });
    assert.equal(first.output_text, APPLES);
    const second = await client.responses.create({ model: "desk", input: "apples", previous_response_id: first.id });
    assert.equal(second.conversation.id, first.conversation.id);
  },
  async "a response is streamed and taken up"() {
    let said = "";
    let last;
    const stream = await client.responses.create({ model: "desk", input: "apples", stream: true });
    for await (const event of stream) {
      if (event.type === "response.created") last = { id: event.response.id };
      if (event.type !== "response.output_text.delta") continue;
      said += event.delta;
      last.after = event.sequence_number;
      break;
    }
    const rest = await client.responses.retrieve(last.id, { stream: true, starting_after: last.after });
    for await (const event of rest) if (event.type === "response.output_text.delta") said += event.delta;
    assert.equal(said, APPLES);
  },
};

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
