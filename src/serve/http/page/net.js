// Requests and event streams. Nothing else talks with the server.

let token = null;

/** What requests carry from now on; without it the browser's cookie counts. */
export const useToken = (value) => {
  token = value;
};

/** A refusal of the server (RFC 9457), or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(status, body, after) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    this.title = body.title ?? `The server answered ${status}`;
    this.detail = body.errors?.length ? body.errors.map((e) => e.detail).join(" ") : body.detail;
    this.after = after;
  }
  /** Whether the same request may succeed later. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

const headers = (more) => ({ ...more, ...(token && { authorization: `Bearer ${token}` }) });

async function refusal(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // A proxy's page: the status tells enough.
  }
  return new Problem(answer.status, body, Number(answer.headers.get("retry-after")) || 0);
}

async function ask(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "No connection", detail: "The server does not answer." });
  }
}

/** A request with JSON; answers its JSON. */
export async function api(method, path, body) {
  const answer = await ask(path, {
    method,
    headers: headers(body !== undefined && { "content-type": "application/json" }),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw await refusal(answer);
  return answer.status === 204 ? null : answer.json();
}

/** Asks again only for what has changed. */
export function fresh() {
  let etag = null;
  let path = null;
  return async (asked) => {
    const same = path === asked && etag;
    const answer = await ask(asked, { headers: headers(same && { "if-none-match": etag }) });
    if (answer.status === 304) return null;
    if (!answer.ok) throw await refusal(answer);
    etag = answer.headers.get("etag");
    path = asked;
    return answer.json();
  };
}

/** The server sends a comment every 15 seconds; who hears nothing for longer has lost it. */
const SILENCE = 40_000;
const LONGEST_PAUSE = 15_000;

/**
 * Follows a stream of events, for as long as it is not closed: after a lost connection from the last mark on, with
 * growing pauses; not while the tab is hidden.
 *
 * `on.event(type, data, mark)`, `on.reset()`, `on.link(state, retryAt)` with `live`, `connecting`, `lost`, `paused`;
 * `on.refused(problem)` ends it.
 */
export class Stream {
  constructor(path, on) {
    this.path = path;
    this.on = on;
    this.mark = null;
    this.failures = 0;
    this.pause = 500;
    this.closed = false;
    this.abort = null;
    this.timer = 0;
    this.watch = () => (document.hidden ? this.stop("paused") : this.start());
    this.hurry = () => this.start();
    document.addEventListener("visibilitychange", this.watch);
    addEventListener("online", this.hurry);
    if (document.hidden) on.link("paused");
    else this.start();
  }

  /** Connects, at once; no effect on one that is connected. */
  start() {
    clearTimeout(this.timer);
    if (this.closed || this.abort || document.hidden) return;
    this.abort = new AbortController();
    this.run(this.abort);
  }

  stop(state) {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
    if (!this.closed) this.on.link(state);
  }

  close() {
    this.closed = true;
    this.stop();
    document.removeEventListener("visibilitychange", this.watch);
    removeEventListener("online", this.hurry);
  }

  async run(abort) {
    this.on.link(this.failures ? "lost" : "connecting");
    try {
      const path = this.path + (this.mark ? `${this.path.includes("?") ? "&" : "?"}after=${encodeURIComponent(this.mark)}` : "");
      const answer = await ask(path, { headers: headers({ accept: "text/event-stream" }), signal: abort.signal });
      if (!answer.ok) throw await refusal(answer);
      if (this.abort !== abort) return;
      this.on.link("live");
      await this.read(answer.body.getReader(), abort);
    } catch (error) {
      if (this.abort !== abort) return;
      if (error instanceof Problem && !error.passes) {
        this.close();
        this.on.refused(error);
        return;
      }
      this.pause = Math.max(this.pause, (error.after ?? 0) * 1000);
    }
    if (this.abort !== abort || this.closed) return;
    abort.abort();
    this.abort = null;
    const wait = Math.min(LONGEST_PAUSE, this.pause * 2 ** Math.min(this.failures, 6)) * (0.8 + Math.random() * 0.4);
    this.failures += 1;
    this.on.link("lost", Date.now() + wait);
    this.timer = setTimeout(() => this.start(), wait);
  }

  /** Reads until the connection ends. */
  async read(reader, abort) {
    const decoder = new TextDecoder();
    let rest = "";
    let event = {};
    let silence = 0;
    const guard = () => {
      clearTimeout(silence);
      // Ending the reader ends the reading, which is a lost connection.
      silence = setTimeout(() => reader.cancel().catch(() => {}), SILENCE);
    };
    try {
      for (;;) {
        guard();
        const { done, value } = await reader.read();
        if (done || this.abort !== abort) return;
        this.failures = 0;
        const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
        rest = lines.pop();
        for (const line of lines) {
          if (line === "") {
            if (this.take(event) === "end") return;
            event = {};
          } else if (line[0] !== ":") {
            const at = line.indexOf(":");
            const name = at < 0 ? line : line.slice(0, at);
            const text = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
            event[name] = name === "data" && "data" in event ? `${event.data}\n${text}` : text;
          }
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }

  take(event) {
    if (event.retry) this.pause = Math.min(Number(event.retry) || 500, LONGEST_PAUSE);
    if (event.event === "reset") {
      this.mark = null;
      this.on.reset();
    } else if (event.event === "bye") {
      return "end";
    } else if (event.data !== undefined) {
      if (event.id) this.mark = event.id;
      this.on.event(event.event ?? "message", JSON.parse(event.data), event.id ?? null);
    }
    return null;
  }
}

/** Marks in order: `1:12+5` is 12 events and 5 bytes. */
export const markOrder = (mark) => {
  const [, n, bytes] = /^\d+:(\d+)(?:\+(\d+))?$/.exec(mark ?? "") ?? [];
  return n === undefined ? -1 : Number(n) * 1e9 + Number(bytes ?? 0);
};
