"""The tokens of configurations in Django's tables."""

from uuid import UUID

from django.db import IntegrityError, transaction

from outkey.foundation.core.stored_values import is_odd
from outkey.hosts.django import models
from outkey.hosts.django.rows.columns import optional_bytes
from outkey.hosts.django.rows.raw_sql import insert_row, wrap_errors_of_methods
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.connections.connection import row_of_record
from outkey.sending.core.vault.envelope import TokenRow, key_name_of


@wrap_errors_of_methods
class DjangoTokenRows:
    """One row per configuration; a write names the generation that it replaces."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        row = models.Token.objects.filter(
            pk=UUID(row_of_record(configuration.record))
        ).first()
        if row is None:
            return None
        if is_odd(row.facts):
            # Not an empty table: that would be a token without any fact.
            return TokenRow(row.generation, row.serial, "", None, {"odd": True})
        sealed = optional_bytes(row.sealed)
        return TokenRow(row.generation, row.serial, row.origin, sealed, row.facts)

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        record = UUID(row_of_record(configuration.record))
        if not generation:
            return insert(record, row)
        with transaction.atomic():
            return update(record, generation, row)


def insert(record: UUID, row: TokenRow) -> bool:
    """Add the first row of a configuration; return whether there was none."""
    columns = _facts_columns(row) | _content_columns(row)
    try:
        with transaction.atomic():
            insert_row(models.Token(configuration_id=record, **columns))
    except IntegrityError:
        return False
    return True


def update(record: UUID, generation: int, row: TokenRow) -> bool:
    """Replace the row of a generation; return whether it was there."""
    tokens = models.Token.objects.filter(pk=record, generation=generation)
    facts = _facts_columns(row)
    # The bytes of the same token stay: a key rotation may have changed them.
    if tokens.filter(serial=row.serial).update(**facts):
        return True
    others = tokens.exclude(serial=row.serial)
    return bool(others.update(**facts, **_content_columns(row)))


def _facts_columns(row: TokenRow) -> dict[str, object]:
    """Return the columns that every write changes."""
    return {"generation": row.generation, "facts": dict(row.facts)}


def _content_columns(row: TokenRow) -> dict[str, object]:
    """Return the columns that a new token changes."""
    return {
        "serial": row.serial,
        "origin": row.origin,
        "sealed": row.sealed,
        "key_id": "" if row.sealed is None else key_name_of(row.sealed),
    }
