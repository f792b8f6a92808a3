"""A test that repeats itself: after a fix was applied, the page tests again."""

from django.http import HttpRequest

from outkey.sending.core.configuration.configuration import Configuration

REPEATED = "outkey_repeated"


def repeat_test(request: HttpRequest, stored: Configuration, field: str) -> None:
    """Let the page of a configuration test it when it is shown next.

    The session has this and not a URL: a link cannot make a user test. `field`
    is the one that was changed; the page opens there.
    """
    request.session[REPEATED] = [stored.record, field]


def take_repetition(request: HttpRequest, stored: Configuration) -> str | None:
    """Return the changed field if the page must test now; only once."""
    if REPEATED not in request.session:
        return None
    record, field = request.session.pop(REPEATED)
    return str(field) if record == stored.record else None
