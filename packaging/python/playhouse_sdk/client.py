"""Clients of `playhouse serve`: one for ordinary code, one for asyncio. What they have in common is in `core`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from types import TracebackType
from typing import Any, TypeVar

import httpx

from playhouse_sdk import core
from playhouse_sdk.core import Answered, OpenApproval, Request, SessionInfo, SessionPage, Show, Taken
from playhouse_sdk.errors import PlayhouseError, Problem
from playhouse_sdk.events import Event
from playhouse_sdk.reply import Hearing, Reply

T = TypeVar("T")

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_STREAM_TIMEOUT = httpx.Timeout(core.SILENCE, connect=5.0)

#: What a second attempt may heal.
_LOST = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)

#: The server has not heard of the request.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def _headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _may_repeat(request: Request[Any], failure: Exception) -> bool:
    return request.is_repeatable or isinstance(failure, (*_NOT_SENT, Problem))


_ENDED = "the stream of events has ended before the program waits for anybody"


class Client:
    """A client of a server.

    A request that a lost connection, or a server that is started again, leaves without an answer is sent again, for
    `patience` seconds; nothing is done twice for that.
    """

    def __init__(self, url: str, token: str | None = None, *, patience: float = 30.0, http: httpx.Client | None = None) -> None:
        self._url = core.address(url)
        self._http = http or httpx.Client(timeout=_TIMEOUT)
        self._headers = _headers(token)
        self._patience = patience

    def begin(
        self,
        program: str,
        *,
        id: str | None = None,
        playbook: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SessionInfo:
        """Begins a session. With an id that was begun before it is that session."""
        return self._ask(core.begin(program, id, playbook, arguments, labels))

    def say(self, session: str, text: str, *, id: str | None = None) -> Reply:
        """Says something, and hears what comes of it until the program waits for a person or has finished.

        While the program waits for an answer about a call it hears nothing: then the reply is that question.
        """
        before = self.session(session)
        taken = self.send(session, text, id=id)
        return core.unheard(before, taken) or self.hear(session, after=taken["mark"])

    def send(self, session: str, text: str, *, id: str | None = None) -> Taken:
        """Says something, and does not wait. A message with the same id is taken once."""
        return self._ask(core.send(session, text, id))

    def hear(self, session: str, *, after: str | None = None) -> Reply:
        """What the program says after a mark, or from its beginning, until it waits for a person or has finished."""
        hearing = Hearing()
        with closing(self.events(session, after=after, show="speech")) as events:
            for event in events:
                reply = hearing.add(event)
                if reply is not None:
                    return reply
        raise PlayhouseError(_ENDED)

    def session(self, session: str) -> SessionInfo:
        """How a session stands."""
        return self._ask(core.get(session))

    def state(self, session: str) -> dict[str, Any]:
        """Where a session stands: its stack, variables and conversation."""
        return self._ask(core.state(session))

    def sessions(
        self,
        *,
        program: str | None = None,
        state: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SessionPage:
        """A page of the sessions that this client may see, the newest first."""
        return self._ask(core.sessions(program, state, before, limit, labels))

    def approvals(self) -> list[OpenApproval]:
        """What people are asked about calls, in all sessions."""
        return self._ask(core.approvals())["approvals"]

    def answer(self, session: str, call: int, answer: bool | str) -> Answered:
        """Answers what is asked about a call: yes, no, or words for the tool."""
        return self._ask(core.answer(session, call, answer))

    def signal(self, session: str, name: str, data: Any = None, *, id: str | None = None) -> Taken:
        """Sends an event from outside, for triggers that wait for it. An event with the same id is taken once."""
        return self._ask(core.signal(session, name, data, id))

    def interrupt(self, session: str) -> Taken:
        """Cancels what is going on; the program then waits for the user."""
        return self._ask(core.interrupt(session))

    def delete(self, session: str) -> None:
        """Deletes a session for good."""
        self._ask(core.delete(session))

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: Request[T]) -> T:
        patience = core.Patience(self._patience)
        while True:
            try:
                answer = self._http.request(
                    request.method, self._url + request.path, params=request.query, json=request.body, headers=self._headers
                )
                return request.read(answer.status_code, answer.content, answer.headers)
            except (*_LOST, Problem) as failure:
                if not _may_repeat(request, failure):
                    raise
                pause = patience.failed(failure, time.monotonic())
            time.sleep(pause)

    def events(self, session: str, *, after: str | None = None, show: Show = "all") -> Generator[Event, None, None]:
        """All events after a mark, or from the beginning, until the program has finished or failed.

        A lost connection is made again, and nothing is missed or told twice.
        """
        following, patience = core.Following(session, after, show), core.Patience(self._patience)
        while not following.is_over:
            request = following.request()
            try:
                with self._http.stream(
                    "GET", self._url + request.path, params=request.query, headers=self._headers, timeout=_STREAM_TIMEOUT
                ) as answer:
                    if answer.status_code != 200:
                        raise core.problem(answer.status_code, answer.read(), answer.headers)
                    for piece in answer.iter_bytes():
                        patience.succeeded()
                        yield from following.feed(piece)
                if following.is_doubtful and self.session(session)["state"] in core.OVER:
                    return
                pause = core.FIRST_PAUSE
            except (*_LOST, Problem) as failure:
                pause = patience.failed(failure, time.monotonic())
            if not following.is_over:
                time.sleep(pause)


class AsyncClient:
    """The same for asyncio: its methods are those of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, *, patience: float = 30.0, http: httpx.AsyncClient | None = None
    ) -> None:
        self._url = core.address(url)
        self._http = http or httpx.AsyncClient(timeout=_TIMEOUT)
        self._headers = _headers(token)
        self._patience = patience

    async def begin(
        self,
        program: str,
        *,
        id: str | None = None,
        playbook: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SessionInfo:
        return await self._ask(core.begin(program, id, playbook, arguments, labels))

    async def say(self, session: str, text: str, *, id: str | None = None) -> Reply:
        before = await self.session(session)
        taken = await self.send(session, text, id=id)
        return core.unheard(before, taken) or await self.hear(session, after=taken["mark"])

    async def send(self, session: str, text: str, *, id: str | None = None) -> Taken:
        return await self._ask(core.send(session, text, id))

    async def hear(self, session: str, *, after: str | None = None) -> Reply:
        hearing = Hearing()
        async with aclosing(self.events(session, after=after, show="speech")) as events:
            async for event in events:
                reply = hearing.add(event)
                if reply is not None:
                    return reply
        raise PlayhouseError(_ENDED)

    async def session(self, session: str) -> SessionInfo:
        return await self._ask(core.get(session))

    async def state(self, session: str) -> dict[str, Any]:
        return await self._ask(core.state(session))

    async def sessions(
        self,
        *,
        program: str | None = None,
        state: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> SessionPage:
        return await self._ask(core.sessions(program, state, before, limit, labels))

    async def approvals(self) -> list[OpenApproval]:
        return (await self._ask(core.approvals()))["approvals"]

    async def answer(self, session: str, call: int, answer: bool | str) -> Answered:
        return await self._ask(core.answer(session, call, answer))

    async def signal(self, session: str, name: str, data: Any = None, *, id: str | None = None) -> Taken:
        return await self._ask(core.signal(session, name, data, id))

    async def interrupt(self, session: str) -> Taken:
        return await self._ask(core.interrupt(session))

    async def delete(self, session: str) -> None:
        await self._ask(core.delete(session))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, request: Request[T]) -> T:
        patience = core.Patience(self._patience)
        while True:
            try:
                answer = await self._http.request(
                    request.method, self._url + request.path, params=request.query, json=request.body, headers=self._headers
                )
                return request.read(answer.status_code, answer.content, answer.headers)
            except (*_LOST, Problem) as failure:
                if not _may_repeat(request, failure):
                    raise
                pause = patience.failed(failure, time.monotonic())
            await asyncio.sleep(pause)

    async def events(self, session: str, *, after: str | None = None, show: Show = "all") -> AsyncGenerator[Event, None]:
        following, patience = core.Following(session, after, show), core.Patience(self._patience)
        while not following.is_over:
            request = following.request()
            try:
                async with self._http.stream(
                    "GET", self._url + request.path, params=request.query, headers=self._headers, timeout=_STREAM_TIMEOUT
                ) as answer:
                    if answer.status_code != 200:
                        raise core.problem(answer.status_code, await answer.aread(), answer.headers)
                    async for piece in answer.aiter_bytes():
                        patience.succeeded()
                        for event in following.feed(piece):
                            yield event
                if following.is_doubtful and (await self.session(session))["state"] in core.OVER:
                    return
                pause = core.FIRST_PAUSE
            except (*_LOST, Problem) as failure:
                pause = patience.failed(failure, time.monotonic())
            if not following.is_over:
                await asyncio.sleep(pause)

