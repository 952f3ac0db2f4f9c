// The conversation: what is said, what is called, what is asked; and where the user writes.
import { Component } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { Dot, ORIGINS, Trouble, Value, args, brief, cls, count, html, pairs, said } from "./bits.js";
import { markdown } from "./markdown.js";
import { markOrder } from "./net.js";

// Draws again when the store has changed, which is open as long as it is shown.
export function useStore(make) {
  const [store] = useState(make);
  const [, draw] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    store.hear = draw;
    store.open();
    return () => store.close();
  }, []);
  return store;
}

const ITEMS_SHOWN = 150;

// An item is drawn again only when it is another.
class Item extends Component {
  shouldComponentUpdate(next) {
    return ["item", "isFuture", "approval", "answered", "mayAnswer", "who"].some((name) => this.props[name] !== next[name]);
  }
  render({ isFuture, onJump, ...rest }) {
    const { item } = rest;
    const name = `${item.playbook}:${item.line}`;
    return html`<li class=${cls("item", item.kind, isFuture && "future")}>
      <div class="what"><${ITEMS[item.kind]} ...${rest} /></div>
      ${onJump && item.line && item.mark && html`<button class="where" title="Go to this moment" aria-label=${`Go to the moment of ${name}`} onClick=${() => onJump(item.mark)}>${name}</button>`}
    </li>`;
  }
}

const update = (of) => of.map((one, n) => html`${n ? ", " : ", as "}<code>$${one.name}</code> ${one.old === null ? "became" : html`went from <code>${brief(one.old, 30)}</code> to`} <code>${brief(one.new, 40)}</code>`);

// A trigger that matched, or what cut a reply off.
const Cut = ({ item: { kind, trigger, reason, update: of = [] }, onWhy }) => html`<p class="aside cut">
  ${!trigger ? `Reply cut off: ${reason}` : kind === "trigger_matched" ? html`Trigger <code>${trigger}</code> matched` : html`Reply cut off by trigger <code>${trigger}</code>`}${update(of.slice(0, 2))}
  ${trigger && onWhy && html` <button class="link" onClick=${() => onWhy(trigger)}>why?</button>`}
</p>`;

const ITEMS = {
  user: ({ item, who }) => html`<${Bubble} who=${who} text=${item.text} />`,
  program: ({ item }) => html`<div class=${cls("speech", item.isOpen && "open", item.isWithdrawn && "withdrawn")}>${markdown(item.text)}</div>${item.isWithdrawn && html`<p class="aside">Taken back</p>`}`,
  call: Call,
  approval: Approval,
  stream_cancelled: Cut,
  trigger_matched: Cut,
  note: ({ item }) => html`<p class=${cls("aside", item.tone)}>${item.text}</p>`,
  finished: ({ item }) => html`<p class="ending"><${Dot} state="finished" />Finished${(item.value ?? null) !== null && html` with <${Value} value=${item.value} max=${60} />`}</p>`,
  failed: ({ item }) => html`<div class="ending failed" role="alert"><p><strong>The program failed</strong> ${item.fault && html`<span class="tag">${item.fault}</span>`}</p><p>${item.message}</p></div>`,
};

const Bubble = ({ who = "You", text }) => html`<span class="sr">${who}: </span><p class="bubble">${text}</p>`;

function Call({ item }) {
  const { state, error } = item;
  const row = (name, value) => html`<dt>${name}</dt><dd>${value}</dd>`;
  return html`<details class=${cls("chip", state)}>
    <summary><${Dot} state=${state} />
      <span class="call"><code>${item.name}(${args(item.args, 32)})</code>${(state === "done" || error) && html`<span class="result"> → ${error ?? html`<code>${brief(item.result, 60)}</code>`}</span>`}</span>
      <span class="size">${state === "done" ? `${item.ms} ms` : state}${item.progress !== undefined && `: ${brief(item.progress, 40)}`}</span>
    </summary>
    <dl class="pairs">
      ${pairs(item.args).map(([name, value]) => row(html`<code>${name}</code>`, html`<${Value} value=${value} max=${200} />`))}
      ${state === "done" && row("result", html`<${Value} value=${item.result} max=${200} />`)}
      ${error && row("error", error)}
    </dl>
  </details>`;
}

