"""A plugin: reads one JSON message per line and answers each call with one. Standard output is for messages only."""

import json
import sys
from datetime import date, timedelta


def add(config, start, days=1):
    day = date.fromisoformat(start)
    while days > 0:
        day += timedelta(days=1)
        if day.weekday() < 5 and day.isoformat() not in config["holidays"]:
            days -= 1
    return {"date": day.isoformat(), "weekday": f"{day:%A}"}


COMMANDS = {"add": add}
config = {}

for line in sys.stdin:
    message = json.loads(line)
    content = message["content"]
    if message["content_type"] != "command":
        if content.get("event") == "configure":
            config = content["config"]
        if content.get("event") == "exit":
            break
        continue
    reply = {"sender": message["receiver"], "receiver": message["sender"], "thrd_id": message["thrd_id"]}
    try:
        response = COMMANDS[content["command"]](config, **(content["param"] or {}))
        reply["content_type"] = "command"
        reply["content"] = {"command": content["command"], "response": response}
    except Exception as error:
        reply["sender"] = {"role": "system"}
        reply["content_type"] = "<class 'dict'>"
        reply["content"] = {"error": str(error), "detail": type(error).__name__}
    print(json.dumps(reply), flush=True)
