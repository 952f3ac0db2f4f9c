"""A server that speaks the HTTP contract of `playhouse serve` with scripted sessions, for tests of the page.

    python3 mock.py [--port 7272] [--pace 0.03] [--auth]

`--pace` is how long a word takes, in seconds. With `--auth` it knows the tokens `op` (operator), `adm` (admin) and
`us` (user), and takes visitors. `POST /mock/…` does what goes wrong elsewhere: `break` cuts all streams, `restart` says goodbye and is
away for `{"seconds"}`, `reset` has streams begin again, `lose` drops the answers to the next `{"messages"}`,
`pace` sets `{"pace"}`."""

import argparse
import base64
import hashlib
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from programs import PROGRAMS
from session import Session

PAGE = Path(__file__).resolve().parents[3] / "src/serve/http/page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
SPEECH = {"session_started", "session_resumed", "said_delta", "said", "user_message", "waiting", "approval_asked", "approval_given",
          "call_progress", "stream_cancelled", "degraded", "finished", "failed"}


class World:
    def __init__(self, pace, auth):
        self.pace, self.auth = pace, auth
        self.programs = {program.name: program for program in PROGRAMS}
        self.sessions, self.count = {}, 0
        self.tokens = {"op": ("operator", "olga", None), "adm": ("admin", "ada", None), "us": ("user", "uwe", None)}
        self.away_until, self.cuts, self.byes, self.resets, self.lose = 0, 0, 0, 0, 0

    def new(self, program, **options):
        self.count += 1
        id = f"20261123-2322{self.count:02}-{hashlib.sha256(str(self.count).encode()).hexdigest()[:4]}"
        self.sessions[id] = Session(program, id, self, **options)
        return self.sessions[id]


def order(mark):
    n, _, bytes = mark.removeprefix("1:").partition("+")
    return int(n), int(bytes or 0)


def point(text):
    return tuple(int(part) for part in text.split("."))


