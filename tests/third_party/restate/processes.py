"""What the proof starts and ends: nodes of Playhouse, Restate servers, the model. All on loopback, on ports that are free."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import wire

HERE = Path(__file__).resolve().parent
START_SERVER = HERE.parents[2] / "examples/cluster/restate-server"
SECRET = "a secret of the nodes of one proof"


def free_ports(n):
    """So many different ones: all are held before the first is let go."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Process:
    """A process of ours, which may be killed and started again. What it prints is added to NAME.log."""

    def __init__(self, name, folder, command, environment):
        self.name, self.folder, self.command = name, folder, [str(word) for word in command]
        self.environment = os.environ | environment
        self.log_path, self.child, self.n_kills = folder / f"{name}.log", None, 0

    def start(self):
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)

    def is_running(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        """As a power cut would: nothing is said to it."""
        if self.is_running():
            self.child.kill()
            self.child.wait()
            self.n_kills += 1

    def freeze(self):
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.child.send_signal(signal.SIGCONT)

    async def end(self):
        """As an operator ends it; what is not over after 30 s is killed."""
        if self.is_running():
            self.child.terminate()
            with_time = time.monotonic() + 30
            while self.is_running() and time.monotonic() < with_time:
                await asyncio.sleep(0.05)
        self.kill()

    def tail(self):
        return self.log_path.read_text(errors="replace")[-2000:] if self.log_path.exists() else ""


async def until_ready(process, address, path, seconds=60):
    """Waits until a process answers with 200 there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not process.is_running():
            raise SystemExit(f"{process.name} has ended by itself:\n{process.tail()}")
        try:
            async with await wire.ask(address, "GET", path, seconds=2) as answer:
                if answer.status == 200:
                    return
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.05)
    raise SystemExit(f"{process.name} is not ready after {seconds} s:\n{process.tail()}")


class Node(Process):
    """`playhouse serve` with the program. The key it has for the model is its name, so the model knows who asks."""

    def __init__(self, name, world, options, environment=()):
        (port,) = free_ports(1)
        self.address, self.world = f"127.0.0.1:{port}", world
        self.options = [*options, "--listen", self.address]
        (world.folder / "work" / name).mkdir(parents=True)
        environment = {"OPENAI_API_KEY": name, "XDG_STATE_HOME": str(world.folder / "state" / name), **dict(environment)}
        super().__init__(name, world.folder, [], environment)
        self.take("desk.md")

    def take(self, program):
        """The program's text from the next start on."""
        self.command = [str(word) for word in
                        [self.world.binary, "serve", f"desk={program}", "--model", "openai:desk", "--base-url",
                         f"{self.world.model_url}/v1", "--working-directory", self.world.folder / "work" / self.name, *self.options]]

    async def ready(self):
        await until_ready(self, self.address, "/readyz")


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

    def single(self):
        """A node by itself, with a store."""
        return self.add(Node("single", self, ["--journal", self.folder / "single.sqlite"]))

    async def cluster(self, server_binary, n_servers, n_nodes, register, environment=()):
        """Servers and nodes that are ready; node N talks to server N, as far as there are so many."""
        ports = [free_ports(3) for _ in range(n_servers)]
        (engine,) = free_ports(1)
        fabrics = json.dumps([f"http://127.0.0.1:{fabric}" for _, _, fabric in ports])
        servers = []
        for n, own in enumerate(ports, 1):
            together = {"RESTATE_AUTO_PROVISION": str(n == 1).lower(), "RESTATE_METADATA_CLIENT__ADDRESSES": fabrics,
                        "RESTATE_DEFAULT_REPLICATION": "2"} if n_servers > 1 else {}
            servers.append(self.add(Server(f"server{n}", self.folder, server_binary, own, together | dict(environment))))
            servers[-1].start()
        for server in servers:
            await server.ready()
        nodes = []
        for n in range(n_nodes):
            node = Node(f"node{n + 1}", self, [], {"PLAYHOUSE_NODE_SECRET": SECRET})
            server = servers[n % n_servers]
            node.options += ["--engine", f"restate:http://{server.ingress}", "--node", f"http://{node.address}",
                             "--engine-listen", f"127.0.0.1:{engine}"]
            node.take("desk.md")
            node.start()
            nodes.append(self.add(node))
        await asyncio.sleep(0)
        await register(self.binary, f"http://127.0.0.1:{engine}", servers[0], nodes)
        for node in nodes:
            await node.ready()
        return servers, nodes

    async def model_log(self):
        async with await wire.ask(self.model_url.removeprefix("http://"), "GET", "/log") as answer:
            return json.loads(await answer.text())

    def depot_calls(self):
        """All calls that the depots have got, in order."""
        path = self.folder / "depot/calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
