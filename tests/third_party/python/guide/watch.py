import asyncio
import sys
from playhouse_sdk import AsyncClient

async def main() -> None:
    async with AsyncClient(sys.argv[1]) as client:
        session = (await client.begin("desk", id="watched"))["id"]
        await client.send(session, "4334", id="first")
        async for event in client.events(session):
            if event["type"] == "said_delta":
                print(event["text"], end="", flush=True)
            elif event["type"] == "said":
                print()
            elif event["type"] == "call_finished":
                print(event["name"], "gave", event.get("result"))

asyncio.run(main())
