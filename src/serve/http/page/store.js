// One session as the page knows it: the events make its conversation, `state` says what the interpreter knows.
import { isOver, keep, place, tab } from "./bits.js";
import { api, fresh, markOrder, Problem, Stream } from "./net.js";
import { Talk } from "./talk.js";

/** Calls `run` at most once in `ms`, and once more after the last wish. */
function paced(ms, run) {
  let [last, timer, running, again] = [0, 0, false, false];
  return function wish() {
    if (running) {
      again = true;
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(async () => {
      [last, running] = [Date.now(), true];
      await run();
      running = false;
      if (again) {
        again = false;
        wish();
      }
    }, Math.max(0, last + ms - Date.now()));
  };
}

/** A message's name: made once, so that what is sent again is one message. */
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Events after which the session itself is another: its state, what it asks, what it has cost. */
const SESSION_NEWS = new Set(["session_started", "session_resumed", "turn_started", "turn_finished", "waiting", "user_message", "approval_asked", "approval_given", "finished", "failed"]);

export class Store {
  constructor(id, { isSpeechOnly = false, onRefused } = {}) {
    this.id = id;
    this.path = `/api/sessions/${encodeURIComponent(id)}`;
    this.isSpeechOnly = isSpeechOnly;
    this.onRefused = onRefused;
    this.listeners = new Set();
    this.isClosed = false;
    this.session = null;
    this.source = null;
    this.problem = null;
    this.link = { state: "connecting", at: 0 };
    this.announced = "";
    this.pending = [];
    this.answered = new Map();
    this.at = null; // index of the tick that is looked at; null: now
    this.now = null; // the state now
    this.past = new Map(); // point → state
    this.forget();
    this.askState = paced(200, () => this.loadState());
    this.askSteps = paced(500, () => this.loadSteps());
    this.askSession = paced(400, () => this.loadSession());
    this.stateIfNew = fresh();
  }

  forget() {
    this.talk = new Talk();
    this.ticks = [];
    this.points = [];
    this.lastPoint = null;
    this.isCaughtUp = false;
  }

  listen(hear) {
    this.listeners.add(hear);
    return () => this.listeners.delete(hear);
  }

  /** Shows what has changed, once per frame. */
  changed() {
    if (this.frame || this.isClosed) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.listeners.forEach((hear) => hear());
    });
  }

  async open() {
    for (let failures = 0; !this.isClosed && !this.session; failures += 1) {
      try {
        this.session = await api("GET", this.path);
      } catch (error) {
        if (!(error instanceof Problem && error.passes)) return this.refuse(error);
        this.link = { state: "lost", at: 0 };
        this.changed();
        await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 500 * 2 ** failures)));
      }
    }
    if (this.isClosed) return null;
    this.goal = markOrder(this.session.mark);
    this.pending = keep(tab, `pending:${this.id}`) ?? [];
    this.pending.forEach((message) => this.post(message));
    this.stream = new Stream(`${this.path}/events?show=${this.isSpeechOnly ? "speech" : "all"}`, {
      event: (type, event, mark) => this.take(event, mark),
      reset: () => {
        this.forget();
        this.askSteps();
        this.changed();
      },
      link: (state, at = 0) => {
        this.link = { state, at };
        if (state === "live") this.askAll();
        this.changed();
      },
      refused: (problem) => this.refuse(problem),
    });
    if (!this.isSpeechOnly) {
      this.source = await api("GET", `${this.path}/source`).catch(() => ({ files: [], lines: [] }));
      this.changed();
    }
    return null;
  }

  close() {
    this.isClosed = true;
    this.stream?.close();
    cancelAnimationFrame(this.frame);
  }

  refuse(problem) {
    this.problem = problem;
    this.onRefused?.(problem);
    this.changed();
  }

  askAll() {
    this.askSession();
    if (this.isSpeechOnly) return;
    this.askState();
    this.askSteps();
  }

  take(event, mark) {
    const said = this.talk.take(event, mark);
    if (mark && markOrder(mark) >= this.goal) this.isCaughtUp = true;
    if (said && this.isCaughtUp) this.announced = said;
    if (event.type === "approval_asked") this.answered.delete(event.call);
    if (event.type === "user_message") this.heard(event.text, mark);
    if (event.type === "finished" || event.type === "failed") {
      this.stream?.close();
      this.link = { state: "over", at: 0 };
    }
    // History is not news.
    if (this.isCaughtUp || !mark) {
      if (SESSION_NEWS.has(event.type)) this.askSession();
      if (!this.isSpeechOnly && event.type !== "said_delta" && event.type !== "call_progress") {
        this.askState();
        this.askSteps();
      }
    }
    this.changed();
  }

  async attempt(run) {
    try {
      await run();
      this.changed();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status === 401) this.refuse(error);
      // Else the stream tells of a lost connection, and asks again when it is back.
    }
  }

  loadSession() {
    return this.attempt(async () => {
      this.session = await api("GET", this.path);
    });
  }

  /** The point that is looked at; null: now. */
  get point() {
    return this.at === null ? null : this.ticks[this.at]?.point ?? null;
  }

  /** What the interpreter knows, then or now; of a point that has not come yet, the one before. */
  get state() {
    if (this.point) this.shown = this.past.get(this.point) ?? this.shown ?? this.now;
    else this.shown = this.now;
    return this.shown;
  }

  loadState() {
    return this.attempt(async () => {
      const point = this.point;
      if (!point) {
        this.now = (await this.stateIfNew(`${this.path}/state`)) ?? this.now;
      } else if (!this.past.has(point)) {
        const state = await api("GET", `${this.path}/state?at=${encodeURIComponent(point)}`);
        if (this.past.size > 200) this.past.clear();
        this.past.set(point, state);
      }
    });
  }

  loadSteps() {
    return this.attempt(async () => {
      for (let more = true; more && !this.isClosed; ) {
        const after = this.lastPoint ? `&after=${encodeURIComponent(this.lastPoint)}` : "";
        const { steps, next } = await api("GET", `${this.path}/steps?limit=1000${after}`);
        steps.forEach((step) => this.step(step));
        more = next !== null && steps.length > 0;
        this.changed();
      }
    });
  }

  /** A tick per line that was reached; what else happened counts to the line before. */
  step({ point, time, mark, event }) {
    this.lastPoint = point;
    if (event.type === "line_reached") {
      const before = this.ticks.at(-1);
      const isTurn = event.turn !== undefined && event.turn !== this.turn;
      if (isTurn) this.turn = event.turn;
      this.ticks.push({ point, time, name: place(event), turn: event.turn ?? before?.turn ?? null, isTurn, marks: [] });
    } else if (["user_message", "trigger_matched", "failed", "approval_asked"].includes(event.type)) {
      this.ticks.at(-1)?.marks.push(event.type);
    }
    if (mark) this.points.push([markOrder(mark), this.ticks.length - 1]);
  }

  /** Looks at a tick; beyond the last one, at now. */
  go(index) {
    this.at = index === null || index >= this.ticks.length ? null : Math.max(0, index);
    this.askState();
    this.changed();
  }

  /** The tick at which an item of the conversation came. */
  tickOf(mark) {
    const wanted = markOrder(mark);
    return this.points.findLast(([order]) => order <= wanted)?.[1] ?? -1;
  }

  // The composer's messages.

  save() {
    keep(tab, `pending:${this.id}`, this.pending.length ? this.pending.map(({ id, text, after }) => ({ id, text, after })) : null);
    this.changed();
  }

  send(text) {
    const message = { id: newId(), text, after: this.stream?.mark ?? null };
    this.pending.push(message);
    this.save();
    this.post(message);
  }

  async post(message, failures = 0) {
    message.problem = null;
    try {
      const { duplicate } = await api("POST", `${this.path}/messages`, { text: message.text, id: message.id });
      message.isSent = true;
      if (duplicate && this.isCaughtUp && this.talk.hasHeard(message.text, message.after)) this.drop(message);
    } catch (error) {
      message.problem = error;
      if (error instanceof Problem && error.passes && !this.isClosed) {
        const wait = Math.max(error.after * 1000 || 0, Math.min(15_000, 1000 * 2 ** failures));
        setTimeout(() => this.pending.includes(message) && this.post(message, failures + 1), wait);
      }
    }
    this.changed();
  }

  drop(message) {
    this.pending = this.pending.filter((other) => other !== message);
    this.save();
  }

  heard(text, mark) {
    const found = this.pending.find((message) => message.text.trim() === text.trim() && markOrder(mark) > markOrder(message.after));
    if (found) this.drop(found);
  }

  async stop() {
    await this.attempt(() => api("POST", `${this.path}/interrupt`, {}));
  }

  /** Answers a question; answers the problem, if there is one. */
  async answer(call, answer) {
    try {
      await api("POST", `${this.path}/approvals/${encodeURIComponent(call)}`, { answer });
      this.answered.set(call, answer);
      this.askAll();
      this.changed();
      return null;
    } catch (error) {
      if (error.status === 409) this.answered.set(call, null);
      this.askAll();
      this.changed();
      return error;
    }
  }

  /** Whether the page may go on talking. */
  get isOver() {
    return isOver(this.session);
  }
}