// A question about a call. Who may not answer it is not told the tool.
export function Approval({ item, approval, answered, mayAnswer, onAnswer }) {
  const [words, setWords] = useState("");
  const [problem, setProblem] = useState(null);
  const [isSending, setSending] = useState(false);
  const question = approval?.question ?? item.question;
  const outcome = item.outcome ?? { true: "Confirmed", false: "Refused", null: "Answered" }[answered] ?? answered;
  if (outcome) return html`<p class="aside">${question} <strong>${outcome}</strong></p>`;
  const answer = async (value) => {
    setSending(true);
    setProblem(await onAnswer(item.call, value));
    setSending(false);
  };
  const isMine = mayAnswer && approval?.tool;
  return html`<section class="card approval" aria-label="Question">
    <p class="kicker">${isMine ? html`Needs approval <code>${approval.tool}</code>` : "Waiting"}</p>
    <p class="question">${question}</p>
    ${isMine && html`<table class="arguments"><caption class="sr">Arguments</caption><tbody>
        ${approval.args.map(([name, value, origin]) => html`<tr><th scope="row">${name}</th><td><${Value} value=${value} max=${80} /></td><td class="origin">${ORIGINS[origin]}</td></tr>`)}
      </tbody></table>
      <form class="answers" onSubmit=${(event) => (event.preventDefault(), words.trim() && answer(words.trim()))}>
        <button type="button" class="primary" disabled=${isSending} onClick=${() => answer(true)}>Yes</button>
        <button type="button" disabled=${isSending} onClick=${() => answer(false)}>No</button>
        <input aria-label="Answer in words" placeholder="or in words" autocomplete="off" value=${words} onInput=${(event) => setWords(event.target.value)} />
        ${words.trim() && html`<button disabled=${isSending}>Answer</button>`}
      </form>`}
    <${Trouble} of=${problem} />
  </section>`;
}

// What is said, the newest at the end, which stays in sight until somebody scrolls up.
export function Conversation({ store, onJump, onWhy, mayAnswer }) {
  const box = useRef(null);
  const stuck = useRef(true);
  const [more, setMore] = useState(0);
  const [isAway, setAway] = useState(false);
  const { talk, session, pending, unread } = store;
  const who = store.customer ?? undefined;
  const isPast = store.at !== null;
  const horizon = isPast && store.view && markOrder(store.view.mark);
  const [n, later] = [talk.items.length, horizon ? talk.items.findIndex((item) => markOrder(item.mark) > horizon) : -1];
  const from = Math.max(0, (later < 0 ? n : later) - ITEMS_SHOWN - more);
  const stick = () => {
    const { current: el } = box;
    if (el && stuck.current) el.scrollTop = el.scrollHeight;
  };
  useLayoutEffect(stick);
  useEffect(() => {
    // Back from the past, and in a window of another size, the end is in sight again.
    stuck.current = !isPast;
    stick();
    const observer = new ResizeObserver(stick);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isPast]);
  useLayoutEffect(() => {
    const last = isPast && [...box.current.querySelectorAll(".item:not(.future)")].at(-1);
    if (last) box.current.scrollTop = last.offsetTop + last.offsetHeight - box.current.clientHeight * 0.7;
  }, [horizon]);
  const onScroll = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    stuck.current = !isPast && scrollHeight - scrollTop - clientHeight < 48;
    setAway(!stuck.current && !isPast);
  };
  const earlier = () => {
    const { scrollHeight, scrollTop } = box.current;
    setMore(more + ITEMS_SHOWN);
    requestAnimationFrame(() => (box.current.scrollTop = box.current.scrollHeight - scrollHeight + scrollTop));
  };
  const ofItem = (item) =>
    item.kind === "approval" && {
      approval: session?.approval?.call === item.call ? session.approval : store.approvals.find((one) => one.call === item.call),
      answered: store.answered.get(item.call),
      mayAnswer: mayAnswer && !isPast,
      onAnswer: (call, answer) => store.answer(call, answer),
    };
  return html`<div class="conversation">
    <div class="scroll" ref=${box} onScroll=${onScroll} tabindex="0" role="region" aria-label="Conversation">
      ${from > 0 && html`<p class="earlier"><button class="link" onClick=${earlier}>Show earlier (${count(from, "entry", "entries")})</button></p>`}
      ${!n && !pending.length && !unread.length && html`<p class="empty">${store.link === "live" ? "Nothing has been said yet." : "One moment…"}</p>`}
      <ol class="items">
        ${talk.items.slice(from, later < 0 ? n : later + ITEMS_SHOWN).map((item) => html`<${Item} key=${item.key} item=${item} isFuture=${later >= 0 && item.key >= later} who=${who} onJump=${onJump} onWhy=${onWhy} ...${ofItem(item)} />`)}
        ${!isPast && unread.map((text, at) => html`<li key=${`unread ${at}`} class="item user pending"><div class="what"><${Bubble} who=${who} text=${text} /><p class="fate">${notRead(store)}</p></div></li>`)}
        ${!isPast && pending.map((message) => html`<li key=${message.id} class="item user pending"><div class="what"><${Bubble} who=${who} text=${message.text} /><${Fate} store=${store} message=${message} /></div></li>`)}
        ${talk.isBusy && talk.open < 0 && store.link === "live" && !isPast && html`<li key="thinking" class="item thinking"><span class="sr">The program is working</span><i></i><i></i><i></i></li>`}
      </ol>
    </div>
    ${isAway && html`<button class="to-end" onClick=${() => (box.current.scrollTop = box.current.scrollHeight)}>Newest ↓</button>`}
    <div class="sr" role="status">${!isPast && store.announced}</div>
  </div>`;
}

