"""Writes the plugin's declaration, from the schemas of the wheel's tools, to standard output.

Names, types, enumerations and what is required are the schemas'. The descriptions are this project's own. Run it with
the Python of the virtual environment that run.py makes: `python declare.py > airline/.config/config.yaml`.
"""

import sys

import yaml
from loguru import logger

logger.remove()

from tau2.domains.airline.environment import get_environment
from tau2.environment.toolkit import ToolType

HEADER = "# Written by declare.py from the schemas of the tools; run.py compares.\n"

COMMANDS = {
    "book_reservation": "Books flights for up to five passengers and charges the methods of payment.",
    "calculate": "Works out an arithmetic expression.",
    "cancel_reservation": "Cancels a whole reservation and refunds what was paid. Checks no rule.",
    "get_flight_status": "Gives the status of a flight on a date.",
    "get_reservation_details": "Gives a reservation: its flights, cabin, passengers, bags, insurance and payments.",
    "get_user_details": "Gives a customer's profile: membership, methods of payment, reservations.",
    "list_all_airports": "Gives the airports that are served, with their codes.",
    "search_direct_flight": "Finds direct flights between two airports on a date, with seats and prices.",
    "search_onestop_flight": "Finds flights with one stop between two airports on a date, as pairs.",
    "send_certificate": "Gives a customer a travel certificate. Checks no rule.",
    "transfer_to_human_agents": "Hands the customer over to a person.",
    "update_reservation_baggages": "Sets the number of checked bags of a reservation and charges for the new ones.",
    "update_reservation_flights": "Sets the cabin and all flights of a reservation; charges or refunds the difference. "
    "Checks no rule.",
    "update_reservation_passengers": "Replaces the passengers of a reservation by as many others.",
}

PARAMETERS = {
    "amount": "in whole dollars",
    "cabin": "the same for all flights of a reservation",
    "date": "YYYY-MM-DD",
    "destination": "code of an airport, three letters",
    "dob": "date of birth, YYYY-MM-DD",
    "expression": "numbers, + - * / and parentheses",
    "flights": "every flight of the reservation, also those that stay as they are",
    "insurance": "whether it is bought",
    "nonfree_baggages": "how many of the bags are paid for",
    "origin": "code of an airport, three letters",
    "payment_id": "a method of payment from the customer's profile",
    "summary": "what the customer wants and what was found out",
    "total_baggages": "free and paid ones together",
}

# Of the tools that the toolkit calls neither reading nor writing, the one that changes nothing.
PURE = {"calculate"}

SIMPLE = {"string": "string", "integer": "int", "number": "float", "boolean": "bool"}


class Types:
    """The types of one JSON Schema in the words of config.yaml."""

    def __init__(self, schema, descriptions, may_be_absent):
        self.definitions = schema.get("$defs", {})
        self.descriptions = descriptions
        self.may_be_absent = may_be_absent

    def resolve(self, schema):
        """The schema that is meant: behind a reference, and of alternatives the first that is not null."""
        if "$ref" in schema:
            return self.resolve(self.definitions[schema["$ref"].rsplit("/", 1)[1]])
        if "anyOf" in schema:
            return self.resolve(next(other for other in schema["anyOf"] if other.get("type") != "null"))
        return schema

    def description(self, name, schema, required):
        """The description of a value: its type, what it is for, its values."""
        found = {}
        meant = self.resolve(schema)
        found["type"] = self.type(meant)
        if name in self.descriptions:
            found["description"] = self.descriptions[name]
        values = [meant["const"]] if "const" in meant else meant.get("enum")
        if values:
            found["enum"] = values
        nullable = any(other.get("type") == "null" for other in schema.get("anyOf", []))
        if not required or nullable:
            found |= self.may_be_absent
        return found

    def fields(self, schema):
        """The descriptions of an object's fields by name."""
        required = schema.get("required", [])
        return {
            name: self.description(name, field, name in required) for name, field in schema["properties"].items()
        }

    def type(self, schema):
        """The type alone; `schema` is resolved."""
        kind = schema["type"]
        if kind in SIMPLE:
            return SIMPLE[kind]
        if kind == "object" and "properties" in schema:
            return self.fields(schema)
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"Dict[str, {self.short(values)}]" if isinstance(values, dict) else "Dict"
        if kind == "array":
            items = self.resolve(schema["items"]) if "items" in schema else {}
            if "properties" in items:
                return [{"name": name} | field for name, field in self.fields(items).items()]
            return f"List[{self.short(items)}]" if items else "List"
        raise ValueError(f"no type for {schema}")

    def short(self, schema):
        """A type for the inside of brackets, where no fields can stand."""
        if len([other for other in schema.get("anyOf", []) if other.get("type") != "null"]) > 1:
            return "Dict" if all(self.resolve(other)["type"] == "object" for other in schema["anyOf"]) else "Any"
        found = self.type(self.resolve(schema))
        return found if isinstance(found, str) else "Dict" if isinstance(found, dict) else "List"


def response(schema, shared):
    """The description of a response; a kind of object that several commands give is written once."""
    types = Types(schema, {}, {"optional": True})
    returned = schema["properties"]["returns"]
    meant = types.resolve(returned)
    if "properties" not in meant:
        return {"type": types.type(meant)}
    title = meant["title"]
    if title in shared:
        return {"type": title}
    shared.add(title)
    return {"type": {"_type_ref": title} | types.fields(meant)}


def configuration():
    """The text of config.yaml."""
    toolkit = get_environment().tools
    tools = toolkit.get_tools()
    if set(tools) != set(COMMANDS):
        sys.exit(f"other tools than described here: {sorted(set(tools) ^ set(COMMANDS))}")
    shared = set()
    commands = []
    for name in sorted(tools):
        command = {"command_name": name, "description": COMMANDS[name]}
        schema = tools[name].params.model_json_schema()
        fields = Types(schema, PARAMETERS, {"required": False}).fields(schema)
        if fields:
            command["parameter"] = {"type": fields}
        command["response"] = response(tools[name].returns.model_json_schema(), shared)
        if toolkit.tool_type(name) == ToolType.READ or name in PURE:
            command["effect"] = "read_only"
        commands.append(command)
    document = {
        "group_id": "playhouse.third_party",
        "artifact_id": "airline",
        "version": "1",
        "type": "plugin",
        "as_plugin": True,
        "info": {
            "title": "airline",
            "description": "Customers, flights and reservations of an airline.",
        },
        "commands": commands,
        "setup": {"package": "playhouse.process", "command": ["python3", "plugin.py"]},
    }
    return HEADER + yaml.dump(document, Dumper=NoAnchors, sort_keys=False, width=110)


class NoAnchors(yaml.SafeDumper):
    """A writer that repeats a value where it stands twice."""

    def ignore_aliases(self, data):
        return True


if __name__ == "__main__":
    sys.stdout.write(configuration())
