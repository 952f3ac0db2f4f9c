// What the interpreter knows, at the moment that is looked at: source, stack, variables, calls, triggers, cost.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ORIGINS, Time, Value, args, brief, cls, count, html, number, said } from "./bits.js";
import { api } from "./net.js";

export function Inspector({ store, why }) {
  const { state } = store;
  return html`
    <section class="source" id="pane-source" aria-label="Source"><${Source} store=${store} stack=${state?.stack ?? []} /></section>
    <section class="know" id="pane-know" aria-label="Inspector" tabindex="0">
      ${!state && html`<p class="empty">The interpreter's state comes with the connection.</p>`}
      ${state && html`<${Stack} state=${state} /><${Variables} state=${state} /><${Calls} state=${state} /><${Triggers} store=${store} state=${state} why=${why} /><${Cost} store=${store} state=${state} />`}
    </section>`;
}

/** The program's text: the running line bright, the lines of its callers pale. */
function Source({ store, stack }) {
  const [chosen, setChosen] = useState(null);
  const running = useRef(null);
  const files = store.source?.files ?? [];
  const top = stack[0]?.place;
  // A file that somebody has chosen stays until the program goes on elsewhere.
  useEffect(() => setChosen(null), [top?.file]);
  const shown = chosen ?? top?.file ?? 0;
  const marks = new Map();
  stack.forEach(({ place }, depth) => {
    if (place?.file !== shown) return;
    for (let n = place.from; n <= place.to; n += 1) if (!marks.has(n)) marks.set(n, depth ? "caller" : "running");
  });
  const key = `${shown}:${top?.from}:${store.point}`;
  useLayoutEffect(() => {
    const line = running.current;
    const box = line?.closest(".text");
    if (!box) return;
    const [from, height] = [line.offsetTop, line.offsetHeight];
    // Already in sight, with some lines around it: then the text stands still.
    if (from > box.scrollTop + 40 && from + height < box.scrollTop + box.clientHeight - 40) return;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    box.scrollTo({ top: from - box.clientHeight * 0.4, behavior: isCalm ? "instant" : "smooth" });
  }, [key, files.length]);
  if (!files.length) return html`<p class="empty">${store.source ? "There is no text to show." : "Loading the program…"}</p>`;
  const rows = files[shown].text.replace(/\n$/, "").split("\n");
  return html`
    <div class="files">${files.map((file, n) => html`<button class=${cls("file", n === shown && "chosen")} aria-pressed=${n === shown} title=${file.name} onClick=${() => setChosen(n)}>${file.name.split("/").at(-1)}</button>`)}</div>
    <div class="text" tabindex="0" role="region" aria-label="Program text"><ol>${rows.map((row, n) => {
      const mark = marks.get(n + 1);
      return html`<li key=${n} class=${cls(mark, /^#/.test(row) && "heading")} ref=${mark === "running" && n + 1 === top?.from ? running : undefined} aria-current=${mark === "running" ? "step" : undefined}><span class="n">${n + 1}</span><code>${row || " "}</code></li>`;
    })}</ol></div>`;
}

const Part = ({ name, n, children, isEmpty }) => html`<section class=${cls("part", isEmpty && "is-empty")}><h2>${name}${n !== undefined && html` <span class="n">${n}</span>`}</h2>${children}</section>`;

const frameName = (frame) => `${frame.agent}.${frame.playbook ?? frame.plan}`;

function Stack({ state }) {
  const origin = { begin: "", call: "called", trigger: "called by a trigger" };
  return html`<${Part} name="Stack" n=${state.stack.length} isEmpty=${!state.stack.length}>
    <p class="stands">${state.stands}${state.fault ? `: ${state.fault.message ?? brief(state.fault)}` : ""}</p>
    <ol class="stack">${state.stack.map((frame, n) => html`<li key=${state.stack.length - n} class=${cls(n === 0 && "top")}>
      <code>${frameName(frame)}</code>${frame.line && html`<span class="line">line ${frame.line}</span>`}<span class="origin">${origin[frame.origin?.type ?? frame.origin] ?? brief(frame.origin, 40)}</span>
    </li>`)}</ol>
  </${Part}>`;
}

/** Variables of the frames and of the agents; what has just got another value is lit for a moment. */
function Variables({ state }) {
  const before = useRef({ state: null, values: new Map(), changed: new Map(), n: 0 });
  const seen = before.current;
  const groups = [
    ...state.stack.map((frame, n) => ({ key: `frame ${state.stack.length - n}`, name: frameName(frame), variables: frame.variables })),
    ...[...new Set(state.others.map((one) => one.agent))].map((agent) => ({ key: `others ${agent}`, name: `others of ${agent}`, variables: state.others.filter((one) => one.agent === agent) })),
  ].filter((group) => group.variables.length);
  if (seen.state !== state) {
    const values = new Map(groups.flatMap((group) => group.variables.map((one) => [`${group.key} ${group.name} ${one.name}`, JSON.stringify(one.value)])));
    seen.n += 1;
    // The first state is no change.
    seen.changed = new Map([...values].filter(([key, value]) => seen.state && seen.values.get(key) !== value).map(([key]) => [key, seen.n]));
    [seen.state, seen.values] = [state, values];
  }
  const total = groups.reduce((n, group) => n + group.variables.length, 0);
  return html`<${Part} name="Variables" n=${total} isEmpty=${!total}>${groups.map((group) => html`<div class="group" key=${group.key}>
    <h3>${group.name}</h3>
    <dl>${group.variables.map((one) => {
      const key = `${group.key} ${group.name} ${one.name}`;
      return html`<div key=${`${key} ${seen.changed.get(key) ?? ""}`} class=${cls("variable", seen.changed.has(key) && "flash")}>
        <dt>$${one.name}</dt><dd>${one.secret ? html`<code class="value none">***</code>` : html`<${Value} value=${one.value} max=${64} />`}</dd><dd class="origin">${one.secret ? "secret" : ORIGINS[one.origin] ?? one.origin}</dd>
      </div>`;
    })}</dl></div>`)}</${Part}>`;
}

function Calls({ state }) {
  const calls = state.stack.flatMap((frame) => frame.calls);
  return html`<${Part} name="Calls" n=${calls.length} isEmpty=${!calls.length}><ul class="calls">${calls.map((call) => html`<li key=${call.call}>
    <span class=${cls("dot", call.state.replace(" ", "-"))}></span><code>${call.name}(${args(call.args, 40)})</code><span class="origin">${call.state}</span>
  </li>`)}</ul></${Part}>`;
}

function Triggers({ store, state, why }) {
  return html`<${Part} name="Triggers" n=${state.triggers.length} isEmpty=${!state.triggers.length}><ul class="triggers">${state.triggers.map((one) => html`<${Trigger} key=${one.trigger} store=${store} one=${one} why=${why?.trigger === one.trigger ? why : null} />`)}</ul></${Part}>`;
}

const VERDICTS = { match: "matched", no_match: "did not match" };

/** A trigger; why it fired, or did not, is asked when somebody wants to know. */
function Trigger({ store, one, why }) {
  const [told, setTold] = useState(null);
  const box = useRef(null);
  const ask = async () => {
    try {
      setTold(await api("GET", `${store.path}/why?trigger=${encodeURIComponent(one.trigger)}`));
    } catch (problem) {
      setTold({ problem });
    }
  };
  useEffect(() => {
    if (!why) return;
    box.current.open = true;
    box.current.scrollIntoView({ block: "nearest" });
    box.current.querySelector("summary").focus();
    ask();
  }, [why]);
  return html`<li><details ref=${box} onToggle=${(event) => event.target.open && ask()}>
    <summary><code>${one.trigger}</code><span class="origin">${one.active ? html`<span class="tag lit">active</span>` : one.holds ? html`<span class="tag">holds</span>` : null}</span></summary>
    ${told?.problem && html`<p class="problem">${said(told.problem)}</p>`}
    ${told?.text && html`<div class="why">
      <p class="quote">${told.text}</p>
      <p>${told.place} · read as ${told.read_as}</p>
      <p>${told.evaluated ? `Evaluated ${told.evaluated === 1 ? "once" : `${number(told.evaluated)} times`}: ${count(told.matches, "match").replace("matchs", "matches")}.` : "Not evaluated yet."}</p>
      <ol>${told.evaluations.slice(-20).reverse().map((e) => html`<li class=${e.verdict}>
        <p><strong>${VERDICTS[e.verdict] ?? e.verdict.replaceAll("_", " ")}</strong>, by ${e.by}${e.fired ? ": its playbook was called" : ""}${e.reason ? `: ${e.reason}` : ""} <span class="origin">${e.line}${e.turn ? `, turn ${e.turn}` : ""}, <${Time} at=${e.time} seconds /></span></p>
        ${e.update.map((u) => html`<p class="update"><code>$${u.name}</code>: ${u.old === null ? "no value" : html`<code>${brief(u.old, 60)}</code>`} → <code>${brief(u.new, 60)}</code></p>`)}
      </li>`)}</ol>
    </div>`}
  </details></li>`;
}

function Cost({ store, state }) {
  const { totals } = store.talk;
  const row = (name, value) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<${Part} name="Cost">
    <dl class="cost">${row("turns", number(totals.turns))}${row("prompt tokens", number(totals.prompt))}${totals.cached > 0 && row("of them cached", number(totals.cached))}${row("reply tokens", number(totals.completion))}${totals.discarded > 0 && row("of them not used", number(totals.discarded))}${store.session?.cost !== null && row("cost", store.session?.cost)}</dl>
    ${state.skipped.length > 0 && html`<p>Lines left out: ${state.skipped.map((one) => `${one.line}${one.reason ? ` (${one.reason})` : ""}`).join(", ")}</p>`}
  </${Part}>`;
}
