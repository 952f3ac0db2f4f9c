"""Wraps the orders of a small tea shop as gifts."""
from playhouse_sdk import Call, ToolError, run, tool

@tool
def wrap(order: str, call: Call) -> str:
    """Wraps an order as a gift."""
    card = call.ask("What shall the card say?")
    if call.ask(f"Shall I wrap order {order}, with the card {card!r}?") is not True:
        raise ToolError("the customer does not want it")
    return f"wrapped {order}"

if __name__ == "__main__":
    run()
