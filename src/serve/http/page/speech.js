// The conversation: what is said, what is called, what is asked; and where the user writes.
import { Component } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { ORIGINS, Value, args, brief, cls, count, html, pairs, said } from "./bits.js";
import { markdown } from "./markdown.js";
import { markOrder } from "./net.js";

/** Draws again when the store has changed. */
export function useStore(store) {
  const [, draw] = useReducer((n) => n + 1, 0);
  useEffect(() => store.listen(draw), [store]);
}

const ITEMS_SHOWN = 150;

/** An item is drawn again only when it is another. */
class Item extends Component {
  shouldComponentUpdate(next) {
    return ["item", "isFuture", "approval", "canJump", "answered"].some((name) => this.props[name] !== next[name]);
  }
  render({ item, isFuture, canJump, onJump, ...rest }) {
    const where = canJump && item.line && item.mark && ["program", "user", "cut", "trigger"].includes(item.kind);
    const name = `${item.playbook}:${item.line}`;
    return html`<li class=${cls("item", item.kind, isFuture && "future")}>
      <div class="what">${ITEM[item.kind]({ item, ...rest })}</div>
      ${where && html`<button class="where" title="Look at this moment" aria-label=${`Look at the moment of ${name}`} onClick=${() => onJump(item)}>${name}</button>`}
    </li>`;
  }
}

const ITEM = {
  user: ({ item }) => html`<span class="sr">You: </span><p class="bubble">${item.text}</p>`,
  program: ({ item }) => html`<div class=${cls("speech", item.isOpen && "open", item.isWithdrawn && "withdrawn")}>${markdown(item.text)}</div>
    ${item.isWithdrawn && html`<p class="aside">Taken back</p>`}`,
  call: ({ item }) => html`<${Call} item=${item} />`,
  approval: Approval,
  cut: ({ item, onWhy }) => html`<p class="aside cut">
    ${item.trigger ? html`Reply cut off by <code>${item.trigger}</code>` : html`Reply cut off: ${item.reason}`}
    ${item.update?.length ? html`, as <${Update} of=${item.update} />` : null}
    ${item.trigger && onWhy && html` <button class="link" onClick=${() => onWhy(item.trigger)}>why?</button>`}
  </p>`,
  trigger: ({ item, onWhy }) => html`<p class="aside cut">
    Trigger <code>${item.trigger}</code> matched${item.update?.length ? html`, as <${Update} of=${item.update} />` : null}
    ${onWhy && html` <button class="link" onClick=${() => onWhy(item.trigger)}>why?</button>`}
  </p>`,
  note: ({ item }) => html`<p class=${cls("aside", item.tone)}>${item.text}</p>`,
  finished: ({ item }) => html`<p class="ending"><span class="dot finished"></span>Finished${item.value === null || item.value === undefined ? null : html` with <${Value} value=${item.value} max=${60} />`}</p>`,
  failed: ({ item }) => html`<div class="ending failed" role="alert"><p><strong>The program failed</strong>${item.fault ? html` <span class="tag">${item.fault}</span>` : null}</p><p>${item.message}</p></div>`,
};

const Update = ({ of }) => of.slice(0, 2).map((u, n) => html`${n ? ", " : ""}<code>$${u.name}</code> ${u.old === null ? "became" : html`went from <code>${brief(u.old, 30)}</code> to`} <code>${brief(u.new, 40)}</code>`);

const CALL_STATES = { queued: "queued", running: "running", "needs approval": "needs approval", done: "", failed: "failed" };

function Call({ item }) {
  const result = item.error ?? (item.state === "done" ? brief(item.result, 60) : null);
  return html`<details class=${cls("chip", item.state.replace(" ", "-"))}>
    <summary>
      <span class=${cls("dot", item.state.replace(" ", "-"))}></span>
      <span class="call"><code>${item.name}(${args(item.args, 32)})</code>${result !== null && html`<span class="result"><span class="arrow" aria-label="gives">→</span> ${item.error !== undefined ? result : html`<code>${result}</code>`}</span>`}</span>
      <span class="size">${item.state === "done" ? `${item.ms} ms` : CALL_STATES[item.state]}${item.progress !== undefined ? ` ${brief(item.progress, 40)}` : ""}</span>
    </summary>
    <dl class="pairs">
      ${pairs(item.args).map(([name, value]) => html`<dt>${name}</dt><dd><${Value} value=${value} max=${200} /></dd>`)}
      ${item.state === "done" && html`<dt class="gives">result</dt><dd><${Value} value=${item.result} max=${200} /></dd>`}
      ${item.error !== undefined && html`<dt class="gives">error</dt><dd>${item.error}</dd>`}
      ${item.attempt > 1 && html`<dt class="gives">attempt</dt><dd>${item.attempt}</dd>`}
    </dl>
  </details>`;
}

