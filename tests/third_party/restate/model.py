"""A model that knows `desk.md` by heart: an OpenAI-compatible server whose reply is a function of the request alone, whoever
asks and however often. Replies come in small pieces with small pauses, so that a node can be killed in the middle of one.

    python3 model.py [--pause 0.03] [--piece 6] [--port 0]

Prints its address. `GET /log` is who has asked: `node` is the key that the node has, `number` the parcel's, `age` and `left`
the seconds since the reply began and until it ends, and `ended` whether it was given to its end, null as long as it goes on."""

import argparse
import asyncio
import json
import re
import time

import wire

# What is said at a line of a playbook, and what is done besides. NUMBER is the parcel's.
SAID = {
    ("TakeAParcelBack", "02"): "Which parcel is it? Its number stands below the bar code – it begins with a P.",
    ("TakeAParcelBack", "04"): "Parcel NUMBER comes home in three days: from the shop to the depot in Köln 🐌, from there by "
                               "night to the sorting hall, and then, “with a bit of luck”, to its sender.",
    ("TakeAParcelBack", "07"): "Why does parcel NUMBER go back? One sentence is enough.",
    ("TakeAParcelBack", "10"): "That is all for NUMBER. Have a good day, and greetings to the cat — 再见!",
    ("Weigh", "02"): "I have put NUMBER on the scales; the hand is still trembling a little, but it comes to rest.",
}
BEFORE_WAITING = {("TakeAParcelBack", "07"): {"set": {"stage": "asked"}}}
TIMER = ("TakeAParcelBack", "06")
WAITS = {("TakeAParcelBack", "02"): "user", TIMER: "timer:PT2S", ("TakeAParcelBack", "07"): "user"}
# Lines of the interpreter's that a reply names to go on with them: behind one that has said all it had to say, before its
# reply was cut off; and after a call of which nobody knows the outcome, when what follows is the model's to decide.
GOES_ON = {("TakeAParcelBack", "04"): {"at": "05"}, ("TakeAParcelBack", "10"): {"at": "11"}, ("Weigh", "02"): {"at": "03"},
           ("TakeAParcelBack", "05>02"): {"at": "05>02", "return": None}, ("TakeAParcelBack", "09"): {"at": "09"}}
ANSWERED = {("TakeAParcelBack", "02"): ("number", r"P-\d{4}"), ("TakeAParcelBack", "07"): ("reason", r".+")}


class Unknown(Exception):
    """The request is about something that is not in the program: the proof has failed."""


def last(pattern, text):
    found = re.findall(pattern, text, re.M)
    return found[-1] if found else None


def written(chat):
    """The lines of the replies before this one that have taken effect."""
    texts = [message["content"] for message in chat if message["role"] == "assistant"]
    return [json.loads(line) for text in texts for line in text.splitlines() if line.strip()]


def reply(messages):
    """The lines of the reply, and the parcel's number where it is known."""
    chat = [message for message in messages if message["role"] != "system"]
    asked = chat[-1]["content"]
    playbook, at = last(r"^PLAYBOOK (\w+)\(", chat[0]["content"]), last(r"^GO ON FROM (\S+)", asked)
    number = last(r"P-\d{4}", "\n".join(message["content"] for message in chat))
    before = written(chat)
    # The program goes on from the line that has waited for the time; what it waits for is over.
    if (playbook, at) == TIMER and any(line["at"] == at and "wait" in line for line in before):
        at = "07"
    place, lines = (playbook, at), []
    user = last(r'^USER (".*")$', asked)
    if user is not None and place in ANSWERED:
        name, pattern = ANSWERED[place]
        return [{"at": at, "set": {name: re.search(pattern, json.loads(user))[0]}}], number
    if place in SAID:
        whole = SAID[place].replace("NUMBER", number or "NUMBER")
        said = "".join(line["say"] for line in before if line["at"] == at and "say" in line)
        told = [json.loads(text) for text in re.findall(r'^you: (".*")$', chat[0]["content"], re.M)]
        saying = last(r'^you were saying (".*"): go on in mid-sentence$', asked)
        begun = json.loads(saying) if saying else ""
        if not whole.startswith(begun):
            raise Unknown(f"{place}: nobody says {begun!r}")
        if saying or (said != whole and whole not in told):
            lines.append({"at": at, "say": whole[len(begun):]})
    if place in BEFORE_WAITING:
        # Once: what has been reminded of since is not asked anew.
        is_set = any("set" in line and line["at"] == at for line in before)
        if not is_set and not any(re.search(r'^\$stage = "(?!open)', message["content"], re.M) for message in chat):
            lines.append({"at": at} | BEFORE_WAITING[place])
    if place in WAITS:
        lines.append({"at": at, "wait": WAITS[place]})
    if not lines and place in GOES_ON:
        lines.append(GOES_ON[place])
    if not lines:
        raise Unknown(f"{place}: there is nothing to do")
    return lines, number


class Model:
    def __init__(self, pause, piece):
        self.pause, self.piece, self.log, self.faults = pause, piece, [], []

    async def serve(self, reader, writer):
        try:
            method, path, headers, body = await wire.read_request(reader)
            if path == "/log":
                now = time.monotonic()
                log = [one | {"age": now - one["begun"], "left": one["ends"] - now} for one in self.log]
                wire.answer(writer, 200, {"log": log, "faults": self.faults})
            else:
                await self.complete(writer, headers, json.loads(body))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # who asked is gone
        finally:
            writer.close()

    async def complete(self, writer, headers, request):
        try:
            lines, number = reply(request["messages"])
        except Unknown as unknown:
            self.faults.append(f"{unknown}\n{request['messages'][-1]['content']}")
            wire.answer(writer, 400, {"error": {"message": str(unknown)}})
            return
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        takes = len(text) / self.piece * self.pause
        node, begun = headers["authorization"].removeprefix("Bearer "), time.monotonic()
        entry = {"node": node, "number": number, "begun": begun, "ends": begun + takes, "ended": None}
        self.log.append(entry)
        try:
            await self.tell(writer, text)
            entry["ended"] = True
        finally:
            entry["ended"] = bool(entry["ended"])

    async def tell(self, writer, text):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for start in range(0, len(text), self.piece):
            delta = {"choices": [{"index": 0, "delta": {"content": text[start:start + self.piece]}, "finish_reason": None}]}
            writer.write(f"data: {json.dumps(delta)}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(self.pause)
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        writer.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
        await writer.drain()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pause", type=float, default=0.03)
    parser.add_argument("--piece", type=int, default=6)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = await asyncio.start_server(Model(options.pause, options.piece).serve, "127.0.0.1", options.port, backlog=1024)
    print("http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
