"""Tools: what is declared of them, and what they do when the binary calls them."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Union

import pytest
from conftest import Server
from playhouse_sdk import Call, Client, Tool, find_binary, tool
from playhouse_sdk.declaration import build
from playhouse_sdk.pytest_plugin import Playhouse
from playhouse_sdk.serving import Plugin
from playhouse_sdk.tools import tool_of


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def playhouse(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run(find_binary(), *arguments, folder=folder)


def call(folder: Path, command: str, *options: str, **param: Any) -> Any:
    given = ["--param", json.dumps(param)] if param else []
    done = playhouse("plugin", "call", "orders", command, *given, *options, folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_guides_plugin_is_declared_as_it_stands(folder: Path) -> None:
    config = folder / "guide/desk/.config/config.yaml"
    before = config.read_text()
    assert run(sys.executable, "plugin.py", "declare", folder=folder / "guide/desk").returncode == 0
    assert config.read_text() == before
    done = playhouse("plugin", "check", "desk", "--start", folder=folder / "guide")
    assert (done.returncode, done.stderr) == (0, "0 errors, 0 warnings\nit starts\n")
    assert done.stdout == (
        "desk.order_state($order: str) -> str [read_only]  Says how far an order has come.\n"
        "desk.refund($order: str, $reason: str | None = null) -> str [idempotent]  Pays the money of an order back.\n"
    )


def test_everything_that_can_be_declared(folder: Path) -> None:
    before = (folder / "orders/.config/config.yaml").read_text()
    assert run(sys.executable, "orders/plugin.py", "declare", folder=folder).returncode == 0
    assert (folder / "orders/.config/config.yaml").read_text() == before
    done = playhouse("plugin", "check", "orders", "--start", folder=folder)
    assert (done.returncode, done.stderr) == (0, "0 errors, 0 warnings\nit starts\n")
    order = {"id": "1", "lines": [{"item": "tea"}, {"item": "pot", "count": 2}]}
    assert call(folder, "count", order=order, sizes={"tea": 4}) == 7
    assert call(folder, "send", "--approve", place={"city": "Rome"}, by="bike", account="IT1") == {
        "city": "Rome",
        "postcode": None,
        "by": "bike",
        "account": "IT1",
    }
    assert call(folder, "pay", cents=5) == "***"
    assert call(folder, "password") == "***"
    assert call(folder, "together", n=3) == [0, 1, 2]


def test_arguments_of_another_type_are_refused_before_the_call(folder: Path) -> None:
    order = {"id": "1", "lines": [{"item": 1}]}
    done = playhouse("plugin", "call", "orders", "count", "--param", json.dumps({"order": order}), folder=folder)
    assert done.returncode == 1
    assert "`order.lines[0].item` must be string, not 1" in done.stderr
    assert "`sizes` is missing" in done.stderr


def test_a_call_knows_its_id_and_the_configuration_and_prints_beside_the_messages(folder: Path) -> None:
    assert call(folder, "greet", name=7) == "Hello, 7! plugin-call/1 files"
    assert call(folder, "greet", "--config", '{"greeting": "Good day"}', name="Ida").startswith("Good day, Ida!")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("known", "there is no such order: 4711"),
        ("unknown", "'4711': KeyError"),
        ("unwritable", "Object of type object is not JSON serializable: TypeError"),
        ("surrogate", "'utf-8' codec can't encode character '\\ud83d'"),
        ("huge", "an integer is too large for JSON; return it as text: ValueError"),
        ("endless", "lists and maps are nested deeper than 100 levels: ValueError"),
        ("exit", "3: SystemExit"),
        ("quoting", "no order \\ud83d: \\ud83d"),
    ],
)
def test_a_failure_is_told_in_words(folder: Path, kind: str, said: str) -> None:
    done = playhouse("plugin", "call", "orders", "fail", "--param", json.dumps({"kind": kind}), folder=folder)
    assert done.returncode == 1
    assert said in done.stderr


def test_a_temporary_failure_is_tried_again(playhouse: Playhouse, folder: Path) -> None:
    (folder / "twice.md").write_text(TWICE)
    session = playhouse.session("twice.md", model="embedded", folder=folder)
    assert session.value == "done at last"
    assert (folder / "seen").exists()


TWICE = """\
---
plugins: {orders: orders}
---

