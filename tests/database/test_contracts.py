"""The contracts of the ports on both databases."""

import pytest

from outkey.ports import AuditRows, Registry
from outkey.testing.contracts import AuditRowsContract, RegistryContract


@pytest.mark.usefixtures("database")
class TestDjangoRegistry(RegistryContract):
    def make(self) -> Registry:
        from outkey.hosts.django.registry import DjangoRegistry

        return DjangoRegistry()


@pytest.mark.usefixtures("database")
class TestDjangoAuditRows(AuditRowsContract):
    def make(self) -> AuditRows:
        from outkey.hosts.django.audit import DjangoAuditRows

        return DjangoAuditRows()
