"""The cookies that an API sets during a login (RFC 6265)."""

import re
from collections.abc import Iterable, Mapping

from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.headers import is_header_name
from outkey.sending.core.request.message import Response, http_date

# As much as browsers store.
_MAX_COOKIE = 4096
_MAX_COOKIES = 50
_VALUE = re.compile(r"[\x20\x21-\x3a\x3c-\x7e]*")  # without the semicolon
# Shorter ones, such as a language, occur in responses by chance.
_SHORTEST = 8
COOKIE_SEPARATOR = "; "

Jar = Mapping[str, Secret]


def jar_after(jar: Jar, response: Response, host: str, now: float) -> Jar:
    """Return the cookies after a response: those that it set, replaced and deleted.

    All are for one host: paths and `Secure` say nothing else about it, since the login
    and the requests have the same scheme.
    """
    cookies = dict(jar)
    for line in response.headers.get_all("Set-Cookie"):
        pair, *attributes = line.split(";")
        name, sign, text = pair.partition("=")
        name, value = name.strip(), text.strip()
        if not sign or not is_header_name(name) or not _VALUE.fullmatch(value):
            continue
        if len(pair) > _MAX_COOKIE or not _is_for(host, attributes):
            continue
        cookies.pop(name, None)
        if not _has_ended(attributes, now) and len(cookies) < _MAX_COOKIES:
            cookies[name] = Secret(value)
    return cookies


def _attribute(attributes: Iterable[str], name: str) -> str:
    """Return the value of an attribute, the last one, or nothing."""
    value = ""
    for attribute in attributes:
        key, _, text = attribute.partition("=")
        if key.strip().lower() == name:
            value = text.strip()
    return value


def _is_for(host: str, attributes: list[str]) -> bool:
    """Whether the Domain of a cookie is the host, or a domain that it is in."""
    domain = _attribute(attributes, "domain").lower().removeprefix(".")
    return not domain or host == domain or host.endswith(f".{domain}")


def _has_ended(attributes: list[str], now: float) -> bool:
    """Whether a cookie is deleted; Max-Age is stronger than Expires."""
    age = _attribute(attributes, "max-age")
    if age.removeprefix("-").isdecimal():
        return age.startswith("-") or not int(age[:10])
    ends = http_date(_attribute(attributes, "expires"))
    return ends is not None and ends <= now


def cookie_header(jar: Jar) -> Secret | None:
    """Return the value of the header Cookie; None without cookies."""
    if not jar:
        return None
    parts: list[str | Secret] = []
    for name, value in jar.items():
        parts += [COOKIE_SEPARATOR if parts else "", f"{name}=", value]
    return Secret.joined(*parts)


def cookie_values(header: Secret) -> list[Secret]:
    """Return the values in a header Cookie that a response must not show."""
    return header.derive_all(_long_values)


def merged_cookies(header: Secret, stronger: Secret) -> Secret:
    """Return two headers Cookie as one; of each name the stronger one's cookie."""
    return Secret.joined(header, COOKIE_SEPARATOR, stronger).derive(_last_of_each)


def _last_of_each(header: str) -> str:
    pairs = (pair.partition("=") for pair in header.split(COOKIE_SEPARATOR))
    cookies = {name: value for name, _, value in pairs}
    return COOKIE_SEPARATOR.join(f"{name}={value}" for name, value in cookies.items())


def _long_values(header: str) -> list[str]:
    values = (pair.partition("=")[2] for pair in header.split(COOKIE_SEPARATOR))
    return [value for value in values if len(value) >= _SHORTEST]
