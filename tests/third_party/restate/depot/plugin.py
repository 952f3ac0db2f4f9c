"""The depot: writes down each call that it gets, with the id of the call, before it answers. `calls.jsonl` beside it is
shared by the depots of all nodes."""

import json
import os
import sys

calls = os.open("calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

for line in sys.stdin:
    message = json.loads(line)
    content = message["content"]
    if message["content_type"] != "command":
        if content.get("event") == "exit":
            break
        continue
    command, number = content["command"], content["param"]["number"]
    # One write of a short line at the end of a file is whole, whoever else writes.
    os.write(calls, f"{json.dumps({'id': message['id'], 'command': command, 'number': number})}\n".encode())
    response = {"grams": 1000 + int(number[2:]) * 37 % 1000} if command == "weigh" else f"{command} {number}"
    reply = {"sender": message["receiver"], "receiver": message["sender"], "thrd_id": message["thrd_id"],
             "content_type": "command", "content": {"command": command, "response": response}}
    print(json.dumps(reply), flush=True)
