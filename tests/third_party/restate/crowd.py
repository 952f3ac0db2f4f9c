"""Many people who talk at the same time, and whether all of it came out right."""

import asyncio
import random
from collections import Counter

from clients import Reader, Refused, Talk, Ways
from compare import WRITES, counted, depot_faults, differences, is_unknown, is_whole


def number_of(n):
    return f"P-{n:04}"


class Crowd:
    """People who talk at the same time, each with a session of its own."""

    def __init__(self, report, world, prefix, talk_to, read_from=None, cuts=False, sabotage=None, witnesses=()):
        self.report, self.world, self.prefix = report, world, prefix
        self.talk_to, self.read_from = talk_to, read_from or talk_to
        self.cuts, self.sabotage, self.witnesses = cuts, sabotage, witnesses
        self.statuses, self.faults, self.later = Counter(), [], []
        self.talks, self.tasks, self.heard = [], {}, []

    def ways(self, nodes):
        return Ways([node.address for node in nodes], self.statuses, self.faults, self.later)

    def begin(self, n):
        """One more."""
        session, number = f"{self.prefix}-{n:04}", number_of(n)
        cuts = random.Random(n) if self.cuts else None
        reader = Reader(self.ways(self.read_from), f"user{n}", session, cuts, self.sabotage if n == 1 else None)
        talk = Talk(self.ways(self.talk_to), session, number, reader)
        self.talks.append(talk)
        self.tasks[talk] = asyncio.create_task(self.run(talk))
        return talk

    async def run(self, talk):
        await talk.begin()
        witnesses = [Reader(self.ways([node]), talk.user, talk.session) for node in self.witnesses]
        self.heard += [(talk, witness) for witness in witnesses]
        await asyncio.gather(talk.go_on(), *(witness.run(lambda *_: None) for witness in witnesses))

    async def begin_all(self, numbers, seconds):
        """So many, spread over the time."""
        for n in numbers:
            self.begin(n)
            await asyncio.sleep(seconds / len(numbers))

    async def end(self, seconds):
        """Waits for all of them, and looks at what has become of their sessions."""
        await asyncio.wait(self.tasks.values(), timeout=seconds)
        for talk, task in self.tasks.items():
            if not task.done():
                task.cancel()
                reader = talk.reader
                self.faults.append(f"{talk.session} has not ended; its reader has come to {reader.mark}, {reader.events[-3:]}")
            elif not isinstance(task.exception(), (Refused, type(None))):
                self.faults.append(f"{talk.session}: {task.exception()!r}")
        over = [talk for talk in self.talks if talk.reader.is_over and self.tasks[talk].done()]
        for start in range(0, len(over), 20):
            looks = [asyncio.create_task(talk.look()) for talk in over[start:start + 20]]
            _, late = await asyncio.wait(looks, timeout=60)
            for task in late:
                task.cancel()
        self.faults += [f"{talk.session} cannot be looked at" for talk in over if not talk.account]
        self.accounts = {talk.number: talk.account for talk in over if talk.account}

    def check(self, title, wanted):
        """Holds what was heard, and what became of it, against the undisturbed run; `wanted` is by numbers."""
        for talk, witness in self.heard:
            if talk.account and witness.heard() != talk.reader.heard():
                self.faults.append(f"{talk.session}: another reader has heard {witness.heard()}")
        self.faults += [fault for process in self.world.processes for fault in process.faults()]
        self.report.check(f"{title}: {len(self.talks)} sessions ended, no request was refused, nothing crashed", self.faults)

        found = [f"{number}: {text}" for number, account in self.accounts.items()
                 for text in differences(wanted.get(number), account)]
        n_bytes = sum(len(text.encode()) for account in self.accounts.values() for text in account["speech"])
        self.report.check(f"{title}: {n_bytes} bytes of speech, variables and calls are those of the undisturbed run",
                          found if n_bytes else ["nothing was heard"])

        calls = self.world.depot_calls()
        faults = list(depot_faults(self.accounts, calls, {talk.number for talk in self.talks}))
        n_unknown = sum(is_unknown(call) for account in self.accounts.values() for call in account["calls"])
        if n_unknown > len(self.accounts) * len(WRITES) / 2:
            faults.append(f"{n_unknown} outcomes are unknown: of most calls nothing is shown")
        self.report.check(f"{title}: of {len(calls)} calls that the depots got none was made twice that may not be, and none is "
                          f"missing (of {n_unknown} the outcome is unknown)", faults)
        self.report.say(f"answers by status: {counted(self.statuses)}")

    async def check_model(self, title, n_cut=0, nodes=()):
        """The model was asked for nothing that it does not know, so many replies were cut in their middle, and all of these
        nodes have asked."""
        model = await self.world.model_log()
        asked = Counter(entry["node"] for entry in model["log"])
        cut = sum(not entry["ended"] for entry in model["log"])
        faults = model["faults"] + [f"{node.name} has done nothing" for node in nodes if not asked[node.name]]
        if cut < n_cut:
            faults.append("that are few cuts: hardly anything was disturbed")
        what = f"{sum(asked.values())} replies, {cut} of them cut off in the middle ({counted(asked)})"
        self.report.check(f"{title}: {what}", faults)


async def reference(report, new_world, numbers, seconds, text=None):
    """The undisturbed run. `text` changes the program."""
    async with new_world("reference") as world:
        if text:
            world.rewrite(text)
        crowd = Crowd(report, world, "s", await world.on_a_store(1))
        await crowd.begin_all(numbers, seconds)
        await crowd.end(120)
        odd = [f"{number}: {account}" for number, account in crowd.accounts.items() if not is_whole(account)]
        faults = crowd.faults + odd + list(depot_faults(crowd.accounts, world.depot_calls(), crowd.accounts))
        report.check(f"undisturbed: {len(numbers)} sessions on one machine", faults)
        return crowd.accounts
