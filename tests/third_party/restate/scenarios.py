"""The scenarios: what is done to the nodes and servers while people talk, and what is checked afterwards."""

import asyncio
import random
import time
from collections import Counter

from clients import Reader, Refused, Talk, Ways
from compare import counted, depot_faults, differences, is_unknown, is_whole

ALL = ["state", "value", "version", "speech", "said", "conversation", "variables", "calls"]
KEEP_ALIVE = {"RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL": "2s", "RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT": "2s"}
# How many faults of a kind are told.
TOLD = 5


def number_of(n):
    return f"P-{n:04}"


class Crowd:
    """People who talk at the same time, each with a session of its own."""

    def __init__(self, report, world, prefix, talk_to, read_from=None, cuts=False, sabotage=None, witnesses=()):
        self.report, self.world, self.prefix = report, world, prefix
        self.talk_to, self.read_from = talk_to, read_from or talk_to
        self.cuts, self.sabotage, self.witnesses = cuts, sabotage, witnesses
        self.statuses, self.faults, self.talks, self.tasks, self.heard = Counter(), [], [], {}, []

    def ways(self, nodes):
        return Ways([node.address for node in nodes], self.statuses, self.faults)

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
                heard = talk.reader.events[-3:]
                self.faults.append(f"{talk.session} has not ended; its reader's mark is {talk.reader.mark}, the last events {heard}")
            elif not isinstance(task.exception(), (Refused, type(None))):
                self.faults.append(f"{talk.session}: {task.exception()!r}")
        over = [talk for talk in self.talks if talk.reader.is_over and self.tasks[talk].done()]
        for start in range(0, len(over), 20):
            looks = [asyncio.create_task(talk.look()) for talk in over[start:start + 20]]
            _, late = await asyncio.wait(looks, timeout=60)
            for task in late:
                task.cancel()
        self.accounts = {talk.number: talk.account for talk in over if talk.account}

    def check(self, title, wanted, names=ALL):
        """Holds what was heard, and what became of it, against the undisturbed run; `wanted` is by numbers."""
        report = self.report
        self.faults += [f"{talk.session}: another reader has heard {witness.said}" for talk, witness in self.heard
                        if talk.account and (list(witness.utterances.values()), witness.said) != (talk.account["speech"], talk.account["said"])]
        report.check(f"{title}: {len(self.talks)} sessions ended, and no request was refused", self.faults)
        found = {number: list(differences(wanted[number], account, names)) for number, account in self.accounts.items()}
        n_bytes = sum(len(text.encode()) for account in self.accounts.values() for text in account["speech"])
        report.check(f"{title}: {n_bytes} bytes of speech, variables and calls are those of the undisturbed run",
                     [f"{number}: {text}" for number, texts in found.items() for text in texts] or
                     (["nothing was heard"] if not n_bytes else []))
        n_unknown = sum(is_unknown(call) for account in self.accounts.values() for call in account["calls"])
        calls = self.world.depot_calls()
        faults = list(depot_faults(self.accounts, calls, {talk.number for talk in self.talks}))
        if n_unknown > len(self.accounts) / 4:
            faults.append(f"{n_unknown} outcomes are unknown: that is no rare accident")
        report.check(f"{title}: of {len(calls)} calls that the depots got none was made twice that may not be, and none is missing "
                     f"(of {n_unknown} the outcome is unknown)", faults)
        report.say(f"answers by status: {counted(self.statuses)}")

    async def check_model(self, title, n_cut):
        """The model was asked for nothing that it does not know, and replies were cut in their middle."""
        log = await self.world.model_log()
        asked, cut = Counter(entry["node"] for entry in log["log"]), sum(not entry["ended"] for entry in log["log"])
        faults = log["faults"] + ([f"only {cut} replies were cut off: nothing was disturbed"] if cut < n_cut else [])
        self.report.check(f"{title}: {sum(asked.values())} replies, {cut} of them cut off in the middle ({counted(asked)})", faults)


