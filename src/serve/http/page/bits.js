// Nodes, times, values, words for events: what all modules use.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);

export const cls = (...names) => names.filter(Boolean).join(" ");

export const STATES = {
  speaking: "Speaking",
  waiting: "Waiting for the user",
  approval: "Needs approval",
  timer: "Waiting for a timer",
  finished: "Finished",
  failed: "Failed",
  interrupted: "Interrupted",
};

export const Dot = ({ state }) => html`<span class=${`dot ${state.replace(" ", "-")}`}></span>`;

export const ORIGINS = { user: "from the user", code: "from the program", argument: "an argument", model: "from the model", tool: "from a tool", event: "from an event" };

// `14:05`, with the day where it is not today.
export function Time({ at, seconds }) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.getTime())) return null;
  const two = "2-digit";
  const clock = date.toLocaleTimeString([], { hour: two, minute: two, ...(seconds && { second: two }) });
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, `;
  return html`<time datetime=${at} title=${date.toLocaleString()}>${day}${clock}</time>`;
}

const json = (value) => (value === undefined ? "no value" : JSON.stringify(value));

export function brief(value, max = 120) {
  const text = json(value);
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

// A value that opens where it is too long for its line.
export function Value({ value, max = 90 }) {
  const text = json(value);
  if (text.length <= max) return html`<code class=${cls("value", (value ?? null) === null && "none")}>${text}</code>`;
  const all = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return html`<details class="value"><summary><code>${text.slice(0, max)}…</code> <span class="size">${number(text.length)} characters</span></summary><pre tabindex="0">${all.slice(0, 100_000)}</pre></details>`;
}

export const number = (n) => (n ?? 0).toLocaleString("en", { maximumFractionDigits: 4 });

// `1 turn`, `2 turns`.
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

// `BookATour:03`, where an event has a place.
export const place = ({ playbook, plan, line }) => [playbook ?? plan, line].filter(Boolean).join(":");

export const pairs = (given) => (Array.isArray(given) ? given : Object.entries(given ?? {}));
export const args = (given, max) => pairs(given).map(([name, value]) => `${name}=${brief(value, max)}`).join(", ");

const GISTS = {
  said: (e) => `says ${brief(e.text)}`,
  user_message: (e) => `the user says ${brief(e.text)}`,
  variable_set: (e) => `$${e.name} = ${brief(e.value)}`,
  call_queued: (e) => `calls ${e.name}(${args(e.args, 60)})`,
  call_finished: (e) => `${e.name} → ${e.error ?? brief(e.result)}`,
  trigger_matched: (e) => `trigger ${e.trigger} matched`,
  frame_popped: (e) => `returned ${brief(e.value)}`,
  finished: (e) => `finished with ${brief(e.value)}`,
};

export const gist = (e) => GISTS[e.type]?.(e) ?? [e.type.replaceAll("_", " "), e.name ?? e.trigger, e.message ?? e.reason ?? e.cause ?? e.question].filter(Boolean).join(" ");

export const said = ({ title, detail = "", message }) => (title ? `${title}. ${detail}` : message);
export const Trouble = ({ of }) => of && html`<p class="problem" role="alert">${said(of)}</p>`;

export const enc = encodeURIComponent;
export const sessionPath = (id) => `/api/sessions/${enc(id)}`;
export const sessionLink = (id) => `#/s/${enc(id)}`;

// Keeps a value, forgets it (`null`), or reads it. Private windows and foreign frames may have no storage.
export function keep(storage, name, value) {
  try {
    const store = globalThis[storage];
    if (value === undefined) return JSON.parse(store.getItem(name));
    if (value === null) store.removeItem(name);
    else store.setItem(name, JSON.stringify(value));
  } catch {
    // Then it is forgotten with the page.
  }
  return null;
}
