// One session: the conversation, what the interpreter knows beside it, and the timeline below.
import { useEffect, useState } from "preact/hooks";
import { Dot, STATES, Time, cls, html, number, sessionLink } from "./bits.js";
import { Inspector } from "./inspector.js";
import { Composer, Conversation, Lost, useStore } from "./speech.js";
import { Store } from "./store.js";
import { Diff, Timeline } from "./timeline.js";

const PANES = { talk: "Conversation", source: "Source", know: "Inspector" };

export function Session({ id, me: { role, name }, approvals = [], onSession, onProblem }) {
  const store = useStore(() => new Store(id, role === "visitor"));
  const [pane, setPane] = useState("talk");
  const [why, setWhy] = useState(null);
  const [isComparing, setComparing] = useState(false);
  store.me = name;
  store.approvals = approvals.filter((one) => one.session === id);
  const { session, state, problem, talk } = store;
  useEffect(() => session && onSession({ ...session, state }), [session, state]);
  useEffect(() => problem && onProblem(problem), [problem]);
  if (problem) return html`<main class="home"><div class="width"><h1>${problem.title}</h1><p>${problem.detail}</p><p><a href="#/">All sessions</a></p></div></main>`;
  const isOperator = role === "operator" || role === "admin";
  const isPast = store.at !== null;
  const from = session?.forked_from?.session;
  const isFull = !store.isSpeechOnly;
  const ask = (trigger) => (setWhy({ trigger }), setPane("know"));
  return html`<main class=${cls("one", `shows-${pane}`)}>
    <header class="head">
      <a class="back" href="#/" aria-label="All sessions">←</a>
      <div class="name">
        <h1>${session?.program}<span class="id">${id}</span></h1>
        <p>${session && html`<${Dot} state=${state} />${STATES[state]} · <${Time} at=${session.created} />
          <span class="wide">${talk.model && ` · ${talk.model}`}${session.tokens > 0 && ` · ${number(session.tokens)} tokens`}${session.cost > 0 && `, cost ${number(session.cost)}`}</span>
          ${from && html` · fork of <a href=${sessionLink(from)}>${from}</a>`}`}</p>
      </div>
      ${from && html`<button onClick=${() => setComparing(true)}>Compare</button>`}
    </header>
    <div class="tabs">${Object.entries(PANES).map(([name, words]) => html`<button aria-pressed=${pane === name} onClick=${() => setPane(name)}>${words}</button>`)}</div>
    <${Lost} store=${store} />
    <div class="columns">
      <section class="talk" aria-label="Talk">
        <${Conversation} store=${store} onJump=${isFull && ((mark) => store.goTo(mark))} onWhy=${isFull && ask} mayAnswer=${isOperator || role === "user"} />
        <${Composer} store=${store} isOff=${isPast} hint=${isPast ? "Messages go to the present" : undefined} over=${html`<p>This session has ${state}.</p><a class="button" href="#/">New session</a>`} />
      </section>
      ${isFull && html`<${Inspector} store=${store} why=${why} />`}
    </div>
    ${isFull && html`<${Timeline} store=${store} mayFork=${isOperator} />`}
    ${isComparing && html`<${Diff} store=${store} from=${from} onClose=${() => setComparing(false)} />`}
  </main>`;
}
