from typing import Literal
from playhouse_sdk import Session

def order_state(order: str) -> Literal["paid", "shipped"]:
    return "shipped"

def refund(order: str) -> str:
    return f"refunded {order}"

with Session("desk.md", tools={"desk": [order_state, refund]}, model="embedded") as session:
    print(session.say("4335"))