# Desk

## Main

### Steps

- Return orders.twice()
"""


def test_the_traceback_is_shown_to_whoever_tries_a_plugin(folder: Path) -> None:
    done = playhouse("plugin", "call", "orders", "fail", "--param", '{"kind": "unknown"}', folder=folder)
    first, place, *_, last, error = done.stderr.strip().splitlines()
    assert (first, last, error) == ("Traceback (most recent call last):", "KeyError: '4711'", "error: '4711': KeyError")
    assert place.strip().startswith("File ") and place.endswith(", in fail")


def test_a_declaration_of_yesterday_is_refused_and_mended(folder: Path) -> None:
    config = folder / "guide/desk/.config/config.yaml"
    text = config.read_text().replace("how far", "whether").replace("config: {}", "config: {greeting: Hi}")
    config.write_text(text.replace("version: 0.1.0", "version: 1.10"))
    order = ("call", "desk", "order_state", "--param", '{"order": "4334"}')
    done = playhouse("plugin", *order, folder=folder / "guide")
    assert done.returncode == 1
    assert "does not declare `order_state` as plugin.py has it now; run: python3 plugin.py declare" in done.stderr
    assert run(sys.executable, "plugin.py", "declare", folder=folder / "guide/desk").returncode == 0
    mended = config.read_text()
    assert "how far" in mended and "config: {greeting: Hi}" in mended and "version: 1.10" in mended
    assert playhouse("plugin", *order, folder=folder / "guide").stdout == '"shipped"\n'


def test_a_declaration_counts_by_what_it_means(folder: Path) -> None:
    config = folder / "guide/desk/.config/config.yaml"
    written = config.read_text()
    formatted = written.replace('"Says how far an order has come."', "'Says how far an order has come.'")
    formatted = formatted.replace("  - command_name: refund\n    description:", "  - description:").replace(
        "    effect: idempotent\n", "    effect: idempotent # by the id of the call\n    command_name: 'refund'\n"
    )
    assert formatted.count("'") == written.count("'") + 4
    config.write_text(formatted)
    order = ("call", "desk", "order_state", "--param", '{"order": "4334"}')
    assert playhouse("plugin", *order, folder=folder / "guide").stdout == '"shipped"\n'
    code = folder / "guide/desk/plugin.py"
    code.write_text(code.read_text().replace("order: str, reason: str | None, ", "reason: str | None, order: str, "))
    assert "does not declare `refund` as" in playhouse("plugin", *order, folder=folder / "guide").stderr


LOOK = "from playhouse_sdk import run, tool\n\ndef look() -> None: ...\n\n"


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("tool(look)", "does not call `run()`, so nothing is declared"),
        ("run()", "there are no tools; put `@tool` above a function"),
        ("run(look, look)", "two tools are called `look`"),
        ("tool(look)\n1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_declares_nothing_says_so(tmp_path: Path, end: str, told: str) -> None:
    (tmp_path / "plugin.py").write_text(LOOK + end)
    done = run(sys.executable, "plugin.py", "declare", folder=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr.splitlines()[-1]


def test_a_folder_without_a_declaration_says_what_writes_it(folder: Path) -> None:
    (folder / "guide/desk/.config/config.yaml").unlink()
    done = playhouse("check", "desk.md", folder=folder / "guide")
    assert "python3 desk/plugin.py declare" in done.stderr


@dataclass
class Place:
    city: str


class Trip(TypedDict):
    start: Place
    stops: list[Place]


@pytest.mark.parametrize(
    ("hint", "value", "built"),
    [
        (Trip, {"start": {"city": "Rome"}, "stops": [{"city": "Oslo"}]}, {"start": Place("Rome"), "stops": [Place("Oslo")]}),
        (Union[int, Place, list[Place]], [{"city": "Rome"}], [Place("Rome")]),
        (Union[int, Place, list[Place]], {"city": "Rome"}, Place("Rome")),
        (Union[list[int], list[Place]], [{"city": "Rome"}], [Place("Rome")]),
        (Union[dict[str, Place], str], {"a": {"city": "Rome"}}, {"a": Place("Rome")}),
        (Union[int, Place], {"city": 1}, {"city": 1}),
        (Union[Place, bool, None], None, None),
    ],
)
def test_maps_become_dataclasses_wherever_they_stand(hint: Any, value: Any, built: Any) -> None:
    assert build(hint, value) == built


def test_what_no_program_can_pass_is_refused_where_it_is_declared() -> None:
    with pytest.raises(TypeError, match="Shop.look: `@tool` is for functions"):

        class Shop:
            @tool
            def look(self) -> None: ...

    with pytest.raises(TypeError, match="paint, parameter `colour`: a program cannot pass a <class 'complex'>"):

        @tool
        def paint(colour: complex) -> None: ...

    with pytest.raises(TypeError, match="has no name that a program could use"):

        @tool
        def pile(*things: str) -> None: ...

    with pytest.raises(ValueError, match="idempotent anyway"):

        @tool(read_only=True, idempotent=True)
        def look() -> None: ...


WAITS = """\
---
plugins: {orders: orders}
---

