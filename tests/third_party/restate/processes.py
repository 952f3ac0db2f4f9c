"""What the proof starts and ends: nodes of Playhouse, Restate servers, the model. All on loopback, on ports that are free."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import wire
from free_ports import free_ports

START_SERVER = HERE.parents[2] / "examples/cluster/restate-server"
SECRET = "a secret of the nodes of one proof"


class Broken(Exception):
    """Something that the proof needs does not run; the text says what, and its last words."""


class Process:
    """A process of ours, which may be killed and started again. What it prints is added to NAME.log."""

    def __init__(self, name, folder, command, environment):
        self.name, self.folder, self.command = name, folder, list(command)
        self.environment = os.environ | environment
        self.log_path, self.child, self.n_kills, self.crashes = folder / f"{name}.log", None, 0, []

    def start(self):
        with open(self.log_path, "ab") as log:
            words = [str(word) for word in self.command]
            self.child = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)

    def is_running(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        """As a power cut would: nothing is said to it. One that was gone before has crashed."""
        if self.is_running():
            self.child.kill()
            self.child.wait()
            self.n_kills += 1
        else:
            self.crashes.append(f"{self.name} has ended by itself:\n{self.tail()}")

    def freeze(self):
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.child.send_signal(signal.SIGCONT)

    async def end(self):
        """As an operator ends it; what is not over after 30 s is killed."""
        if self.is_running():
            self.child.terminate()
            deadline = time.monotonic() + 30
            while self.is_running() and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
            if self.is_running():
                self.kill()

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def tail(self):
        return self.log()[-2000:]

    def faults(self):
        """What has gone wrong in it by itself."""
        panics = [f"{self.name}: {line}" for line in self.log().splitlines() if "panicked" in line]
        return self.crashes + panics


async def until_ready(process, address, path, seconds=60):
    """Waits until a process answers with 200 there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not process.is_running():
            raise Broken(f"{process.name} has ended by itself:\n{process.tail()}")
        try:
            async with await wire.ask(address, "GET", path, seconds=2) as answer:
                if answer.status == 200:
                    return
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.05)
    raise Broken(f"{process.name} is not ready after {seconds} s:\n{process.tail()}")


class Node(Process):
    """`playhouse serve` with the program. The key it has for the model is its name, so the model knows who asks."""

    def __init__(self, name, world, options, environment=()):
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        work = world.folder / "work" / name
        work.mkdir(parents=True)
        environment = {"OPENAI_API_KEY": name, "XDG_STATE_HOME": str(world.folder / "state" / name), **dict(environment)}
        command = [world.binary, "serve", "desk.md", "--model", "openai:desk", "--base-url", f"{world.model_url}/v1",
                   "--working-directory", work, "--listen", self.address, *options]
        super().__init__(name, world.folder, command, environment)

    async def ready(self):
        await until_ready(self, self.address, "/readyz")

    def found_no_engine(self):
        """Whether it has ended as it must where the engine cannot be reached when it begins."""
        return not self.is_running() and "cannot reach the engine" in self.log()[self.begins:]

    def start(self):
        self.begins = len(self.log())
        super().start()

    def kill(self):
        if not self.found_no_engine():
            super().kill()


class Server(Process):
    """A Restate server. `examples/cluster/restate-server` says what all of them are started with."""

    def __init__(self, name, folder, binary, ports, environment=()):
        self.ingress, self.admin, self.fabric = (f"127.0.0.1:{port}" for port in ports)
        command = [START_SERVER, binary, folder / name, name, *ports]
        super().__init__(name, folder, command, dict(environment))

    async def ready(self):
        await until_ready(self, self.admin, "/health")
        await until_ready(self, self.ingress, "/restate/health")


class World:
    """A folder with the program, its depot and a model that answers; all processes of it end with it."""

    def __init__(self, folder, binary, pause):
        self.folder, self.binary, self.pause = folder, Path(binary).resolve(), pause
        self.processes = []
        folder.mkdir(parents=True)
        for name in ["desk.md", "playhouse.toml", "depot"]:
            source = HERE / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)

    async def __aenter__(self):
        (port,) = free_ports(1)
        self.model_url = f"http://127.0.0.1:{port}"
        command = ["python3", HERE / "model.py", "--pause", self.pause, "--port", port]
        self.model = self.add(Process("model", self.folder, command, {}))
        self.model.start()
        await until_ready(self.model, f"127.0.0.1:{port}", "/log")
        return self

    async def __aexit__(self, *_):
        for process in reversed(self.processes):
            if process.is_running():
                process.thaw()
                process.kill()

    def add(self, process):
        self.processes.append(process)
        return process

    def rewrite(self, change):
        """Another text of the program, for nodes that are started from now on."""
        path = self.folder / "desk.md"
        path.write_text(change(path.read_text()))

    def node(self, name, options, environment=()):
        return self.add(Node(name, self, options, environment))

    async def on_a_store(self, n_nodes):
        """Nodes that are ready and share a store on this machine: no engine."""
        nodes = [self.node(f"node{n + 1}", ["--journal", self.folder / "sessions.sqlite"]) for n in range(n_nodes)]
        for node in nodes:
            node.start()
            await node.ready()
        return nodes

    async def servers(self, binary, n_servers, environment=()):
        """Restate servers that are ready; several keep everything twice."""
        ports = [free_ports(3) for _ in range(n_servers)]
        fabrics = json.dumps([f"http://127.0.0.1:{fabric}" for _, _, fabric in ports])
        servers = []
        for n, own in enumerate(ports, 1):
            together = {"RESTATE_AUTO_PROVISION": str(n == 1).lower(), "RESTATE_METADATA_CLIENT__ADDRESSES": fabrics,
                        "RESTATE_DEFAULT_REPLICATION": "2"} if n_servers > 1 else {}
            servers.append(self.add(Server(f"server{n}", self.folder, binary, own, together | dict(environment))))
            servers[-1].start()
        for server in servers:
            await server.ready()
        return servers

    async def on_the_engine(self, servers, n_nodes, register):
        """Nodes that are ready; node N talks to server N, as far as there are so many."""
        (port,) = free_ports(1)
        endpoint, nodes = f"127.0.0.1:{port}", []
        for n in range(n_nodes):
            options = ["--engine", f"restate:http://{servers[n % len(servers)].ingress}", "--engine-listen", endpoint]
            node = self.node(f"node{n + 1}", options, {"PLAYHOUSE_NODE_SECRET": SECRET})
            node.command += ["--node", f"http://{node.address}"]
            node.start()
            nodes.append(node)
        await register(f"http://{endpoint}", servers[0], nodes)
        for node in nodes:
            await node.ready()
        return nodes

    async def model_log(self):
        async with await wire.ask(self.model_url.removeprefix("http://"), "GET", "/log") as answer:
            return json.loads(await answer.text())

    def depot_calls(self):
        """All calls that the depots have got, in order."""
        path = self.folder / "depot/calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