/** A question about a call. Who may not answer gets no arguments. */
export function Approval({ item, approval, answered, onAnswer }) {
  const [words, setWords] = useState("");
  const [problem, setProblem] = useState(null);
  const [isSending, setSending] = useState(false);
  const field = `words-${item.key ?? ""}-${item.call}`;
  if (item.outcome || answered !== undefined) {
    const outcome = answered === true || (answered === undefined && item.outcome === "given") ? "Confirmed" : answered === null || answered === undefined ? "Answered" : answered === false ? "Refused" : `Answered: ${answered}`;
    return html`<p class="aside"><span class="question">${item.question}</span> <strong>${item.outcome === "refused" && answered === undefined ? "Not confirmed" : outcome}</strong></p>`;
  }
  const given = approval?.args;
  const mayAnswer = onAnswer && (!approval || Array.isArray(given));
  const answer = async (value) => {
    setSending(true);
    setProblem(await onAnswer(item.call, value));
    setSending(false);
  };
  const tool = approval?.tool ?? item.name;
  return html`<section class="card approval" aria-label="A question">
    <p class="kicker">${mayAnswer ? "Needs approval" : "Waiting"}${mayAnswer && tool ? html`<code>${tool}</code>` : null}</p>
    <p class="question">${approval?.question ?? item.question}</p>
    ${given?.length > 0 && html`<table class="arguments">
      <caption class="sr">Arguments</caption>
      <tbody>${given.map(([name, value, origin]) => html`<tr><th scope="row">${name}</th><td><${Value} value=${value} max=${80} /></td><td class="origin">${ORIGINS[origin] ?? origin ?? ""}</td></tr>`)}</tbody>
    </table>`}
    ${mayAnswer && html`<form class="answers" onSubmit=${(event) => {
      event.preventDefault();
      if (words.trim()) answer(words.trim());
    }}>
      <button type="button" class="primary" disabled=${isSending} onClick=${() => answer(true)}>Yes</button>
      <button type="button" disabled=${isSending} onClick=${() => answer(false)}>No</button>
      <label class="sr" for=${field}>Answer in words</label>
      <input id=${field} value=${words} onInput=${(event) => setWords(event.target.value)} placeholder="or answer in words" autocomplete="off" />
      ${words.trim() && html`<button disabled=${isSending}>Answer</button>`}
    </form>`}
    ${problem && html`<p class="problem" role="alert">${said(problem)}</p>`}
  </section>`;
}

