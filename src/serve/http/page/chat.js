// The chat for visitors, also in a frame of another site: speech, composer, stop, questions.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html, keep, local, said } from "./bits.js";
import { api, useToken } from "./net.js";
import { Composer, Conversation, Link, useStore } from "./speech.js";
import { Store } from "./store.js";

const program = decodeURIComponent(location.pathname.split("/").filter(Boolean).at(-1));
const TOKEN = `visitor:${program}`;
const SESSION = `chat:${program}`;

/** Who may not talk without a token becomes a visitor. A frame of another site gets no cookie, so it is kept here. */
async function enter() {
  useToken(keep(local, TOKEN)?.token ?? null);
  try {
    return await api("GET", "/api/me");
  } catch (problem) {
    if (problem.status !== 401) throw problem;
  }
  useToken(null);
  const visitor = await api("POST", "/api/visitors", { program });
  keep(local, TOKEN, visitor);
  keep(local, SESSION, null);
  useToken(visitor.token);
  return api("GET", "/api/me");
}

/** The session that was talked with, or a new one. */
async function session(isNew) {
  const id = isNew ? null : keep(local, SESSION);
  if (id) {
    try {
      return await api("GET", `/api/sessions/${encodeURIComponent(id)}`);
    } catch (problem) {
      if (problem.status !== 404 && problem.status !== 403) throw problem;
    }
  }
  const begun = await api("POST", "/api/sessions", { program });
  keep(local, SESSION, begun.id);
  return begun;
}

function Talk({ id, onNew, onRefused }) {
  const [store] = useState(() => new Store(id, { isSpeechOnly: true, onRefused }));
  useEffect(() => {
    store.open();
    return () => store.close();
  }, []);
  useStore(store);
  const again = html`<button class="primary" onClick=${onNew}>New conversation</button>`;
  return html`<${Link} store=${store} />
    <${Conversation} store=${store} mayAnswer=${store.session?.approval?.args} empty=${html`<p class="sr">One moment…</p>`} />
    <${Composer} store=${store} over=${html`<p>This conversation is over.</p>${again}`} />`;
}

function Chat() {
  const [title, setTitle] = useState("");
  const [at, setAt] = useState(null);
  const [problem, setProblem] = useState(null);
  const begin = async (isNew) => {
    setProblem(null);
    try {
      await enter();
      const { id } = await session(isNew);
      setAt(id);
      const { programs } = await api("GET", "/api/programs");
      setTitle(programs.find((one) => one.name === program)?.title ?? program);
    } catch (error) {
      setProblem(error);
    }
  };
  useEffect(() => {
    begin(false);
  }, []);
  useEffect(() => {
    document.title = title || "Chat";
  }, [title]);
  return html`<main class="chat">
    <header><h1>${title || "\u00a0"}</h1>${at && !problem && html`<button class="link" onClick=${() => begin(true)}>New conversation</button>`}</header>
    ${problem ? html`<div class="refused"><p class="problem" role="alert">${said(problem)}</p><button class="primary" onClick=${() => begin(problem.status === 404)}>Try again</button></div>`
      : at ? html`<${Talk} key=${at} id=${at} onNew=${() => begin(true)} onRefused=${setProblem} />` : html`<p class="sr">Opening the conversation…</p>`}
  </main>`;
}

render(html`<${Chat} />`, document.getElementById("page"));
