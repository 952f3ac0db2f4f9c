"""The folder of a plugin: its `config.yaml`, and the process that answers calls."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from playhouse_sdk.declaration import yaml
from playhouse_sdk.serving import Plugin
from playhouse_sdk.tools import Tool, checked, declared, tell_missing_run, tools_of

_HEAD = """\
# `python3 {script} declare` writes `commands` anew; the rest of this file is yours.
group_id: {group}
artifact_id: {name}
version: 0.1.0

type: plugin
as_plugin: true

info:
  title: {name}
  description: {description}

"""

_TAIL = """
setup:
  package: playhouse.process
  command: [{command}]

# What whoever uses the plugin may override.
config: {{}}
"""

#: The section that is written by us: to the next line that begins another one.
_COMMANDS = re.compile(r"^commands:.*\n(?:(?:[ -].*)?\n)*", re.MULTILINE)


def run(*functions: Callable[..., Any]) -> None:
    """The end of a plugin's file: answers the calls of Playhouse.

    Without functions the plugin has all that `@tool` has declared. `python3 plugin.py declare` writes
    `.config/config.yaml` beside the file, which Playhouse reads without starting anything.
    """
    atexit.unregister(tell_missing_run)
    script = Path(sys.argv[0]).resolve()
    try:
        found = tools_of(functions) if functions else checked(declared)
    except ValueError as error:
        sys.exit(f"{script}: {error}")
    config = script.parent / ".config" / "config.yaml"
    if sys.argv[1:] == ["declare"]:
        write_config(config, found, script.name)
        print(f"{config}: {', '.join(tool.name for tool in found)}")
        return
    if sys.argv[1:] or sys.stdin.isatty():
        sys.exit(f"Playhouse starts this file. To write {config}: python3 {script.name} declare")
    # What a tool prints must not come between messages, and what it reads must not take them.
    lines = os.fdopen(os.dup(0), encoding="utf-8", newline="\n")
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    first = lines.readline()
    if not first:
        return
    differing = _differing(json.loads(first)["content"]["commands"], [tool.declaration for tool in found])
    if differing:
        names = ", ".join(f"`{name}`" for name in differing)
        sys.exit(f"{config} does not declare {names} as {script.name} has it now; run: python3 {script.name} declare")

    def write(line: str) -> None:
        messages.write(line)
        messages.flush()

    Plugin(found, write).serve(itertools.chain([first], lines))


def _differing(written: list[dict[str, Any]], own: list[dict[str, Any]]) -> list[str]:
    """The names of the commands that are declared otherwise, by what Playhouse has read: how the file writes it does not
    count. The order of parameters does, for a program may leave out their names."""

    def meant(commands: list[dict[str, Any]]) -> dict[str, Any]:
        return {one["command_name"]: (one, list((one.get("parameter") or {}).get("type", ()))) for one in commands}

    theirs, ours = meant(written), meant(own)
    return [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]


def write_config(config: Path, found: Iterable[Tool], script: str) -> None:
    """Writes the commands into `config.yaml`, or a whole one if there is none."""
    commands = commands_text(found)
    if config.is_file():
        text = config.read_text(encoding="utf-8").rstrip("\n") + "\n"
        if not _COMMANDS.search(text):
            sys.exit(f"{config} has no section `commands:`; write an empty one where it is to stand")
        text = _COMMANDS.sub(lambda _: commands + "\n", text, count=1)
    else:
        text = config_text(config.parent.parent.name, found, ["python3", script], script)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text, encoding="utf-8")


def config_text(
    name: str, found: Iterable[Tool], command: list[str], script: str = "plugin.py", group: str = "local"
) -> str:
    """A whole `config.yaml`."""
    about = getattr(sys.modules.get("__main__"), "__doc__", None) or f"Tools in {script}."
    description = yaml([" ".join(about.split("\n\n")[0].split())])[2:].strip()
    words = ", ".join(yaml([word])[2:].strip() for word in command)
    head = _HEAD.format(script=script, group=group, name=name, description=description)
    return head + commands_text(found) + _TAIL.format(command=words)


def commands_text(found: Iterable[Tool]) -> str:
    """The section `commands`."""
    return yaml({"commands": [tool.declaration for tool in found]})
