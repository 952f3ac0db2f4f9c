"""The programs of the mock server: two of `examples/`, and some that are hard on a page."""

import re
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


class Program:
    def __init__(self, name, title, description, file, text, agent, script, triggers=None):
        self.name, self.title, self.description, self.file = name, title, description, file
        self.text, self.agent, self.script = text, agent, script
        self.triggers = triggers or {}
        self.places = dict(places(text))

    def public(self):
        names = dict.fromkeys(playbook for playbook, _ in self.places)
        playbooks = [{"name": name, "parameters": [{"name": "order_id", "type": "str"}] if name == "HandOver" else [], "public": False} for name in names]
        return {"name": self.name, "version": "sha256:5f0c", "title": self.title, "entry": next(iter(names), None),
                "description": self.description, "playbooks": playbooks}

    def source(self):
        lines = [{"playbook": f"{self.agent}.{playbook}", "line": line, **place} for (playbook, line), place in self.places.items()]
        return {"version": "sha256:5f0c", "files": [{"name": self.file, "text": self.text}], "lines": lines}


def places(text):
    """Where each line of a playbook stands in its file."""
    playbook, in_steps, counts = None, False, []
    for n, row in enumerate(text.split("\n"), 1):
        if heading := re.match(r"## (\w[^(\n]*)", row):
            words = heading[1].split()
            playbook = "".join(word[0].upper() + word[1:] for word in words)
        in_steps = row.startswith("### Steps") or (in_steps and not row.startswith("#"))
        if in_steps and (step := re.match(r"( *)- ", row)):
            depth = len(step[1]) // 2
            counts = counts[: depth + 1] + [0] * (depth + 1 - len(counts))
            counts[depth] += 1
            yield (playbook, ".".join(f"{count:02}" for count in counts)), {"file": 0, "from": n, "to": n}
        elif row.startswith("#"):
            counts = []


def lighthouse(s):
    s.others = {"email": (None, "code"), "phone": (None, "code")}
    s.push("BookATour")
    s.line("01")
    s.say("Ahoy! You would like to climb our lighthouse?")
    s.line("02")
    s.start_turn("start")
    s.say("How many people will come?")
    s.end_turn("wait")
    text = s.hear()
    numbers = {"two": 2, "nine": 9, "twelve": 12}
    size = next((n for word, n in numbers.items() if word in text.lower()), 4)
    s.start_turn()
    s.set("party_size", size)
    if s.get("party_size") >= 8:
        s.evaluate("WelcomeAGroup:T1", "party_size", None, size, "match")
        s.emit("stream_cancelled", reason="trigger WelcomeAGroup:T1 matched", discarded_bytes=31)
        s.active.add("WelcomeAGroup:T1")
        s.push("WelcomeAGroup", "trigger WelcomeAGroup:T1 at BookATour:02")
        s.line("01")
        s.say("For eight or more, a second guide comes along. That costs nothing extra.")
        s.active.clear()
        s.pop()
        s.end_turn("cut", discarded=8)
        s.line("03")
        s.start_turn("resume")
    else:
        s.evaluate("WelcomeAGroup:T1", "party_size", None, size, "no_match")
        s.line("03")
    s.say("Which day suits you?")
    s.end_turn("wait")
    s.hear()
    s.start_turn()
    s.set("day", "2026-05-03")
    s.line("04")
    s.end_turn()
    s.set("places", s.call("FreePlaces", 12, day="2026-05-03"), "tool")
    s.line("05")
    s.set("attempts", 1, "code")
    s.line("06")
    s.line("07")
    s.start_turn()
    s.say("Sunday it is. What is your name?")
    s.end_turn("wait")
    name = s.hear()
    s.start_turn()
    s.set("name", name)
    s.line("08")
    s.say(f"How can the keeper reach you, {name.split()[0]}? An **e-mail address** or a phone number will do.")
    s.end_turn("wait")
    address = s.hear()
    s.set("email", address, local=False)
    s.start_turn()
    s.line("09")
    given = {name: s.get(name) for name in ("day", "party_size", "name")}
    shown = ", ".join(f'{n}="{v}"' if isinstance(v, str) else f"{n}={v}" for n, v in given.items())
    s.end_turn()
    booking = s.call("BookTour", "L-41", question=f"May I call BookTour({shown})?", **given)
    if booking is None:
        s.say("The keeper can't take the booking today. I'm sorry.")
        return None
    s.set("booking", booking, "tool")
    s.line("10")
    s.start_turn()
    s.say("Your number is **L-41**. We begin at ten, at the red door.")
    s.line("11")
    s.pop(booking)
    s.end_turn("end")
    return booking


def order_desk(s):
    s.push("OrderStatus")
    s.line("01")
    s.say("Welcome to the order desk.")
    s.line("02")
    s.start_turn("start")
    s.say("Please tell me the number of your order.")
    s.end_turn("wait")
    order = "".join(c for c in s.hear() if c.isdigit())
    s.start_turn()
    s.set("order_id", order)
    s.line("03")
    s.end_turn()
    found = {"4334": {"state": "shipped", "expected": "Thursday"}, "5120": {"state": "being packed", "expected": "Saturday"}}.get(s.get("order_id"), {"state": "not found"})
    s.set("order", s.call("GetOrderStatus", found, order_id=s.get("order_id")), "tool")
    s.line("04")
    s.line("05")
    if found["state"] == "not found":
        s.line("05.01")
        s.push("HandOver", "call at OrderStatus:05.01", order_id=s.get("order_id"))
        s.line("01")
        s.set("ticket", s.call("OpenTicket", "T-208", order_id=s.get("order_id"), reason="order not found"), "tool")
        s.line("02")
        s.start_turn()
        s.say("A colleague will look for your order, and write to you by tomorrow. The number is T-208.")
        s.end_turn("end")
        s.pop("T-208")
        return "T-208"
    s.line("06")
    s.start_turn()
    s.say(f"Your order is {found['state']}" + (f", expected on {found['expected']}." if "expected" in found else "."))
    s.end_turn("end")
    s.line("07")
    s.pop(found["state"])
    return found["state"]


