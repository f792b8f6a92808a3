"""The rules that check the entered secrets, in tests of a configuration only.

A secret is asked for the kind of its fault and never revealed.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlsplit

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import Environment
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, build_text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH, secret_label
from outkey.sending.core.configuration.oauth1_settings import OAUTH1_SECRETS
from outkey.sending.core.configuration.pasted import (
    FAULTS,
    fault_of,
    may_have_scheme,
    tidy_secret,
    visible_text,
)
from outkey.sending.core.diagnosis.evidence import Clue, Evidence, fix_of
from outkey.sending.core.request.headers import tidy_token, tidy_value

_STATUSES = frozenset({400, 401, 403, 404, 422})
_SCHEME = re.compile(r"[A-Za-z][\w-]*[ ]+")
_TRIAL_KEYS = ("sk_test_", "rk_test_", "pk_test_", "test_", "sandbox_", "TEST-")
_LIVE_KEYS = ("sk_live_", "rk_live_", "pk_live_", "live_", "prod_")


def _by_entered(evidence: Evidence) -> Iterator[Clue]:
    """Check each secret that is sent as it was entered."""
    for name, as_sent in entered_secrets(evidence):
        try:
            value = evidence.secret(name) if evidence.secret else Secret("")
            fault = value.derive(as_sent).derive(fault_of).known_prefix(FAULTS)
        except OutkeyError:
            continue  # it is reported as an error of its own
        label = secret_label(name)
        if fault:
            helps = _helps_to_tidy(name, value, as_sent)
            fix = fix_of(fault, tidied=name) if helps else None
            yield Clue(95, fault, _fault_text(fault, label), fix=fix)
        yield from _by_key_prefix(evidence, label, value)


def _helps_to_tidy(name: str, value: Secret, as_sent: Callable[[str], str]) -> bool:
    """Whether a value is left when its faults are removed, and has none any more."""
    sent = value.derive(partial(tidy_secret, name)).derive(as_sent)
    return bool(sent) and not sent.derive(fault_of)


def fields_in_use(configuration: Configuration) -> list[Text]:
    """Return the names of the fields that have the credentials of a configuration."""
    fields = []
    if configuration.sends_password:
        fields += [Text("Username"), Text("Password")]
    elif configuration.signs_for_aws:
        fields += [Text("Access Key ID"), Text("Secret Access Key")]
    elif configuration.uses_login:
        fields.append(Text("Token in the response"))
    elif configuration.sends_token:
        fields.append(
            Text("Client Secret") if configuration.uses_oauth2 else Text("Token")
        )
    elif configuration.uses_oauth1:
        used = OAUTH1_SECRETS | {"private_key"}
        names = [name for name in configuration.needed_secrets() if name in used]
        labels = [BY_PATH["oauth1.consumer_key"].label, *map(secret_label, names)]
        fields += [build_text(label, {}) for label in labels]
    fields += [
        Text("the header {name}", name=row.key)
        for row in configuration.headers
        if row.secret
    ]
    fields += [
        Text("the query parameter {name}", name=row.key)
        for row in configuration.query
        if row.secret
    ]
    if configuration.is_scripted:
        fields.append(Text("Secret Key of the script"))
    return fields


def entered_secrets(evidence: Evidence) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Yield the name of each secret that is sent, and what sending makes of it."""
    configuration = evidence.configuration
    if configuration.sends_password:
        yield "password", str
    elif configuration.sends_entered_token:
        yield "token", tidy_token
    elif "secret_access_key" in configuration.needed_secrets():
        yield "secret_access_key", tidy_value
    elif configuration.uses_oauth1:
        for name in configuration.needed_secrets():
            if name in OAUTH1_SECRETS:
                yield name, tidy_value
    for row in configuration.headers:
        if row.secret:
            name = row.secret_field
            has_scheme = may_have_scheme(name) and not row.value
            yield name, partial(_tidy_row, has_scheme=has_scheme)


def _tidy_row(text: str, *, has_scheme: bool) -> str:
    """Return the value of a header row without the one scheme that it may have."""
    value = tidy_value(text)
    return _SCHEME.sub("", value, count=1) if has_scheme else value


