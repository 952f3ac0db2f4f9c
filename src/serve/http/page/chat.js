// The chat for visitors, also in a frame of another site: speech, composer, stop, questions.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Trouble, html, keep, sessionPath } from "./bits.js";
import { api, useToken } from "./net.js";
import { Composer, Conversation, Lost, useStore } from "./speech.js";
import { Store } from "./store.js";

const program = decodeURIComponent(location.pathname.split("/").filter(Boolean).at(-1));
const VISITOR = `visitor:${program}`;
const SESSION = `chat:${program}`;

// Who may not talk without a token becomes a visitor. A frame of another site gets no cookie, so the token is kept here.
async function enter() {
  useToken(keep("localStorage", VISITOR)?.token);
  try {
    return await api("GET", "/api/me");
  } catch (problem) {
    if (problem.status !== 401) throw problem;
  }
  useToken(null);
  const visitor = await api("POST", "/api/visitors", { program });
  keep("localStorage", VISITOR, visitor);
  keep("localStorage", SESSION, null);
  return useToken(visitor.token);
}

async function session(isNew) {
  const kept = !isNew && keep("localStorage", SESSION);
  if (kept) {
    try {
      return (await api("GET", sessionPath(kept))).id;
    } catch (problem) {
      if (problem.status !== 404) throw problem;
    }
  }
  const { id } = await api("POST", "/api/sessions", { program });
  keep("localStorage", SESSION, id);
  return id;
}

function Talk({ id, onNew, onProblem }) {
  const store = useStore(() => new Store(id, true));
  useEffect(() => onProblem(store.problem), [store.problem]);
  return html`<${Lost} store=${store} /><${Conversation} store=${store} mayAnswer=${true} />
    <${Composer} store=${store} over=${html`<p>This conversation is over.</p><button class="primary" onClick=${onNew}>New conversation</button>`} />`;
}

function Chat() {
  const [title, setTitle] = useState("");
  const [id, setId] = useState(null);
  const [problem, setProblem] = useState(null);
  const begin = async (isNew) => {
    setProblem(null);
    try {
      await enter();
      setId(await session(isNew));
      const { programs } = await api("GET", "/api/programs");
      setTitle((document.title = programs.find((one) => one.name === program)?.title ?? program));
    } catch (problem) {
      setProblem(problem);
    }
  };
  useEffect(() => {
    begin(false);
  }, []);
  return html`<main class="chat">
    <header><h1>${title || "Chat"}</h1>${id && !problem && html`<button onClick=${() => begin(true)}>New conversation</button>`}</header>
    ${problem ? html`<div class="refused"><${Trouble} of=${problem} /><button class="primary" onClick=${() => begin(problem.status === 404)}>Try again</button></div>`
      : id && html`<${Talk} key=${id} id=${id} onNew=${() => begin(true)} onProblem=${setProblem} />`}
  </main>`;
}

render(html`<${Chat} />`, document.getElementById("page"));
