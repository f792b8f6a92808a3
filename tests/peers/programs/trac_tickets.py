"""Tickets of a Trac environment, by Trac's own library: list, save and delete."""

import json
import sys
from datetime import UTC, datetime

from trac.env import open_environment
from trac.ticket.model import Ticket

FIELDS = ("summary", "description", "reporter", "priority", "status")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Do what the arguments say."""
    folder, action, *rest = sys.argv[1:]
    environment = open_environment(folder)
    if action == "list":
        query = "SELECT id FROM ticket ORDER BY id"
        numbers = [number for (number,) in environment.db_query(query)]
        print(json.dumps([_values(Ticket(environment, n)) for n in numbers]))
    elif action == "delete":
        Ticket(environment, int(rest[0])).delete()
    else:
        for values in json.loads(rest[0]):
            _save(environment, values)


def _values(ticket: Ticket) -> dict[str, object]:
    return {"id": ticket.id} | {name: ticket[name] for name in FIELDS}


def _save(environment: object, values: dict[str, object]) -> None:
    number = values.pop("id", None)
    ticket = Ticket(environment, number)
    for name, value in values.items():
        ticket[name] = value
    if number:
        ticket.save_changes(author="reader")
    else:
        ticket.insert()


if __name__ == "__main__":
    main()
