"""Masking what a recording must not contain: known secrets, and what looks like one.

Known are the secrets of the configurations and the tokens that were used, in all forms
in which they may appear. Unknown ones are recognized by the name of a header, parameter
or member, and by their form: a server may issue tokens that outkey never sees.
"""

import re
from collections.abc import Iterable, Mapping

from outkey.foundation.core.echo.masking import scrub, scrub_headers
from outkey.foundation.core.echo.search import SHORTEST, collect_texts
from outkey.foundation.core.echo.strict import StrictSearch
from outkey.foundation.core.secret import MASK, Secret
from outkey.sending.core.configuration.placeholders import (
    is_secret_parameter,
    is_secret_segment,
)
from outkey.sending.core.request.headers import looks_like_credential

Headers = tuple[tuple[str, str], ...]
# Their names look like those of credentials, but they contain none.
_PLAIN_HEADERS = frozenset(
    {
        "access-control-allow-credentials",
        "idempotency-key",
        "proxy-authenticate",
        "www-authenticate",
    }
)
# Positions in a list, without which a replay would not find the next page.
_PAGE_TOKEN = re.compile(
    r".*(?:next|page|pagination|continuation|skip|sync|start|cursor|delta)[_-]?token",
    re.IGNORECASE,
)
# Narrower than for parameters: `key` and `author` are ordinary members of records.
_SECRET_MEMBER = re.compile(
    r".*(?:token|secret|password|passwd|passphrase|credentials?|assertion|cookie|jwt)"
    r"|.*(?:api|access|account|private|secret|signing|encryption|session|shared)[_-]?key"
    r"|(?:proxy[_-]?)?authorization|.*session[_-]?id|code[_-]?verifier"
    r"|pass|passcode|pw|pwd|pin|otp|sid|bearer|hmac|signature|csrf",
    re.IGNORECASE,
)
_KNOWN_FORMS = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]{2,}(?:\.[\w-]*)*"  # JSON Web Tokens
    r"|(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[\w+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:[sr]k_(?:live|test)_\w+|gh[pousr]_\w{16,}|github_pat_\w+|glpat-[\w-]{16,}"
    r"|xox[abeprs]-[\w-]+|SG\.[\w.-]{16,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{16,}"
    r"|sk-[\w-]{16,})",
    re.DOTALL,
)
# user:password@ in a URL
_USER_INFO = re.compile(r"(?<=://)[^\s\"'<>/?#@]+(?=@)")
_PARAMETER = re.compile(r"([A-Za-z][\w.-]{0,63})=([^\s\"'&<>,;#]+)")
# `<ns:name attribute="…">content` and `name: value`; with quotes the value may have
# spaces.
_ELEMENT = re.compile(r"<(?:[\w.-]{1,64}:)?([A-Za-z][\w.-]{0,63})(\s[^<>]*)?>([^<>]+)")
_MEMBER = re.compile(
    r"([A-Za-z][\w.-]{0,63})([\"']?\s{0,3}:\s{0,3})"
    r"(\"[^\"\n]*\"?|'[^'\n]*'?|[^\s\"'&<>,;#]+)"
)
_COOKIE = re.compile(r"\A\s*([^=;\s]+)=[^;]*")