/** What is said, the newest at the end, which stays in sight until somebody scrolls up. */
export function Conversation({ store, onJump, onWhy, mayAnswer, empty }) {
  useStore(store);
  const box = useRef(null);
  const isStuck = useRef(true);
  const [more, setMore] = useState(0);
  const [isAway, setAway] = useState(false);
  const { talk, session } = store;
  const isPast = store.at !== null;
  const horizon = isPast && store.state?.mark ? markOrder(store.state.mark) : Infinity;
  const from = Math.max(0, talk.items.length - ITEMS_SHOWN - more);

  useLayoutEffect(() => {
    const el = box.current;
    if (isPast) {
      const last = [...el.querySelectorAll(".item:not(.future)")].at(-1);
      if (last) el.scrollTop = last.offsetTop + last.offsetHeight - el.clientHeight * 0.7;
    } else if (isStuck.current) {
      el.scrollTop = el.scrollHeight;
    }
  });
  useEffect(() => {
    // A narrower window makes lines of words longer.
    const observer = new ResizeObserver(() => isStuck.current && !isPast && (box.current.scrollTop = box.current.scrollHeight));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isPast]);
  const onScroll = () => {
    const el = box.current;
    isStuck.current = el.scrollHeight - el.scrollTop - el.clientHeight < 48;
    setAway(!isStuck.current && !isPast);
  };
  const toEnd = () => {
    isStuck.current = true;
    box.current.scrollTop = box.current.scrollHeight;
    setAway(false);
  };
  const earlier = () => {
    const { scrollHeight, scrollTop } = box.current;
    setMore(more + ITEMS_SHOWN);
    requestAnimationFrame(() => (box.current.scrollTop = box.current.scrollHeight - scrollHeight + scrollTop));
  };
  const isThinking = talk.isBusy && talk.open < 0 && store.link.state === "live" && !isPast;
  const approvalOf = (call) => (session?.approval?.call === call ? session.approval : store.approvals?.find((one) => one.call === call));
  return html`<div class="conversation">
    <div class="scroll" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Conversation">
      ${from > 0 && html`<p class="earlier"><button class="link" onClick=${earlier}>Show earlier (${count(from, "entry").replace("entrys", "entries")})</button></p>`}
      ${!talk.items.length && !store.pending.length && html`<div class="empty">${empty ?? html`<p>${store.link.state === "live" ? "Nothing has been said yet." : "Opening the session…"}</p>`}</div>`}
      <ol class="items">
        ${talk.items.slice(from).map((item) => html`<${Item} key=${item.key} item=${item} isFuture=${markOrder(item.mark) > horizon}
          canJump=${Boolean(onJump) && store.points.length > 0} onJump=${onJump} onWhy=${onWhy}
          approval=${item.kind === "approval" ? approvalOf(item.call) : null} answered=${item.kind === "approval" && !item.outcome ? store.answered.get(item.call) : undefined}
          onAnswer=${mayAnswer && !isPast ? (call, answer) => store.answer(call, answer) : null} />`)}
        ${!isPast && store.pending.map((message) => html`<li key=${message.id} class="item user pending"><div class="what"><span class="sr">You: </span><p class="bubble">${message.text}</p><${Fate} store=${store} message=${message} /></div></li>`)}
        ${isThinking && html`<li key="thinking" class="item program"><p class="thinking"><span class="sr">The program is working</span><i></i><i></i><i></i></p></li>`}
      </ol>
    </div>
    ${isAway && html`<button class="to-end" onClick=${toEnd}>Newest <span aria-hidden="true">↓</span></button>`}
    <div class="sr" aria-live="polite" role="status">${isPast ? "" : store.announced}</div>
  </div>`;
}

/** What became of a message that the program has not taken up yet. */
function Fate({ store, message }) {
  const { problem } = message;
  if (!problem) return html`<p class="fate">${message.isSent ? (store.isOver ? "Not read: the session is over" : "Sent") : "Sending…"}</p>`;
  if (problem.passes) return html`<p class="fate">Not sent yet: ${problem.status ? said(problem) : "no connection"}. Trying again…</p>`;
  return html`<p class="fate problem" role="alert">Not sent. ${said(problem)} <button class="link" onClick=${() => store.post(message)}>Try again</button> <button class="link" onClick=${() => store.drop(message)}>Discard</button></p>`;
}

/** Says that the connection is lost, and when it is tried again. */
export function Link({ store }) {
  useStore(store);
  const { state, at } = store.link;
  const [, tick] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    if (state !== "lost") return undefined;
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [state]);
  const left = Math.ceil((at - Date.now()) / 1000);
  if (state !== "lost") return null;
  return html`<p class="lost" role="status"><span>Connection lost. ${at && left > 1 ? `Trying again in ${left} s.` : "Trying again…"}</span>
    <button class="link" onClick=${() => store.stream?.start()}>Try now</button></p>`;
}

/** Where the user writes. Enter sends, Shift+Enter begins a new line. */
export function Composer({ store, isDisabled, over, placeholder = "Write a message" }) {
  useStore(store);
  const box = useRef(null);
  const [text, setText] = useState("");
  useLayoutEffect(() => {
    if (!box.current) return;
    box.current.style.height = "auto";
    box.current.style.height = `${Math.min(box.current.scrollHeight + 2, 180)}px`;
  }, [text]);
  if (store.isOver) return html`<div class="composer over">${over ?? html`<p>This session is over.</p>`}</div>`;
  const send = () => {
    if (!text.trim() || isDisabled) return;
    store.send(text.trim());
    setText("");
    box.current.focus();
  };
  const isSpeaking = store.talk.isBusy && store.link.state === "live";
  return html`<form class="composer" onSubmit=${(event) => (event.preventDefault(), send())}>
    <label class="sr" for="message">Message</label>
    <textarea id="message" ref=${box} rows="1" value=${text} disabled=${isDisabled} placeholder=${placeholder} enterkeyhint="send"
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${(event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          send();
        }
      }}></textarea>
    ${isSpeaking && html`<button type="button" class="stop" onClick=${() => store.stop()}><span class="square" aria-hidden="true"></span>Stop</button>`}
    <button class="primary" disabled=${isDisabled || !text.trim()}>Send</button>
  </form>`;
}
