// The past: a tick per line that was reached; back, forward, by turn; a fork from there, and how two sessions differ.
import { useEffect, useRef, useState } from "preact/hooks";
import { Time, Value, brief, cls, count, gist, html, place, said } from "./bits.js";
import { api } from "./net.js";
import { useStore } from "./speech.js";

/** The ticks as one picture, as there may be thousands. */
function Ticks({ ticks, at }) {
  const paths = { line: "", turn: "", user_message: "", trigger_matched: "", approval_asked: "", failed: "" };
  ticks.forEach((tick, n) => {
    paths[tick.isTurn ? "turn" : "line"] += tick.isTurn ? `M${n} 8V24` : `M${n} 13V24`;
    tick.marks.forEach((mark) => (paths[mark] += `M${n} 2V6`));
  });
  return html`<svg viewBox=${`0 0 ${Math.max(1, ticks.length)} 24`} preserveAspectRatio="none" aria-hidden="true">
    ${Object.entries(paths).map(([name, d]) => html`<path key=${name} class=${name} d=${d} />`)}
    ${at !== null && html`<path class="at" d=${`M${at} 0V24`} />`}
  </svg>`;
}

const KEYS = { ",": "back", ".": "forward", "<": "turnBack", ">": "turnForward", l: "live" };

export function Timeline({ store, mayFork }) {
  useStore(store);
  const [isForking, setForking] = useState(false);
  const { ticks, at } = store;
  const now = at ?? ticks.length;
  const turns = (from, by) => {
    let n = from + by;
    while (n > 0 && n < ticks.length && !ticks[n].isTurn) n += by;
    return n;
  };
  const moves = {
    turnBack: () => store.go(turns(now, -1)),
    back: () => store.go(now - 1),
    forward: () => at !== null && store.go(now + 1),
    turnForward: () => at !== null && store.go(turns(now, 1)),
    live: () => store.go(null),
  };
  useEffect(() => {
    const press = (event) => {
      const move = KEYS[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog") || !ticks.length) return;
      event.preventDefault();
      moves[move]();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  const tick = at === null ? null : ticks[at];
  const words = tick ? `${tick.name}${tick.turn ? `, turn ${tick.turn}` : ""}` : "now";
  const button = (move, sign, title, isOff) => html`<button class="move" title=${title} aria-label=${title} disabled=${isOff || !ticks.length} onClick=${moves[move]}><span aria-hidden="true">${sign}</span></button>`;
  return html`<footer class="timeline" aria-label="Timeline">
    ${tick && html`<div class="banner" role="status">
      <p><strong>The past</strong> <code>${tick.name}</code><span class="wide">${tick.turn ? `turn ${tick.turn}, ` : ""}<${Time} at=${tick.time} seconds /></span><span class="wide">point ${tick.point}</span></p>
      ${mayFork && html`<button onClick=${() => setForking(true)}>Fork here…</button>`}
      <button class="primary" onClick=${moves.live}>Back to now</button>
    </div>`}
    <div class="bar">
      ${button("turnBack", "«", "Back one turn (<)", now === 0)}${button("back", "‹", "Back one line (,)", now === 0)}${button("forward", "›", "Forward one line (.)", at === null)}${button("turnForward", "»", "Forward one turn (>)", at === null)}
      <div class="track"><${Ticks} ticks=${ticks} at=${at} />
        <input type="range" min="0" max=${ticks.length} value=${now} disabled=${!ticks.length} aria-label="Moment" aria-valuetext=${words} onInput=${(event) => store.go(Number(event.target.value))} /></div>
      <button class=${cls("live", at === null && "on")} aria-pressed=${at === null} title="Now (l)" onClick=${moves.live}>${store.isOver ? "End" : "Live"}</button>
    </div>
    ${isForking && tick && html`<${Fork} store=${store} tick=${tick} onClose=${() => setForking(false)} />`}
  </footer>`;
}

function Dialog({ title, onClose, children }) {
  const box = useRef(null);
  useEffect(() => box.current.showModal(), []);
  return html`<dialog ref=${box} onClose=${onClose} aria-label=${title}>
    <header><h2>${title}</h2><button class="link" aria-label="Close" onClick=${() => box.current.close()}>✕</button></header>${children}
  </dialog>`;
}

/** Another session with the same past up to here, with other values if somebody wants so. */
function Fork({ store, tick, onClose }) {
  const { stack, others } = store.state;
  // A fork sets variables of one place: as the program finds them from its running frame, or in a frame below.
  const scopes = stack.map((frame, n) => ({ name: `${frame.playbook ?? frame.plan}${n ? "" : " (running)"}`, frame: n ? stack.length - 1 - n : undefined, variables: frame.variables }));
  scopes.push({ name: "others", frame: undefined, variables: others });
  const [chosen, choose] = useState(0);
  const [edits, setEdits] = useState({});
  const [problem, setProblem] = useState(null);
  const { frame, variables } = scopes[chosen];
  const show = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const fork = async (event) => {
    event.preventDefault();
    const set = {};
    try {
      for (const { name, value } of variables) {
        const text = edits[name];
        if (text === undefined || text === show(value)) continue;
        // What was text stays text; anything else is JSON, or becomes text where nothing was.
        try {
          set[name] = typeof value === "string" ? text : JSON.parse(text);
        } catch {
          if (value !== null) throw new Error(`$${name}: ${brief(text, 40)} is not JSON. Text stands in quotation marks.`);
          set[name] = text;
        }
      }
      const session = await api("POST", `${store.path}/fork`, { at: tick.point, ...(Object.keys(set).length && { set, ...(frame !== undefined && { frame }) }) });
      onClose();
      location.hash = `#/s/${encodeURIComponent(session.id)}`;
    } catch (error) {
      setProblem(error);
    }
  };
  const open = variables.filter((one) => !one.secret);
  return html`<${Dialog} title="Fork here" onClose=${onClose}>
    <form onSubmit=${fork}>
      <p>A new session with the same past up to <code>${tick.name}</code>, point ${tick.point}. This one stays as it is.</p>
      <label>Variables of<select value=${chosen} onChange=${(event) => (choose(Number(event.target.value)), setEdits({}))}>${scopes.map((scope, n) => html`<option value=${n}>${scope.name}</option>`)}</select></label>
      ${open.map((one) => html`<label key=${one.name} class=${cls(edits[one.name] !== undefined && edits[one.name] !== show(one.value) && "edited")}><code>$${one.name}</code><input value=${edits[one.name] ?? show(one.value)} spellcheck=${false} autocomplete="off" onInput=${(event) => setEdits({ ...edits, [one.name]: event.target.value })} /></label>`)}
      ${!open.length && html`<p class="empty">No variables here.</p>`}
      ${problem && html`<p class="problem" role="alert">${said(problem)}</p>`}
      <div class="answers"><button class="primary">Fork</button><button type="button" onClick=${onClose}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}

const DIFFS_SHOWN = 60;

/** How this session and the one it was forked from differ. */
export function Diff({ store, onClose }) {
  const [diff, setDiff] = useState(null);
  const [problem, setProblem] = useState(null);
  const from = store.session.forked_from.session;
  useEffect(() => {
    api("GET", `${store.path}/diff/${encodeURIComponent(from)}`).then(setDiff, setProblem);
  }, []);
  const side = ({ session, then }) => html`<section><h3>${session}</h3>
    ${!then.length && html`<p class="empty">Nothing more.</p>`}
    <ol>${then.slice(0, DIFFS_SHOWN).map(({ point, event }) => html`<li key=${point}><code class="where">${place(event) || point}</code> ${gist(event)}</li>`)}</ol>
    ${then.length > DIFFS_SHOWN && html`<p class="empty">and ${count(then.length - DIFFS_SHOWN, "step")} more</p>`}
  </section>`;
  return html`<${Dialog} title=${`Compared with ${from}`} onClose=${onClose}><div class="diff">
    ${problem && html`<p class="problem" role="alert">${said(problem)}</p>`}
    ${diff && html`<p>Both did the same for ${count(diff.same, "step")}, up to point ${diff.b.same_up_to ?? diff.a.same_up_to}.</p>
      ${diff.variables.length > 0 && html`<div class="wide-table"><table><caption>Variables at the end</caption><thead><tr><th scope="col">Variable</th><th scope="col">${diff.a.session}</th><th scope="col">${diff.b.session}</th></tr></thead>
        <tbody>${diff.variables.map((one) => html`<tr><th scope="row"><code>$${one.name}</code> <span class="origin">${one.place}</span></th><td>${one.a === undefined ? "—" : html`<${Value} value=${one.a} />`}</td><td>${one.b === undefined ? "—" : html`<${Value} value=${one.b} />`}</td></tr>`)}</tbody></table></div>`}
      <div class="sides">${side(diff.a)}${side(diff.b)}</div>`}
  </div></${Dialog}>`;
}
