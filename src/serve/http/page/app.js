// The inspector: sessions, what waits for approval, and one session that is looked at.
import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { STATES, Time, cls, count, html, said } from "./bits.js";
import { api } from "./net.js";
import { Session } from "./session.js";
import { Approval } from "./speech.js";

/** What the address names: `#/s/ID`, `#/approvals`, or nothing. */
function route() {
  const [, first, second] = location.hash.split("/");
  return first === "s" && second ? { id: decodeURIComponent(second) } : { page: first ?? "" };
}

export const open = (id) => {
  location.hash = `#/s/${encodeURIComponent(id)}`;
};

/** Asks every few seconds while somebody looks; answers what came, what went wrong, and how to ask now. */
function usePolled(path, ms, isOn = true) {
  const [got, setGot] = useState({ value: null, problem: null });
  const [n, again] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    if (!isOn) return undefined;
    let isGone = false;
    let timer = 0;
    const ask = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        try {
          const value = await api("GET", path);
          if (!isGone) setGot({ value, problem: null });
        } catch (problem) {
          if (!isGone) setGot((before) => ({ ...before, problem }));
        }
      }
      if (!isGone) timer = setTimeout(ask, ms);
    };
    const look = () => !document.hidden && ask();
    ask();
    document.addEventListener("visibilitychange", look);
    return () => {
      isGone = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [path, isOn, n]);
  return [got.value, got.problem, again];
}

