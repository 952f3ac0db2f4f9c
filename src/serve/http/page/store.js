// One session as the page knows it: the events make its conversation, `state` says what the interpreter knows.
import { enc, keep, place, sessionPath } from "./bits.js";
import { api, fresh, markOrder, Problem, Stream } from "./net.js";
import { Talk } from "./talk.js";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Calls `run` at most once in `ms`, one at a time, and once more after the last wish.
function paced(ms, run) {
  let [isWished, isRunning] = [false, false];
  return async () => {
    isWished = true;
    if (isRunning) return;
    isRunning = true;
    while (isWished) {
      isWished = false;
      await Promise.all([run(), sleep(ms)]);
    }
    isRunning = false;
  };
}

// Made once, so that what is sent again is one message. Only https and this machine have `randomUUID`.
const newId = () => crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join("-");

// Events that change the session itself: its state, what it asks, what it has cost.
const SESSION_NEWS = ["session_resumed", "turn_started", "turn_finished", "waiting", "user_message", "approval_asked", "approval_given", "finished", "failed"];

export class Store {
  session = null;
  source = null;
  problem = null; // why there is nothing to show
  trouble = null; // why a part is missing
  link = "connecting";
  announced = "";
  pending = []; // messages that the program has not taken up
  answered = new Map(); // call → the answer given here; null: somebody else's
  approvals = [];
  at = null; // index of the tick that is looked at; null: now
  now = null; // the state
  past = new Map(); // point → state

  constructor(id, isSpeechOnly) {
    this.id = id;
    this.path = sessionPath(id);
    this.isSpeechOnly = isSpeechOnly;
    this.stateIfNew = fresh(`${this.path}/state`);
    this.askState = paced(200, () => this.attempt(() => this.loadState()));
    this.askSteps = paced(500, () => this.attempt(() => this.loadSteps()));
    this.askSession = paced(400, () => this.attempt(() => this.loadSession()));
    this.forget();
  }

  forget() {
    Object.assign(this, { talk: new Talk(this.isSpeechOnly), ticks: [], tickOf: [], lastPoint: null, turn: null, isCaughtUp: false });
  }