async def reference(report, new_world, numbers, seconds, text=None):
    """The undisturbed run. `text` changes the program."""
    async with new_world("reference") as world:
        if text:
            world.rewrite(text)
        crowd = Crowd(report, world, "s", await world.on_a_store(1))
        await crowd.begin_all(numbers, seconds)
        await crowd.end(120)
        odd = [f"{number}: {account}" for number, account in crowd.accounts.items() if not is_whole(account)]
        missing = len(numbers) - len(crowd.accounts)
        report.check(f"undisturbed: {len(numbers)} sessions on one machine",
                     crowd.faults + odd + ([f"{missing} have no account"] if missing else []) +
                     list(depot_faults(crowd.accounts, world.depot_calls(), crowd.accounts)))
        return crowd.accounts


async def kill_in_turn(nodes, seconds, every=1):
    """Every second one of them is killed and started again."""
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        await asyncio.sleep(every)
        node = nodes[n % len(nodes)]
        node.kill()
        node.start()
        n += 1


async def kill_when_ready(node, seconds):
    """The only one there is: it is given a second in which it answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        await asyncio.sleep(1)
        node.kill()
        node.start()
        await node.ready()


async def disturbed(crowd, title, wanted, numbers, seconds, chaos, nodes):
    """People begin during the first half of the time, and something happens to the nodes all the time."""
    began = time.monotonic()
    happens = asyncio.create_task(chaos)
    await crowd.begin_all(numbers, seconds / 2)
    await happens
    for node in nodes:
        await node.ready()
    await crowd.end(90)
    crowd.report.say(f"nodes were killed {sum(node.n_kills for node in nodes)} times; {time.monotonic() - began:.0f} s in all")
    crowd.check(title, wanted)
    await crowd.check_model(title, n_cut=max(3, len(numbers) // 20))


async def killed(run):
    """1: one server, two nodes; one of them is killed every second."""
    async with run.world("killed") as world:
        numbers = range(1, run.n_sessions + 1)
        wanted = await run.reference(numbers)
        nodes, _ = await run.nodes(world)
        chaos = kill_in_turn(nodes, run.seconds) if len(nodes) > 1 else kill_when_ready(nodes[0], run.seconds)
        crowd = Crowd(run.report, world, "k", nodes, sabotage=run.sabotage)
        await disturbed(crowd, "killed", wanted, numbers, run.seconds, chaos, nodes)


async def server_killed(run):
    """2: three servers that keep everything twice, three nodes; the same, and a server is killed, too."""
    async with run.world("server-killed") as world:
        numbers = range(1, run.n_sessions // 2 + 1)
        wanted = await run.reference(numbers)
        nodes, servers = await run.nodes(world, 3, 3)

        async def chaos():
            killing = asyncio.create_task(kill_in_turn(nodes, run.seconds))
            await asyncio.sleep(run.seconds / 3)
            servers[-1].kill()
            await asyncio.sleep(run.seconds / 3)
            servers[-1].start()
            await servers[-1].ready()
            await killing

        crowd = Crowd(run.report, world, "v", nodes, sabotage=run.sabotage)
        await disturbed(crowd, "server killed", wanted, numbers, run.seconds, chaos(), nodes)
        run.report.check("server killed: a server was", [] if servers[-1].n_kills == 1 else ["none was"])


async def zombie(run):
    """3: a node stands still in the middle of a reply for 20 s, and goes on. Meanwhile the other one takes what it had. Beside
    each session's own reader one listens to each node all the time: so somebody hears what the zombie says."""
    async with run.world("zombie") as world:
        numbers = range(1, 25)
        wanted = await run.reference(numbers)
        nodes, _ = await run.nodes(world, environment=KEEP_ALIVE)
        crowd = Crowd(run.report, world, "z", nodes, witnesses=nodes, sabotage=run.sabotage)
        await crowd.begin_all(numbers, 4)
        still, caught, faults = None, [], []
        while still is None and not all(task.done() for task in crowd.tasks.values()):
            log = (await world.model_log())["log"]
            # Replies that have just begun and take their time.
            fresh = [one for one in log if one["ended"] is None and one["number"] and one["left"] > 0.5 and one["age"] > 0.1]
            node = next((node for node in nodes if sum(one["node"] == node.name for one in fresh) >= 2), None)
            if node:
                node.freeze()
                still, caught = node, sorted({one["number"] for one in fresh if one["node"] == node.name})
            await asyncio.sleep(0.02)
        if still is None:
            faults.append("no node has ever had two replies at the same time")
        else:
            await asyncio.sleep(20)
            later = (await world.model_log())["log"][len(log):]
            moved = {one["number"] for one in later if one["node"] != still.name}.intersection(caught)
            # New connections go to the one that stands still, too, as nobody tells the system that it does.
            faults += [] if moved else [f"in 20 s the other node has taken none of {caught}"]
            run.report.say(f"{still.name} stood still while it said something in {len(caught)} sessions; {len(moved)} went on elsewhere")
            still.thaw()
        await crowd.end(90)
        run.report.check("zombie: what it was saying was said by the other one", faults)
        crowd.check("zombie", wanted)


