// One session: the conversation, what the interpreter knows beside it, and the timeline below.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { STATES, Time, cls, html, number, said } from "./bits.js";
import { Inspector } from "./inspector.js";
import { api } from "./net.js";
import { Composer, Conversation, Link, useStore } from "./speech.js";
import { Store } from "./store.js";
import { Diff, Timeline } from "./timeline.js";

const MAY_ASK_STATE = new Set(["user", "operator", "admin"]);

export function Session({ id, me, approvals, onRefused }) {
  const store = useMemo(() => new Store(id, { isSpeechOnly: !MAY_ASK_STATE.has(me.role), onRefused }), [id]);
  const [pane, setPane] = useState("talk");
  const [why, setWhy] = useState(null);
  const [isComparing, setComparing] = useState(false);
  const menu = useRef(null);
  store.approvals = approvals?.filter((one) => one.session === id);
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  useStore(store);
  const { session, problem, talk } = store;
  if (problem) {
    return html`<main class="home"><div class="width"><h1>${problem.status === 404 ? "There is no such session" : "The session can't be shown"}</h1><p>${problem.detail ?? said(problem)}</p><p><a href="#/">Back to the sessions</a></p></div></main>`;
  }
  const isOperator = me.role === "operator" || me.role === "admin";
  const ask = (trigger) => {
    setWhy({ trigger });
    setPane("know");
  };
  const jump = (item) => {
    const tick = store.tickOf(item.mark);
    if (tick >= 0) store.go(tick);
  };
  const remove = async () => {
    if (!confirm(`Delete session ${id} for good?`)) return;
    await api("DELETE", store.path);
    location.hash = "#/";
  };
  const state = session && (talk.isBusy && !store.isOver ? "speaking" : session.state);
  const tab = (name, words) => html`<button role="tab" id=${`tab-${name}`} aria-selected=${pane === name} aria-controls=${`pane-${name}`} onClick=${() => setPane(name)}>${words}</button>`;
  return html`<main class=${cls("one", `shows-${pane}`, store.at !== null && "past")}>
    <header class="head">
      <a class="back" href="#/" aria-label="All sessions">←</a>
      <div class="name">
        <h1>${session?.program ?? ""}<span class="id">${id}</span></h1>
        <p>${session && html`<span class=${cls("dot", state)}></span>${STATES[state] ?? state}<span class="sep">·</span><${Time} at=${session.created} />
          ${talk.model && html`<span class="sep wide">·</span><span class="wide">${talk.model}</span>`}
          <span class="sep wide">·</span><span class="wide" title=${`${number(talk.totals.prompt)} in the prompts (${number(talk.totals.cached)} cached), ${number(talk.totals.completion)} in the replies, ${number(talk.totals.discarded)} not used`}>${number(session.tokens)} tokens${session.cost === null ? "" : `, cost ${session.cost}`}</span>
          ${session.forked_from && html`<span class="sep">·</span>fork of <a href=${`#/s/${encodeURIComponent(session.forked_from.session)}`}>${session.forked_from.session}</a>`}`}</p>
      </div>
      ${session?.forked_from && html`<button onClick=${() => setComparing(true)}>Compare</button>`}
      ${me.role === "admin" && html`<details class="menu" ref=${menu}><summary aria-label="More" title="More">···</summary><div><button onClick=${remove}>Delete session…</button></div></details>`}
    </header>
    <div class="tabs" role="tablist" aria-label="Parts of the session">${tab("talk", "Conversation")}${tab("source", "Source")}${tab("know", "Inspector")}</div>
    <${Link} store=${store} />
    <div class="columns">
      <section class="talk" id="pane-talk" aria-label="Conversation and composer">
        <${Conversation} store=${store} onJump=${jump} onWhy=${ask} mayAnswer=${isOperator || session?.approval?.args} />
        <${Composer} store=${store} isDisabled=${store.at !== null} placeholder=${store.at !== null ? "Messages go to the present" : undefined} over=${html`<p>This session is ${session?.state}.</p><a class="button" href="#/">New session</a>`} />
      </section>
      ${!store.isSpeechOnly && html`<${Inspector} store=${store} why=${why} />`}
    </div>
    ${!store.isSpeechOnly && html`<${Timeline} store=${store} mayFork=${isOperator} />`}
    ${isComparing && html`<${Diff} store=${store} onClose=${() => setComparing(false)} />`}
  </main>`;
}