const notRead = (store) => (store.isOver ? "Not read: the session is over" : "Not read yet");

function Fate({ store, message }) {
  const { problem } = message;
  if (!problem) return html`<p class="fate">${message.isSent ? notRead(store) : "Sending…"}</p>`;
  if (problem.passes) return html`<p class="fate">Not sent yet. ${said(problem)} Trying again…</p>`;
  return html`<p class="fate problem" role="alert">Not sent. ${said(problem)} <button class="link" onClick=${() => store.post(message)}>Try again</button> <button class="link" onClick=${() => store.drop(message)}>Discard</button></p>`;
}

export const Lost = ({ store }) => store.link === "lost" && html`<p class="lost" role="status">Connection lost. Trying again… <button class="link" onClick=${() => store.stream?.start()}>Try now</button></p>`;

// Where the user writes. Enter sends, Shift+Enter begins a new line.
export function Composer({ store, isOff, hint, over }) {
  const box = useRef(null);
  const { customer } = store;
  const [text, setText] = useState("");
  useLayoutEffect(() => {
    if (!box.current) return;
    box.current.style.height = "auto";
    box.current.style.height = `${Math.min(box.current.scrollHeight + 2, 180)}px`;
  }, [text]);
  if (store.isOver) return html`<div class="composer over">${over}</div>`;
  const send = (event) => {
    event.preventDefault();
    if (!text.trim() || isOff) return;
    store.send(text.trim());
    setText("");
    box.current.focus();
  };
  return html`<form class="composer" onSubmit=${send}>
    ${customer && html`<p class="hint">The program, and the user's own chat, take what you write here as said by the user <strong>${customer}</strong>.</p>`}
    <textarea aria-label="Message" ref=${box} rows="1" value=${text} disabled=${isOff} placeholder=${hint ?? (customer ? "Write as the user" : "Write a message")} enterkeyhint="send"
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && send(event)}></textarea>
    ${store.talk.isBusy && store.link === "live" && html`<button type="button" onClick=${() => store.stop()}><span class="square"></span>Stop</button>`}
    <button class="primary" disabled=${isOff || !text.trim()}>${customer ? "Send as the user" : "Send"}</button>
  </form>`;
}