class KnownSecrets:
    """The secrets that a recording must not contain, each with its user name."""

    def __init__(self) -> None:
        self._groups: dict[str, list[Secret]] = {}

    def add(self, username: str, secrets: Iterable[Secret]) -> None:
        """Add secrets that were sent, or may have been."""
        group = self._groups.setdefault(username, [])
        for secret in secrets:
            if secret and secret not in group:
                group.append(secret)

    def with_others(self, username: str, secrets: Iterable[Secret]) -> "KnownSecrets":
        """Return these secrets and others, such as the signature of one request."""
        both = KnownSecrets()
        for name, group in self._groups.items():
            both.add(name, group)
        both.add(username, secrets)
        return both

    def are_in(self, value: object) -> bool:
        """Whether the strictest search finds a secret in a value."""
        secrets = [secret for group in self._groups.values() for secret in group]
        return StrictSearch(secrets).finds(value)

    def _shortest(self) -> list[Secret]:
        return [
            secret
            for group in self._groups.values()
            for secret in group
            if not secret.longer_than(SHORTEST - 1)
        ]

    def masked_bytes(self, body: bytes) -> bytes:
        """Return a body with the secrets masked."""
        for username, secrets in self._groups.items():
            body = scrub(body, secrets, username)
        return body

    def masked_text(self, text: str) -> str:
        """Return a text with the secrets masked, in every form."""
        # `scrub` leaves the shortest ones, which occur in many words.
        if any(secret.occurs_in(text) for secret in self._shortest()):
            return MASK
        body = text.encode(errors="replace")
        masked = self.masked_bytes(body)
        return text if masked == body else masked.decode(errors="replace")

    def masked_value(self, value: object) -> object:
        """Return a JSON value with the secrets masked in keys, texts and numbers.

        A search takes about a millisecond, however short the text is. So the whole is
        searched first, and then halves of what contains a secret.
        """
        if not self._changes(value):
            return value
        if isinstance(value, str):
            return self.masked_text(value)
        if isinstance(value, Mapping):
            return dict(self._masked_pairs(list(value.items())))
        if isinstance(value, list):
            return self._masked_list(value)
        return MASK  # a number

    def _changes(self, value: object) -> bool:
        """Whether a value has a text or a number that must be masked."""
        texts: list[str] = []
        collect_texts(value, texts, texts)
        joined = "\n".join(texts)
        if self.masked_text(joined) != joined:
            return True
        return any(
            secret.occurs_in(text) for secret in self._shortest() for text in texts
        )

    def _masked_list(self, parts: list[object]) -> list[object]:
        if len(parts) <= 1:
            return [self.masked_value(part) for part in parts]
        if not self._changes(parts):
            return parts
        middle = len(parts) // 2
        return self._masked_list(parts[:middle]) + self._masked_list(parts[middle:])

    def _masked_pairs(
        self, pairs: list[tuple[str, object]]
    ) -> list[tuple[str, object]]:
        if len(pairs) <= 1:
            return [
                (self.masked_text(key), self.masked_value(part)) for key, part in pairs
            ]
        if not self._changes(dict(pairs)):
            return pairs
        middle = len(pairs) // 2
        return self._masked_pairs(pairs[:middle]) + self._masked_pairs(pairs[middle:])

    def masked_headers(self, headers: Headers) -> Headers:
        """Return header lines with the secrets masked, by name too."""
        for username, secrets in self._groups.items():
            headers = scrub_headers(headers, secrets, username)
        return tuple((name, masked_header(name, value)) for name, value in headers)


def masked_header(name: str, value: str) -> str:
    """Return the value of a header, masked if it is or looks like a credential."""
    lower = name.lower()
    if lower in {"set-cookie", "set-cookie2"}:
        return _COOKIE.sub(rf"\1={MASK}", value) if "=" in value else MASK
    if lower in _PLAIN_HEADERS:
        return value
    return MASK if looks_like_credential(name) else masked_forms(value)


def masked_parameters(params: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of a query or form, masked by name and form."""
    return {
        name: _masked_entirely(value)
        if _is_secret_name(name)
        else masked_members(value)
        for name, value in params.items()
    }


def masked_members(value: object) -> object:
    """Return a JSON value whose secret members are masked, by name and by form."""
    if isinstance(value, Mapping):
        return {
            key: _masked_entirely(part)
            if is_secret_member(key)
            else masked_members(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [masked_members(part) for part in value]
    return masked_forms(value) if isinstance(value, str) else value


def _masked_entirely(value: object) -> object:
    """Return a value with a mask for each text and number in it."""
    if isinstance(value, Mapping):
        return {key: _masked_entirely(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked_entirely(part) for part in value]
    if value is None or value == "" or isinstance(value, bool):
        return value
    return MASK


def masked_forms(text: str) -> str:
    """Return a text without credentials of a known form, as in the query of a URL."""

    def mask_parameter(match: re.Match[str]) -> str:
        name, value = match.groups()
        # The value may be a URL with parameters of its own.
        masked_value = (
            MASK if _is_secret_name(name) else _PARAMETER.sub(mask_parameter, value)
        )
        return f"{name}={masked_value}"

    text = _KNOWN_FORMS.sub(MASK, _USER_INFO.sub(MASK, text))
    return _PARAMETER.sub(mask_parameter, text)


def masked_markup(text: str) -> str:
    """Return text that is not JSON without `name: secret` and `<name>secret<`."""

    def mask_member(match: re.Match[str]) -> str:
        if not is_secret_member(match[1]) or not match[3].strip():
            return match[0]
        return match[0].removesuffix(match[3]) + MASK

    return _MEMBER.sub(mask_member, _ELEMENT.sub(mask_member, masked_forms(text)))


def masked_path(path: str) -> str:
    """Return a path whose segments that look like a credential are masked."""
    segments = path.split("/")
    return "/".join(MASK if is_secret_segment(part) else part for part in segments)


def _is_secret_name(name: str) -> bool:
    """Whether a parameter of this name usually carries a secret."""
    return is_secret_parameter(name) and not _PAGE_TOKEN.fullmatch(name)


def is_secret_member(name: str) -> bool:
    """Whether a member of a JSON document usually carries a secret."""
    return bool(_SECRET_MEMBER.fullmatch(name)) and not _PAGE_TOKEN.fullmatch(name)
