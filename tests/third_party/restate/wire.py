"""As much of HTTP/1.1 as both ends of the proof need: one request for each connection."""

import asyncio
import json


async def read_head(reader):
    """The first line and the headers, whose names are small."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return first, {name.lower(): value for name, value in headers.items()}


async def read_request(reader):
    first, headers = await read_head(reader)
    method, path, _ = first.split(" ")
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


def answer(writer, status, body):
    raw = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} .\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + raw)


async def pieces(reader, headers):
    """The body of an answer as it comes. One that is cut off raises."""
    if headers.get("transfer-encoding") != "chunked":
        yield await reader.readexactly(int(headers.get("content-length", 0)))
        return
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")


class Answer:
    """An answer whose head is there; `async with` closes the connection."""

    def __init__(self, status, headers, reader, writer):
        self.status, self.headers, self.reader, self.writer = status, headers, reader, writer

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    def pieces(self):
        return pieces(self.reader, self.headers)

    async def text(self):
        return b"".join([piece async for piece in self.pieces()]).decode()


async def ask(address, method, path, body=None, headers=(), seconds=20):
    """Asks a server, `host:port`. What goes wrong is an `OSError`, a `TimeoutError` or an `IncompleteReadError`."""
    host, port = address.rsplit(":", 1)
    raw = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"host: {address}", "connection: close", f"content-length: {len(raw)}"]
    lines += ["content-type: application/json"] if body is not None else []
    lines += [f"{name}: {value}" for name, value in dict(headers).items()]
    async with asyncio.timeout(seconds):
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + raw)
            await writer.drain()
            first, found = await read_head(reader)
        except BaseException:
            writer.close()
            raise
    return Answer(int(first.split(" ")[1]), found, reader, writer)
