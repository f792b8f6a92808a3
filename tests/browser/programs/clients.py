"""What the programs share: Django in a home of its own, and users with clients."""

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import Permission as DjangoPermission
from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.test import Client

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.editing import text_of_value
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.hosts.django.models import Configuration
from outkey.hosts.django.pages.access import administration_for, installation
from outkey.sending.adapters.audit.audit_keyed import KeyedAudit
from outkey.sending.adapters.secrets.keyring_loader import KeyringLoader

BACKEND = "django.contrib.auth.backends.ModelBackend"
LIST = "/outkey/configuration/"
HOME = "/outkey/configuration/home/"
EDITOR = (Permission.VIEW, Permission.ADD, Permission.CHANGE, Permission.TEST)
ALL_BUT_SCRIPTS = (*EDITOR, Permission.SET_SECRET, Permission.USE_INTERNAL_NETWORK)

application = installation()
boss = User.objects.create_superuser("boss")
administration = administration_for(boss)


def client_of(user: User) -> Client:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend=BACKEND)
    return client


def client_with(name: str, *permissions: Permission) -> Client:
    """Return the client of a new user with these permissions."""
    user = User.objects.create_user(name, is_staff=True)
    rows = DjangoPermission.objects.filter(codename__in=permissions)
    assert len(rows) == len(permissions)
    user.user_permissions.set(rows)
    return client_of(user)


admin = client_of(boss)


def apply_text(text: str) -> None:
    application.apply(administration, parse_document(text), dry_run=False)


def save_document(text: str, name: str, **secrets: str) -> str:
    """Save a configuration with its secrets, and return the path of its page."""
    apply_text(text)
    for field, value in secrets.items():
        administration.set_secret(name, field.replace("row_", "header:"), Secret(value))
    return f"{LIST}{Configuration.objects.get(name=name).pk}/"


def form(name: str, **changed: str | None) -> dict[str, str]:
    """Return the form of a configuration as its page posts it, with changes."""
    stored = application.registry.get(name)
    values: dict[str, str | None] = {
        path: str(text_of_value(value))
        for path, value in stored.values().items()
        if value
    }
    values.pop("oauth2.extra", None)
    values["version"] = str(stored.version)
    for number, row in enumerate(stored.headers):
        values |= {f"row-key-{number}": row.key, f"row-value-{number}": row.value}
        if row.secret:
            values[f"row-secret-{number}"] = "on"
    values |= {"active": "on"} | changed
    return {path: value for path, value in values.items() if value is not None}


def text_of(response: HttpResponseBase) -> str:
    """Return a body, streamed or not."""
    return b"".join(response).decode()


def lose_key() -> None:
    """Delete the key, and drop what this process has loaded of it."""
    keys = application.keys
    audit = application.audit
    assert isinstance(keys, KeyringLoader)
    assert isinstance(audit, KeyedAudit)
    keys.source.file.unlink()
    keys._ring = None
    audit._opened = None
