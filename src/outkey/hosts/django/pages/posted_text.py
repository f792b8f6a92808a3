"""Posted texts that every page refuses before any of them is used."""

from collections.abc import Iterable

from django.http import HttpRequest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

_NUL = "\x00"


def refuse_nul(request: HttpRequest) -> None:
    """Refuse the NUL character in the query, the form and the cookies.

    No field accepts one, and PostgreSQL raises an error if one reaches a statement.
    """
    sent: list[Iterable[tuple[str, list[str]]]] = [
        request.GET.lists(),
        request.POST.lists(),
    ]
    for parameters in sent:
        for name, values in parameters:
            if any(_NUL in text for text in (name, *values)):
                message = Text(
                    "a value contains the NUL character, which cannot be stored"
                )
                hint = Text(
                    "Remove it; it often comes from copying out of a binary file."
                )
                raise ConfigError(message, hint=hint, field=name.replace(_NUL, ""))
    if any(_NUL in text for pair in request.COOKIES.items() for text in pair):
        message = Text("a cookie contains the NUL character")
        raise ConfigError(message, hint=Text("Delete the cookies of this site."))
