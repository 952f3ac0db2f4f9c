// What the interpreter knows, at the moment that is looked at: source, stack, variables, calls, triggers, cost.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dot, ORIGINS, Time, Trouble, Value, args, brief, cls, count, enc, html, number, said } from "./bits.js";
import { api } from "./net.js";

export function Inspector({ store, why }) {
  const { view: state, source, session, trouble } = store;
  // Speech draws the page many times a second; what is the same here stays as it is.
  return useMemo(() => html`
    <section class="source" aria-label="Source"><${Source} store=${store} stack=${state?.stack ?? []} /></section>
    <section class="know" aria-label="Inspector" tabindex="0">${state
      ? [Stack, Variables, Calls, Triggers, Cost].map((Part) => html`<${Part} store=${store} state=${state} why=${why} />`)
      : html`<p class="empty">${trouble ? said(trouble) : "One moment…"}</p>`}
    </section>`, [state, source, session, trouble, why]);
}

// The program's text: the running line bright, the lines of its callers pale.
function Source({ store, stack }) {
  const [chosen, setChosen] = useState(null);
  const line = useRef(null);
  const { files = [] } = store.source ?? {};
  const top = stack[0]?.place;
  // A file that somebody has chosen stays until the program goes on elsewhere.
  useEffect(() => setChosen(null), [top?.file]);
  const shown = chosen ?? top?.file ?? 0;
  const marks = new Map();
  stack.forEach(({ place }, depth) => {
    for (let n = place?.from; place?.file === shown && n <= place.to; n += 1) if (!marks.has(n)) marks.set(n, depth ? "caller" : "running");
  });
  useLayoutEffect(() => {
    const box = line.current?.closest(".text");
    if (!box || shown !== top?.file) return;
    const { offsetTop, offsetHeight } = line.current;
    // With some lines around it in sight, the text stands still.
    if (offsetTop > box.scrollTop + 40 && offsetTop + offsetHeight < box.scrollTop + box.clientHeight - 40) return;
    box.scrollTop = offsetTop - box.clientHeight * 0.4;
  }, [shown, top?.from, files.length]);
  if (!files.length) return html`<p class="empty">One moment…</p>`;
  return html`
    <div class="files">${files.map((file, n) => html`<button aria-pressed=${n === shown} title=${file.name} onClick=${() => setChosen(n)}>${file.name.split("/").at(-1)}</button>`)}</div>
    <div class="text" tabindex="0" role="region" aria-label="Program text"><ol>${files[shown].text.trimEnd().split("\n").map((row, n) => {
      const mark = marks.get(n + 1);
      return html`<li key=${n} class=${cls(mark, row[0] === "#" && "heading")} ref=${n + 1 === top?.from ? line : undefined} aria-current=${mark === "running" && "step"}><span class="n">${n + 1}</span><code>${row || " "}</code></li>`;
    })}</ol></div>`;
}

const Part = ({ name, n, children }) => html`<section class=${cls("part", n === 0 && "is-empty")}><h2>${name} <span class="n">${n}</span></h2>${children}</section>`;

const frameName = (frame) => `${frame.agent}.${frame.playbook ?? frame.plan}`;

const Stack = ({ state }) => html`<${Part} name="Stack" n=${state.stack.length}>
  <p class="stands">${state.stands}</p>
  <ol class="stack">${state.stack.map((frame, n) => html`<li class=${cls(!n && "top")}><code>${frameName(frame)}</code> ${frame.line && `line ${frame.line}`} ${frame.origin !== "begin" && html`<span class="origin">${frame.origin}</span>`}</li>`)}</ol>
</${Part}>`;

