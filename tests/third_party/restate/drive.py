"""Sessions on many nodes: the proof that nothing is lost, said twice or called twice, whatever dies.

    python3 drive.py PLAYHOUSE RESTATE_SERVER [1 2 3 4 5] [--sessions 200] [--seconds 30] [--pause 0.03]
    python3 drive.py PLAYHOUSE --single [1 5]
    python3 drive.py PLAYHOUSE --store [1 4 5]

PLAYHOUSE is built with the feature `restate`; RESTATE_SERVER is the server's binary. `scenarios.py` says what happens in
each of the five, `compare.py` what is compared with what. `--single` does 1 and 5 with one `playhouse serve` and its own
store, which is killed every second: it needs no engine, and shows that the proof holds where everything is right. `--store`
does 1, 4 and 5 with two nodes that share a store, to try the scenarios without an engine; a store promises less than they
ask for (a node that ends answers 503, and one that starts may forget a session that has only just begun).
`--sabotage byte|mark|call` breaks the proof on purpose, to show that it can fail: a reader loses a character, a reader
comes back with an older mark, the depot makes each call twice. `--register-by-http` registers the nodes at the server's own
interface and not by `playhouse engine register`. Logs of all processes stay in the folder that is named where something
has failed. The last line is `N passed, M failed`."""

import argparse
import asyncio
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import crowd
import scenarios
import wire
from processes import Broken, World


def new_text(text):
    """The program as it is after the upgrade."""
    return text.replace("Welcome to the parcel desk.", "Welcome to the parcel desk, which has a new sign.").replace(
        "the way back costs {$fee} euros.", "the way back costs {$fee} euros; the sign was free.")


# How many faults of a kind are told.
TOLD = 5


class Report:
    def __init__(self):
        self.n_passed, self.n_failed, self.began = 0, 0, time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.0f} s] {text}", flush=True)

    def check(self, what, faults):
        """One check; `faults` are what is wrong, in words."""
        if not faults:
            self.n_passed += 1
            return self.say(f"passed: {what}")
        self.n_failed += 1
        self.say(f"FAILED: {what}")
        for fault in faults[:TOLD]:
            print(f"  {fault}", flush=True)
        if len(faults) > TOLD:
            print(f"  and {len(faults) - TOLD} more", flush=True)


class Run:
    """What the scenarios are run with."""

    def __init__(self, options, report, folder):
        self.options, self.report, self.folder = options, report, folder
        self.sabotage = options.sabotage
        self.n_sessions, self.seconds = options.sessions, options.seconds
        self.new_text, self.known = new_text, {}

    def world(self, name):
        world = World(self.folder / name, self.options.playhouse, self.options.pause)
        if self.sabotage == "call" and not name.startswith("reference"):
            depot = world.folder / "depot/plugin.py"
            once = "for line in sys.stdin:"
            depot.write_text(depot.read_text().replace(once, "for line in (line for one in sys.stdin for line in (one, one)):"))
        return world

    async def reference(self, numbers, text=None):
        """What the undisturbed run of these sessions comes to, by their numbers; each is run once."""
        known = self.known.setdefault(text, {})
        missing = [n for n in numbers if crowd.number_of(n) not in known]
        if missing:
            name = f"reference{sum(map(len, self.known.values()))}"
            seconds = max(2, len(missing) / 15)
            known |= await crowd.reference(self.report, lambda _: self.world(name), missing, seconds, text)
            self.known[text] = known
        return known

    async def nodes(self, world, n_nodes=2, n_servers=1, environment=()):
        """Nodes that are ready, and the servers of their engine."""
        if self.options.store:
            return await world.on_a_store(self.options.store), []
        servers = await world.servers(self.options.server, n_servers, environment)
        return await world.on_the_engine(servers, n_nodes, self.register), servers

    async def register(self, endpoint, server, nodes):
        """Makes the nodes known to the engine, once somebody listens there."""
        command = [self.options.playhouse, "engine", "register", endpoint, "--engine", f"restate:http://{server.ingress}",
                   "--admin", f"http://{server.admin}"]
        for _ in range(100):
            if self.options.register_by_http:
                async with await wire.ask(server.admin, "POST", "/deployments", {"uri": endpoint}) as answer:
                    is_done, said = answer.status < 300, await answer.text()
            else:
                done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
                is_done, said = done.returncode == 0, done.stdout + done.stderr
            if is_done:
                return
            if ended := [node for node in nodes if not node.is_running()]:
                raise Broken(f"{ended[0].name} has ended by itself:\n{ended[0].tail()}")
            await asyncio.sleep(0.2)
        raise Broken(f"the nodes could not be registered: {said}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("playhouse", type=Path)
    parser.add_argument("rest", nargs="*", metavar="RESTATE_SERVER or 1 2 3 4 5")
    parser.add_argument("--single", dest="store", action="store_const", const=1, default=0)
    parser.add_argument("--store", action="store_const", const=2)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=0.03)
    parser.add_argument("--sabotage", choices=["byte", "mark", "call"])
    parser.add_argument("--register-by-http", action="store_true")
    options = parser.parse_intermixed_args()
    options.server = next((Path(word) for word in options.rest if not word.isdigit()), None)
    options.scenario = [int(word) for word in options.rest if word.isdigit()]
    known = {0: [1, 2, 3, 4, 5], 1: [1, 5], 2: [1, 4, 5]}[options.store]
    options.scenario = options.scenario or known
    if not options.store and not (options.server and options.server.is_file()):
        parser.error("the Restate server's binary is missing: run.sh gets it; --single and --store do without")
    if wrong := [n for n in options.scenario if n not in known]:
        parser.error(f"scenario {wrong[0]} is not among {known}, which can be done so")
    return options


async def main():
    options, report = arguments(), Report()
    # Whoever ends the proof ends all that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Each reader and each session has files open.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    folder = Path(tempfile.mkdtemp(prefix="playhouse-restate-"))
    run = Run(options, report, folder)
    for n in options.scenario:
        scenario = scenarios.SCENARIOS[n]
        without = {0: "", 1: " (here one node by itself)", 2: " (here nodes on a store)"}[options.store]
        report.say(f"scenario {scenario.__doc__.splitlines()[0]}{without}")
        try:
            await scenario(run)
        except Broken as broken:
            report.check(f"scenario {n} came to its end", [str(broken)])
        except Exception:
            report.check(f"scenario {n} came to its end", [traceback.format_exc()])
    if report.n_failed:
        report.say(f"what the processes have said is in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{report.n_passed} passed, {report.n_failed} failed")
    sys.exit(report.n_failed > 0)


if __name__ == "__main__":
    asyncio.run(main())
