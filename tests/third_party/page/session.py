"""A session of the mock server: a script makes events, and each event leaves the state that `GET S/state` shows there.

What is scripted here follows real event streams (`playhouse run --events`); times are made up, so that a run is like
the next one."""

import copy
import json
import threading
import time


def clock(n):
    """The time of the n-th event of a session."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(1_795_476_124 + n))


class Stopped(Exception):
    """The session was deleted."""


class Session:
    def __init__(self, program, id, world, labels=None, feed=(), until=0, override=None, forked_from=None):
        self.program, self.id, self.world = program, id, world
        self.labels, self.forked_from = labels or {}, forked_from
        self.events, self.marks, self.points, self.states, self.used = [], [], [], [], []
        self.n, self.bytes, self.record, self.move, self.utterance = 0, 0, 1, -1, 0
        self.frames, self.others, self.conversation, self.tokens = [], {}, [], 0
        self.holds, self.active = {}, set()
        self.turn, self.turns, self.calls = None, 0, 0
        self.inputs, self.feed, self.until, self.override = [], list(feed), until, override
        self.messages, self.ids, self.answers, self.approval = [], {}, {}, None
        self.state, self.stands, self.value, self.fault = "speaking", "in the middle", None, None
        self.is_stopping = self.is_deleted = False
        self.changed = threading.Condition(threading.RLock())
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            self.emit("session_started", place=False, program=self.program.file, model="openai:gpt-4.1-mini")
            value = self.program.script(self)
            if self.state != "failed":
                self.state, self.stands, self.value = "finished", "finished", value
                self.frames = []
                self.emit("finished", place=False, value=value)
        except Stopped:
            pass

    # What scripts do.

    def sleep(self, seconds):
        if len(self.events) > self.until:
            time.sleep(seconds * self.world.pace)
        if self.is_deleted:
            raise Stopped

    def emit(self, type, place=True, **fields):
        with self.changed:
            if type == "said_delta":
                self.bytes += len(fields["text"].encode())
            else:
                self.n, self.bytes = self.n + 1, 0
            self.move += 1
            event = {"n": len(self.events) + 1, "session": self.id, "type": type, "time": clock(len(self.events))}
            if place and self.frames:
                top = self.frames[-1]
                event |= {"agent": self.program.agent, "playbook": top["playbook"], "line": top["line"]}
                event |= {"depth": len(self.frames) - 1}
                if self.turn is not None:
                    event["turn"] = self.turn
            self.events.append(event | fields)
            self.marks.append(f"1:{self.n}" + (f"+{self.bytes}" if self.bytes else ""))
            self.points.append(f"{self.record}.{self.move}")
            self.used.append(len(self.inputs))
            self.states.append(json.dumps(self.snapshot()))
            self.changed.notify_all()
        if self.override and self.points[-1] == self.override["at"]:
            override, self.override = self.override, None
            for name, value in override["set"].items():
                frame = override.get("frame")
                self.set(name, value, "argument", frame=frame)

    def snapshot(self):
        lines = self.program.places
        stack = []
        for frame in reversed(self.frames):
            variables = [{"name": n, "value": v, "origin": o, "secret": n == "pin"} for n, (v, o) in frame["variables"].items()]
            stack.append({
                "agent": self.program.agent, "playbook": frame["playbook"], "line": frame["line"], "origin": frame["origin"],
                "result": None, "variables": variables, "calls": copy.deepcopy(frame["calls"]), "loops": [],
                "place": lines.get((frame["playbook"], frame["line"])),
            })
        others = [{"agent": self.program.agent, "name": n, "value": v, "origin": o, "secret": False} for n, (v, o) in self.others.items()]
        triggers = [{"trigger": name, "active": name in self.active, "holds": self.holds.get(name)} for name in self.program.triggers]
        state = {"stands": self.stands, "stack": stack, "others": others, "conversation": list(self.conversation), "messages": [],
                 "events": [], "triggers": triggers, "asked": [], "skipped": [], "mark": self.marks[-1], "point": self.points[-1]}
        if self.fault:
            state["fault"] = self.fault
        return state

    def push(self, playbook, origin="begin", **variables):
        values = {name: (value, "argument") for name, value in variables.items()}
        self.frames.append({"playbook": playbook, "line": None, "origin": origin, "variables": values, "calls": []})
        self.emit("frame_pushed", origin=origin.split()[0])

    def pop(self, value=None):
        self.emit("frame_popped", value=value)
        self.frames.pop()

    def line(self, line):
        self.frames[-1]["line"] = line
        self.emit("line_reached")

    def get(self, name):
        for frame in reversed(self.frames):
            if name in frame["variables"]:
                return frame["variables"][name][0]
        return self.others.get(name, (None, None))[0]

    def set(self, name, value, origin="model", local=True, frame=None):
        if frame is None:
            frame = next((n for n in range(len(self.frames) - 1, -1, -1) if name in self.frames[n]["variables"]), len(self.frames) - 1)
        values = self.frames[frame]["variables"] if local else self.others
        old = values.get(name, (None, None))[0]
        values[name] = (value, origin)
        self.emit("variable_set", name=name, value=value, old=old, scope="local" if local else "other", origin=origin)

    def start_turn(self, kind="continue"):
        self.turns += 1
        self.turn = self.turns
        self.emit("turn_started", kind=kind, messages=2 * self.turns, prompt_tokens=1000 + 40 * self.turns)
        self.record, self.move = self.record + 1, -1
        self.sleep(6)

    def end_turn(self, end="ended", discarded=0):
        tokens = 1000 + 40 * self.turns
        self.tokens += tokens + 24
        self.emit("turn_finished", end=end, prompt_tokens=tokens, cached_tokens=640, completion_tokens=24,
                  discarded_tokens=discarded, estimated=False, ms=420)
        self.turn = None

    def say(self, text, is_slow=True):
        """Says `text`; answers whether all of it was said before somebody pressed stop."""
        self.utterance += 1
        pieces = [text] if not is_slow else [word + " " for word in text.split(" ")]
        pieces[-1] = pieces[-1].rstrip(" ") if is_slow else pieces[-1]
        told = ""
        self.is_stopping = False
        for piece in pieces:
            if self.is_stopping:
                self.emit("said", text=told)
                self.emit("stream_cancelled", reason="it was interrupted", discarded_bytes=len(text) - len(told))
                self.conversation.append({"by": "program", "text": told})
                return False
            told += piece
            self.emit("said_delta", text=piece, utterance=self.utterance)
            self.sleep(1 if is_slow else 0)
        self.conversation.append({"by": "program", "text": text})
        self.emit("said", text=text)
        return True

    def take(self, kind):
        """The next message or answer."""
        if self.feed:
            self.inputs.append(self.feed.pop(0))
            return self.inputs[-1][1]
        with self.changed:
            while True:
                if self.is_deleted:
                    raise Stopped
                found = next((one for one in self.messages if one[0] == kind), None)
                if found:
                    self.messages.remove(found)
                    self.inputs.append(found)
                    return found[1]
                self.changed.wait()

    def hear(self):
        self.state, self.stands = "waiting", "waits for the user"
        self.emit("waiting", **{"for": "user"})
        text = self.take("user")
        self.state, self.stands = "speaking", "in the middle"
        self.record, self.move = self.record + 1, -1
        self.conversation.append({"by": "user", "text": text})
        self.emit("user_message", text=text)
        self.set("user_message", text, "user", local=False)
        return text

    def call(self, name, result, /, error=None, ms=12, kind="tool", question=None, slow=3, progress=(), **given):
        self.calls += 1
        call = {"call": self.calls, "name": name, "kind": kind, "args": [list(pair) for pair in given.items()], "state": "queued"}
        self.frames[-1]["calls"].append(call)
        self.emit("call_queued", call=call["call"], name=name, kind=kind, args=given)
        if question:
            origins = {n: o for frame in self.frames for n, (_, o) in frame["variables"].items()}
            args = [[n, v, origins.get(n, "code")] for n, v in given.items()]
            call["state"] = "needs approval"
            self.approval = {"call": call["call"], "tool": name, "question": question, "args": args}
            self.emit("approval_asked", call=call["call"], question=question)
            self.state, self.stands = "approval", f"waits for an answer about {name}"
            self.emit("waiting", **{"for": "approval", "call": call["call"]})
            answer = self.take("answer")
            self.approval, self.state = None, "speaking"
            self.record, self.move = self.record + 1, -1
            if answer is not True:
                error = f"not confirmed: {'no' if answer is False else answer}"
            self.emit("approval_given", call=call["call"], answer=answer, **({"refused": True} if error else {}))
        if error is None or not question:
            call["state"] = "running"
            self.emit("call_started", call=call["call"], name=name, kind=kind, attempt=1)
            for value in progress:
                self.sleep(slow)
                self.emit("call_progress", place=False, call=call["call"], value=value)
            self.sleep(slow)
        self.record, self.move = self.record + 1, -1
        self.frames[-1]["calls"].remove(call)
        ends = {"result": result} if error is None else {"error": error}
        self.emit("call_finished", call=call["call"], name=name, kind=kind, ms=ms, **ends)
        return result if error is None else None

    def evaluate(self, trigger, name, old, new, verdict, by="interpreter"):
        update = [{"name": name, "old": old, "new": new}]
        self.emit("trigger_evaluated", trigger=trigger, by=by, verdict=verdict, update=update, ms=0)
        if verdict == "match":
            self.holds[trigger] = True
            self.emit("trigger_matched", trigger=trigger, update=update)

    def fail(self, fault, message):
        self.state, self.stands, self.fault = "failed", "failed", {"fault": fault, "message": message}
        self.emit("failed", fault=fault, message=message)

    # What the server asks.

    def deliver(self, kind, value):
        with self.changed:
            self.messages.append((kind, value))
            self.changed.notify_all()

    def public(self, role="admin"):
        approval = self.approval
        if approval and role in ("visitor", "user") and approval["tool"] != "AskCustomer":
            approval = {"call": approval["call"], "question": "A colleague has to confirm this.", "args": []}
        last = len(self.events) - 1
        return {"id": self.id, "program": self.program.name, "version": "sha256:5f0c", "state": self.state, "approval": approval,
                "mark": self.marks[-1] if self.marks else "1:0", "created": clock(0), "last": clock(last), "labels": self.labels,
                "owner": "local", "live": True, "forked_from": self.forked_from, "value": self.value, "fault": self.fault,
                "tokens": self.tokens, "cost": round(self.tokens * 4e-7, 4)}

    def why(self, name):
        told = [e for e in self.events if e["type"] == "trigger_evaluated" and e["trigger"] == name]
        text, place, read_as = self.program.triggers[name]
        evaluations = [{"time": e["time"], "line": f"{e['playbook']}:{e['line']}", "turn": e.get("turn"), "update": e["update"], "by": e["by"],
                        "verdict": e["verdict"], "fired": e["verdict"] == "match", "ms": e["ms"]} for e in told]
        matches = sum(e["verdict"] == "match" for e in told)
        return {"trigger": name, "text": text, "place": place, "read_as": read_as, "names": [], "active": name in self.active,
                "holds": self.holds.get(name), "evaluations": evaluations, "not_evaluated": [], "evaluated": len(told), "matches": matches}
