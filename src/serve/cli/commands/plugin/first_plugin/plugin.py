"""A plugin: reads one JSON message per line and answers each call with one. Standard output is for messages only."""

import json
import sys


def greet(config, name, times=1):
    return {"text": " ".join([f"{config['greeting']}, {name}!"] * times)}


COMMANDS = {"greet": greet}
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
