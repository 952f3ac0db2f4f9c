"""The client `mcp` of the protocol's Python SDK, with `playhouse mcp` and with `/mcp` of `playhouse serve`.

    client.py PLAYHOUSE URL TOKEN OTHER_TOKEN

The current folder has the program; TOKEN and OTHER_TOKEN are those of two owners. Ends with `N passed, N failed`.
"""

import asyncio
import os
import sys
import traceback

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

playhouse, url, token, other_token = sys.argv[1:]
n_passed = 0
n_failed = 0


def expect(what, found, wanted):
    global n_passed, n_failed
    if found == wanted:
        n_passed += 1
        print(f"passed: {what}")
    else:
        n_failed += 1
        print(f"FAILED: {what}\n--- wanted\n{wanted}\n--- got\n{found}")


def on_stdio(_):
    arguments = ["mcp", "mcp.md", "--model", "script:mcp.jsonl"]
    return StdioServerParameters(command=playhouse, args=arguments, env={"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]})


def over_http(token):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return streamable_http_client(url, http_client=http)


async def fine(_context, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={"answer": "I am fine"})


asked = []


async def talk(name, door, mode, version):
    async with Client(door(token), mode=mode, read_timeout_seconds=30) as client:
        expect(f"{name}: version", client.protocol_version, version)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        expect(f"{name}: tools", tools, ["Twice", "Mood", "talk", "reply", "wait"])
        result = await client.call_tool("Twice", {"word": "ho"})
        told = result.structured_content
        expect(f"{name}: a value", (told["status"], told["value"], told["said"]), ("finished", "ho", ["ho, ho!"]))
        result = await client.call_tool("Twice", {"word": 3})
        expect(f"{name}: a wrong argument", (result.is_error, "must be str" in result.content[0].text), (True, True))
        told = (await client.call_tool("Mood", {"name": "Ida"})).structured_content
        expect(f"{name}: a question", (told["status"], told["said"]), ("waiting", ["Hello, Ida.", "How are you?"]))
        session = told["session"]
        if door is over_http:
            async with Client(door(other_token), mode=mode, read_timeout_seconds=30) as other:
                result = await other.call_tool("wait", {"session": session})
                wanted = (True, True)
                expect(f"{name}: of another", (result.is_error, "there is no session" in result.content[0].text), wanted)
        told = (await client.call_tool("reply", {"session": session, "message": "I am fine"})).structured_content
        expect(f"{name}: an answer", (told["status"], told["value"]), ("finished", "fine"))
    asked.clear()
    async with Client(door(token), mode=mode, read_timeout_seconds=30, elicitation_callback=fine) as client:
        told = (await client.call_tool("Mood", {"name": "Ida"})).structured_content
        found = (told["status"], told["value"], asked)
        expect(f"{name}: a form", found, ("finished", "fine", ["Hello, Ida.\n\nHow are you?"]))


async def main():
    global n_failed
    for name, door in [("stdio", on_stdio), ("http", over_http)]:
        for mode, version in [("legacy", "2025-11-25"), ("auto", "2026-07-28")]:
            try:
                await talk(f"{name} {version}", door, mode, version)
            except Exception:
                n_failed += 1
                print(f"FAILED: {name} {version}\n{traceback.format_exc()}")


asyncio.run(main())
print(f"{n_passed} passed, {n_failed} failed")
