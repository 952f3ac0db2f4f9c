// The past: a tick per line that was reached; back, forward, by turn; a fork from there, and how two sessions differ.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Time, Trouble, Value, brief, count, enc, gist, html, place, sessionLink } from "./bits.js";
import { api } from "./net.js";

const MARKS = ["user_message", "trigger_matched", "approval_asked", "failed"];

// The ticks as one picture, as there may be thousands.
function picture(ticks) {
  const paths = { line: "", turn: "" };
  ticks.forEach(({ isTurn, marks }, n) => {
    paths[isTurn ? "turn" : "line"] += `M${n} ${isTurn ? 8 : 13}V24`;
    for (const mark of marks) if (MARKS.includes(mark)) paths[mark] = `${paths[mark] ?? ""}M${n} 2V6`;
  });
  return html`<svg viewBox=${`0 0 ${ticks.length || 1} 24`} preserveAspectRatio="none" aria-hidden="true">${Object.entries(paths).map(([name, d]) => html`<path class=${name} d=${d} />`)}</svg>`;
}

// Keys that move: the sign, the words, whether only the past can, by how much, whether to the next turn.
const MOVES = {
  "<": ["«", "Back one turn", false, -1, true],
  ",": ["‹", "Back one line", false, -1],
  ".": ["›", "Forward one line", true, 1],
  ">": ["»", "Forward one turn", true, 1, true],
  l: [],
};

export function Timeline({ store, mayFork }) {
  const [isForking, setForking] = useState(false);
  const { ticks, at } = store;
  const now = at ?? ticks.length;
  const tick = ticks[at];
  // From where the store stands, as keys may come faster than pictures.
  const move = (key) => {
    const { [key]: [, , , by, isTurn] = [] } = MOVES;
    let n = (store.at ?? ticks.length) + by;
    while (isTurn && ticks[n] && !ticks[n].isTurn) n += by;
    store.go(by && ticks.length ? n : null);
  };
  useEffect(() => {
    const press = ({ key, ctrlKey, metaKey, altKey, target }) => {
      if (MOVES[key] && !ctrlKey && !metaKey && !altKey && !target.closest("input:not([type=range]), textarea, select, dialog")) move(key);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  return html`<footer class="timeline" aria-label="Timeline">
    ${tick && html`<div class="banner" role="status">
      <p><strong>The past</strong><code>${tick.name}</code><span class="wide">${tick.turn && `turn ${tick.turn}, `}<${Time} at=${tick.time} seconds /></span><span class="wide">point ${tick.point}</span></p>
      ${mayFork && html`<button disabled=${!store.view} onClick=${() => setForking(true)}>Fork here…</button>`}
      <button class="primary" onClick=${() => move("l")}>Back to now</button>
    </div>`}
    <div class="bar">
      ${Object.entries(MOVES).map(([key, [sign, words, isOfPast]]) => sign && html`<button class="move" title=${`${words} (${key})`} aria-label=${words} disabled=${isOfPast ? at === null : now === 0} onClick=${() => move(key)}>${sign}</button>`)}
      <div class="track">${useMemo(() => picture(ticks), [store.lastPoint])}
        <input type="range" min="0" max=${ticks.length} value=${now} disabled=${!ticks.length} aria-label="Moment" aria-valuetext=${tick ? `${tick.name}, point ${tick.point}` : "now"} onInput=${(event) => store.go(Number(event.target.value))} /></div>
      <button class="live" aria-pressed=${at === null} title="Now (l)" onClick=${() => move("l")}>${store.isOver ? "End" : "Live"}</button>
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

const show = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// Another value, as somebody has written it: what was text stays text, anything else is JSON.
function read({ name, value }, text) {
  if (typeof value === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    if (value === null) return text;
    throw new Error(`$${name}: ${brief(text, 40)} is not JSON. Put text in quotation marks.`);
  }
}

// Another session with the same past up to here, and with other values if somebody wants so.
function Fork({ store, tick, onClose }) {
  const { stack, others } = store.view;
  // A fork sets variables as the running frame finds them, or those of a frame below it, counted from the lowest.
  const scopes = stack.map((frame, n) => [`${frame.playbook ?? frame.plan}${n ? "" : " (running)"}`, frame.variables, n ? stack.length - 1 - n : undefined]);
  scopes.push(["others", others]);
  const [chosen, choose] = useState(0);
  const [edits, setEdits] = useState({});
  const [problem, setProblem] = useState(null);
  const [, variables, frame] = scopes[chosen];
  const open = variables.filter((one) => !one.secret);
  const fork = async (event) => {
    event.preventDefault();
    try {
      const changed = open.filter((one) => one.name in edits && edits[one.name] !== show(one.value));
      const set = Object.fromEntries(changed.map((one) => [one.name, read(one, edits[one.name])]));
      const { id } = await api("POST", `${store.path}/fork`, { at: tick.point, ...(changed.length && { set, frame }) });
      location.hash = sessionLink(id);
    } catch (problem) {
      setProblem(problem);
    }
  };
  return html`<${Dialog} title="Fork here" onClose=${onClose}><form onSubmit=${fork}>
    <p>A new session with the same past up to <code>${tick.name}</code>, point ${tick.point}. This one stays as it is.</p>
    <label>Variables of<select onChange=${(event) => (choose(Number(event.target.value)), setEdits({}))}>${scopes.map(([name], n) => html`<option value=${n}>${name}</option>`)}</select></label>
    ${open.map(({ name, value }) => html`<label key=${name}><code>$${name}</code><input value=${edits[name] ?? show(value)} spellcheck=${false} autocomplete="off" onInput=${(event) => setEdits({ ...edits, [name]: event.target.value })} /></label>`)}
    ${!open.length && html`<p class="empty">No variables here.</p>`}
    <${Trouble} of=${problem} />
    <div class="answers"><button class="primary">Fork</button><button type="button" onClick=${onClose}>Cancel</button></div>
  </form></${Dialog}>`;
}

const DIFFS_SHOWN = 60;

export function Diff({ store, from, onClose }) {
  const [diff, setDiff] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    api("GET", `${store.path}/diff/${enc(from)}`).then(setDiff, setProblem);
  }, []);
  const cell = (one, side) => html`<td>${(one[side] ?? null) === null ? "—" : html`<${Value} value=${one[side]} />`}</td>`;
  return html`<${Dialog} title=${`Compared with ${from}`} onClose=${onClose}><div class="diff">
    <${Trouble} of=${problem} />
    ${diff && html`<p>Both did the same for ${count(diff.same, "step")}, up to point ${diff.a.same_up_to}.</p>
      ${diff.variables.length > 0 && html`<table><caption>Variables at the end</caption><thead><tr><th scope="col">variable</th><th scope="col">${diff.a.session}</th><th scope="col">${diff.b.session}</th></tr></thead>
        <tbody>${diff.variables.map((one) => html`<tr><th scope="row"><code>$${one.name}</code> <span class="origin">${one.place}</span></th>${cell(one, "a")}${cell(one, "b")}</tr>`)}</tbody></table>`}
      <div class="sides">${[diff.a, diff.b].map(({ session, then }) => html`<section><h3>${session}</h3><ol>
        ${then.slice(0, DIFFS_SHOWN).map(({ point, event }) => html`<li><code>${place(event) || point}</code> ${gist(event)}</li>`)}
        ${then.length > DIFFS_SHOWN && html`<li>and ${count(then.length - DIFFS_SHOWN, "step")} more</li>`}
      </ol></section>`)}</div>`}
  </div></${Dialog}>`;
}
