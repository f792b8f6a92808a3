"""The records of the servers that are synchronized with."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType

from peers.sync_servers import Row

REPOSITORIES = [f"parts/{number:03}" for number in range(60)]
ODD = ("a/b", "50% ü?", "#1 & 2", "a..%2F")


def contact(number: int) -> Row:
    return {
        "id": ODD[number] if number < len(ODD) else f"C-{number}",
        "name": f"Zoë O'Neil 株式会社 {number}",
        "credit": number / 10,
        "born": f"19{number % 100:02}-02-{number % 28 + 1:02}",
        "active": number % 3 == 0,
        "seen": f"2027-03-28T{number % 24:02}:30:00+02:00",
        "note": None if number % 2 else "\"<&>'\n",
    }


CONTACTS = [contact(number) for number in range(160)]


def order(number: int) -> Row:
    """Return an order with its lines, as Directus is given it."""
    lines = [
        {"sku": f"sku {number}/{line}", "quantity": line + 1, "price": line + 0.25}
        for line in range(number % 4)
    ]
    return {
        "number": f"O-{number}",
        "status": ("draft", "open", "sent")[number % 3],
        "total": number + 0.5,
        "paid": number % 2 == 0,
        "due": f"2027-05-{number % 28 + 1:02}",
        "placed": f"2027-03-28T{number % 24:02}:30:00+02:00",
        "lines": lines,
    }


ORDERS = [order(number) for number in range(70)]


# ── values, whatever a server, a database or a file writes them as ────────────────────


def boolean(value: object) -> bool:
    return {"1": True, "0": False, "true": True, "false": False}[str(value).lower()]


def moment(value: object) -> datetime:
    """Return a time in UTC; MariaDB and SQLite have no time zones."""
    read = datetime.fromisoformat(str(value))
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


KINDS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "active": boolean,
        "born": lambda value: date.fromisoformat(str(value)),
        "credit": lambda value: Decimal(str(value)).normalize(),
        "due": lambda value: date.fromisoformat(str(value)),
        "id": lambda value: int(str(value)),
        "paid": boolean,
        "placed": moment,
        "price": lambda value: Decimal(str(value)).normalize(),
        "quantity": lambda value: int(str(value)),
        "seen": moment,
        "total": lambda value: Decimal(str(value)).normalize(),
    }
)


def typed(rows: Iterable[Row], columns: Iterable[str]) -> list[Row]:
    """Return these columns of rows as Python has them, in an order of their own.

    No record has an empty text, so an empty cell of CSV is no value.
    """
    made = [
        {
            column: None
            if row[column] in {None, ""}
            else KINDS.get(column, str)(row[column])
            for column in columns
        }
        for row in rows
    ]
    return sorted(made, key=repr)


def numbered(rows: Iterable[Row]) -> list[Row]:
    """Return contacts whose key is their number."""
    return [
        {("number" if name == "id" else name): value for name, value in row.items()}
        for row in rows
    ]
