"""The runs of sync lines in Django's tables, for tests without an installation."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outkey.engine.sync import Runs


def runs() -> "Runs":
    from outkey.engine.managing.registry import Registry
    from outkey.engine.sync import Runs
    from outkey.hosts.django.registry import django_storage
    from outkey.hosts.django.runs import DjangoRunRows
    from outkey.hosts.django.shared_state import DjangoStateRows

    storage = django_storage()
    return Runs(DjangoRunRows(), DjangoStateRows(), storage.database, Registry(storage))
