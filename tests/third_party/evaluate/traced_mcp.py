"""An MCP server by the protocol's own Python SDK: its tools give the `traceparent` that a call came with, and what the
environment holds."""

import os

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("traced")


@server.tool()
def parent(context: Context) -> str:
    """What the call says of its span."""
    return (context.request_context.meta or {}).get("traceparent", "nothing")


@server.tool()
def leak() -> str:
    """Says the key of its environment."""
    return f"The key is {os.environ['KEY']}."


server.run("stdio")
