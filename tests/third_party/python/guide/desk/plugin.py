"""Looks up the orders of a small tea shop, and refunds them."""
from typing import Literal
from playhouse_sdk import Call, run, tool

ORDERS: dict[str, Literal["paid", "shipped"]] = {"4334": "shipped", "4335": "paid"}

@tool(read_only=True)
def order_state(order: str) -> Literal["paid", "shipped", "unknown"]:
    """Says how far an order has come."""
    return ORDERS.get(order, "unknown")

@tool(idempotent=True, approval="ask")
async def refund(order: str, reason: str | None, call: Call) -> str:
    """Pays the money of an order back."""
    call.progress(f"asking the bank about {order}")
    return f"refunded {order}"

if __name__ == "__main__":
    run()