export function Login({ onDone }) {
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await api("POST", "/api/login", { token: new FormData(event.target).get("token").trim() });
      onDone();
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<main class="login"><form class="card" onSubmit=${submit}>
    <h1>Playhouse</h1>
    <p>This server asks for a token. <code>playhouse serve token new NAME --role operator</code> prints one.</p>
    <label for="token">Token</label>
    <input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck=${false} />
    ${problem && html`<p class="problem" role="alert">${said(problem)}</p>`}
    <button class="primary">Sign in</button>
  </form></main>`;
}

const Dot = ({ state }) => html`<span class=${cls("dot", state)} title=${STATES[state] ?? state}></span>`;

function Row({ session, isOpen }) {
  const { labels } = session;
  const tags = Array.isArray(labels) ? labels : Object.entries(labels ?? {}).map(([name, value]) => (value === "" || value === true ? name : `${name}: ${value}`));
  return html`<li><a class="session" href=${`#/s/${encodeURIComponent(session.id)}`} aria-current=${isOpen ? "page" : undefined}>
    <span class="line"><${Dot} state=${session.state} /><strong>${session.program}</strong><${Time} at=${session.last ?? session.created} /></span>
    <span class="line sub"><span class="words">${STATES[session.state] ?? session.state}</span><span class="id">${session.id}</span></span>
    ${(tags.length > 0 || session.forked_from) && html`<span class="line tags">${session.forked_from && html`<span class="tag">fork</span>`}${tags.map((tag) => html`<span class="tag">${tag}</span>`)}</span>`}
  </a></li>`;
}

/** The list of sessions; older ones on demand. */
function Sessions({ id, programs }) {
  const [program, setProgram] = useState("");
  const [state, setState] = useState("");
  const [older, setOlder] = useState([]);
  const query = `/api/sessions?limit=50${program && `&program=${encodeURIComponent(program)}`}${state && `&state=${state}`}`;
  const [page, problem, again] = usePolled(query, 5000);
  useEffect(() => setOlder([]), [query]);
  useEffect(() => again(), [id]);
  const next = older.length ? older.at(-1).next : page?.next;
  const all = [page, ...older].flatMap((page) => page?.sessions ?? []);
  const sessions = [...new Map(all.map((session) => [session.id, session])).values()];
  const load = async () => setOlder([...older, await api("GET", `${query}&before=${encodeURIComponent(next)}`)]);
  return html`<section class="sessions" aria-label="Sessions">
    <div class="filters">
      <select aria-label="Program" value=${program} onChange=${(event) => setProgram(event.target.value)}><option value="">All programs</option>${programs.map(({ name }) => html`<option value=${name}>${name}</option>`)}</select>
      <select aria-label="State" value=${state} onChange=${(event) => setState(event.target.value)}><option value="">Any state</option>${Object.entries(STATES).map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select>
    </div>
    ${problem && html`<p class="problem" role="status">${said(problem)}</p>`}
    ${page && !sessions.length && html`<p class="empty">${program || state ? "No session is like that." : "No session yet. Begin one with “New session”."}</p>`}
    <ul>${sessions.map((session) => html`<${Row} key=${session.id} session=${session} isOpen=${session.id === id} />`)}</ul>
    ${next && html`<button class="link more" onClick=${load}>Show older sessions</button>`}
  </section>`;
}

/** Begins a session: a click, or with a playbook, arguments and labels. */
function Begin({ program }) {
  const [problem, setProblem] = useState(null);
  const [name, setName] = useState("");
  const playbook = program.playbooks.find((one) => one.name === name);
  const begin = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const given = (playbook?.parameters ?? []).filter(({ name }) => form.get(`arg:${name}`) !== "");
    const value = (text, type) => {
      if (/^str/.test(type)) return text;
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    };
    try {
      const session = await api("POST", "/api/sessions", {
        program: program.name,
        ...(name && { playbook: name }),
        ...(given.length && { arguments: Object.fromEntries(given.map(({ name, type }) => [name, value(form.get(`arg:${name}`), type)])) }),
        ...(form.get("message") && { message: form.get("message") }),
      });
      open(session.id);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<li class="card program"><form onSubmit=${begin}>
    <header><div><h3>${program.title ?? program.name}</h3><p class="id">${program.name}</p></div><button class="primary" aria-label=${`Begin a session of ${program.name}`}>Begin</button></header>
    ${program.description && html`<p>${program.description}</p>`}
    <details><summary>Options</summary>
      <label>Playbook<select value=${name} onChange=${(event) => setName(event.target.value)}><option value="">As the program says</option>${program.playbooks.map(({ name }) => html`<option value=${name}>${name}</option>`)}</select></label>
      ${(playbook?.parameters ?? []).map(({ name, type }) => html`<label key=${name}><span>$${name} <span class="tag">${type}</span></span><input name=${`arg:${name}`} autocomplete="off" /></label>`)}
      <label>First message<input name="message" autocomplete="off" /></label>
    </details>
    ${problem && html`<p class="problem" role="alert">${said(problem)}</p>`}
  </form></li>`;
}

function Home({ programs }) {
  return html`<main class="home"><div class="width">
    <h1>New session</h1>
    ${programs && !programs.length && html`<p class="empty">This server has no program.</p>`}
    <ul class="programs">${(programs ?? []).map((program) => html`<${Begin} key=${program.name} program=${program} />`)}</ul>
  </div></main>`;
}

function Approvals({ approvals, again }) {
  const answer = (one) => async (call, answer) => {
    try {
      await api("POST", `/api/sessions/${encodeURIComponent(one.session)}/approvals/${encodeURIComponent(call)}`, { answer });
      again();
      return null;
    } catch (error) {
      again();
      return error;
    }
  };
  return html`<main class="home"><div class="width">
    <h1>Approvals</h1>
    ${approvals?.length === 0 && html`<p class="empty">Nothing waits for approval.</p>`}
    <ul class="approvals">${(approvals ?? []).map((one) => html`<li key=${`${one.session} ${one.call}`}>
      <p class="from"><a href=${`#/s/${encodeURIComponent(one.session)}`}>${one.program} <span class="id">${one.session}</span></a> <${Time} at=${one.asked} /></p>
      <${Approval} item=${{ call: one.call, key: one.session }} approval=${one} onAnswer=${answer(one)} />
    </li>`)}</ul>
  </div></main>`;
}

function App() {
  const [me, setMe] = useState(null);
  const [problem, setProblem] = useState(null);
  const [at, setAt] = useState(route);
  const enter = () => api("GET", "/api/me").then((me) => (setProblem(null), setMe(me)), setProblem);
  useEffect(() => {
    enter();
    const moved = () => setAt(route());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const isIn = Boolean(me);
  const mayApprove = me?.role === "operator" || me?.role === "admin";
  const [programs] = usePolled("/api/programs", 60_000, isIn);
  const [waiting, , again] = usePolled("/api/approvals", 4000, isIn && mayApprove);
  const n = waiting?.approvals.length ?? 0;
  useEffect(() => {
    document.title = `${n ? `(${n}) ` : ""}${at.id ?? "Playhouse"}`;
  }, [n, at.id]);
  if (problem?.status === 401 || problem?.status === 403) return html`<${Login} onDone=${enter} />`;
  if (problem) return html`<main class="login"><div class="card"><h1>Playhouse</h1><p class="problem" role="alert">${said(problem)}</p><button class="primary" onClick=${enter}>Try again</button></div></main>`;
  if (!me) return null;
  const leave = async () => {
    await api("POST", "/api/logout", {});
    setMe(null);
    enter();
  };
  return html`<div class=${cls("app", at.id && "has-session")}>
    <nav class="side" aria-label="Playhouse">
      <header><a class="brand" href="#/">Playhouse</a>${me.auth && html`<span class="who">${me.name} <button class="link" onClick=${leave}>Sign out</button></span>`}</header>
      <a class="button" href="#/" aria-current=${!at.id && !at.page ? "page" : undefined}>New session</a>
      ${mayApprove && html`<a class="button plain" href="#/approvals" aria-current=${at.page === "approvals" ? "page" : undefined}>Approvals${n > 0 && html`<span class="badge" aria-label=${`${count(n, "call")} to approve`}>${n}</span>`}</a>`}
      <${Sessions} id=${at.id} programs=${programs?.programs ?? []} />
    </nav>
    ${at.id ? html`<${Session} key=${at.id} id=${at.id} me=${me} approvals=${waiting?.approvals} onRefused=${(problem) => problem.status === 401 && setProblem(problem)} />`
      : at.page === "approvals" ? html`<${Approvals} approvals=${waiting?.approvals} again=${again} />`
      : html`<${Home} programs=${programs?.programs} />`}
  </div>`;
}

render(html`<${App} />`, document.getElementById("page"));