STORY = """Here is how the tea is made. It takes a while, so make yourself comfortable.

1. Boil the water, and let it cool to **80 °C**.
2. Take *two* spoons of leaves; the scale says `4.5 g`.
3. Pour, and wait:
   - one minute for the first cup
   - half a minute for the second

```
cup    seconds
first       60
second      30
```

More is on [our page](https://tea.example/brew), or write to <b>nobody</b>: [click](javascript:alert(1)). """ + " ".join(["Slowly the leaves unfold, and the water turns green."] * 8)


def teller(s):
    s.push("Main")
    s.line("01")
    s.say("Ask me how tea is made.")
    while True:
        s.line("02")
        text = s.hear()
        s.start_turn()
        if "question" in text:
            s.line("03")
            s.end_turn()
            s.call("AskCustomer", "oolong", question="Which tea do you mean: green, black or oolong?", progress=["looking into the cupboard"], kind_of_tea="unknown")
            s.say("Then oolong it is.")
        elif "fail" in text:
            s.end_turn("error")
            s.fail("model", "the model openai:gpt-4.1-mini refuses: 401 invalid key; set OPENAI_API_KEY and resume the session")
            return None
        else:
            s.say(STORY)
            s.end_turn("wait")


HOSTILE = """<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> **bold** [a](javascript:alert(1)) [b](https://ok.example/"><script>) """


def hostile(s):
    s.push("Main")
    s.line("01")
    s.set("html", HOSTILE)
    s.set("long_text", "The quick brown fox jumps over the lazy dog. " * 400)
    s.set("unbroken", "x" * 3000)
    s.set("pin", "***", "user")
    s.set("order", {"items": [{"name": f"Item {n}", "price": n * 1.5, "note": HOSTILE} for n in range(40)]}, "tool")
    s.set("constructor", None, "code")
    s.set("__proto__", "a name", "code", local=False)
    s.say(HOSTILE)
    s.say("unbroken " + "y" * 600 + "\n\n" + "> a quote\n\n# A heading\n\n" + "*" * 500 + "`" * 50 + "[" * 200)
    s.line("02")
    s.call("<script>Tool</script>", {"answer": HOSTILE, "list": list(range(200))}, query=HOSTILE)
    s.call("Broken", None, error=f"the tool says: {HOSTILE}", url="https://example.com/" + "a" * 300)
    s.evaluate("Calm:T1", "html", None, HOSTILE, "match")
    s.emit("degraded", cause=HOSTILE)
    s.hear()
    s.call("Pay", "R-1", question=f"May I call Pay(amount=500, note={HOSTILE!r})?", amount=500, note=HOSTILE, to="z" * 400, iban="DE00 0000")
    return HOSTILE


def long(s):
    s.until = 10**9
    s.push("Main")
    for n in range(400):
        s.line("02")
        s.feed.append(("user", f"Question {n + 1}: what is {n} and {n}?"))
        s.hear()
        s.start_turn()
        s.set("n", n)
        s.line("03")
        s.end_turn()
        s.call("Add", 2 * n, a=n, b=n)
        s.say(f"It is **{2 * n}**.", is_slow=False)
    s.until = 0
    s.line("02")
    s.hear()
    s.say("That was all.")
    return None


PLAIN = """# {title}

{description}

## Main

### Triggers

- At the beginning

### Steps

- Say what this is about
- Wait for the user
- Do what they want, and come back
"""


def plain(name, title, description, agent, script, triggers=None):
    text = PLAIN.format(title=title, description=description)
    return Program(name, title, description, f"{name}.md", text, agent, script, triggers)


def example(name, file, agent, script, triggers=None):
    text = (EXAMPLES / file).read_text()
    title = re.search(r"^# (.*)", text, re.M)[1]
    description = re.search(r"^# .*\n\n(.*)", text, re.M)[1]
    return Program(name, title, description, f"examples/{file}", text, agent, script, triggers)


TOURS = {
    "NoteTheAddress:T1": ("When the user gives an e-mail address", "examples/appointments.md:42", "semantic, asked when the user speaks"),
    "LookForARegular:T1": ("When $email is provided", "examples/appointments.md:58", "condition: $email is provided"),
    "WelcomeAGroup:T1": ("When $party_size >= 8", "examples/appointments.md:70", "condition: $party_size >= 8"),
    "LookAgain:T1": ("When $day changes", "examples/appointments.md:80", "changes: $day"),
    "HandOver:T1": ("When $attempts > 3", "examples/appointments.md:90", "condition: $attempts > 3"),
}

PROGRAMS = [
    example("lighthouse", "appointments.md", "LighthouseTours", lighthouse, TOURS),
    example("order-desk", "order-status.md", "OrderDesk", order_desk),
    plain("tea", "Tea teller", "Tells at length how tea is made.", "TeaTeller", teller),
    plain("hostile", "Hostile text", "Whatever can be in a text: <b>HTML</b>, scripts, long words.", "Hostile", hostile, {"Calm:T1": (HOSTILE, "hostile.md:3", HOSTILE)}),
    plain("long", "A long conversation", "Four hundred questions and answers.", "Long", long),
]
