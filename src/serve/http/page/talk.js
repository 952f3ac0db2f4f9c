// What is said and done, made of the events of a session. It only lists what the interpreter tells, in the order told.
import { markOrder } from "./net.js";

/** Waits in which the program is still at work. */
const AT_WORK = new Set(["reply", "call"]);

const CUT = /^trigger (\S+) matched$/;

/** Events that say something about the interpreter's own trouble, and how much they matter. */
const NOTES = {
  degraded: (e) => ["warning", e.cause],
  retry: (e) => ["", `Asks the model again: ${e.cause}`],
  repair: (e) => ["", `The reply did not keep to the turn protocol: ${e.cause}`],
  lines_skipped: (e) => ["", `Lines left out: ${e.lines.join(", ")}${e.reason ? `, as ${e.reason}` : ""}`],
  program_changed: (e) => ["", `The program's text has changed: ${e.files.join(", ")}`],
  plan_fault: (e) => ["warning", e.message],
  event_arrived: (e) => ["", `Event ${e.event}: ${e.fate.replaceAll("_", " ")}`],
};

export class Talk {
  constructor() {
    this.items = [];
    this.calls = new Map(); // call → index of its chip
    this.asking = []; // indices of approvals that nobody has answered
    this.open = -1; // index of the utterance that is being said
    this.isBusy = false;
    this.waitsFor = null;
    this.totals = { turns: 0, prompt: 0, cached: 0, completion: 0, discarded: 0, estimated: false };
    this.model = null;
  }

  push(item) {
    this.items.push({ key: this.items.length, ...item });
    return this.items.length - 1;
  }

  /** Items are replaced, not changed: whoever shows them sees by identity what is new. */
  change(index, change) {
    if (this.items[index]) this.items[index] = { ...this.items[index], ...change };
  }

  /** Takes an event; answers the text that was said to its end, if it ends one. */
  take(e, mark) {
    const at = { mark, line: e.line, playbook: e.playbook ?? e.plan, depth: e.depth };
    if (e.type !== "call_progress" && e.type !== "trigger_evaluated") this.waitsFor = null;
    switch (e.type) {
      case "session_started":
      case "session_resumed":
        this.model = e.model;
        if (e.type === "session_resumed" && this.items.length) this.push({ ...at, kind: "note", tone: "", text: "The session goes on after a restart" });
        break;
      case "said_delta": {
        const now = this.items[this.open];
        if (now && now.utterance === e.utterance) {
          this.change(this.open, { text: now.text + e.text });
        } else {
          this.close();
          this.open = this.push({ ...at, kind: "program", text: e.text, utterance: e.utterance, isOpen: true });
        }
        this.isBusy = true;
        break;
      }
      case "said":
        if (this.open >= 0) this.change(this.open, { text: e.text, isOpen: false });
        else this.push({ ...at, kind: "program", text: e.text });
        this.open = -1;
        return e.text;
      case "user_message":
        this.close();
        this.push({ ...at, kind: "user", text: e.text });
        this.isBusy = true;
        break;
      case "turn_started":
        this.isBusy = true;
        break;
      case "turn_finished":
        this.totals.turns += 1;
        this.totals.prompt += e.prompt_tokens;
        this.totals.cached += e.cached_tokens;
        this.totals.completion += e.completion_tokens;
        this.totals.discarded += e.discarded_tokens;
        this.totals.estimated ||= e.estimated;
        break;
      case "call_queued":
        this.calls.set(e.call, this.push({ ...at, kind: "call", call: e.call, name: e.name, what: e.kind, args: e.args, state: "queued" }));
        break;
      case "call_started":
        this.change(this.calls.get(e.call), { state: "running", attempt: e.attempt });
        this.isBusy = true;
        break;
      case "call_progress":
        this.change(this.calls.get(e.call), { progress: e.value });
        break;
      case "call_finished":
        this.change(this.calls.get(e.call), { state: e.error === undefined ? "done" : "failed", result: e.result, error: e.error, ms: e.ms, progress: undefined });
        this.settle(e.call, e.error === undefined ? "given" : "refused");
        this.isBusy = true;
        break;
      case "approval_asked":
        this.settle(e.call, "given");
        this.change(this.calls.get(e.call), { state: "needs approval" });
        this.asking.push(this.push({ ...at, kind: "approval", call: e.call, question: e.question, outcome: null }));
        break;
      case "approval_given":
        this.settle(e.call, "given");
        this.isBusy = true;
        break;
      case "trigger_matched":
        this.push({ ...at, kind: "trigger", trigger: e.trigger, update: e.update });
        break;
      case "stream_cancelled": {
        this.withdraw(e.withdrawn ?? []);
        const trigger = CUT.exec(e.reason)?.[1];
        const last = this.items.length - 1;
        // The match and what it did to the reply are one thing to look at.
        if (trigger && this.items[last]?.trigger === trigger) this.change(last, { kind: "cut", ...at, bytes: e.discarded_bytes });
        else this.push({ ...at, kind: "cut", trigger, reason: e.reason, bytes: e.discarded_bytes });
        break;
      }
      case "waiting":
        this.waitsFor = e.for;
        this.isBusy = AT_WORK.has(e.for);
        break;
      case "finished":
      case "failed":
        this.close();
        this.isBusy = false;
        this.push({ ...at, kind: e.type, value: e.value, fault: e.fault, message: e.message });
        break;
      default:
        if (NOTES[e.type]) {
          const [tone, text] = NOTES[e.type](e);
          this.push({ ...at, kind: "note", tone, text });
        }
    }
    return null;
  }

  close() {
    if (this.open >= 0) this.change(this.open, { isOpen: false });
    this.open = -1;
  }

  settle(call, outcome) {
    const [about, others] = [[], []];
    for (const index of this.asking) (this.items[index].call === call ? about : others).push(index);
    for (const index of about) this.change(index, { outcome });
    this.asking = others;
  }

  withdraw(utterances) {
    this.items.forEach((item, index) => {
      if (item.kind === "program" && utterances.includes(item.utterance)) this.change(index, { isWithdrawn: true, isOpen: false });
    });
  }

  /** Whether the user has said this since `mark`. */
  hasHeard(text, mark) {
    const since = markOrder(mark);
    return this.items.some((item) => item.kind === "user" && item.text.trim() === text.trim() && markOrder(item.mark) > since);
  }
}