# Desk

## Main

### Steps

- orders.process()
- orders.wait()
- Ask the user for $word:str
- $process = orders.process()
- Return $process
"""


def test_an_interrupted_call_is_cancelled_and_its_plugin_lives_on(folder: Path, serve: Callable[..., Server]) -> None:
    (folder / "waits.md").write_text(WAITS)
    finished = []
    with Client(serve("waits.md", "--model", "embedded").url) as client:
        session = client.begin("waits")["id"]
        for event in client.events(session):
            if event["type"] == "call_progress":
                client.interrupt(session)
            elif event["type"] == "waiting" and event["for"] == "user":
                client.send(session, "on")
            elif event["type"] == "call_finished":
                finished.append(event)
    first, interrupted, last = finished
    assert (interrupted["name"], interrupted.get("error")) == ("orders.wait", "interrupted by the user")
    assert first.get("result") == last.get("result") is not None


class Playing:
    """Plays Playhouse for a plugin in this process."""

    def __init__(self, *tools: Tool) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        plugin = Plugin(tools, self._answers.put)
        self._thread = threading.Thread(target=plugin.serve, args=(iter(self._lines.get, ""),))
        self._thread.start()

    def call(self, command: str, thrd_id: str, *, answers: list[Any] | None = None, **param: Any) -> None:
        answered = {"answers": [{"question": question, "answer": answer} for question, answer in answers]} if answers else {}
        content = {"command": command, "param": param}
        self._say({"role": "cerebrum"}, "command", content, thrd_id=thrd_id, id=thrd_id, **answered)

    def tell(self, event: str, **fields: Any) -> None:
        self._say({"role": "system"}, "<class 'dict'>", {"event": event, **fields})

    def heard(self) -> tuple[str, Any]:
        answer = json.loads(self._answers.get(timeout=10))
        assert answer["receiver"] == {"role": "cerebrum"}
        return answer["thrd_id"], answer["content"]

    def asked(self) -> str:
        answer = json.loads(self._answers.get(timeout=10))
        assert (answer["receiver"], answer["content_type"]) == ({"role": "user"}, "text/plain")
        return str(answer["content"])

    def end(self) -> None:
        self.tell("exit")
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()

    def _say(self, sender: dict[str, str], content_type: str, content: Any, **fields: Any) -> None:
        receiver = {"role": "plugin", "name": "p"}
        self._lines.put(json.dumps({"sender": sender, "receiver": receiver, "content_type": content_type, "content": content, **fields}))


def test_calls_are_cancelled_and_run_beside_each_other() -> None:
    may_go_on = threading.Event()

    def patient(call: Call) -> str:
        call.progress("waiting")
        may_go_on.wait(10)
        call.progress("still waiting")
        return "done"

    async def endless(call: Call) -> str:
        import asyncio

        call.progress("sleeping")
        await asyncio.Event().wait()
        return "never"

    playing = Playing(tool_of(patient), tool_of(endless))
    playing.call("patient", "1")
    assert playing.heard() == ("1", "waiting")
    playing.call("endless", "2")
    assert playing.heard() == ("2", "sleeping")
    playing.tell("cancel", thrd_id="2")
    assert playing.heard() == ("2", {"error": "the call was cancelled", "detail": ""})
    playing.tell("cancel", thrd_id="1")
    playing.call("endless", "3")
    assert playing.heard() == ("3", "sleeping")
    may_go_on.set()
    assert playing.heard() == ("1", {"error": "the call was cancelled", "detail": ""})
    playing.tell("cancel", thrd_id="3")
    assert playing.heard()[0] == "3"
    playing.call("patient", "4")
    assert playing.heard() == ("4", "waiting")
    assert playing.heard() == ("4", "still waiting")
    assert playing.heard() == ("4", {"command": "patient", "response": "done"})
    playing.end()


def test_a_tool_that_asks_starts_again_with_the_answer() -> None:
    n_begun = 0

    def order(call: Call) -> str:
        nonlocal n_begun
        n_begun += 1
        try:
            n = call.ask("How many?")
            while n is True or n is False or not n.isdigit():
                n = call.ask("How many?")
        except Exception:
            n = "swallowed"
        return f"{n}, {call.ask(f'{n} as a gift?')}"

    async def together(call: Call) -> list[bool | str]:
        import asyncio

        async def ask(question: str) -> bool | str:
            await asyncio.sleep(0)
            return call.ask(question)

        return list(await asyncio.gather(ask("One?"), ask("Two?")))

    def careless(call: Call) -> str:
        try:
            return f"It is {call.ask('Really?')}"
        except BaseException:
            return "swallowed"

    playing = Playing(tool_of(order), tool_of(together), tool_of(careless))
    answers: list[Any] = []
    for question, answer in (("How many?", True), ("How many?", "3"), ("3 as a gift?", "No, thanks")):
        playing.call("order", "1", answers=answers)
        assert playing.asked() == question
        answers.append((question, answer))
    playing.call("order", "1", answers=answers)
    assert playing.heard() == ("1", {"command": "order", "response": "3, No, thanks"})
    assert n_begun == 4
    # An answer to something else stays unused; people were shown what the question is without its invisible characters.
    playing.call("order", "2", answers=[("How much?", "4"), ("How\u200b many?", "5"), ("*** as a gift?", False)])
    assert playing.heard() == ("2", {"command": "order", "response": "5, False"})
    playing.call("together", "3")
    assert playing.asked() == "One?"
    playing.call("together", "3", answers=[("One?", "1")])
    assert playing.asked() == "Two?"
    playing.call("together", "3", answers=[("One?", "1"), ("Two?", True)])
    assert playing.heard() == ("3", {"command": "together", "response": ["1", True]})
    playing.call("careless", "4")
    assert playing.asked() == "Really?"
    playing.call("careless", "4", answers=[("Really?", True)])
    assert playing.heard() == ("4", {"command": "careless", "response": "It is True"})
    playing.end()


ASKS = """\
---
plugins: {gifts: guide/gifts}
---

# Desk

## Main

### Triggers

- At the beginning

### Steps

- $done = gifts.wrap("4334")
- Say "Done: {$done}."
"""


def test_a_question_of_a_tool_survives_the_server(folder: Path, serve: Callable[..., Server]) -> None:
    (folder / "asks.md").write_text(ASKS)
    server = serve("asks.md", "--model", "embedded")
    with Client(server.url) as client:
        session = client.begin("asks")["id"]
        reply = client.hear(session)
        for question, answer in (
            ("What shall the card say?", "Get well"),
            ("Shall I wrap order 4334, with the card 'Get well'?", True),
        ):
            assert (reply.waiting, reply.question) == ("approval", f"The plugin `gifts` asks: {question}")
            server.restart()
            [asked] = client.approvals()
            client.answer(session, asked["call"], answer)
            reply = client.hear(session, after=reply.mark)
        assert str(reply) == "Done: wrapped 4334."


def test_calls_one_after_another_stay_in_the_thread_that_serves() -> None:
    def thread() -> int:
        return threading.get_ident()

    playing = Playing(tool_of(thread))
    threads = set()
    for i in range(20):
        playing.call("thread", str(i))
        threads.add(playing.heard()[1]["response"])
    assert len(threads) == 1
    playing.end()
