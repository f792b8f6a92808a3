"""The rules that look at what was entered, in tests of a configuration only.

A secret is asked for its kind of fault and never revealed: what comes out are words of ours.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlsplit

from outkey.core.config.choices import AuthenticationType, Environment
from outkey.core.config.configuration import Configuration
from outkey.core.config.fields import FIELDS
from outkey.core.diagnosis.evidence import Clue, Evidence, fix_of
from outkey.core.errors import OutkeyError
from outkey.core.moments import moment_text
from outkey.core.request.headers import tidy_token, tidy_value
from outkey.core.secret import Secret

_STATUSES = frozenset({400, 401, 403, 404})
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
_PREFIX = re.compile(
    r"(?:authorization|x-[a-z-]{2,30})\s*[:=]|(?:bearer|basic|token|api-?key)[\s:=]|access_token=",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[A-Za-z][\w-]*[ ]+")
_FAULTS = {
    "pasted-json": "begins like a JSON document",
    "secret-in-quotes": "stands in quotes",
    "invisible-characters": "has characters that nobody sees, or blanks at an end",
    "doubled-prefix": "begins with a word that does not belong to it",
}
_TRIAL_KEYS = ("sk_test_", "rk_test_", "pk_test_", "test_", "sandbox_", "TEST-")
_LIVE_KEYS = ("sk_live_", "rk_live_", "pk_live_", "live_", "prod_")
_LABELS: dict[str, str] = {
    field.secret_name: field.label for field in FIELDS if field.secret
}


def by_entered(evidence: Evidence) -> Iterator[Clue]:
    """Look at each secret that was sent as it is."""
    for name, as_sent in _entered(evidence):
        try:
            value = evidence.secret(name) if evidence.secret else Secret("")
            fault = value.derive(as_sent).derive(_fault).known_prefix(_FAULTS)
        except OutkeyError:
            continue  # said as an error already
        label = _LABELS.get(name, name.removeprefix("header:"))
        if fault:
            fix = None if fault == "pasted-json" else fix_of(fault, tidied=name)
            yield Clue(95, fault, f"The value of {label} {_FAULTS[fault]}.", fix=fix)
        yield from _environment(evidence, label, value)


def fields_in_use(configuration: Configuration) -> list[str]:
    """Name the fields that hold the credentials of a configuration."""
    fields = []
    if configuration.authentication_type is AuthenticationType.BASIC:
        fields += ["Username", "Password"]
    elif configuration.sends_token:
        fields.append("Client Secret" if configuration.uses_oauth2 else "Token")
    fields += [f"the header {row.key}" for row in configuration.headers if row.secret]
    if configuration.is_scripted:
        fields.append("Secret Key of the script")
    return fields


def _entered(evidence: Evidence) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Yield the names of the secrets that travel as they are, and how each is tidied before."""
    configuration = evidence.configuration
    if configuration.authentication_type is AuthenticationType.BASIC:
        yield "password", str
    elif configuration.sends_token and not configuration.uses_oauth2:
        yield "token", tidy_token
    for row in configuration.headers:
        if row.secret:
            yield row.secret_field, partial(_row_value, "auth" in row.key.lower())


def _row_value(has_scheme: bool, text: str) -> str:  # noqa: FBT001 - bound by partial
    """Return a row's value without the one scheme that may stand there."""
    return (
        _SCHEME.sub("", tidy_value(text), count=1) if has_scheme else tidy_value(text)
    )


def _fault(text: str) -> str:
    """Name what is wrong with a value, if anything is."""
    if text.lstrip().startswith(("{", "[")):
        return "pasted-json"
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        return "secret-in-quotes"
    if not text.isprintable() or text != text.strip() or "\u00a0" in text:
        return "invisible-characters"
    return "doubled-prefix" if _PREFIX.match(text) else ""


def _environment(evidence: Evidence, label: str, value: Secret) -> Iterator[Clue]:
    """Compare the word that a key begins with to the Environment; it is not told, being a part."""
    environment = evidence.configuration.environment
    production = environment is Environment.PRODUCTION
    kind = "tests" if production else "live use"
    if value.derive(tidy_value).known_prefix(_TRIAL_KEYS if production else _LIVE_KEYS):
        said = (
            f"{label} begins like a key for {kind}, and Environment is"
            f" {environment.label}."
        )
        yield Clue(67, "wrong-environment", said)


def by_claims(evidence: Evidence) -> Iterator[Clue]:
    """Compare what a token says of itself with the time and the place; nobody vouches for it."""
    claims = evidence.claims
    if claims is None:
        return
    now = evidence.now + evidence.skew  # by the clock that the token was judged by
    if claims.expires is not None and claims.expires <= now:
        reason = "expired-as-403" if evidence.status == 403 else "token-expired"
        yield Clue(
            94, reason, f"The token's exp claim ended at {moment_text(claims.expires)}."
        )
    if claims.not_before is not None and claims.not_before > now:
        said = f"The token's nbf claim begins at {moment_text(claims.not_before)}."
        yield Clue(94, "token-not-yet-valid", said)
    host = evidence.configuration.base.origin.host
    hosts = [_host(one) for one in claims.audiences]
    if (
        evidence.status in {401, 403}
        and any(hosts)
        and not any(_akin(h, host) for h in hosts)
    ):
        said = "The token's aud claim names other hosts than the Base URL."
        yield Clue(62, "token-other-audience", said)
    issuer = evidence.configuration.oauth2.issuer
    if issuer and claims.issuer and claims.issuer.rstrip("/") != issuer.rstrip("/"):
        yield Clue(62, "token-other-issuer", "The token's iss claim is not the Issuer.")


def _host(audience: str) -> str:
    """Return the host of an audience that is a web address, else nothing."""
    try:
        parts = urlsplit(audience)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in {"http", "https"} else ""


def _akin(one: str, other: str) -> bool:
    """Tell whether two hosts belong together, as api.acme.example and auth.acme.example do."""
    return one.split(".")[-2:] == other.split(".")[-2:]


RULES = ((by_entered, _STATUSES), (by_claims, _STATUSES))
