"""A plugin's process: one JSON message per line, both ways."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import json
import queue
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from playhouse_sdk.declaration import plain
from playhouse_sdk.errors import Cancelled, ToolError
from playhouse_sdk.tools import Call, Tool

Message = dict[str, Any]


class Plugin:
    """Answers the calls that come as lines.

    The thread that serves makes the calls, one after another, so that what a plugin has opened stays in the thread that
    has opened it. Only a call that comes while another one runs gets a thread of its own."""

    def __init__(self, tools: Iterable[Tool], write: Callable[[str], None]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._write = write
        self._writing = threading.Lock()
        self._config: Mapping[str, Any] = {}
        self._working_directory = Path()
        #: The calls that run, by `thrd_id`.
        self._running: dict[str, _Running] = {}
        self._is_busy = False
        self._changing = threading.Lock()
        self._calls: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve(self, lines: Iterable[str]) -> None:
        """Serves until Playhouse says that it is over, or says nothing more."""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        while (message := self._calls.get()) is not None:
            self._make(message)
            with self._changing:
                self._is_busy = False

    def _read(self, lines: Iterable[str]) -> None:
        try:
            self._take(lines)
        finally:
            self._calls.put(None)

    def _take(self, lines: Iterable[str]) -> None:
        for line in lines:
            message: Message = json.loads(line)
            if message["content_type"] == "command":
                with self._changing:
                    running = _Running()
                    self._running[message["thrd_id"]] = running
                    is_busy, self._is_busy = self._is_busy, True
                if is_busy:
                    threading.Thread(target=self._make, args=(message,), daemon=True).start()
                else:
                    self._calls.put(message)
                continue
            content = message["content"]
            event = content.get("event") if isinstance(content, dict) else None
            if event == "configure":
                self._config = content["config"]
                self._working_directory = Path(content["working_directory"])
            elif event == "cancel":
                with self._changing:
                    found = self._running.get(content["thrd_id"])
                if found is not None:
                    found.cancel()
            elif event == "exit":
                return

    def _make(self, message: Message) -> None:
        content, running = message["content"], self._running[message["thrd_id"]]

        def progress(text: str) -> None:
            self._send(message, message["receiver"], "text/plain", text)

        call = Call(
            message.get("id", ""), self._config, self._working_directory, progress, running.cancelled, message.get("answers", [])
        )
        try:
            response = None
            try:
                response = plain(self._perform(content["command"], content["param"] or {}, call, running))
            except BaseException:
                # However a function that asks has ended: what it raised may be inside a group of exceptions.
                if call.question is None:
                    raise
            if call.question is not None:
                self._send(message, message["receiver"], "text/plain", call.question, receiver={"role": "user"})
            else:
                command = {"command": content["command"], "response": response}
                self._send(message, message["receiver"], "command", command)
        except (Cancelled, concurrent.futures.CancelledError, asyncio.CancelledError):
            self._fail(message, "the call was cancelled", "")
        except ToolError as error:
            self._fail(message, str(error), error.detail, retry=error.retry)
        except (Exception, SystemExit) as error:
            _print_traceback(error)
            self._fail(message, str(error) or type(error).__name__, type(error).__name__)
        finally:
            with self._changing:
                del self._running[message["thrd_id"]]

    def _perform(self, command: str, param: Mapping[str, Any], call: Call, running: _Running) -> Any:
        tool = self._tools[command]
        result = tool.function(**tool.arguments(param, call))
        if not inspect.isawaitable(result):
            return result
        return running.wait(asyncio.run_coroutine_threadsafe(_awaited(result), self._event_loop()))

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        """One for all asynchronous tools, so that they can share connections."""
        with self._changing:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            return self._loop

    def _fail(self, message: Message, error: str, detail: str, *, retry: bool = False) -> None:
        # A message about text that cannot be sent may quote it.
        error, detail = (text.encode(errors="backslashreplace").decode() for text in (error, str(detail)))
        content = {"error": error, "detail": detail, **({"retry": True} if retry else {})}
        self._send(message, {"role": "system"}, "<class 'dict'>", content)

    def _send(
        self,
        message: Message,
        sender: Mapping[str, Any],
        content_type: str,
        content: Any,
        receiver: Mapping[str, Any] | None = None,
    ) -> None:
        answer = {
            "sender": sender,
            "receiver": receiver or message["sender"],
            "content_type": content_type,
            "content": content,
            "thrd_id": message["thrd_id"],
        }
        line = json.dumps(answer, ensure_ascii=False, allow_nan=False) + "\n"
        # A line that Playhouse could not read would leave the call without an answer.
        line.encode()
        with self._writing:
            self._write(line)


class _Running:
    """A call that runs."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._future: concurrent.futures.Future[Any] | None = None

    def cancel(self) -> None:
        self.cancelled.set()
        if self._future is not None:
            self._future.cancel()

    def wait(self, future: concurrent.futures.Future[Any]) -> Any:
        self._future = future
        if self.cancelled.is_set():
            future.cancel()
        return future.result()


def _print_traceback(error: BaseException) -> None:
    """It begins in the tool: what stands between is no matter of its author."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and _is_between(trace):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def _is_between(trace: TracebackType) -> bool:
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("playhouse_sdk", "concurrent", "asyncio")


async def _awaited(result: Any) -> Any:
    return await result

