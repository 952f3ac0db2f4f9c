"""Writes what run.py needs to know of each task, as JSON on standard output.

For each task of the wheel its gold actions are played on a fresh database by the wheel itself; what they give and the
hash that is left are written down. Then they become the replies of a scripted model that walks through `airline.md`:
each action is made in the playbook, and from the line, that it belongs to.
"""

import json
import sys

from loguru import logger

logger.remove()

from pydantic_core import to_jsonable_python
from tau2.domains.airline.environment import get_environment, get_tasks

READING = {"get_user_details", "get_reservation_details", "get_flight_status", "calculate"}
SEARCHING = {"list_all_airports", "search_direct_flight", "search_onestop_flight"}
CHANGING = {
    "update_reservation_flights": "flights",
    "update_reservation_baggages": "bags",
    "update_reservation_passengers": "passengers",
}

# Where in its playbook a reading or searching tool is called from.
LINES = {
    "get_user_details": "02.01.01",
    "get_reservation_details": "02.02.01",
    "get_flight_status": "02.03.01",
    "calculate": "02.04.01",
    "list_all_airports": "02.01.01",
    "search_direct_flight": "02.02.01",
    "search_onestop_flight": "02.03.01",
}

# Where a tool that asks for consent first is called from: the line that tells the customer what will be done, the one
# that has Confirm inside, the one of the call, the one that tells what came of it, and the one that returns.
CONSENTING_LINES = {
    "book_reservation": ("03.01", "03.02", "03.03.01", "03.03.02", "03.03.03"),
    "update_reservation_flights": ("02.01", "02.02", "02.03.01", "02.03.02", "02.03.03"),
    "update_reservation_baggages": ("01.01", "01.02", "01.03.01", "01.03.02", "01.03.03"),
    "update_reservation_passengers": ("01.01", "01.02", "01.03.01", "01.03.02", "01.03.03"),
    "cancel_reservation": ("02", "03", "05", "06", "07"),
}


class Walk:
    """The replies of the model and the messages of the customer, for one task.

    A reply is a list of trace lines. `Serve` decides once per group of actions; the playbooks that it calls have
    frames of their own, but for `Confirm`, which is shown and runs inside the calling line (`03>02`). Who hands the
    customer over does not come back.
    """

    def __init__(self, request, actions):
        self.replies = []
        self.messages = [request]
        self.opening = [{"at": "02", "set": {"request": "$user_message"}}]
        self.is_handed_over = False
        rest = list(actions)
        self.identify(rest)
        if not rest:
            self.opening.append({"at": "04.01", "say": "I am sorry, but the rules don't allow that."})
        while rest:
            self.group(rest)
        if not self.is_handed_over:
            self.decide("nothing more")

    def reply(self, *lines):
        self.replies.append(list(lines))

    def identify(self, rest):
        """The line of `Serve` that makes sure who the customer is: it reads the profile if that is the first action."""
        if rest and rest[0]["name"] == "get_user_details":
            self.reply(*self.opening, called(rest.pop(0), "03"), {"at": "03", "wait": "calls"})
            self.opening = []
        else:
            self.opening.append({"at": "03"})

    def decide(self, task):
        """A turn of `Serve`: what comes next. The interpreter follows the branch and makes the call in it."""
        self.reply(*self.opening, {"at": "04.01", "set": {"task": task}})
        self.opening = []

    def group(self, rest):
        """Makes the next actions that one call of a playbook from `Serve` can make, and takes them from `rest`."""
        kind = rest[0]["name"]
        if kind in READING:
            self.decide("look up")
            self.read(take(rest, READING))
        elif kind in SEARCHING:
            searches = take(rest, SEARCHING)
            following = rest[0]["name"] if rest else None
            if following == "book_reservation":
                self.book(rest.pop(0), searches)
            elif following == "update_reservation_flights":
                self.change(take(rest, CHANGING), searches)
            else:
                self.decide("find flights")
                self.read(searches)
        elif kind == "book_reservation":
            self.book(rest.pop(0), [])
        elif kind in CHANGING:
            self.change(take(rest, CHANGING), [])
        elif kind == "cancel_reservation":
            self.decide("cancel")
            self.with_consent(rest.pop(0), [{"at": "01"}])
        elif kind == "send_certificate":
            self.decide("compensate")
            action = rest.pop(0)
            self.reply({"at": "01"}, {"at": "02"}, called(action, "03"), {"at": "03", "wait": "calls"})
            self.reply({"at": "04", "say": told(action)}, {"at": "05", "return": outcome(action)})
        elif kind == "transfer_to_human_agents":
            self.decide("hand over")
            self.reply(called(rest.pop(0), "01"), {"at": "01", "wait": "calls"})
            self.reply({"at": "02"})
            self.is_handed_over = True
            if rest:
                sys.exit(f"a colleague has the customer, and {rest[0]['name']} is left to be done")
        else:
            sys.exit(f"airline.md has no line for {kind}")

    def read(self, actions):
        """The turns of `LookUp` or `FindFlights`."""
        last = LINES[actions[-1]["name"]]
        self.reply(*(called(action, LINES[action["name"]]) for action in actions), {"at": last, "wait": "calls"})
        self.reply({"at": "03"}, {"at": "04", "return": outcome(actions[-1])})

    def book(self, action, searches):
        """The turns of `Book`, and those of `FindFlights` in it."""
        self.decide("book")
        self.searched(searches)
        self.with_consent(action, [{"at": "02"}])

    def change(self, actions, searches):
        """The turns of `Change` and of the playbooks that it calls; `searches` are made for the first change."""
        self.decide("change")
        for action in actions:
            self.reply({"at": "01.02", "set": {"change": CHANGING[action["name"]]}})
            self.searched(searches)
            searches = []
            self.with_consent(action, [])
        self.reply({"at": "01.01.01", "return": "what was asked for is dealt with"})

    def searched(self, searches):
        """The call of `FindFlights` from the first line of a playbook, if something is to be searched."""
        if searches:
            self.reply({"at": "01"}, {"at": "01.01"})
            self.read(searches)

    def with_consent(self, action, before):
        """Says what will be done, asks, does it when the customer has agreed, and returns what came of it."""
        tell, confirm, call, tell_outcome, back = CONSENTING_LINES[action["name"]]
        asked = f"{confirm}>02"
        self.reply(*before, {"at": tell, "say": announcement(action)})
        self.messages.append("Yes, please.")
        self.reply({"at": asked, "set": {"confirmed": True}})
        self.reply(called(action, call), {"at": call, "wait": "calls"})
        self.reply({"at": tell_outcome, "say": told(action)}, {"at": back, "return": outcome(action)})


