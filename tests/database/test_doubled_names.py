"""The database finds more than one row for a name: none of them is used for it."""

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from django.db import connection

from database.test_installation import application, spar  # noqa: F401 - fixtures
from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.errors import RowUnreadable
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.spar import Spar

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

LINE = """
[line.orders]
configuration = "acme"
method = "GET"
path = "/bearer"
"""


def drop_constraint() -> None:
    """Let several configurations have one name."""
    statements = ["ALTER TABLE outkey_configuration DROP CONSTRAINT {name} CASCADE"]
    if connection.vendor == "sqlite":
        statements = [
            "PRAGMA foreign_keys = OFF",
            "PRAGMA legacy_alter_table = ON",
            "CREATE TABLE copy AS SELECT * FROM outkey_configuration",
            "DROP TABLE outkey_configuration",
            "ALTER TABLE copy RENAME TO outkey_configuration",
        ]
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(
            cursor, "outkey_configuration"
        )
        for name, facts in constraints.items():
            is_of_name = facts["unique"] and facts["columns"] == ["name"]
            for statement in statements if is_of_name else ():
                cursor.execute(statement.format(name=name))


def double(name: str, row: ConfigurationRow) -> str:
    """Store a second row, and return its id."""
    from outkey.hosts.django.rows.storage import insert_configuration

    record = uuid4().hex
    assert insert_configuration(replace(row, record=record, name=name))
    return record


def row_of(name: str) -> ConfigurationRow:
    from outkey.hosts.django.rows.storage import DjangoConfigurationRows

    (row,) = DjangoConfigurationRows().find(names=[name])
    return row


def test_nothing_is_sent_with_one_of_two_configurations_of_a_name(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
) -> None:
    from outkey.hosts.django.wiring import install

    administration = application.administration("tester")
    administration.set_secret("acme", "header:X-API-Key", Secret("a-key"))
    administration.set_secret("acme", "token", Secret("spar-token"))
    application.audit.close()
    drop_constraint()
    double("acme", row_of("acme"))
    spar.clear()
    later = install(application.key_file.parent.parent, {})
    with pytest.raises(RowUnreadable, match="acme"):
        later.gateway.send("acme", "GET", "/bearer")
    assert spar.journal == []


def test_a_name_in_other_letters_is_another_configuration(
    application: "Application",  # noqa: F811
) -> None:
    from outkey.hosts.django.rows.storage import DjangoConfigurationRows

    record = double("ACME", row_of("acme"))
    if connection.vendor == "sqlite":
        pytest.skip("SQLite cannot change the collation of a column")
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2',"
            " deterministic = false)"
        )
        drop_constraint()
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename ="
            " 'outkey_configuration' AND indexdef LIKE '%varchar_pattern_ops%'"
        )
        for (index,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{index}"')
        cursor.execute(
            "ALTER TABLE outkey_configuration ALTER COLUMN name TYPE varchar(100)"
            " COLLATE ci"
        )
    rows = DjangoConfigurationRows()
    for _ in range(2):  # the second time it is in memory
        assert [row.record for row in rows.find(names=["ACME"])] == [record]
    (row,) = rows.find(names=["acme"], lock=False)
    assert row.record != record


def test_a_line_stays_with_its_configuration_whatever_has_its_name(
    application: "Application",  # noqa: F811
) -> None:
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.storage import DjangoLineRows

    administration = application.administration("tester")
    application.apply(administration, parse_document(LINE), dry_run=False)
    rows = DjangoLineRows()
    (line,) = rows.find(["orders"])
    first = models.Configuration.objects.get(name="acme")
    other = double("other", row_of("acme"))
    models.Configuration.objects.filter(pk=first.pk).update(name="before")
    models.Configuration.objects.filter(pk=UUID(other)).update(name="acme")
    assert rows.swap(line, line)
    assert models.SyncLine.objects.get(name="orders").configuration_id == first.pk
