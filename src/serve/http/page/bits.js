// Small things that all modules use: nodes, times, values, words for events.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);

/** Class names of those that count: `cls("tick", isNow && "now")`. */
export const cls = (...names) => names.filter(Boolean).join(" ");

/** The words for a session's state. */
export const STATES = {
  speaking: "Speaking",
  waiting: "Waiting for the user",
  approval: "Needs approval",
  timer: "Waiting for a timer",
  finished: "Finished",
  failed: "Failed",
  interrupted: "Interrupted",
};

export const isOver = (session) => session?.state === "finished" || session?.state === "failed";

/** Where a value comes from, in words. */
export const ORIGINS = {
  user: "from the user",
  code: "from the program",
  argument: "argument",
  model: "from the model",
  tool: "from a tool",
  event: "from an event",
};

/** `14:05`, with the day where it is not today; all of it is in the title. */
export function Time({ at, seconds }) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.getTime())) return null;
  const today = date.toDateString() === new Date().toDateString();
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });
  const day = today ? "" : date.toLocaleDateString([], { day: "numeric", month: "short" }) + ", ";
  return html`<time datetime=${at} title=${date.toLocaleString()}>${day}${clock}</time>`;
}

/** A value as JSON on one line, cut after `max` characters. */
export function brief(value, max = 120) {
  const text = value === undefined ? "no value" : JSON.stringify(value);
  return text.length > max ? text.slice(0, max) + "…" : text;
}

/** A value that opens where it is too long for its line. */
export function Value({ value, max = 90 }) {
  const whole = value === undefined ? "no value" : JSON.stringify(value);
  const kind = value === null || value === undefined ? "none" : typeof value;
  if (whole.length <= max) return html`<code class=${"value " + kind}>${whole}</code>`;
  const open = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return html`<details class="value long">
    <summary><code class=${kind}>${whole.slice(0, max)}…</code> <span class="size">${size(whole.length)}</span></summary>
    <pre tabindex="0">${open.slice(0, 100_000)}</pre>
  </details>`;
}

const size = (n) => (n < 1000 ? `${n} characters` : `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} kB`);

export const number = (n) => (n ?? 0).toLocaleString("en");

/** `1 turn`, `2 turns`. */
export const count = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

/** `BookATour:03`, where an event has a place. */
export const place = (event) => {
  const name = event.playbook ?? event.plan;
  return name ? (event.line ? `${name}:${event.line}` : name) : "";
};

/** `name=value, …` of the arguments of a call, an object or a list of pairs. */
export const args = (given, max = 60) =>
  pairs(given)
    .map(([name, value]) => `${name}=${brief(value, max)}`)
    .join(", ");

export const pairs = (given) => (Array.isArray(given) ? given : Object.entries(given ?? {}));

/** What an event says, on one line. */
export function gist(event) {
  const e = event;
  switch (e.type) {
    case "line_reached": return "reached";
    case "said": return `says ${brief(e.text)}`;
    case "user_message": return `user: ${brief(e.text)}`;
    case "variable_set": return `$${e.name} = ${brief(e.value)}`;
    case "variable_removed": return `$${e.name} removed`;
    case "call_queued": return `calls ${e.name}(${args(e.args)})`;
    case "call_started": return `starts ${e.name}`;
    case "call_finished": return e.error ? `${e.name} failed: ${e.error}` : `${e.name} → ${brief(e.result)}`;
    case "trigger_evaluated": return `trigger ${e.trigger}: ${String(e.verdict).replaceAll("_", " ")}`;
    case "trigger_matched": return `trigger ${e.trigger} matched`;
    case "stream_cancelled": return `reply cut off: ${e.reason}`;
    case "frame_pushed": return "called";
    case "frame_popped": return `returned ${brief(e.value)}`;
    case "turn_started": return `turn ${e.turn} begins`;
    case "turn_finished": return `turn ${e.turn} ends`;
    case "approval_asked": return `asks: ${e.question}`;
    case "approval_given": return "approved";
    case "waiting": return `waits for ${e.for}`;
    case "finished": return `finished: ${brief(e.value)}`;
    case "failed": return `failed: ${e.message}`;
    default: return String(e.type).replaceAll("_", " ") + (e.cause ?? e.reason ? `: ${e.cause ?? e.reason}` : "");
  }
}

/** What went wrong, for people. */
export const said = (error) => (error?.title ? `${error.title}. ${error.detail ?? ""}`.trim() : String(error?.message ?? error));

/** Storage that may be missing: private windows, foreign frames. */
export const keep = (store, name, value) => {
  try {
    if (value === undefined) return JSON.parse(store().getItem(name) ?? "null");
    if (value === null) store().removeItem(name);
    else store().setItem(name, JSON.stringify(value));
  } catch {
    // Then it is forgotten with the page.
  }
  return null;
};
export const local = () => localStorage;
export const tab = () => sessionStorage;