def take(rest, names):
    """Takes the actions from the front of `rest` whose tools are among `names`."""
    taken = []
    while rest and rest[0]["name"] in names:
        taken.append(rest.pop(0))
    return taken


def called(action, line):
    """The trace line of a call."""
    return {"at": line, "call": f"airline.{action['name']}", "args": action["arguments"], "as": "response"}


def announcement(action):
    """What the customer is told before a call."""
    values = (f"{name.replace('_', ' ')} {json.dumps(value)}" for name, value in action["arguments"].items())
    return f"This is what I will do: {action['name'].replace('_', ' ')}, with {', '.join(values)}."


def told(action):
    """What the customer is told after a call."""
    return "That is done." if action["error"] is None else "I am sorry, that was not possible."


def outcome(action):
    """What a playbook returns after a call: the response itself, or why there is none."""
    return "$response" if action["error"] is None else f"That was not possible: {action['error']}"


def played(actions):
    """The gold actions with what they give on a fresh database, and the hash that they leave it with.

    A tool that refuses is tolerated, as by the wheel's evaluator.
    """
    environment = get_environment()
    made = []
    for action in actions:
        response, error = None, None
        try:
            response = environment.make_tool_call(action.name, requestor=action.requestor, **action.arguments)
            environment.sync_tools()
        except Exception as raised:
            error = str(raised)
        made.append(
            {
                "name": action.name,
                "arguments": action.arguments,
                "response": to_jsonable_python(response),
                "error": error,
            }
        )
    return made, environment.get_db_hash()


def main():
    tasks = []
    untouched = get_environment().get_db_hash()
    for task in get_tasks():
        if task.initial_state is not None:
            sys.exit(f"task {task.id} begins with a state of its own, which the plugin doesn't know")
        actions, gold_hash = played(task.evaluation_criteria.actions or [])
        request = " ".join(task.user_scenario.instructions.reason_for_call.split())
        walk = Walk(request, actions)
        tasks.append(
            {
                "id": task.id,
                "actions": actions,
                "untouched_hash": untouched,
                "gold_hash": gold_hash,
                "messages": walk.messages,
                "replies": walk.replies,
            }
        )
    json.dump(tasks, sys.stdout)


if __name__ == "__main__":
    main()