// Variables of the frames and of the agents; what has got another value is lit for a moment.
function Variables({ state }) {
  const seen = useRef({ n: 0 }).current;
  const { stack, others } = state;
  const groups = [
    ...stack.map((frame, n) => [frameName(frame), frame.variables, stack.length - n]),
    ...[...new Set(others.map((one) => one.agent))].map((agent) => [`others of ${agent}`, others.filter((one) => one.agent === agent), 0]),
  ].filter(([, variables]) => variables.length);
  const known = ({ name, value }) => `${name} ${JSON.stringify(value)}`;
  if (seen.state !== state) {
    const values = new Set(groups.flatMap(([, variables]) => variables.map(known)));
    Object.assign(seen, { state, values, before: seen.values ?? values, n: seen.n + 1 });
  }
  return html`<${Part} name="Variables" n=${groups.reduce((n, [, variables]) => n + variables.length, 0)}>${groups.map(([group, variables, n]) => html`<div key=${`${n} ${group}`}>
    <h3>${group}</h3>
    <dl>${variables.map((one) => {
      const { name, value, origin, secret } = one;
      const isNew = !seen.before.has(known(one));
      // Another key for each change: the light begins anew.
      return html`<div key=${`${name} ${isNew && seen.n}`} class=${cls("variable", brief(value).length + name.length < 22 && "short", isNew && "flash")}><dt>$${name}</dt><dd>${secret ? "***" : html`<${Value} value=${value} max=${64} />`}</dd><dd class="origin">${secret ? "secret" : ORIGINS[origin]}</dd></div>`;
    })}</dl></div>`)}</${Part}>`;
}

function Calls({ state }) {
  const calls = state.stack.flatMap((frame) => frame.calls);
  return html`<${Part} name="Calls" n=${calls.length}><ul class="calls">${calls.map((call) => html`<li><${Dot} state=${call.state} /><div><code>${call.name}(${args(call.args, 40)})</code> <span class="origin">${call.state}</span></div></li>`)}</ul></${Part}>`;
}

const Triggers = ({ store, state, why }) => html`<${Part} name="Triggers" n=${state.triggers.length}>
  <ul class="triggers">${state.triggers.map((one) => html`<${Trigger} key=${one.trigger} store=${store} one=${one} why=${why?.trigger === one.trigger ? why : null} />`)}</ul>
</${Part}>`;

// A trigger; why it fired, or did not, is asked when somebody wants to know.
function Trigger({ store, one, why }) {
  const [told, setTold] = useState(null);
  const box = useRef(null);
  useEffect(() => {
    if (!why) return;
    box.current.open = true;
    box.current.querySelector("summary").focus();
  }, [why]);
  useEffect(() => why && box.current.scrollIntoView({ block: "nearest" }), [why, told]);
  const ask = () => box.current.open && api("GET", `${store.path}/why?trigger=${enc(one.trigger)}`).then(setTold, (problem) => setTold({ problem }));
  return html`<li><details ref=${box} onToggle=${ask}>
    <summary><code>${one.trigger}</code>${one.active ? html`<span class="tag lit">active</span>` : one.holds && html`<span class="tag">holds</span>`}</summary>
    <${Trouble} of=${told?.problem} />
    ${told?.text && html`<div class="why">
      <p><strong>${told.text}</strong></p>
      <p class="origin">${told.place}; read as ${told.read_as}</p>
      <p>${told.evaluated ? `Evaluated ${count(told.evaluated, "time")}, ${count(told.matches, "match", "matches")}.` : "Not evaluated yet."}</p>
      ${told.evaluations.slice(-20).reverse().map((e) => html`<div class="evaluation">
        <p><strong>${e.verdict.replaceAll("_", " ")}</strong>, by ${e.by}${e.fired && ": its playbook was called"}${e.reason && `: ${e.reason}`}</p>
        ${e.update.map(({ name, old, new: now }) => html`<p><code>$${name}</code>: ${old === null ? "no value" : html`<code>${brief(old, 60)}</code>`} → <code>${brief(now, 60)}</code></p>`)}
        <p class="origin">${e.line}${e.turn && `, turn ${e.turn}`}, <${Time} at=${e.time} seconds /></p>
      </div>`)}
    </div>`}
  </details></li>`;
}

function Cost({ store }) {
  const { turns, prompt, cached, completion, discarded } = store.talk.totals;
  const rows = { turns, "prompt tokens": prompt, "of which cached": cached, "reply tokens": completion, "of which unused": discarded, cost: store.session.cost };
  return html`<${Part} name="Cost">
    <dl class="cost">${Object.entries(rows).map(([name, n]) => n > 0 && html`<div><dt>${name}</dt><dd>${number(n)}</dd></div>`)}</dl>
    ${!turns && html`<p class="empty">No model turns yet.</p>`}
  </${Part}>`;
}
