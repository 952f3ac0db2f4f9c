"""What parcels cost."""
from playhouse_sdk import run, tool

@tool(read_only=True)
def price(kilos: float) -> float:
    """The price of a parcel, in euros."""
    return 4.0 + 1.5 * kilos

if __name__ == "__main__":
    run()
