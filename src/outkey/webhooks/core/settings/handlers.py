"""Which functions a webhook may name: only what the operator has listed.

Documents and pages are written by users who must not run any function they like, such
as `os.system`.
"""

from collections.abc import Collection

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

HANDLER_REFUSED = "handler_refused"


def parse_handlers(text: str) -> tuple[str, ...]:
    """Return the names and module prefixes of a comma separated list."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def is_allowed_handler(name: str, allowed: Collection[str]) -> bool:
    """Whether a dotted name, or a module that it is in, is on the operator's list."""
    parts = name.split(".")
    prefixes = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return any(prefix in allowed for prefix in prefixes)


def refuse_unlisted_handler(name: str, allowed: Collection[str], field: str) -> None:
    """Raise ConfigError for a function that the operator has not listed."""
    if is_allowed_handler(name, allowed):
        return
    raise ConfigError(
        Text("the operator has not listed the function {name}", name=name),
        hint=Text(
            "Add it, or its module, to OUTKEY_WEBHOOK_HANDLERS or to WEBHOOK_HANDLERS"
            " in OUTKEY of the project's settings."
        ),
        field=field,
        reason=HANDLER_REFUSED,
    )