async def upgrade(run):
    """4: the nodes are replaced one after the other with another text of the program, under load."""
    async with run.world("upgrade") as world:
        n = max(10, run.n_sessions // 5)
        before, during, behind = range(1, n + 1), range(n + 1, 2 * n + 1), range(2 * n + 1, 2 * n + 11)
        wanted = await run.reference(range(1, 2 * n + 11))
        wanted_new = await run.reference(range(1, 2 * n + 11), run.new_text)
        versions = [next(iter(accounts.values()))["version"] for accounts in (wanted, wanted_new)]
        nodes, _ = await run.nodes(world)
        crowd = Crowd(run.report, world, "u", nodes)
        # These have begun before anything is replaced, and are in the middle of it while it is.
        await crowd.begin_all(before, 3)
        while not all(talk.version for talk in crowd.talks):
            await asyncio.sleep(0.05)
        begun = list(crowd.talks)
        load = asyncio.create_task(crowd.begin_all(during, 10))
        world.rewrite(run.new_text)
        for node in nodes:
            await node.end()
            node.start()
            await node.ready()
        await load
        after = [crowd.begin(n) for n in behind]
        await crowd.end(90)
        odd = [f"{talk.session} has the new text" for talk in begun if talk.account and talk.account["version"] != versions[0]]
        odd += [f"{talk.session} has the old text" for talk in after if talk.account and talk.account["version"] != versions[1]]
        run.report.check(f"upgrade: {len(begun)} sessions kept their text, {len(after)} that began afterwards have the new one", odd)
        run.report.check("upgrade: no answer was 5xx", [f"{status}: {n} times" for status, n in crowd.statuses.items() if status >= 500])
        # Each of the others has one of the two as a whole.
        of_version = dict(zip(versions, (wanted, wanted_new)))
        chosen = {number: of_version.get(account["version"], wanted)[number] for number, account in crowd.accounts.items()}
        crowd.check("upgrade", chosen)


async def cut(run):
    """5: readers on one node of sessions on the other one, whose connections are cut at random."""
    async with run.world("cut") as world:
        numbers = range(1, max(20, run.n_sessions // 4) + 1)
        wanted = await run.reference(numbers)
        nodes, _ = await run.nodes(world)
        crowd = Crowd(run.report, world, "c", nodes[-1:], read_from=nodes[:1], cuts=True, sabotage=run.sabotage)
        await crowd.begin_all(numbers, 6)
        if len(nodes) == 1:
            await kill_when_ready(nodes[0], 6)
        await crowd.end(90)
        n = sum(talk.reader.n_connections for talk in crowd.talks)
        run.report.check(f"cut: readers have come back {n - len(crowd.talks)} times",
                         ["that is hardly ever"] if n < 4 * len(crowd.talks) else [])
        crowd.check("cut", wanted)
        await crowd.check_model("cut", n_cut=0)


SCENARIOS = {1: killed, 2: server_killed, 3: zombie, 4: upgrade, 5: cut}
