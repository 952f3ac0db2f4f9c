"""Dice: reads one JSON message per line and answers each call with one. Standard output is for messages only."""

import json
import random
import re
import sys


def roll(luck, dice):
    count, sides = map(int, re.fullmatch(r"(\d{1,2})d(\d{1,3})", dice).groups())
    rolls = [luck.randint(1, sides) for _ in range(count)]
    return {"rolls": rolls, "total": sum(rolls)}


luck = random.Random()
for line in sys.stdin:
    message = json.loads(line)
    content = message["content"]
    if message["content_type"] != "command":
        if content.get("event") == "configure":
            luck = random.Random(content["config"]["seed"])
        if content.get("event") == "exit":
            break
        continue
    reply = {"sender": message["receiver"], "receiver": message["sender"], "thrd_id": message["thrd_id"]}
    try:
        response = roll(luck, **content["param"])
        reply |= {"content_type": "command", "content": {"command": content["command"], "response": response}}
    except (AttributeError, ValueError):
        error = {"error": "that is no dice; write 2d6", "detail": str(content["param"])}
        reply |= {"sender": {"role": "system"}, "content_type": "<class 'dict'>", "content": error}
    print(json.dumps(reply), flush=True)
