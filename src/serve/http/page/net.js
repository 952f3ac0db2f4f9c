// Requests and event streams. Nothing else talks with the server.

let token = null;

// What requests carry from now on; without it the browser's cookie counts.
export const useToken = (value) => {
  token = value;
};

// A refusal of the server (RFC 9457), or no answer at all: status 0.
export class Problem extends Error {
  constructor(status, { title, detail, errors }, after = 0) {
    super(detail ?? title);
    this.status = status;
    this.title = title ?? `The server answered ${status}`;
    this.detail = errors?.length ? errors.map((error) => error.detail).join(" ") : detail;
    this.after = after;
  }
  get passes() {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}

const lost = () => {
  throw new Problem(0, { title: "No connection", detail: "The server does not answer." });
};

async function ask(path, headers, options) {
  const answer = await fetch(path, { cache: "no-store", headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) }, ...options }).catch(lost);
  if (answer.ok || answer.status === 304) return answer;
  // A proxy's page is no JSON: the status tells enough.
  throw new Problem(answer.status, await answer.json().catch(() => ({})), Number(answer.headers.get("retry-after")) || 0);
}

export async function api(method, path, body) {
  const answer = await ask(path, body && { "content-type": "application/json" }, { method, body: body && JSON.stringify(body) });
  return answer.status === 204 ? null : answer.json().catch(lost);
}

// Asks for the same again and again; answers null where nothing has changed.
export function fresh(path) {
  let etag = null;
  return async () => {
    const answer = await ask(path, etag && { "if-none-match": etag });
    if (answer.status === 304) return null;
    etag = answer.headers.get("etag");
    return answer.json().catch(lost);
  };
}

// The server sends a comment every 15 seconds; who hears nothing for longer has lost it.
const SILENCE = 40_000;
const LONGEST_PAUSE = 15_000;

// Follows a stream of events until it is closed: after a lost connection from the last mark on, with growing pauses; not
// while the tab is hidden. `on` has `event(event, mark)`, `reset()`, `refused(problem)`, which ends it, and `link(state)`:
// `live`, `connecting`, `lost`, `paused`.
export class Stream {
  constructor(path, on, mark) {
    Object.assign(this, { path, on, mark, failures: 0, pause: 500, isClosed: false, abort: null });
    this.watch = () => (document.hidden ? this.stop() : this.start());
    document.addEventListener("visibilitychange", this.watch);
    addEventListener("online", this.watch);
    this.watch();
  }

  start() {
    clearTimeout(this.timer);
    if (!this.isClosed && !this.abort && !document.hidden) this.run((this.abort = new AbortController()));
  }

  stop() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
    if (!this.isClosed) this.on.link("paused");
  }

  close() {
    this.isClosed = true;
    this.stop();
    document.removeEventListener("visibilitychange", this.watch);
    removeEventListener("online", this.watch);
  }

  async run(abort) {
    let wait = 0;
    this.on.link(this.failures ? "lost" : "connecting");
    try {
      const after = this.mark ? `&after=${encodeURIComponent(this.mark)}` : "";
      const answer = await ask(this.path + after, { accept: "text/event-stream" }, { signal: abort.signal });
      if (this.abort !== abort) return;
      this.on.link("live");
      await this.read(answer.body.getReader(), abort);
    } catch (problem) {
      if (this.abort !== abort) return;
      if (problem instanceof Problem && !problem.passes) {
        this.close();
        this.on.refused(problem);
        return;
      }
      wait = (problem.after ?? 0) * 1000;
    }
    if (this.abort !== abort) return;
    abort.abort();
    this.abort = null;
    wait = Math.max(wait, Math.min(LONGEST_PAUSE, this.pause * 2 ** this.failures) * (0.8 + Math.random() * 0.4));
    this.failures += 1;
    this.on.link("lost");
    this.timer = setTimeout(() => this.start(), wait);
  }

  async read(reader, abort) {
    const decoder = new TextDecoder();
    let [rest, event, silence] = ["", {}, 0];
    for (;;) {
      silence = setTimeout(() => reader.cancel(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done || this.abort !== abort) return;
      this.failures = 0;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) {
        if (line) {
          const [, name, text] = /^([^:]*):? ?([^]*)$/.exec(line);
          event[name] = text;
        } else {
          if (event.event === "bye") return;
          this.take(event);
          event = {};
        }
      }
    }
  }

  take({ event, id, data, retry }) {
    if (retry) this.pause = Number(retry) || 500;
    if (event === "reset") {
      this.mark = null;
      this.on.reset();
    } else if (data) {
      this.mark = id ?? this.mark;
      this.on.event(JSON.parse(data), id);
    }
  }
}

// Marks in order: `1:12+5` is 12 events and 5 bytes.
export const markOrder = (mark) => {
  const [, n, bytes] = /^\d+:(\d+)\+?(\d*)$/.exec(mark ?? "") ?? [0, -1];
  return Number(n) * 1e9 + Number(bytes ?? 0);
};