  changed() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.isClosed) this.hear();
    });
  }

  async attempt(run) {
    if (this.isClosed || this.problem) return;
    try {
      await run();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      // While the connection is lost, the stream says so, and all is asked again when it is back.
      if ([401, 404].includes(problem.status)) this.problem = problem;
      else if (!problem.passes) this.trouble = problem;
    }
    this.changed();
  }

  async open() {
    for (let pause = 500; ; pause = Math.min(10_000, 2 * pause)) {
      await this.attempt(() => this.loadSession());
      this.problem ??= this.trouble;
      if (this.isClosed || this.problem) return;
      if (this.session) break;
      this.link = "lost";
      await sleep(pause);
    }
    this.goal = markOrder(this.session.mark);
    this.pending = keep("sessionStorage", this.path) ?? [];
    this.pending.forEach((message) => this.post(message));
    this.listen();
    if (!this.isSpeechOnly) this.attempt(async () => (this.source = await api("GET", `${this.path}/source`)));
  }

  // Hears the events after a mark; without one, all.
  listen(mark = null) {
    this.stream = new Stream(`${this.path}/events?show=${this.isSpeechOnly ? "speech" : "all"}`, {
      event: (event, mark) => this.take(event, mark),
      reset: () => {
        this.forget();
        this.askAll();
      },
      link: (link) => {
        this.link = link;
        if (link === "live") this.askAll();
        this.changed();
      },
      refused: (problem) => {
        this.problem = problem;
        this.changed();
      },
    }, mark);
  }

  close() {
    this.isClosed = true;
    this.stream?.close();
  }

  askAll() {
    this.askSession();
    if (!this.isSpeechOnly) this.askState(), this.askSteps();
  }

  take(event, mark) {
    const { type, text, call } = event;
    const said = this.talk.take(event, mark);
    if (mark && markOrder(mark) >= this.goal) this.isCaughtUp = true;
    // What was said before the page was opened is no news.
    if (said && this.isCaughtUp) this.announced = said;
    if (type === "approval_asked") this.answered.delete(call);
    if (type === "user_message") {
      const heard = this.pending.find((one) => one.text === text.trim() && markOrder(mark) > markOrder(one.after));
      if (heard) this.drop(heard);
      const at = this.session.unread?.indexOf(text) ?? -1;
      if (at >= 0) this.session.unread.splice(at, 1);
    }
    if (this.talk.over && this.isCaughtUp) {
      this.stream.close();
      setTimeout(this.askSession, 1500);
    }
    if (this.isCaughtUp) {
      if (SESSION_NEWS.includes(type)) this.askSession();
      if (!this.isSpeechOnly && type !== "said_delta" && type !== "call_progress") this.askState(), this.askSteps();
    }
    this.changed();
  }

  // The event may be sooner than the session's new state.
  get state() {
    return this.talk.over ?? (this.talk.isBusy ? "speaking" : this.session?.state);
  }

  // What the program has not read, but for what this page has sent and shows by itself.
  get unread() {
    const own = this.pending.map(({ text }) => text);
    return (this.session?.unread ?? []).filter((text) => {
      const at = own.indexOf(text.trim());
      if (at >= 0) own.splice(at, 1);
      return at < 0;
    });
  }

  // Whose conversation it is, where that is somebody else's.
  get customer() {
    const owner = this.session?.owner;
    return this.me && owner !== this.me ? owner : null;
  }

  // A model that did not answer is asked again with the next message.
  get isOver() {
    return this.state === "finished" || (this.state === "failed" && this.session?.fault?.kind !== "model");
  }

  async loadSession() {
    this.session = await api("GET", this.path);
  }

  // The point that is looked at; undefined: now.
  get point() {
    return this.ticks[this.at]?.point;
  }

  // What the interpreter knows, then or now; what has not come yet is what was shown before.
  get view() {
    this.shown = this.point ? this.past.get(this.point) ?? this.shown : this.now;
    return this.shown;
  }

  async loadState() {
    const { point } = this;
    if (!point) {
      this.now = (await this.stateIfNew()) ?? this.now;
    } else if (!this.past.has(point)) {
      if (this.past.size > 200) this.past.clear();
      this.past.set(point, await api("GET", `${this.path}/state?at=${enc(point)}`));
    }
  }

  async loadSteps() {
    const { talk } = this;
    for (let isMore = true; isMore; this.changed()) {
      const after = this.lastPoint ? `&after=${enc(this.lastPoint)}` : "";
      const { steps, next } = await api("GET", `${this.path}/steps?limit=1000${after}`);
      if (talk !== this.talk) return;
      steps.forEach((step) => this.step(step));
      isMore = next && steps.length;
    }
  }

  // A tick per line that was reached; what else happened counts to the line before.
  step({ point, time, event }) {
    this.lastPoint = point;
    // A piece of speech is no event of its own: it does not count in marks.
    if (event.type === "said_delta") return;
    if (event.type === "line_reached") {
      const isTurn = event.turn !== undefined && event.turn !== this.turn;
      this.turn = event.turn ?? this.turn;
      this.ticks.push({ point, time, name: place(event), turn: this.turn, isTurn, marks: [] });
    } else {
      this.ticks.at(-1)?.marks.push(event.type);
    }
    this.tickOf.push(this.ticks.length - 1);
  }

  // Looks at a tick; beyond the last one, at now.
  go(index) {
    this.at = index === null || index >= this.ticks.length ? null : Math.max(0, index);
    this.askState();
    this.changed();
  }

  goTo(mark) {
    const tick = this.tickOf[Math.floor(markOrder(mark) / 1e9) - 1];
    if (tick >= 0) this.go(tick);
  }


  save() {
    const kept = this.pending.map(({ id, text, after }) => ({ id, text, after }));
    keep("sessionStorage", this.path, kept.length ? kept : null);
    this.changed();
  }

  send(text) {
    const message = { id: newId(), text, after: this.stream?.mark };
    this.pending.push(message);
    this.save();
    this.post(message);
  }

  async post(message) {
    for (let pause = 1000; this.pending.includes(message) && !this.isClosed; pause = Math.min(15_000, 2 * pause)) {
      message.problem = null;
      try {
        await api("POST", `${this.path}/messages`, { text: message.text, id: message.id });
        message.isSent = true;
        // It has failed, and is taken up again.
        if (this.stream?.isClosed && !this.isClosed) this.listen(this.stream.mark);
      } catch (problem) {
        message.problem = problem;
      }
      this.changed();
      if (!message.problem?.passes) return;
      await sleep(Math.max(pause, message.problem.after * 1000));
    }
  }

  drop(message) {
    this.pending = this.pending.filter((other) => other !== message);
    this.save();
  }

  stop() {
    this.attempt(() => api("POST", `${this.path}/interrupt`, {}));
  }

  // Answers a question; answers the problem, if there is one.
  async answer(call, answer) {
    let refusal = null;
    try {
      await api("POST", `${this.path}/approvals/${call}`, { answer });
      this.answered.set(call, answer);
    } catch (problem) {
      if (problem.status === 409) this.answered.set(call, null);
      refusal = problem;
    }
    this.askAll();
    return refusal;
  }
}
