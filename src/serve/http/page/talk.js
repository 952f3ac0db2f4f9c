// What is said and done, made of the events of a session. It only lists what the interpreter tells, in the order told.

// Waits in which the program is still at work.
const AT_WORK = ["reply", "call"];

// States of calls that have not ended.
const OPEN = ["queued", "running"];

// What happens only while the program is not over.
const RUNS = ["turn_started", "line_reached", "waiting", "user_message"];

const CUT = /^trigger (\S+) matched$/;

// Events that are told in a sentence; the first word is how much they matter.
const NOTES = {
  degraded: (e) => ["warning", e.cause],
  retry: (e) => ["", `Asking the model again${e.delay_ms >= 1000 ? ` in ${Math.floor(e.delay_ms / 1000)} s` : ""}: ${e.cause}`],
  repair: (e) => ["", `The reply did not follow the turn protocol: ${e.cause}`],
  lines_skipped: (e) => ["", `Lines left out: ${e.lines.join(", ")}${e.reason ? ` (${e.reason})` : ""}`],
  program_changed: (e) => ["", `The program's text has changed: ${e.files.join(", ")}`],
  plan_fault: (e) => ["warning", e.message],
  event_arrived: (e) => ["", `Event ${e.event}: ${e.fate.replaceAll("_", " ")}`],
  session_resumed: () => ["", "The session continues after a restart"],
};

// What an answer came to. Words, and whose they are, are told only to those who look inside.
const outcome = ({ answer, refused, by }) => `${refused ? "Refused" : answer === true ? "Confirmed" : "Answered"}${by ? ` by ${by}` : ""}${typeof answer === "string" ? `: ${answer}` : ""}`;

export class Talk {
  constructor(isSpeechOnly) {
    this.isSpeechOnly = isSpeechOnly;
  }

  items = [];
  calls = new Map(); // call → index of its chip
  asking = []; // indices of questions that nobody has answered
  open = -1; // index of the utterance that is being said
  isBusy = false;
  over = null; // how it ended
  totals = { turns: 0, prompt: 0, cached: 0, completion: 0, discarded: 0 };
  model = null;

  push(item) {
    return this.items.push({ key: this.items.length, ...item }) - 1;
  }

  // Items are replaced, not changed: whoever shows them sees by identity what is new.
  change(index, change) {
    if (this.items[index]) this.items[index] = { ...this.items[index], ...change };
  }

  // Takes an event; answers the text that was said to its end, if it ends one.
  take(e, mark) {
    // It had failed, and somebody has taken it up again.
    if (RUNS.includes(e.type)) this.over = null;
    const at = { kind: e.type, mark, line: e.line, playbook: e.playbook ?? e.plan };
    const call = this.calls.get(e.call);
    switch (e.type) {
      case "session_started":
        this.model = e.model;
        break;
      case "said_delta": {
        const now = this.items[this.open];
        if (now?.utterance === e.utterance) {
          this.change(this.open, { text: now.text + e.text });
        } else {
          this.close();
          this.open = this.push({ ...at, kind: "program", text: e.text, utterance: e.utterance, isOpen: true });
        }
        this.isBusy = true;
        break;
      }
      case "said":
        if (this.open >= 0) this.change(this.open, { text: e.text });
        else this.push({ ...at, kind: "program", text: e.text });
        this.close();
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
        for (const name of ["prompt", "cached", "completion", "discarded"]) this.totals[name] += e[`${name}_tokens`];
        break;
      case "call_queued":
        this.calls.set(e.call, this.push({ ...at, kind: "call", name: e.name, args: e.args, state: "queued" }));
        break;
      case "call_started":
        this.change(call, { state: "running" });
        this.isBusy = true;
        break;
      case "call_progress":
        this.change(call, { progress: e.value });
        break;
      case "call_finished": {
        const state = e.error === undefined ? "done" : "failed";
        this.change(call, { state, result: e.result, error: e.error, ms: e.ms, progress: undefined });
        this.settle(e.call, "Not answered");
        this.isBusy = true;
        break;
      }
      case "approval_asked":
        this.settle(e.call, "Answered");
        this.change(call, { state: "needs approval" });
        this.asking.push(this.push({ ...at, kind: "approval", call: e.call, question: e.question }));
        break;
      case "approval_given":
        this.settle(e.call, outcome(e));
        this.isBusy = true;
        break;
      case "frame_elided": {
        // The call just queued is its last: the playbook takes the caller's place, so the call never returns.
        const tail = this.items.findLastIndex((item) => item.kind === "call" && item.state === "queued");
        this.change(tail, { state: "tail call" });
        break;
      }
      case "trigger_matched":
        this.push({ ...at, trigger: e.trigger, update: e.update });
        break;
      case "stream_cancelled": {
        for (const [index, item] of this.items.entries()) {
          if (item.utterance && e.withdrawn?.includes(item.utterance)) this.change(index, { isWithdrawn: true, isOpen: false });
        }
        if (this.isSpeechOnly) break;
        const trigger = CUT.exec(e.reason)?.[1];
        const last = this.items.length - 1;
        // The match, and what it did to the reply, are one thing to look at.
        if (trigger && this.items[last]?.trigger === trigger) this.change(last, at);
        else this.push({ ...at, trigger, reason: e.reason });
        break;
      }
      case "waiting":
        this.close();
        this.isBusy = AT_WORK.includes(e.for);
        break;
      case "finished":
      case "failed":
        this.close();
        this.isBusy = false;
        this.over = e.type;
        for (const index of this.calls.values()) if (OPEN.includes(this.items[index].state)) this.change(index, { state: "not finished" });
        if (!this.isSpeechOnly || e.type === "failed") this.push({ ...at, value: e.value, fault: e.fault, message: e.message });
        break;
      default:
        if (NOTES[e.type] && !this.isSpeechOnly) {
          const [tone, text] = NOTES[e.type](e);
          this.push({ ...at, kind: "note", tone, text });
        }
    }
    return null;
  }

  close() {
    this.change(this.open, { isOpen: false });
    this.open = -1;
  }

  settle(call, outcome) {
    this.asking = this.asking.filter((index) => {
      const isIt = this.items[index].call === call;
      if (isIt) this.change(index, { outcome });
      return !isIt;
    });
  }
}
