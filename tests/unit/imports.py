"""Importing in tests: with the real adapters, and the requests that come of it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from outkey.foundation.core.secret import Secret
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.assembly import Call, authenticated_request
from outkey.sending.core.request.message import Request
from outkey.sync.core.line.line import SyncLine

MISSING = Secret("a-secret-to-enter")


def configuration_of(imported: Import, number: int = 0) -> Configuration:
    return imported.configurations[number].draft.configuration()


def values_of(*texts: str, source: str = "") -> dict[str, object]:
    """Return the values that an import sets, by path."""
    imported = read_import(*texts, source=source)
    return dict(imported.configurations[0].draft.values)


def found_secrets(imported: Import, number: int = 0) -> dict[str, str]:
    secrets = imported.configurations[number].secrets
    return {name: secret.reveal() for name, secret in secrets.items()}


def reported(imported: Import) -> dict[str, str]:
    """Return the action of each item of a report."""
    return {item.item: str(item.action) for item in imported.report}


def requests_of(imported: Import) -> Iterator[tuple[SyncLine, Request]]:
    """Yield each line with the request that a preview would show, unmasked."""
    by_name = {one.draft.name: one for one in imported.configurations}
    for drafted in imported.lines:
        one = by_name[drafted.line.configuration]
        configuration = one.draft.configuration()
        states = {
            name: SecretState(configuration.binding_of(name))
            for name in one.draft.references
        }
        configuration = replace(configuration, secrets=states)
        call = Call(configuration, drafted.line.method, drafted.line.path)
        opener = partial(open_secret, one.secrets)
        yield (
            drafted.line,
            authenticated_request(call.request(), configuration, opener),
        )


def open_secret(secrets: Mapping[str, Secret], name: str) -> Secret:
    return secrets.get(name, MISSING)


def plain(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value
