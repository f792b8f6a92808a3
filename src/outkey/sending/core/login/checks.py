"""Checks of a Login tab before it is saved: whether a login can work."""

import json
import re
from collections.abc import Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import BodyFormat
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    SECRETS_OF_LOGIN,
    Configuration,
)
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.login.requests import (
    OF_LOGIN,
    OF_REFRESH,
    REFRESH_TOKEN,
    target_of,
)
from outkey.sending.core.login.responses import named_part
from outkey.sending.core.login.template import placeholders_in
from outkey.sending.core.request.headers import is_header_name

_PATHS = ("path", "refresh_path", "logout_path")
_WORD = re.compile(r"[A-Za-z_]{1,20}")
_OTHER_BRACES = Text("To send braces themselves, write them with spaces: {{ name }}.")


def refuse_unusable_login(configuration: Configuration) -> None:
    """Refuse a Login tab that cannot work, whatever the API responds.

    Expressions are compiled by `finders_of`.
    """
    if not configuration.uses_login:
        return
    login = configuration.login
    for name in _PATHS:
        if getattr(login, name):
            target_of(configuration, f"login.{name}")
    _refuse_body(configuration, "body", OF_LOGIN, SECRETS_OF_LOGIN)
    for name in ("token", "refresh_token"):
        _refuse_nameless_part(f"login.{name}", getattr(login, name))
    if login.refresh_path:
        _refuse_body(configuration, "refresh_body", OF_REFRESH, (REFRESH_TOKEN,))
        if not login.refresh_token:
            raise BY_PATH["login.refresh_token"].refuse(
                Text("must not be empty beside a Refresh path")
            )


def _refuse_body(
    configuration: Configuration,
    name: str,
    allowed: Sequence[str],
    needed: Sequence[str],
) -> None:
    """Refuse a body with an unknown placeholder, without a secret, or not JSON."""
    path = f"login.{name}"
    template: str = getattr(configuration.login, name)
    placeholders = placeholders_in(template)
    unknown = [name for name in placeholders if name not in allowed]
    if unknown:
        problem = Text("has an unknown placeholder")
        # A word is named, but no password that a user has written in its place.
        if _WORD.fullmatch(unknown[0]):
            problem = Text(
                "has an unknown placeholder: {name}", name=in_braces(unknown[:1])
            )
        raise BY_PATH[path].refuse(
            problem,
            hint=Text(
                "Known: {names}. {advice}",
                names=in_braces(allowed),
                advice=_OTHER_BRACES,
            ),
        )
    if not set(needed) & set(placeholders):
        raise BY_PATH[path].refuse(
            Text("has no placeholder for a secret"),
            hint=Text(
                "Write {names} where the value belongs; a secret is never written here"
                " itself.",
                names=in_braces(needed),
            ),
        )
    if configuration.login.format is BodyFormat.JSON:
        _refuse_other_than_json(path, template)


def in_braces(names: Sequence[str]) -> str:
    """Return names as placeholders."""
    return ", ".join(f"{{{name}}}" for name in names)


def _refuse_other_than_json(path: str, template: str) -> None:
    """Refuse a body that is not JSON, such as one with a placeholder without quotes."""
    try:
        json.loads(template)
    except (ValueError, RecursionError):
        raise BY_PATH[path].refuse(
            Text("is not JSON"),
            hint=Text(
                "Placeholders stand inside quotes. Choose the Login format form if the"
                " API expects a form."
            ),
        ) from None


def _refuse_nameless_part(path: str, where: str) -> None:
    """Refuse `header:` or `cookie:` without a valid name."""
    part = named_part(where)
    if part is not None and not is_header_name(part[1]):
        raise _name_error(path)


def _name_error(path: str) -> ConfigError:
    """Return the error for the place of a token that names nothing."""
    return BY_PATH[path].refuse(Text("must name a header or a cookie, as header:NAME"))
