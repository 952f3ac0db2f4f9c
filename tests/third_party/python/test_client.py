"""Both clients, against a server that is killed in between."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

import httpx
import pytest
from conftest import Server
from playhouse_sdk import AsyncClient, Client, Event, Problem, ProgramFailed, Unreachable
from playhouse_sdk.core import Following

Serve = Callable[..., Server]

STORY = ("story.md", "--model", "script:story.jsonl")
DESK = ("guide/desk.md", "--model", "embedded")


def spoken(events: list[Event]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "said_delta")


def test_a_stream_goes_on_where_it_was_when_the_server_has_been_killed(serve: Serve) -> None:
    server = serve(*STORY)
    with Client(server.url) as client:
        session = client.begin("story")["id"]
        heard: list[Event] = []
        n_pieces = 0
        for event in client.events(session):
            heard.append(event)
            if event["type"] == "said_delta":
                n_pieces += 1
                if n_pieces in (3, 6):
                    server.restart()
            if event["type"] == "waiting" and event["for"] == "user":
                break
        assert n_pieces > 6
        again: list[Event] = []
        for event in client.events(session):
            again.append(event)
            if event.get("mark") == heard[-1].get("mark"):
                break
    # The reply that the kill has cut off is asked for again; what has been said stands.
    assert spoken(heard) == spoken(again)
    assert spoken(heard).startswith("Good evening.") and spoken(heard).endswith("Another one?")
    # And nothing is told twice.
    marks = [event["mark"] for event in heard if "mark" in event]
    assert len(set(marks)) == len(marks)


def test_the_same_for_asyncio(serve: Serve) -> None:
    async def hear(server: Server) -> list[Event]:
        heard: list[Event] = []
        async with AsyncClient(server.url) as client:
            session = (await client.begin("story"))["id"]
            async for event in client.events(session):
                heard.append(event)
                if event["type"] == "said_delta" and spoken(heard).endswith("Größe"):
                    server.restart()
                if event["type"] == "waiting" and event["for"] == "user":
                    return heard
        return heard

    heard = asyncio.run(hear(serve(*STORY)))
    assert spoken(heard).startswith("Good evening.") and spoken(heard).endswith("Another one?")


def test_a_session_and_a_message_are_taken_once(serve: Serve) -> None:
    server = serve(*DESK)
    with Client(server.url) as client:
        first = client.begin("desk", id="mine", labels={"customer": "ida"})
        server.restart()
        assert client.begin("desk", id="mine")["created"] == first["created"]
        opening = client.hear("mine")
        assert str(opening) == "Welcome to the order desk.\nPlease tell me the number of your order."
        first_time = client.send("mine", "4335", id="m1")
        reply = client.hear("mine", after=first_time["mark"])
        server.restart()
        again = client.send("mine", "4335", id="m1")
        assert again == {"mark": first_time["mark"], "duplicate": True}
        assert client.say("mine", "4335", id="m1") == reply
        assert (reply.waiting, reply.question) == ("approval", 'May I call desk.refund(order="4335")?')
        # It hears nothing now, and whoever says something must not wait for ever.
        deaf = client.say("mine", "Hello?")
        assert (deaf.said, deaf.waiting, deaf.call) == ([], "approval", reply.call)
        assert [session["id"] for session in client.sessions(labels={"customer": "ida"})["sessions"]] == ["mine"]
        [asked] = client.approvals()
        assert (asked["session"], asked["call"], asked["args"]) == ("mine", reply.call, [["order", "4335", "model"]])
        assert client.answer("mine", asked["call"], True)["answer"] is True
        done = client.hear("mine", after=reply.mark)
        assert (str(done), done.value, done.waiting) == ("Your order: refunded 4335.", "refunded 4335", None)
        assert client.session("mine")["state"] == "finished"
        # All has been told: the stream ends.
        assert list(client.events("mine", after=done.mark)) == []
        client.delete("mine")
        with pytest.raises(Problem, match="404 not_found"):
            client.session("mine")


def test_a_conversation_with_asyncio(serve: Serve) -> None:
    async def talk(url: str) -> None:
        async with AsyncClient(url) as client:
            session = (await client.begin("desk"))["id"]
            assert (await client.hear(session)).waiting == "user"
            state = await client.state(session)
            assert "Main" in str(state)
            reply = await client.say(session, "4335")
            assert reply.call is not None and [one["call"] for one in await client.approvals()] == [reply.call]
            await client.answer(session, reply.call, False)
            with pytest.raises(Problem) as caught:
                await client.answer(session, reply.call, True)
            assert (caught.value.status, caught.value.kind) == (409, "conflict")

    asyncio.run(talk(serve(*DESK).url))


def test_a_problem_carries_its_document(serve: Serve) -> None:
    server = serve(*DESK)
    with Client(server.url) as client:
        with pytest.raises(Problem) as caught:
            client.begin("nothing")
        assert (caught.value.status, caught.value.kind) == (404, "not_found")
        with pytest.raises(Problem) as caught:
            client.send("any", 4334)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert caught.value.errors == [{"pointer": "/text", "detail": "this is an integer, but string is expected"}]
        assert "/text: this is an integer" in str(caught.value)


def test_a_program_that_fails_is_an_exception(serve: Serve) -> None:
    with Client(serve("story.md", "--model", "script:empty.jsonl").url) as client:
        session = client.begin("story")["id"]
        with pytest.raises(ProgramFailed) as caught:
            client.hear(session)
        assert caught.value.fault == "model"


def test_patience_ends(serve: Serve) -> None:
    server = serve(*DESK)
    server.stop()
    with Client(server.url, patience=0.3) as client:
        with pytest.raises(Unreachable, match="could not be reached for 0.3 s"):
            client.session("any")
        with pytest.raises(Unreachable):
            list(client.events("any"))


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("url", ["127.0.0.1:7000", "localhost:7000", "ftp://localhost", "http://", ""])
def test_an_address_is_whole(client: Callable[[str], object], url: str) -> None:
    with pytest.raises(ValueError, match=f"'{url}' is not the address of a server; write all of it, as in 'http://"):
        client(url)


def test_a_full_server_is_asked_again_when_it_says_so() -> None:
    answers = [httpx.Response(503, headers={"Retry-After": "0"}), httpx.Response(200, json={"id": "s"})]
    http = httpx.Client(transport=httpx.MockTransport(lambda request: answers.pop(0)))
    with Client("http://127.0.0.1:1", http=http) as client:
        assert client.session("s")["id"] == "s"
    assert answers == []


def test_what_may_have_been_done_is_not_done_again() -> None:
    n_asked = 0

    def lose(request: httpx.Request) -> httpx.Response:
        nonlocal n_asked
        n_asked += 1
        raise httpx.ReadError("lost")

    with Client("http://127.0.0.1:1", http=httpx.Client(transport=httpx.MockTransport(lose)), patience=0.3) as client:
        with pytest.raises(httpx.ReadError):
            client.interrupt("s")
        assert n_asked == 1
        with pytest.raises(Unreachable):
            client.send("s", "hello")
        assert n_asked > 2


def test_a_stream_may_be_cut_anywhere() -> None:
    stream = (
        ': \nretry: 500\n\nevent: said\nid: 1:2\ndata: {"type": "said", "text": "a\u2028b ä"}\n\n'
        ": ping\n\nevent: new_in_a_later_version\nid: 1:3\ndata: {}\n\nevent: bye\ndata: {}\n\n"
        'event: finished\nid: 1:4\ndata: {"type": "finished", "value": 1}\n\n'
    ).encode()
    for size in range(1, 20):
        following = Following("s", None, "all")
        following.request()
        events = [event for i in range(0, len(stream), size) for event in following.feed(stream[i : i + size])]
        assert events == [
            {"type": "said", "text": "a\u2028b ä", "mark": "1:2"},
            {"mark": "1:3"},
            {"type": "finished", "value": 1, "mark": "1:4"},
        ]
        assert following.is_over and following.mark == "1:4"


def test_an_unknown_mark_brings_everything_again(serve: Serve) -> None:
    with Client(serve(*DESK).url) as client:
        session = client.begin("desk")["id"]
        client.hear(session)
        events = client.events(session, after="1:999", show="speech")
        assert [next(events)["type"] for _ in range(2)] == ["reset", "session_started"]
        events.close()


def test_both_clients_have_the_same_methods() -> None:
    def parameters(client: type) -> dict[str, list[str]]:
        methods = inspect.getmembers(client, inspect.isfunction)
        return {name: list(inspect.signature(method).parameters) for name, method in methods if not name.startswith("_")}

    assert parameters(Client) == parameters(AsyncClient)
