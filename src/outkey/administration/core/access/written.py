"""Sync lines and webhooks as programs write them: the keys of the TOML, in JSON."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from outkey.administration.core.document.removals import line_table
from outkey.foundation.core.errors import InvalidRequest, OutkeyError
from outkey.foundation.core.merge_patch import merged
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import SyncLine
from outkey.webhooks.core.settings.section import REFERENCES, webhook_table
from outkey.webhooks.core.settings.settings import Webhook

# What programs read of a line besides its settings. They may send it back.
SHOWN_OF_LINES = frozenset({"name", "paused", "problem", "findings"})
SHOWN_OF_WEBHOOKS = frozenset(
    {"webhook", "endpoint", "state", "secrets", "refused", "refusals", "findings"}
)
# A push with requests of its own has neither, and shows these.
UNUSED_REQUEST = {"method": "POST", "path": "/"}


def written_line(
    name: str, facts: Mapping[str, object], base: SyncLine | None = None
) -> dict[str, object]:
    """Return the table `[line.NAME]` of a document that these facts describe.

    `base` is the line that they change, None if they are all of it.
    """
    refuse_other_name(facts.get("name", name), name)
    stored: dict[str, object] = {}
    if base is not None:
        stored = {"configuration": base.configuration, **line_table(base)}
    settings = {key: facts[key] for key in facts if key not in SHOWN_OF_LINES}
    table = merged(stored, settings)
    if any(table.get(key) for key in ("create", "update", "delete")):
        for key, value in UNUSED_REQUEST.items():
            if table.get(key) == value:
                del table[key]
    return table


def written_webhook(
    name: str,
    facts: Mapping[str, object],
    stored: Webhook | None = None,
    *,
    whole: bool = True,
) -> dict[str, object]:
    """Return the table `[webhook.NAME]` of a document that these facts describe.

    `stored` is the webhook that they change. References that they do not name stay,
    also if they are the `whole` of it otherwise.
    """
    refuse_other_name(facts.get("webhook", name), name)
    table = {} if stored is None else webhook_table(stored)
    if whole:
        table = {key: table[key] for key in REFERENCES if key in table}
    settings = {key: facts[key] for key in facts if key not in SHOWN_OF_WEBHOOKS}
    return merged(table, settings)


def names_references(facts: Mapping[str, object]) -> bool:
    """Whether facts about a webhook name a reference for one of its secrets."""
    return any(facts.get(key) for key in REFERENCES)


def refuse_other_name(name: object, name_in_url: str) -> None:
    """Raise InvalidRequest if a body names something else than its URL."""
    if name != name_in_url:
        raise InvalidRequest(
            Text("the name in the body is not the one in the URL"),
            hint=Text("Leave it out: no name is changed here."),
            field="name",
        )


@contextmanager
def naming_keys(place: str) -> Iterator[None]:
    """Let errors name a key in the body, and not its place in a document."""
    try:
        yield
    except OutkeyError as error:
        error.field = error.field and error.field.removeprefix(place)
        raise
