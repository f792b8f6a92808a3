"""An editor saves another Base URL between two transactions of an administrator."""

from collections.abc import Iterator
from contextlib import contextmanager

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.editing import text_of_value
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.django.models import Configuration
from outkey.hosts.django.pages.access import administration_for, installation
from outkey.sync.engine.line_registry import Registry

BACKEND = "django.contrib.auth.backends.ModelBackend"
PERMISSIONS = ("view_configuration", "add_configuration", "change_configuration")
DOCUMENT = """
[configuration.shop]
base_url = "{url}"
environment = "test"
authentication_type = "bearer"
"""


def client_of(user: User) -> Client:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend=BACKEND)
    return client


def form(**changed: str) -> dict[str, str]:
    stored = installation().registry.find(["shop"])["shop"]
    values = {
        path: str(text_of_value(value))
        for path, value in stored.values().items()
        if value
    }
    return values | {"version": str(stored.version), "active": "on"} | changed


def main() -> None:
    application = installation()
    boss = User.objects.create_superuser("boss")
    editor = User.objects.create_user("editor", is_staff=True)
    editor.user_permissions.set(Permission.objects.filter(codename__in=PERMISSIONS))
    ours, theirs = "https://shop.example", "https://elsewhere.example"
    document = parse_document(DOCUMENT.format(url=ours))
    application.apply(administration_for(boss), document, dry_run=False)
    place = f"/outkey/configuration/{Configuration.objects.get().pk}/"
    administrator_client, editor_client = client_of(boss), client_of(editor)
    transaction = Registry.transaction
    statuses: list[int] = []

    @contextmanager
    def commit_then_edit(registry: Registry) -> Iterator[None]:
        with transaction(registry):
            yield
        if connection.in_atomic_block:
            return  # the save goes on
        Registry.transaction = transaction  # type: ignore[method-assign]
        saved = editor_client.post(place, form(base_url=theirs))
        statuses.append(saved.status_code)

    Registry.transaction = commit_then_edit  # type: ignore[method-assign,assignment]
    entered = form(
        notes="entered by the administrator", **{"secret:token": "precious-token"}
    )
    administrator_client.post(place, entered)
    assert statuses == [302], "the editor did save in between"
    stored = application.registry.find(["shop"])["shop"]
    bound = {state.origin for state in stored.secrets.values()}
    assert bound <= {f"{ours}:443"}, bound
    try:
        application.sender.context.open(stored, "token")
    except OutkeyError:
        pass
    else:
        raise AssertionError("the administrator's token opens for the editor's origin")


main()
