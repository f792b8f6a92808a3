"""The tokens of configurations in Django's tables."""

import time
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from outkey.core.config.configuration import Configuration
from outkey.core.vault.envelope import TokenRow, key_name_of
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import all_translated, execute


@all_translated
class DjangoTokenRows:
    """One row a configuration, replaced only by whoever has seen it as it is."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        row = models.Token.objects.filter(pk=UUID(configuration.record)).first()
        if row is None:
            return None
        sealed = None if row.sealed is None else bytes(row.sealed)
        return TokenRow(row.generation, row.serial, row.origin, sealed, row.facts)

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        record = UUID(configuration.record)
        facts = {"generation": row.generation, "facts": dict(row.facts)}
        content = {
            "serial": row.serial,
            "origin": row.origin,
            "sealed": row.sealed,
            "key_id": "" if row.sealed is None else key_name_of(row.sealed),
        }
        with transaction.atomic():
            if not generation:
                if not _added(record, facts | content):
                    return False
            else:
                found = models.Token.objects.filter(pk=record, generation=generation)
                # The same token's bytes stay as they are: a rewrap may have changed them.
                if not (
                    found.filter(serial=row.serial).update(**facts)
                    or found.exclude(serial=row.serial).update(**facts, **content)
                ):
                    return False
        return True

    def now(self) -> float:
        """Return Unix time by the database's clock, where machines share it."""
        if connection.vendor != "postgresql":
            return time.time()
        return float(
            execute("SELECT extract(epoch FROM clock_timestamp())", ()).fetchone()[0]
        )


def _added(record: UUID, values: dict[str, object]) -> bool:
    try:
        with transaction.atomic():
            models.Token.objects.create(configuration_id=record, **values)
    except IntegrityError:
        return False
    return True
