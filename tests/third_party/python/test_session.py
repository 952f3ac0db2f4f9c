"""Sessions in a process of their own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from playhouse_sdk import Call, PlayhouseError, ProgramFailed, Session, find_binary
from playhouse_sdk.pytest_plugin import Playhouse


def test_a_conversation(playhouse: Playhouse) -> None:
    session = playhouse.session("guide/desk.md", model="embedded")
    assert str(session.opening) == "Welcome to the order desk.\nPlease tell me the number of your order."
    reply = session.say("It is 4335")
    assert (reply.waiting, reply.question) == ("approval", 'May I call desk.refund(order="4335")?')
    with pytest.raises(PlayhouseError, match="give it by `answer`"):
        session.say("4335")
    assert str(session.answer(True)) == "Your order: refunded 4335."
    assert session.is_over and session.value == "refunded 4335"
    assert session.variables == {"user_message": "It is 4335", "order": "4335", "state": "refunded 4335"}
    assert session.said[-1] == "Your order: refunded 4335."
    assert [event["type"] for event in session.events][-1] == "finished"
    with pytest.raises(PlayhouseError, match="has finished"):
        session.say("Thank you!")


def test_functions_of_this_process_are_tools(playhouse: Playhouse) -> None:
    asked: list[str] = []

    def order_state(order: str) -> str:
        asked.append(order)
        return "paid"

    async def refund(order: str, call: Call) -> str:
        call.progress("on its way")
        return f"{len(asked)} asked before"

    session = playhouse.session("guide/desk.md", tools={"desk": [order_state, refund]}, model="embedded")
    assert session.say("4711").waiting is None
    assert (asked, session.value) == (["4711"], "1 asked before")
    assert "on its way" in [event["value"] for event in session.events if event["type"] == "call_progress"]


CONFIGURED = """\
---
plugins: {orders: orders}
---

# Desk

## Main

### Steps

- Return orders.greet("Ida")
"""


def test_functions_leave_the_plugins_own_configuration_alone(playhouse: Playhouse, folder: Path) -> None:
    config = folder / "orders/.config/config.yaml"
    (folder / "configured.md").write_text(CONFIGURED)

    def greet(name: str) -> str:
        return f"no greeting for {name}"

    def value(**options: Any) -> Any:
        return playhouse.session("configured.md", model="embedded", folder=folder, **options).value

    assert value(tools={"orders": [greet]}) == "no greeting for Ida"
    config.write_text(config.read_text().replace("config: {}", "config: {greeting: Hi}"))
    assert value().startswith("Hi, Ida!")
    config.write_text(config.read_text().replace("config: {greeting: Hi}", "config: {greeting: Welcome}"))
    assert value().startswith("Welcome, Ida!")


def test_a_function_of_this_process_asks(playhouse: Playhouse) -> None:
    def refund(order: str, call: Call) -> str:
        reason = call.ask(f"Why {order}?")
        return f"refunded: {reason}"

    def order_state(order: str) -> str:
        return "paid"

    session = playhouse.session("guide/desk.md", tools={"desk": [order_state, refund]}, model="embedded")
    reply = session.say("4711")
    assert (reply.waiting, reply.question) == ("approval", "The plugin `desk` asks: Why 4711?")
    assert str(session.answer("It came broken")) == "Your order: refunded: It came broken."


def test_functions_are_the_tools_of_a_plugin_that_the_program_knows(playhouse: Playhouse, folder: Path) -> None:
    def order_state(order: str) -> str:
        return "paid"

    told = "there is no plugin `dask` to replace; the program declares `desk`"
    with pytest.raises(PlayhouseError, match=told):
        playhouse.session("guide/desk.md", tools={"dask": [order_state]}, model="embedded")
    (folder / "calls.md").write_text('# Desk\n\n## Main\n\n### Steps\n\n- Return desk.order_state("4711")\n')
    session = playhouse.session(folder / "calls.md", tools={"desk": [order_state]}, model="embedded")
    assert session.value == "paid"


LATE = """\
---
plugins: {orders: orders}
---

# Desk

## Main

### Steps

- $before = orders.process()
- Say "It has begun: {$before}."
- orders.late()
- $after = orders.process()
- Return $before == $after
"""


def test_a_tool_whose_time_is_over_is_cancelled_and_its_plugin_lives_on(playhouse: Playhouse, folder: Path) -> None:
    (folder / "late.md").write_text(LATE)
    session = playhouse.session("late.md", model="embedded", folder=folder)
    assert session.value is True
    [late] = [event for event in session.events if event["type"] == "call_finished" and event["name"] == "orders.late"]
    assert late.get("error") == "`orders.late` gave no answer within 1 s"
    assert (folder / "cancelled").exists()


def test_arguments_options_and_a_session_that_goes_on(playhouse: Playhouse, folder: Path) -> None:
    for n_run, journal in enumerate(([], [], ["--journal", "own.jsonl"], ["--journal=own.jsonl"])):
        options = ["--session", "ida", *journal]
        session = playhouse.session("desk.md", model="embedded", options=options, folder=folder / "guide")
        reply = session.say("4335") if n_run % 2 == 0 else session.opening
        question = 'May I call desk.refund(order="4335")?'
        assert (reply.waiting, reply.question, reply.call) == ("approval", question, 2)
        assert session.variables == {"user_message": "4335", "order": "4335", "state": "paid"}
        if n_run % 2 == 1:
            assert session.answer(True).value == "refunded 4335"
        session.close()


def test_what_is_wrong_is_told_in_the_words_of_the_command_line(playhouse: Playhouse, folder: Path) -> None:
    (folder / "wrong.md").write_text("# Desk\n\n## Main\n\n### Steps\n\n- $x = Nothing()\n")
    with pytest.raises(ProgramFailed, match=r"wrong.md:7:8"):
        Session(folder / "wrong.md", model="embedded").start()
    with pytest.raises(ProgramFailed, match="has no entry for this request") as caught:
        playhouse.session("story.md", model="script:empty.jsonl")
    assert caught.value.fault == "model"
    session = playhouse.session("guide/desk.md", model="embedded")
    with pytest.raises(ValueError, match="a message is one line"):
        session.say("one\ntwo")
    session.close()
    with pytest.raises(PlayhouseError, match="is not open"):
        session.say("4334")
    with pytest.raises(PlayhouseError, match="make another `Session`"):
        session.start()


def test_the_binary_of_the_wheel_is_found_then_the_one_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_binary().parent == Path(shutil.which("python3") or "").parent
    monkeypatch.setattr("importlib.metadata.files", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlayhouseError, match="put the binary on PATH"):
        find_binary()
    (tmp_path / "playhouse").write_text("#!/bin/sh\n")
    (tmp_path / "playhouse").chmod(0o755)
    assert find_binary() == tmp_path / "playhouse"
