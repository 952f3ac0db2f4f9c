// The inspector: sessions, what waits for approval, and one session that is looked at.
import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { Dot, STATES, Time, Trouble, cls, count, enc, html, sessionLink, sessionPath } from "./bits.js";
import { api } from "./net.js";
import { Session } from "./session.js";
import { Approval } from "./speech.js";

// What the address names: `#/s/ID`, `#/approvals`, or nothing.
function route() {
  const [, page, id] = location.hash.split("/");
  return { page, id: page === "s" && id ? decodeURIComponent(id) : null };
}

// Asks again and again while somebody looks; answers what came, what went wrong, and how to ask now.
function usePolled(path, ms, isOn = true) {
  const [got, setGot] = useState({});
  const [n, again] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    if (!isOn) return undefined;
    let isGone = false;
    const ask = async () => {
      if (document.hidden) return;
      const answer = await api("GET", path).then((value) => ({ value }), (problem) => ({ problem }));
      if (!isGone) setGot((before) => ({ ...before, problem: null, ...answer }));
    };
    ask();
    const timer = setInterval(ask, ms);
    document.addEventListener("visibilitychange", ask);
    return () => {
      isGone = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, [path, isOn, n]);
  return [got.value, got.problem, again];
}

function Login({ onDone }) {
  const [problem, setProblem] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    api("POST", "/api/login", { token: new FormData(event.target).get("token").trim() }).then(onDone, setProblem);
  };
  return html`<main class="login"><form class="card" onSubmit=${submit}>
    <h1>Playhouse</h1>
    <p><code>playhouse serve token new NAME --role operator</code> prints a token.</p>
    <label>Token<input name="token" type="password" autocomplete="current-password" required autofocus /></label>
    <${Trouble} of=${problem} />
    <button class="primary">Sign in</button>
  </form></main>`;
}

function Row({ session, isOpen }) {
  const { id, state, labels, forked_from } = session;
  const tags = Object.entries(labels).map(([name, value]) => `${name}: ${value}`);
  if (forked_from) tags.unshift("fork");
  return html`<li><a class="session" href=${sessionLink(id)} aria-current=${isOpen && "page"}>
    <span class="line"><${Dot} state=${state} /><strong>${session.program}</strong><${Time} at=${session.last} /></span>
    <span class="line sub"><span class="words">${STATES[state]}</span><span class="id" title=${id}>${id.length > 12 ? `…${id.slice(-9)}` : id}</span></span>
    ${tags.length > 0 && html`<span class="line tags">${tags.map((tag) => html`<span class="tag">${tag}</span>`)}</span>`}
  </a></li>`;
}

function Sessions({ id, current, programs }) {
  const [program, setProgram] = useState("");
  const [state, setState] = useState("");
  const [older, setOlder] = useState([]);
  const query = `/api/sessions?limit=50${program && `&program=${enc(program)}`}${state && `&state=${state}`}`;
  const [page, problem, again] = usePolled(query, 5000);
  useEffect(() => setOlder([]), [query]);
  useEffect(again, [id]);
  const pages = [page, ...older].filter(Boolean);
  // A page that has moved on repeats sessions of the next one.
  const sessions = new Map(pages.flatMap((one) => one.sessions).map((one) => [one.id, one]));
  // The one that is looked at is known sooner.
  if (sessions.has(current?.id)) sessions.set(current.id, current);
  const next = pages.at(-1)?.next;
  const load = async () => setOlder([...older, await api("GET", `${query}&before=${enc(next)}`)]);
  const choice = (name, value, set, all, options) => html`<select aria-label=${name} value=${value} onChange=${(event) => set(event.target.value)}><option value="">${all}</option>${options.map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select>`;
  return html`<section class="sessions" aria-label="Sessions">
    <div class="filters">${choice("Program", program, setProgram, "All programs", programs.map(({ name }) => [name, name]))}${choice("State", state, setState, "Any state", Object.entries(STATES))}</div>
    <${Trouble} of=${problem} />
    ${page && !sessions.size && html`<p class="empty">${program || state ? "No matching sessions." : "No sessions yet."}</p>`}
    <ul>${[...sessions.values()].map((one) => html`<${Row} key=${one.id} session=${one} isOpen=${one.id === id} />`)}</ul>
    ${next && html`<button class="link more" onClick=${load}>Older sessions</button>`}
  </section>`;
}

