"""Tables with rows, and users who look at them."""

from collections.abc import Sequence

from django.test import Client
from django.urls import reverse
from page_urls import user_named

from outkey.hosts.django.models import Run, SyncLine
from outkey.hosts.django.pages.access import installation
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape

BASE = reverse("admin:outkey_data")


def client_of(name: str) -> Client:
    """Return a browser in which a user is signed in."""
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(
        user_named(name), backend="django.contrib.auth.backends.ModelBackend"
    )
    return client


def prepare(name: str, *columns: tuple[str, FieldKind]) -> None:
    """Make a table with these columns and a number as its key."""
    fields = [HostField("id", "id", FieldKind.NUMBER, required=True)]
    fields += [HostField(column, column, kind) for column, kind in columns]
    shape = Shape(("id",), tuple(fields), archives=True, retires=True)
    installation().sync.tables().prepare(f"table:{name}", shape)


def write(name: str, rows: Sequence[dict[str, object]]) -> None:
    """Write rows as a run of the line `nightly` does."""
    run = Run.objects.create(
        line=SyncLine.objects.get(name="nightly"),
        dry_run=False,
        state="done",
        checkpoint="{}",
        started_at=1,
        until=1,
    )
    results = (
        installation().sync.tables().upsert(f"table:{name}", ["id"], rows, str(run.pk))
    )
    assert not any(written.reason for written in results), results