class Refused(Exception):
    def __init__(self, status, title, detail, kind="refused", headers=()):
        self.status, self.headers = status, dict(headers)
        self.body = {"type": f"urn:playhouse:{kind}", "title": title, "status": status, "detail": detail, "instance": ""}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.handle_one("GET")

    def do_POST(self):
        self.handle_one("POST")

    def do_DELETE(self):
        self.handle_one("DELETE")

    def handle_one(self, method):
        url = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = [unquote(part) for part in url.path.split("/") if part]
        length = int(self.headers.get("content-length") or 0)
        self.body = json.loads(self.rfile.read(length) or "{}") if method == "POST" else {}
        if time.time() < self.world.away_until and parts[:1] != ["mock"]:
            self.close_connection = True
            return
        try:
            if parts[:1] == ["mock"]:
                self.answer(200, self.mock(parts[1]))
            elif parts[:1] == ["api"]:
                self.api(method, parts[1:])
            else:
                self.page(parts)
        except Refused as refused:
            self.answer(refused.status, refused.body, type="application/problem+json", headers=refused.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, status, body=None, type="application/json", headers=()):
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-type", type)
            self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if status != 204:
            self.wfile.write(raw)

    def page(self, parts):
        name = "index.html" if not parts else "chat.html" if parts[0] == "chat" else "/".join(parts[1:])
        path = (PAGE / name).resolve()
        if not path.is_relative_to(PAGE) or not path.is_file() or (parts and parts[0] not in ("chat", "page")):
            raise Refused(404, "Not found", "There is nothing here.")
        raw = path.read_bytes()
        headers = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-cache"}
        if path.suffix == ".html":
            (script,) = re.findall(rb'<script type="importmap">(.*?)</script>', raw, re.S)
            digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
            frames = "*" if parts else "'none'"
            headers["content-security-policy"] = (
                f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                f"base-uri 'none'; form-action 'self'; frame-ancestors {frames}; require-trusted-types-for 'script'")
        self.answer(200, raw, TYPES.get(path.suffix, "text/plain"), headers)

    def mock(self, what):
        world = self.world
        if what == "break":
            world.cuts += 1
        elif what == "restart":
            world.byes += 1
            time.sleep(0.2)
            world.away_until = time.time() + self.body["seconds"]
        elif what == "reset":
            world.resets += 1
        elif what == "lose":
            world.lose = self.body["messages"]
        elif what == "pace":
            world.pace = self.body["pace"]
        return {}

    def who(self):
        if not self.world.auth:
            return "admin", "local", None
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        cookie = re.search(r"session=(\w+)", self.headers.get("cookie") or "")
        found = self.world.tokens.get(given or (cookie and cookie[1]))
        if not found:
            raise Refused(401, "A token is needed", "Sign in with a token, or send it as Authorization: Bearer.", "token")
        return found

    def api(self, method, parts):
        world = self.world
        match (method, *parts):
            case ("POST", "login"):
                token = self.body["token"]
                if token not in world.tokens:
                    raise Refused(401, "Wrong token", "There is no such token, or it was revoked.", "token")
                return self.answer(204, headers={"set-cookie": f"session={token}; HttpOnly; SameSite=Strict; Path=/"})
            case ("POST", "logout"):
                return self.answer(204, headers={"set-cookie": "session=; Max-Age=0; Path=/"})
            case ("POST", "visitors"):
                token = f"v{len(world.tokens)}"
                world.tokens[token] = ("visitor", token, self.body["program"])
                return self.answer(201, {"token": token, "program": self.body["program"], "expires": "2026-12-23T00:00:00Z"})
        role, name, program = self.who()
        match (method, *parts):
            case ("GET", "me"):
                return self.answer(200, {"role": role, "name": name, "auth": world.auth, **({"program": program} if program else {})})
            case ("GET", "programs"):
                return self.answer(200, {"programs": [one.public() for one in world.programs.values()]})
            case ("GET", "programs", name, "source"):
                return self.answer(200, world.programs[name].source())
            case ("GET", "approvals"):
                return self.answer(200, {"approvals": [{"session": s.id, "program": s.program.name, "asked": s.events[-1]["time"], **s.approval}
                                                       for s in world.sessions.values() if s.approval]})
            case ("GET", "sessions"):
                found = [s.public(role) for s in reversed(world.sessions.values())]
                found = [s for s in found if self.query.get("program", s["program"]) == s["program"] and self.query.get("state", s["state"]) == s["state"]]
                ids = [s["id"] for s in found]
                if before := self.query.get("before"):
                    found = found[ids.index(before) + 1:]
                limit = int(self.query.get("limit", 50))
                return self.answer(200, {"sessions": found[:limit], "next": found[limit - 1]["id"] if len(found) > limit else None})
            case ("POST", "sessions"):
                if self.body["program"] not in world.programs:
                    raise Refused(404, "No such program", f"This server has no program {self.body['program']!r}; GET /api/programs lists them.", "program")
                session = world.new(world.programs[self.body["program"]], labels=self.body.get("labels"))
                if "message" in self.body:
                    session.deliver("user", self.body["message"])
                return self.answer(201, session.public(role))
            case (_, "sessions", id, *rest):
                session = world.sessions.get(id)
                if not session:
                    raise Refused(404, "No such session", f"This server has no session {id!r}, or it is not yours.", "session")
                return self.session(method, session, rest, role)
        raise Refused(404, "Not found", "There is no such route; /openapi.json lists them.")

    def session(self, method, s, rest, role):
        world = self.world
        match (method, *rest):
            case ("GET",):
                return self.answer(200, s.public(role))
            case ("DELETE",):
                with s.changed:
                    s.is_deleted = True
                    s.changed.notify_all()
                del world.sessions[s.id]
                return self.answer(204)
            case ("GET", "source"):
                return self.answer(200, s.program.source())
            case ("POST", "messages"):
                return self.message(s)
            case ("POST", "interrupt"):
                s.is_stopping = True
                return self.answer(202, {})
            case ("GET", "events"):
                return self.events(s, self.query.get("after"), self.query.get("show") == "speech")
            case ("GET", "state"):
                with s.changed:
                    at = self.query.get("at")
                    index = len(s.states) - 1 if at is None else max((n for n, p in enumerate(s.points) if point(p) <= point(at)), default=0)
                    state = json.loads(s.states[index]) | {"end": s.points[-1], "time": s.events[index]["time"]}
                    if at is None:
                        state |= {"stands": s.stands}
                tag = f'"{s.marks[index]}{"" if at else s.stands}"'
                if self.headers.get("if-none-match") == tag:
                    return self.answer(304, b"", headers={"etag": tag})
                return self.answer(200, state, headers={"etag": tag})
            case ("GET", "steps"):
                after, limit = self.query.get("after"), int(self.query.get("limit", 1000))
                steps = [{"point": p, "time": e["time"], "event": e} for p, e in zip(s.points, s.events)
                         if after is None or point(p) > point(after)]
                return self.answer(200, {"steps": steps[:limit], "next": steps[limit - 1]["point"] if len(steps) > limit else None})
            case ("GET", "why"):
                return self.answer(200, s.why(self.query["trigger"]) if "trigger" in self.query else [s.why(name) for name in s.program.triggers])
            case ("GET", "diff", other):
                return self.answer(200, self.diff(s, world.sessions[other]))
            case ("POST", "fork"):
                index = s.points.index(self.body["at"])
                override = {"at": self.body["at"], "set": self.body.get("set", {}), "frame": self.body.get("frame")}
                fork = world.new(s.program, feed=s.inputs[: s.used[index]], until=index, override=override,
                                 forked_from={"session": s.id, "point": self.body["at"]})
                time.sleep(0.1)
                return self.answer(201, fork.public(role))
            case ("POST", "approvals", call):
                if not s.approval or s.approval["call"] != int(call):
                    raise Refused(409, "Answered already", "olga has answered it: yes.", "answered")
                s.deliver("answer", self.body["answer"])
                return self.answer(200, {"answer": self.body["answer"], "by": "local"})
        raise Refused(404, "Not found", "There is no such route; /openapi.json lists them.")

    def message(self, s):
        if s.state in ("finished", "failed"):
            raise Refused(409, "The session is over", "Begin a new one, or fork this one.", "over")
        text, id = self.body["text"], self.body["id"]
        if not text.strip():
            raise Refused(422, "An empty message", "Write something.", "text")
        duplicate = id in s.ids
        if not duplicate:
            s.ids[id] = text
            s.deliver("user", text)
        if self.world.lose > 0:
            self.world.lose -= 1
            self.close_connection = True
            return None
        return self.answer(202, {"mark": s.marks[-1], "duplicate": duplicate})

    def diff(self, a, b):
        def bare(event):
            return {name: value for name, value in event.items() if name not in ("n", "time", "session", "ms")}
        same = 0
        while same < min(len(a.events), len(b.events)) and bare(a.events[same]) == bare(b.events[same]):
            same += 1
        def side(s):
            then = [{"point": p, "event": e} for p, e in list(zip(s.points, s.events))[same:] if e["type"] != "said_delta"]
            return {"session": s.id, "same_up_to": s.points[same - 1], "end": s.points[-1], "then": then}
        def values(s):
            return {(s.program.agent, name): value for frame in [s.others, *(f["variables"] for f in s.frames)] for name, (value, _) in frame.items()}
        va, vb = values(a), values(b)
        variables = [{"place": place, "name": name, **({"a": va[place, name]} if (place, name) in va else {}), **({"b": vb[place, name]} if (place, name) in vb else {})}
                     for place, name in sorted({*va, *vb}) if va.get((place, name)) != vb.get((place, name))]
        return {"same": same, "a": side(a), "b": side(b), "variables": variables}

    def events(self, s, after, is_speech):
        world = self.world
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store, no-transform")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        cuts, byes, resets = world.cuts, world.byes, world.resets
        self.wfile.write(b": " + b" " * 2048 + b"\nretry: 500\n\n")
        since = order(after) if after else (-1, 0)
        index = next((n for n, mark in enumerate(s.marks) if order(mark) > since), len(s.marks))
        while True:
            with s.changed:
                while index >= len(s.events) and cuts == world.cuts and byes == world.byes and resets == world.resets and not s.is_deleted:
                    s.changed.wait(0.1)
                batch = list(zip(s.events[index:], s.marks[index:]))
            if cuts != world.cuts or s.is_deleted:
                return
            if byes != world.byes:
                self.wfile.write(b"event: bye\ndata: {}\n\n")
                return
            if resets != world.resets:
                resets, index = world.resets, 0
                self.wfile.write(b"event: reset\ndata: {}\n\n")
                continue
            index += len(batch)
            out = []
            for event, mark in batch:
                if is_speech and event["type"] not in SPEECH:
                    continue
                id = "" if event["type"] == "call_progress" else f"id: {mark}\n"
                out.append(f"event: {event['type']}\n{id}data: {json.dumps(event)}\n\n")
            self.wfile.write("".join(out).encode())
            if batch and batch[-1][0]["type"] in ("finished", "failed"):
                return


def serve(port=0, pace=0.03, auth=False):
    """A server on a port, free if 0."""
    handler = type("Served", (Handler,), {"world": World(pace, auth)})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a browser that goes away is no error
    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=7272)
    parser.add_argument("--pace", type=float, default=0.03)
    parser.add_argument("--auth", action="store_true")
    options = parser.parse_args()
    server = serve(options.port, options.pace, options.auth)
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()