def _fault_text(fault: str, field: str) -> Text:
    """Return the evidence for a fault in a field."""
    match fault:
        case "pasted-json":
            return Text(
                "The value of {field} begins like a JSON document.", field=field
            )
        case "secret-in-quotes":
            return Text("The value of {field} is in quotes.", field=field)
        case "invisible-characters":
            return Text(
                "The value of {field} has invisible characters, or spaces at an end.",
                field=field,
            )
        case _:
            return Text(
                "The value of {field} begins with a word that is not part of it.",
                field=field,
            )


def _by_key_prefix(evidence: Evidence, label: str, value: Secret) -> Iterator[Clue]:
    """Compare the prefix of a key with the Environment; it is part of a secret."""
    environment = evidence.configuration.environment
    tidied = value.derive(tidy_value)
    if environment is Environment.PRODUCTION:
        if tidied.known_prefix(_TRIAL_KEYS):
            text = Text(
                "{field} begins like a test key, and Environment is Production.",
                field=label,
            )
            yield Clue(67, "wrong-environment", text)
    elif tidied.known_prefix(_LIVE_KEYS):
        text = Text(
            "{field} begins like a live key, and Environment is {environment}.",
            field=label,
            environment=environment.label,
        )
        yield Clue(67, "wrong-environment", text)


def _by_username(evidence: Evidence) -> Iterator[Clue]:
    """Check the user name for what cannot be seen in its field."""
    username = evidence.configuration.username
    if not evidence.configuration.sends_password or username == visible_text(username):
        return
    tidied = visible_text(username)
    fault = "invisible-characters"
    text = _fault_text(fault, BY_PATH["username"].label)
    fix = fix_of(fault, ("username", tidied)) if tidied else None
    yield Clue(94, fault, text, fix=fix)


def _by_encoded_password(evidence: Evidence) -> Iterator[Clue]:
    """Check for a password that was copied from an Authorization header."""
    if not evidence.configuration.sends_password:
        return
    encodes = partial(_encoded_pair, evidence.configuration.username)
    try:
        password = evidence.secret("password") if evidence.secret else Secret("")
    except OutkeyError:
        return
    if password.derive(encodes):
        text = Text("Password is Base64 of the Username, a colon and another text.")
        yield Clue(96, "password-encoded", text)


def _encoded_pair(username: str, password: str) -> str:
    """Return a mark for Base64 of a user name and a password, nothing for others."""
    encoded = password.strip().removeprefix("Basic ").strip()
    try:
        pair = b64decode(encoded, validate=True).decode()
    except ValueError:
        return ""
    return "encoded" if username and pair.startswith(f"{username}:") else ""


def _by_claims(evidence: Evidence) -> Iterator[Clue]:
    """Compare the unverified claims of a token with the time and the host."""
    claims = evidence.claims
    if claims is None:
        return
    now = evidence.now + evidence.skew  # by the clock of the server
    if claims.expires is not None and claims.expires <= now:
        reason = "expired-as-403" if evidence.status == 403 else "token-expired"
        text = Text(
            "The exp claim of the token ended at {moment}.",
            moment=moment_text(claims.expires),
        )
        yield Clue(94, reason, text)
    if claims.not_before is not None and claims.not_before > now:
        text = Text(
            "The nbf claim of the token begins at {moment}.",
            moment=moment_text(claims.not_before),
        )
        yield Clue(94, "token-not-yet-valid", text)
    host = evidence.configuration.base.origin.host
    hosts = [_host_of(audience) for audience in claims.audiences]
    if (
        evidence.status in {401, 403}
        and any(hosts)
        and not any(_have_same_domain(audience, host) for audience in hosts)
    ):
        text = Text("The aud claim of the token names other hosts than the Base URL.")
        yield Clue(62, "token-other-audience", text)
    issuer = evidence.configuration.oauth2.issuer
    if issuer and claims.issuer and claims.issuer.rstrip("/") != issuer.rstrip("/"):
        text = Text("The iss claim of the token is not the Issuer.")
        yield Clue(62, "token-other-issuer", text)


def _host_of(audience: str) -> str:
    """Return the host of an audience that is a URL, "" for any other."""
    try:
        parts = urlsplit(audience)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in {"http", "https"} else ""


def _have_same_domain(host: str, other: str) -> bool:
    """Whether two hosts belong together, as api.acme.example, auth.acme.example."""
    return host.split(".")[-2:] == other.split(".")[-2:]


RULES = (
    (_by_entered, _STATUSES),
    (_by_username, _STATUSES),
    (_by_encoded_password, _STATUSES),
    (_by_claims, _STATUSES),
)
