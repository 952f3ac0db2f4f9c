"""The scenarios: what is done to the nodes and servers while people talk, and what is checked afterwards."""

import asyncio
import time

from crowd import Crowd

# A node that stands still answers no pings.
KEEP_ALIVE = {f"RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_{name}": "2s" for name in ("INTERVAL", "TIMEOUT")}


async def kill_in_turn(nodes, seconds):
    """Every second one of them is killed and started again."""
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        await asyncio.sleep(1)
        node = nodes[n % len(nodes)]
        node.kill()
        node.start()
        n += 1


async def keep_running(nodes):
    """What a service manager does: starts nodes again that found no engine when they began."""
    while True:
        for node in nodes:
            if node.found_no_engine():
                node.start()
        await asyncio.sleep(0.2)


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
    n_kills = sum(node.n_kills for node in nodes)
    crowd.report.check(f"{title}: nodes were killed {n_kills} times; {time.monotonic() - began:.0f} s in all",
                       ["that is not often enough"] if n_kills < seconds / 3 else [])
    crowd.check(title, wanted)
    await crowd.check_model(title, n_cut=max(3, len(numbers) // 20), nodes=nodes)


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
            keeping = asyncio.create_task(keep_running(nodes))
            await asyncio.sleep(run.seconds / 3)
            servers[-1].kill()
            await asyncio.sleep(run.seconds / 3)
            servers[-1].start()
            await servers[-1].ready()
            await killing
            await asyncio.sleep(1)
            keeping.cancel()

        crowd = Crowd(run.report, world, "v", nodes, sabotage=run.sabotage)
        await disturbed(crowd, "server killed", wanted, numbers, run.seconds, chaos(), nodes)
        run.report.check("server killed: a server was", [] if servers[-1].n_kills == 1 else ["none was"])


async def zombie(run):
    """3: a node stands still in the middle of a reply for 20 s, and goes on.

    Meanwhile the other one takes what it had. Beside each session's own reader one listens to each node all the time: so
    somebody hears what the zombie says."""
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
            run.report.say(f"{still.name} stood still while it spoke in {len(caught)} sessions; {len(moved)} went on elsewhere")
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
        odd = [f"{talk.session} has another text" for talks, version in zip((begun, after), versions) for talk in talks
               if talk.account and talk.account["version"] != version]
        what = f"{len(begun)} sessions kept their text, {len(after)} that began afterwards have the new one"
        run.report.check(f"upgrade: {what}", odd)
        run.report.check("upgrade: no answer was 5xx", [text for text in crowd.later if text.startswith("5")])
        # Each of the others has one of the two as a whole.
        of_version = dict(zip(versions, (wanted, wanted_new)))
        chosen = {number: of_version.get(account["version"], wanted).get(number) for number, account in crowd.accounts.items()}
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
        await crowd.check_model("cut")


SCENARIOS = {1: killed, 2: server_killed, 3: zombie, 4: upgrade, 5: cut}
