"""When the last backup was made, and what an operator must know of a restored one."""

from collections.abc import Iterator

from outkey.administration.engine.application import Application
from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.foundation.engine.duties import BACKUP
from outkey.sending.core.configuration.configuration import Configuration

RETIRED = "retired"  # the state of a key that opens nothing
MISSING = "missing"  # a key that is not in the ring


def refuse_triggers(application: Application) -> None:
    """Raise ConfigError if outkey's tables have triggers: a restore may refuse them."""
    names = application.triggers()
    if names:
        raise ConfigError(
            Text(
                "tables of outkey have triggers, which outkey never makes: {names}",
                names=", ".join(names),
            ),
            hint=Text(
                "They can change what is stored, and a backup with them may not be"
                " restored. Find out who had access to the database, delete them with"
                " DROP TRIGGER, and back up again."
            ),
        )


def note_backup(application: Application) -> None:
    """Store that a backup was made now."""
    now = application.database.now()
    application.states.put(StateKind.MARK, {BACKUP: {"at": now}})


def backed_up_at(application: Application) -> float | None:
    """Return when the last backup was made; None if there was none."""
    mark = application.states.read(StateKind.MARK, [BACKUP]).get(BACKUP)
    return None if mark is None else mark.value.get("at")


def secrets_that_stay_sealed(application: Application) -> dict[str, dict[str, int]]:
    """Return how many secrets no key opens, by the state and the id of their key."""
    states = {key.name: str(key.state) for key in application.keys.ring().keys}
    counts: dict[str, dict[str, int]] = {RETIRED: {}, MISSING: {}}
    for key, count in sorted(application.rotation.uses().items()):
        state = states.get(key, MISSING)
        if state in counts:
            counts[state][key] = count
    return counts


def outdated_tokens(application: Application) -> Iterator[str]:
    """Yield the configurations whose refresh token may have been replaced since.

    The installation that was backed up may have used it, and its provider may have
    given it another one.
    """
    for configuration in application.registry.all():
        # A token of OAuth 1.0a is not replaced by another one.
        may_rotate = configuration.needs_consent and configuration.renews_token
        if may_rotate and _has_refresh_token(application, configuration):
            yield configuration.name


def _has_refresh_token(application: Application, configuration: Configuration) -> bool:
    """Whether a configuration has a refresh token, or one that cannot be opened."""
    if configuration.oauth2.grant is Grant.REFRESH_TOKEN:
        return True  # it was entered
    try:
        return application.sender.token_actions(configuration).would_lose_consent()
    except OutkeyError:
        return True
