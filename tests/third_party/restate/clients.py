"""Who talks with the program: readers that come back with their mark wherever a node lives, and senders that repeat what
they send until somebody has taken it."""

import asyncio
import json
import random

import wire

LOST = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)


class Refused(Exception):
    """A node has answered what no client should get; it stands in `faults`."""


class Ways:
    """The nodes that a client knows, and what their answers were: `statuses` counts them, `faults` are those that no client
    should get, and `later` those that ask it to come again."""

    def __init__(self, addresses, statuses, faults, later):
        self.addresses, self.statuses, self.faults, self.later = addresses, statuses, faults, later
        self.next = random.randrange(len(addresses))

    async def ask(self, user, method, path, body=None, headers=(), seconds=20):
        """One attempt; another one goes to the next node."""
        address = self.addresses[self.next % len(self.addresses)]
        self.next += 1
        # Each is a user of its own by the name that a proxy gives, and with that somebody on the server's own page.
        own = {"Remote-User": user, "Origin": f"http://{address}", **dict(headers)}
        answer = await wire.ask(address, method, path, body, own, seconds)
        self.statuses[answer.status] += 1
        return answer

    def note(self, status, text):
        """What an answer says that is another one's fault, or the moment's."""
        self.later.append(f"{status} {text}")

    def refuse(self, text):
        self.faults.append(text)
        raise Refused(text)

    async def send(self, user, method, path, body=None, is_settled=lambda: False, seconds=120):
        """Repeats it until somebody has taken it. Where an attempt got no answer it may have been taken all the same, and
        another one is refused; so what the reader hears of it counts, too (`is_settled`)."""
        end = asyncio.get_running_loop().time() + seconds
        while not is_settled() and asyncio.get_running_loop().time() < end:
            pause = 0.1
            try:
                async with await self.ask(user, method, path, body) as answer, asyncio.timeout(20):
                    text = await answer.text()
                if answer.status < 300:
                    return json.loads(text)
                if answer.status < 500 and answer.status not in (409, 429):
                    self.refuse(f"{method} {path}: {answer.status} {text}")
                self.note(answer.status, f"{method} {path}: {text}")
                pause = min(float(answer.headers.get("retry-after", 0.3)), 2)
            except LOST:
                pass
            await asyncio.sleep(pause * (0.5 + random.random()))
        if not is_settled():
            self.refuse(f"{method} {path}: not taken in {seconds} s")
        return None


class Reader:
    """Hears a session until it is over. `cuts`: closes its connection after a random number of bytes, again and again.
    `sabotage`, to show that the proof can fail: `byte` loses a character, `mark` comes back with an older mark."""

    def __init__(self, ways, user, session, cuts=None, sabotage=None):
        self.ways, self.user, self.session, self.cuts, self.sabotage = ways, user, session, cuts, sabotage
        self.mark, self.older, self.n_connections, self.is_over = None, None, 0, False
        self.forget()

    def forget(self):
        self.utterances, self.said, self.events = {}, [], []

    def heard(self):
        """The speech, by its pieces and as whole utterances."""
        return list(self.utterances.values()), self.said

    async def run(self, react):
        while not self.is_over:
            mark = self.older if self.sabotage == "mark" and self.older else self.mark
            headers = {"last-event-id": mark} if mark else {}
            try:
                path = f"/api/sessions/{self.session}/events?show=speech"
                async with await self.ways.ask(self.user, "GET", path, headers=headers) as answer:
                    if answer.status == 200:
                        self.n_connections += 1
                        await self.hear(answer, react)
                    else:
                        text = await answer.text()
                        if answer.status < 500 and answer.status not in (409, 429):
                            self.ways.refuse(f"GET {path}: {answer.status} {text}")
                        self.ways.note(answer.status, f"GET {path}: {text}")
            except LOST:
                pass
            if not self.is_over:
                await asyncio.sleep(0.05 + random.random() * 0.2)

    async def hear(self, answer, react):
        left = self.cuts.randrange(2_100, 5_000) if self.cuts else None
        buffer = b""
        async with asyncio.timeout(None) as patience:
            async for piece in answer.pieces():
                # A stream says at least `ping` every 15 s.
                patience.reschedule(asyncio.get_running_loop().time() + 25)
                if left is not None:
                    piece = piece[:left]
                    left -= len(piece)
                buffer += piece
                *events, buffer = buffer.split(b"\n\n")
                for event in events:
                    self.take(event.decode(), react)
                if self.is_over or left == 0:
                    return

    def take(self, text, react):
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line and not line.startswith(":"))
        kind = fields.get("event")
        if kind == "reset":
            self.forget()
        if kind in (None, "reset", "bye"):
            return
        self.older, self.mark = self.mark, fields.get("id", self.mark)
        data = json.loads(fields["data"])
        if kind == "said_delta":
            words = data["text"]
            if self.sabotage == "byte" and len(self.said) == 3:
                words, self.sabotage = words[1:], None
            self.utterances[data["utterance"]] = self.utterances.get(data["utterance"], "") + words
        elif kind == "said":
            self.said.append(data["text"])
        self.events.append(kind)
        self.is_over = kind in ("finished", "failed")
        react(kind, data)


class Talk:
    """A person with a parcel, who begins a session and answers what is asked. What happened is in `account`."""

    def __init__(self, ways, session, number, reader):
        self.ways, self.session, self.number, self.reader = ways, session, number, reader
        self.path, self.user = f"/api/sessions/{session}", reader.user
        self.sends, self.account, self.version = {}, None, None

    def react(self, kind, data):
        if kind == "waiting" and data["for"] == "user":
            self.once("m1", "messages", {"text": f"It is {self.number}, I think.", "id": "m1"})
        elif kind == "said" and data["text"].startswith("Take your time"):
            self.once("m2", "messages", {"text": "It is too small for the cat.", "id": "m2"})
        elif kind == "approval_asked":
            self.once("yes", f"approvals/{data['call']}", {"answer": True})

    def once(self, key, path, body):
        """What is heard once is answered once, even where a reader hears all of it again."""
        if key not in self.sends:
            def is_settled():
                return self.reader.is_over or (key == "yes" and "approval_given" in self.reader.events)
            sending = self.ways.send(self.user, "POST", f"{self.path}/{path}", body, is_settled)
            self.sends[key] = asyncio.create_task(sending)

    async def begin(self):
        session = await self.ways.send(self.user, "PUT", self.path, {"program": "desk"})
        self.version = session["version"]

    async def go_on(self):
        await self.reader.run(self.react)
        await asyncio.gather(*self.sends.values())

    async def look(self):
        """What there is to compare when all is over."""
        session = await self.ways.send(self.user, "GET", self.path)
        state = await self.ways.send(self.user, "GET", f"{self.path}/state")
        calls, after = {}, ""
        while after is not None:
            page = await self.ways.send(self.user, "GET", f"{self.path}/steps?limit=1000{after}")
            for step in page["steps"]:
                event = step["event"]
                if event["type"] == "call_queued":
                    calls[event["call"]] = [event["name"], event["args"], None]
                elif event["type"] == "call_finished":
                    calls[event["call"]][2] = event.get("error", event.get("result"))
            after = f"&after={page['next']}" if page.get("next") else None
        speech, said = self.reader.heard()
        self.account = {
            "state": session["state"], "value": session.get("value"), "version": session["version"],
            "speech": speech, "said": said, "conversation": state["conversation"],
            "variables": {f"{one['agent']}.{one['name']}": one["value"] for one in state["others"]},
            "calls": list(calls.values()),
        }