// Begins a session: with a click, or with a playbook, its arguments and a first message.
function Program({ program, isOnly }) {
  const { name, title, description, playbooks } = program;
  const [problem, setProblem] = useState(null);
  const [chosen, setChosen] = useState("");
  const parameters = playbooks.find((one) => one.name === chosen)?.parameters ?? [];
  const begin = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const given = parameters.map((one) => [one, form.get(`arg:${one.name}`)]).filter(([, text]) => text);
    const value = ({ type }, text) => {
      try {
        return type?.startsWith("str") ? text : JSON.parse(text);
      } catch {
        return text;
      }
    };
    api("POST", "/api/sessions", {
      program: name,
      ...(chosen && { playbook: chosen }),
      ...(given.length && { arguments: Object.fromEntries(given.map(([one, text]) => [one.name, value(one, text)])) }),
      ...(form.get("message") && { message: form.get("message") }),
    }).then(({ id }) => (location.hash = sessionLink(id)), setProblem);
  };
  return html`<li class="card program"><form onSubmit=${begin}>
    <header><div><h2>${title ?? name}</h2><p class="id">${name}</p></div><button class=${cls(isOnly && "primary")} aria-label=${`Begin a session of ${name}`}>Begin</button></header>
    <p>${description}</p>
    <details><summary>Options</summary>
      <label>Playbook<select onChange=${(event) => setChosen(event.target.value)}><option value="">The program's own</option>${playbooks.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      ${parameters.map((one) => html`<label key=${one.name}>$${one.name} <span class="tag">${one.type}</span><input name=${`arg:${one.name}`} autocomplete="off" /></label>`)}
      <label>First message<input name="message" autocomplete="off" /></label>
    </details>
    <${Trouble} of=${problem} />
  </form></li>`;
}

const Home = ({ programs }) => html`<main class="home"><div class="width">
  <h1>New session</h1>
  ${programs?.length === 0 && html`<p class="empty">This server has no programs.</p>`}
  <ul class="programs">${programs?.map((one) => html`<${Program} key=${one.name} program=${one} isOnly=${programs.length === 1} />`)}</ul>
</div></main>`;

function Approvals({ approvals, again }) {
  const answer = (one) => (call, answer) =>
    api("POST", `${sessionPath(one.session)}/approvals/${call}`, { answer }).then(() => (again(), null), (problem) => (again(), problem));
  return html`<main class="home"><div class="width">
    <h1>Approvals</h1>
    ${approvals?.length === 0 && html`<p class="empty">Nothing is waiting for approval.</p>`}
    <ul class="approvals">${approvals?.map((one) => html`<li key=${`${one.session} ${one.call}`}>
      <p class="from"><a href=${sessionLink(one.session)}>${one.program} <span class="id">${one.session}</span></a> <${Time} at=${one.asked} /></p>
      <${Approval} item=${{ call: one.call, key: one.session }} approval=${one} mayAnswer=${true} onAnswer=${answer(one)} />
    </li>`)}</ul>
  </div></main>`;
}

function App() {
  const [me, setMe] = useState(null);
  const [problem, setProblem] = useState(null);
  const [{ page, id }, setAt] = useState(route);
  const [current, setCurrent] = useState(null);
  const enter = () => api("GET", "/api/me").then((me) => (setProblem(null), setMe(me)), (problem) => (setMe(null), setProblem(problem)));
  useEffect(() => {
    enter();
    addEventListener("hashchange", () => setAt(route()));
  }, []);
  const isOperator = me?.role === "operator" || me?.role === "admin";
  const [listed] = usePolled("/api/programs", 60_000, Boolean(me));
  const [waiting, , again] = usePolled("/api/approvals", 4000, isOperator);
  const approvals = waiting?.approvals;
  const n = approvals?.length ?? 0;
  useEffect(() => {
    document.title = `${n ? `(${n}) ` : ""}${id ?? "Playhouse"}`;
  }, [n, id]);
  if (problem?.status === 401) return html`<${Login} onDone=${enter} />`;
  if (problem) return html`<main class="login"><div class="card"><h1>Playhouse</h1><${Trouble} of=${problem} /><button class="primary" onClick=${enter}>Try again</button></div></main>`;
  if (!me) return null;
  return html`<div class=${cls("app", id && "has-session")}>
    <nav class="side" aria-label="Playhouse">
      <header><a class="brand" href="#/">Playhouse</a>${me.auth && html`<span class="who">${me.name} <button class="link" onClick=${() => api("POST", "/api/logout", {}).then(enter)}>Sign out</button></span>`}</header>
      <a class="button" href="#/" aria-current=${!page && "page"}>New session</a>
      ${isOperator && html`<a class="button plain" href="#/approvals" aria-current=${page === "approvals" && "page"}>Approvals${n > 0 && html`<span class="badge" title=${`${count(n, "call")} to approve`}>${n}</span>`}</a>`}
      <${Sessions} id=${id} current=${current} programs=${listed?.programs ?? []} />
    </nav>
    ${id ? html`<${Session} key=${id} id=${id} me=${me} approvals=${approvals} onSession=${setCurrent} onProblem=${(problem) => problem.status === 401 && enter()} />`
      : page === "approvals" ? html`<${Approvals} approvals=${approvals} again=${again} />`
      : html`<${Home} programs=${listed?.programs} />`}
  </div>`;
}

render(html`<${App} />`, document.getElementById("page"));
