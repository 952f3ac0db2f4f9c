"""Three servers that talk with users, one after the other, started, warmed and loaded in the same way: `playhouse serve`,
`adk api_server`, `langgraph dev`. The model of each is in its own process and answers at once.

    python3 -m venv VENV; VENV/bin/pip install google-adk==2.13.0 "langgraph-cli[inmem]==0.4.40"
    python3 benches/serve/rivals/run.py PLAYHOUSE VENV

The caller is Python, too, and for the quick one it is most of what is measured. Linux only.
"""

import http.client
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLAYHOUSE, VENV = (Path(argument).resolve() for argument in sys.argv[1:])
N_CALLERS, SECONDS = 16, 10
# Of each caller: a token of `playhouse serve` has 300 messages in a minute.
MOST_TURNS = 250


class Caller:
    def __init__(self, port, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def get(self, path):
        return self.answer("GET", path, None)

    def ask(self, path, body):
        return json.loads(self.answer("POST", path, json.dumps(body)))

    def answer(self, method, path, text):
        self.connection.request(method, path, text, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (path, answer.status, text[:500])
        return text


class Playhouse:
    name = "playhouse serve"
    ready = "/readyz"

    def tokens(self, environment):
        new = [PLAYHOUSE, "serve", "token", "new", "--role", "user"]
        run = lambda n: subprocess.run([*new, f"caller-{n}"], env=environment, capture_output=True, check=True)
        return [run(n).stdout.decode().strip() for n in range(N_CALLERS + 1)]

    def command(self, port):
        listen = ["--listen", f"127.0.0.1:{port}"]
        return [PLAYHOUSE, "serve", "desk.md", "--model", "embedded", *listen]

    def begin(self, caller):
        return caller.ask("/api/sessions", {"program": "desk"})["id"]

    def turn(self, caller, session):
        said = caller.ask(f"/api/sessions/{session}/messages?wait=30", {"text": "43345678"})["said"]
        assert "It is packed." in str(said), said


class Adk:
    name = "adk api_server"
    ready = "/list-apps"

    def tokens(self, environment):
        return [None] * (N_CALLERS + 1)

    def command(self, port):
        return [VENV / "bin/adk", "api_server", "--port", str(port), "agents"]

    def begin(self, caller):
        return caller.ask("/apps/desk/users/u/sessions", {})["id"]

    def turn(self, caller, session):
        message = {"role": "user", "parts": [{"text": "43345678"}]}
        said = caller.ask("/run", {"appName": "desk", "userId": "u", "sessionId": session, "newMessage": message})
        assert "It is packed." in str(said), said


class LangGraph:
    name = "langgraph dev"
    ready = "/ok"

    def tokens(self, environment):
        return [None] * (N_CALLERS + 1)

    def command(self, port):
        options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", str(N_CALLERS)]
        return [VENV / "bin/langgraph", "dev", "--config", "langgraph.json", "--port", str(port), *options]

    def begin(self, caller):
        return caller.ask("/threads", {})["thread_id"]

    def turn(self, caller, session):
        body = {"assistant_id": "desk", "input": {"messages": [{"role": "user", "content": "43345678"}]}}
        said = caller.ask(f"/threads/{session}/runs/wait", body)
        assert "It is packed." in str(said), said


def memory(pid):
    """Of a process and all that it has started, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own / 1000 + sum(memory(child) for child in children)


def wait_until_ready(server, port, process):
    while process.poll() is None:
        try:
            Caller(port).get(server.ready)
            return
        except OSError:
            time.sleep(0.005)
    sys.exit(f"{server.name} has ended: {Path('log').read_text()[-2000:]}")


def measure(server, port):
    folder = tempfile.mkdtemp()
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    os.chdir(folder)
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_STATE_HOME": folder, "DO_NOT_TRACK": "1"}
    environment |= {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}
    tokens = server.tokens(environment)
    began = time.monotonic()
    with open("log", "w") as log:
        process = subprocess.Popen(
            server.command(port), env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_until_ready(server, port, process)
        started = time.monotonic() - began
        caller = Caller(port, tokens[N_CALLERS])
        session = server.begin(caller)
        for _ in range(20):
            server.turn(caller, session)
        figures = [f"ready after {started * 1000:.0f} ms", f"memory {memory(process.pid):.0f} MB"]
        times = []
        for _ in range(50):
            began = time.monotonic()
            server.turn(caller, session)
            times.append(time.monotonic() - began)
        figures.append(f"a turn alone {statistics.median(times) * 1000:.1f} ms")
        counts = [0] * N_CALLERS
        began = time.monotonic()

        def talk(n):
            caller = Caller(port, tokens[n])
            session = server.begin(caller)
            while counts[n] < MOST_TURNS and time.monotonic() < began + SECONDS:
                server.turn(caller, session)
                counts[n] += 1

        threads = [threading.Thread(target=talk, args=(n,)) for n in range(N_CALLERS)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        per_second = sum(counts) / (time.monotonic() - began)
        figures.append(f"{N_CALLERS} callers {per_second:.0f} turns/s")
        print(f"{server.name}: {', '.join(figures)}", flush=True)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


for n, server in enumerate([Playhouse(), Adk(), LangGraph()]):
    measure(server, 7411 + n)
