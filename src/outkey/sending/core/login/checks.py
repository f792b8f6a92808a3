"""Checks of a Login tab before it is saved: whether a login can work."""

import json
import re
from collections.abc import Sequence

from outkey.foundation.core.errors import ConfigError, HeaderFormatError
from outkey.foundation.core.fields.choices import BodyFormat, StepFormat
from outkey.foundation.core.placeholders import placeholders_in
from outkey.foundation.core.text import Text
from outkey.foundation.core.xml_document import NotReadable, parse_xml
from outkey.sending.core.configuration.configuration import (
    SECRETS_OF_LOGIN,
    STEPS,
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
from outkey.sending.core.login.steps import StepPlace, location_of, places_of
from outkey.sending.core.login.template import has_encoded_placeholder
from outkey.sending.core.request.headers import (
    check_name,
    check_value,
    is_header_name,
    looks_like_credential,
)

_PATHS = ("path", "refresh_path", "logout_path")
_TAKEN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_WORD = re.compile(r"[A-Za-z_]{1,20}")
_OTHER_BRACES = Text("To send braces themselves, write them with spaces: {{ name }}.")


def refuse_unusable_login(configuration: Configuration) -> None:
    """Refuse a Login tab that cannot work, whatever the API responds.

    Expressions are compiled by `finders_of`.
    """
    if not configuration.uses_login:
        return
    login = configuration.login
    _refuse_idle_fields(configuration)
    for name in _PATHS:
        if getattr(login, name):
            target_of(configuration, f"login.{name}")
    if login.steps:
        refuse_unusable_steps(configuration)
    else:
        _refuse_body(configuration, "body", OF_LOGIN, SECRETS_OF_LOGIN)
    for name in ("token", "refresh_token"):
        if not (name == "token" and login.fills_token):
            refuse_nameless_part(f"login.{name}", getattr(login, name))
    if login.refresh_path:
        _refuse_body(configuration, "refresh_body", OF_REFRESH, (REFRESH_TOKEN,))
        if not login.refresh_token:
            raise BY_PATH["login.refresh_token"].refuse(
                Text("must not be empty beside a Refresh path")
            )


def _refuse_idle_fields(configuration: Configuration) -> None:
    """Refuse fields that mean nothing beside steps, or without them."""
    login = configuration.login
    for path in ("login.path", "login.body"):
        if login.steps and getattr(login, path.rpartition(".")[2]):
            raise BY_PATH[path].refuse(Text("must be empty beside Steps"))
    if login.cookies and not login.steps:
        raise BY_PATH["login.cookies"].refuse(
            Text("needs Steps"),
            hint=Text("Write the login as one step, or as several."),
        )
    if login.refresh_path and (login.cookies or login.fills_token):
        raise BY_PATH["login.refresh_path"].refuse(
            Text("must be empty where a token is made of several steps or cookies"),
            hint=Text("Without it the login is repeated."),
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
    refuse_unknown_names(path, placeholders_in(template), allowed)
    if not set(needed) & set(placeholders_in(template)):
        raise BY_PATH[path].refuse(
            Text("has no placeholder for a secret"),
            hint=_hint_of_placeholders(needed),
        )
    if configuration.login.format is BodyFormat.JSON:
        refuse_other_than_json(path, template)


def refuse_unknown_names(
    path: str, placeholders: Sequence[str], allowed: Sequence[str], place: str = ""
) -> None:
    """Refuse placeholders that no value belongs to."""
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
            place=place,
            hint=Text(
                "Known: {names}. {advice}",
                names=in_braces(allowed),
                advice=_OTHER_BRACES,
            ),
        )


def in_braces(names: Sequence[str]) -> str:
    """Return names as placeholders."""
    return ", ".join(f"{{{name}}}" for name in names)


def _hint_of_placeholders(names: Sequence[str]) -> Text:
    """Return the advice to write placeholders in the place of secrets."""
    return Text(
        "Write {names} where the value belongs; a secret is never written here itself.",
        names=in_braces(names),
    )


def refuse_other_than_json(path: str, template: str, place: str = "") -> None:
    """Refuse a body that is not JSON, such as one with a placeholder without quotes."""
    try:
        json.loads(template)
    except (ValueError, RecursionError):
        raise BY_PATH[path].refuse(
            Text("is not JSON"),
            place=place,
            hint=Text(
                "Placeholders stand inside quotes. Choose the Login format form if the"
                " API expects a form."
            ),
        ) from None


def refuse_nameless_part(path: str, where: str, place: str = "") -> None:
    """Refuse `header:` or `cookie:` without a valid name."""
    part = named_part(where)
    if part is not None and not is_header_name(part[1]):
        raise BY_PATH[path].refuse(
            Text("must name a header or a cookie, as header:NAME"), place=place
        )


# ── steps ───────────────────────────────────────────────────────────────────────────


def refuse_unusable_steps(configuration: Configuration) -> None:
    """Refuse steps that cannot be sent, whatever the responses are."""
    known = list(OF_LOGIN)
    used: set[str] = set()
    for place in places_of(configuration):
        _refuse_unusable_step(configuration, place, known)
        used |= {*placeholders_in(*place.step.templates)}
        known += place.step.take
    if not used & {*SECRETS_OF_LOGIN}:
        raise BY_PATH[STEPS].refuse(
            Text("have no placeholder for a secret"),
            hint=_hint_of_placeholders(SECRETS_OF_LOGIN),
        )
    token = placeholders_in(configuration.login.token)
    if configuration.login.fills_token:
        taken = known[len(OF_LOGIN) :]
        refuse_unknown_names("login.token", token, taken)


def _refuse_unusable_step(
    configuration: Configuration, place: StepPlace, known: Sequence[str]
) -> None:
    """Refuse a step without one destination, or with texts that cannot be sent."""
    step = place.step
    if bool(step.url) == bool(step.path):
        raise BY_PATH[STEPS].refuse(
            Text("need either a URL or a path each"), place=place.field("path")
        )
    for key in ("url", "path"):
        if has_encoded_placeholder(getattr(step, key)):
            raise BY_PATH[STEPS].refuse(
                Text("have a placeholder with encoded braces"),
                place=place.field(key),
                hint=Text("Write {{ and }} themselves; the value is encoded."),
            )
    location_of(configuration, place)
    for key in ("url", "path", "body"):
        names = placeholders_in(getattr(step, key))
        refuse_unknown_names(STEPS, names, known, place.field(key))
    if step.body and step.method in {"GET", "HEAD"}:
        raise BY_PATH[STEPS].refuse(
            Text("send no body by GET or HEAD"), place=place.field("body")
        )
    for name, template in step.headers.items():
        _refuse_unusable_header(place, name, template)
        names = placeholders_in(template)
        refuse_unknown_names(STEPS, names, known, place.field("headers"))
    for name, where in step.take.items():
        _refuse_unusable_take(place, name, where, known)
    if step.body and step.format is StepFormat.JSON:
        refuse_other_than_json(STEPS, step.body, place.field("body"))
    if step.body and step.format is StepFormat.XML:
        _refuse_other_than_xml(place)


def _refuse_unusable_header(place: StepPlace, name: str, template: str) -> None:
    """Refuse a header that cannot be sent, or a credential in plain text."""
    field = place.field("headers")
    try:
        check_name(name, field=field)
        check_value(template, field=field)
    except HeaderFormatError as error:
        raise ConfigError(error.message, hint=error.hint, field=field) from None
    if looks_like_credential(name) and not placeholders_in(template):
        raise BY_PATH[STEPS].refuse(
            Text("have a credential in the header {name}, in plain text", name=name),
            place=place.field("headers"),
            hint=_hint_of_placeholders(SECRETS_OF_LOGIN),
        )


def _refuse_unusable_take(
    place: StepPlace, name: str, where: str, known: Sequence[str]
) -> None:
    """Refuse a value without a name of its own, or without a place."""
    if not _TAKEN_NAME.fullmatch(name) or name in known:
        raise BY_PATH[STEPS].refuse(
            Text(
                "take a value whose name is used already or is not a word of letters,"
                " digits and _"
            ),
            place=place.field("take"),
        )
    if not where:
        raise BY_PATH[STEPS].refuse(
            Text("take a value from nowhere"), place=place.take_field(name)
        )
    refuse_nameless_part(STEPS, where, place.take_field(name))


def _refuse_other_than_xml(place: StepPlace) -> None:
    """Refuse a body that is not XML."""
    try:
        parse_xml(place.step.body.encode())
    except NotReadable:
        raise BY_PATH[STEPS].refuse(
            Text("have a body that is not XML"), place=place.field("body")
        ) from None
